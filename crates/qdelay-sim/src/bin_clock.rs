//! Ends of the bins of a time series, also of a run whose length is not known in advance.

use crate::rates::bin_end;
use qdelay_core::{Span, Time};

/// Clock of the bins. Where their number has a limit, each two become one when it is reached, and the next ones are twice as wide:
/// the series of a long run has as many bins as that of a short one.
#[derive(Clone, Copy, Debug)]
pub struct BinClock {
    /// `None` without a series.
    width: Option<Span>,
    /// Begin and end of the open bin.
    since: Time,
    next: Time,
    /// Number of closed bins.
    closed: usize,
    /// Maximum number of closed bins, even.
    limit: Option<usize>,
}

impl BinClock {
    /// Clock of a run from 0 to `end`, with bins of `width`.
    pub fn new(width: Option<Span>, limit: Option<usize>, end: Time) -> BinClock {
        let width = width.filter(|width| !width.is_zero());
        BinClock { width, since: Time::ZERO, next: next_end(width, Time::ZERO, end), closed: 0, limit }
    }

    /// End of the open bin; [`Time::NEVER`] without a series, or after the last bin.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Ends the open bin at `end` at the latest; a bin that begins there does not count.
    pub fn end_at(&mut self, end: Time) {
        if self.width.is_some() {
            self.next = if end > self.since { self.next.min(end) } else { Time::NEVER };
        }
    }

    /// Closes the bin that ends at `now`, in a run that ends at `end`. Returns true if each two of all closed bins become one.
    pub fn close(&mut self, now: Time, end: Time) -> bool {
        self.closed += 1;
        let is_last = now >= end;
        // After the last bin, which may be shorter, all stay as they are.
        let is_full = !is_last && self.limit.is_some_and(|limit| self.closed >= limit);
        if is_full {
            self.closed /= 2;
            self.width = self.width.map(|width| width * 2);
        }
        self.since = now;
        self.next = if is_last { Time::NEVER } else { next_end(self.width, now, end) };
        is_full
    }
}

/// End of the bin that is open at `now`: at the end of the run at the latest.
fn next_end(width: Option<Span>, now: Time, end: Time) -> Time {
    width.map_or(Time::NEVER, |width| bin_end(now, width).min(end))
}

/// Replaces each two neighbours by `join` of them; an entry without a neighbour stays.
pub fn halve<T: Copy>(all: &mut Vec<T>, join: impl Fn(T, T) -> T) {
    let joined = all.len() / 2;
    for at in 0..joined {
        all[at] = join(all[2 * at], all[2 * at + 1]);
    }
    if all.len() % 2 == 1 {
        all.swap(joined, 2 * joined);
    }
    all.truncate(all.len().div_ceil(2));
}

/// Halves means of `counts` values each; `None` is the mean of none. `counts` are halved too.
pub fn halve_means(means: &mut Vec<Option<f64>>, counts: &mut Vec<u64>) {
    for at in 0..means.len() / 2 {
        let pair = [2 * at, 2 * at + 1].map(|at| (means[at], counts.get(at).copied().unwrap_or(0) as f64));
        means[2 * at] = match pair {
            [(Some(one), of_one), (Some(other), of_other)] => {
                Some((one * of_one + other * of_other) / (of_one + of_other))
            }
            [(one, _), (other, _)] => one.or(other),
        };
    }
    halve(means, |joined, _| joined);
    halve(counts, |one, other| one + other);
}

/// Mean of two values over equal times.
pub fn mean(one: f64, other: f64) -> f64 {
    (one + other) / 2.0
}

/// Larger of two values, of which there may be none.
pub fn largest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn bins_double_at_the_limit() {
        let mut clock = BinClock::new(Some(Span::from_millis(10)), Some(4), Time::NEVER);
        let mut ends = Vec::new();
        for _ in 0..9 {
            let now = clock.next();
            let is_full = clock.close(now, Time::NEVER);
            ends.push((now.since(Time::ZERO).as_millis(), is_full));
        }
        let expected = [10, 20, 30, 40, 60, 80, 120, 160, 240];
        let full = [false, false, false, true, false, true, false, true, false];
        assert_eq!(ends, expected.into_iter().zip(full).collect::<Vec<_>>());
    }

    #[test]
    fn the_last_bin_ends_with_the_run() {
        let mut clock = BinClock::new(Some(Span::from_millis(10)), Some(2), Time::NEVER);
        clock.close(ms(10), Time::NEVER);
        clock.end_at(ms(15));
        assert_eq!(clock.next(), ms(15));
        assert!(!clock.close(ms(15), ms(15)), "after the last bin all stay");
        assert_eq!(clock.next(), Time::NEVER);
        let mut clock = BinClock::new(Some(Span::from_millis(10)), None, Time::NEVER);
        clock.close(ms(10), Time::NEVER);
        clock.end_at(ms(10));
        assert_eq!(clock.next(), Time::NEVER, "no bin of no width");
        assert_eq!(BinClock::new(None, None, ms(15)).next(), Time::NEVER);
    }

    #[test]
    fn neighbours_are_joined() {
        let mut all = vec![1, 2, 3, 4, 5];
        halve(&mut all, |one, other| one + other);
        assert_eq!(all, [3, 7, 5]);
        let (mut means, mut counts) =
            (vec![Some(1.0), Some(4.0), None, Some(2.0), None, None], vec![1, 2, 0, 3, 0, 0]);
        halve_means(&mut means, &mut counts);
        assert_eq!((means, counts), (vec![Some(3.0), Some(2.0), None], vec![3, 3, 0]));
    }
}
