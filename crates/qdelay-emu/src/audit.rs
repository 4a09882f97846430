//! Trustworthiness of a run under a real clock.
//!
//! The path decides at its own times, but a host can be late in writing released packets, and packets can be lost between the
//! devices and the path. Both are counted. A run is trustworthy if at most 0.1% of the releases were later than the limit of
//! [`Plan::lateness_limits`](qdelay_path::stack::Plan::lateness_limits), at most 0.1% of the packets may have waited for longer than
//! that before they were read, and no packet was lost outside the path.
//!
//! The second rule is needed because lateness is counted from the time at which a packet was read: a loop that stalls reads
//! packets late, and then releases those on time. Both rules have the same bound and share, because both kinds of lateness
//! change a packet's delay by the same amount. [`stall`](crate::stall) explains which packets count as late, and the limits of detection.

#[cfg(target_os = "linux")]
use crate::clock::process_cpu;
use crate::device::Port;
use crate::metrics::{DelayBuckets, LATENESS_BOUNDS_NANOS};
use crate::stall::{Stall, Stalls};
use qdelay_core::{Span, Time};
use qdelay_record::{DelayHistogram, DelaySummary};
use std::fs;

/// One packet out of this many may be late, or may have waited unread.
const PACKETS_PER_LATE_ONE: u64 = 1000;

/// Losses, delays and costs outside the path during a run.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Lateness of writes to the devices: time of the write less the time at which the path released the packet.
    pub lateness: DelayHistogram,
    /// Lateness as counts over the buckets [`LATENESS_BOUNDS_NANOS`], by the port that the release goes to.
    pub lateness_buckets: [DelayBuckets; 2],
    /// Maximum lateness of a release that is on time, by the port that the release goes to.
    pub limits: [Span; 2],
    /// Releases that were late.
    pub late: u64,
    /// Packets read that are not IP packets. The link's packet counts exclude these, and the verdict ignores them.
    pub malformed: u64,
    /// Frames without an IP packet, which bypassed the path, by the port that they came from. The verdict ignores them.
    pub passed: [u64; 2],
    /// Packets read that were longer than a slot of the pool, and could not be split into packets. They are lost.
    pub oversized: u64,
    /// Packets read and dropped because all slots of the pool were in use.
    pub pool_empty: u64,
    /// Packets released to a device whose queue was full.
    pub send_full: u64,
    /// Packets released to a device that refused them.
    pub send_failed: u64,
    /// Packets dropped by the kernel at the two devices.
    pub kernel_drops: u64,
    /// Records that did not fit into the logs; the owner of the logs counts them.
    pub log_lost: u64,
    /// Intervals in which the loop was late.
    pub stalls: Stalls,
    /// Super-packets of devices with offload.
    pub super_packets: SuperPackets,
    /// Iterations of the loop.
    pub turns: u64,
    /// Duration of the run.
    pub duration: Span,
    /// Processor time of this process; zero on systems other than Linux.
    pub cpu: Span,
    /// Processor time that the hypervisor gave to other guests (steal time), over all processors; `None` where the kernel does
    /// not report it.
    pub steal: Option<Span>,
    begin: Begin,
    /// Packets written since the loop last read its clock.
    written: u64,
    /// Largest lateness among these packets.
    written_late: Span,
    /// Kernel drops at the devices when they were last queried.
    drops_before: u64,
}

/// Counts of super-packets. All other counts in an audit count the packets within them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuperPackets {
    /// Super-packets read.
    pub read: u64,
    /// The packets that they were split into.
    pub split: u64,
    /// Super-packets written.
    pub written: u64,
    /// The packets that were joined to them.
    pub joined: u64,
}

/// Counts at the start of the run, which later readings subtract.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    time: Time,
    kernel_drops: u64,
    cpu: Span,
    steal: Option<Span>,
}

/// Verdict: whether the results of a run can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunVerdict {
    /// True if there is no reason against it.
    pub trustworthy: bool,
    /// Reasons against it, one sentence each.
    pub reasons: Vec<String>,
}

/// The figures of an [`Audit`].
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFacts {
    /// Lateness of releases in ms.
    pub lateness: DelaySummary,
    /// Lateness limit of each port; see [`Audit::limits`].
    pub limits: [Span; 2],
    /// Releases later than the limit.
    pub late: u64,
    /// Packets lost outside the path, for any cause.
    pub lost: u64,
    /// Intervals in which the loop was late; see [`Audit::stalls`].
    pub stalls: Stalls,
    /// Counts of super-packets; see [`Audit::super_packets`].
    pub super_packets: SuperPackets,
    /// Packets read that are not IP packets; see [`Audit::malformed`].
    pub malformed: u64,
    /// Frames that bypassed the path; see [`Audit::passed`].
    pub passed: [u64; 2],
    /// Duration of the run; see [`Audit::duration`].
    pub duration: Span,
    /// Processor time of this process; see [`Audit::cpu`].
    pub cpu: Span,
    /// Steal time; see [`Audit::steal`].
    pub steal: Option<Span>,
    /// The verdict.
    pub verdict: RunVerdict,
}

impl Audit {
    /// Starts the audit of a run at `now`; `kernel_drops` packets were dropped by the kernel before.
    pub fn begin(now: Time, limits: [Span; 2], kernel_drops: u64) -> Audit {
        Audit {
            lateness: DelayHistogram::default(),
            lateness_buckets: Default::default(),
            limits,
            late: 0,
            malformed: 0,
            passed: [0; 2],
            oversized: 0,
            pool_empty: 0,
            send_full: 0,
            send_failed: 0,
            kernel_drops: 0,
            log_lost: 0,
            stalls: Stalls::begin(now),
            super_packets: SuperPackets::default(),
            turns: 0,
            duration: Span::ZERO,
            cpu: Span::ZERO,
            steal: None,
            begin: Begin { time: now, kernel_drops, cpu: process_cpu(), steal: steal() },
            written: 0,
            written_late: Span::ZERO,
            drops_before: kernel_drops,
        }
    }

    /// Records a clock reading of the loop; see [`Stalls::clock_read`].
    #[inline]
    pub fn clock_read(&mut self, now: Time) -> Span {
        let written = std::mem::take(&mut self.written);
        let late = std::mem::take(&mut self.written_late);
        let stall = self.stalls.clock_read(now, self.limits);
        if !stall.is_zero() && written > 0 {
            self.stalls.held += written;
            self.stalls.longest_hold = self.stalls.longest_hold.max(late + stall);
        }
        stall
    }

    /// Records the total of `kernel_drops` that the devices report after a stall.
    pub fn kernel_drops_after_stall(&mut self, kernel_drops: u64) {
        self.stalls.dropped += kernel_drops.saturating_sub(self.drops_before);
        self.drops_before = kernel_drops;
    }

    /// Records the write to `port` at `now` of a packet that was due at `due`.
    #[inline]
    pub fn released(&mut self, now: Time, port: Port, due: Time) {
        let lateness = now.since(due);
        self.lateness.record(lateness);
        self.lateness_buckets[port.index()].record(&LATENESS_BOUNDS_NANOS, lateness);
        self.late += u64::from(lateness > self.limits[port.index()]);
        self.written += 1;
        self.written_late = self.written_late.max(lateness);
    }

    /// Updates the figures that are differences between the start and `now`; repeated calls are allowed.
    pub fn update(&mut self, now: Time, kernel_drops: u64) {
        self.duration = now.since(self.begin.time);
        self.kernel_drops = kernel_drops.saturating_sub(self.begin.kernel_drops);
        self.drops_before = kernel_drops;
        self.cpu = process_cpu().saturating_sub(self.begin.cpu);
        self.steal = steal().zip(self.begin.steal).map(|(now, before)| now.saturating_sub(before));
    }

    /// Packets lost outside the path.
    pub fn lost(&self) -> u64 {
        self.oversized + self.pool_empty + self.send_full + self.send_failed + self.kernel_drops
    }

    /// The verdict on the run so far.
    pub fn verdict(&self) -> RunVerdict {
        let mut reasons = Vec::new();
        let releases = self.lateness.count();
        if is_too_many(self.late, releases) {
            reasons.push(format!(
                "{} of {releases} packets ({:.2}%) left more than {} late; the worst {:.3} ms",
                self.late,
                self.late as f64 * 100.0 / releases as f64,
                limits(self.limits),
                self.lateness.summary().max,
            ));
        }
        let Stalls { read, .. } = self.stalls;
        let unknown = self.stalls.unknown();
        if is_too_many(unknown, read) {
            reasons.push(format!(
                "{unknown} of {read} packets ({:.2}%) may have waited unread, or been written late, for more than {}: {}",
                unknown as f64 * 100.0 / read.max(1) as f64,
                limits(self.limits),
                describe_stalls(&self.stalls),
            ));
        }
        // A single packet lost outside the path voids the run, because its sender reacted to a loss that the link does not have.
        for (count, what) in [
            (
                self.oversized,
                "exceeded the MTU, and could not be split: of a larger MTU, or joined by offloads of their sender",
            ),
            (self.pool_empty, "arrived while all memory for packets was in use"),
            (self.send_full, "were lost because a device had no room for them"),
            (self.send_failed, "were refused by a device"),
            (self.kernel_drops, "were dropped by the kernel at a device"),
        ] {
            if count > 0 {
                reasons.push(format!("{count} packets {what}"));
            }
        }
        if self.log_lost > 0 {
            reasons.push(format!("{} records did not fit into the logs", self.log_lost));
        }
        RunVerdict { trustworthy: reasons.is_empty(), reasons }
    }

    /// All figures at once.
    pub fn facts(&self) -> AuditFacts {
        AuditFacts {
            lateness: self.lateness.summary(),
            limits: self.limits,
            late: self.late,
            lost: self.lost(),
            stalls: self.stalls,
            super_packets: self.super_packets,
            malformed: self.malformed,
            passed: self.passed,
            duration: self.duration,
            cpu: self.cpu,
            steal: self.steal,
            verdict: self.verdict(),
        }
    }
}

pub(crate) fn is_too_many(bad: u64, all: u64) -> bool {
    bad.saturating_mul(PACKETS_PER_LATE_ONE) > all
}

/// Number and duration of the stalls.
fn describe_stalls(stalls: &Stalls) -> String {
    let Stall { begin, length } = stalls.worst().first().copied().unwrap_or_default();
    let times = if stalls.count == 1 { "once".to_string() } else { format!("{} times", stalls.count) };
    format!(
        "the emulator stalled {times}, for {:.3} ms in total; the longest stall lasted {:.3} ms, from {:.3} s",
        stalls.total.as_millis_f64(),
        length.as_millis_f64(),
        begin.as_secs_f64()
    )
}

/// Lateness limits of both ports as text.
pub(crate) fn limits([inside, outside]: [Span; 2]) -> String {
    if inside == outside { inside.to_string() } else { format!("{inside} (down) or {outside} (up)") }
}

/// Processor time of this process, which is unknown.
#[cfg(not(target_os = "linux"))]
fn process_cpu() -> Span {
    Span::ZERO
}

/// Steal time since the machine was started, over all processors.
fn steal() -> Option<Span> {
    parse_steal(&fs::read_to_string("/proc/stat").ok()?)
}

/// The eighth value of the first line of `/proc/stat`, in hundredths of a second (`USER_HZ` on all machines that Linux runs on
/// today).
fn parse_steal(stat: &str) -> Option<Span> {
    let mut words = stat.lines().next()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    words.nth(7)?.parse().ok().map(|ticks: u64| Span::from_millis(ticks.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn audit(on_time: u64, late: u64) -> Audit {
        let mut audit = Audit::begin(us(0), [Span::from_micros(100), Span::from_micros(200)], 5);
        (0..on_time).for_each(|_| audit.released(us(1100), Port::Inside, us(1000)));
        (0..late).for_each(|_| audit.released(us(1101), Port::Inside, us(1000)));
        audit
    }

    #[test]
    fn one_in_a_thousand_may_be_late() {
        assert!(audit(0, 0).verdict().trustworthy);
        let mut other = audit(0, 0);
        other.released(us(1200), Port::Outside, us(1000));
        assert!(other.verdict().trustworthy, "each direction has its own limit");
        assert!(audit(999, 1).verdict().trustworthy);
        let verdict = audit(998, 1).verdict();
        assert!(!verdict.trustworthy);
        assert_eq!(
            verdict.reasons,
            ["1 of 999 packets (0.10%) left more than 100us (down) or 200us (up) late; the worst 0.101 ms"]
        );
    }

    #[test]
    fn one_in_a_thousand_may_have_waited_unread() {
        let run = |reads: u64| {
            let mut audit = audit(10, 0);
            audit.written = 0;
            (0..reads).for_each(|_| audit.stalls.read(Port::Inside, false));
            assert_eq!(audit.clock_read(us(800_000)), Span::from_millis(800));
            audit.stalls.read(Port::Inside, false);
            audit.stalls.empty(Port::Inside);
            audit.verdict()
        };
        assert!(run(999).trustworthy);
        let verdict = run(998);
        assert!(!verdict.trustworthy);
        assert_eq!(
            verdict.reasons,
            [
                "1 of 999 packets (0.10%) may have waited unread, or been written late, for more than 100us (down) or 200us (up): the emulator \
              stalled once, for 800.000 ms in total; the longest stall lasted 800.000 ms, from 0.000 s"
            ]
        );
    }

    #[test]
    fn packets_written_in_a_stall_may_have_left_late() {
        let run = |before: u64| {
            let mut audit = audit(0, 0);
            let write = |audit: &mut Audit, count| {
                (0..count).for_each(|_| audit.released(us(1000), Port::Inside, us(1000)));
                (0..count).for_each(|_| audit.stalls.read(Port::Outside, false));
            };
            write(&mut audit, before);
            audit.clock_read(us(0));
            write(&mut audit, 1);
            assert_eq!(audit.clock_read(us(3000)), Span::from_millis(3));
            Port::ALL.into_iter().for_each(|port| audit.stalls.empty(port));
            write(&mut audit, 10);
            assert_eq!(audit.clock_read(us(3050)), Span::ZERO);
            (audit.stalls.held, audit.facts().accuracy().bound)
        };
        assert_eq!(run(988), (1, Span::from_millis(3)), "the lateness of that one packet is not known");
        assert_eq!(run(989), (1, Span::ZERO), "one in a thousand");
    }

    #[test]
    fn drops_of_a_stall_are_counted_since_the_previous_query() {
        let mut audit = audit(0, 0);
        audit.kernel_drops_after_stall(8);
        audit.update(us(1000), 20);
        audit.kernel_drops_after_stall(24);
        assert_eq!((audit.stalls.dropped, audit.kernel_drops), (7, 15));
    }

    #[test]
    fn any_loss_outside_the_path_voids_a_run() {
        type Change = fn(&mut Audit);
        let changes: [(Change, &str); 6] = [
            (|audit| audit.oversized = 1, "offloads"),
            (|audit| audit.pool_empty = 1, "memory"),
            (|audit| audit.send_full = 2, "no room"),
            (|audit| audit.send_failed = 3, "refused"),
            (|audit| audit.update(us(2000), 9), "4 packets were dropped by the kernel"),
            (|audit| audit.log_lost = 1, "logs"),
        ];
        for (change, words) in changes {
            let mut audit = audit(1000, 0);
            change(&mut audit);
            let verdict = audit.verdict();
            assert!(!verdict.trustworthy && verdict.reasons.len() == 1, "{verdict:?}");
            assert!(verdict.reasons[0].contains(words), "{verdict:?}");
        }
        let mut audit = audit(1000, 0);
        audit.malformed = 7;
        audit.passed = [1, 2];
        assert!(audit.verdict().trustworthy, "malformed packets do not count against the link");
    }

    #[test]
    fn facts_subtract_the_counts_at_the_start() {
        let mut audit = audit(10, 0);
        audit.update(us(3000), 5);
        let facts = audit.facts();
        assert_eq!((facts.duration, facts.lost, facts.late), (Span::from_millis(3), 0, 0));
        assert_eq!((facts.lateness.count, facts.lateness.max), (10, 0.1));
        audit.update(us(4000), 2);
        assert_eq!(audit.kernel_drops, 0, "the kernel reset its count");
    }

    #[test]
    fn steal_time_is_the_eighth_value_of_the_cpu_line() {
        let stat = "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(parse_steal(stat), Some(Span::from_millis(2500)));
        assert_eq!(parse_steal("cpu  1 2 3"), None);
        assert_eq!(parse_steal("intr 1"), None);
        assert_eq!(parse_steal(""), None);
    }
}
