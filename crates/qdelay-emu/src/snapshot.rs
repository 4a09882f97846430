//! How a link is doing: a [`Sample`] is what the data thread copies, a [`Snapshot`] what others make of two of them.
//!
//! All figures of a sample are sums since the start, and nothing is reset by taking one: the live view, the control socket and
//! Prometheus each compare with the sample that they took before. Taking one costs the data thread a few dozen microseconds,
//! most of them for asking the kernel about drops and stolen time; percentiles are found by who wants them.

use crate::clock::Clock;
use crate::device::{Device, Port};
use crate::drive::Driver;
use crate::emulator::Tap;
use crate::metrics::{ClassCounts, HasMetrics, Spread};
use crate::stall::Stalls;
use qdelay_core::dscp;
use qdelay_core::{Span, Time};
use qdelay_path::{Count, LinkUsage};
use qdelay_record::{Delay, Recorder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one direction is made of, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The link: `synth-lte-driving`, `10mbit`.
    pub link: String,
    /// The queue discipline: `bode:target=20ms`.
    pub qdisc: String,
    /// Delay behind the link.
    pub delay_ms: f64,
    /// At most so much more.
    pub jitter_ms: f64,
    /// Probability of a loss behind the link.
    pub loss: f64,
}

/// What runs, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// From outside to inside.
    pub down: Setting,
    /// From inside to outside.
    pub up: Setting,
}

/// What a sample has of the packets that came from one port.
#[derive(Clone, Debug, Default)]
pub struct PortSample {
    /// Each class that there were packets of, by its codepoint.
    pub classes: Vec<(u8, ClassCounts)>,
    /// How long packets of all classes waited in the queue.
    pub sojourn: Spread,
    /// What the link sent and could have sent, in bytes on the link.
    pub usage: LinkUsage,
}

impl PortSample {
    /// All classes together.
    pub fn total(&self) -> ClassCounts {
        self.classes.iter().fold(ClassCounts::default(), |sum, (_, counts)| sum.plus(counts))
    }
}

/// What went on beside the path, since the start.
#[derive(Clone, Debug, Default)]
pub struct HostSample {
    /// Lateness of releases in ms.
    pub lateness: Delay,
    /// A release to the inside or the outside that is later than this is late.
    pub lateness_limits: [Span; 2],
    /// Releases.
    pub released: u64,
    /// Releases that were late.
    pub late: u64,
    /// When the loop was not on time.
    pub stalls: Stalls,
    /// Packets lost outside the path: by cause, as it is called in results.
    pub outside: Vec<(&'static str, u64)>,
    /// Read, but no IP packets.
    pub malformed: u64,
    /// Frames that carry no IP and went around the path, by the port they came from.
    pub passed: [u64; 2],
    /// Processor time of this process.
    pub cpu: Span,
    /// Processor time that other guests of the machine's host took.
    pub steal: Option<Span>,
    /// What speaks against trusting the run so far, one sentence each; nothing where it is trustworthy.
    pub reasons: Vec<String>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// When it was taken, from the start.
    pub time: Time,
    /// By the port the packets come from: [`Sample::down`], [`Sample::up`].
    pub ports: [PortSample; 2],
    /// What went on beside the path.
    pub host: HostSample,
    /// What runs.
    pub settings: Arc<Settings>,
    /// How often what runs was replaced.
    pub reloads: u64,
}

impl Sample {
    /// Takes one. Without metrics in the driver's tap, the tables of classes are empty.
    pub fn take<C, D, R, T>(driver: &mut Driver<C, D, R, T>, settings: Arc<Settings>, reloads: u64) -> Sample
    where
        C: Clock,
        D: Device,
        R: Recorder,
        T: Tap + HasMetrics,
    {
        let time = driver.clock().now();
        let audit = driver.audit();
        let host = HostSample {
            lateness: audit.lateness.summary(),
            lateness_limits: audit.limits,
            released: audit.lateness.count(),
            late: audit.late,
            stalls: audit.stalls,
            outside: vec![
                ("oversized", audit.oversized),
                ("pool_empty", audit.pool_empty),
                ("send_full", audit.send_full),
                ("send_failed", audit.send_failed),
                ("kernel_drops", audit.kernel_drops),
            ],
            malformed: audit.malformed,
            passed: audit.passed,
            cpu: audit.cpu,
            steal: audit.steal,
            reasons: audit.verdict().reasons,
        };
        let emulator = driver.emulator();
        let usage = Port::ALL.map(|port| emulator.link_usage(port, time));
        let metrics = emulator.tap().metrics();
        let ports = Port::ALL.map(|port| {
            let of = metrics.map(|metrics| metrics.port(port));
            PortSample {
                classes: of
                    .map(|of| of.classes().map(|(class, counts)| (class, counts.clone())).collect())
                    .unwrap_or_default(),
                sojourn: of.map(|of| of.sojourn().clone()).unwrap_or_default(),
                usage: usage[port.index()],
            }
        });
        Sample { time, ports, host, settings, reloads }
    }

    /// Packets that go down: they come from outside.
    pub fn down(&self) -> &PortSample {
        &self.ports[Port::Outside.index()]
    }
    /// Packets that go up.
    pub fn up(&self) -> &PortSample {
        &self.ports[Port::Inside.index()]
    }
}

/// Packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl From<Count> for Amount {
    fn from(count: Count) -> Amount {
        Amount { packets: count.packets, bytes: count.bytes }
    }
}

/// What happened to packets: since the start, or in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Came to the queue.
    pub offered: Amount,
    /// Left the link.
    pub sent: Amount,
    /// Came out of the path.
    pub delivered: Amount,
    /// Dropped on the path.
    pub dropped: Amount,
    /// Marked.
    pub marked: Amount,
    /// Drops by reason, but for those that there were none for.
    pub drops_by_reason: BTreeMap<String, Amount>,
    /// Marks by reason, but for those that there were none for.
    pub marks_by_reason: BTreeMap<String, Amount>,
}

impl Totals {
    /// What is in `now` and was not yet in `before`.
    fn between(before: &ClassCounts, now: &ClassCounts) -> Totals {
        let less = |now: Count, before: Count| Amount {
            packets: now.packets.saturating_sub(before.packets),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        let named = |name: &str, amount: Amount| (amount.packets > 0).then(|| (name.to_string(), amount));
        Totals {
            offered: less(now.offered, before.offered),
            sent: less(now.sent, before.sent),
            delivered: less(now.delivered, before.delivered),
            dropped: less(now.dropped.total(), before.dropped.total()),
            marked: less(now.marked.total(), before.marked.total()),
            drops_by_reason: (now.dropped.iter())
                .filter_map(|(reason, count)| named(reason.name(), less(count, before.dropped.of(reason))))
                .collect(),
            marks_by_reason: (now.marked.iter())
                .filter_map(|(reason, count)| named(reason.name(), less(count, before.marked.of(reason))))
                .collect(),
        }
    }
}

/// How long packets waited in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sojourn {
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Maximum.
    pub max_ms: f64,
}

impl Sojourn {
    fn of([p50_ms, p99_ms, max_ms]: [f64; 3]) -> Sojourn {
        Sojourn { p50_ms: round(p50_ms), p99_ms: round(p99_ms), max_ms: round(max_ms) }
    }
}

/// One class of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSnapshot {
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Its name, where it has one: `ef`.
    pub name: Option<String>,
    /// Since the start.
    pub total: Totals,
    /// In the interval.
    pub interval: Totals,
    /// In the queue.
    pub backlog: Amount,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionSnapshot {
    /// What runs.
    pub setting: Setting,
    /// What left the link in the interval.
    pub rate_mbps: f64,
    /// What the link could have sent in the interval, of bytes on the link; `None` for a link without a bound.
    pub capacity_mbps: Option<f64>,
    /// In the queue.
    pub backlog: Amount,
    /// Of the packets that left the queue in the interval; `None` where none did.
    pub sojourn_interval: Option<Sojourn>,
    /// Of all packets; `None` where none has left the queue.
    pub sojourn_total: Option<Sojourn>,
    /// Since the start.
    pub total: Totals,
    /// In the interval.
    pub interval: Totals,
    /// Each class that there were packets of, in ascending order of their codepoints.
    pub classes: Vec<ClassSnapshot>,
}

/// How late packets were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Maximum.
    pub max_ms: f64,
    /// A packet that goes down is late above this.
    pub limit_down_ms: f64,
    /// A packet that goes up is late above this.
    pub limit_up_ms: f64,
    /// Packets written.
    pub released: u64,
    /// Those that were late.
    pub late: u64,
}

/// When the emulator was not there, and what may have waited for it unread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StallFigures {
    /// How often it was late for itself by more than a release may be late.
    pub count: u64,
    /// All of these intervals together.
    pub total_ms: f64,
    /// The longest time that it was late for itself by, if it was ever.
    pub longest_gap_ms: f64,
    /// IP packets that were read.
    pub packets_read: u64,
    /// Of these, those that may have waited unread for longer than the limit.
    pub packets_unseen: u64,
    /// Of these, those with a time stamp of the kernel's that cannot be right.
    pub stamps_doubted: u64,
    /// Packets that the devices had dropped when they were asked after an interval of 5 ms or more, and not before.
    pub dropped: u64,
    /// The longest intervals, at most eight, the longest first.
    pub longest: Vec<StallInterval>,
}

/// An interval in which the emulator was not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StallInterval {
    /// When it should have been there, since the start.
    pub begin_s: f64,
    /// How much later it was.
    pub length_ms: f64,
}

impl From<&Stalls> for StallFigures {
    fn from(stalls: &Stalls) -> StallFigures {
        let interval = |stall: &crate::stall::Stall| StallInterval {
            begin_s: round(stall.begin.as_secs_f64()),
            length_ms: round(stall.length.as_millis_f64()),
        };
        StallFigures {
            count: stalls.count,
            total_ms: round(stalls.total.as_millis_f64()),
            longest_gap_ms: round(stalls.longest_gap.as_millis_f64()),
            packets_read: stalls.read,
            packets_unseen: stalls.unseen,
            stamps_doubted: stalls.doubted,
            dropped: stalls.dropped,
            longest: stalls.worst().iter().map(interval).collect(),
        }
    }
}

/// How a link is doing. Rates are in Mbit/s, times in seconds or milliseconds as their names say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Which version of this form; fields may be added to it.
    pub schema_version: u32,
    /// Since the start.
    pub time_s: f64,
    /// What the figures of the interval are of: since the snapshot before, or the start.
    pub interval_s: f64,
    /// From outside to inside.
    pub down: DirectionSnapshot,
    /// From inside to outside.
    pub up: DirectionSnapshot,
    /// Of all packets.
    pub lateness: Lateness,
    /// When the emulator was not there; nothing in what was written before there was this field.
    #[serde(default)]
    pub stalls: StallFigures,
    /// Packets lost outside the path, by cause.
    pub lost_outside: BTreeMap<String, u64>,
    /// Read, but no IP packets.
    pub malformed: u64,
    /// Frames that carry no IP and went around the path, towards the inside.
    pub passed_down: u64,
    /// The same from the inside.
    pub passed_up: u64,
    /// Processor time of the process in the interval, per second.
    pub cpu_share: f64,
    /// Processor time of the process.
    pub cpu_s: f64,
    /// Processor time that other guests of the machine's host took; `None` where the kernel does not say.
    pub steal_s: Option<f64>,
    /// Whether to believe the run so far.
    pub trustworthy: bool,
    /// What speaks against it, one sentence each.
    pub reasons: Vec<String>,
    /// How often what runs was replaced.
    pub reloads: u64,
}

/// [`Snapshot::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

impl Snapshot {
    /// What there is to say at `now`, where `before` was the sample before it; without one the interval is all the time.
    pub fn between(before: Option<&Sample>, now: &Sample) -> Snapshot {
        let interval = now.time.since(before.map_or(Time::ZERO, |before| before.time));
        let seconds = interval.as_secs_f64();
        let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let direction = |port: Port, setting: &Setting| {
            direction(
                setting.clone(),
                before.map(|before| &before.ports[port.index()]),
                &now.ports[port.index()],
                seconds,
            )
        };
        let host = &now.host;
        let limit = |port: Port| host.lateness_limits[port.index()].as_millis_f64();
        let cpu = host.cpu.saturating_sub(before.map_or(Span::ZERO, |before| before.host.cpu));
        Snapshot {
            schema_version: SCHEMA_VERSION,
            time_s: round(now.time.since(Time::ZERO).as_secs_f64()),
            interval_s: round(seconds),
            down: direction(Port::Outside, &now.settings.down),
            up: direction(Port::Inside, &now.settings.up),
            lateness: Lateness {
                p50_ms: round(host.lateness.p50),
                p99_ms: round(host.lateness.p99),
                max_ms: round(host.lateness.max),
                // Limits are by the port that packets go to.
                limit_down_ms: limit(Port::Inside),
                limit_up_ms: limit(Port::Outside),
                released: host.released,
                late: host.late,
            },
            stalls: (&host.stalls).into(),
            lost_outside: host.outside.iter().map(|(cause, count)| ((*cause).to_string(), *count)).collect(),
            malformed: host.malformed,
            passed_down: host.passed[Port::Outside.index()],
            passed_up: host.passed[Port::Inside.index()],
            cpu_share: round(per_second(cpu.as_secs_f64())),
            cpu_s: round(host.cpu.as_secs_f64()),
            steal_s: host.steal.map(|steal| round(steal.as_secs_f64())),
            trustworthy: host.reasons.is_empty(),
            reasons: host.reasons.clone(),
            reloads: now.reloads,
        }
    }

    /// Packets lost outside the path, for any cause.
    pub fn lost_outside_total(&self) -> u64 {
        self.lost_outside.values().sum()
    }
}

/// A link without a bound offers as much as a number holds.
const UNBOUNDED: u64 = u64::MAX / 16;

fn direction(
    setting: Setting,
    before: Option<&PortSample>,
    now: &PortSample,
    seconds: f64,
) -> DirectionSnapshot {
    let (nothing, start) = (ClassCounts::default(), LinkUsage::default());
    let mbps = |bytes: u64| if seconds > 0.0 { round(bytes as f64 * 8.0 / seconds / 1e6) } else { 0.0 };
    let total = now.total();
    let interval = Totals::between(&before.map(PortSample::total).unwrap_or_default(), &total);
    let (offered, earlier) =
        (now.usage.offered_bytes, before.map_or(start, |before| before.usage).offered_bytes);
    let class = |(dscp, counts): &(u8, ClassCounts)| {
        let earlier = before.and_then(|before| before.classes.iter().find(|(known, _)| known == dscp));
        ClassSnapshot {
            dscp: *dscp,
            name: dscp::name(*dscp).map(str::to_string),
            total: Totals::between(&nothing, counts),
            interval: Totals::between(earlier.map_or(&nothing, |(_, counts)| counts), counts),
            backlog: counts.backlog().into(),
        }
    };
    let ranks = [0.5, 0.99, 1.0];
    let exact_max = |[p50, p99, _]: [f64; 3]| [p50, p99, now.sojourn.max().as_millis_f64()];
    DirectionSnapshot {
        setting,
        rate_mbps: mbps(interval.sent.bytes),
        // A link that was put in place of one without a bound has its first interval without one too.
        capacity_mbps: (offered < UNBOUNDED && earlier < UNBOUNDED)
            .then(|| mbps(offered.saturating_sub(earlier))),
        backlog: total.backlog().into(),
        sojourn_interval: now.sojourn.since(before.map(|before| &before.sojourn), ranks).map(Sojourn::of),
        sojourn_total: now.sojourn.since(None, ranks).map(exact_max).map(Sojourn::of),
        total: Totals::between(&nothing, &total),
        interval,
        classes: now.classes.iter().map(class).collect(),
    }
}

/// To what anybody looks at: three digits behind the point are microseconds, or bytes in some milliseconds.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
