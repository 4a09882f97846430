//! Time series of a cell.

use crate::bin_clock::{halve, mean};
use crate::results::CellSeries;
use qdelay_core::Time;
use qdelay_path::CellUsage;
use qdelay_record::Gauge;

/// The bins of a cell.
#[derive(Default)]
pub struct CellBins {
    /// IP bytes in the RLC of all bearers.
    pub bytes: Gauge,
    /// Packets there.
    pub packets: Gauge,
    usage: CellUsage,
    series: CellSeries,
}

impl CellBins {
    /// A bin ends; `usage` is cumulative since the start of the run, `mcs` and `rank` are
    /// the means over the channels, the latter with rank adaptation only.
    pub fn close(&mut self, now: Time, usage: CellUsage, mcs: Option<f64>, rank: Option<Option<f64>>) {
        let series = &mut self.series;
        let ((bytes_mean, bytes_max), (packets_mean, packets_max)) =
            (self.bytes.close(now), self.packets.close(now));
        series.rlc_bytes_mean.push(bytes_mean);
        series.rlc_bytes_max.push(bytes_max);
        series.rlc_packets_mean.push(packets_mean);
        series.rlc_packets_max.push(packets_max);
        let before = std::mem::replace(&mut self.usage, usage);
        series.rbs_offered.push(usage.since(&before).offered_rbs);
        series.rbs_used.push(usage.since(&before).used_rbs);
        series.mcs.push(mcs);
        series.rank.extend(rank);
    }

    /// Joins each two closed bins.
    pub fn halve(&mut self) {
        let series = &mut self.series;
        halve(&mut series.rlc_bytes_mean, mean);
        halve(&mut series.rlc_bytes_max, u64::max);
        halve(&mut series.rlc_packets_mean, mean);
        halve(&mut series.rlc_packets_max, u64::max);
        halve(&mut series.rbs_offered, |one, other| one + other);
        halve(&mut series.rbs_used, |one, other| one + other);
        // States at the end of a bin.
        halve(&mut series.mcs, |_, last| last);
        halve(&mut series.rank, |_, last| last);
    }

    /// All bins that were closed.
    pub fn finish(self) -> CellSeries {
        self.series
    }
}
