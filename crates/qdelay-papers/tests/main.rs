//! Papers: their claims judged, and the pages of them.

#[macro_use]
extern crate qdelay_testing;

mod guarantees;
mod page;
mod papers;

main!();
