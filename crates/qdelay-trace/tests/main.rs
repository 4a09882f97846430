//! Formats, statistics, conversion and synthesis of traces from outside.

#[macro_use]
extern crate qdelay_testing;

mod judge;

mod fuzz;
mod large;
mod recorded;
mod shipped;
mod tables;
mod wrap;

main!();
