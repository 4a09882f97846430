//! Time division duplex as reported to pacers: each slot, and the next one with downlink data.

use crate::mac::{Grid, multiple};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::pacer::TddSlot;

/// The slots of a TDD pattern, from that of the first TTI on; none without TDD.
#[derive(Clone, Debug, Default)]
pub(super) struct Duplex(Vec<TddSlot>);

impl Duplex {
    /// The slots of carriers, of which those with a pattern have TTIs of one slot, `slot`. In each slot the capacity is the sum over the
    /// carriers.
    pub fn new<'a>(grids: impl Iterator<Item = &'a Grid> + Clone, slot: Span) -> Duplex {
        let periods = grids.clone().filter_map(Grid::tdd_slots);
        let Some(period) = periods.reduce(multiple) else { return Duplex::default() };
        // At half of the highest MCS.
        let of_grid = |grid: &Grid, place| grid.slot_bytes(place, grid.carrier.mcs_max() / 2);
        let carries = |place: u64| grids.clone().map(|grid| of_grid(grid, place)).sum::<u32>();
        let of_slot = |place: u64| {
            // The search finds one: a pattern has a downlink slot.
            let next = (place + 1..=place + period).find(|&next| carries(next) > 0);
            let next = next.unwrap_or(place + 1);
            TddSlot { carries: carries(place), next_carries: carries(next), next: slot * (next - place) }
        };
        Duplex((0..period).map(of_slot).collect())
    }

    /// The slot of TTI number `tti`; `None` without TDD.
    #[inline]
    pub fn slot(&self, tti: u64) -> Option<TddSlot> {
        match self.0.len() as u64 {
            0 => None,
            period => self.0.get((tti % period) as usize).copied(),
        }
    }

    /// Returns true if the cell has TDD.
    pub fn is_tdd(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::{Control, Tdd};
    use crate::tables::{Carrier, McsTable, Overhead};
    use qdelay_core::pacer::SizeUnit;

    fn grid(carrier: &Carrier, tdd: Option<(Tdd, Option<Carrier>)>) -> Grid {
        Grid { carrier: carrier.clone(), control: Control::NONE, unit: SizeUnit::Bytes, slots: 1, tdd }
    }

    /// For each slot: slots until the next one with downlink data, and 1 where this and the next one have the
    /// capacity of a whole slot.
    fn slots(pattern: &str, symbols: u8) -> Vec<(u64, u32, u32)> {
        let carrier = Carrier::nr(1, 51, McsTable::Qam256, 1, Overhead::default()).unwrap();
        let tdd = Tdd::new(pattern, symbols).unwrap();
        let special = tdd.special(&carrier).unwrap();
        let grid = grid(&carrier, Some((tdd.clone(), special)));
        let duplex = Duplex::new([&grid].into_iter(), carrier.slot());
        let whole = carrier.block_bytes(carrier.mcs_max() / 2, 51);
        let tenths = |bytes: u32| (10 * bytes + whole / 2) / whole;
        let of =
            |slot: TddSlot| (slot.next.as_micros() / 500, tenths(slot.carries), tenths(slot.next_carries));
        assert_eq!(duplex.slot(0), duplex.slot(tdd.period_slots()));
        (0..tdd.period_slots()).filter_map(|tti| duplex.slot(tti)).map(of).collect()
    }

    #[test]
    fn each_slot_knows_the_next_one_with_data() {
        assert_eq!(slots("DDSU", 10), [(1, 10, 10), (1, 10, 7), (2, 7, 10), (1, 0, 10)]);
        assert_eq!(slots("DSUU", 2), [(4, 10, 10), (3, 0, 10), (2, 0, 10), (1, 0, 10)]);
    }

    #[test]
    fn without_tdd_there_is_none() {
        let carrier = Carrier::lte(25).unwrap();
        let duplex = Duplex::new([&grid(&carrier, None)].into_iter(), carrier.slot());
        assert_eq!((duplex.slot(7), duplex.is_tdd()), (None, false));
    }
}
