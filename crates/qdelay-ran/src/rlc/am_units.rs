//! What acknowledged mode numbers: PDUs in LTE, packets in NR.

use super::concatenation::Pdus;
use super::{Common, Receiver};
use qdelay_core::{DropReason, Time};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    /// TS 36.322.
    Lte,
    /// TS 38.322.
    Nr,
}

/// The units of an entity: PDUs in LTE, packets of the ledger in NR.
#[derive(Clone, Debug)]
pub(super) struct Units {
    pub world: World,
    pub pdus: Pdus,
}

impl Units {
    pub fn hold(&mut self, common: &mut Common, unit: u32) {
        match self.world {
            World::Lte => self.pdus.hold(unit),
            World::Nr => common.ledger.hold(unit),
        }
    }
    pub fn release<R: Receiver>(&mut self, common: &mut Common, unit: u32, receiver: &mut R) {
        match self.world {
            World::Lte => self.pdus.release(unit, &mut common.ledger, receiver),
            World::Nr => common.ledger.release(unit, receiver),
        }
    }
    /// Bytes `from..to` of it have arrived.
    pub fn received(&self, common: &mut Common, unit: u32, (from, to): (u32, u32), now: Time) {
        match self.world {
            World::Nr => common.ledger.received(unit, now),
            World::Lte => {
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
    /// Drops its packets.
    pub fn end<R: Receiver>(&self, common: &mut Common, unit: u32, reason: DropReason, receiver: &mut R) {
        match self.world {
            World::Nr => common.ledger.end_below(unit, reason, receiver),
            World::Lte => {
                for element in self.pdus.elements(unit) {
                    common.ledger.end_below(element.sdu, reason, receiver);
                }
            }
        }
    }
}
