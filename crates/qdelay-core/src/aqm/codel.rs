//! CoDel: once every packet has waited longer than a target for a whole interval, packets are dropped at a
//! slowly rising rate.
//!
//! Source: RFC 8289 section 5 (pseudo-code), and Linux `codel_impl.h` for the division between law and queue,
//! for ECN and for `ce_threshold`, which the RFC leaves open.
//!
//! Parameters:
//! * `target`: acceptable standing sojourn, in time (5 ms, RFC 8289 section 4.3).
//! * `interval`: time for which the sojourn must stay above the target before the first drop, about a
//!   worst-case round-trip time (100 ms, section 4.2).
//! * `mtu`: no packet is dropped when at most this many bytes remain behind it (1500, section 5.5
//!   `maxpacket_`).
//! * `ecn`: mark ECN-capable packets instead of dropping them (off, as in Linux).
//! * `ce_threshold`: mark an ECN-capable packet that leaves after a longer sojourn than this (none, as in
//!   Linux).
//!
//! The host takes a packet from its queue and calls [`Codel::decide`]; as long as the verdict is a drop, the
//! host takes the next packet and calls again, at the same time. When the queue runs empty the host calls
//! [`Codel::emptied`]. Between those calls the law stores its position in the RFC's `deque`. The common path
//! has no division and no square root.
//!
//! [`CodelFlavour::Linux`] is the same law with the kernel's arithmetic, and the difference is large: one
//! Newton step per drop towards 1/sqrt(count) puts the third drop 50 ms after the second, where the RFC has
//! 71 ms, and after a re-entry the reciprocal root may lag far behind the count it belongs to. Linux also
//! counts time in units of 1024 ns, and requires `now` to be strictly after the end of the interval.
//!
//! Differences from the reference:
//! * RFC: `maxpacket_` is a parameter, not learned from the packets seen; the RFC's text suggests the
//!   interface's MTU.
//! * RFC: a marked packet leaves at once and ends the loop of that dequeue (as in Linux; the RFC's
//!   pseudo-code has no ECN).
//! * RFC: a control-law step is rounded down to a nanosecond.
//! * Linux: a packet that already carries the mark is not marked again by `ce_threshold` (the kernel counts
//!   it once more).
//! * Linux: `mtu` and the backlog are IP bytes; the kernel counts 14 bytes of Ethernet header per packet in
//!   both.
//! * Linux: the newest kernels stop after 256 drops in one dequeue; here the queue's length bounds the loop.

use super::Verdict;
use crate::{DropReason, Ecn, MarkReason, Span, Time};

/// The implementation whose arithmetic is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodelFlavour {
    /// Arithmetic of RFC 8289.
    #[default]
    Rfc,
    /// Arithmetic of the Linux kernel.
    Linux,
}

/// The parameters of CoDel; [`CodelParameters::default`] are the RFC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParameters {
    /// Acceptable standing sojourn.
    pub target: Span,
    /// Time for which the sojourn must stay at or above the target before the first drop.
    pub interval: Span,
    /// Backlog behind a packet, in IP bytes, up to which the packet is never dropped.
    pub mtu: u64,
    /// Mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
    /// Mark ECN-capable packets that leave after a longer sojourn; [`Span::MAX`] for none.
    pub ce_threshold: Span,
    /// The implementation whose arithmetic is used.
    pub flavour: CodelFlavour,
}

impl CodelParameters {
    /// Parameters of RFC 8289.
    pub const RFC: CodelParameters = CodelParameters {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        mtu: 1500,
        ecn: false,
        ce_threshold: Span::MAX,
        flavour: CodelFlavour::Rfc,
    };
}

impl Default for CodelParameters {
    fn default() -> CodelParameters {
        CodelParameters::RFC
    }
}

/// The law of CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    /// Target in ticks, as every time below: 1 ns (RFC) or 1024 ns (Linux).
    target: u64,
    interval: u64,
    mtu: u64,
    ce_threshold: u64,
    ecn: bool,
    flavour: CodelFlavour,
    phase: Phase,
    /// Time at which the sojourn will have been above the target for an interval; 0 while the sojourn is
    /// below (`first_above_time_`).
    first_above: u64,
    /// Time of the next drop (`drop_next_`).
    drop_next: u64,
    /// Drops since the current dropping state began (`count_`); `last_count`: the count at the start of that
    /// state (`lastcount_`).
    count: u32,
    last_count: u32,
    /// Linux: 1/sqrt(count) as a fraction of 2^16.
    reciprocal_root: u16,
}

/// The law's position in the RFC's `deque`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Outside the dropping state.
    Calm,
    /// Dropping, at the start of a dequeue.
    Dropping,
    /// This dequeue entered the dropping state and dropped its first packet: the next packet is sent whatever
    /// its sojourn.
    Entered,
    /// The previous packet was dropped in the loop of this dequeue.
    Looping,
}

impl Codel {
    /// Drop reason: the control law dropped the packet at the head.
    pub const DROP: DropReason = DropReason::new("codel");
    /// Mark reason: the control law marked the packet.
    pub const MARK: MarkReason = MarkReason::new("codel");
    /// Mark reason: the packet had waited longer than `ce_threshold`.
    pub const CE_THRESHOLD: MarkReason = MarkReason::new("ce_threshold");

    /// The law before any packet, outside the dropping state.
    pub const fn new(parameters: CodelParameters) -> Codel {
        let flavour = parameters.flavour;
        Codel {
            target: ticks(flavour, parameters.target.as_nanos()),
            interval: ticks(flavour, parameters.interval.as_nanos()),
            mtu: parameters.mtu,
            ce_threshold: ticks(flavour, parameters.ce_threshold.as_nanos()),
            ecn: parameters.ecn,
            flavour,
            phase: Phase::Calm,
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            reciprocal_root: 0,
        }
    }

    /// Takes over `parameters` and keeps the state, if the flavour is the same; otherwise changes nothing.
    /// Returns true if the parameters were taken over.
    pub fn adjust(&mut self, parameters: CodelParameters) -> bool {
        let can = parameters.flavour == self.flavour;
        if can {
            let Codel { phase, first_above, drop_next, count, last_count, reciprocal_root, .. } = *self;
            *self = Codel {
                phase,
                first_above,
                drop_next,
                count,
                last_count,
                reciprocal_root,
                ..Codel::new(parameters)
            };
        }
        can
    }

    /// The verdict on the packet just dequeued after `sojourn`, with `backlog_bytes` queued behind it. After
    /// [`Verdict::Drop`] the host dequeues the next packet and calls again with the same `now`.
    #[inline]
    pub fn decide(&mut self, sojourn: Span, now: Time, backlog_bytes: u64, ecn: Ecn) -> Verdict {
        let sojourn = self.sojourn_ticks(sojourn, now);
        let now = ticks(self.flavour, now.as_nanos());
        let overdue = self.is_overdue(sojourn, now, backlog_bytes);
        if overdue || self.phase != Phase::Calm {
            let verdict = self.control(overdue, now, ecn);
            if verdict != Verdict::Forward {
                return verdict;
            }
        }
        if sojourn > self.ce_threshold && matches!(ecn, Ecn::Ect0 | Ecn::Ect1) {
            return Verdict::Mark(Codel::CE_THRESHOLD);
        }
        Verdict::Forward
    }

    /// Tells the law that the host tried to dequeue from an empty queue.
    #[inline]
    pub fn emptied(&mut self) {
        self.first_above = 0;
        self.phase = match self.phase {
            Phase::Entered => Phase::Dropping,
            _ => Phase::Calm,
        };
    }

    /// Tells the law that the host dropped `packets` itself because the queue was too long: the next signals
    /// are spaced as closely as after that many drops of the law (Linux `fq_codel_drop`).
    pub fn host_dropped(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Returns true if the law is in its dropping state.
    pub fn is_dropping(&self) -> bool {
        self.phase != Phase::Calm
    }

    /// The sojourn in ticks. Linux subtracts two clock readings, each rounded down to a tick.
    #[inline]
    fn sojourn_ticks(&self, sojourn: Span, now: Time) -> u64 {
        match self.flavour {
            CodelFlavour::Rfc => sojourn.as_nanos(),
            CodelFlavour::Linux => (now.as_nanos() >> 10) - ((now - sojourn).as_nanos() >> 10),
        }
    }

    /// The RFC's `dodequeue` (Linux: `codel_should_drop`): true if the sojourn has been above the target for
    /// a whole interval.
    #[inline]
    fn is_overdue(&mut self, sojourn: u64, now: u64, backlog_bytes: u64) -> bool {
        if sojourn < self.target || backlog_bytes <= self.mtu {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.saturating_add(self.interval);
            return false;
        }
        match self.flavour {
            CodelFlavour::Rfc => now >= self.first_above,
            CodelFlavour::Linux => now > self.first_above,
        }
    }

    fn control(&mut self, overdue: bool, now: u64, ecn: Ecn) -> Verdict {
        match self.phase {
            // Entering drops one packet; the RFC sends the next one of that dequeue at any sojourn.
            Phase::Entered => {
                self.phase = Phase::Dropping;
                Verdict::Forward
            }
            Phase::Calm => {
                self.enter(now);
                if self.marks(ecn) {
                    self.phase = Phase::Dropping;
                    return Verdict::Mark(Codel::MARK);
                }
                self.phase = Phase::Entered;
                Verdict::Drop
            }
            _ if !overdue => {
                self.phase = Phase::Calm;
                Verdict::Forward
            }
            Phase::Dropping => self.signal_if_due(now, ecn),
            Phase::Looping => {
                self.drop_next = self.control_law(self.drop_next);
                self.signal_if_due(now, ecn)
            }
        }
    }

    /// One step of the RFC's `while` loop in the dropping state.
    fn signal_if_due(&mut self, now: u64, ecn: Ecn) -> Verdict {
        self.phase = Phase::Dropping;
        if now < self.drop_next {
            return Verdict::Forward;
        }
        self.count = self.count.saturating_add(1);
        self.newton_step();
        if self.marks(ecn) {
            self.drop_next = self.control_law(self.drop_next);
            return Verdict::Mark(Codel::MARK);
        }
        self.phase = Phase::Looping;
        Verdict::Drop
    }

    /// Enters the dropping state. If the last dropping state ended less than 16 intervals ago, resumes the rate
    /// that controlled the queue then.
    fn enter(&mut self, now: u64) {
        let drops = self.count - self.last_count;
        // Host drops raise `count` alone, so `last_count` is 0 until the law itself has dropped and
        // `drop_next` has a meaning.
        let has_dropped = self.last_count > 0;
        if drops > 1 && has_dropped && now.saturating_sub(self.drop_next) < self.interval.saturating_mul(16) {
            self.count = drops;
            self.newton_step();
        } else {
            self.count = 1;
            self.reciprocal_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    /// `from` plus interval / sqrt(count).
    fn control_law(&self, from: u64) -> u64 {
        from.saturating_add(match self.flavour {
            CodelFlavour::Rfc => (self.interval as f64 / libm::sqrt(f64::from(self.count))) as u64,
            CodelFlavour::Linux => {
                ((u128::from(self.interval) * u128::from(self.reciprocal_root)) >> 16) as u64
            }
        })
    }

    /// Linux: one Newton step of r towards 1/sqrt(count), r (3 - count r^2) / 2. During the step r is a fraction of
    /// 2^32; it is stored as a fraction of 2^16.
    fn newton_step(&mut self) {
        if self.flavour == CodelFlavour::Rfc {
            return;
        }
        let root = u64::from(self.reciprocal_root) << 16;
        let square = (root * root) >> 32;
        let factor = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        let next = factor.wrapping_mul(root) >> 31;
        self.reciprocal_root = (next >> 16) as u16;
    }

    fn marks(&self, ecn: Ecn) -> bool {
        self.ecn && ecn.is_capable()
    }
}

#[inline]
const fn ticks(flavour: CodelFlavour, nanos: u64) -> u64 {
    match flavour {
        CodelFlavour::Rfc => nanos,
        CodelFlavour::Linux => nanos >> 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MANY: u64 = 1_000_000;

    fn at(ms: f64) -> Time {
        Time::from_nanos((ms * 1e6) as u64)
    }
    fn law(flavour: CodelFlavour) -> Codel {
        Codel::new(CodelParameters { flavour, ..CodelParameters::default() })
    }
    fn rfc() -> Codel {
        law(CodelFlavour::Rfc)
    }
    /// A packet that has waited 50 ms in a long queue.
    fn late(law: &mut Codel, now: Time) -> Verdict {
        law.decide(Span::from_millis(50), now, MANY, Ecn::NotEct)
    }
    /// One dequeue from an endless queue of late packets: the number dropped before one is sent.
    fn drops(law: &mut Codel, now: Time) -> u32 {
        (0..).find(|_| late(law, now) == Verdict::Forward).unwrap_or(u32::MAX)
    }
    /// The times in ms at which a packet is dropped, among dequeues in steps of `step` ms.
    fn drop_times(law: &mut Codel, from: f64, to: f64, step: f64) -> Vec<f64> {
        let steps = ((to - from) / step) as u32;
        let times = (0..=steps).map(|i| from + f64::from(i) * step);
        times.filter(|ms| drops(law, at(*ms)) > 0).collect()
    }

    #[test]
    fn nothing_is_dropped_below_target_or_with_one_mtu_left() {
        let mut law = rfc();
        for ms in 0..1000 {
            let now = at(f64::from(ms));
            assert_eq!(law.decide(Span::from_nanos(4_999_999), now, MANY, Ecn::NotEct), Verdict::Forward);
            assert_eq!(law.decide(Span::from_secs(9), now, 1500, Ecn::NotEct), Verdict::Forward);
        }
        assert!(!law.is_dropping());
    }

    #[test]
    fn the_first_drop_comes_an_interval_after_the_target_is_reached() {
        let mut law = rfc();
        let target = |law: &mut Codel, ms| law.decide(Span::from_millis(5), at(ms), 1501, Ecn::NotEct);
        assert_eq!(target(&mut law, 10.0), Verdict::Forward);
        assert_eq!(target(&mut law, 109.999999), Verdict::Forward);
        assert_eq!(target(&mut law, 110.0), Verdict::Drop);
        assert_eq!(target(&mut law, 110.0), Verdict::Forward, "entering drops one packet, not two");
        assert!(law.is_dropping());
    }

    #[test]
    fn a_dip_below_target_starts_the_interval_again() {
        let mut law = rfc();
        assert_eq!(drops(&mut law, at(10.0)), 0);
        assert_eq!(law.decide(Span::from_millis(4), at(60.0), MANY, Ecn::NotEct), Verdict::Forward);
        assert_eq!(drop_times(&mut law, 61.0, 165.0, 1.0), [161.0]);
    }

    #[test]
    fn drops_come_at_intervals_over_the_root_of_their_count() {
        let mut law = rfc();
        let times = drop_times(&mut law, 0.0, 500.0, 0.1);
        // 100, then + 100 / sqrt(1), / sqrt(2), / sqrt(3)...
        let expected = [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 463.99];
        assert_eq!(times.len(), expected.len(), "{times:?}");
        for (time, expected) in times.iter().zip(expected) {
            assert!((0.0..0.11).contains(&(time - expected)), "{time} for {expected}");
        }
    }

    #[test]
    fn host_drops_raise_the_count_and_keep_the_scheduled_drop() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 150.0, 0.1);
        law.host_dropped(63);
        let times = drop_times(&mut law, 150.0, 230.0, 0.1);
        // The second of its own is the 65th: 100 / sqrt(65) to the next, then 100 / sqrt(66).
        let expected = [200.0, 212.41, 224.72];
        assert_eq!(times.len(), expected.len(), "{times:?}");
        for (time, expected) in times.iter().zip(expected) {
            assert!((0.0..0.11).contains(&(time - expected)), "{time} for {expected}");
        }
    }

    /// A law that never dropped begins with a count of one, at any start time of the run and after any number
    /// of host drops.
    #[test]
    fn the_first_count_is_one_at_any_start_time() {
        for flavour in [CodelFlavour::Rfc, CodelFlavour::Linux] {
            let gaps = |start: f64| {
                let mut law = law(flavour);
                law.host_dropped(63);
                let times = drop_times(&mut law, start, start + 500.0, 0.1);
                times.windows(2).map(|pair| ((pair[1] - pair[0]) * 10.0).round() as u32).collect::<Vec<_>>()
            };
            // Tolerance: two steps of 0.1 ms, at which packets leave.
            let (early, late) = (gaps(1.0), gaps(5000.0));
            let is_equal = early.iter().zip(&late).all(|(one, other)| one.abs_diff(*other) <= 2);
            assert!(early.len() == late.len() && is_equal, "{flavour:?}: {early:?} {late:?}");
            assert!(
                early[0].abs_diff(1000) <= 2,
                "{flavour:?}: an interval over the root of one, not {}",
                early[0]
            );
        }
    }

    #[test]
    fn one_late_dequeue_drops_all_that_are_due() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 150.0, 1.0);
        // Due at 200, 270.7, 328.4, 378.4, 423.2.
        assert_eq!(drops(&mut law, at(425.0)), 5);
    }

    #[test]
    fn a_timely_packet_ends_dropping() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 300.0, 1.0);
        assert_eq!(law.decide(Span::from_millis(1), at(301.0), MANY, Ecn::NotEct), Verdict::Forward);
        assert!(!law.is_dropping());
        assert_eq!(drop_times(&mut law, 302.0, 400.0, 1.0), [0.0; 0], "waits a whole interval again");
    }

    #[test]
    fn a_timely_packet_ends_dropping_inside_the_loop() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 150.0, 1.0);
        assert_eq!(late(&mut law, at(425.0)), Verdict::Drop);
        assert_eq!(law.decide(Span::from_millis(1), at(425.0), MANY, Ecn::NotEct), Verdict::Forward);
        assert!(!law.is_dropping());
    }

    /// Drops for 600 ms, sends one packet in time, and returns the gap between the two first drops after
    /// that.
    fn gap_after_reentry(law: &mut Codel, pause_ms: f64) -> f64 {
        drop_times(law, 0.0, 600.0, 0.1);
        law.decide(Span::ZERO, at(600.1), MANY, Ecn::NotEct);
        let times = drop_times(law, 600.2 + pause_ms, 1000.0 + pause_ms, 0.1);
        times[1] - times[0]
    }

    #[test]
    fn a_soon_reentry_resumes_the_count() {
        // Ten drops (100, 200, 270.7 ... 572.7) make a count of 10, of which 1 was there at entry: 9 are resumed.
        let gap = gap_after_reentry(&mut rfc(), 0.0);
        assert!((gap - 100.0 / 3.0).abs() < 0.11, "{gap}");
    }

    #[test]
    fn a_late_reentry_starts_at_one() {
        let gap = gap_after_reentry(&mut rfc(), 1600.0);
        assert!((gap - 100.0).abs() < 0.11, "{gap}");
    }

    #[test]
    fn a_single_drop_is_not_resumed() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 250.0, 1.0); // count 2, of which 1 at entry
        law.decide(Span::ZERO, at(251.0), MANY, Ecn::NotEct);
        let times = drop_times(&mut law, 252.0, 460.0, 1.0);
        assert_eq!(times, [352.0, 452.0]);
    }

    #[test]
    fn marks_replace_drops() {
        let mut law = Codel::new(CodelParameters { ecn: true, ..CodelParameters::default() });
        let mark = Verdict::Mark(Codel::MARK);
        let decide = |law: &mut Codel, ms, ecn| law.decide(Span::from_millis(50), at(ms), MANY, ecn);
        assert_eq!(decide(&mut law, 0.0, Ecn::Ect0), Verdict::Forward);
        assert_eq!(decide(&mut law, 100.0, Ecn::Ect0), mark, "on entry");
        assert_eq!(decide(&mut law, 100.0, Ecn::Ect0), Verdict::Forward);
        assert_eq!(decide(&mut law, 200.0, Ecn::Ect1), mark, "in the loop");
        assert_eq!(decide(&mut law, 200.0, Ecn::Ect1), Verdict::Forward);
        assert_eq!(decide(&mut law, 271.0, Ecn::NotEct), Verdict::Drop, "not capable");
        assert_eq!(decide(&mut law, 271.0, Ecn::Ce), Verdict::Forward);
        assert_eq!(decide(&mut law, 425.0, Ecn::Ce), mark, "one mark ends the loop, however late");
    }

    #[test]
    fn without_ecn_capable_packets_are_dropped() {
        let mut law = rfc();
        law.decide(Span::from_millis(50), at(0.0), MANY, Ecn::Ect0);
        assert_eq!(law.decide(Span::from_millis(50), at(100.0), MANY, Ecn::Ect0), Verdict::Drop);
    }

    #[test]
    fn ce_threshold_marks_packets_of_a_longer_sojourn() {
        let ce_threshold = Span::from_millis(1);
        let mut law = Codel::new(CodelParameters { ce_threshold, ..CodelParameters::default() });
        let mut decide = |us, ecn| law.decide(Span::from_micros(us), at(1.0), MANY, ecn);
        assert_eq!(decide(1000, Ecn::Ect1), Verdict::Forward);
        assert_eq!(decide(1001, Ecn::Ect1), Verdict::Mark(Codel::CE_THRESHOLD));
        assert_eq!(decide(1001, Ecn::NotEct), Verdict::Forward);
        assert_eq!(decide(1001, Ecn::Ce), Verdict::Forward);
    }

    #[test]
    fn an_empty_queue_ends_dropping() {
        let mut law = rfc();
        drop_times(&mut law, 0.0, 150.0, 1.0);
        law.emptied();
        assert!(!law.is_dropping());
        // Emptied by the drop that entered: the RFC leaves the state at the next dequeue.
        let mut law = rfc();
        late(&mut law, at(0.0));
        assert_eq!(late(&mut law, at(100.0)), Verdict::Drop);
        law.emptied();
        assert!(law.is_dropping());
        assert_eq!(law.decide(Span::ZERO, at(101.0), MANY, Ecn::NotEct), Verdict::Forward);
        assert!(!law.is_dropping());
    }

    #[test]
    fn linux_drops_a_tick_after_the_interval() {
        let tick = |n: u64| Time::from_nanos((n + 100_000) << 10);
        let mut law = law(CodelFlavour::Linux);
        let interval = 100_000_000 >> 10;
        assert_eq!(late(&mut law, tick(1)), Verdict::Forward);
        assert_eq!(late(&mut law, tick(1 + interval)), Verdict::Forward);
        assert_eq!(late(&mut law, tick(2 + interval)), Verdict::Drop);
    }

    #[test]
    fn linux_approaches_the_root_a_step_at_a_time() {
        let times = drop_times(&mut law(CodelFlavour::Linux), 0.0, 500.0, 0.1);
        // 1/sqrt(count) by one Newton step each from 1: 1, 0.5, 0.5625, 0.4878, 0.4415...
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, expected) in gaps.iter().zip([100.0, 50.0, 56.25, 48.8, 44.15]) {
            assert!((gap - expected).abs() < 0.2, "{gaps:?}");
        }
    }

    #[test]
    fn linux_settles_on_the_root() {
        let mut law = law(CodelFlavour::Linux);
        drop_times(&mut law, 0.0, 5000.0, 0.1);
        let root = f64::from(law.reciprocal_root) / 65536.0;
        assert!((root * libm::sqrt(f64::from(law.count)) - 1.0).abs() < 0.01, "{root} {}", law.count);
    }

    #[test]
    fn no_argument_overflows() {
        for flavour in [CodelFlavour::Rfc, CodelFlavour::Linux] {
            let parameters = CodelParameters { interval: Span::MAX, flavour, ..CodelParameters::default() };
            for mut law in [Codel::new(parameters), law(flavour)] {
                for nanos in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX, u64::MAX] {
                    law.decide(Span::MAX, Time::from_nanos(nanos), u64::MAX, Ecn::NotEct);
                }
            }
        }
    }
}
