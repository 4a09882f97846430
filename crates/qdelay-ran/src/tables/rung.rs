//! Rows of a carrier's block sizes.

/// A row of a carrier's block sizes: a rank, which is a number of layers, and an MCS.
///
/// On a carrier with a fixed number of layers a rung is the MCS. With [rank adaptation](super::Carrier::adapt_rank) the MCS of
/// rank 1 come first, then those of rank 2, and so on; [`Carrier::rank_of`](super::Carrier::rank_of) and
/// [`Carrier::mcs_of`](super::Carrier::mcs_of) take a rung apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung(u8);

impl Rung {
    /// The rung of an MCS on a carrier with a fixed number of layers.
    pub const fn of_mcs(mcs: u8) -> Rung {
        Rung(mcs)
    }

    /// The rung in this row of the table of block sizes.
    pub(crate) const fn of_row(row: u8) -> Rung {
        Rung(row)
    }

    /// The row in the table of block sizes.
    pub(crate) const fn row(self) -> u8 {
        self.0
    }
}
