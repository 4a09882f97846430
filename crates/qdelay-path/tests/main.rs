//! Whole paths: conservation, slow models of links, seams between nodes, and what a path allocates.

#[macro_use]
extern crate qdelay_testing;

mod common;

mod cells;
mod conservation;
mod extra;
mod f1;
mod gates;
mod hops;
mod impairments;
mod light;
mod observers;
mod oracles;
mod pdu_sets;
mod replace;
mod seams;
mod starlink;
mod steady;
mod uplink;
mod waiting;
mod wire;

/// `steady` looks at what a path asks for.
#[global_allocator]
static ALLOCATOR: qdelay_testing::Counting = qdelay_testing::Counting;

main!();
