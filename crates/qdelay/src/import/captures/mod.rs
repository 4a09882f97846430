//! Two captures, one from each end of a link: what became of each packet in between.
//!
//! A packet is found in the other capture by the fields that a link leaves as they are (`headers.rs`). Copies with equal fields are
//! matched in their order where both captures have as many, and the first copy where one was sent; other copies only count.
//!
//! | figure | what |
//! | --- | --- |
//! | delay | the time in the one capture less that in the other, and less the clock offset |
//! | lost | packets of the one capture that the other one lacks, among those sent between the first and the last packet of that way which it has: what is before or after may have been on its way when a capture began or ended, and is `at_the_edges` |
//! | reordered | packets that arrived after one of their flow that was sent later |
//! | copies | packets that arrived more often than they were sent |
//!
//! `ways.rs` tells which way a flow goes.

mod headers;
mod matching;
mod reader;
mod ways;

pub use headers::Ends;
pub use reader::{Captured, Notes};
pub use ways::Evidence;

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

/// IP bytes above which a packet was not on a wire: segments that the network card cuts later.
const WIRE_MAX: u32 = 9_216;

/// One end's capture.
#[derive(Clone, Debug, Default)]
pub struct Side {
    packets: Vec<Seen>,
    /// What of the file is of use.
    pub counts: Counts,
    /// Bytes kept, and bytes on the wire, of the packet that was cut most and can still be compared.
    pub shortened: Option<(u32, u32)>,
    /// The same of packets that cannot.
    too_short: Option<(u32, u32)>,
    /// Whether both ends have one clock: `qdelay link` wrote the capture.
    pub has_one_clock: bool,
}

/// How much of a capture can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// IP packets, without those that are too short.
    pub packets: u64,
    /// Packets that are not IP.
    pub not_ip: u64,
    /// IP packets that were cut within the fields that are compared.
    pub shortened: u64,
    /// IP packets that were cut before the fields that tell packets apart.
    pub too_short: u64,
    /// Packets that `qdelay link` marked as dropped, with a comment: they stand there once more.
    pub commented: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// Packets of more than 9216 bytes: segmentation offload, whose parts are not found at the other end.
    pub offloaded: u64,
    /// The file ends within a record.
    pub is_cut: bool,
}

/// Which way a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the first capture to the second.
    Forth,
    /// Back.
    Back,
}

/// A flow, or all flows of a way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowFigures {
    /// Which way.
    pub way: Way,
    /// Evidence of the direction; the weakest of all flows where this is a way.
    pub way_by: Evidence,
    /// Protocol, addresses and ports; empty of all.
    pub flow: String,
    /// Packets at the end where they were sent, without those at the edges.
    pub sent: u64,
    /// Of these, those that the other end lacks.
    pub lost: u64,
    /// That over `sent`.
    pub loss: f64,
    /// See the module.
    pub reordered: u64,
    /// Packets that arrived more often than they were sent.
    pub copies: u64,
    /// Sent before or after all that the other end has.
    pub at_the_edges: u64,
    /// Copies that cannot be told apart, and are in no delay.
    pub alike: u64,
    /// Least delay.
    pub delay_min_ms: Option<f64>,
    /// Delays; null where no packet is in both.
    pub delay_ms: Option<DelaySummary>,
}

/// What two captures say.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Of the second clock over the first: what delays are less by.
    pub clock_offset_ms: f64,
    /// Offset by which the least delays of both ways are equal; null where all traffic goes one way.
    pub likely_offset_ms: Option<f64>,
    /// All flows of each way.
    pub ways: Vec<FlowFigures>,
    /// Each flow, those with most packets first.
    pub flows: Vec<FlowFigures>,
    /// The least delay of the first and of the last tenth of the packets of each way, by the time of sending: a difference may be a clock that
    /// drifts.
    pub least_delays_ms: Vec<[f64; 2]>,
    /// Each packet in the order of sending.
    #[serde(skip)]
    pub packets: Vec<Packet>,
}

/// A packet that one or both captures have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which way.
    pub way: Way,
    /// Its flow.
    pub ends: Ends,
    /// IP bytes.
    pub bytes: u32,
    /// When it was sent, by the clock of that end, nanoseconds since 1970.
    pub sent: i64,
    /// Its delay; `None` of a lost one.
    pub delay: Option<i64>,
}

/// Reads a capture of one end.
///
/// # Errors
/// The file cannot be read, is no capture, or is damaged.
pub fn side(place: &str, file: impl Read) -> Result<Side, InputError> {
    let mut side = Side::default();
    let notes = each(place, file, |packet| side.take(&packet))?;
    side.finish(place, notes)?;
    Ok(side)
}

/// Reads a capture of both ends, each at an interface of its own, as `qdelay link` writes it: the first interface, and the second.
///
/// # Errors
/// As [`side`]; there are not two interfaces with IP packets.
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

    /// Takes over what the file says, and refuses packets that cannot be told apart: the other end may have them, and they would count as
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

/// Matches the packets of both ends; `offset` nanoseconds is what the clock of `second` is ahead.
pub fn compare(first: &Side, second: &Side, offset: i64) -> Comparison {
    let flows = matched(first, second);
    let directions = Directions::new(&flows, offset);
    // Per way: the packets that were on it.
    let mut ways: BTreeMap<Way, Vec<(Ends, Evidence, Flow)>> = BTreeMap::new();
    for (ends, flow) in flows {
        let (way, evidence) = directions.of_flow(&ends);
        ways.entry(way).or_default().push((ends, evidence, flow));
    }
    let mut comparison = Comparison {
        clock_offset_ms: offset as f64 / NANOS_PER_MS,
        likely_offset_ms: None,
        ways: Vec::new(),
        flows: Vec::new(),
        least_delays_ms: Vec::new(),
        packets: Vec::new(),
    };
    let least: Vec<Option<i64>> =
        ways.into_iter().map(|(way, flows)| of_way(way, flows, offset, &mut comparison)).collect();
    if let [Some(forth), Some(back)] = least.as_slice() {
        let nanos = (i128::from(*forth) - i128::from(*back)) / 2 + i128::from(offset);
        comparison.likely_offset_ms = Some(nanos as f64 / NANOS_PER_MS);
    }
    comparison.flows.sort_by_key(|flow| std::cmp::Reverse(flow.sent));
    comparison.packets.sort_by_key(|packet| (packet.sent, packet.ends));
    comparison
}

/// Adds the flows of a way, and returns its least delay in nanoseconds.
fn of_way(
    way: Way,
    flows: Vec<(Ends, Evidence, Flow)>,
    offset: i64,
    comparison: &mut Comparison,
) -> Option<i64> {
    let (from, to) = if way == Way::Forth { (0, 1) } else { (1, 0) };
    // When it was sent and its delay, from the end that this way begins at.
    let of_both = |(one, other, bytes): &(i64, i64, u32)| {
        let delay = other.saturating_sub(*one).saturating_sub(offset);
        if way == Way::Forth { (*one, delay, *bytes) } else { (*other, delay.saturating_neg(), *bytes) }
    };
    let sent = || flows.iter().flat_map(|(_, _, flow)| flow.both.iter().map(of_both)).map(|(sent, ..)| sent);
    // Packets outside may have been on their way when a capture began or ended.
    let (begin, end) = (sent().min().unwrap_or(i64::MAX), sent().max().unwrap_or(i64::MIN));
    let mut all = Sums::default();
    for (ends, evidence, flow) in &flows {
        let mut sums = Sums { alike: flow.alike, ..Sums::default() };
        sums.pairs.extend(flow.both.iter().map(of_both));
        // More arrivals than packets sent: copies. Those that were never sent have come from elsewhere.
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

/// The packets of a flow on its way: when each was sent, its delay, its bytes.
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

    /// Packets that arrived after one that was sent later.
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
