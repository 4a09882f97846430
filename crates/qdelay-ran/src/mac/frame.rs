//! Resource blocks of one TTI.
//!
//! A TTI has one or more slots. In a slot with control fewer resource blocks carry data; so there are two
//! kinds of slots, and a UE is assigned the same groups in each slot of the TTI.

use crate::radio::{Control, Quality, Tdd};
use crate::tables::Carrier;
use core::ops::Add;
use qdelay_core::pacer::{PACKET_BYTES, SizeUnit};

/// Resource blocks in each slot of a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prbs {
    /// Resource blocks in a slot without control.
    pub full: u16,
    /// Resource blocks in a slot with control.
    pub reduced: u16,
}

impl Add for Prbs {
    type Output = Prbs;
    fn add(self, other: Prbs) -> Prbs {
        Prbs { full: self.full + other.full, reduced: self.reduced + other.reduced }
    }
}

/// Properties of a carrier that are the same in every TTI.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub carrier: Carrier,
    pub control: Control,
    pub unit: SizeUnit,
    /// Slots in a TTI.
    pub slots: u64,
    /// Time division duplex, with the carrier of special slots, if these carry data; TTIs then have one slot.
    pub tdd: Option<(Tdd, Option<Carrier>)>,
}

/// The resource blocks of one TTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    grid: &'a Grid,
    carrier: &'a Carrier,
    full_slots: u64,
    reduced_slots: u64,
    /// All resource blocks that carry data.
    all: Prbs,
}

impl Grid {
    /// TTI number `tti`.
    #[inline]
    pub fn frame(&self, tti: u64) -> Frame<'_> {
        if let Some((tdd, special)) = &self.tdd
            && !tdd.is_downlink(tti)
        {
            return match special {
                Some(special) if tdd.is_special(tti) => self.frame_on(special, tti),
                _ => Frame {
                    grid: self,
                    carrier: &self.carrier,
                    full_slots: 0,
                    reduced_slots: 0,
                    all: Prbs::default(),
                },
            };
        }
        self.frame_on(&self.carrier, tti)
    }

    #[inline]
    fn frame_on<'a>(&'a self, carrier: &'a Carrier, tti: u64) -> Frame<'a> {
        let prbs = carrier.prbs();
        let (mut full_slots, mut reduced_slots, mut reduced) = (0, 0, 0);
        let first = tti.wrapping_mul(self.slots);
        for slot in first..first.saturating_add(self.slots) {
            let here = self.control.data_prbs(slot, prbs);
            if here == prbs {
                full_slots += 1;
            } else {
                (reduced, reduced_slots) = (here, reduced_slots + 1);
            }
        }
        let all = Prbs { full: if full_slots > 0 { prbs } else { 0 }, reduced };
        Frame { grid: self, carrier, full_slots, reduced_slots, all }
    }

    /// Number of TTIs after which frames repeat.
    pub fn period(&self) -> u64 {
        let slots = u64::from(self.control.period_slots());
        let ttis = slots / common(slots, self.slots);
        multiple(ttis, self.tdd_slots().unwrap_or(1))
    }

    /// Slots of the pattern of time division duplex; `None` without.
    pub fn tdd_slots(&self) -> Option<u64> {
        Some(self.tdd.as_ref()?.0.period_slots())
    }

    /// Bytes that all resource blocks of slot number `slot` carry at `mcs`; slots with control count as others.
    pub fn slot_bytes(&self, slot: u64, mcs: u8) -> u32 {
        let carrier = match &self.tdd {
            Some((tdd, special)) if tdd.is_special(slot) => special.as_ref(),
            Some((tdd, _)) if !tdd.is_downlink(slot) => None,
            _ => Some(&self.carrier),
        };
        carrier.map_or(0, |carrier| carrier.block_bytes(mcs, carrier.prbs()))
    }

    /// Number of windows of `ttis` TTIs after which the frames of windows repeat.
    pub fn windows(&self, ttis: u64) -> u64 {
        let period = self.period();
        period / common(period, ttis).max(1)
    }

    /// Number of resource blocks that carry data in TTI number `tti`.
    pub fn rbs(&self, tti: u64) -> u32 {
        let frame = self.frame(tti);
        // The number fits: at most 275 resource blocks in each of 1000 slots.
        frame.count(frame.all()) as u32
    }

    /// Returns true if TTI number `tti` is a special slot.
    pub fn is_special(&self, tti: u64) -> bool {
        self.tdd.as_ref().is_some_and(|(tdd, _)| tdd.is_special(tti))
    }
}

/// The least common multiple.
pub(crate) fn multiple(one: u64, other: u64) -> u64 {
    one / common(one, other).max(1) * other
}

/// The greatest common divisor.
fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Frame<'_> {
    /// All resource blocks that carry data.
    pub fn all(&self) -> Prbs {
        self.all
    }
    /// Number of groups of all resource blocks.
    pub fn groups(&self) -> u16 {
        self.all.full.max(self.all.reduced).div_ceil(self.carrier.rbg_prbs().max(1))
    }
    /// The resource blocks of `groups` groups from group `at` on.
    #[inline]
    pub fn prbs(&self, at: u16, groups: u16) -> Prbs {
        let size = u32::from(self.carrier.rbg_prbs());
        let (from, to) = (u32::from(at) * size, (u32::from(at) + u32::from(groups)) * size);
        let within = |all: u16| {
            let all = u32::from(all);
            (to.min(all) - from.min(all)) as u16
        };
        Prbs { full: within(self.all.full), reduced: within(self.all.reduced) }
    }
    /// Number of resource blocks over all slots.
    #[inline]
    pub fn count(&self, prbs: Prbs) -> u64 {
        self.full_slots * u64::from(prbs.full) + self.reduced_slots * u64::from(prbs.reduced)
    }
    /// Bytes that the resource blocks carry for a UE with this channel.
    #[inline]
    pub fn bytes(&self, quality: Quality, prbs: Prbs) -> u64 {
        let bytes = match quality {
            Quality::Rung(rung) => {
                let carrier = self.carrier;
                let mut bytes = self.full_slots * u64::from(carrier.rung_bytes(rung, prbs.full));
                if self.reduced_slots > 0 {
                    bytes += self.reduced_slots * u64::from(carrier.rung_bytes(rung, prbs.reduced));
                }
                bytes
            }
            Quality::Bytes(bytes) => {
                let (part, all) = (self.count(prbs), self.count(self.all));
                if part == all {
                    // An uplink slot carries no bytes.
                    if all > 0 { bytes } else { 0 }
                } else {
                    (u128::from(bytes) * u128::from(part) / u128::from(all.max(1))) as u64
                }
            }
            Quality::Outage => 0,
        };
        match self.grid.unit {
            SizeUnit::Bytes => bytes,
            SizeUnit::Packets => bytes - bytes % PACKET_BYTES,
        }
    }
    /// Bytes that `groups` whole groups carry, on a carrier that has them.
    pub fn whole_bytes(&self, quality: Quality, groups: u16) -> u64 {
        let rbg_prbs = self.carrier.rbg_prbs();
        let prbs = groups.saturating_mul(rbg_prbs);
        // TTIs have only one slot if slots with control have fewer groups.
        let part = |slots: u64| if slots > 0 { prbs } else { 0 };
        self.bytes(quality, Prbs { full: part(self.full_slots), reduced: part(self.reduced_slots) })
    }
    /// The smallest number of groups from group `at` on that carry `bytes`; all groups if they carry less. 0
    /// in an outage.
    pub fn groups_for(&self, quality: Quality, at: u16, bytes: u64) -> u16 {
        if matches!(quality, Quality::Outage | Quality::Bytes(0)) {
            return 0;
        }
        let most = self.groups().saturating_sub(at);
        if let Quality::Rung(rung) = quality
            && (self.full_slots, self.reduced_slots, self.grid.unit) == (1, 0, SizeUnit::Bytes)
        {
            // The usual TTI of one slot: bytes by number of resource blocks are one row of a table.
            let (row, size) = (self.carrier.blocks_bytes(rung), self.carrier.rbg_prbs());
            let from = (usize::from(at) * usize::from(size)).min(usize::from(self.all.full));
            let carried = |groups: u16| {
                let to = usize::from(at + groups) * usize::from(size);
                let prbs = to.min(usize::from(self.all.full)) - from;
                row.get(prbs).map_or(0, |&bytes| u64::from(bytes))
            };
            return first(most, |groups| carried(groups) >= bytes);
        }
        first(most, |groups| self.bytes(quality, self.prbs(at, groups)) >= bytes)
    }
}

/// The smallest number of groups that is `enough`; `most` if none is.
#[inline]
fn first(most: u16, enough: impl Fn(u16) -> bool) -> u16 {
    let (mut low, mut high) = (0, most);
    // More resource blocks carry more bytes, with one exception: I_TBS 6 carries 328 bits in one PRB, and 176 in two.
    let mut middle = 1.min(high);
    while low < high {
        if enough(middle) {
            high = middle;
        } else {
            low = (middle + 1).min(high);
        }
        middle = low + (high - low) / 2;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::McsTable;
    use alloc::vec;
    use proptest::prelude::*;

    fn grid(prbs: u16, slots: u64, control: Control, unit: SizeUnit) -> Grid {
        Grid { carrier: Carrier::lte(prbs).unwrap(), control, unit, slots, tdd: None }
    }
    fn control() -> Control {
        Control::new(10, 0, 2, 8).unwrap()
    }

    #[test]
    fn the_parts_of_a_tti_add_up_to_the_whole() {
        for (prbs, slots) in [(6, 1), (25, 1), (25, 10), (100, 4), (15, 7)] {
            let grid = grid(prbs, slots, control(), SizeUnit::Bytes);
            for tti in 0..20 {
                let frame = grid.frame(tti);
                let slots: u64 = (tti * slots..(tti + 1) * slots)
                    .map(|slot| u64::from(control().data_prbs(slot, prbs)))
                    .sum();
                assert_eq!(frame.count(frame.all()), slots);
                let single: u64 = (0..frame.groups()).map(|group| frame.count(frame.prbs(group, 1))).sum();
                assert_eq!(single, slots);
                assert_eq!(frame.prbs(0, frame.groups()), frame.all());
                let (there, back) = (grid.frame(tti), grid.frame(tti + grid.period()));
                assert_eq!((there.all, there.full_slots), (back.all, back.full_slots));
            }
        }
    }

    #[test]
    fn more_resource_blocks_carry_more() {
        let nr = |table, layers| Carrier::nr(1, 273, table, layers, Default::default()).unwrap();
        for carrier in [Carrier::lte(100).unwrap(), nr(McsTable::Qam64, 1), nr(McsTable::Qam256, 4)] {
            for mcs in 0..=carrier.mcs_max() {
                let bytes = |prbs| carrier.block_bytes(mcs, prbs);
                let first = if carrier.is_lte() { 2 } else { 0 };
                assert!((first..=carrier.prbs()).map(bytes).is_sorted(), "MCS {mcs}");
            }
        }
    }

    #[test]
    fn a_tti_carries_the_bytes_of_its_slots() {
        let many = grid(25, 10, control(), SizeUnit::Bytes);
        let one = grid(25, 1, control(), SizeUnit::Bytes);
        let all = |grid: &Grid, tti| {
            let frame = grid.frame(tti);
            frame.bytes(Quality::mcs(20), frame.all())
        };
        assert_eq!(all(&many, 0), (0..10).map(|slot| all(&one, slot)).sum());
    }

    #[test]
    fn in_packets_only_whole_packets_count() {
        let grid = grid(25, 10, Control::NONE, SizeUnit::Packets);
        let frame = grid.frame(0);
        assert_eq!(frame.bytes(Quality::Bytes(7499), frame.all()), 6000);
        assert_eq!(frame.bytes(Quality::Bytes(7500), frame.prbs(0, 12)), 6000, "24 of 25 resource blocks");
        assert_eq!(frame.groups_for(Quality::Bytes(7500), 0, 1500), 3, "6 of 25 carry 1800");
        assert_eq!(frame.groups_for(Quality::Outage, 0, 1500), 0);
    }

    proptest! {
        #[test]
        fn groups_for_is_the_smallest_sufficient_number(
            bytes in 1_u64..40_000, at in 0_u16..13, mcs in 0_u8..29, slots in 1_u64..12, tti in 0_u64..10,
            prbs in prop::sample::select(vec![6, 25]),
        ) {
            let control = Control::new(10, 0, 2, 4).unwrap();
            let grid = grid(prbs, slots, control, SizeUnit::Bytes);
            let (frame, quality) = (grid.frame(tti), Quality::mcs(mcs));
            prop_assume!(at < frame.groups());
            let found = frame.groups_for(quality, at, bytes);
            let first = (0..=frame.groups() - at)
                .find(|&n| frame.bytes(quality, frame.prbs(at, n)) >= bytes)
                .unwrap_or(frame.groups() - at);
            prop_assert_eq!(found, first);
        }
    }
}
