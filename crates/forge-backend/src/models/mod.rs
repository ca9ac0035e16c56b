//! The catalogue of models and runtimes, and fetching them into the cache folder.
