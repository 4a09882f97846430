//! Counts of what passes, by direction and class: what snapshots and Prometheus are made of.
//!
//! A [`Tap`] that asks nobody, and allocates nothing but at the first drop or mark of a reason in a class. All counts go up only, so that any number of readers can each
//! look when they like and take the difference to what they saw before.
//!
//! A class is a codepoint (RFC 2474), as the packet carries it. Delays are kept twice: per class in [`SojournBuckets`], whose
//! bounds are few and fixed, as Prometheus wants them; and per direction in a [`Spread`], which is fine enough for percentiles.

use crate::any_plan::AnyPlan;
use crate::device::Port;
use crate::emulator::{Event, EventKind, Tap};
use crate::plan::{Places, Role};
use qdelay_core::dscp::CODEPOINTS;
use qdelay_core::{DropReason, MarkReason, Span};
use qdelay_path::stack::StackError;
use qdelay_path::{ByReason, Count};

/// Upper bounds of [`SojournBuckets`] in nanoseconds, each belonging to its bucket: 0.5 ms to 10 s.
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

/// How many packets waited how long, from arrival to when the queue let them go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SojournBuckets {
    /// Packets in each bucket (not summed up); the last one is for those above all bounds.
    pub counts: [u64; SOJOURN_BOUNDS_NANOS.len() + 1],
    /// All their waiting together, in nanoseconds.
    pub sum_nanos: u128,
}

impl SojournBuckets {
    #[inline]
    fn record(&mut self, sojourn: Span) {
        let nanos = sojourn.as_nanos();
        self.counts[SOJOURN_BOUNDS_NANOS.partition_point(|bound| *bound < nanos)] += 1;
        self.sum_nanos += u128::from(nanos);
    }
}

/// What has happened to the packets of one class that came from one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Came to the queue.
    pub offered: Count,
    /// The queue let go.
    pub dequeued: Count,
    /// Left the link.
    pub sent: Count,
    /// Came out of the path.
    pub delivered: Count,
    /// Of those dropped, the ones that were in the queue or never got into it.
    pub dropped_at_queue: Count,
    /// How long they waited in the queue.
    pub sojourn: SojournBuckets,
    /// Dropped on the path.
    pub dropped: ByReason<DropReason>,
    /// Marked.
    pub marked: ByReason<MarkReason>,
}

impl ClassCounts {
    /// In the queue now.
    pub fn backlog(&self) -> Count {
        // Each packet that leaves was counted when it came.
        let left = self.dequeued + self.dropped_at_queue;
        Count {
            packets: self.offered.packets.saturating_sub(left.packets),
            bytes: self.offered.bytes.saturating_sub(left.bytes),
        }
    }
    /// Both together.
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

/// Cells for each power of two of microseconds.
const CELLS_PER_OCTAVE: usize = 64;
/// `log2` of it.
const OCTAVE_BITS: u32 = CELLS_PER_OCTAVE.trailing_zeros();
/// Longer delays count as this one: 36 minutes.
const LONGEST_MICROS: u64 = (1 << 31) - 1;
/// All cells: microseconds one by one up to two octaves' worth, then 64 cells an octave.
const CELLS: usize = (31 - OCTAVE_BITS as usize + 1) * CELLS_PER_OCTAVE;

/// Delays to within 0.8% (and half a microsecond), small enough to be copied in a few microseconds. Two of them can be
/// subtracted, which gives the percentiles of what came in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    cells: Box<[u64]>,
    max: Span,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { cells: vec![0; CELLS].into_boxed_slice(), max: Span::ZERO }
    }
}

fn cell_of(micros: u64) -> usize {
    let micros = micros.min(LONGEST_MICROS);
    let shift = (63 - (micros | 1).leading_zeros()).saturating_sub(OCTAVE_BITS);
    shift as usize * CELLS_PER_OCTAVE + (micros >> shift) as usize
}

/// The middle of a cell, in us.
fn middle(cell: usize) -> f64 {
    let shift = (cell / CELLS_PER_OCTAVE).saturating_sub(1);
    let first = ((cell - shift * CELLS_PER_OCTAVE) as u64) << shift;
    first as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

impl Spread {
    /// One more.
    #[inline]
    pub fn record(&mut self, delay: Span) {
        self.cells[cell_of(delay.as_nanos().saturating_add(500) / 1000)] += 1;
        self.max = self.max.max(delay);
    }
    /// How many.
    pub fn count(&self) -> u64 {
        self.cells.iter().sum()
    }
    /// The longest of all, exactly.
    pub fn max(&self) -> Span {
        self.max
    }
    /// Delays in ms of the ranks that are `parts` of all (0 to 1, 0.5 is the median, 1 the longest), of what is here and was not
    /// yet in `before`; `None` where nothing is.
    pub fn since<const N: usize>(&self, before: Option<&Spread>, parts: [f64; N]) -> Option<[f64; N]> {
        let new = |cell: usize| {
            self.cells[cell]
                .saturating_sub(before.map_or(0, |before| before.cells.get(cell).copied().unwrap_or(0)))
        };
        let total: u64 = (0..self.cells.len()).map(new).sum();
        if total == 0 {
            return None;
        }
        let whole = self.max.as_millis_f64();
        Some(parts.map(|part| {
            let rank = ((part * total as f64).ceil() as u64).clamp(1, total);
            let mut seen = 0;
            let cell = (0..self.cells.len()).find(|cell| {
                seen += new(*cell);
                seen >= rank
            });
            (middle(cell.unwrap_or(0)) / 1e3).min(whole)
        }))
    }
}

/// The packets that came from one port.
#[derive(Clone, Debug)]
pub struct PortMetrics {
    classes: Box<[ClassCounts]>,
    /// A bit for each class.
    seen: u64,
    sojourn: Spread,
}

impl PortMetrics {
    fn new() -> PortMetrics {
        let classes = vec![ClassCounts::default(); CODEPOINTS].into_boxed_slice();
        PortMetrics { classes, seen: 0, sojourn: Spread::default() }
    }
    /// The classes that there were packets of, in ascending order of their codepoints.
    pub fn classes(&self) -> impl Iterator<Item = (u8, &ClassCounts)> {
        (0_u8..).zip(&self.classes).filter(|(class, _)| self.seen >> class & 1 == 1)
    }
    /// How long packets of all classes waited in the queue.
    pub fn sojourn(&self) -> &Spread {
        &self.sojourn
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Metrics {
    places: Places,
    /// By the port the packets come from.
    ports: [PortMetrics; 2],
}

impl Metrics {
    /// For an emulator of `plan`.
    ///
    /// # Errors
    /// The path cannot be built as asked.
    pub fn new(plan: impl Into<AnyPlan>) -> Result<Metrics, StackError> {
        let (_, places) = plan.into().build()?;
        Ok(Metrics { places, ports: [PortMetrics::new(), PortMetrics::new()] })
    }

    /// Of the packets that came from `port`.
    pub fn port(&self, port: Port) -> &PortMetrics {
        &self.ports[port.index()]
    }
}

impl Tap for Metrics {
    #[inline]
    fn event(&mut self, event: &Event, _: &[u8]) {
        let Role { source, place } = self.places.role(event.node);
        let port = &mut self.ports[source.index()];
        let (packet, class) = (&event.packet, usize::from(event.packet.dscp) % CODEPOINTS);
        let counts = &mut port.classes[class];
        match event.kind {
            EventKind::Enqueued if place.is_first() => {
                port.seen |= 1 << class;
                counts.offered.add(packet);
            }
            EventKind::Dequeued if place.is_last() => {
                let sojourn = event.time.since(event.came.min(event.time));
                counts.dequeued.add(packet);
                counts.sojourn.record(sojourn);
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
            EventKind::Enqueued | EventKind::Dequeued | EventKind::Departed | EventKind::Split(_) => {}
        }
    }
}

/// A tap that has metrics in it, perhaps.
pub trait HasMetrics {
    /// The metrics, where they are kept.
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
/// The second tap's.
impl<A, B: HasMetrics> HasMetrics for (A, B) {
    fn metrics(&self) -> Option<&Metrics> {
        self.1.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_all_delays_in_order() {
        let mut before = 0;
        for micros in (0..5000).chain((0..18).flat_map(|bit| [(1 << bit) * 5000 - 1, (1 << bit) * 5000])) {
            let cell = cell_of(micros);
            assert!(cell >= before && cell < CELLS, "{micros}");
            let error = (middle(cell) - micros as f64).abs();
            assert!(error <= micros as f64 * 0.008, "{micros}: {error}");
            before = cell.max(before);
        }
        assert_eq!(cell_of(LONGEST_MICROS), CELLS - 1);
        assert_eq!(cell_of(u64::MAX), CELLS - 1);
    }

    #[test]
    fn percentiles_of_all_and_of_what_is_new() {
        let ms = Span::from_millis;
        let mut spread = Spread::default();
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
    fn a_bound_belongs_to_its_bucket() {
        let mut buckets = SojournBuckets::default();
        for nanos in [0, 500_000, 500_001, 10_000_000_000, 10_000_000_001] {
            buckets.record(Span::from_nanos(nanos));
        }
        let mut counts = [0; 17];
        (counts[0], counts[1], counts[15], counts[16]) = (2, 1, 1, 1);
        assert_eq!((buckets.counts, buckets.sum_nanos), (counts, 20_001_000_002));
    }
}
