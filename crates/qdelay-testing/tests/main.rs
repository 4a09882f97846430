//! The harness itself, by that of the standard library; and whether every test of the workspace is run by one of both.

mod ends;
mod every_file;
mod outcomes;
