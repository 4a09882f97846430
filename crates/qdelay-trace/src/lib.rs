//! Link traces: the capacity of a recorded or synthetic link over time.
//!
//! * [`schedule`]: delivery opportunities at whole milliseconds, as mahimahi replays them.
//! * [`rates`]: a rate that changes in steps; [`delays`], [`losses`]: a delay and a probability of loss that do.
//! * [`mahimahi`], [`mbps`], [`csv`], [`cqi`], [`capacity`]: the text formats, read from chunks of bytes of any size; [`format`](mod@format):
//!   those of links, by name.
//! * [`convert`]: from rates to opportunities and back.
//! * [`info`]: the statistics of a trace.
//! * [`synth`]: cellular-like traces made from a seed.
//! * [`trains`]: recorded packet trains, for the replay of two loads.
//! * [`shipped`]: synthetic traces that are part of the program.
//!
//! Nothing here opens files: the caller feeds their bytes to the parsers. Memory is bounded by limits that errors name.
//!
//! ```
//! use qdelay_core::Span;
//! use qdelay_trace::{info, mahimahi, synth::Synth};
//!
//! // One packet of 1504 bytes at 2 ms and two at 4 ms, then again from the beginning.
//! let schedule = mahimahi::parse(b"2\n4\n4\n")?;
//! assert!((schedule.mean_mbps() - 9.024).abs() < 1e-9);
//!
//! let made = Synth::of_preset("lte-driving", Span::from_secs(10), 1).expect("a preset").schedule()?;
//! assert!(info::of_schedule(&made).mean_mbps > 0.0);
//! # Ok::<(), qdelay_trace::TraceError>(())
//! ```
#![no_std]
extern crate alloc;

pub mod capacity;
pub mod convert;
pub mod cqi;
pub mod delays;
pub mod error;
pub mod format;
pub mod info;
mod lines;
pub mod losses;
pub mod rates;
mod samples;
pub mod schedule;
pub mod shipped;
pub mod steps;
pub mod synth;
pub mod trains;
mod window;

pub use capacity::CapacitySteps;
pub use cqi::{CqiCursor, CqiStep, CqiSteps, Gap};
pub use delays::{DelayStep, DelaySteps};
pub use error::{Problem, TraceError};
pub use format::{csv, mahimahi, mbps};
pub use info::TraceInfo;
pub use lines::{Body, LineParser};
pub use losses::{LossRate, LossStep, LossSteps};
pub use rates::{RateCursor, RateStep, RateSteps};
pub use schedule::{Cursor, OPPORTUNITY_BYTES, Opportunities, Schedule, ScheduleBuilder};
pub use shipped::SHIPPED;
pub use steps::{Step, StepValue, Steps};
pub use trains::{SizeDelays, Trains};
