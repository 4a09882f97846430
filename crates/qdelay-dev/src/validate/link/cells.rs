//! Cells: trace, transport, discipline and case of each.

use super::super::mahimahi;
use super::super::reference::{MAHIMAHI, Table};
use super::super::{parse_qdisc, parse_transport};
use super::figures::LinkFigures;
use crate::validate::attempts::is_meant;
use qdelay_core::{Rate, Span};
use qdelay_path::Line;
use qdelay_sim::{Bottleneck, FlowSpec, Impairments, Scenario, Uplink};
use qdelay_study::scenario::Case;
use qdelay_study::traces::{FoundTrace, Library};
use qdelay_terminal::error::Failure;
use std::collections::BTreeMap;

/// References for real runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The simulator, on six traces.
    Simulator,
    /// The simulator, on six traces, with QUIC.
    Quic,
    /// mahimahi's results, and the simulator.
    Mahimahi,
}

/// Duration of mahimahi's runs.
pub const MAHIMAHI_SECONDS: u64 = 60;
/// Uplink of QUIC cells, a line. On mahimahi's uplink, a trace, several acknowledgements arrive at exactly the same time in the simulator
/// and
/// microseconds apart over sockets (docs/validation.md).
const UPLINK_OF_QUIC: Rate = Rate::from_bps(48_000_000);
/// Packet limit of the uplink's queue.
const UPLINK_LIMIT: u64 = 1000;
/// Smallest counted packet in bytes; smaller ones open connections.
const LEAST_BYTES: u32 = 200;
const BASE_RTT: Span = Span::from_millis(10);

/// Traces of different kinds: LTE with long outages (and in mahimahi's table), LTE at a standstill, LTE in bursts, 4G beside other
/// traffic, LTE on a busy square (in mahimahi's table too), 3G in the subway.
const TRACES: [&str; 6] = [
    "mahimahi/ATT-LTE-driving.down",
    "mahimahi/Verizon-LTE-short.down",
    "mahimahi/TMobile-LTE-driving.down",
    "nyc-2018/downlink-4g-with-cross-times",
    "nyc-2019/trace-3205967-timessquare",
    "nyc-2018/downlink-3g-no-cross-subway.pps",
];
const TRANSPORTS: [&str; 2] = ["cubic", "bbr"];
const OF_QUIC: [&str; 3] = ["quic:cubic", "quic:newreno", "quic:bbr"];
/// Disciplines of QUIC cells: one with a standing queue, and one without.
const WITH_QUIC: [&str; 2] = ["taildrop", "codel"];
/// Disciplines with BoDe's target, and with CoDel's and PIE's of the BoDe paper.
const QDISCS: [(&str, &str); 4] = [
    ("taildrop", "taildrop:limit=1000"),
    ("bode", "bode:target=20ms:limit=1000"),
    ("codel", "codel:target=10ms:interval=50ms:limit=1000"),
    ("pie", "pie:target=20ms:limit=1000"),
];

/// Cell with its case, or the reason why it cannot be run.
#[derive(Clone, Debug)]
pub struct LinkCell {
    /// `TRACE, TRANSPORT, QDISC`.
    pub name: String,
    /// Case of the cell.
    pub run: Result<Run, String>,
    /// mahimahi's results.
    pub reference: Option<LinkFigures>,
}

/// Run of a cell.
#[derive(Clone, Debug)]
pub struct Run {
    /// Case of the run; its flow starts at once.
    pub case: Case,
    /// Settings that must equal those of an earlier run for that run to count.
    pub settings: String,
    /// Duration in seconds over which the TUN headers are counted, if throughput includes them, as in mahimahi.
    pub header_seconds: Option<u64>,
}

/// Cells whose names contain all comma-separated words of an entry of `only`; all cells if `only` is empty.
///
/// # Errors
/// No cell contains these words.
pub fn cells(
    against: Against,
    library: &Library,
    seconds: u64,
    base_rtt: Option<Span>,
    only: &[String],
) -> Result<Vec<LinkCell>, Failure> {
    let common = Common { library, seconds, base_rtt: base_rtt.unwrap_or(BASE_RTT), against };
    let mut cells = match against {
        Against::Simulator => common.six_traces(&TRANSPORTS, &|_| true)?,
        Against::Quic => common.six_traces(&OF_QUIC, &|qdisc| WITH_QUIC.contains(&qdisc))?,
        Against::Mahimahi => common.of_mahimahi()?,
    };
    cells.retain(|cell| is_meant(only, &cell.name));
    if cells.is_empty() {
        let message = "no cell has these words in its name; expected such as --only ATT-LTE,bbr,bode";
        return Err(Failure::input("--only", message));
    }
    Ok(cells)
}

struct Common<'a> {
    library: &'a Library,
    seconds: u64,
    base_rtt: Span,
    against: Against,
}

impl Common<'_> {
    fn six_traces(&self, transports: &[&str], has: &dyn Fn(&str) -> bool) -> Result<Vec<LinkCell>, Failure> {
        let mut cells = Vec::new();
        for trace in TRACES {
            for transport in transports {
                for (name, qdisc) in QDISCS.into_iter().filter(|(name, _)| has(name)) {
                    cells.push(self.cell(trace, transport, name, qdisc, None)?);
                }
            }
        }
        Ok(cells)
    }

    fn of_mahimahi(&self) -> Result<Vec<LinkCell>, Failure> {
        let table = Table::parse(MAHIMAHI);
        let cell = |row: usize| {
            let text = |column| table.text(row, column);
            let figures = LinkFigures {
                throughput_mbps: table.number(row, "throughput_mbps"),
                delay_mean_ms: table.number(row, "delay_mean_ms"),
                delay_p99_ms: table.number(row, "delay_p99_ms"),
            };
            let qdisc = text("qdisc");
            let transport = mahimahi::transport(text("transport"));
            self.cell(text("trace"), transport, qdisc, mahimahi::discipline(qdisc), Some(figures))
        };
        (0..table.len()).map(cell).collect()
    }

    fn cell(
        &self,
        trace: &str,
        transport: &str,
        qdisc_name: &str,
        qdisc: &str,
        reference: Option<LinkFigures>,
    ) -> Result<LinkCell, Failure> {
        let short = trace.rsplit('/').next().unwrap_or(trace);
        let name = format!("{short}, {transport}, {qdisc_name}");
        let run = match self.library.trace(trace, None, true, None) {
            Ok(found) => Ok(self.run(&name, &found, transport, qdisc)?),
            Err(message) => Err(message),
        };
        Ok(LinkCell { name, run, reference })
    }

    /// Case of a cell. The flow starts at once and alone, because the phase of the trace decides which outages it meets.
    fn run(&self, name: &str, found: &FoundTrace, transport: &str, qdisc: &str) -> Result<Run, Failure> {
        let scenario = Scenario {
            bottleneck: Bottleneck::link(parse_qdisc(qdisc)?, found.link.clone()),
            uplink: Some(match self.against {
                Against::Quic => Uplink::tail_drop(Line::new(UPLINK_OF_QUIC, 0), UPLINK_LIMIT),
                Against::Simulator | Against::Mahimahi => {
                    Uplink::tail_drop(mahimahi::uplink()?, UPLINK_LIMIT)
                }
            }),
            hops: Vec::new(),
            base_rtt: self.base_rtt,
            rtt_curve: None,
            jitter: qdelay_sim::Jitter::NONE,
            uplink_jitter: qdelay_sim::Jitter::NONE,
            impairments: Impairments::default(),
            flows: vec![FlowSpec::new(transport, parse_transport(transport)?)],
            probe: None,
            duration: Span::from_secs(self.seconds),
            warmup: Span::ZERO,
            seed: 1,
            min_packet_bytes: LEAST_BYTES,
            groups: Vec::new(),
            series: None,
            connections: false,
        };
        let settings = format!(
            "{} {} {qdisc} {transport} {} s, {}, uplink {} of 1000",
            found.name,
            found.used.digest,
            self.seconds,
            self.base_rtt,
            if self.against == Against::Quic { "line:48mbit" } else { "48mbit" }
        );
        let case = Case {
            index: 0,
            id: name.to_string(),
            labels: Vec::new(),
            settings: serde_json::Value::Null,
            traces: BTreeMap::from([(found.name.clone(), found.used.clone())]),
            scenario,
            packets: false,
        };
        let header_seconds = (self.against == Against::Mahimahi).then_some(self.seconds);
        Ok(Run { case, settings, header_seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_are_combinations() {
        let library = Library::new();
        let count = |against, only: &[&str]| {
            let only: Vec<String> = only.iter().map(|text| (*text).to_string()).collect();
            cells(against, &library, 20, None, &only).map_or(0, |cells| cells.len())
        };
        assert_eq!((count(Against::Simulator, &[]), count(Against::Mahimahi, &[])), (48, 20));
        assert_eq!((count(Against::Quic, &[]), count(Against::Quic, &["newreno"])), (36, 12));
        assert_eq!(count(Against::Simulator, &["att-lte,bode"]), 2);
        assert_eq!(count(Against::Simulator, &["att-lte,bode", "bbr,pie"]), 8);
        assert_eq!(count(Against::Mahimahi, &["headdrop"]), 4);
        assert_eq!(count(Against::Mahimahi, &["sfq"]), 0);
    }
}
