//! Channel quality of a UE.

/// The quality of a channel in one TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// The highest MCS that is received with at most one block in ten lost.
    Mcs(u8),
    /// Bytes that the whole carrier carries for this UE in this TTI, at any MCS.
    Bytes(u64),
    /// Nothing is received.
    Outage,
}
