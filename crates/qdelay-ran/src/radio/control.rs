//! Slots in which fewer resource blocks carry data.
//!
//! In LTE the synchronisation signals (TS 36.211 6.11) are in the middle six PRBs of subframes 0 and 5, the broadcast channel
//! (6.6.4) in those of subframe 0. A scheduler that assigns resource blocks in groups skips every group that overlaps them.

use super::RadioError;

/// A periodic reservation: in `count` of every `period_slots` slots, consecutively from slot `first` on,
/// `reserved_prbs` resource blocks carry no data. Slots are numbered from the beginning of the run, at any
/// length of a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    period_slots: u32,
    first: u32,
    count: u32,
    reserved_prbs: u16,
}

impl Default for Control {
    fn default() -> Control {
        Control::NONE
    }
}

impl Control {
    /// No reservation: every resource block of every slot carries data.
    pub const NONE: Control = Control { period_slots: 1, first: 0, count: 0, reserved_prbs: 0 };
    /// The testbed of the thesis: in 2 of 10 subframes, 0 and 5, the middle six of 25 PRBs touch four groups of two; so 8 PRBs
    /// do not carry data, and a transport block of MCS 28 has 1572 bytes instead of 2292 (1569 and 2289 without its header).
    pub const TESTBED: Control = Control { period_slots: 5, first: 0, count: 1, reserved_prbs: 8 };

    /// Slots with control, as described at the type.
    ///
    /// # Errors
    /// A period of 0, or a first slot or a count that is not within the period.
    pub fn new(period_slots: u32, first: u32, count: u32, reserved_prbs: u16) -> Result<Control, RadioError> {
        let refuse =
            |what, found, expected| Err(RadioError::Number { what, found: f64::from(found), expected });
        if period_slots == 0 {
            return refuse("period of control", period_slots, "at least one slot");
        }
        if first >= period_slots {
            return refuse("first slot with control", first, "a slot before the end of the period");
        }
        if count > period_slots {
            return refuse("number of slots with control", count, "at most the period");
        }
        Ok(Control { period_slots, first, count, reserved_prbs })
    }

    /// The period in slots; at least 1.
    pub const fn period_slots(&self) -> u32 {
        self.period_slots
    }

    /// Number of `prbs` resource blocks that carry data in slot number `slot`.
    pub fn data_prbs(&self, slot: u64, prbs: u16) -> u16 {
        let period = u64::from(self.period_slots);
        let at = (slot % period + period - u64::from(self.first)) % period;
        if at < u64::from(self.count) { prbs.saturating_sub(self.reserved_prbs) } else { prbs }
    }

    /// The sum of `data_prbs` over `slots` slots from `slot` on.
    pub fn data_prbs_of(&self, slot: u64, slots: u64, prbs: u16) -> u64 {
        let period = u64::from(self.period_slots);
        let reserved = u64::from(prbs.min(self.reserved_prbs));
        let start = slot % period;
        // Each whole period has `count` such slots; the remainder is counted slot by slot.
        let (rounds, rest) = (slots / period, slots % period);
        let controlled = rounds * u64::from(self.count) + self.before(start + rest) - self.before(start);
        slots * u64::from(prbs) - controlled * reserved
    }

    /// Number of slots with control before `slot`.
    fn before(&self, slot: u64) -> u64 {
        let (period, first, count) =
            (u64::from(self.period_slots), u64::from(self.first), u64::from(self.count));
        let (rounds, at) = (slot / period, slot % period);
        let wrapped = (first + count).saturating_sub(period);
        let in_round = at.min(wrapped) + at.saturating_sub(first).min(count - wrapped);
        rounds * count + in_round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn control_reserves_the_resource_blocks_of_its_slots() {
        assert!((0..100).all(|slot| Control::NONE.data_prbs(slot, 25) == 25));
        let prbs: Vec<u16> = (0..10).map(|slot| Control::TESTBED.data_prbs(slot, 25)).collect();
        assert_eq!(prbs, [17, 25, 25, 25, 25, 17, 25, 25, 25, 25]);
        assert_eq!(Control::TESTBED.data_prbs(0, 6), 0);
    }

    /// PRBs from 0 on that overlap the middle 72 subcarriers of 25 x 12, in groups of two.
    #[test]
    fn the_testbeds_eight_prbs_are_four_groups() {
        let (first, last) = ((300 - 72) / 2 / 12, ((300 + 72) / 2 - 1) / 12);
        let groups = last / 2 - first / 2 + 1;
        assert_eq!((first, last, groups * 2), (9, 15, u32::from(Control::TESTBED.reserved_prbs)));
    }

    #[test]
    fn sums_equal_the_sums_over_slots() {
        for period in 1..7 {
            for first in 0..period {
                for count in 0..=period {
                    let control = Control::new(period, first, count, 8).unwrap();
                    for slot in 0..15 {
                        for slots in 0..20 {
                            let each =
                                (slot..slot + slots).map(|slot| u64::from(control.data_prbs(slot, 25)));
                            assert_eq!(control.data_prbs_of(slot, slots, 25), each.sum::<u64>());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(Control::new(0, 0, 0, 0).is_err());
        assert!(Control::new(5, 5, 1, 0).is_err());
        assert!(Control::new(5, 4, 6, 0).is_err());
        assert_eq!(Control::new(5, 0, 1, 8), Ok(Control::TESTBED));
    }
}
