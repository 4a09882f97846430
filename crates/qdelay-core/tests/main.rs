//! Disciplines and pacers from outside: against slow models, random operations, and what RFCs and papers say.

#[macro_use]
extern crate qdelay_testing;

mod colours;
mod drive;
mod models;
mod pacing;

mod differential;
mod dsd;
mod facts;
mod facts_flows;
mod fairness;
mod pacer_facts;
mod pacers;
mod pacers_f1;
mod properties;
mod waiting;

main!();
