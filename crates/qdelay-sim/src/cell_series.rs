//! What happened in a cell in each bin of time.

use crate::outcome::CellSeries;
use qdelay_core::Time;
use qdelay_path::CellUsage;

/// The bins of a cell.
#[derive(Default)]
pub struct CellBins {
    /// IP bytes in the RLC of all bearers.
    pub bytes: Level,
    /// Packets there.
    pub packets: Level,
    usage: CellUsage,
    series: CellSeries,
}

/// A level within the bin that is open: its mean over time, and the highest that lasted.
#[derive(Default)]
pub struct Level {
    level: u64,
    /// Since when it has been so.
    since: Time,
    /// When the bin began.
    opened: Time,
    integral: u128,
    max: u64,
}

impl CellBins {
    /// A bin ends, with so much done since the run began, and channels that are good for this MCS.
    pub fn close(&mut self, now: Time, usage: CellUsage, mcs: Option<f64>) {
        let series = &mut self.series;
        let ((bytes_mean, bytes_max), (packets_mean, packets_max)) =
            (self.bytes.close(now), self.packets.close(now));
        series.rlc_bytes_mean.push(bytes_mean);
        series.rlc_bytes_max.push(bytes_max);
        series.rlc_packets_mean.push(packets_mean);
        series.rlc_packets_max.push(packets_max);
        series.rbs_offered.push(usage.offered_rbs.saturating_sub(self.usage.offered_rbs));
        series.rbs_used.push(usage.used_rbs.saturating_sub(self.usage.used_rbs));
        series.mcs.push(mcs);
        self.usage = usage;
    }

    /// All bins that were closed.
    pub fn finish(self) -> CellSeries {
        self.series
    }
}

impl Level {
    /// The level rises by `by` at `now`.
    #[inline]
    pub fn rise(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level += by;
    }

    /// The level falls by `by` at `now`.
    #[inline]
    pub fn fall(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level = self.level.saturating_sub(by);
    }

    #[inline]
    fn settle(&mut self, now: Time) {
        if now <= self.since {
            return;
        }
        let lasted = now.since(self.since).as_nanos();
        self.since = now;
        self.integral += u128::from(self.level) * u128::from(lasted);
        self.max = self.max.max(self.level);
    }

    fn close(&mut self, now: Time) -> (f64, u64) {
        self.settle(now);
        let lasted = now.since(self.opened).as_nanos();
        let mean = if lasted == 0 { self.level as f64 } else { self.integral as f64 / lasted as f64 };
        let max = self.max;
        (self.opened, self.integral, self.max) = (now, 0, 0);
        (mean, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Random;

    #[test]
    fn a_level_in_bins_by_hand() {
        let at = Time::from_nanos;
        let mut level = Level::default();
        level.rise(at(10), 4);
        // 100 for no time at all.
        level.rise(at(30), 96);
        level.fall(at(30), 98);
        assert_eq!(level.close(at(40)), ((4.0 * 20.0 + 2.0 * 10.0) / 40.0, 4));
        level.fall(at(45), 5);
        assert_eq!(level.close(at(50)), (1.0, 2), "what was there when the bin began counts");
        assert_eq!(level.close(at(60)), (0.0, 0));
        assert_eq!(level.close(at(60)), (0.0, 0), "a bin of no length");
    }

    #[test]
    fn bins_against_a_list_of_every_nanosecond() {
        let mut random = Random::derive(7, "cell series", "test");
        let (mut level, mut held, mut literal) = (Level::default(), 0_u64, Vec::new());
        for bin in 1..40_u64 {
            while literal.len() < bin as usize * 50 {
                let now = Time::from_nanos(literal.len() as u64);
                if random.below(5) == 0 {
                    let by = random.below(900);
                    level.rise(now, by);
                    held += by;
                }
                if random.below(5) == 0 {
                    let by = random.below(held + 1);
                    level.fall(now, by);
                    held -= by;
                }
                literal.push(held);
            }
            let (mean, max) = level.close(Time::from_nanos(bin * 50));
            let of_bin = &literal[literal.len() - 50..];
            assert!((mean - of_bin.iter().sum::<u64>() as f64 / 50.0).abs() < 1e-9);
            assert_eq!(Some(&max), of_bin.iter().max());
        }
    }
}
