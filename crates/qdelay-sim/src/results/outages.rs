//! Outages of the bottleneck's link, and the time from the end of an outage until half of its capacity is used again: docs/measures.md,
//! "outages".

use qdelay_core::{Span, Time};
use qdelay_path::LinkUsage;
use qdelay_record::entity;

entity! {
    /// Outages of the bottleneck's link, and how long it then takes until what it offers is used again.
    #[derive(Copy)]
    pub struct OutageFigures {
        /// Times of at least 500 ms in which nothing was offered, that ended in the measured time.
        pub outages: u64,
        /// Outages after which less than half was used in every step of 100 ms until the next outage or the end of the run.
        pub unrecovered: u64,
        /// From the end of an outage until the end of the first step of 100 ms in which at least half was used: mean over the other outages.
        pub recovery_mean_ms: f64,
        /// The longest.
        pub recovery_max_ms: f64,
    }
}

/// Interval between samples of the link.
const STEP: Span = Span::from_millis(100);
/// A link that offers nothing for at least this long has an outage.
const OUTAGE: Span = Span::from_millis(500);

/// Samples the usage of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recoveries {
    next: Time,
    last: LinkUsage,
    /// Time for which the link has offered nothing.
    dark: Span,
    /// Begin of a recovery: the link offers capacity again, of which less than half has been used.
    since: Option<Time>,
    figures: OutageFigures,
}

impl Recoveries {
    /// Begins with the run.
    pub fn new() -> Recoveries {
        Recoveries { next: Time::ZERO + STEP, ..Recoveries::default() }
    }

    /// Time of the next sample.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The link's usage at [`Recoveries::next`], which is in the measured time where `is_measured`.
    pub fn sample(&mut self, now: Time, usage: LinkUsage, is_measured: bool) {
        self.next = now + STEP;
        let step = usage.since(self.last);
        self.last = usage;
        if step.offered_bytes == 0 {
            self.dark += STEP;
            return;
        }
        if self.dark >= OUTAGE && is_measured {
            if self.since.is_some() {
                self.figures.unrecovered += 1;
            }
            self.figures.outages += 1;
            self.since = Some(now - STEP);
        }
        self.dark = Span::ZERO;
        if 2 * step.sent_bytes >= step.offered_bytes
            && let Some(since) = self.since.take()
        {
            let taken = now.since(since).as_millis_f64();
            self.figures.recovery_mean_ms += taken;
            self.figures.recovery_max_ms = self.figures.recovery_max_ms.max(taken);
        }
    }

    /// The figures of the run; `None` without an outage.
    pub fn finish(mut self) -> Option<OutageFigures> {
        self.figures.unrecovered += u64::from(self.since.is_some());
        let recovered = self.figures.outages - self.figures.unrecovered;
        self.figures.recovery_mean_ms /= recovered.max(1) as f64;
        (self.figures.outages > 0).then_some(self.figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offered and sent bytes of each step.
    fn figures(steps: &[(u64, u64)]) -> Option<OutageFigures> {
        let mut recoveries = Recoveries::new();
        let mut usage = LinkUsage::default();
        for (offered, sent) in steps {
            usage.offered_bytes += offered;
            usage.sent_bytes += sent;
            recoveries.sample(recoveries.next(), usage, true);
        }
        recoveries.finish()
    }

    #[test]
    fn from_the_end_of_an_outage_until_half_is_used() {
        let dark = [(0, 0); 5];
        let steps = [&[(10, 10)], &dark[..], &[(10, 4), (10, 0), (10, 5), (10, 0)]].concat();
        let expected =
            OutageFigures { outages: 1, unrecovered: 0, recovery_mean_ms: 300.0, recovery_max_ms: 300.0 };
        assert_eq!(figures(&steps), Some(expected));
        let twice = [&steps[..], &dark, &[(10, 10)]].concat();
        let expected = OutageFigures { outages: 2, recovery_mean_ms: 200.0, ..expected };
        assert_eq!(figures(&twice), Some(expected));
    }

    #[test]
    fn the_next_outage_or_the_end_may_come_first() {
        let dark = [(0, 0); 6];
        let steps = [&[(10, 10)], &dark[..], &[(10, 1)], &dark[..], &[(10, 1)]].concat();
        let expected =
            OutageFigures { outages: 2, unrecovered: 2, recovery_mean_ms: 0.0, recovery_max_ms: 0.0 };
        assert_eq!(figures(&steps), Some(expected));
    }

    #[test]
    fn a_pause_is_no_outage() {
        assert_eq!(figures(&[(10, 10), (0, 0), (0, 0), (0, 0), (0, 0), (10, 0), (10, 10)]), None);
    }
}
