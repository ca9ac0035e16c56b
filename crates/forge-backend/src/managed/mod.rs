//! Model servers that Forge starts and stops itself.
