//! The sender of acknowledged mode: window, polls, retransmissions and their segments. Its sources are listed in
//! [`super::am`].

use super::am_units::{Rat, Units};
use super::blocks::Part;
use super::header::{lte_am_bytes, nr_am_bytes};
use super::intake::Intake;
use super::numbers::{START, at_or_above, on_the_air, window};
use super::prefixes::{self, Prefixes};
use super::setting::{Am, MacHeader, RlcSetting};
use super::status::{Gap, Status};
use super::{Common, Receiver, Supply, Transmitted};
use alloc::collections::VecDeque;
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

/// A unit sent, kept until it and all units before it are acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    unit: u32,
    /// Size of the unit in bytes.
    bytes: u32,
    /// Bytes sent at least once.
    sent: u32,
    /// RETX_COUNT plus one: 0 before the first retransmission.
    retransmissions: u32,
    acknowledged: bool,
}

/// Bytes to retransmit.
#[derive(Clone, Copy, Debug)]
struct Again {
    number: u64,
    from: u32,
    to: u32,
}

#[derive(Clone, Debug)]
pub(super) struct AmSender {
    am: Am,
    mac: MacHeader,
    pub intake: Intake,
    /// TX_Next_Ack: the first unit that is not acknowledged.
    next_ack: u64,
    /// Units from `next_ack` to before TX_Next.
    sent: VecDeque<Sent>,
    /// The retransmission buffer, in the order of numbers and bytes; entries neither overlap nor touch.
    again: VecDeque<Again>,
    pdus_without_poll: u32,
    bytes_without_poll: u64,
    /// POLL_SN: the highest number sent when the last poll was.
    poll_number: u64,
    /// Expiry of t-PollRetransmit.
    poll_timer: Time,
    /// True if t-PollRetransmit has run out: the next PDU polls.
    poll_due: bool,
    /// A unit that exceeded its limit of retransmissions.
    failed: Option<u32>,
}

impl AmSender {
    pub fn new(setting: &RlcSetting, am: Am) -> AmSender {
        AmSender {
            am,
            mac: setting.mac,
            intake: Intake::new(setting.sdu_overhead_bytes),
            next_ack: START,
            sent: VecDeque::new(),
            again: VecDeque::new(),
            pdus_without_poll: 0,
            bytes_without_poll: 0,
            poll_number: START,
            poll_timer: Time::NEVER,
            poll_due: false,
            failed: None,
        }
    }

    /// TX_Next: the number of the next unit.
    fn next(&self) -> u64 {
        self.next_ack + self.sent.len() as u64
    }

    /// Returns true if the window is full: no further unit may get a number.
    fn is_stalled(&self) -> bool {
        self.sent.len() as u64 >= window(self.am.sn_bits)
    }

    /// Returns true if no new data can be sent; `empty` is true for an empty queue. NR's open packet already
    /// has a number; LTE's has none yet.
    fn nothing_new(&self, rat: Rat, empty: bool) -> bool {
        match (rat, self.intake.is_open()) {
            (Rat::Nr, true) => false,
            (Rat::Lte, true) => self.is_stalled(),
            (_, false) => empty || self.is_stalled(),
        }
    }

    /// The unit to retransmit if no other data can carry a poll.
    fn unit_to_poll_with(&self, rat: Rat, empty: bool) -> Option<usize> {
        if !self.poll_due || !self.again.is_empty() || !self.nothing_new(rat, empty) {
            return None;
        }
        self.sent.iter().rposition(|sent| !sent.acknowledged)
    }

    pub fn wanted_bytes(&self, units: &Units, common: &Common, queue: Backlog) -> u64 {
        if self.failed.is_some() {
            return 0;
        }
        let mut wanted = 0;
        for again in &self.again {
            wanted += self.again_bytes(units, *again);
        }
        if let Some(index) = self.unit_to_poll_with(units.rat, queue.packets == 0) {
            let number = self.next_ack + index as u64;
            wanted += self.again_bytes(units, Again { number, from: 0, to: self.sent[index].sent });
        }
        if !self.nothing_new(units.rat, queue.packets == 0) {
            wanted += match units.rat {
                Rat::Lte => {
                    let fixed = lte_am_bytes(false);
                    units.pdus.wanted_bytes(&common.ledger, &self.intake, fixed, self.mac, queue)
                }
                Rat::Nr => {
                    let mut new = 0;
                    if self.intake.is_open() {
                        let pdu = nr_am_bytes(self.am.sn_bits, 1) + self.intake.rest_bytes(&common.ledger);
                        new += pdu + self.mac.bytes(pdu);
                    }
                    if !self.is_stalled() && queue.packets > 0 {
                        let header = nr_am_bytes(self.am.sn_bits, 0);
                        let data = self.intake.queued_bytes(queue) + queue.packets * header;
                        new += data + queue.packets * self.mac.bytes(data);
                    }
                    new
                }
            };
        }
        wanted
    }

    /// Computes [`super::Bearer::prefixes`].
    pub fn prefixes<N: FnMut() -> Option<u32>>(
        &self,
        units: &Units,
        common: &Common,
        prefixes: &mut Prefixes<'_, N>,
    ) {
        if self.failed.is_some() {
            return;
        }
        let mut used = 0;
        for again in &self.again {
            used += self.again_bytes(units, *again);
            if !prefixes.push(used) {
                return;
            }
        }
        let rest = self.intake.rest_bytes(&common.ledger);
        let numbers = window(self.am.sn_bits).saturating_sub(self.sent.len() as u64);
        match units.rat {
            Rat::Lte => {
                let shape = (lte_am_bytes(false), self.mac, self.intake.overhead_bytes());
                prefixes::concatenated(shape, (used, rest, numbers), prefixes);
            }
            Rat::Nr => {
                let header = |from| nr_am_bytes(self.am.sn_bits, from);
                let shape = (self.mac, self.intake.overhead_bytes());
                prefixes::apart(shape, (used, rest, numbers), header, header, prefixes);
            }
        }
    }

    /// The bytes of a retransmission in a grant that holds it in one piece.
    fn again_bytes(&self, units: &Units, again: Again) -> u64 {
        let Some(sent) = self.sent.get((again.number - self.next_ack) as usize) else { return 0 };
        let pdu = match units.rat {
            Rat::Nr => nr_am_bytes(self.am.sn_bits, again.from) + u64::from(again.to - again.from),
            Rat::Lte => {
                let header = lte_am_bytes(again.from > 0 || again.to < sent.bytes);
                let all = units.pdus.segment(sent.unit, (again.from, again.to), header, u64::MAX);
                all.map_or(0, |(_, bytes)| bytes)
            }
        };
        pdu + self.mac.bytes(pdu)
    }

    pub fn transmit<S: Supply>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
    ) -> Transmitted {
        let mut done = Transmitted::default();
        let is_empty = common.ledger.first_forwarded().is_none() && supply.is_empty();
        if let Some(index) = self.unit_to_poll_with(units.rat, is_empty) {
            let to = self.sent[index].sent;
            self.consider(self.next_ack + index as u64, (0, to), true);
        }
        if self.failed.is_some() {
            return done;
        }
        // Retransmissions have priority over new data (TS 36.322 clause 5.1.3.1.1, TS 38.322 clause
        // 5.2.3.1.1).
        while self.repeat(units, common, grant_bytes, &mut done) {}
        if self.again.is_empty() {
            match units.rat {
                Rat::Lte => while self.send_pdu(units, common, now, grant_bytes, supply, &mut done) {},
                Rat::Nr => while self.send_segment(common, now, grant_bytes, supply, &mut done) {},
            }
        }
        if !common.parts.is_empty() {
            let is_empty = common.ledger.first_forwarded().is_none() && supply.is_empty();
            let nothing_left = self.again.is_empty() && self.nothing_new(units.rat, is_empty);
            if let Some(part) = common.parts.last_mut()
                && !part.poll
                && (self.poll_due || nothing_left)
            {
                part.poll = true;
                self.polled(now);
            }
        }
        done
    }

    /// Sends the first entry of the retransmission buffer, or the part of it that fits. Returns false if nothing was sent.
    fn repeat(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        grant_bytes: u64,
        done: &mut Transmitted,
    ) -> bool {
        let Some(again) = self.again.front_mut() else { return false };
        let Some(sent) = self.sent.get((again.number - self.next_ack) as usize) else { return false };
        let limit = self.mac.fits(grant_bytes - done.used_bytes);
        let Again { from, to, .. } = *again;
        debug_assert!(from < to && to <= sent.sent, "only bytes that were sent are retransmitted");
        let fits = match units.rat {
            Rat::Lte => {
                // A PDU that fits whole keeps its original header; only a segment of it has the longer one.
                let whole = (from == 0 && to == sent.bytes)
                    .then(|| units.pdus.segment(sent.unit, (from, to), lte_am_bytes(false), limit))
                    .flatten()
                    .filter(|&(end, _)| end == to);
                whole.or_else(|| units.pdus.segment(sent.unit, (from, to), lte_am_bytes(true), limit))
            }
            Rat::Nr => {
                let header = nr_am_bytes(self.am.sn_bits, from);
                let bytes = limit.saturating_sub(header).min(u64::from(to - from));
                (bytes > 0).then_some((from + bytes as u32, header + bytes))
            }
        };
        let Some((end, bytes)) = fits else { return false };
        let part = Part {
            unit: sent.unit,
            sn: on_the_air(again.number, self.am.sn_bits),
            from,
            to: end,
            last: end == sent.bytes,
            poll: false,
        };
        again.from = end;
        if end == to {
            self.again.pop_front();
        }
        done.used_bytes += bytes + self.mac.bytes(bytes);
        common.parts.push(part);
        units.hold(common, part.unit);
        true
    }

    /// Sends a new PDU with as much data as fits; LTE only.
    fn send_pdu<S: Supply>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
        done: &mut Transmitted,
    ) -> bool {
        if self.is_stalled() {
            return false;
        }
        let limit = self.mac.fits(grant_bytes - done.used_bytes);
        let shape = (now, lte_am_bytes(false), limit);
        let filled = units.pdus.fill(&mut common.ledger, &mut self.intake, shape, supply, done);
        let Some((unit, bytes)) = filled else { return false };
        debug_assert!(bytes <= limit, "a PDU fits its grant");
        let data = units.pdus.get(unit).bytes;
        let sn = on_the_air(self.next(), self.am.sn_bits);
        self.sent.push_back(Sent { unit, bytes: data, sent: data, retransmissions: 0, acknowledged: false });
        // The creation counts as the sender's hold; the block is another holder.
        units.pdus.hold(unit);
        done.used_bytes += bytes + self.mac.bytes(bytes);
        let poll = self.counts(now, u64::from(data));
        common.parts.push(Part { unit, sn, from: 0, to: data, last: true, poll });
        true
    }

    /// Sends a packet, or as much of it as fits; NR only.
    fn send_segment<S: Supply>(
        &mut self,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
        done: &mut Transmitted,
    ) -> bool {
        let is_new = !self.intake.is_open();
        let limit = self.mac.fits(grant_bytes - done.used_bytes);
        let header = nr_am_bytes(self.am.sn_bits, u32::from(!is_new));
        if limit <= header || is_new && self.is_stalled() {
            return false;
        }
        let Some((_, end)) = self.intake.open(&mut common.ledger, supply) else { return false };
        let Some(bite) = self.intake.take_segment(&mut common.ledger, now, limit - header, supply, done)
        else {
            return false;
        };
        let unit = bite.sdu;
        if is_new {
            self.sent.push_back(Sent { unit, bytes: end, sent: 0, retransmissions: 0, acknowledged: false });
            // The sender holds the packet until it is acknowledged.
            common.ledger.hold(unit);
        }
        if let Some(sent) = self.sent.back_mut() {
            sent.sent = bite.to;
        }
        let data = u64::from(bite.to - bite.from);
        done.used_bytes += header + data + self.mac.bytes(header + data);
        let poll = self.counts(now, data);
        let sn = on_the_air(self.next() - 1, self.am.sn_bits);
        common.parts.push(Part { unit, sn, from: bite.from, to: bite.to, last: bite.last, poll });
        true
    }

    /// Counts a PDU with `bytes` new bytes; returns true if it polls because of pollPDU or pollByte.
    fn counts(&mut self, now: Time, bytes: u64) -> bool {
        self.pdus_without_poll += 1;
        self.bytes_without_poll += bytes;
        let poll = self.am.poll_pdu.is_some_and(|limit| self.pdus_without_poll >= limit)
            || self.am.poll_bytes.is_some_and(|limit| self.bytes_without_poll >= limit);
        if poll {
            self.polled(now);
        }
        poll
    }

    /// Records that the PDU that was numbered last, or one of the same block, carries a poll.
    fn polled(&mut self, now: Time) {
        (self.pdus_without_poll, self.bytes_without_poll) = (0, 0);
        self.poll_due = false;
        debug_assert!(!self.sent.is_empty(), "a poll is carried by a unit of the window");
        self.poll_number = self.next() - 1;
        self.poll_timer = now + self.am.t_poll_retransmit;
    }

    /// Puts bytes of a unit into the retransmission buffer. Returns true if some of them were not in it; this
    /// counts as a retransmission if `count` is set, which is once for each report.
    fn consider(&mut self, number: u64, (from, to): (u32, u32), count: bool) -> bool {
        let Some(sent) = self.sent.get_mut((number - self.next_ack) as usize) else { return false };
        let to = to.min(sent.sent);
        if sent.acknowledged || from >= to {
            return false;
        }
        // Ranges that overlap or touch are joined, so that no byte is in the buffer twice.
        let first = self.again.partition_point(|again| (again.number, again.to) < (number, from));
        let after = self.again.partition_point(|again| (again.number, again.from) <= (number, to));
        let mut joined = Again { number, from, to };
        if first < after {
            if after == first + 1 && self.again[first].from <= from && self.again[first].to >= to {
                return false;
            }
            joined.from = from.min(self.again[first].from);
            joined.to = to.max(self.again[after - 1].to);
            self.again.drain(first..after);
        }
        self.again.insert(first, joined);
        let is_apart = |a: &&Again, b: &&Again| (a.number, a.to) < (b.number, b.from);
        debug_assert!(self.again.iter().is_sorted_by(is_apart), "ranges neither overlap nor touch");
        if count {
            sent.retransmissions += 1;
            if sent.retransmissions > self.am.max_retransmissions {
                self.failed.get_or_insert(sent.unit);
            }
        }
        true
    }

    /// Handles a status report.
    pub fn on_status<R: Receiver>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        status: &Status,
        receiver: &mut R,
    ) {
        let bits = self.am.sn_bits;
        let ack = at_or_above(self.next_ack, status.ack_sn, bits);
        if ack > self.next() {
            return;
        }
        debug_assert!(ack >= self.next_ack, "an acknowledgement is interpreted within the window");
        let number_of = |gap: &Gap, base| at_or_above(base, gap.sn, bits);
        // Acknowledges the units between the gaps.
        let mut number = self.next_ack;
        let mut any = false;
        for place in 0..=status.gaps.len() {
            let (until, next) = match status.gaps.get(place) {
                Some(gap) => {
                    let until = number_of(gap, self.next_ack);
                    (until, until + u64::from(gap.count))
                }
                None => (ack, ack),
            };
            if until > ack {
                continue;
            }
            while number < until {
                let sent = &mut self.sent[(number - self.next_ack) as usize];
                number += 1;
                if !sent.acknowledged && sent.sent == sent.bytes {
                    sent.acknowledged = true;
                    any = true;
                    units.release(common, sent.unit, receiver);
                }
            }
            number = number.max(next);
        }
        if any && !self.again.is_empty() {
            let (sent, base) = (&self.sent, self.next_ack);
            self.again.retain(|again| {
                sent.get((again.number - base) as usize).is_some_and(|sent| !sent.acknowledged)
            });
        }
        let mut counted = None;
        for gap in &status.gaps {
            let first = number_of(gap, self.next_ack);
            for number in first..(first + u64::from(gap.count)).min(self.next()) {
                let range = (gap.from, gap.to.unwrap_or(u32::MAX));
                if self.consider(number, range, counted != Some(number)) {
                    counted = Some(number);
                }
            }
        }
        let named = |gap: &Gap| {
            let first = number_of(gap, self.next_ack);
            (first..first + u64::from(gap.count)).contains(&self.poll_number)
        };
        if self.poll_number < ack || status.gaps.iter().any(named) {
            self.poll_timer = Time::NEVER;
        }
        while self.sent.front().is_some_and(|sent| sent.acknowledged) {
            self.sent.pop_front();
            self.next_ack += 1;
        }
    }

    pub fn next_deadline(&self) -> Time {
        if self.failed.is_some() { Time::ZERO } else { self.poll_timer }
    }

    /// Handles an expiry of t-PollRetransmit.
    pub fn poll(&mut self, now: Time) {
        if self.poll_timer <= now {
            self.poll_timer = Time::NEVER;
            self.poll_due = true;
        }
    }

    /// The unit that reached its limit of retransmissions.
    pub fn failed(&self) -> Option<u32> {
        self.failed
    }

    /// Re-establishes the entity, without data to send.
    pub fn reset<R: Receiver>(&mut self, units: &mut Units, common: &mut Common, receiver: &mut R) {
        for sent in self.sent.drain(..).filter(|sent| !sent.acknowledged) {
            units.release(common, sent.unit, receiver);
        }
        if let Some(sdu) = self.intake.reset() {
            common.ledger.release(sdu, receiver);
        }
        self.again.clear();
        (self.pdus_without_poll, self.bytes_without_poll) = (0, 0);
        self.next_ack = START;
        self.poll_number = START;
        self.poll_timer = Time::NEVER;
        self.poll_due = false;
        self.failed = None;
    }
}
