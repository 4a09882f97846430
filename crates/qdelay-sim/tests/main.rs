//! Whole runs: closed forms, determinism, records counted again, random scenarios.

#[macro_use]
extern crate qdelay_testing;

mod common;

mod calls;
mod cell;
mod closed_forms;
mod connections;
mod controls;
mod determinism;
mod flows;
mod fuzz;
mod hops;
mod impairments;
mod in_order;
mod lossless_acknowledgements;
mod pacers;
mod pdu_sets;
mod programs;
mod rate_control;
mod records;
mod sprout;
mod stepper;
mod streaming;
mod uploads;
mod video;
mod vivace;

main!();
