//! Channel quality of a UE.

use crate::tables::Rung;

/// The quality of a channel in one TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// The highest MCS that is received with at most one block in ten lost, on the layers of a block; with rank adaptation, the
    /// number of layers and the MCS.
    Rung(Rung),
    /// Bytes that the whole carrier carries for this UE in this TTI, at any MCS.
    Bytes(u64),
    /// Nothing is received.
    Outage,
}

impl Quality {
    /// The quality of a channel with this MCS, on a carrier with a fixed number of layers.
    pub const fn mcs(mcs: u8) -> Quality {
        Quality::Rung(Rung::of_mcs(mcs))
    }
}
