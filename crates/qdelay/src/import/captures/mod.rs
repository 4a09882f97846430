//! Comparison of two captures, one from each end of a link: the fate of each packet in between.
//!
//! Packets are matched by the header fields that a link leaves unchanged (`headers.rs`). Copies with equal fields are
//! matched in order if both captures have the same number, and the first copy if one was sent; other copies are only counted.
//!
//! | figure | definition |
//! | --- | --- |
//! | delay | receive time minus send time, both by the first clock |
//! | lost | packets of the sending end that the receiving end lacks, among those sent between the first and the last packet of that direction at the receiving end; packets outside may have been in flight when a capture began or ended, and count as `at_the_edges` |
//! | reordered | packets that arrived after a packet of the same flow that was sent later |
//! | copies | packets that arrived more often than sent |
//!
//! `ways.rs` finds the direction of a flow.

mod headers;
mod matching;
mod reader;
mod ways;

pub use headers::Ends;
pub use reader::{Captured, Notes};
pub use ways::Evidence;

use crate::import::clocks::{self, Clocks, Estimate, NoEstimate};
use crate::import::{NANOS_PER_MS, summary};
use headers::{Seen, Unidentified, identify};
use matching::{Flow, matched};
use qdelay_config::InputError;
use qdelay_record::DelaySummary;
use qdelay_record::entity::round;
use reader::ReadError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use ways::Directions;

/// IP bytes above which a packet never was on a wire: a super-packet that the network card segments later.
const WIRE_MAX: u32 = 9_216;

/// Capture of one end.
#[derive(Clone, Debug, Default)]
pub struct Side {
    packets: Vec<Seen>,
    /// Usable packets of the file.
    pub counts: Counts,
    /// Captured bytes and bytes on the wire of the most truncated packet that can still be compared.
    pub shortened: Option<(u32, u32)>,
    /// Captured bytes and bytes on the wire of the most truncated packet that cannot be compared.
    too_short: Option<(u32, u32)>,
    /// Both ends share one clock, because `qdelay link` wrote the capture.
    pub has_one_clock: bool,
}

/// Packets of a capture by usability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// IP packets, without too short ones.
    pub packets: u64,
    /// Packets of other protocols than IP.
    pub not_ip: u64,
    /// IP packets cut within the compared fields.
    pub shortened: u64,
    /// IP packets cut before the identifying fields.
    pub too_short: u64,
    /// Drop records of `qdelay link`, which repeat a packet with a comment.
    pub commented: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// Packets of more than 9216 bytes, made by segmentation offload; the other end has their segments instead.
    pub offloaded: u64,
    /// The file ends within a record.
    pub is_cut: bool,
}

/// Direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the first capture to the second.
    Forth,
    /// From the second capture to the first.
    Back,
}

impl Way {
    /// The other direction.
    pub const fn opposite(self) -> Way {
        match self {
            Way::Forth => Way::Back,
            Way::Back => Way::Forth,
        }
    }
}

/// A flow, or all flows of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowFigures {
    /// Direction.
    pub way: Way,
    /// Evidence of the direction; for all flows of a direction, the weakest.
    pub way_by: Evidence,
    /// Protocol, addresses and ports; empty for all flows of a direction.
    pub flow: String,
    /// Packets at the sending end, without those at the edges.
    pub sent: u64,
    /// Packets among `sent` that the receiving end lacks.
    pub lost: u64,
    /// `lost` over `sent`.
    pub loss: f64,
    /// Packets that arrived after a packet of the flow that was sent later.
    pub reordered: u64,
    /// Packets that arrived more often than sent.
    pub copies: u64,
    /// Packets sent before or after all packets that the other end has.
    pub at_the_edges: u64,
    /// Indistinguishable copies, which have no delay.
    pub alike: u64,
    /// Smallest delay.
    pub delay_min_ms: Option<f64>,
    /// Delays; null where no packet is in both captures.
    pub delay_ms: Option<DelaySummary>,
}

/// Results of the comparison of two captures.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Clock offset of the second capture relative to the first, subtracted from the delays; with a drift, that at the first packet.
    pub clock_offset_ms: f64,
    /// Estimate of offset and drift; null where the offset is given.
    pub clock_estimate: Option<Estimate>,
    /// The clocks by which the delays are computed.
    #[serde(skip)]
    pub clocks: Clocks,
    /// Offset at which the smallest delays of both directions are equal; null where all traffic goes one way.
    pub likely_offset_ms: Option<f64>,
    /// All flows of each direction.
    pub ways: Vec<FlowFigures>,
    /// Flows, in descending order of packets.
    pub flows: Vec<FlowFigures>,
    /// Smallest delay of the first and of the last tenth of the packets of each direction, by send time: a difference can be clock
    /// drift.
    pub least_delays_ms: Vec<[f64; 2]>,
    /// Packets in the order of sending.
    #[serde(skip)]
    pub packets: Vec<Packet>,
}

/// Packet of one or both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Direction.
    pub way: Way,
    /// Flow of the packet.
    pub ends: Ends,
    /// IP bytes.
    pub bytes: u32,
    /// Send time by the clock of the sending end, nanoseconds since 1970.
    pub sent: i64,
    /// Delay; `None` for a lost packet.
    pub delay: Option<i64>,
}

/// Reads a capture of one end.
///
/// # Errors
/// A file that cannot be read, is no capture, or is damaged.
pub fn side(place: &str, file: impl Read) -> Result<Side, InputError> {
    let mut side = Side::default();
    let notes = each(place, file, |packet| side.take(&packet))?;
    side.finish(place, notes)?;
    Ok(side)
}

/// Reads a capture of both ends, one interface each, as written by `qdelay link`: first interface, second interface.
///
/// # Errors
/// Errors of [`side`], or a file without exactly two interfaces with IP packets.
pub fn both_sides(place: &str, file: impl Read) -> Result<[Side; 2], InputError> {
    let mut sides = [Side::default(), Side::default()];
    let mut others = 0_u64;
    let notes = each(place, file, |packet| match sides.get_mut(packet.interface as usize) {
        Some(side) => side.take(&packet),
        None => others += 1,
    })?;
    sides.iter_mut().try_for_each(|side| side.finish(place, notes))?;
    if others > 0 || sides.iter().any(|side| side.packets.is_empty()) {
        let message = "has packets of one interface, or of more than two; expected two captures, or one (pcapng) with an interface for \
            each end, as 'qdelay link --pcap' writes it";
        return Err(InputError::new(place, message));
    }
    Ok(sides)
}

impl Side {
    fn take(&mut self, packet: &Captured) {
        if packet.is_drop {
            self.counts.commented += 1;
            return;
        }
        match identify(packet) {
            Err(Unidentified::NotIp) => self.counts.not_ip += 1,
            Err(Unidentified::TooShort) => {
                self.counts.too_short += 1;
                note_cut(&mut self.too_short, packet);
            }
            Ok(seen) => {
                self.counts.packets += 1;
                self.counts.offloaded += u64::from(seen.identity.bytes > WIRE_MAX);
                if seen.kept < Seen::WHOLE {
                    self.counts.shortened += 1;
                    note_cut(&mut self.shortened, packet);
                }
                self.packets.push(seen);
            }
        }
    }

    /// Adds the properties of the file, and refuses packets without an identity: the other end may have them, and they would count as
    /// lost.
    fn finish(&mut self, place: &str, notes: Notes) -> Result<(), InputError> {
        (self.counts.is_cut, self.counts.without_time) = (notes.is_cut, notes.without_time);
        self.has_one_clock = notes.is_of_link;
        let Some((kept, length)) = self.too_short else { return Ok(()) };
        let message = format!(
            "keeps too little of {} packets to tell them apart ({kept} of {length} bytes); expected at least 96 bytes of each (tcpdump -s 96)",
            self.counts.too_short
        );
        Err(InputError::new(place, message))
    }
}

fn note_cut(most: &mut Option<(u32, u32)>, packet: &Captured) {
    let cut = (packet.bytes.len() as u32, packet.length);
    *most = Some(most.map_or(cut, |most| most.min(cut)));
}

fn each(place: &str, file: impl Read, packet: impl FnMut(Captured)) -> Result<Notes, InputError> {
    reader::read(file, packet).map_err(|error| match error {
        ReadError::Io(error) => InputError::new(place, format!("{error}; expected to be able to read it")),
        ReadError::Damage(offset, message) => InputError::new(place, format!("byte {offset}: {message}")),
    })
}

/// Compares the packets of both ends; the clock of `second` is `offset` nanoseconds ahead.
pub fn compare(first: &Side, second: &Side, offset: i64) -> Comparison {
    compare_flows(matched(first, second), Clocks::constant(offset))
}

/// Compares the packets of both ends by estimated clocks.
///
/// # Errors
/// Captures without traffic of known direction both ways, or with clocks that were set meanwhile.
pub fn compare_estimated(first: &Side, second: &Side) -> Result<Comparison, NoEstimate> {
    let flows = matched(first, second);
    let directions = Directions::new(&flows, &Clocks::default());
    let mut times = [Vec::new(), Vec::new()];
    for (ends, flow) in &flows {
        // A direction by the sign presumes the offset.
        if let (way, Evidence::Reverse | Evidence::HopLimit) = directions.of_flow(ends) {
            times[way as usize].extend(flow.both.iter().map(|(first, second, _)| (*first, *second)));
        }
    }
    let [forth, back] = times;
    let estimate = clocks::estimate(&forth, &back)?;
    let comparison = compare_flows(flows, estimate.clocks);
    Ok(Comparison { clock_estimate: Some(estimate), ..comparison })
}

fn compare_flows(flows: BTreeMap<Ends, Flow>, clocks: Clocks) -> Comparison {
    let directions = Directions::new(&flows, &clocks);
    // Packets by direction.
    let mut ways: BTreeMap<Way, Vec<(Ends, Evidence, Flow)>> = BTreeMap::new();
    for (ends, flow) in flows {
        let (way, evidence) = directions.of_flow(&ends);
        ways.entry(way).or_default().push((ends, evidence, flow));
    }
    let mut comparison = Comparison {
        clock_offset_ms: clocks.offset() as f64 / NANOS_PER_MS,
        clock_estimate: None,
        clocks,
        likely_offset_ms: None,
        ways: Vec::new(),
        flows: Vec::new(),
        least_delays_ms: Vec::new(),
        packets: Vec::new(),
    };
    let least: Vec<Option<i64>> =
        ways.into_iter().map(|(way, flows)| of_way(way, flows, &mut comparison)).collect();
    if let [Some(forth), Some(back)] = least.as_slice() {
        let nanos = (i128::from(*forth) - i128::from(*back)) / 2 + i128::from(clocks.offset());
        comparison.likely_offset_ms = Some(nanos as f64 / NANOS_PER_MS);
    }
    comparison.flows.sort_by_key(|flow| std::cmp::Reverse(flow.sent));
    comparison.packets.sort_by_key(|packet| (packet.sent, packet.ends));
    comparison
}

/// Adds the flows of a direction; returns its smallest delay in nanoseconds.
fn of_way(way: Way, flows: Vec<(Ends, Evidence, Flow)>, comparison: &mut Comparison) -> Option<i64> {
    let clocks = comparison.clocks;
    let (from, to) = if way == Way::Forth { (0, 1) } else { (1, 0) };
    // Send time and delay, seen from the sending end of this direction.
    let of_both = |(one, other, bytes): &(i64, i64, u32)| {
        let delay = clocks.to_first(*other).saturating_sub(*one);
        if way == Way::Forth { (*one, delay, *bytes) } else { (*other, delay.saturating_neg(), *bytes) }
    };
    let sent = || flows.iter().flat_map(|(_, _, flow)| flow.both.iter().map(of_both)).map(|(sent, ..)| sent);
    // Packets outside may have been in flight when a capture began or ended.
    let (begin, end) = (sent().min().unwrap_or(i64::MAX), sent().max().unwrap_or(i64::MIN));
    let mut all = Sums::default();
    for (ends, evidence, flow) in &flows {
        let mut sums = Sums { alike: flow.alike, ..Sums::default() };
        sums.pairs.extend(flow.both.iter().map(of_both));
        // More arrivals than sent packets are copies. Arrivals that were never sent came from elsewhere.
        sums.copies = flow.more[to];
        for (sent, bytes) in &flow.only[from] {
            let is_inside = begin <= *sent && *sent <= end;
            if is_inside {
                sums.lost += 1
            } else {
                sums.at_the_edges += 1
            }
            if is_inside {
                let packet = Packet { way, ends: *ends, bytes: *bytes, sent: *sent, delay: None };
                comparison.packets.push(packet);
            }
        }
        sums.at_the_edges += flow.only[to].len() as u64 - flow.more[to];
        let packet = |(sent, delay, bytes): &(i64, i64, u32)| Packet {
            way,
            ends: *ends,
            bytes: *bytes,
            sent: *sent,
            delay: Some(*delay),
        };
        comparison.packets.extend(sums.pairs.iter().map(packet));
        all.add(&sums);
        comparison.flows.push(sums.figures(way, *evidence, ends.to_string()));
    }
    all.pairs.sort_unstable();
    let tenth = all.pairs.len().div_ceil(10);
    let least = |part: &[(i64, i64, u32)]| part.iter().map(|(_, delay, _)| *delay).min();
    let parts = [all.pairs.get(..tenth), all.pairs.get(all.pairs.len() - tenth..)];
    if let [Some(begin), Some(end)] = parts.map(|part| part.and_then(least)) {
        comparison.least_delays_ms.push([begin, end].map(|nanos| round(nanos as f64 / NANOS_PER_MS)));
    }
    let weakest = flows.iter().map(|(_, evidence, _)| *evidence).max().unwrap_or(Evidence::Sign);
    comparison.ways.push(all.figures(way, weakest, String::new()));
    least(&all.pairs)
}

/// Packets of a flow in its direction: send time, delay, bytes.
#[derive(Default)]
struct Sums {
    pairs: Vec<(i64, i64, u32)>,
    reordered: u64,
    lost: u64,
    copies: u64,
    at_the_edges: u64,
    alike: u64,
}

impl Sums {
    fn add(&mut self, flow: &Sums) {
        self.pairs.extend(&flow.pairs);
        self.reordered += flow.reordered();
        self.lost += flow.lost;
        self.copies += flow.copies;
        self.at_the_edges += flow.at_the_edges;
        self.alike += flow.alike;
    }

    /// Number of packets that arrived after a packet sent later.
    fn reordered(&self) -> u64 {
        let mut arrivals: Vec<(i64, i64)> =
            self.pairs.iter().map(|(sent, delay, _)| (sent.saturating_add(*delay), *sent)).collect();
        arrivals.sort_unstable();
        let mut latest = i64::MIN;
        let mut count = 0;
        for (_, sent) in arrivals {
            count += u64::from(sent < latest);
            latest = latest.max(sent);
        }
        count
    }

    fn figures(&self, way: Way, way_by: Evidence, flow: String) -> FlowFigures {
        let reordered = if flow.is_empty() { self.reordered } else { self.reordered() };
        let mut delays: Vec<i64> = self.pairs.iter().map(|(_, delay, _)| *delay).collect();
        let delay_ms = summary(&mut delays);
        let sent = self.pairs.len() as u64 + self.alike + self.lost;
        FlowFigures {
            way,
            way_by,
            flow,
            sent,
            lost: self.lost,
            loss: round(self.lost as f64 / sent.max(1) as f64),
            reordered,
            copies: self.copies,
            at_the_edges: self.at_the_edges,
            alike: self.alike,
            delay_min_ms: delays.first().map(|nanos| round(*nanos as f64 / NANOS_PER_MS)),
            delay_ms,
        }
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ends { protocol, source, source_port, destination, destination_port } = self;
        let name = match protocol {
            1 => "icmp".to_string(),
            6 => "tcp".to_string(),
            17 => "udp".to_string(),
            58 => "icmp6".to_string(),
            132 => "sctp".to_string(),
            other => format!("ip-{other}"),
        };
        if (*source_port, *destination_port) == (0, 0) {
            return write!(f, "{name} {source} > {destination}");
        }
        let end = |address: &std::net::IpAddr, port: &u16| std::net::SocketAddr::new(*address, *port);
        write!(f, "{name} {} > {}", end(source, source_port), end(destination, destination_port))
    }
}
