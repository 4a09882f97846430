//! Samples in the format of Prometheus (OpenMetrics 1.0, text format).
//!
//! All metrics are computed from a [`Sample`], which the data thread copies on request: no counter is shared with it. Names and
//! units follow Prometheus' conventions: base units, `_total` for counters. A class of packets is a DSCP.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use qdelay_core::{DropReason, MarkReason, Time, dscp};
use qdelay_emu::device::Port;
use qdelay_emu::metrics::{ClassCounts, DelayBuckets, LATENESS_BOUNDS_NANOS, SOJOURN_BOUNDS_NANOS};
use qdelay_emu::snapshot::{PortSample, Sample};
use qdelay_emu::stall::Stalls;
use qdelay_path::{ByReason, Count, drop_reasons, mark_reasons};
use std::collections::BTreeSet;
use std::fmt;

/// Content type of the text that [`text`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Threshold above which the capacity of a link in bytes is unlimited: a link without a rate limit reports the maximum of the type.
const UNBOUNDED: u64 = u64::MAX / 16;

/// All metrics of `sample` as text.
///
/// # Errors
/// No error is expected, because writing only needs memory.
pub fn text(sample: Box<Sample>) -> Result<String, String> {
    let mut registry = Registry::with_prefix("qdelay");
    registry.register_collector(Box::new(Scrape(sample)));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|_| "the metrics cannot be written".to_string())?;
    Ok(text)
}

#[derive(Debug)]
struct Scrape(Box<Sample>);

type Labels<const N: usize> = [(&'static str, String); N];

impl Scrape {
    fn directions(&self) -> [(&'static str, &PortSample); 2] {
        [("down", self.0.down()), ("up", self.0.up())]
    }

    /// Counts of each class of each direction, with its labels.
    fn classes(&self) -> impl Iterator<Item = ([String; 2], &ClassCounts)> {
        self.directions().into_iter().flat_map(|(direction, port)| {
            let labels = move |class: u8| {
                [direction.to_string(), dscp::name(class).map_or_else(|| class.to_string(), str::to_string)]
            };
            port.classes.iter().map(move |(class, counts)| (labels(*class), counts))
        })
    }

    /// Encodes a pair of counters, of packets and of their bytes, by direction, class and one more label.
    fn counts(
        &self,
        out: &mut DescriptorEncoder<'_>,
        [packets, bytes]: [(&str, &str); 2],
        label: &'static str,
        of: impl Fn(&ClassCounts) -> Vec<(&'static str, Count)>,
    ) -> fmt::Result {
        for ((name, help), is_bytes) in [(packets, false), (bytes, true)] {
            let mut family = out.encode_descriptor(name, help, None, MetricType::Counter)?;
            for ([direction, class], counts) in self.classes() {
                for (value, count) in of(counts) {
                    let labels: Labels<3> = [
                        ("direction", direction.clone()),
                        ("class", class.clone()),
                        (label, value.to_string()),
                    ];
                    let count = if is_bytes { count.bytes } else { count.packets };
                    counter(&mut family, &labels, count)?;
                }
            }
        }
        Ok(())
    }

    fn packets(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let names = [
            ("packets", "Packets that arrived at the queue, left the link, left the path"),
            ("bytes", "IP bytes that arrived at the queue, left the link, left the path"),
        ];
        self.counts(out, names, "stage", |counts| {
            vec![("offered", counts.offered), ("sent", counts.sent), ("delivered", counts.delivered)]
        })?;
        let names = [
            ("dropped_packets", "Packets dropped on the path"),
            ("dropped_bytes", "IP bytes of packets dropped on the path"),
        ];
        self.counts(out, names, "reason", |counts| {
            by_reason(drop_reasons(), &counts.dropped, DropReason::name)
        })?;
        let names = [
            ("marked_packets", "Packets marked with congestion experienced"),
            ("marked_bytes", "IP bytes of packets marked with congestion experienced"),
        ];
        self.counts(out, names, "reason", |counts| {
            by_reason(mark_reasons(), &counts.marked, MarkReason::name)
        })
    }

    fn queue(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, is_bytes) in [
            ("backlog_packets", "Packets in the queue", false),
            ("backlog_bytes", "IP bytes in the queue", true),
        ] {
            let mut family = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (values, counts) in self.classes() {
                let backlog = counts.backlog();
                let value = if is_bytes { backlog.bytes } else { backlog.packets };
                ConstGauge::new(value).encode(family.encode_family(&class_labels(values))?)?;
            }
        }
        let help = "Time from a packet's arrival at the queue to its dequeue";
        let mut family =
            out.encode_descriptor("sojourn", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (values, counts) in self.classes() {
            histogram(
                &mut family.encode_family(&class_labels(values))?,
                &SOJOURN_BOUNDS_NANOS,
                &counts.sojourn,
            )?;
        }
        Ok(())
    }

    fn links(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Bytes that the link has sent, as it counts them";
        let mut family = out.encode_descriptor("link_sent_bytes", help, None, MetricType::Counter)?;
        for (direction, port) in self.directions() {
            counter(&mut family, &direction_label(direction), port.usage.sent_bytes)?;
        }
        let help = "Bytes that the link could have sent; omitted for a link without a rate limit";
        let mut family = out.encode_descriptor("link_capacity_bytes", help, None, MetricType::Counter)?;
        for (direction, port) in self.directions() {
            if port.usage.offered_bytes < UNBOUNDED {
                counter(&mut family, &direction_label(direction), port.usage.offered_bytes)?;
            }
        }
        Ok(())
    }

    fn host(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let host = &self.0.host;
        let help = "Packets lost outside the path; after any loss the gateway is not trustworthy";
        let mut family = out.encode_descriptor("outside_losses", help, None, MetricType::Counter)?;
        for (cause, count) in &host.outside {
            counter(&mut family, &[("cause", (*cause).to_string())], *count)?;
        }
        let help = "Frames without IP packets, forwarded past the path";
        let mut family = out.encode_descriptor("passed_frames", help, None, MetricType::Counter)?;
        for (direction, port) in [("down", Port::Outside), ("up", Port::Inside)] {
            counter(&mut family, &direction_label(direction), host.passed[port.index()])?;
        }
        single(out, "malformed_packets", "Packets read that are not whole IP packets", host.malformed)?;
        single(out, "released_packets", "Packets written to an interface", host.released)?;
        single(out, "late_packets", "Packets written later than the limit of their direction", host.late)?;
        let Stalls { count, total, longest_gap, read, unseen, .. } = host.stalls;
        single(
            out,
            "stalls",
            "Stalls: times at which the gateway was later than the lateness limit of a release",
            count,
        )?;
        single(out, "read_packets", "IP packets read from an interface", read)?;
        single(
            out,
            "unseen_packets",
            "Packets that may have waited unread for longer than the limit",
            unseen,
        )?;
        let help = "The longest time by which the gateway was late, since the start";
        let family = out.encode_descriptor("longest_gap", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        ConstGauge::new(longest_gap.as_secs_f64()).encode(family)?;
        let help = "Lateness of packets: time of writing less time of release by the path, since the start";
        let mut family = out.encode_descriptor("lateness", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        for (quantile, ms) in
            [("0.5", host.lateness.p50), ("0.99", host.lateness.p99), ("1", host.lateness.max)]
        {
            let labels = [("quantile", quantile)];
            ConstGauge::new(ms / 1e3).encode(family.encode_family(&labels)?)?;
        }
        let help = "Lateness of packets, by direction: time of writing less time of release by the path";
        let unit = Some(&Unit::Seconds);
        let mut family = out.encode_descriptor("release_lateness", help, unit, MetricType::Histogram)?;
        // Packets that go down are written to the inside.
        for (direction, port) in [("down", Port::Inside), ("up", Port::Outside)] {
            let buckets = &host.lateness_buckets[port.index()];
            let labels = direction_label(direction);
            let mut metric = family.encode_family(&labels)?;
            histogram(&mut metric, &LATENESS_BOUNDS_NANOS, buckets)?;
        }
        let seconds = |out: &mut DescriptorEncoder<'_>, name, help, value: f64| {
            let family = out.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Counter)?;
            ConstCounter::new(value).encode(family)
        };
        seconds(out, "stalled", "Total length of all stalls", total.as_secs_f64())?;
        seconds(out, "cpu", "Processor time of this process", host.cpu.as_secs_f64())?;
        if let Some(steal) = host.steal {
            let help = "Steal time: processor time that the hypervisor gave to other guests";
            seconds(out, "steal", help, steal.as_secs_f64())?;
        }
        let help = "1 if results of the gateway can be trusted so far";
        let family = out.encode_descriptor("trustworthy", help, None, MetricType::Gauge)?;
        ConstGauge::new(u64::from(host.reasons.is_empty())).encode(family)
    }

    fn process(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        single(out, "reloads", "Number of replacements of the settings", self.0.reloads)?;
        let help = "Time since the start";
        let family = out.encode_descriptor("uptime", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        ConstGauge::new(self.0.time.since(Time::ZERO).as_secs_f64()).encode(family)?;
        let help = "Version of the running program";
        let mut family = out.encode_descriptor("build", help, None, MetricType::Info)?;
        family.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
    }
}

impl Collector for Scrape {
    fn encode(&self, mut out: DescriptorEncoder<'_>) -> fmt::Result {
        self.packets(&mut out)?;
        self.queue(&mut out)?;
        self.links(&mut out)?;
        self.host(&mut out)?;
        self.process(&mut out)
    }
}

fn class_labels([direction, class]: [String; 2]) -> Labels<2> {
    [("direction", direction), ("class", class)]
}

fn direction_label(direction: &str) -> Labels<1> {
    [("direction", direction.to_string())]
}

fn counter(family: &mut MetricEncoder<'_>, labels: &impl EncodeLabelSet, value: u64) -> fmt::Result {
    ConstCounter::new(value).encode(family.encode_family(labels)?)
}

/// Counts of all declared reasons, including zero counts, and of undeclared reasons that occurred.
fn by_reason<R: Copy + Ord>(
    declared: impl Iterator<Item = R>,
    counts: &ByReason<R>,
    name: fn(R) -> &'static str,
) -> Vec<(&'static str, Count)> {
    let reasons: BTreeSet<R> = declared.chain(counts.iter().map(|(reason, _)| reason)).collect();
    reasons.into_iter().map(|reason| (name(reason), counts.count_of(reason))).collect()
}

fn single(out: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    ConstCounter::new(value).encode(out.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn histogram(metric: &mut MetricEncoder<'_>, bounds: &[u64; 16], buckets: &DelayBuckets) -> fmt::Result {
    let bounds = bounds.iter().map(|nanos| *nanos as f64 / 1e9).chain([f64::INFINITY]);
    let counts: Vec<(f64, u64)> = bounds.zip(buckets.counts).collect();
    let total = buckets.counts.iter().sum();
    metric.encode_histogram::<NoLabelSet>(buckets.sum_nanos as f64 / 1e9, total, &counts, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Span;
    use qdelay_emu::snapshot::HostSample;

    fn sample() -> Box<Sample> {
        let count = |packets| Count { packets, bytes: packets * 100 };
        let mut sojourn = DelayBuckets::default();
        (sojourn.counts[0], sojourn.counts[4], sojourn.counts[16]) = (2, 1, 1);
        sojourn.sum_nanos = 11_500_000_000;
        let mut counts = ClassCounts::default();
        (counts.offered, counts.dequeued, counts.sent) = (count(7), count(4), count(4));
        (counts.delivered, counts.dropped_at_queue, counts.sojourn) = (count(3), count(1), sojourn);
        let down = PortSample {
            classes: vec![(0, counts.clone()), (46, counts.clone()), (63, counts)],
            ..PortSample::default()
        };
        let mut up = PortSample::default();
        up.usage.offered_bytes = u64::MAX;
        let outside = vec![("send_full", 3)];
        let mut stalls = Stalls::begin(Time::ZERO);
        stalls.read(Port::Inside, false);
        stalls.clock_read(Time::from_nanos(800_000_000), [Span::from_millis(1); 2]);
        stalls.read(Port::Inside, false);
        let mut lateness = DelayBuckets::default();
        (lateness.counts[3], lateness.counts[6], lateness.sum_nanos) = (5, 1, 1_250_000);
        let host = HostSample {
            lateness_buckets: [lateness, DelayBuckets::default()],
            outside,
            stalls,
            passed: [4, 5],
            cpu: Span::from_millis(250),
            steal: None,
            ..HostSample::default()
        };
        Box::new(Sample {
            time: Time::from_nanos(1_500_000_000),
            ports: [up, down],
            host,
            reloads: 2,
            ..Sample::default()
        })
    }

    #[test]
    fn a_sample_has_the_expected_lines() {
        let text = text(sample()).unwrap();
        for line in [
            "# TYPE qdelay_packets counter",
            "qdelay_packets_total{direction=\"down\",class=\"be\",stage=\"offered\"} 7",
            "qdelay_bytes_total{direction=\"down\",class=\"ef\",stage=\"delivered\"} 300",
            "qdelay_packets_total{direction=\"down\",class=\"63\",stage=\"sent\"} 4",
            "# TYPE qdelay_backlog_packets gauge",
            "qdelay_backlog_packets{direction=\"down\",class=\"be\"} 2",
            "qdelay_backlog_bytes{direction=\"down\",class=\"be\"} 200",
            "# TYPE qdelay_sojourn_seconds histogram",
            "# UNIT qdelay_sojourn_seconds seconds",
            "qdelay_sojourn_seconds_sum{direction=\"down\",class=\"be\"} 11.5",
            "qdelay_sojourn_seconds_count{direction=\"down\",class=\"be\"} 4",
            "qdelay_sojourn_seconds_bucket{le=\"0.0005\",direction=\"down\",class=\"be\"} 2",
            "qdelay_sojourn_seconds_bucket{le=\"0.01\",direction=\"down\",class=\"be\"} 3",
            "qdelay_sojourn_seconds_bucket{le=\"10.0\",direction=\"down\",class=\"be\"} 3",
            "qdelay_sojourn_seconds_bucket{le=\"+Inf\",direction=\"down\",class=\"be\"} 4",
            "qdelay_outside_losses_total{cause=\"send_full\"} 3",
            "qdelay_passed_frames_total{direction=\"down\"} 5",
            "qdelay_passed_frames_total{direction=\"up\"} 4",
            "# TYPE qdelay_release_lateness_seconds histogram",
            "qdelay_release_lateness_seconds_bucket{le=\"0.00005\",direction=\"down\"} 0",
            "qdelay_release_lateness_seconds_bucket{le=\"0.0001\",direction=\"down\"} 5",
            "qdelay_release_lateness_seconds_bucket{le=\"1.0\",direction=\"down\"} 6",
            "qdelay_release_lateness_seconds_sum{direction=\"down\"} 0.00125",
            "qdelay_release_lateness_seconds_count{direction=\"up\"} 0",
            "qdelay_cpu_seconds_total 0.25",
            "qdelay_stalls_total 1",
            "qdelay_stalled_seconds_total 0.8",
            "qdelay_longest_gap_seconds 0.8",
            "qdelay_read_packets_total 2",
            "qdelay_unseen_packets_total 1",
            "qdelay_uptime_seconds 1.5",
            "qdelay_trustworthy 1",
            "qdelay_reloads_total 2",
            "qdelay_link_capacity_bytes_total{direction=\"down\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        // Reasons that did not occur are present with zero: a rate is then defined from the start.
        for reason in [
            "air",
            "codel",
            "green_loss",
            "handover",
            "head_limit",
            "longest_flow",
            "loss",
            "pie",
            "reassembly",
            "red",
            "red_forced",
            "rlc_max_retransmissions",
            "rlc_reestablished",
            "sojourn_bound",
            "tail_limit",
            "unroutable",
            "would_be_late",
        ] {
            let line =
                format!("dropped_packets_total{{direction=\"down\",class=\"be\",reason=\"{reason}\"}} 0");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        for reason in ["ce_threshold", "codel", "green_loss", "pie", "red"] {
            let line = format!("marked_bytes_total{{direction=\"down\",class=\"63\",reason=\"{reason}\"}} 0");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("qdelay_link_capacity_bytes_total{direction=\"up\"}"));
        assert!(text.contains(&format!("qdelay_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"))));
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.contains("steal"));
    }

    #[test]
    fn a_sample_without_packets_is_complete() {
        let text = text(Box::default()).unwrap();
        assert!(text.contains("\nqdelay_trustworthy 1\n") && text.ends_with("# EOF\n"));
    }

    /// Every metric that the dashboard and the alerts use is exported, and both are not empty.
    #[test]
    fn dashboard_and_alerts_use_names_that_are_exported() {
        let mut sample = sample();
        sample.host.steal = Some(Span::ZERO);
        let text = text(sample).unwrap();
        let names: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split(['{', ' ']).next())
            .filter(|name| *name != "#")
            .collect();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
        for (file, least) in [("grafana/qdelay-gateway.json", 15), ("prometheus/qdelay-gateway.rules.yml", 6)]
        {
            let file = std::fs::read_to_string(folder.join(file)).unwrap();
            let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            let used: BTreeSet<&str> =
                file.split(|letter| !is_part(letter)).filter(|word| word.starts_with("qdelay_")).collect();
            assert!(used.len() >= least, "{used:?}");
            for name in used {
                assert!(names.contains(name), "{name} is not exported");
            }
        }
        let dashboard = std::fs::read_to_string(folder.join("grafana/qdelay-gateway.json")).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            let targets = panel["targets"].as_array().map_or(0, Vec::len);
            assert!(targets > 0 || panel["type"] == "row", "{panel}");
        }
    }
}
