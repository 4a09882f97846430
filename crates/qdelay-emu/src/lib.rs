//! Paths under a real clock, with packets of real programs.
#![cfg(target_os = "linux")]

pub mod audit;
pub mod classes;
pub mod clock;
pub mod control;
pub mod device;
pub mod dns;
pub mod drive;
pub mod dumbbell;
pub mod emulator;
pub mod frame;
pub mod link_setup;
pub mod log;
pub mod metrics;
pub mod netns;
pub mod packet_steering;
pub mod plan;
pub mod plan_kind;
pub mod pool;
pub mod snapshot;
pub mod stall;
pub mod wait;
