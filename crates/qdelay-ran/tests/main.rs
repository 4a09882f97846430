//! Bearers, cells and channels from outside: compared with slow models, under random operations, and with the
//! facts stated by standards and theses.

#[macro_use]
extern crate qdelay_testing;

mod cell_common;
mod ratios_model;
mod rlc_models;
mod slices_model;
mod slicing;
mod uplink_common;

mod aggregation;
mod air_facts;
mod cell_facts;
mod cell_model;
mod cell_properties;
mod cell_ratios;
mod cell_slices;
mod held_back;
mod pdcp;
mod radio_windows;
mod rank;
mod rlc_bearer;
mod rlc_oracle;
mod rlc_prefixes;
mod slice_ratios;
mod slices;
mod slices_memory;
mod uplink_facts;
mod uplink_model;
mod uplink_properties;
mod uplink_tdd;

main!();
