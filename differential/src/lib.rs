//! Nothing here: see the tests.
