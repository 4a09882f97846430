//! The place of a transmission time interval (TTI) in a pattern of time division duplex (TDD).

use crate::Span;

/// A slot of a TDD carrier, and the next slot with downlink data. A bearer can be served only in slots with
/// downlink data: for a pacer, they take the place of TTIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TddSlot {
    /// Bytes of the whole carrier in this slot, at some MCS; zero in an uplink slot, and in a special slot
    /// without data.
    pub carries: u32,
    /// Bytes of the whole carrier in the next slot with downlink data, at the same MCS.
    pub next_carries: u32,
    /// Time from the beginning of this slot to that of the next slot with downlink data.
    pub next: Span,
}

impl TddSlot {
    /// Returns true if the slot carries downlink data.
    pub const fn is_downlink(self) -> bool {
        self.carries > 0
    }
    /// Bytes in the next slot with downlink data, for a bearer that has `bytes` in this one; zero in an
    /// uplink slot.
    pub fn in_next(self, bytes: u64) -> u64 {
        match u128::from(self.carries) {
            0 => 0,
            carries => {
                let next = u128::from(bytes) * u128::from(self.next_carries) / carries;
                u64::try_from(next).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_scale_with_the_capacity_of_the_slots() {
        let slot = |carries, next_carries| TddSlot { carries, next_carries, next: Span::from_micros(500) };
        assert_eq!((slot(1300, 900).in_next(650), slot(900, 1300).in_next(450)), (450, 650));
        assert_eq!((slot(0, 1300).in_next(650), slot(0, 1300).is_downlink()), (0, false));
        assert_eq!(slot(1, u32::MAX).in_next(u64::MAX), u64::MAX);
    }
}
