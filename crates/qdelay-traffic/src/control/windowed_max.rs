//! The largest of the values seen in a sliding window, in constant space: three candidates (Kathleen Nichols' estimator,
//! Linux `lib/win_minmax.c`).
//!
//! The candidates are kept in order of age, each at least as new and at most as large as the one before. The second and third
//! are taken from later quarters of the window, so that a recent value is available when the best one expires. The estimate
//! is exact for rising values, and never above the true maximum; for falling values it may be below it.
//!
//! Differences from the reference: none in the returned values.

/// A value and the time at which it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Candidate {
    time: u32,
    value: u32,
}

/// The running maximum. Times are in any unit (BBR counts round trips) and may wrap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Candidate; 3],
}

impl WindowedMax {
    /// The current estimate; zero before the first value.
    pub(super) fn get(&self) -> u32 {
        self.best[0].value
    }

    /// Discards all values but `value`, seen at `time`.
    pub(super) fn reset(&mut self, time: u32, value: u32) {
        self.best = [Candidate { time, value }; 3];
    }

    /// Adds `value`, seen at `time`, with a window of `window`.
    pub(super) fn update(&mut self, window: u32, time: u32, value: u32) {
        let candidate = Candidate { time, value };
        let all_too_old = time.wrapping_sub(self.best[2].time) > window;
        if value >= self.best[0].value || all_too_old {
            self.reset(time, value);
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = candidate;
            self.best[2] = candidate;
        } else if value >= self.best[2].value {
            self.best[2] = candidate;
        }
        self.age(window, candidate);
    }

    /// Removes a best value older than the window, or replaces candidates that are copies of an older one.
    fn age(&mut self, window: u32, candidate: Candidate) {
        let [first, second, third] = self.best;
        let age = candidate.time.wrapping_sub(first.time);
        if age > window {
            self.best = [second, third, candidate];
            if candidate.time.wrapping_sub(second.time) > window {
                self.best = [third, candidate, candidate];
            }
        } else if second.time == first.time && age > window / 4 {
            self.best[1] = candidate;
            self.best[2] = candidate;
        } else if third.time == second.time && age > window / 2 {
            self.best[2] = candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::Random;

    fn estimates(values: &[u32], window: u32) -> Vec<u32> {
        let mut max = WindowedMax::default();
        max.reset(0, 0);
        let step = |(time, value): (usize, &u32)| {
            max.update(window, time as u32, *value);
            max.get()
        };
        values.iter().enumerate().map(step).collect()
    }

    #[test]
    fn rising_values_are_taken_at_once_and_a_peak_lasts_a_window() {
        let rising: Vec<u32> = (1..50).collect();
        assert_eq!(estimates(&rising, 10), rising);
        let mut values = [5; 40];
        values[3] = 9;
        let seen = estimates(&values, 10);
        assert!(seen[3..=13].iter().all(|v| *v == 9));
        assert!(seen[14..].iter().all(|v| *v == 5));
    }

    /// Between the maximum of the last quarter window and that of the whole window, for random input.
    #[test]
    fn the_estimate_is_between_the_maxima_of_a_quarter_and_of_the_whole_window() {
        let mut random = Random::derive(1, "n", "p");
        let values: Vec<u32> = (0..5000).map(|_| random.below(1000) as u32).collect();
        for (i, estimate) in estimates(&values, 10).into_iter().enumerate() {
            let largest = |n: usize| values[i.saturating_sub(n)..=i].iter().copied().max().unwrap_or(0);
            assert!(estimate <= largest(10) && estimate >= largest(2), "{i}");
        }
    }
}
