//! Tests of the harness itself, run by the standard library's; and a check that every test of the workspace is run by one of
//! the two.

mod ends;
mod every_file;
mod outcomes;
