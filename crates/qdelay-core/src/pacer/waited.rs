//! Reports of TTIs in which a bearer had data and sent nothing.

use super::Served;
use crate::{Span, Time};

/// The reports of consecutive TTIs in which a radio bearer had the same data and could not have sent any:
/// [`Waited::report`] at the beginning of each TTI. In a cell with more bearers than fit into a TTI, most
/// reports are of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Beginning of the first TTI.
    pub first: Time,
    /// Time from one TTI to the next.
    pub tti: Span,
    /// Number of TTIs.
    pub count: u64,
    /// Bytes left in the buffer, as in [`Served`].
    pub remaining_bytes: u64,
    /// Packets left in the buffer, as in [`Served`].
    pub remaining_packets: u64,
}

impl Waited {
    /// The report of each TTI.
    pub fn report(&self) -> Served {
        let Waited { remaining_bytes, remaining_packets, .. } = *self;
        Served { remaining_bytes, remaining_packets, ..Served::default() }
    }
    /// Beginnings of the TTIs.
    pub fn times(&self) -> impl Iterator<Item = Time> + use<> {
        let Waited { first, tti, .. } = *self;
        (0..self.count).map(move |number| first + tti * number)
    }
    /// Beginning of the last TTI; of the first, if the count is zero.
    pub fn last(&self) -> Time {
        self.first + self.tti * self.count.saturating_sub(1)
    }
}
