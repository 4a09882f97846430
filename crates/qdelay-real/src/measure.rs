//! From the emulator's events to an outcome, by the simulator's own figures.
//!
//! Events have the path's own times, so the measures end with the run whenever the host notices. What a kernel does not show
//! on the wire comes from iperf3: windows and smoothed round trips; timeouts and undone reductions are not known, and 0.

use super::counts::{Echo, PathEnd};
use super::ports::{self, Way};
use super::programs::Told;
use super::stream::Stream;
use qdelay_core::{Packet, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, EventKind, Tap};
use qdelay_emu::plan::{Places, Role};
use qdelay_path::{CellUsage, LinkUsage, NodeId, Path, SliceUsage};
use qdelay_sim::{CellOutcome, CellWatch, Figures, FlowOutcome, Outcome, Place, Queued, Scenario, Totals};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of packets that are of no flow: neither a flow's nor the probe's.
pub const NO_FLOW: u32 = u32::MAX - 1;
/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;
/// iperf3 opens its data connection with so many bytes, before it sends any data.
const COOKIE_BYTES: u32 = 37;

/// Hears of the emulator's events, and looks at the path at the ends of bins, of the warm-up and of the run.
pub struct Gauge<'a> {
    scenario: &'a Scenario,
    places: Places,
    /// The bottleneck's.
    queues: Vec<NodeId>,
    link: NodeId,
    /// The queue of the first hop, where there are any.
    first_hop: Option<NodeId>,
    measured: Measured,
    /// Slots of packets that the watch of a cell knows of.
    slots: usize,
    /// The flow of the event that is being handled, for whoever writes packets down.
    current: Arc<AtomicU32>,
    /// When the bin that is open ends.
    bin_end: Time,
    is_warm: bool,
    is_over: bool,
    /// Of each flow, whenever.
    echoes: Vec<Echo>,
}

/// What was measured.
pub struct Measured {
    figures: Figures,
    flows: Vec<Flow>,
    /// Where the bottleneck is a cell.
    cell: Option<Box<CellWatch>>,
    /// What the bottleneck had done at the end of the warm-up, and at that of the run.
    usage: [Usage; 2],
    /// Of slices likewise.
    slices: [Vec<SliceUsage>; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    link: LinkUsage,
    cell: CellUsage,
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
    /// Nothing has happened yet on `path`, or one that is built like it.
    pub fn new(scenario: &'a Scenario, path: &Path, places: Places, current: Arc<AtomicU32>) -> Gauge<'a> {
        let flows = scenario.flows.len() + usize::from(scenario.probe.is_some());
        let to_cell: Vec<Place> = places.roles.iter().map(|role| role.place).collect();
        let watch = |cell| Box::new(CellWatch::new(scenario, cell, to_cell));
        Gauge {
            scenario,
            queues: places.queues(path, Port::Outside).collect(),
            link: places.link[Port::Outside.index()],
            first_hop: places.hops.first().map(|[queue, _]| *queue),
            measured: Measured {
                figures: Figures::new(scenario, path, &places.hops),
                flows: vec![Flow::default(); flows],
                cell: scenario.bottleneck.as_cell().map(watch),
                usage: [Usage::default(); 2],
                slices: [Vec::new(), Vec::new()],
            },
            places,
            slots: 0,
            current,
            bin_end: Figures::bin_end(scenario, Time::ZERO).unwrap_or(Time::NEVER),
            is_warm: false,
            is_over: false,
            echoes: vec![Echo::default(); flows],
        }
    }

    /// Datagrams that receivers and senders should have got, by flow.
    pub fn echoes(&self) -> Vec<Echo> {
        self.echoes.clone()
    }

    /// The run is over.
    pub fn end(self) -> Measured {
        self.measured
    }

    fn usage(&self, now: Time, path: &Path) -> Usage {
        Usage {
            link: path.link_usage(self.link, now).unwrap_or_default(),
            cell: path.cell_usage(self.link, now).unwrap_or_default(),
        }
    }

    fn close_bin(&mut self, now: Time, path: &Path) {
        let queued = Queued::of(path, self.queues.iter().copied());
        let usage = self.usage(now, path);
        self.measured.figures.close_bin(now, queued, usage.link);
        if let Some(cell) = &mut self.measured.cell {
            cell.close_bin(now, usage.cell, path.cell(self.link).and_then(|cell| cell.mcs(now)));
        }
        let is_last = now >= Time::ZERO + self.scenario.duration;
        self.bin_end =
            if is_last { Time::NEVER } else { Figures::bin_end(self.scenario, now).unwrap_or(Time::NEVER) };
    }

    /// An event of a packet that goes down.
    fn data(&mut self, event: &Event, packet: &Packet, tcp: Option<ports::Tcp>) {
        let now = event.time;
        let role = self.places.role(event.node);
        let Measured { figures, flows, cell, .. } = &mut self.measured;
        if let Some(cell) = cell {
            let slot = packet.handle as u32 as usize;
            if slot >= self.slots {
                cell.begin(slot);
                self.slots = slot + 1;
            }
            in_cell(cell, figures, event, role, packet);
            if matches!(event.kind, EventKind::Delivered | EventKind::Dropped(_)) {
                // The next one in this slot is another.
                cell.begin(slot);
            }
        } else {
            at_link(figures, event, role, packet);
        }
        let is_entry = self.first_hop.map_or(role.is_first, |hop| hop == event.node);
        if event.kind == EventKind::Enqueued
            && is_entry
            && let Some(flow) = flows.get_mut(packet.flow as usize)
        {
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
        if event.kind == EventKind::Delivered {
            self.delivered(event, packet, tcp);
        }
    }

    fn delivered(&mut self, event: &Event, packet: &Packet, tcp: Option<ports::Tcp>) {
        let (now, index) = (event.time, packet.flow as usize);
        let figures = &mut self.measured.figures;
        figures.delivered(now, packet, event.entered);
        let Some(flow) = self.measured.flows.get_mut(index) else { return };
        match tcp {
            Some(tcp) => flow.delivered_bytes = flow.stream.arrive(tcp.sequence, tcp.bytes),
            None => flow.delivered_bytes += u64::from(packet.bytes.saturating_sub(UDP_HEADERS)),
        }
        if index >= self.scenario.flows.len() {
            figures.probed(now, event.entered);
        }
    }
}

/// What happens to a packet at a queue and its link.
fn at_link(figures: &mut Figures, event: &Event, role: Role, packet: &Packet) {
    let now = event.time;
    match event.kind {
        EventKind::Enqueued if role.is_first => figures.enqueued(now, packet),
        EventKind::Dequeued if role.is_last => figures.dequeued(now, packet),
        EventKind::Departed if role.is_link => figures.departed(now, packet),
        EventKind::Departed => figures.departed_elsewhere(now, event.node, packet),
        EventKind::Dropped(_) => figures.dropped(now, packet, true, role.is_queue),
        EventKind::Marked(_) if role.is_queue => figures.marked(packet),
        _ => {}
    }
}

/// What happens to a packet in a cell and above it.
fn in_cell(cell: &mut CellWatch, figures: &mut Figures, event: &Event, role: Role, packet: &Packet) {
    let (now, place) = (event.time, role.place);
    match event.kind {
        EventKind::Enqueued if place != Place::Elsewhere => {
            let is_first = cell.enqueued(now, place, packet);
            if is_first {
                figures.enqueued(now, packet);
            }
        }
        EventKind::Dequeued if role.is_last => {
            cell.taken(now, packet);
            figures.dequeued(now, &cell.as_it_came(packet));
        }
        EventKind::Departed if role.is_link => {
            cell.departed(now, packet, figures.counts(now, packet));
            figures.departed(now, &cell.as_it_came(packet));
        }
        EventKind::Departed => figures.departed_elsewhere(now, event.node, packet),
        EventKind::Split(split) if figures.counts(now, packet) => cell.split(packet, split),
        EventKind::Dropped(_) => {
            figures.dropped(now, packet, true, place.is_of_node());
            if role.is_link {
                figures.dropped_below(packet);
            }
            if role.is_link || place.is_of_node() {
                cell.dropped(now, place, role.is_link, packet);
            }
        }
        EventKind::Marked(_) if place.is_of_node() => figures.marked(packet),
        _ => {}
    }
}

impl Tap for Gauge<'_> {
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        let is_down = self.places.role(event.node).source == Port::Outside;
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
        let packet = Packet { flow, ..event.packet };
        if is_down {
            self.data(event, &packet, header.tcp);
        } else if matches!(event.kind, EventKind::Dropped(_)) {
            self.measured.figures.dropped(event.time, &packet, false, false);
        }
    }

    fn next_look(&self) -> Time {
        let (start, end) = (Time::ZERO + self.scenario.warmup, Time::ZERO + self.scenario.duration);
        let of_run = if self.is_over {
            Time::NEVER
        } else if self.is_warm {
            end
        } else {
            start.min(end)
        };
        self.bin_end.min(of_run)
    }

    fn look(&mut self, now: Time, path: &Path) {
        if now >= self.bin_end {
            self.close_bin(now, path);
        }
        if !self.is_warm && now >= Time::ZERO + self.scenario.warmup {
            self.is_warm = true;
            self.measured.flows.iter_mut().for_each(|flow| flow.delivered_at_warmup = flow.delivered_bytes);
            self.measured.usage[0] = self.usage(now, path);
            self.measured.slices[0] = path.cell_slices(self.link, now);
            self.measured.figures.end_warmup(now, path);
        }
        if !self.is_over && now >= Time::ZERO + self.scenario.duration {
            self.is_over = true;
            self.measured.usage[1] = self.usage(now, path);
            self.measured.slices[1] = path.cell_slices(self.link, now);
            self.measured.figures.end(now, path);
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
        let [begin, last] = self.usage;
        let less = |of: fn(&LinkUsage) -> u64| of(&last.link).saturating_sub(of(&begin.link));
        let totals = Totals {
            offered_bytes: less(|usage| usage.offered_bytes),
            sent_bytes: less(|usage| usage.sent_bytes),
            drops: ends.drops,
            marks: ends.marks,
            flows: scenario.flows.iter().enumerate().map(flow).collect(),
            nodes: ends.nodes,
            probe_sent: scenario.probe.and(self.flows.last()).map(|flow| flow.datagrams),
        };
        let usage = qdelay_sim::cell_usage_between(begin.cell, last.cell);
        let cell = scenario.bottleneck.as_cell().zip(self.cell);
        let [before, now] = self.slices;
        let cell = cell.map(|(spec, watch)| {
            let slices = qdelay_sim::slice_outcomes(spec.setting.slices(), &before, &now);
            Box::new(CellOutcome { slices, ..watch.finish(spec, usage, end) })
        });
        Outcome { cell, ..self.figures.finish(scenario, totals) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{path, ports};
    use qdelay_core::{Random, Span};
    use qdelay_emu::emulator::Emulator;
    use qdelay_emu::pool::Pool;
    use qdelay_study::scenario::{Overrides, Study};
    use qdelay_study::traces::Library;
    use qdelay_traffic::transport::TransportConfig;
    use qdelay_traffic::udp::UdpSource;

    /// Datagrams alone: their senders are the simulator's own, so that the same packets come at the same times.
    const FLOWS: &str = "
[path]
rtt = \"20ms\"
jitter = \"2ms\"
[[flow]]
name = \"game\"
transport = \"gaming:20ms\"
dscp = \"ef\"
QFI1
[[flow]]
name = \"bulk\"
transport = \"udp:12mbit\"
access = \"20mbit\"
start = \"100ms\"
stop = \"4s\"
QFI2
[run]
duration = \"5s\"
warmup = \"1s\"
probe = true
";
    const CELL: &str = "
[cell]
technology = \"lte\"
prbs = 25
channel = \"mcs:15\"
pacer = \"e5g-bdp\"
upf = \"sfq\"
usp = \"usp\"
rlc = \"um\"
bler = 0.1
feedback = \"1ms\"
n3 = \"100mbit\"
[[cell.ue]]
[[cell.ue.bearer]]
[[cell.ue.bearer.qos_flow]]
qfi = 1
priority = 1
[[cell.ue.bearer.qos_flow]]
qfi = 2
priority = 2
";
    const SLICES: &str = "
[cell]
technology = \"lte\"
prbs = 25
channel = \"mcs:15\"
partition = \"PARTITION\"
[[cell.slice]]
name = \"a\"
share = \"30%\"
[[cell.slice]]
name = \"b\"
share = \"70%\"
[[cell.ue]]
[[cell.ue.bearer]]
slice = \"a\"
[[cell.ue.bearer]]
slice = \"b\"
";

    fn scenario(text: &str) -> Scenario {
        let study = Study::parse("some", text, &Overrides::default()).unwrap();
        study.case(0, &Library::new()).unwrap().scenario
    }

    /// The next packet of any flow: when, of which, how large.
    fn next(sources: &mut [(UdpSource, Time)]) -> Option<(Time, usize, u32)> {
        let due = |(source, stop): &(UdpSource, Time)| {
            let next = source.next_deadline();
            if next < *stop { next } else { Time::NEVER }
        };
        let index = (0..sources.len()).min_by_key(|&index| due(&sources[index]))?;
        let time = due(&sources[index]);
        let bytes = if time == Time::NEVER { None } else { sources[index].0.poll(time) };
        bytes.map(|bytes| (time, index, bytes))
    }

    fn datagram(scenario: &Scenario, index: usize, bytes: u32) -> Vec<u8> {
        let dscp = scenario.flows.get(index).map_or(0, |flow| flow.dscp);
        let mut packet = vec![0; bytes as usize];
        packet[..2].copy_from_slice(&[0x45, dscp << 2]);
        packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        packet[9] = 17;
        packet[20..22].copy_from_slice(&ports::sender(index).to_be_bytes());
        packet[22..24].copy_from_slice(&ports::receiver(index).to_be_bytes());
        packet
    }

    /// As [`crate::carrier`] does it, under a clock that is never late.
    fn carried(scenario: &Scenario) -> Outcome {
        let plan = path::plan(scenario).unwrap();
        let (bare, places) = plan.build().unwrap();
        let current = Arc::new(AtomicU32::new(NO_FLOW));
        let gauge = Gauge::new(scenario, &bare, places.clone(), current);
        let mut emulator = Emulator::tapped(plan, Pool::new(1500, 65_536), (), gauge).unwrap();
        let start = |flow: &qdelay_sim::FlowSpec| Time::ZERO + flow.start;
        let mut sources: Vec<(UdpSource, Time)> = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let TransportConfig::Udp(config) = flow.transport else { panic!("datagrams") };
            let random = Random::derive(scenario.seed, &format!("flow-{index}"), "source");
            let stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
            sources.push((UdpSource::new(config, start(flow), random), stop));
        }
        if let Some(probe) = scenario.probe {
            let random = Random::derive(scenario.seed, "probe", "gaps");
            let source = UdpSource::probe(probe.bytes, probe.gap_min, probe.gap_max, Time::ZERO, random);
            sources.push((source, Time::NEVER));
        }
        let end = Time::ZERO + scenario.duration;
        let drain = |emulator: &mut Emulator<(), Gauge<'_>>| {
            while let Some(release) = emulator.next_release() {
                emulator.settle(release.slot);
            }
        };
        while let Some((time, index, bytes)) = next(&mut sources).filter(|(time, ..)| *time < end) {
            let slot = emulator.take().unwrap();
            let packet = datagram(scenario, index, bytes);
            emulator.buffer(slot)[..packet.len()].copy_from_slice(&packet);
            emulator.arrive(time, Port::Outside, slot, packet.len()).unwrap();
            drain(&mut emulator);
        }
        emulator.advance(end);
        drain(&mut emulator);
        emulator.audit().unwrap();
        let ends = PathEnd::of(emulator.path(), &places, scenario);
        let (_, gauge) = emulator.into_parts();
        gauge.end().finish(scenario, &[], ends)
    }

    /// Nothing of a call's listener is known, and what is of a cell's own network has other random hashes of flows.
    fn check(text: &str) {
        let scenario = scenario(text);
        assert_eq!(scenario.jitter, Span::from_millis(2));
        let (real, simulated) = (carried(&scenario), qdelay_sim::run(&scenario).unwrap());
        assert!(real.packets_forwarded > 1000 && real.drops_total() > 10, "{:?}", real.drops);
        for (real, simulated) in real.nodes.iter().zip(&simulated.nodes) {
            assert_eq!(real, simulated);
        }
        assert_eq!(real, simulated);
    }

    #[test]
    fn a_cells_measures_are_the_simulators() {
        let flows = FLOWS.replace("QFI1", "qfi = 1").replace("QFI2", "qfi = 2");
        check(&(CELL.to_string() + &flows));
    }

    #[test]
    fn slices_measures_are_the_simulators() {
        let flows = FLOWS.replace("QFI1", "qfi = 1").replace("QFI2", "qfi = 2");
        for partition in ["fp", "eqp:limit=100"] {
            check(&(SLICES.replace("PARTITION", partition) + &flows));
        }
    }

    #[test]
    fn hops_measures_are_the_simulators() {
        let flows =
            FLOWS.replace("QFI1", "access = \"30mbit\"\naccess_jitter = \"1600us\"").replace("QFI2", "");
        let hops = "[[path.hop]]\nname = \"b\"\nlink = \"11mbit\"\nlimit = 40\ndelay = \"4ms\"\n\
                    [[path.hop]]\nname = \"a\"\nlink = \"30mbit\"\nqdisc = \"codel\"\n[[flow]]";
        let flows = flows.replacen("[[flow]]", hops, 1);
        check(&flows.replace("[path]", "[path]\nlink = \"10mbit\"\nlimit = 50"));
    }

    #[test]
    fn a_links_measures_are_the_simulators() {
        let flows = FLOWS.replace("QFI1", "").replace("QFI2", "");
        check(&flows.replace("[path]", "[path]\nlink = \"10mbit\"\nlimit = 50"));
    }
}
