//! Disciplines and pacers from outside: compared with slow models, under random operations, and with the
//! facts stated by RFCs and papers.

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
mod pacer_properties;
mod pacers;
mod pacers_f1;
mod pdu_sets;
mod properties;
mod waiting;

main!();
