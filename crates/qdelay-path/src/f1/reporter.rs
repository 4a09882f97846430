//! Reports of the distributed unit (DU) on a bearer: the downlink data delivery status (DDDS) of TS 38.425 clause 5.5.2.2.
//!
//! A report has the highest PDCP number of which RLC has transmitted all, the desired data rate and the desired buffer size. The rate
//! is what the bearer could have sent in its last ten TTIs with data, a frame of LTE; the buffer size is that rate times a span, and a
//! full packet at least.

use super::F1Setting;
use crate::Served;
use qdelay_core::pacer::Ddds;
use qdelay_core::{Span, Time};

/// TTIs that the rate is an average of.
const TTIS: usize = 10;
/// The desired buffer size at least: a full packet.
const MTU_BYTES: u64 = 1500;

/// The end of F1-U in the DU: when it reports, and what.
#[derive(Clone, Debug)]
pub struct Reporter {
    period: Option<Span>,
    poll: Option<u32>,
    has_rate: bool,
    buffer: Span,
    tti: Span,
    transmitted: Option<u32>,
    /// Bytes that the bearer could have sent in each of its last TTIs with data, as a ring, and their sum.
    capacities: [u64; TTIS],
    ttis: usize,
    capacity_bytes: u64,
    /// When the next report by period is due.
    due: Time,
}

impl Reporter {
    /// The end of a bearer of a cell with TTIs of `tti`.
    pub fn new(setting: &F1Setting, tti: Span) -> Reporter {
        Reporter {
            period: setting.period,
            poll: setting.poll,
            has_rate: setting.has_rate,
            buffer: setting.buffer,
            tti: tti.max(Span::from_nanos(1)),
            transmitted: None,
            capacities: [0; TTIS],
            ttis: 0,
            capacity_bytes: 0,
            due: Time::NEVER,
        }
    }
    /// When the next report by period is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.due
    }
    /// A packet comes to RLC: whether it asks for a report, or its queue `dropped` something. `number` is that of the packet.
    pub fn arrived(&mut self, now: Time, number: u32, dropped: bool) -> bool {
        if let (Some(period), Time::NEVER) = (self.period, self.due) {
            self.due = now + period;
        }
        let polls = self.poll.is_some_and(|poll| number.wrapping_add(1).is_multiple_of(poll));
        polls || dropped
    }
    /// RLC has sent the last byte of the packet with `number`.
    #[inline]
    pub fn transmitted(&mut self, number: u32) {
        // COUNT goes round after 2^32 packets.
        let is_higher = |highest: u32| number.wrapping_sub(highest) < u32::MAX / 2;
        if self.transmitted.is_none_or(is_higher) {
            self.transmitted = Some(number);
        }
    }
    /// A TTI in which RLC had data is over: whether RLC has run empty, which is reported.
    pub fn served(&mut self, served: &Served) -> bool {
        let place = self.ttis % TTIS;
        self.capacity_bytes = self.capacity_bytes - self.capacities[place] + served.capacity_bytes;
        self.capacities[place] = served.capacity_bytes;
        self.ttis += 1;
        served.remaining_packets == 0
    }
    /// The report by period is due: whether there is one, because RLC `has_data`.
    pub fn tick(&mut self, has_data: bool) -> bool {
        if !has_data {
            self.due = Time::NEVER;
        }
        has_data
    }
    /// The report of `now`.
    pub fn report(&mut self, now: Time, has_data: bool) -> Ddds {
        self.due = match self.period {
            Some(period) if has_data => now + period,
            _ => Time::NEVER,
        };
        let rate = self.rate();
        let desired = u128::from(rate) * u128::from(self.buffer.as_nanos()) / 1_000_000_000;
        Ddds {
            transmitted: self.transmitted,
            desired_buffer_bytes: u64::try_from(desired).unwrap_or(u64::MAX).max(MTU_BYTES),
            desired_rate: self.has_rate.then_some(rate),
        }
    }
    /// Bytes in a second.
    fn rate(&self) -> u64 {
        let ttis = self.ttis.clamp(1, TTIS) as u128;
        let rate = u128::from(self.capacity_bytes) * 1_000_000_000 / (ttis * u128::from(self.tti.as_nanos()));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::super::F1Spec;
    use super::*;
    use qdelay_core::component::Arguments;

    fn reporter(text: &str) -> Reporter {
        let arguments = Arguments::parse(super::super::F1_COMPONENTS, text).unwrap();
        let F1Spec::Standard(setting) = F1Spec::build(&arguments) else { panic!() };
        Reporter::new(&setting, Span::from_millis(1))
    }
    fn served(capacity_bytes: u64, remaining_packets: u64) -> Served {
        Served { capacity_bytes, remaining_packets, ..Served::default() }
    }
    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_report_by_period_poll_drop_and_when_it_runs_empty() {
        let mut du = reporter("standard:poll=3:period=4ms");
        assert_eq!(du.deadline(), Time::NEVER);
        let asks: [bool; 6] = core::array::from_fn(|number| du.arrived(ms(1), number as u32, false));
        assert_eq!((asks, du.deadline()), ([false, false, true, false, false, true], ms(5)));
        assert!(du.arrived(ms(2), 6, true), "something was dropped");
        assert_eq!(du.report(ms(2), true).transmitted, None);
        assert_eq!(du.deadline(), ms(6));
        assert!(!du.served(&served(1000, 2)) && du.served(&served(1000, 0)));
        du.report(ms(7), false);
        assert_eq!(du.deadline(), Time::NEVER);
        du.arrived(ms(9), 7, false);
        assert!(du.deadline() == ms(13) && !du.tick(false) && du.deadline() == Time::NEVER);
        let mut du = reporter("standard:poll=3");
        du.arrived(ms(1), 0, false);
        assert_eq!(du.deadline(), Time::NEVER, "there is no period");
    }

    #[test]
    fn the_rate_is_of_ten_ttis_and_the_buffer_a_part_of_it() {
        let mut du = reporter("standard:buffer=3ms");
        assert_eq!(du.report(ms(1), true).desired_buffer_bytes, 1500);
        for capacity in [2000, 1000] {
            du.served(&served(capacity, 1));
        }
        let ddds = du.report(ms(2), true);
        assert_eq!((ddds.desired_rate, ddds.desired_buffer_bytes), (Some(1_500_000), 4500));
        for _ in 0..10 {
            du.served(&served(500, 1));
        }
        assert_eq!(du.report(ms(12), true).desired_rate, Some(500_000));
        assert_eq!(reporter("standard:rate=off").report(ms(1), true).desired_rate, None);
    }

    #[test]
    fn the_highest_number_does_not_go_back() {
        let mut du = reporter("standard");
        for (number, highest) in [(3, 3), (2, 3), (7, 7), (u32::MAX, 7)] {
            du.transmitted(number);
            assert_eq!(du.report(ms(1), true).transmitted, Some(highest));
        }
        du.transmitted = Some(u32::MAX);
        du.transmitted(0);
        assert_eq!(du.transmitted, Some(0));
    }
}
