//! Packet counts by direction and class, the basis of snapshots and Prometheus metrics.
//!
//! [`Metrics`] is a [`Tap`] that makes no system calls, and allocates only at the first drop or mark of a reason in a class. All
//! counts only increase, so any number of readers can read them at any time and compute differences to their previous readings.
//!
//! A class is a DSCP (RFC 2474), as carried by the packet. Delays are kept twice: per class in [`DelayBuckets`], which has the
//! few fixed bounds that Prometheus needs; and per direction in a [`LogHistogram`], which is fine enough for percentiles.

use crate::device::Port;
use crate::emulator::{Event, EventKind, Tap};
use crate::plan_kind::PlanKind;
use qdelay_core::dscp::CODEPOINTS;
use qdelay_core::{DropReason, MarkReason, Span};
use qdelay_path::stack::StackError;
use qdelay_path::stack::{PathNodes, Role};
use qdelay_path::{ByReason, Count};

/// Upper bounds of the buckets of sojourn times in a [`DelayBuckets`], inclusive, in nanoseconds: 0.5 ms to 10 s.
pub const SOJOURN_BOUNDS_NANOS: [u64; 16] = [
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Upper bounds of the buckets of release lateness in a [`DelayBuckets`], inclusive, in nanoseconds: 10 us to 1 s.
pub const LATENESS_BOUNDS_NANOS: [u64; 16] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// Histogram of delays over fixed bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayBuckets {
    /// Packets in each bucket (not cumulative); the last bucket is for delays above all bounds.
    pub counts: [u64; 17],
    /// Sum of all delays, in nanoseconds.
    pub sum_nanos: u128,
}

impl DelayBuckets {
    /// Adds a delay. All calls for a histogram must have the same `bounds`.
    #[inline]
    pub(crate) fn record(&mut self, bounds: &[u64; 16], delay: Span) {
        let nanos = delay.as_nanos();
        self.counts[bounds.partition_point(|bound| *bound < nanos)] += 1;
        self.sum_nanos += u128::from(nanos);
    }
}

/// Counts of the packets of one class that came from one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets that arrived at the queue.
    pub offered: Count,
    /// Packets that were dequeued.
    pub dequeued: Count,
    /// Packets that left the link.
    pub sent: Count,
    /// Packets that left the path at its exit.
    pub delivered: Count,
    /// Drops of packets that were in the queue or were not enqueued.
    pub dropped_at_queue: Count,
    /// Sojourn times in the queue.
    pub sojourn: DelayBuckets,
    /// Packets dropped on the path, by reason.
    pub dropped: ByReason<DropReason>,
    /// Packets marked, by reason.
    pub marked: ByReason<MarkReason>,
}

impl ClassCounts {
    /// Backlog of the queue now.
    pub fn backlog(&self) -> Count {
        // Every departure was counted as an arrival before, so the difference is not negative.
        let left = self.dequeued + self.dropped_at_queue;
        Count {
            packets: self.offered.packets.saturating_sub(left.packets),
            bytes: self.offered.bytes.saturating_sub(left.bytes),
        }
    }
    /// Adds the counts of `other`.
    pub(crate) fn plus(mut self, other: &ClassCounts) -> ClassCounts {
        self.offered = self.offered + other.offered;
        self.dequeued = self.dequeued + other.dequeued;
        self.sent = self.sent + other.sent;
        self.delivered = self.delivered + other.delivered;
        self.dropped_at_queue = self.dropped_at_queue + other.dropped_at_queue;
        self.dropped.add_all(&other.dropped);
        self.marked.add_all(&other.marked);
        for (mine, theirs) in self.sojourn.counts.iter_mut().zip(other.sojourn.counts) {
            *mine += theirs;
        }
        self.sojourn.sum_nanos += other.sojourn.sum_nanos;
        self
    }
}

/// Number of bins for each power of two of microseconds.
const BINS_PER_OCTAVE: usize = 64;
/// Base-2 logarithm of [`BINS_PER_OCTAVE`].
const OCTAVE_BITS: u32 = BINS_PER_OCTAVE.trailing_zeros();
/// Maximum delay in us, 36 minutes; longer delays are counted as this one.
const LONGEST_MICROS: u64 = (1 << 31) - 1;
/// Number of bins: one for each microsecond up to two octaves' worth, then 64 bins per octave.
const BINS: usize = (31 - OCTAVE_BITS as usize + 1) * BINS_PER_OCTAVE;

/// A histogram of delays accurate to 0.8% (and half a microsecond), small enough to be copied in a few microseconds.
/// Subtracting an earlier copy gives the percentiles of the interval in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHistogram {
    bins: Box<[u64]>,
    max: Span,
}

impl Default for LogHistogram {
    fn default() -> Self {
        LogHistogram { bins: vec![0; BINS].into_boxed_slice(), max: Span::ZERO }
    }
}

fn bin_of(micros: u64) -> usize {
    let micros = micros.min(LONGEST_MICROS);
    let shift = (63 - (micros | 1).leading_zeros()).saturating_sub(OCTAVE_BITS);
    shift as usize * BINS_PER_OCTAVE + (micros >> shift) as usize
}

/// The middle of a bin, in us.
fn middle(bin: usize) -> f64 {
    let shift = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    let first = ((bin - shift * BINS_PER_OCTAVE) as u64) << shift;
    first as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

impl LogHistogram {
    /// Adds a delay.
    #[inline]
    pub fn record(&mut self, delay: Span) {
        self.bins[bin_of(delay.as_nanos().saturating_add(500) / 1000)] += 1;
        self.max = self.max.max(delay);
    }
    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }
    /// The longest delay, exact.
    pub fn max(&self) -> Span {
        self.max
    }
    /// Delays in ms at the ranks `parts` (0 to 1; 0.5 is the median, 1 the longest) of the delays that are not in `before`;
    /// `None` if there are none.
    pub fn since<const N: usize>(&self, before: Option<&LogHistogram>, parts: [f64; N]) -> Option<[f64; N]> {
        let new = |bin: usize| {
            self.bins[bin]
                .saturating_sub(before.map_or(0, |before| before.bins.get(bin).copied().unwrap_or(0)))
        };
        let total: u64 = (0..self.bins.len()).map(new).sum();
        if total == 0 {
            return None;
        }
        let whole = self.max.as_millis_f64();
        Some(parts.map(|part| {
            let rank = ((part * total as f64).ceil() as u64).clamp(1, total);
            let mut seen = 0;
            let bin = (0..self.bins.len()).find(|bin| {
                seen += new(*bin);
                seen >= rank
            });
            (middle(bin.unwrap_or(0)) / 1e3).min(whole)
        }))
    }
}

/// Counts of the packets that came from one port.
#[derive(Clone, Debug)]
pub struct PortMetrics {
    classes: Box<[ClassCounts]>,
    /// Bit set of the classes with packets, by DSCP.
    seen: u64,
    sojourn: LogHistogram,
}

impl PortMetrics {
    fn new() -> PortMetrics {
        let classes = vec![ClassCounts::default(); CODEPOINTS].into_boxed_slice();
        PortMetrics { classes, seen: 0, sojourn: LogHistogram::default() }
    }
    /// The classes with packets, in ascending order of their codepoints.
    pub fn classes(&self) -> impl Iterator<Item = (u8, &ClassCounts)> {
        (0_u8..).zip(&self.classes).filter(|(class, _)| self.seen >> class & 1 == 1)
    }
    /// Sojourn times of packets of all classes.
    pub fn sojourn(&self) -> &LogHistogram {
        &self.sojourn
    }
}

/// Packet counts of both directions; see the module.
#[derive(Clone, Debug)]
pub struct Metrics {
    nodes: PathNodes,
    /// Counts by the port that the packets come from.
    ports: [PortMetrics; 2],
}

impl Metrics {
    /// Creates metrics for an emulator of `plan`.
    ///
    /// # Errors
    /// The path cannot be built from the plan.
    pub fn new(plan: impl Into<PlanKind>) -> Result<Metrics, StackError> {
        let (_, nodes) = plan.into().build()?;
        Ok(Metrics { nodes, ports: [PortMetrics::new(), PortMetrics::new()] })
    }

    /// Counts of the packets that came from `port`.
    pub fn port(&self, port: Port) -> &PortMetrics {
        &self.ports[port.index()]
    }
}

impl Tap for Metrics {
    #[inline]
    fn reads_bytes(&self) -> bool {
        false
    }
    #[inline]
    fn event(&mut self, event: &Event, _: &[u8]) {
        let Role { source, place } = self.nodes.role(event.node);
        let port = &mut self.ports[source.index()];
        let (packet, class) = (&event.packet, usize::from(event.packet.dscp) % CODEPOINTS);
        let counts = &mut port.classes[class];
        match event.kind {
            EventKind::Enqueued if place.is_first() => {
                port.seen |= 1 << class;
                counts.offered.add(packet);
            }
            EventKind::Dequeued if place.is_last() => {
                // The sojourn time includes all queues of the bottleneck, as in the simulator.
                let sojourn = event.time.since(event.reached_bottleneck.min(event.time));
                counts.dequeued.add(packet);
                counts.sojourn.record(&SOJOURN_BOUNDS_NANOS, sojourn);
                port.sojourn.record(sojourn);
            }
            EventKind::Departed if place.is_link() => counts.sent.add(packet),
            EventKind::Delivered => counts.delivered.add(packet),
            EventKind::Marked(reason) => counts.marked.add(reason, packet),
            EventKind::Dropped(reason) => {
                counts.dropped.add(reason, packet);
                if place.is_queue() {
                    counts.dropped_at_queue.add(packet);
                }
            }
            EventKind::Enqueued
            | EventKind::Dequeued
            | EventKind::Departed
            | EventKind::Corrupted
            | EventKind::Split(_) => {}
        }
    }
}

/// A tap that may contain metrics.
pub trait HasMetrics {
    /// The metrics, if there are any.
    fn metrics(&self) -> Option<&Metrics>;
}

impl HasMetrics for Metrics {
    fn metrics(&self) -> Option<&Metrics> {
        Some(self)
    }
}
impl HasMetrics for Option<Metrics> {
    fn metrics(&self) -> Option<&Metrics> {
        self.as_ref()
    }
}
/// Metrics of the second tap.
impl<A, B: HasMetrics> HasMetrics for (A, B) {
    fn metrics(&self) -> Option<&Metrics> {
        self.1.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_all_delays_in_order() {
        let mut before = 0;
        for micros in (0..5000).chain((0..18).flat_map(|bit| [(1 << bit) * 5000 - 1, (1 << bit) * 5000])) {
            let bin = bin_of(micros);
            assert!(bin >= before && bin < BINS, "{micros}");
            let error = (middle(bin) - micros as f64).abs();
            assert!(error <= micros as f64 * 0.008, "{micros}: {error}");
            before = bin.max(before);
        }
        assert_eq!(bin_of(LONGEST_MICROS), BINS - 1);
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }

    #[test]
    fn percentiles_count_only_delays_after_the_earlier_copy() {
        let ms = Span::from_millis;
        let mut spread = LogHistogram::default();
        assert_eq!(spread.since(None, [0.5]), None);
        (1..=100).for_each(|n| spread.record(ms(n)));
        let before = spread.clone();
        let close = |got: Option<[f64; 3]>, wanted: [f64; 3]| {
            for (got, wanted) in got.unwrap().into_iter().zip(wanted) {
                assert!((got - wanted).abs() <= 0.008 * wanted, "{got} {wanted}");
            }
        };
        close(spread.since(None, [0.5, 0.99, 1.0]), [50.0, 99.0, 100.0]);
        assert_eq!(spread.since(Some(&before), [0.5]), None);
        (1..=10).for_each(|_| spread.record(ms(7)));
        close(spread.since(Some(&before), [0.5, 0.99, 1.0]), [7.0; 3]);
        assert_eq!((spread.count(), spread.max()), (110, ms(100)));
    }

    #[test]
    fn upper_bound_belongs_to_its_bucket() {
        let mut buckets = DelayBuckets::default();
        for nanos in [0, 500_000, 500_001, 10_000_000_000, 10_000_000_001] {
            buckets.record(&SOJOURN_BOUNDS_NANOS, Span::from_nanos(nanos));
        }
        let mut counts = [0; 17];
        (counts[0], counts[1], counts[15], counts[16]) = (2, 1, 1, 1);
        assert_eq!((buckets.counts, buckets.sum_nanos), (counts, 20_001_000_002));
    }
}
