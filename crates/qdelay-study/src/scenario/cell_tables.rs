//! What `[cell]` and the tables below it hold, once they are read.

use super::filter::Filter;
use super::layer::Layer;

/// What the file says of the cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub layer: Layer,
    pub slices: Vec<Slice>,
    /// At least one.
    pub ues: Vec<Ue>,
    /// What bearers are called, each name once.
    pub bearer_names: Vec<String>,
}

/// A `[[cell.slice]]`.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub name: String,
    pub line: u32,
    pub layer: Layer,
}

/// A `[[cell.ue]]`.
#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub name: String,
    pub line: u32,
    pub layer: Layer,
    /// At least one.
    pub bearers: Vec<Bearer>,
}

/// A `[[cell.ue.bearer]]`.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    pub name: String,
    pub line: u32,
    /// The place of its name in [`Cell::bearer_names`].
    pub called: usize,
    pub layer: Layer,
    /// At least one.
    pub qos_flows: Vec<QosFlow>,
    pub filters: Vec<Filter>,
}

/// A `[[cell.ue.bearer.qos_flow]]`.
#[derive(Clone, Debug)]
pub(crate) struct QosFlow {
    pub qfi: u8,
    pub layer: Layer,
}

/// What stands for every UE.
pub(crate) const EACH: &str = "each";
