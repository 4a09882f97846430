//! Acknowledged mode: sender, receiver, and the reports between them.
//!
//! Source: TS 36.322 clauses 5.1.3, 5.2 and 7.1; TS 38.322 clauses 5.2.3, 5.3 and 7.1. Both are one program here: what LTE
//! numbers is a PDU of its own making, what NR numbers is a packet, and either is called a unit below. NR's names of
//! variables are used: TX_Next_Ack (VT(A)), TX_Next (VT(S)); RX_Next (VR(R)), RX_Next_Status_Trigger (VR(X)),
//! RX_Highest_Status (VR(MS)), RX_Next_Highest (VR(H)).
//!
//! # Differences from the reference
//! * Reports are not lost on their way up, and take no room of anybody's; the data of the other direction carries none.
//! * Reaching maxRetxThreshold is told to RRC, which would establish the connection anew after a search for cells. Here the
//!   entity is established anew at once. LTE's receiver delivers what its whole PDUs hold (the reference: what segments
//!   hold too); then the unit's packets are dropped, and so is all else that the entity holds: upper layers do not repeat
//!   anything.
//! * When t-PollRetransmit has run out, whether anything else could carry the poll is seen at the next opportunity to send,
//!   not at once; then a unit is repeated for it. A block that polls because nothing is left, or because that timer has run
//!   out, does so in its last PDU.
//! * LTE counts a retransmission for every gap of a report, NR once for each packet in a report; here both do the latter.

use super::am_receiver::AmReceiver;
use super::am_sender::AmSender;
use super::am_units::{Units, World};
use super::blocks::Part;
use super::concatenation::Pdus;
use super::prefixes::Prefixes;
use super::setting::{Am, RlcSetting};
use super::status::StatusMail;
use super::{AmCounts, Common, Receiver, Supply, Transmitted};
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

/// Both entities.
#[derive(Clone, Debug)]
pub(super) struct Acknowledged {
    am: Am,
    units: Units,
    pub sender: AmSender,
    receiver: AmReceiver,
    mail: StatusMail,
    pub counts: AmCounts,
}

impl Acknowledged {
    pub fn new(setting: &RlcSetting, am: Am, world: World) -> Acknowledged {
        Acknowledged {
            am,
            units: Units { world, pdus: Pdus::default() },
            sender: AmSender::new(setting, am),
            receiver: AmReceiver::new(am),
            mail: StatusMail::default(),
            counts: AmCounts::default(),
        }
    }

    /// As [`super::Bearer::announce`].
    pub fn announce(&mut self, packet_bytes: u32) {
        self.units.pdus.announce(self.sender.intake.sdu_bytes(packet_bytes));
    }

    pub fn wanted_bytes(&self, common: &Common, queue: Backlog) -> u64 {
        self.sender.wanted_bytes(&self.units, common, queue)
    }

    /// As [`super::Bearer::prefixes`].
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

    /// A part has arrived, or is lost. A `void` one was sent before the entity was established anew.
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
        self.receiver.next_deadline().min(self.mail.next_arrival()).min(self.sender.next_deadline())
    }

    pub fn poll<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        self.receiver.poll(self.units.world, now);
        if self.receiver.status_is_due(now) {
            let mut status = self.mail.blank();
            self.receiver.write_status(self.units.world, now, &mut status);
            self.counts.reports += 1;
            self.counts.report_bytes += status.bytes();
            self.mail.send(now + self.am.uplink.air, status);
        }
        while let Some(status) = self.mail.receive(now) {
            self.sender.on_status(&mut self.units, common, &status, receiver);
            self.mail.discard(status);
        }
        self.sender.poll(now);
        if let Some(unit) = self.sender.failed() {
            self.reestablish(common, now, unit, receiver);
        }
    }

    /// Both entities begin anew (TS 36.322 clause 5.4, TS 38.322 clause 5.1.2), because of `failed`. That unit may have
    /// arrived by its last retransmission: the receiver delivers what it has before anything is dropped.
    fn reestablish<R: Receiver>(&mut self, common: &mut Common, now: Time, failed: u32, receiver: &mut R) {
        self.counts.reestablished += 1;
        self.receiver.reset(&mut self.units, common, now, receiver);
        self.units.end(common, failed, super::MAX_RETRANSMISSIONS, receiver);
        common.ledger.end_all(super::REESTABLISHED, receiver);
        self.sender.reset(&mut self.units, common, receiver);
        self.mail.clear();
        common.blocks.void();
    }

    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.units.pdus.held()
    }
}
