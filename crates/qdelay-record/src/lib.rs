//! From the events of a run to its measures.
//!
//! [`DelayHistogram`] keeps every delay to three digits in bounded memory; [`jain_index`] is the usual fairness index. The
//! definitions of the measures are those of `docs/measures.md`.

mod delay;
mod fairness;

pub use delay::{DelayHistogram, DelaySummary};
pub use fairness::jain_index;
