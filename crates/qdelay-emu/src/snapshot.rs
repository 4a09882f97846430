//! State of a link: the data thread takes a [`Sample`]; other threads compute a [`Snapshot`] from two of them.
//!
//! All values of a sample are sums since the start, and taking a sample resets nothing: the live view, the control socket and
//! Prometheus each compare with their own previous sample. A sample costs the data thread a few dozen microseconds, most of
//! them for querying the kernel about drops and steal time; percentiles are computed by the reader.

use crate::audit::Audit;
use crate::device::Port;
use crate::metrics::{ClassCounts, DelayBuckets, LogHistogram, Metrics};
use crate::stall::Stalls;
use qdelay_core::dscp;
use qdelay_core::{Span, Time};
use qdelay_path::{Count, LinkUsage};
use qdelay_record::DelaySummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings of one direction, as the user wrote them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionSettings {
    /// The link as given on the command line: `synth-lte-driving`, `10mbit`.
    pub link: String,
    /// The queue discipline: `bode:target=20ms`.
    pub qdisc: String,
    /// Delay behind the link in ms; its smallest value if it changes over time.
    pub delay_ms: f64,
    /// A delay over time, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_over_time: Option<String>,
    /// Maximum additional delay in ms; of a distribution around the delay its standard deviation.
    pub jitter_ms: f64,
    /// A distribution of the jitter, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_model: Option<String>,
    /// Probability of a loss behind the link, 0 to 1; the smallest one of a model.
    pub loss: f64,
    /// A model of loss, such as a probability over time, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_model: Option<String>,
    /// Reordered packets, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<String>,
    /// Duplicated packets, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<String>,
    /// Corrupted packets, as given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<String>,
    /// `drop` while every packet is dropped, `hold` while packets are held in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// The settings of both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSettings {
    /// Settings of the direction from outside to inside.
    pub down: DirectionSettings,
    /// Settings of the direction from inside to outside.
    pub up: DirectionSettings,
    /// Preset that the settings began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

/// Sample of the packets that came from one port.
#[derive(Clone, Debug, Default)]
pub struct PortSample {
    /// Counts of each class with packets, with its DSCP.
    pub classes: Vec<(u8, ClassCounts)>,
    /// Sojourn times of packets of all classes.
    pub sojourn: LogHistogram,
    /// Bytes sent and bytes offered (capacity) by the link.
    pub usage: LinkUsage,
}

impl PortSample {
    /// The sum over all classes.
    pub fn total(&self) -> ClassCounts {
        self.classes.iter().fold(ClassCounts::default(), |sum, (_, counts)| sum.plus(counts))
    }
}

/// Losses, delays and costs outside the path, since the start.
#[derive(Clone, Debug, Default)]
pub struct HostSample {
    /// Lateness of releases in ms.
    pub lateness: DelaySummary,
    /// Lateness as counts over fixed buckets; see [`Audit::lateness_buckets`](crate::audit::Audit::lateness_buckets).
    pub lateness_buckets: [DelayBuckets; 2],
    /// Limits of lateness for releases to the inside and the outside.
    pub lateness_limits: [Span; 2],
    /// Number of releases.
    pub released: u64,
    /// Number of releases that were late.
    pub late: u64,
    /// Intervals in which the loop was late.
    pub stalls: Stalls,
    /// Packets lost outside the path, by cause as named in results.
    pub outside: Vec<(&'static str, u64)>,
    /// Packets read that are not IP packets.
    pub malformed: u64,
    /// Frames without an IP packet, which bypassed the path, by the port that they came from.
    pub passed: [u64; 2],
    /// Processor time of this process.
    pub cpu: Span,
    /// Steal time: processor time that the hypervisor gave to other guests.
    pub steal: Option<Span>,
    /// Reasons against trusting the run so far, one sentence each; empty if it is trustworthy.
    pub reasons: Vec<String>,
}

/// State of a link at one time, as sums since the start.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Time of the sample, from the start.
    pub time: Time,
    /// Samples by the port that the packets come from: [`Sample::down`], [`Sample::up`].
    pub ports: [PortSample; 2],
    /// Losses, delays and costs outside the path.
    pub host: HostSample,
    /// The settings of the link.
    pub settings: Arc<LinkSettings>,
    /// Number of replacements of the settings.
    pub reloads: u64,
}

impl From<&Audit> for HostSample {
    fn from(audit: &Audit) -> HostSample {
        HostSample {
            lateness: audit.lateness.summary(),
            lateness_buckets: audit.lateness_buckets,
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
        }
    }
}

impl PortSample {
    /// Copies the counts of the packets that came from `port`; without metrics the tables of classes are empty.
    pub fn new(port: Port, metrics: Option<&Metrics>, usage: LinkUsage) -> PortSample {
        // The data thread only copies; other threads compute percentiles and differences.
        let of = metrics.map(|metrics| metrics.port(port));
        PortSample {
            classes: of
                .map(|of| of.classes().map(|(class, counts)| (class, counts.clone())).collect())
                .unwrap_or_default(),
            sojourn: of.map(|of| of.sojourn().clone()).unwrap_or_default(),
            usage,
        }
    }
}

impl Sample {
    /// Packets that go down, which come from outside.
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
    /// Number of packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl From<Count> for Amount {
    fn from(count: Count) -> Amount {
        Amount { packets: count.packets, bytes: count.bytes }
    }
}

/// Counts of packets, since the start or in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets that arrived at the queue.
    pub offered: Amount,
    /// Packets that left the link.
    pub sent: Amount,
    /// Packets that left the path at its exit.
    pub delivered: Amount,
    /// Packets dropped on the path.
    pub dropped: Amount,
    /// Packets marked.
    pub marked: Amount,
    /// Drops by reason, without reasons that did not occur.
    pub drops_by_reason: BTreeMap<String, Amount>,
    /// Marks by reason, without reasons that did not occur.
    pub marks_by_reason: BTreeMap<String, Amount>,
}

impl Totals {
    /// Counts in `now` less those in `before`.
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
                .filter_map(|(reason, count)| {
                    named(reason.name(), less(count, before.dropped.count_of(reason)))
                })
                .collect(),
            marks_by_reason: (now.marked.iter())
                .filter_map(|(reason, count)| {
                    named(reason.name(), less(count, before.marked.count_of(reason)))
                })
                .collect(),
        }
    }
}

/// Sojourn times in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sojourn {
    /// Median in ms.
    pub p50_ms: f64,
    /// 99th percentile in ms.
    pub p99_ms: f64,
    /// Maximum in ms.
    pub max_ms: f64,
}

impl Sojourn {
    fn from_ranks([p50_ms, p99_ms, max_ms]: [f64; 3]) -> Sojourn {
        Sojourn { p50_ms: round(p50_ms), p99_ms: round(p99_ms), max_ms: round(max_ms) }
    }
}

/// One class of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSnapshot {
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Name of the DSCP, if it has one: `ef`.
    pub name: Option<String>,
    /// Counts since the start.
    pub total: Totals,
    /// Counts in the interval.
    pub interval: Totals,
    /// Backlog of the queue.
    pub backlog: Amount,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionSnapshot {
    /// The settings.
    pub setting: DirectionSettings,
    /// Rate of packets that left the link in the interval, in Mbit/s.
    pub rate_mbps: f64,
    /// Capacity of the link in the interval in Mbit/s, in bytes on the link; `None` for a link without a rate limit.
    pub capacity_mbps: Option<f64>,
    /// Backlog of the queue.
    pub backlog: Amount,
    /// Sojourn times of packets dequeued in the interval; `None` if there were none.
    pub sojourn_interval: Option<Sojourn>,
    /// Sojourn times of packets dequeued since the start; `None` if there were none.
    pub sojourn_total: Option<Sojourn>,
    /// Counts since the start.
    pub total: Totals,
    /// Counts in the interval.
    pub interval: Totals,
    /// Each class with packets, in ascending order of codepoints.
    pub classes: Vec<ClassSnapshot>,
}

/// Lateness of writes to the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median in ms.
    pub p50_ms: f64,
    /// 99th percentile in ms.
    pub p99_ms: f64,
    /// Maximum in ms.
    pub max_ms: f64,
    /// Limit for packets that go down, in ms.
    pub limit_down_ms: f64,
    /// Limit for packets that go up, in ms.
    pub limit_up_ms: f64,
    /// Packets written.
    pub released: u64,
    /// Packets that were late.
    pub late: u64,
}

/// Stalls of the emulator, and packets that may have waited unread meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StallFigures {
    /// Number of stalls: times at which the emulator was later than the lateness limit of a release.
    pub count: u64,
    /// Total length of these intervals in ms.
    pub total_ms: f64,
    /// Maximum time by which the emulator was late, in ms.
    pub longest_gap_ms: f64,
    /// IP packets that were read.
    pub packets_read: u64,
    /// Packets among those read that may have waited unread for longer than the limit.
    pub packets_unseen: u64,
    /// Packets that were written while the emulator stalled, and may have left late by the length of the stall.
    #[serde(default)]
    pub packets_held: u64,
    /// Packets among those read that had an implausible kernel time stamp.
    pub stamps_doubted: u64,
    /// Drops that the devices reported after intervals of 5 ms or more, and had not reported at the previous query.
    pub dropped: u64,
    /// The longest intervals, at most eight, in descending order of length.
    pub longest: Vec<StallInterval>,
}

/// An interval in which the emulator was stalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StallInterval {
    /// Time at which the emulator should have read its clock, in seconds since the start.
    pub begin_s: f64,
    /// Time by which the emulator was late, in ms.
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
            packets_held: stalls.held,
            stamps_doubted: stalls.doubted,
            dropped: stalls.dropped,
            longest: stalls.worst().iter().map(interval).collect(),
        }
    }
}

/// The state of a link. Rates are in Mbit/s, times in seconds or milliseconds according to their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of this format; fields may be added within a version.
    pub schema_version: u32,
    /// Time since the start in seconds.
    pub time_s: f64,
    /// Length of the interval that interval values refer to, in seconds: since the previous snapshot, or the start.
    pub interval_s: f64,
    /// The direction from outside to inside.
    pub down: DirectionSnapshot,
    /// The direction from inside to outside.
    pub up: DirectionSnapshot,
    /// Lateness of all packets.
    pub lateness: Lateness,
    /// Stalls of the emulator; empty in files written before this field was added.
    #[serde(default)]
    pub stalls: StallFigures,
    /// Packets lost outside the path, by cause.
    pub lost_outside: BTreeMap<String, u64>,
    /// Packets read that are not IP packets.
    pub malformed: u64,
    /// Frames without an IP packet, which bypassed the path, towards the inside.
    pub passed_down: u64,
    /// Frames without an IP packet, which bypassed the path, from the inside.
    pub passed_up: u64,
    /// Processor time of the process in the interval, in seconds per second.
    pub cpu_share: f64,
    /// Processor time of the process in seconds.
    pub cpu_s: f64,
    /// Steal time in seconds: processor time that the hypervisor gave to other guests; `None` where the kernel does not report it.
    pub steal_s: Option<f64>,
    /// True if the run can be trusted so far.
    pub trustworthy: bool,
    /// Reasons against trusting the run, one sentence each.
    pub reasons: Vec<String>,
    /// Number of replacements of the settings.
    pub reloads: u64,
}

/// Value of [`Snapshot::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

impl Snapshot {
    /// Computes the snapshot at `now`, where `before` is the previous sample; without one the interval is the whole run.
    pub fn between(before: Option<&Sample>, now: &Sample) -> Snapshot {
        let interval = now.time.since(before.map_or(Time::ZERO, |before| before.time));
        let seconds = interval.as_secs_f64();
        let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let direction = |port: Port, setting: &DirectionSettings| {
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
                // Limits are indexed by the port that packets go to.
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

/// Threshold above which the capacity of a link in bytes is unlimited: a link without a rate limit reports the maximum of the type.
const UNBOUNDED: u64 = u64::MAX / 16;

fn direction(
    setting: DirectionSettings,
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
        // The first interval after the replacement of a link without a rate limit has no capacity either.
        capacity_mbps: (offered < UNBOUNDED && earlier < UNBOUNDED)
            .then(|| mbps(offered.saturating_sub(earlier))),
        backlog: total.backlog().into(),
        sojourn_interval: now
            .sojourn
            .since(before.map(|before| &before.sojourn), ranks)
            .map(Sojourn::from_ranks),
        sojourn_total: now.sojourn.since(None, ranks).map(exact_max).map(Sojourn::from_ranks),
        total: Totals::between(&nothing, &total),
        interval,
        classes: now.classes.iter().map(class).collect(),
    }
}

/// Rounds to three decimals, a useful precision: microseconds, or bytes in some milliseconds.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
