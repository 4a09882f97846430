//! A scenario: a bottleneck, its flows, and the duration.

use qdelay_core::{Rate, Span};
use qdelay_path::Curve;
use qdelay_path::stack::FlowWay;
pub use qdelay_path::stack::{Bottleneck, HopSpec, LinkSpec, Uplink};
pub use qdelay_path::{Impairments, Jitter};
use qdelay_traffic::transport::TransportConfig;

/// One run. Data crosses the bottleneck, and acknowledgements come back over the uplink; of uploads it is the other way round.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The hops of the data direction before the bottleneck, in this order.
    pub hops: Vec<HopSpec>,
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    /// The uplink of the acknowledgements; behind a cell each UE has such an uplink of its own.
    pub uplink: Option<Uplink>,
    /// Round trip without any queue or transmission: half of it behind the bottleneck, half behind the uplink. The delays
    /// of hops come on top.
    pub base_rtt: Span,
    /// A round trip over time, in place of `base_rtt`, which is then its smallest value.
    pub rtt_curve: Option<Curve>,
    /// A random part of the delay behind the bottleneck.
    pub jitter: Jitter,
    /// A random part of the delay behind the uplink.
    pub uplink_jitter: Jitter,
    /// Loss, corruption, reordering and duplication behind the bottleneck and behind the uplink.
    pub impairments: Impairments,
    /// The flows, each with a number of its own: its place here.
    pub flows: Vec<FlowSpec>,
    /// Names of the groups of flows for measurements; empty without groups.
    pub groups: Vec<String>,
    /// A probe through the bottleneck's queue.
    pub probe: Option<ProbeSpec>,
    /// Length of the run.
    pub duration: Span,
    /// Rates and delays are taken from here on; counts of packets are of the whole run.
    pub warmup: Span,
    /// Seed of every random stream.
    pub seed: u64,
    /// Smallest IP packet whose delay counts, in bytes.
    pub min_packet_bytes: u32,
    /// Width of the bins of the time series; `None` for no series.
    pub series: Option<Span>,
    /// Whether the series have the window, the round trip and more of each connection; of at most 256 flows.
    pub connections: bool,
}

impl Scenario {
    /// A bottleneck and nothing else: no flows yet, no hops, nothing that acknowledgements queue for, no jitter, no warm-up, seed
    /// 1.
    pub fn new(bottleneck: Bottleneck, base_rtt: Span, duration: Span) -> Scenario {
        Scenario {
            hops: Vec::new(),
            bottleneck,
            uplink: None,
            base_rtt,
            rtt_curve: None,
            jitter: Jitter::NONE,
            uplink_jitter: Jitter::NONE,
            impairments: Impairments::default(),
            flows: Vec::new(),
            groups: Vec::new(),
            probe: None,
            duration,
            warmup: Span::ZERO,
            seed: 1,
            min_packet_bytes: 0,
            series: None,
            connections: false,
        }
    }

    /// Whether results have figures of the uplink.
    pub fn measures_uplink(&self) -> bool {
        let is_cell = self.bottleneck.as_cell().is_some_and(|cell| cell.uplink.is_some());
        let has_qdisc = is_cell || self.uplink.as_ref().is_some_and(|uplink| uplink.qdisc.is_some());
        has_qdisc || self.flows.iter().any(|flow| flow.is_upload)
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name in results.
    pub name: String,
    /// Group: an index into [`Scenario::groups`]; unused without groups.
    pub group: usize,
    /// The transport as the user typed it.
    pub typed: String,
    /// Transport.
    pub transport: TransportConfig,
    /// When it starts.
    pub start: Span,
    /// When it stops sending; `None` for at the end of the run.
    pub stop: Option<Span>,
    /// Differentiated services codepoint of its packets, in both directions; where `other` is given, of those of its data
    /// that do not carry that one, and of all that comes back.
    pub dscp: u8,
    /// A second codepoint, for some of its data packets.
    pub other: Option<SecondCodepoint>,
    /// Rate of its own access link in front of the bottleneck, and behind it for acknowledgements; `None` for no limit.
    pub access: Option<Rate>,
    /// At most this much more delay behind the access link in the data direction, drawn uniformly for each packet; packets
    /// keep their order. Without an access link it is not looked at.
    pub access_jitter: Span,
    /// One-way delay beyond which the receiver discards data packets; `None` to keep all.
    pub discard_delay: Option<Span>,
    /// The PDU sets of its packets; `None` for a flow without sets, or whose sets neither count nor matter to the network.
    pub sets: Option<Box<FlowSets>>,
    /// Added to the base round trip, for this flow alone, behind the uplink.
    pub extra_rtt: Span,
    /// A delay over time, in addition to `extra_rtt`.
    pub extra_curve: Option<Box<Curve>>,
    /// Whether it is an upload: its data crosses the uplink, which there has to be, and its acknowledgements the bottleneck.
    pub is_upload: bool,
    /// The UE that it goes to: a place in [`CellScenario::ues`](crate::CellScenario::ues). Without a cell it is not looked at.
    pub ue: usize,
    /// The QoS flow of that UE that carries it: its QFI. Without a cell it is not looked at.
    pub qfi: u8,
}

impl FlowSpec {
    /// Whether its round trip is longer than that of the path, always or at times.
    pub fn has_extra_rtt(&self) -> bool {
        self.extra_rtt > Span::ZERO || self.extra_curve.is_some()
    }
    /// A flow that starts at once, is a download that does not stop, and has the default codepoint alone, no access link and no extra round trip;
    /// `typed` is its name too. In a cell it goes to the first UE, in QoS flow 1.
    pub fn new(typed: &str, transport: TransportConfig) -> FlowSpec {
        FlowSpec {
            name: typed.to_string(),
            group: 0,
            typed: typed.to_string(),
            transport,
            start: Span::ZERO,
            stop: None,
            dscp: 0,
            other: None,
            access: None,
            access_jitter: Span::ZERO,
            discard_delay: None,
            sets: None,
            extra_rtt: Span::ZERO,
            extra_curve: None,
            is_upload: false,
            ue: 0,
            qfi: 1,
        }
    }
    /// Path of the flow.
    pub fn way(&self) -> FlowWay {
        let FlowSpec { access, access_jitter, extra_rtt, is_upload, ue, qfi, .. } = *self;
        let extra_curve = self.extra_curve.clone();
        FlowWay { access, access_jitter, extra_rtt, extra_curve, ue, qfi, is_upload }
    }
}

/// The PDU sets of a flow, whose transport makes frames: the quality of service of its QoS flow (TS 23.501 clause 5.7.7), and what is
/// measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSets {
    /// PDU set delay budget; `None` without one.
    pub psdb: Option<Span>,
    /// Bound on the PDU set error rate; `None` without one.
    pub pser: Option<f64>,
    /// PDU set integrated handling: without one of its packets a set is of no use.
    pub psihi: bool,
    /// Delays for which results have the share of sets complete within them.
    pub within: Vec<Span>,
}

/// The second codepoint of a flow. A source that chooses the codepoint of each packet itself has it as its other choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondCodepoint {
    /// The codepoint, 0 to 63.
    pub dscp: u8,
    /// The probability, 0 to 1, with which a data packet carries it; drawn for each packet from the flow's stream `colour`.
    pub share: f64,
}

/// A probe: small packets at random times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSpec {
    /// IP packet size in bytes.
    pub bytes: u32,
    /// Shortest gap.
    pub gap_min: Span,
    /// Longest gap.
    pub gap_max: Span,
}

impl Default for ProbeSpec {
    /// 64 bytes, 100 times a second on average, gaps uniform between 5 and 15 ms.
    fn default() -> Self {
        ProbeSpec { bytes: 64, gap_min: Span::from_millis(5), gap_max: Span::from_millis(15) }
    }
}
