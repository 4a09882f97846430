//! Scenario files, their errors and results, compared with oracles; expectations; the schema.

#[macro_use]
extern crate qdelay_testing;

mod common;
mod judge;

mod bearers;
mod cell;
mod cell_series;
mod cell_uplink;
mod connections;
mod delays;
mod expect_oracle;
mod extend;
mod f1;
mod losses;
mod parts;
mod pdcp;
mod pdu_sets;
mod presets;
mod rank;
mod results_docs;
mod scenario;
mod scenario_axes;
mod scenario_errors;
mod scenario_fuzz;
mod scenario_hops;
mod scenario_schema;
mod scenario_shipped;
mod scenario_traces;
mod slices;
mod statistics;
mod sweep;

main!();
