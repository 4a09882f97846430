//! From the emulator's events to an outcome, by the simulator's own figures.
//!
//! Events have the path's own times, so the measures end with the run whenever the host notices. What a kernel does not show
//! on the wire comes from iperf3: windows and smoothed round trips; timeouts and undone reductions are not known, and 0.

use super::carrier::PathEnd;
use super::ports::{self, Way};
use super::programs::Told;
use super::stream::Stream;
use qdelay_core::{Packet, Rate, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, EventKind, Tap};
use qdelay_emu::plan::Places;
use qdelay_path::{AnyLink, Line, LinkUsage, NodeId};
use qdelay_sim::{Figures, FlowOutcome, Outcome, Scenario, Totals};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of packets that are of no flow: neither a flow's nor the probe's.
pub const NO_FLOW: u32 = u32::MAX - 1;
/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;
/// iperf3 opens its data connection with so many bytes, before it sends any data.
const COOKIE_BYTES: u32 = 37;

/// Hears of the emulator's events.
pub struct Gauge<'a> {
    scenario: &'a Scenario,
    places: Places,
    measured: Measured,
    /// The flow of the event that is being handled, for whoever writes packets down.
    current: Arc<AtomicU32>,
    /// When the bin that is open ends.
    bin_end: Time,
    /// Packets in the bottleneck's queue.
    queued: u64,
    is_warm: bool,
    /// Of each flow, whenever.
    echoes: Vec<Echo>,
}

/// Datagrams of a flow that were delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// To the receiver.
    pub there: u64,
    /// To the sender, where there are replies.
    pub back: u64,
}

/// What was measured.
pub struct Measured {
    figures: Figures,
    flows: Vec<Flow>,
    link: AnyLink,
    /// Bytes that the link sent after the warm-up, framing included.
    sent_bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    stream: Stream,
    datagrams: u64,
    delivered_bytes: u64,
    delivered_at_warmup: u64,
    begun: Option<Time>,
}

impl<'a> Gauge<'a> {
    /// Nothing has happened yet.
    pub fn new(scenario: &'a Scenario, places: Places, current: Arc<AtomicU32>) -> Gauge<'a> {
        let flows = scenario.flows.len() + usize::from(scenario.probe.is_some());
        Gauge {
            scenario,
            places,
            measured: Measured {
                figures: Figures::new(scenario),
                flows: vec![Flow::default(); flows],
                link: scenario
                    .bottleneck
                    .as_link()
                    .map_or(Line::new(Rate::INFINITE, 0).into(), |(_, link)| link.0.clone()),
                sent_bytes: 0,
            },
            current,
            bin_end: Figures::bin_end(scenario, Time::ZERO).unwrap_or(Time::NEVER),
            queued: 0,
            is_warm: false,
            echoes: vec![Echo::default(); flows],
        }
    }

    /// Datagrams that receivers and senders should have got, by flow.
    pub fn echoes(&self) -> Vec<Echo> {
        self.echoes.clone()
    }

    /// The run is over at `end`.
    pub fn end(mut self, end: Time) -> Measured {
        self.go_to(end);
        if self.bin_end <= end {
            self.close_bin();
        }
        self.measured
    }

    /// Everything before `now` has happened. What happens just when a bin or the warm-up ends belongs to it.
    fn go_to(&mut self, now: Time) {
        if !self.is_warm && now > Time::ZERO + self.scenario.warmup {
            self.is_warm = true;
            self.measured.flows.iter_mut().for_each(|flow| flow.delivered_at_warmup = flow.delivered_bytes);
        }
        while self.bin_end < now {
            self.close_bin();
        }
    }

    fn close_bin(&mut self) {
        let at = self.bin_end;
        let usage = LinkUsage { sent_bytes: 0, offered_bytes: self.measured.link.offered_bytes(at) };
        self.measured.figures.close_bin(at, self.queued, usage);
        let is_last = at >= Time::ZERO + self.scenario.duration;
        self.bin_end =
            if is_last { Time::NEVER } else { Figures::bin_end(self.scenario, at).unwrap_or(Time::NEVER) };
    }

    fn is_down(&self, node: NodeId) -> bool {
        (self.places.entry[Port::Outside.index()]..=self.places.exit[Port::Inside.index()]).contains(&node)
    }

    /// An event of a packet that goes down.
    fn data(&mut self, event: &Event, packet: &Packet, tcp: Option<ports::Tcp>) {
        let (now, node) = (event.time, event.node);
        let at_queue = node == self.places.queue[Port::Outside.index()];
        let figures = &mut self.measured.figures;
        match event.kind {
            EventKind::Enqueued => {
                self.queued += 1;
                figures.enqueued(now, packet);
                if let Some(flow) = self.measured.flows.get_mut(packet.flow as usize) {
                    match tcp {
                        Some(tcp) => {
                            if tcp.bytes > COOKIE_BYTES {
                                flow.begun.get_or_insert(now);
                            }
                            flow.stream.send(tcp.sequence, tcp.bytes, tcp.is_syn);
                        }
                        None => flow.datagrams += 1,
                    }
                }
            }
            EventKind::Dequeued => {
                self.queued = self.queued.saturating_sub(1);
                figures.dequeued(now, packet);
            }
            EventKind::Departed => {
                figures.departed(now, packet);
                if now >= Time::ZERO + self.scenario.warmup {
                    self.measured.sent_bytes +=
                        u64::from(packet.bytes) + u64::from(self.measured.link.overhead_bytes());
                }
            }
            EventKind::Dropped(_) => {
                self.queued = self.queued.saturating_sub(u64::from(at_queue));
                figures.dropped(now, packet, true, at_queue);
            }
            EventKind::Marked(_) => figures.marked(),
            EventKind::Delivered => self.delivered(now, packet, tcp),
        }
    }

    fn delivered(&mut self, now: Time, packet: &Packet, tcp: Option<ports::Tcp>) {
        let index = packet.flow as usize;
        let figures = &mut self.measured.figures;
        figures.delivered(now, packet, packet.arrival);
        let Some(flow) = self.measured.flows.get_mut(index) else { return };
        match tcp {
            Some(tcp) => flow.delivered_bytes = flow.stream.arrive(tcp.sequence, tcp.bytes),
            None => flow.delivered_bytes += u64::from(packet.bytes.saturating_sub(UDP_HEADERS)),
        }
        if index >= self.scenario.flows.len() {
            figures.probed(now, packet.arrival);
        }
    }
}

impl Tap for Gauge<'_> {
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        let is_down = self.is_down(event.node);
        let header = ports::read(bytes, if is_down { Way::Down } else { Way::Up });
        let known = header.flow.filter(|flow| (*flow as usize) < self.measured.flows.len());
        let flow = known.unwrap_or(NO_FLOW);
        self.current.store(flow, Ordering::Relaxed);
        if event.kind == EventKind::Delivered
            && header.tcp.is_none()
            && let Some(echo) = known.and_then(|flow| self.echoes.get_mut(flow as usize))
        {
            if is_down {
                echo.there += 1;
            } else {
                echo.back += 1;
            }
        }
        if event.time > Time::ZERO + self.scenario.duration {
            return;
        }
        self.go_to(event.time);
        let packet = Packet { flow, ..event.packet };
        if is_down {
            self.data(event, &packet, header.tcp);
        } else if matches!(event.kind, EventKind::Dropped(_)) {
            self.measured.figures.dropped(event.time, &packet, false, false);
        }
    }
}

impl Measured {
    /// When the first whole segment of each TCP flow came to the bottleneck.
    pub fn begun(&self) -> Vec<Option<Time>> {
        self.flows.iter().map(|flow| flow.begun).collect()
    }

    /// Takes stock.
    pub fn finish(self, scenario: &Scenario, told: &[Told], ends: PathEnd) -> Outcome {
        let (start, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
        let seconds = end.since(start).as_secs_f64();
        let flow = |(index, spec): (usize, &qdelay_sim::FlowSpec)| {
            let measured = self.flows.get(index).cloned().unwrap_or_default();
            let told = told.get(index).copied().unwrap_or_default();
            let delivered = measured.delivered_bytes - measured.delivered_at_warmup;
            FlowOutcome {
                transport: spec.typed.clone(),
                goodput_mbps: delivered as f64 * 8.0 / seconds / 1e6,
                delivered_bytes: measured.delivered_bytes,
                packets_sent: measured.stream.segments + measured.datagrams,
                retransmits: measured.stream.retransmits,
                final_cwnd: told.window_segments,
                final_srtt_ms: told.srtt_ms,
                srtt_mean_ms: told.srtt_mean_ms,
                ..FlowOutcome::default()
            }
        };
        let totals = Totals {
            offered_bytes: self.link.offered_bytes(end).saturating_sub(self.link.offered_bytes(start)),
            sent_bytes: self.sent_bytes,
            drops: ends.drops,
            marks: ends.marks,
            flows: scenario.flows.iter().enumerate().map(flow).collect(),
            nodes: ends.nodes,
            probe_sent: scenario.probe.and(self.flows.last()).map(|flow| flow.datagrams),
        };
        self.figures.finish(scenario, totals)
    }
}
