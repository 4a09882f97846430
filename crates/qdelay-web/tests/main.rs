//! The playground, without a browser and in one.

#[macro_use]
extern crate qdelay_testing;

mod browser;
mod parts;
mod session;

main!();
