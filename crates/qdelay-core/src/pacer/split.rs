//! The buffer below a pacer in another unit: what the central unit (CU) of a split base station knows of the RLC's buffer, which is
//! in the distributed unit (DU), on the other side of F1-U.
//!
//! The CU hears of it by downlink data delivery status frames ([`Ddds`]) only: the highest PDCP number that RLC has transmitted, and
//! the data rate that the DU desires. So what was sent and is not transmitted, by the last report, is known exactly: it is in RLC, or
//! on its way there. How much of it is in RLC when a packet that goes now arrives there is an estimate: RLC is taken to send the
//! desired rate, one TTI after the other, since the time the report is of. This is a Smith predictor; its error is what RLC
//! sent more or less than that rate within a round trip of F1 and the age of the report, and each report corrects it.
//!
//! The clock is that of sending: a packet enters the estimate when it leaves the CU, and a report is of a round trip before.
//! How much of the packet at its head RLC has sent is not known: half of it by the estimate.
//!
//! A law that takes off what was never needed is told what RLC had left after its last TTI before the report, at least: of the
//! packets that had come by that TTI, a byte of the first one and all behind it. Packets that came later have not had a TTI, and are in
//! RLC however fast it is: where no other is there, RLC ran empty. TTIs are taken to begin at multiples of their length, as a cell's do.
//!
//! Source: TS 38.425 clauses 5.4.2 and 5.5.2.2 for what is reported; the estimate is ours.

use super::sent::Sent;
use super::{Ddds, PacerSetting, Served};
use crate::{Span, Time};

/// F1-U as the CU knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSetting {
    /// The delay of a packet to the DU.
    pub delay: Span,
    /// The delay of a packet to the DU and of a report back.
    pub round_trip: Span,
    /// From one report to the next while RLC has data, at most; zero where reports come by polls alone.
    pub period: Span,
}

impl SplitSetting {
    /// How long a CU waits for a report before it takes what it has sent for gone: `silence` without a report beyond the times it
    /// takes to come, four reports in a row of which may be lost.
    pub(super) fn patience(&self, silence: Span) -> Span {
        silence.max(self.period * 4) + self.round_trip
    }
}

/// The CU's account of one bearer.
#[derive(Clone, Debug)]
pub(super) struct Split {
    delay: Span,
    round_trip: Span,
    tti: Span,
    patience: Span,
    /// What is not reported as transmitted.
    sent: Sent,
    /// Of these, how many RLC has sent by the estimate, and how many bytes of the next one.
    taken: usize,
    part_bytes: u64,
    /// What is left by the estimate, with the whole of a packet that is partly sent, and without the part.
    left_packets: u64,
    left_bytes: u64,
    /// Bytes that the bearer is taken to send in a second.
    rate: u64,
    /// The next TTI by the estimate.
    tick: Time,
    /// When the last report came, or the first packet was sent after all were gone.
    heard: Time,
    /// The time on the clock of sending that the last report is of, and whether RLC was left with data then.
    told: Time,
    was_left: bool,
}

impl Split {
    pub(super) fn new(split: &SplitSetting, setting: &PacerSetting, silence: Span) -> Split {
        let tti = setting.tti();
        Split {
            delay: split.delay,
            round_trip: split.round_trip,
            tti,
            patience: split.patience(silence),
            sent: Sent::default(),
            taken: 0,
            part_bytes: 0,
            left_packets: 0,
            left_bytes: 0,
            rate: 0,
            tick: Time::ZERO,
            heard: Time::ZERO,
            told: Time::ZERO,
            was_left: false,
        }
    }
    /// What is left in RLC by the estimate: bytes and packets.
    pub(super) fn left(&self) -> (u64, u64) {
        (self.left_bytes, self.left_packets)
    }
    /// The first TTI after `now`.
    fn tti_after(&self, now: Time) -> Time {
        now - Span::from_nanos(now.as_nanos() % self.tti.as_nanos()) + self.tti
    }
    /// RLC's last TTI before a report that is of `at` on the clock of sending. One that begins at the very time of the report may not
    /// have been served yet.
    fn last_tti(&self, at: Time) -> Time {
        let reported = (at + self.delay).as_nanos().saturating_sub(1);
        Time::from_nanos(reported - reported % self.tti.as_nanos())
    }
    /// A packet of `bytes` left the CU. All TTIs up to `now` have been [served](Split::serve).
    pub(super) fn forwarded(&mut self, now: Time, bytes: u64) {
        if self.sent.is_empty() {
            self.heard = now;
        }
        if self.left_packets == 0 {
            self.tick = self.tti_after(now);
        }
        self.sent.push(now, bytes);
        self.left_packets += 1;
        self.left_bytes = self.left_bytes.saturating_add(bytes);
    }
    /// When the estimate changes by itself.
    pub(super) fn deadline(&self) -> Time {
        let gone = if self.sent.is_empty() { Time::NEVER } else { self.heard + self.patience };
        if self.left_packets == 0 { gone } else { gone.min(self.tick) }
    }
    /// The next TTI in which RLC has data, if it is due: what it did.
    pub(super) fn serve_due(&mut self, now: Time) -> Option<(Time, Served)> {
        if self.left_packets == 0 || self.tick > now {
            return None;
        }
        let tick = self.tick;
        self.tick = tick + self.tti;
        Some((tick, self.serve(tick)))
    }
    /// Whether no report has come for so long that what was sent is taken for gone.
    pub(super) fn forget(&mut self, now: Time) -> bool {
        let is_over = !self.sent.is_empty() && now >= self.heard + self.patience;
        if is_over {
            self.sent.clear();
            self.restart();
            self.was_left = false;
        }
        is_over
    }
    /// The estimate is of what is not reported as transmitted, of which nothing has been sent.
    fn restart(&mut self) {
        (self.taken, self.part_bytes) = (0, 0);
        (self.left_bytes, self.left_packets) = (self.sent.bytes(), self.sent.len() as u64);
    }
    /// What the TTI at `tick` sends of the packets that came before.
    fn serve(&mut self, tick: Time) -> Served {
        let per_tti = u128::from(self.rate) * u128::from(self.tti.as_nanos()) / 1_000_000_000;
        let capacity_bytes = u64::try_from(per_tti).unwrap_or(u64::MAX);
        let mut served = Served { capacity_bytes, ..Served::default() };
        let mut room = capacity_bytes;
        while let Some((time, bytes)) = self.sent.get(self.taken)
            && time < tick
        {
            let rest = bytes - self.part_bytes;
            if rest > room {
                self.part_bytes += room;
                room = 0;
                break;
            }
            room -= rest;
            (self.taken, self.part_bytes) = (self.taken + 1, 0);
            self.left_packets -= 1;
            served.left_packets += 1;
            served.left_sojourn += tick.since(time);
        }
        served.sent_bytes = capacity_bytes - room;
        self.left_bytes -= served.sent_bytes;
        (served.remaining_bytes, served.remaining_packets) = self.left();
        served
    }
    /// A report has come. Returns what RLC did since the report before, and what it was left with at least at the time that the report
    /// is of: not an estimate, but for the sojourns, for which transmissions are taken to be even in time. All TTIs up to `now` have
    /// been served.
    pub(super) fn delivered(&mut self, now: Time, ddds: &Ddds) -> Served {
        let at = Time::from_nanos(now.as_nanos().saturating_sub(self.round_trip.as_nanos()));
        let elapsed = at.since(self.told);
        let count = ddds.transmitted.map_or(0, |number| self.sent.up_to(number)) as u64;
        let mut served = Served::default();
        for place in 1..=count {
            let Some((time, bytes)) = self.sent.pop() else { break };
            served.sent_bytes += bytes;
            served.left_packets += 1;
            let gone = self.told + Span::from_nanos((elapsed.as_nanos() / count).saturating_mul(place));
            served.left_sojourn += gone.since(time);
        }
        let head_bytes = self.sent.get(0).map_or(0, |head| head.1);
        let (bytes, packets) = self.sent.while_sent(|time| time + self.delay < self.last_tti(at));
        served.remaining_packets = packets;
        served.remaining_bytes = if packets > 0 { bytes - head_bytes + 1 } else { 0 };
        self.learn(ddds, elapsed, &served);
        let within = u128::from(self.rate) * u128::from(elapsed.as_nanos()) / 1_000_000_000;
        served.capacity_bytes = u64::try_from(within).unwrap_or(u64::MAX);
        self.told = at;
        self.was_left = served.remaining_bytes > 0;
        self.heard = now;
        self.restart();
        if self.sent.get(0).is_some_and(|head| head.0 <= at) {
            self.part_bytes = head_bytes / 2;
            self.left_bytes -= self.part_bytes;
        }
        let mut tick = self.tti_after(at);
        while tick <= now && self.left_packets > 0 {
            self.serve(tick);
            tick += self.tti;
        }
        self.tick = self.tti_after(now);
        served
    }
    /// The rate: what the DU says; where it says none, what was transmitted, and no less than before if RLC ran empty meanwhile.
    fn learn(&mut self, ddds: &Ddds, elapsed: Span, served: &Served) {
        if let Some(rate) = ddds.desired_rate {
            self.rate = rate;
        } else if elapsed >= self.tti {
            let rate = u128::from(served.sent_bytes) * 1_000_000_000 / u128::from(elapsed.as_nanos().max(1));
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            let was_busy = self.was_left && served.remaining_bytes > 0;
            self.rate = if was_busy { rate } else { self.rate.max(rate) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ms, us};
    use super::*;

    fn split(round_trip_ms: u64) -> Split {
        let round_trip = Span::from_millis(round_trip_ms);
        let split = SplitSetting { delay: round_trip / 2, round_trip, period: Span::from_millis(5) };
        Split::new(&split, &PacerSetting::default(), Span::from_millis(20))
    }
    fn report(transmitted: u32, rate: u64) -> Ddds {
        Ddds { transmitted: Some(transmitted), desired_rate: Some(rate), ..Ddds::default() }
    }

    #[test]
    fn a_report_is_of_a_round_trip_before() {
        let mut split = split(4);
        for time in [1, 2, 3, 4, 5, 6] {
            split.forwarded(us(time * 1000 + 500), 1000);
        }
        // At 8 ms comes a report of 4 ms, or 6 ms in RLC: the first was transmitted. The second had come by the TTI at 5 ms; the third, and
        // whatever came by a TTI at 6 ms, may not have had one.
        let served = split.delivered(ms(8), &report(0, 1_000_000));
        assert_eq!((served.sent_bytes, served.remaining_bytes, served.remaining_packets), (1000, 1, 1));
        // 5000 bytes are in RLC or in flight, half of the second sent; 1000 went in each TTI from 5 to 8 ms.
        assert_eq!(split.left(), (500, 1));
        let (time, served) = split.serve_due(ms(9)).unwrap();
        assert_eq!((time, served.sent_bytes, served.remaining_bytes), (ms(9), 500, 0));
        assert_eq!(split.deadline(), ms(8) + Span::from_millis(24), "its patience");
    }

    #[test]
    fn a_part_of_a_packet_is_left() {
        let mut split = split(0);
        split.delivered(ms(1), &report(0, 400_000));
        split.forwarded(us(1500), 1000);
        let ticks: [_; 3] = core::array::from_fn(|_| split.serve_due(ms(9)).unwrap());
        let left = ticks.map(|(time, served)| (time, served.sent_bytes, served.remaining_bytes));
        assert_eq!(left, [(ms(2), 400, 600), (ms(3), 400, 200), (ms(4), 200, 0)]);
        assert_eq!(ticks[2].1.left_sojourn, Span::from_micros(2500));
        assert_eq!(split.serve_due(ms(9)), None);
    }

    #[test]
    fn without_a_desired_rate_it_is_what_was_transmitted() {
        let mut split = split(0);
        (0..10).for_each(|_| split.forwarded(us(100), 1000));
        let ddds = |number| Ddds { transmitted: Some(number), ..Ddds::default() };
        split.delivered(ms(2), &ddds(1));
        assert_eq!(split.rate, 1_000_000);
        split.delivered(ms(4), &ddds(2));
        assert_eq!(split.rate, 500_000, "there was data all the time");
        split.delivered(ms(14), &ddds(9));
        assert_eq!(split.rate, 700_000, "more than before, though it ran empty");
        split.delivered(ms(24), &ddds(9));
        assert_eq!(split.rate, 700_000);
    }

    #[test]
    fn what_is_never_reported_is_given_up() {
        let mut split = split(2);
        split.forwarded(ms(1), 1000);
        assert_eq!(split.deadline(), ms(2));
        while split.serve_due(ms(22)).is_some() {}
        assert!(!split.forget(ms(22)) && split.left() == (1000, 1), "its rate is not known");
        assert!(split.forget(ms(23)) && split.left() == (0, 0));
        assert_eq!(split.deadline(), Time::NEVER);
        // A report of it that comes after all changes nothing.
        split.delivered(ms(30), &report(0, 1_000_000));
        split.forwarded(ms(30), 500);
        assert_eq!(split.left(), (500, 1));
        split.delivered(ms(40), &report(1, 1_000_000));
        assert_eq!(split.left(), (0, 0));
    }
}
