//! Outcome of a run from the emulator's events, computed by the simulator's own measuring.
//!
//! Events have the path's own times, so the measurements end with the run even if the host is late. State of the kernel's TCP
//! comes from iperf3: windows and smoothed round-trip times. Timeouts and undone reductions are unknown, and reported as 0.

use super::external;
use super::ports::{self, FlowDirection};
use super::programs::ProgramReports;
use super::stream::Stream;
use super::windows::{self, KernelSample};
use qdelay_core::{Packet, Span, Time};
use qdelay_emu::emulator::{Event, EventKind, Tap};
use qdelay_path::stack::Topology;
use qdelay_path::{NodeId, Path};
use qdelay_record::DelayHistogram;
use qdelay_sim::results::FlowSeries;
use qdelay_sim::{FlowOutcome, FlowSpec, Measurement, Outcome, Scenario, results};
use qdelay_traffic::transport::TransportConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Flow number of packets that belong neither to a flow nor to the probe.
pub const NO_FLOW: u32 = u32::MAX - 1;
/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;
/// Maximum number of datagrams of a ping whose replies are awaited.
const AWAITED: usize = 4096;
/// Size of the cookie that iperf3 sends to open its data connection, in bytes.
const COOKIE_BYTES: u32 = 37;

/// Tap that measures the emulator's events, and the path at the times that the measuring requests.
pub struct MeasuringTap<'a> {
    scenario: &'a Scenario,
    measuring: Measurement<'a>,
    /// True for each node on the way up, by node.
    is_back: Vec<bool>,
    /// The queues of the uplinks.
    uplinks: Vec<NodeId>,
    /// The queue of the first hop, if there are hops.
    first_hop: Option<NodeId>,
    flows: Vec<Flow>,
    /// Number of the flow that is a program of the user, and the size of its packets' headers in bytes. Packets of no other flow belong
    /// to this flow.
    external: Option<(u32, u32)>,
    /// Assignment of packets to flows.
    flow_key: FlowKey,
    /// Flow of the current event, for the recorder of packets.
    current: Arc<AtomicU32>,
}

/// Field of a packet that identifies its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlowKey {
    /// Ports, which the flows' programs were given.
    Ports,
    /// Direction: the first flow is down, the second up.
    Direction,
}

/// Counts of a flow's delivered datagrams, including those after the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// Datagrams delivered to the receiver.
    pub there: u64,
    /// Replies delivered to the sender, if there are replies.
    pub back: u64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    is_upload: bool,
    stream: Stream,
    datagrams: u64,
    delivered_bytes: u64,
    opened: Option<Time>,
    begun: Option<Time>,
    echo: Echo,
    /// Round trips, for a ping.
    pings: Option<Box<Pings>>,
}

/// Round trips of a flow whose receiver returns its datagrams: from the datagram's entry into the path to the exit of its reply.
#[derive(Clone, Debug)]
struct Pings {
    /// Number and send time of the latest datagrams, by number.
    sent: Vec<(u32, Time)>,
    round_trips: DelayHistogram,
}

impl Pings {
    fn new() -> Self {
        Self { sent: vec![(0, Time::NEVER); AWAITED], round_trips: DelayHistogram::default() }
    }

    /// Records an event of the datagram or, if `is_reply`, of its reply.
    fn record(&mut self, event: &Event, number: u32, is_reply: bool, warmup: Span) {
        let Some(slot) = self.sent.get_mut(number as usize % AWAITED) else { return };
        match event.kind {
            EventKind::Enqueued if !is_reply && *slot != (number, event.entered) => {
                *slot = (number, event.entered);
            }
            EventKind::Delivered if is_reply && slot.0 == number && slot.1 <= event.time => {
                if event.time >= Time::ZERO + warmup {
                    self.round_trips.record(event.time.since(slot.1));
                }
                slot.1 = Time::NEVER;
            }
            _ => {}
        }
    }
}

impl<'a> MeasuringTap<'a> {
    /// Creates a tap for the path of `topology`, or a path that is built like it.
    pub fn new(scenario: &'a Scenario, topology: &Topology, current: Arc<AtomicU32>) -> MeasuringTap<'a> {
        let measuring = Measurement::new(scenario, topology);
        MeasuringTap::with_measurement(scenario, topology, measuring, FlowKey::Ports, current)
    }

    /// Creates a tap for a link of two directions, which are the flows of `scenario`: down, and up as an upload. The run ends by
    /// [`MeasuringTap::end_at`], and its series has at most `bins` bins.
    pub fn of_link(scenario: &'a Scenario, topology: &Topology, bins: usize) -> MeasuringTap<'a> {
        let measuring = Measurement::open_ended(scenario, topology, bins);
        let current = Arc::new(AtomicU32::new(NO_FLOW));
        MeasuringTap::with_measurement(scenario, topology, measuring, FlowKey::Direction, current)
    }

    fn with_measurement(
        scenario: &'a Scenario,
        topology: &Topology,
        measuring: Measurement<'a>,
        flow_key: FlowKey,
        current: Arc<AtomicU32>,
    ) -> MeasuringTap<'a> {
        let mut flows = vec![Flow::default(); scenario.flows.len() + usize::from(scenario.probe.is_some())];
        for (flow, spec) in flows.iter_mut().zip(&scenario.flows) {
            flow.is_upload = spec.is_upload;
            let is_ping = matches!(&spec.transport, TransportConfig::Udp(udp) if udp.echo);
            flow.pings = is_ping.then(|| Box::new(Pings::new()));
        }
        MeasuringTap {
            scenario,
            measuring,
            is_back: topology.is_back.clone(),
            uplinks: topology.uplinks.iter().map(|[queue, _]| *queue).collect(),
            first_hop: topology.hops.first().map(|[queue, _]| *queue),
            flows,
            external: None,
            flow_key,
            current,
        }
    }

    /// Sets the flow that is a program of the user.
    #[must_use]
    pub fn with_external(self, flow: Option<usize>) -> MeasuringTap<'a> {
        let of = |index: usize| Some((index as u32, external::headers(self.scenario.flows.get(index)?)));
        MeasuringTap { external: flow.and_then(of), ..self }
    }

    /// Ends the rates at `time`: see [`Measurement::end_rates_at`].
    pub fn end_rates_at(&mut self, time: Time) {
        self.measuring.end_rates_at(time);
    }

    /// Ends the run at `time`: see [`Measurement::end_at`].
    pub fn end_at(&mut self, time: Time) {
        self.measuring.end_at(time);
    }

    /// Measures an event of a packet with data: one that goes down, or up if its flow is an upload.
    fn data(&mut self, event: &Event, packet: &Packet, tcp: Option<ports::Tcp>) {
        let (now, node, index) = (event.time, event.node, packet.flow as usize);
        let headers = match self.external {
            Some((flow, headers)) if flow == packet.flow => headers,
            // Packets of any protocol: all of their bytes count.
            _ if self.flow_key == FlowKey::Direction => 0,
            _ => UDP_HEADERS,
        };
        let MeasuringTap { measuring, flows, uplinks, first_hop, .. } = self;
        match event.kind {
            EventKind::Enqueued => {
                let is_bottleneck = measuring.enqueued(now, node, packet);
                let Some(flow) = flows.get_mut(index) else { return };
                if let Some(tcp) = tcp
                    && let Some(end) = flow.stream.sent_to(tcp.sequence, tcp.bytes)
                {
                    // A packet at its first queue has just entered the path.
                    measuring.sent(event.entered, index, end);
                }
                let is_first = match flow.is_upload {
                    // The uplink's queue follows the access line, if there is one.
                    true => uplinks.contains(&node),
                    false => first_hop.map_or(is_bottleneck, |hop| hop == node),
                };
                if is_first {
                    flow.came(now, tcp);
                }
            }
            EventKind::Dequeued => {
                measuring.dequeued(now, node, packet);
            }
            EventKind::Departed => {
                measuring.departed(now, node, packet);
            }
            EventKind::Split(split) => measuring.split(now, node, packet, split),
            EventKind::Corrupted => {}
            EventKind::Dropped(_) => measuring.dropped(now, node, packet),
            EventKind::Marked(_) => measuring.marked(node, packet),
            EventKind::Delivered => {
                measuring.delivered(now, node, packet, || event.entered);
                let Some(flow) = flows.get_mut(index) else { return };
                match tcp {
                    Some(tcp) => {
                        flow.delivered_bytes = flow.stream.arrive(tcp.sequence, tcp.bytes);
                        measuring.in_order(now, index, flow.delivered_bytes);
                    }
                    None => flow.delivered_bytes += u64::from(packet.bytes.saturating_sub(headers)),
                }
            }
        }
    }

    /// Counts of the datagrams that receivers and senders should have received, by flow.
    pub fn echoes(&self) -> impl Iterator<Item = Echo> {
        self.flows.iter().map(|flow| flow.echo)
    }

    /// Time at which the first packet of each TCP flow's connection, which carries its SYN, arrived at the bottleneck.
    pub fn opened(&self) -> Vec<Option<Time>> {
        self.flows.iter().map(|flow| flow.opened).collect()
    }

    /// Time at which the first full segment of each TCP flow, and the first datagram of any other, arrived at the bottleneck.
    pub fn begun(&self) -> Vec<Option<Time>> {
        self.flows.iter().map(|flow| flow.begun).collect()
    }

    /// Time series of a flow's connection from iperf3's reports, if the scenario requests it.
    fn over_time(&self, spec: &FlowSpec, samples: &[KernelSample]) -> Option<Box<FlowSeries>> {
        let width = self.scenario.series.filter(|_| self.scenario.connections)?;
        let stop = spec.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
        let connection = windows::series(samples, width, Time::ZERO + self.scenario.duration, stop)?;
        Some(Box::new(FlowSeries { connection: Some(connection), ..FlowSeries::default() }))
    }

    /// Computes the outcome of a run that has ended.
    pub fn finish(self, reports: &ProgramReports) -> Outcome {
        let flow = |(index, (spec, flow)): (usize, (&FlowSpec, &Flow))| {
            let state = reports.iperf3.get(index).copied().unwrap_or_default();
            let external =
                reports.external.as_ref().filter(|(number, _)| *number == index).map(|(_, report)| report);
            let figures = results::FlowFigures {
                delivered_bytes: flow.delivered_bytes,
                packets_sent: flow.stream.segments + flow.datagrams,
                // The path cannot see retransmissions of some transports, such as QUIC; there the program's count is used.
                retransmits: state.retransmits.unwrap_or(flow.stream.retransmits),
                final_cwnd: state.window_segments,
                final_srtt_ms: state.srtt_ms,
                srtt_mean_ms: state.srtt_mean_ms,
                discarded_late: spec.discard_delay.map(|_| 0),
                stream: external.and_then(|report| report.stream),
                web: external.and_then(|report| report.web),
                video: external.and_then(|report| report.video),
                ..results::FlowFigures::default()
            };
            let pings = flow.pings.as_ref().filter(|pings| pings.round_trips.count() > 0);
            let round_trips = pings.map(|pings| Box::new(pings.round_trips.clone()));
            let samples = reports.windows.get(index).map(Vec::as_slice).unwrap_or_default();
            FlowOutcome { flow: figures, round_trips, over_time: self.over_time(spec, samples) }
        };
        let flows = self.scenario.flows.iter().zip(&self.flows).enumerate().map(flow).collect();
        let probe = self.scenario.probe.and(self.flows.last());
        self.measuring.finish(flows, probe.map(|flow| flow.datagrams))
    }
}

impl Flow {
    /// Records that a packet has arrived at the bottleneck, or at the first hop.
    fn came(&mut self, now: Time, tcp: Option<ports::Tcp>) {
        let Some(tcp) = tcp else {
            self.datagrams += 1;
            self.begun.get_or_insert(now);
            return;
        };
        // Programs negotiate a test over a connection of their own first, so the last SYN counts.
        if tcp.is_syn && self.begun.is_none() {
            self.opened = Some(now);
        }
        if tcp.bytes > COOKIE_BYTES {
            self.begun.get_or_insert(now);
        }
        self.stream.send(tcp.sequence, tcp.bytes, tcp.is_syn);
    }
}

impl Tap for MeasuringTap<'_> {
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        let is_back = self.is_back[event.node.index()];
        let header = match self.flow_key {
            FlowKey::Ports if is_back => ports::read(bytes, FlowDirection::Up),
            FlowKey::Ports => ports::read(bytes, FlowDirection::Down),
            FlowKey::Direction => ports::Header { flow: Some(u32::from(is_back)), tcp: None },
        };
        let known = header.flow.filter(|flow| (*flow as usize) < self.flows.len());
        let known = known.or(self.external.map(|(flow, _)| flow));
        let flow = known.unwrap_or(NO_FLOW);
        self.current.store(flow, Ordering::Relaxed);
        if event.kind == EventKind::Delivered
            && header.tcp.is_none()
            && let Some(flow) = known.and_then(|flow| self.flows.get_mut(flow as usize))
        {
            *(if is_back == flow.is_upload { &mut flow.echo.there } else { &mut flow.echo.back }) += 1;
        }
        if self.measuring.is_over() {
            return;
        }
        let packet = Packet { flow, ..event.packet };
        let known = known.and_then(|flow| self.flows.get_mut(flow as usize));
        let is_data = is_back == known.as_ref().is_some_and(|flow| flow.is_upload);
        if let Some(pings) = known.and_then(|flow| flow.pings.as_mut())
            && let Some(number) = ports::number(bytes)
        {
            pings.record(event, number, !is_data, self.scenario.warmup);
        }
        if is_data {
            self.data(event, &packet, header.tcp);
            return;
        }
        match event.kind {
            EventKind::Dropped(_) => self.measuring.dropped(event.time, event.node, &packet),
            EventKind::Departed => {
                self.measuring.departed(event.time, event.node, &packet);
            }
            // Acknowledgements of uploads pass through the bottleneck.
            EventKind::Enqueued if !is_back => {
                self.measuring.enqueued(event.time, event.node, &packet);
            }
            EventKind::Dequeued if !is_back => {
                self.measuring.dequeued(event.time, event.node, &packet);
            }
            EventKind::Marked(_) if !is_back => self.measuring.marked(event.node, &packet),
            EventKind::Split(split) => self.measuring.split(event.time, event.node, &packet, split),
            _ => {}
        }
    }

    fn reads_bytes(&self) -> bool {
        self.flow_key == FlowKey::Ports
    }

    fn next_inspection(&self) -> Time {
        self.measuring.next_sample()
    }

    fn inspect(&mut self, now: Time, path: &Path) {
        let delivered = self.flows.iter().map(|flow| flow.delivered_bytes);
        self.measuring.sample(now, path, delivered);
    }
}

#[cfg(test)]
mod tests;
