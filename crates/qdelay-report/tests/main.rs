//! Reports: as text, and in a browser.

#[macro_use]
extern crate qdelay_testing;

mod browser;
mod plot;
mod report;

main!();
