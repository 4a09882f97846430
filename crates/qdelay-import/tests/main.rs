//! Logs and captures, whole, cut short and damaged.

#[macro_use]
extern crate qdelay_testing;

mod captures;
mod damaged;
mod files;
mod mahimahi_log;

main!();
