//! A flow at run time, and the ingress of its packets into the path.

use crate::meter::{ACKNOWLEDGEMENT, KEPT, Meter};
use crate::results::ConnectionLog;
use crate::scenario::{FlowSpec, ProbeSpec, SecondCodepoint};
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_path::{NodeId, Path, PathError};
use qdelay_record::DelayHistogram;
use qdelay_traffic::datagrams::Datagrams;
use qdelay_traffic::ends::{End, FlowStart, Host, Outgoing};
use qdelay_traffic::transport::AnyEnds;
use qdelay_traffic::udp::UdpSource;

/// The codepoints of a flow.
pub struct FlowCodepoints {
    /// The codepoint of all packets that come back, and of data without another codepoint.
    dscp: u8,
    other: Option<(SecondCodepoint, Random)>,
}

impl FlowCodepoints {
    fn new(index: usize, spec: &FlowSpec, seed: u64) -> FlowCodepoints {
        let random = || Random::derive(seed, &format!("flow-{index}"), "colour");
        FlowCodepoints { dscp: spec.dscp, other: spec.other.map(|other| (other, random())) }
    }

    /// Whether the next data packet has the other codepoint.
    #[inline]
    pub fn draw(&mut self) -> bool {
        self.other.as_mut().is_some_and(|(other, random)| random.unit() < other.share)
    }

    /// The other codepoint, if that is meant and there is one.
    #[inline]
    pub fn codepoint(&self, is_other: bool) -> u8 {
        self.other.as_ref().filter(|_| is_other).map_or(self.dscp, |(other, _)| other.dscp)
    }
}

/// A flow.
pub struct RunningFlow {
    pub ends: AnyEnds,
    /// Deadline, as it was set.
    pub due: Time,
    /// Entries of packets of the near end and of the far end: the near end of an upload sends where other flows' acknowledgements enter.
    pub entries: [NodeId; 2],
    /// Bits of the handles of its packets: [`KEPT`], or none.
    pub kept: u64,
    pub start: Time,
    /// When it stops sending for good.
    pub stop: Time,
    pub marking: FlowCodepoints,
    /// Round trips after the warm-up, if its ends measure them.
    pub round_trips: Option<Box<DelayHistogram>>,
    /// The far end discards data packets with a larger one-way delay.
    pub discard_delay: Option<Span>,
    /// Packets that it has discarded.
    pub discarded_late: u64,
    /// The smoothed round trips at the ends of bins: how many, and their sum.
    pub srtts: (u64, Span),
    /// Samples of its connection, where they are kept.
    pub log: Option<Box<ConnectionLog>>,
}

impl RunningFlow {
    /// The flow numbered `index`, whose data and acknowledgements enter there; nothing is sent yet.
    pub fn new(index: usize, spec: &FlowSpec, seed: u64, [data, acks]: [NodeId; 2]) -> RunningFlow {
        let entries = if spec.is_upload { [acks, data] } else { [data, acks] };
        let name = format!("flow-{index}");
        let start = Time::ZERO + spec.start;
        let ends =
            spec.transport.ends(&FlowStart { name: &name, seed, start, has_choice: spec.other.is_some() });
        RunningFlow {
            due: start,
            start,
            stop: spec.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
            marking: FlowCodepoints::new(index, spec, seed),
            round_trips: ends.has_round_trips().then(Box::default),
            discard_delay: spec.discard_delay,
            ..RunningFlow::whole_run(ends, entries)
        }
    }

    /// A probe.
    pub fn probe(probe: &ProbeSpec, seed: u64, entries: [NodeId; 2]) -> RunningFlow {
        let random = Random::derive(seed, "probe", "gaps");
        let source = UdpSource::probe(probe.bytes, probe.gap_min, probe.gap_max, Time::ZERO, random);
        RunningFlow::whole_run(Datagrams::one_way(source).into(), entries)
    }

    /// From the beginning of the run to its end, with codepoint 0.
    fn whole_run(ends: AnyEnds, entries: [NodeId; 2]) -> RunningFlow {
        RunningFlow {
            kept: if ends.keeps_packets() { KEPT } else { 0 },
            ends,
            due: Time::ZERO,
            entries,
            start: Time::ZERO,
            stop: Time::NEVER,
            marking: FlowCodepoints { dscp: 0, other: None },
            round_trips: None,
            discard_delay: None,
            discarded_late: 0,
            srtts: (0, Span::ZERO),
            log: None,
        }
    }
}

/// Passes the packets of a flow's ends to the path during one call.
pub struct FlowHost<'a, 'm> {
    pub now: Time,
    pub index: usize,
    /// Entries of packets of the near end and of the far end.
    pub entries: [NodeId; 2],
    pub kept: u64,
    pub path: &'a mut Path,
    pub meter: &'a mut Meter<'m>,
    pub marking: &'a mut FlowCodepoints,
    /// After the warm-up.
    pub round_trips: Option<&'a mut DelayHistogram>,
}

impl Host for FlowHost<'_, '_> {
    type Error = PathError;

    #[inline]
    fn draw(&mut self) -> bool {
        self.marking.draw()
    }

    #[inline(always)]
    fn send(&mut self, end: End, outgoing: Outgoing) -> Result<(), PathError> {
        let handle = self.meter.contents.put(outgoing.contents);
        self.meter.begin(handle);
        let (entry, direction) = match end {
            End::Near => (self.entries[0], 0),
            End::Far => (self.entries[1], ACKNOWLEDGEMENT),
        };
        let packet = Packet {
            handle: handle | direction | self.kept,
            arrival: self.now,
            bytes: outgoing.bytes,
            flow: self.index as u32,
            class: 0,
            dscp: self.marking.codepoint(outgoing.is_other),
            ecn: outgoing.ecn,
            count: 0,
        };
        self.path.ingress(self.now, entry, packet, self.meter)
    }

    #[inline]
    fn sent(&mut self, end: u64) {
        self.meter.measuring.sent(self.now, self.index, end);
    }

    #[inline]
    fn arrived(&mut self, first: u64, end: u64) {
        self.meter.measuring.arrived(self.now, self.index, (first, end));
    }

    #[inline]
    fn in_order(&mut self, bytes: u64) {
        self.meter.measuring.in_order(self.now, self.index, bytes);
    }

    fn round_trip(&mut self, span: Span) {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.record(span);
        }
    }
}
