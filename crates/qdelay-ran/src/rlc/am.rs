//! Acknowledged mode: sender, receiver, and the reports between them.
//!
//! Source: TS 36.322 clauses 5.1.3, 5.2 and 7.1; TS 38.322 clauses 5.2.3, 5.3 and 7.1. Both technologies
//! share this implementation: LTE numbers PDUs that it builds, NR numbers packets, and either is called a
//! unit below. The names of variables are NR's: TX_Next_Ack (VT(A)), TX_Next (VT(S)); RX_Next (VR(R)),
//! RX_Next_Status_Trigger (VR(X)), RX_Highest_Status (VR(MS)), RX_Next_Highest (VR(H)).
//!
//! # Differences from the reference
//! * Status reports are not lost on the uplink, and use no resources of other data; data in the other
//!   direction carries none.
//! * When maxRetxThreshold is reached, RRC would be notified and would re-establish the connection after a
//!   cell search. Here the entity is re-established at once. LTE's receiver delivers the packets of its
//!   complete PDUs (the reference: those of segments too); then the unit's packets are dropped, and so are
//!   all others that the entity holds: upper layers do not retransmit.
//! * When t-PollRetransmit has expired, the sender checks at the next transmission opportunity, not at once,
//!   if other data could carry the poll; if not, a unit is retransmitted for it. A block that polls because
//!   no data is left, or because that timer has expired, does so in its last PDU.
//! * LTE counts a retransmission for every gap in a report, NR once for each packet in a report; here both
//!   use the latter.

use super::am_receiver::AmReceiver;
use super::am_sender::AmSender;
use super::am_units::{Rat, Units};
use super::blocks::Part;
use super::concatenation::Pdus;
use super::prefixes::Prefixes;
use super::setting::{Am, RlcSetting};
use super::status::StatusQueue;
use super::{AmCounts, Common, Receiver, Supply, Transmitted};
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

/// The sending and the receiving entity.
#[derive(Clone, Debug)]
pub(super) struct Acknowledged {
    am: Am,
    units: Units,
    pub sender: AmSender,
    receiver: AmReceiver,
    in_transit: StatusQueue,
    pub counts: AmCounts,
}

impl Acknowledged {
    pub fn new(setting: &RlcSetting, am: Am, rat: Rat) -> Acknowledged {
        Acknowledged {
            am,
            units: Units { rat, pdus: Pdus::default() },
            sender: AmSender::new(setting, am),
            receiver: AmReceiver::new(am),
            in_transit: StatusQueue::default(),
            counts: AmCounts::default(),
        }
    }

    /// Forwards [`super::Bearer::announce`] to the sender.
    pub fn announce(&mut self, packet_bytes: u32) {
        self.units.pdus.announce(self.sender.intake.sdu_bytes(packet_bytes));
    }

    pub fn wanted_bytes(&self, common: &Common, queue: Backlog) -> u64 {
        self.sender.wanted_bytes(&self.units, common, queue)
    }

    /// Computes [`super::Bearer::prefixes`].
    pub fn prefixes<N: FnMut() -> Option<u32>>(&self, common: &Common, prefixes: &mut Prefixes<'_, N>) {
        self.sender.prefixes(&self.units, common, prefixes);
    }

    pub fn transmit<S: Supply>(
        &mut self,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
    ) -> Transmitted {
        self.sender.transmit(&mut self.units, common, now, grant_bytes, supply)
    }

    /// Handles a part that has arrived or is lost. A `void` part was sent before the entity was
    /// re-established.
    pub fn ended<R: Receiver>(
        &mut self,
        common: &mut Common,
        now: Time,
        part: Part,
        (arrived, void): (bool, bool),
        receiver: &mut R,
    ) {
        if arrived && !void {
            self.units.received(common, part.unit, (part.from, part.to), now);
            self.receiver.place(&mut self.units, common, now, part, receiver);
        } else {
            self.units.release(common, part.unit, receiver);
        }
    }

    pub fn next_deadline(&self) -> Time {
        self.receiver.next_deadline().min(self.in_transit.next_arrival()).min(self.sender.next_deadline())
    }

    pub fn poll<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        self.receiver.poll(self.units.rat, now);
        if self.receiver.status_is_due(now) {
            let mut status = self.in_transit.blank();
            self.receiver.write_status(self.units.rat, now, &mut status);
            self.counts.reports += 1;
            self.counts.report_bytes += status.bytes();
            self.in_transit.send(now + self.am.uplink.air, status);
        }
        while let Some(status) = self.in_transit.receive(now) {
            self.sender.on_status(&mut self.units, common, &status, receiver);
            self.in_transit.discard(status);
        }
        self.sender.poll(now);
        if let Some(unit) = self.sender.failed() {
            self.reestablish(common, now, unit, receiver);
        }
    }

    /// Re-establishes both entities (TS 36.322 clause 5.4, TS 38.322 clause 5.1.2) because unit `failed` reached its limit.
    /// The last retransmission of that unit may have arrived: the receiver delivers its complete packets before any is
    /// dropped.
    fn reestablish<R: Receiver>(&mut self, common: &mut Common, now: Time, failed: u32, receiver: &mut R) {
        self.counts.reestablished += 1;
        self.receiver.reset(&mut self.units, common, now, receiver);
        self.units.end(common, failed, super::MAX_RETRANSMISSIONS, receiver);
        common.ledger.end_all(super::REESTABLISHED, receiver);
        common.ledger.clear_forwarded(receiver);
        self.sender.reset(&mut self.units, common, receiver);
        self.in_transit.clear();
        common.blocks.void();
    }

    /// Handles a handover: re-establishes both entities, and brings back the packets that the UE has not
    /// received completely.
    #[cold]
    #[inline(never)]
    pub fn hand_over<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        self.receiver.reset(&mut self.units, common, now, receiver);
        common.ledger.forward(self.sender.intake.opened());
        self.sender.reset(&mut self.units, common, receiver);
        self.in_transit.clear();
        common.blocks.void();
    }

    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.units.pdus.held()
    }
}
