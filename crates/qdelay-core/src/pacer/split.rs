//! The buffer below a pacer in another unit: the estimate that the central unit (CU) of a split base station
//! has of the RLC buffer, which is in the distributed unit (DU), on the other side of F1-U.
//!
//! The CU learns of it by downlink data delivery status frames ([`Ddds`]) only: the highest PDCP number that
//! RLC has transmitted, and the data rate that the DU desires. The bytes sent and not yet transmitted, by the
//! last report, are therefore known exactly: they are in RLC, or on their way there. The part of them that is
//! in RLC when a packet sent now arrives there is an estimate: RLC is assumed to send at the desired rate,
//! one TTI after the other, since the time to which the report applies. This is a Smith predictor; its error
//! is the difference between the bytes that RLC sent and that rate within a round trip of F1 and the age of
//! the report, and each report corrects it.
//!
//! All times are on the clock of sending: a packet enters the estimate when it leaves the CU, and a report
//! applies to a round trip before its arrival. The part of the packet at the head that RLC has sent is not
//! known: the estimate is half of it.
//!
//! A law that subtracts bytes never needed receives a lower bound of RLC's remainder after its last TTI
//! before the report: of the packets that had come by that TTI, a byte of the first one and all behind it.
//! Packets that came later have not had a TTI, and would be in RLC at any rate: if there are only such
//! packets, RLC ran empty. TTIs are assumed to begin at multiples of their length, as those of a cell do.
//!
//! Source: TS 38.425 clauses 5.4.2 and 5.5.2.2 for the reported values; the estimate is ours.

use super::sent::Sent;
use super::{Ddds, PacerSetting, Served};
use crate::{Span, Time};

/// Properties of F1-U that the CU knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSetting {
    /// Delay of a packet to the DU.
    pub delay: Span,
    /// Delay of a packet to the DU and of a report back.
    pub round_trip: Span,
    /// Longest time from one report to the next while RLC has data; zero where reports come by polls alone.
    pub period: Span,
}

impl SplitSetting {
    /// Time for which a CU waits for a report before it assumes that all packets sent are gone: `silence`
    /// beyond the time that a report takes to come, in which four reports in a row may be lost.
    pub(super) fn patience(&self, silence: Span) -> Span {
        silence.max(self.period * 4) + self.round_trip
    }
}

/// The CU's estimate for one bearer.
#[derive(Clone, Debug)]
pub(super) struct Split {
    delay: Span,
    round_trip: Span,
    tti: Span,
    patience: Span,
    /// Packets not yet reported as transmitted.
    sent: Sent,
    /// Number of these packets that RLC has sent by the estimate; `part_bytes`: bytes sent of the next one.
    taken: usize,
    part_bytes: u64,
    /// Estimated remainder in RLC: packets, one that is partly sent counted as a whole, and bytes without its
    /// sent part.
    left_packets: u64,
    left_bytes: u64,
    /// Estimated rate of the bearer, bytes a second.
    rate: u64,
    /// Beginning of the next TTI by the estimate.
    tick: Time,
    /// Time of the last report, or of the first packet sent into the empty buffer.
    heard: Time,
    /// Time on the clock of sending to which the last report applies; `was_left`: RLC was left with data
    /// then.
    reported: Time,
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
            reported: Time::ZERO,
            was_left: false,
        }
    }
    /// Estimated remainder in RLC: bytes and packets.
    pub(super) fn left(&self) -> (u64, u64) {
        (self.left_bytes, self.left_packets)
    }
    /// The first TTI after `now`.
    fn tti_after(&self, now: Time) -> Time {
        now - Span::from_nanos(now.as_nanos() % self.tti.as_nanos()) + self.tti
    }
    /// RLC's last TTI before a report that applies to `at` on the clock of sending. A TTI that begins exactly
    /// at the time of the report may not have been served yet.
    fn last_tti(&self, at: Time) -> Time {
        let reported = (at + self.delay).as_nanos().saturating_sub(1);
        Time::from_nanos(reported - reported % self.tti.as_nanos())
    }
    /// Records that a packet of `bytes` left the CU. All TTIs up to `now` have been [served](Split::serve).
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
    /// Time at which the estimate changes without a report.
    pub(super) fn deadline(&self) -> Time {
        let gone = if self.sent.is_empty() { Time::NEVER } else { self.heard + self.patience };
        if self.left_packets == 0 { gone } else { gone.min(self.tick) }
    }
    /// Runs the next TTI in which RLC has data, if it is due; returns its time and its report.
    pub(super) fn serve_due(&mut self, now: Time) -> Option<(Time, Served)> {
        if self.left_packets == 0 || self.tick > now {
            return None;
        }
        let tick = self.tick;
        self.tick = tick + self.tti;
        Some((tick, self.serve(tick)))
    }
    /// Assumes that all packets sent are gone if no report has come for the patience; returns true if so.
    pub(super) fn forget(&mut self, now: Time) -> bool {
        let is_over = !self.sent.is_empty() && now >= self.heard + self.patience;
        if is_over {
            self.sent.clear();
            self.restart();
            self.was_left = false;
        }
        is_over
    }
    /// Restarts the estimate: all packets not reported as transmitted are in RLC, and no part of them has
    /// been sent.
    fn restart(&mut self) {
        (self.taken, self.part_bytes) = (0, 0);
        (self.left_bytes, self.left_packets) = (self.sent.bytes(), self.sent.len() as u64);
    }
    /// Runs the TTI at `tick` of the estimate: RLC sends as many bytes as its rate allows of the packets that
    /// arrived before.
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
    /// Handles a report. Returns RLC's transmissions since the report before, and a lower bound of its
    /// remainder at the time to which the report applies. Both are exact, except the sojourns, for which
    /// transmissions are assumed to be even in time. All TTIs up to `now` have been served.
    pub(super) fn delivered(&mut self, now: Time, ddds: &Ddds) -> Served {
        let at = Time::from_nanos(now.as_nanos().saturating_sub(self.round_trip.as_nanos()));
        let elapsed = at.since(self.reported);
        let count = ddds.transmitted.map_or(0, |number| self.sent.up_to(number)) as u64;
        let mut served = Served::default();
        for place in 1..=count {
            let Some((time, bytes)) = self.sent.pop() else { break };
            served.sent_bytes += bytes;
            served.left_packets += 1;
            let gone = self.reported + Span::from_nanos((elapsed.as_nanos() / count).saturating_mul(place));
            served.left_sojourn += gone.since(time);
        }
        let head_bytes = self.sent.get(0).map_or(0, |head| head.1);
        let (bytes, packets) = self.sent.while_sent(|time| time + self.delay < self.last_tti(at));
        served.remaining_packets = packets;
        served.remaining_bytes = if packets > 0 { bytes - head_bytes + 1 } else { 0 };
        self.learn(ddds, elapsed, &served);
        let within = u128::from(self.rate) * u128::from(elapsed.as_nanos()) / 1_000_000_000;
        served.capacity_bytes = u64::try_from(within).unwrap_or(u64::MAX);
        self.reported = at;
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
    /// Updates the rate: the DU's desired rate; without one, the transmitted bytes over `elapsed`, and no
    /// less than before if RLC ran empty meanwhile.
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
    fn a_report_applies_to_a_round_trip_before() {
        let mut split = split(4);
        for time in [1, 2, 3, 4, 5, 6] {
            split.forwarded(us(time * 1000 + 500), 1000);
        }
        // The report at 8 ms applies to 4 ms, or 6 ms in RLC: the first packet was transmitted. The second
        // had come by the TTI at 5 ms; the third, and all packets that came by a TTI at 6 ms, may not have
        // had one.
        let served = split.delivered(ms(8), &report(0, 1_000_000));
        assert_eq!((served.sent_bytes, served.remaining_bytes, served.remaining_packets), (1000, 1, 1));
        // 5000 bytes are in RLC or in flight, half of the second sent; 1000 went in each TTI from 5 to 8 ms.
        assert_eq!(split.left(), (500, 1));
        let (time, served) = split.serve_due(ms(9)).unwrap();
        assert_eq!((time, served.sent_bytes, served.remaining_bytes), (ms(9), 500, 0));
        assert_eq!(split.deadline(), ms(8) + Span::from_millis(24), "its patience");
    }

    #[test]
    fn the_remainder_counts_a_partly_sent_packet() {
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
    fn without_a_desired_rate_the_transmitted_bytes_give_the_rate() {
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
    fn packets_never_reported_are_given_up() {
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
