//! From the events of a run to its measures.
//!
//! [`DelayHistogram`] keeps every delay to three digits in bounded memory; [`jain_index`] is the usual fairness index. The
//! definitions of the measures are those of `docs/measures.md`. A [`Recorder`] hears of every packet; [`PacketFile`] is one that
//! writes Parquet.

mod delay;
pub mod entity;
mod fairness;
mod occupancy;
mod packet;
pub mod parquet;

pub use delay::{DelayHistogram, DelaySummary};
pub use fairness::jain_index;
pub use occupancy::{Gauge, Occupancy, OccupancySummary};
pub use packet::{Direction, Fate, PacketRecord, Recorder};
pub use parquet::PacketFile;
