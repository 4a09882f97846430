//! Sprout's inference by dense matrices, and a link between its two ends.

pub mod inference;
pub mod path;
