//! The units that acknowledged mode numbers: PDUs in LTE, packets in NR.

use super::concatenation::Pdus;
use super::{Common, Receiver};
use qdelay_core::{DropReason, Time};

/// The radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rat {
    /// LTE, TS 36.322.
    Lte,
    /// NR, TS 38.322.
    Nr,
}

/// The units of an entity: PDUs in LTE, packets of the ledger in NR.
#[derive(Clone, Debug)]
pub(super) struct Units {
    pub rat: Rat,
    pub pdus: Pdus,
}

impl Units {
    pub fn hold(&mut self, common: &mut Common, unit: u32) {
        match self.rat {
            Rat::Lte => self.pdus.hold(unit),
            Rat::Nr => common.ledger.hold(unit),
        }
    }
    pub fn release<R: Receiver>(&mut self, common: &mut Common, unit: u32, receiver: &mut R) {
        match self.rat {
            Rat::Lte => self.pdus.release(unit, &mut common.ledger, receiver),
            Rat::Nr => common.ledger.release(unit, receiver),
        }
    }
    /// Records that bytes `from..to` of a unit have arrived.
    pub fn received(&self, common: &mut Common, unit: u32, (from, to): (u32, u32), now: Time) {
        match self.rat {
            Rat::Nr => common.ledger.received(unit, now),
            Rat::Lte => {
                let mut offset = 0;
                for element in self.pdus.elements(unit) {
                    let start = offset;
                    offset += element.to - element.from;
                    if offset > from && start < to {
                        common.ledger.received(element.sdu, now);
                    }
                }
            }
        }
    }
    /// Drops the packets of a unit.
    pub fn end<R: Receiver>(&self, common: &mut Common, unit: u32, reason: DropReason, receiver: &mut R) {
        match self.rat {
            Rat::Nr => common.ledger.end_below(unit, reason, receiver),
            Rat::Lte => {
                for element in self.pdus.elements(unit) {
                    common.ledger.end_below(element.sdu, reason, receiver);
                }
            }
        }
    }
}
