//! The loop, its clock, its logs and its metrics, over simulated devices. `net.rs` uses real ones.

#[macro_use]
extern crate qdelay_testing;

mod common;
mod slow_frame;
mod slow_gso;

mod changes;
mod drive;
mod dumbbell;
mod fingerprints;
mod frames;
mod gso;
mod log_files;
mod log_mahimahi;
mod log_pcapng;
mod metrics;
mod real_clock;
mod replace;
mod same_decisions;
mod stalls;
mod steady;

/// `metrics` and `steady` count the loop's allocations.
#[global_allocator]
static ALLOCATOR: qdelay_testing::Counting = qdelay_testing::Counting;

main!();
