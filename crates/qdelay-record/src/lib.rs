//! From the events of a run to its measures.
//!
//! [`DelayHistogram`] keeps every delay to three digits in bounded memory; [`jain_index`] is the usual fairness index. The
//! definitions of the measures are those of `docs/measures.md`. A [`Recorder`] hears of every packet; `PacketFile` is one that
//! writes Parquet; it is the feature `parquet`, which is on by default.
//!
//! ```
//! use qdelay_core::Span;
//! use qdelay_record::{DelayHistogram, jain_index};
//!
//! let mut delays = DelayHistogram::default();
//! for ms in 1..=100 {
//!     delays.record(Span::from_millis(ms));
//! }
//! let summary = delays.summary();
//! assert_eq!((summary.count, summary.mean, summary.max), (100, 50.5, 100.0));
//! assert!((summary.p95 - 95.0).abs() < 0.1);
//! assert_eq!(jain_index(&[1.0, 0.0]), 0.5);
//! ```

mod buckets;
mod delay;
mod drop_comment;
pub mod entity;
mod fairness;
mod occupancy;
mod packet;
#[cfg(feature = "parquet")]
pub mod parquet;

pub use delay::{DelayHistogram, DelaySummary};
pub use drop_comment::{drop_comment, is_drop_comment};
pub use fairness::jain_index;
pub use occupancy::{Gauge, Occupancy, OccupancySummary};
pub use packet::{Direction, Fate, PacketRecord, Recorder};
#[cfg(feature = "parquet")]
pub use parquet::PacketFile;
