//! Contents of `[cell]` and the tables below it.

use super::declare;
use super::filter::Filter;
use super::named::Named;

/// Contents of `[cell]`, in a file or in a case.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub keys: declare::Cell,
    pub uplink: Option<Uplink>,
    pub scells: Vec<Named<declare::Scell>>,
    pub slices: Vec<Named<declare::Slice>>,
    /// UEs; at least one.
    pub ues: Vec<Ue>,
    /// Names of all bearers, without duplicates.
    pub bearer_names: Vec<String>,
}

/// `[cell.uplink]`.
#[derive(Clone, Debug)]
pub(crate) struct Uplink {
    /// Line of the header.
    pub line: u32,
    pub keys: declare::CellUplink,
}

/// A `[[cell.ue]]`.
#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub name: String,
    pub line: u32,
    pub keys: declare::Ue,
    /// Bearers; at least one.
    pub bearers: Vec<Bearer>,
}

/// A `[[cell.ue.bearer]]`.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    pub name: String,
    pub line: u32,
    /// Index of the name in [`Cell::bearer_names`].
    pub called: usize,
    pub keys: declare::Bearer,
    /// QoS flows; at least one.
    pub qos_flows: Vec<QosFlow>,
    pub filters: Vec<Filter>,
}

/// A `[[cell.ue.bearer.qos_flow]]`.
#[derive(Clone, Debug)]
pub(crate) struct QosFlow {
    pub qfi: u8,
    pub keys: declare::QosFlow,
}

/// Reserved name that stands for every UE.
pub(crate) const EACH: &str = "each";
