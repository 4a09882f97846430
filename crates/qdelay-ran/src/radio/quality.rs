//! How good a channel is.

/// How good a channel is in one TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// The highest MCS that is received with at most one block in ten lost.
    Mcs(u8),
    /// What the whole carrier carries for this UE in this TTI, in bytes, whatever the MCS.
    Bytes(u64),
    /// Nothing is received.
    Outage,
}
