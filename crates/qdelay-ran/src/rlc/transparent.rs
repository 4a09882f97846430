//! Transparent mode (TS 36.322, TS 38.322 clause 5.1.1 and 5.2.1): packets are sent whole, without an RLC
//! header.
//!
//! # Differences from the reference
//! 3GPP uses transparent mode for signalling only. Here it also models an emulator that counts packets: with
//! `counted_bytes` each packet fills that many bytes of a grant, at any size.

use super::blocks::Part;
use super::ledger::SduId;
use super::prefixes::Prefixes;
use super::setting::MacHeader;
use super::{Common, Receiver, RlcSetting, Supply, Transmitted};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{Packet, Time};

#[derive(Clone, Debug)]
pub(super) struct Transparent {
    counted_bytes: Option<u32>,
    overhead_bytes: u32,
    mac: MacHeader,
    /// A packet taken from the queue for a grant into which it did not fit.
    waiting: Option<SduId>,
}

impl Transparent {
    pub fn new(setting: &RlcSetting, counted_bytes: Option<u32>) -> Transparent {
        Transparent {
            counted_bytes,
            overhead_bytes: setting.sdu_overhead_bytes,
            mac: setting.mac,
            waiting: None,
        }
    }

    /// Bytes of a grant that a packet fills.
    fn cost_bytes(&self, bytes: u32) -> u64 {
        let bytes = u64::from(self.counted_bytes.unwrap_or(bytes));
        bytes + self.mac.bytes(bytes)
    }

    pub fn wanted_bytes(&self, common: &Common, queue: Backlog) -> u64 {
        let waiting = self.waiting.map_or(0, |id| self.cost_bytes(common.ledger.get(id).bytes));
        waiting
            + match self.counted_bytes {
                Some(_) => queue.packets * self.cost_bytes(0),
                None => {
                    let header_bytes = u64::from(self.overhead_bytes) + self.mac.bytes(u64::MAX);
                    // A packet of zero bytes counts as one.
                    (queue.bytes + queue.packets * header_bytes).max(queue.packets)
                }
            }
    }

    /// Computes [`super::Bearer::head_packet`].
    pub fn head(&self, common: &Common) -> Option<Packet> {
        self.waiting.map(|id| common.ledger.get(id).packet)
    }

    /// Computes [`super::Bearer::prefixes`].
    pub fn prefixes<N: FnMut() -> Option<u32>>(&self, common: &Common, prefixes: &mut Prefixes<'_, N>) {
        let mut used = 0;
        let mut waiting = self.waiting.map(|id| u64::from(common.ledger.get(id).bytes));
        while let Some(bytes) = waiting.take().or_else(|| prefixes.next_sdu(self.overhead_bytes)) {
            used += self.cost_bytes(bytes.min(u64::from(u32::MAX)) as u32);
            if !prefixes.push(used) {
                return;
            }
        }
    }

    pub fn transmit<S: Supply>(
        &mut self,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
    ) -> Transmitted {
        let mut done = Transmitted::default();
        while done.used_bytes + self.cost_bytes(1) <= grant_bytes {
            let id = match self.waiting.take() {
                Some(id) => id,
                None => {
                    let Some(packet) = supply.pull() else { break };
                    common.ledger.add(packet, self.overhead_bytes)
                }
            };
            let (packet, bytes) = (common.ledger.get(id).packet, common.ledger.get(id).bytes);
            let cost_bytes = self.cost_bytes(bytes);
            // A packet that does not fit was already pulled: it waits here for a larger grant.
            if done.used_bytes + cost_bytes > grant_bytes {
                self.waiting = Some(id);
                break;
            }
            common.ledger.taken(id, now);
            common.ledger.departed(id);
            supply.departed(&packet);
            common.parts.push(Part { unit: id, sn: 0, from: 0, to: bytes, last: true, poll: false });
            done.used_bytes += cost_bytes;
            done.sdu_bytes += self.counted(&packet);
        }
        done
    }

    fn counted(&self, packet: &Packet) -> u64 {
        u64::from(self.counted_bytes.unwrap_or(packet.bytes))
    }

    /// Handles a part that has arrived or is lost.
    pub fn ended<R: Receiver>(
        &mut self,
        common: &mut Common,
        now: Time,
        part: Part,
        arrived: bool,
        receiver: &mut R,
    ) {
        let ledger = &mut common.ledger;
        if arrived {
            ledger.received(part.unit, now);
            ledger.deliver(part.unit, now, receiver);
        } else {
            ledger.doom(part.unit, super::AIR);
        }
        ledger.release(part.unit, receiver);
    }

    pub fn remaining(&self, common: &Common) -> Backlog {
        self.waiting.map_or(Backlog::default(), |id| Backlog {
            packets: 1,
            bytes: self.counted(&common.ledger.get(id).packet),
        })
    }
}
