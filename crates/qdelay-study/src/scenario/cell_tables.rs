//! `[cell]` and the tables below it, once they are read.

use super::declare;
use super::filter::Filter;
use super::named::Named;

/// The cell, of the file or of a case.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub keys: declare::Cell,
    pub uplink: Option<Uplink>,
    pub slices: Vec<Named<declare::Slice>>,
    /// At least one.
    pub ues: Vec<Ue>,
    /// The names of bearers, without duplicates.
    pub bearer_names: Vec<String>,
}

/// `[cell.uplink]`.
#[derive(Clone, Debug)]
pub(crate) struct Uplink {
    /// Where it begins.
    pub line: u32,
    pub keys: declare::CellUplink,
}

/// A `[[cell.ue]]`.
#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub name: String,
    pub line: u32,
    pub keys: declare::Ue,
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
    pub keys: declare::Bearer,
    /// At least one.
    pub qos_flows: Vec<QosFlow>,
    pub filters: Vec<Filter>,
}

/// A `[[cell.ue.bearer.qos_flow]]`.
#[derive(Clone, Debug)]
pub(crate) struct QosFlow {
    pub qfi: u8,
    pub keys: declare::QosFlow,
}

/// The keys for every UE.
pub(crate) const EACH: &str = "each";
