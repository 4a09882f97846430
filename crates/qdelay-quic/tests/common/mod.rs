//! A link between both ends of a flow: a fixed delay, and packets that are lost, copied, delayed and marked at random.

use core::convert::Infallible;
use qdelay_core::component::Registry;
use qdelay_core::{Ecn, Packet, Random, Span, Time};
use qdelay_quic::QuicConfig;
use qdelay_quic::ends::QuicEnds;
use qdelay_sim::{Bottleneck, FlowSpec, Scenario};
use qdelay_traffic::ends::{Contents, End, FlowStart, Host, Outgoing};
use qdelay_traffic::own::OwnEnds;
use qdelay_traffic::transport::{self, TransportConfig};
use std::collections::BTreeMap;

/// Settings of the connection that `text` describes.
pub fn quic(text: &str) -> QuicConfig {
    let arguments =
        qdelay_core::component::Arguments::parse(qdelay_quic::component::COMPONENTS, text).unwrap();
    qdelay_quic::component::build(&arguments).unwrap()
}

/// A flow of `text` for the simulator.
pub fn flow(text: &str) -> FlowSpec {
    let registry = Registry::new().with(qdelay_quic::custom());
    let arguments = registry.parse(transport::COMPONENTS, text).unwrap();
    FlowSpec::new(text, TransportConfig::build(&arguments).unwrap())
}

/// A scenario of one flow over a line of `mbit` Mbit/s behind a drop-tail queue of `packets` packets.
pub fn scenario(text: &str, mbit: f64, packets: u64, rtt: Span, duration: Span) -> Scenario {
    use qdelay_core::component::Arguments;
    let qdisc =
        Arguments::parse(qdelay_core::qdisc::COMPONENTS, &format!("taildrop:limit={packets}")).unwrap();
    let line = qdelay_path::Line::new(qdelay_core::Rate::from_mbps(mbit), 0);
    let mut scenario = Scenario::new(Bottleneck::link(qdisc, line), rtt, duration);
    scenario.flows.push(flow(text));
    scenario
}

/// Impairments of a link: probabilities, 0 to 1, and the largest extra delay.
#[derive(Clone, Copy, Debug)]
pub struct Harm {
    pub lost: f64,
    pub doubled: f64,
    /// Largest extra delay; that of each packet is uniform from 0.
    pub late: Span,
    /// Probability of a CE mark on an ECN-capable packet.
    pub marked: f64,
}

pub const HARMLESS: Harm = Harm { lost: 0.0, doubled: 0.0, late: Span::ZERO, marked: 0.0 };

/// One flow and its link.
pub struct Pair {
    pub ends: QuicEnds,
    pub link: Link,
    due: Time,
}

/// A link: packets in flight, and counts of all others.
pub struct Link {
    delay: Span,
    harm: Harm,
    random: Random,
    now: Time,
    next: u64,
    flying: BTreeMap<(Time, u64), (End, Outgoing)>,
    /// Contents of lost (`false`) and copied (`true`) packets, not yet reported to the ends.
    fates: Vec<(Contents, bool)>,
    pub sent: u64,
    pub lost: u64,
    pub doubled: u64,
    pub arrived: u64,
    /// Send time of each packet, whether the near end sent it, and its size, bytes.
    pub log: Vec<(Time, bool, u32)>,
    /// Stream bytes sent at least once.
    pub stream_sent: u64,
    /// Stream bytes delivered in order.
    pub in_order: u64,
}

impl Host for Link {
    type Error = Infallible;

    fn draw(&mut self) -> bool {
        false
    }
    fn send(&mut self, end: End, mut outgoing: Outgoing) -> Result<(), Infallible> {
        self.sent += 1;
        self.log.push((self.now, end == End::Near, outgoing.bytes));
        if self.random.unit() < self.harm.lost {
            self.lost += 1;
            self.fates.push((outgoing.contents, false));
            return Ok(());
        }
        if outgoing.ecn != Ecn::NotEct && self.random.unit() < self.harm.marked {
            outgoing.ecn = Ecn::Ce;
        }
        self.fly(end, outgoing);
        if self.random.unit() < self.harm.doubled {
            self.doubled += 1;
            self.fates.push((outgoing.contents, true));
            self.fly(end, outgoing);
        }
        Ok(())
    }
    fn sent(&mut self, end: u64) {
        assert!(end > self.stream_sent);
        self.stream_sent = end;
    }
    fn in_order(&mut self, bytes: u64) {
        assert!(bytes >= self.in_order && bytes <= self.stream_sent);
        self.in_order = bytes;
    }
    fn round_trip(&mut self, _: Span) {}
}

impl Link {
    fn fly(&mut self, end: End, outgoing: Outgoing) {
        let late = Span::from_nanos(self.random.below(self.harm.late.as_nanos() + 1));
        self.flying.insert((self.now + self.delay + late, self.next), (end, outgoing));
        self.next += 1;
    }
}

impl Pair {
    pub fn new(text: &str, seed: u64, delay: Span, harm: Harm) -> Pair {
        let start = FlowStart { name: "flow", seed, start: Time::ZERO, has_choice: false };
        let link = Link {
            delay,
            harm,
            random: Random::derive(seed, "link", "test"),
            now: Time::ZERO,
            next: 0,
            flying: BTreeMap::new(),
            fates: Vec::new(),
            sent: 0,
            lost: 0,
            doubled: 0,
            arrived: 0,
            log: Vec::new(),
            stream_sent: 0,
            in_order: 0,
        };
        Pair { ends: QuicEnds::new(&quic(text), &start), link, due: Time::ZERO }
    }

    /// The application offers `total` bytes at `now`, up to which the pair has run. Returns whether the ends support offers.
    pub fn offer(&mut self, now: Time, total: u64) -> bool {
        self.link.now = now;
        let due = self.ends.offer(now, total, &mut self.link);
        self.due = self.due.min(due.unwrap_or(Time::NEVER));
        due.is_some()
    }

    /// Runs until `end`, or until no packet and no deadline is left.
    pub fn run(&mut self, end: Time) {
        loop {
            for (contents, is_doubled) in std::mem::take(&mut self.link.fates) {
                if is_doubled { self.ends.doubled(&contents) } else { self.ends.lost(&contents) }
            }
            // Conservation: sent and copied packets are lost, arrived or in flight.
            assert_eq!(
                self.link.sent + self.link.doubled,
                self.link.lost + self.link.arrived + self.link.flying.len() as u64
            );
            let arrival = self.link.flying.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let now = arrival.min(self.due);
            if now > end || now == Time::NEVER {
                return;
            }
            assert!(now >= self.link.now, "time went back");
            self.link.now = now;
            if arrival <= now
                && let Some((_, (from, outgoing))) = self.link.flying.pop_first()
            {
                self.link.arrived += 1;
                let at = if from == End::Near { End::Far } else { End::Near };
                let packet = Packet {
                    handle: 0,
                    arrival: now,
                    bytes: outgoing.bytes,
                    flow: 0,
                    class: 0,
                    dscp: 0,
                    ecn: outgoing.ecn,
                    count: 0,
                };
                let due = self.ends.arrive(now, at, &packet, &outgoing.contents, false, &mut self.link);
                self.due = self.due.min(due);
            } else {
                self.due = self.ends.wake(now, false, &mut self.link);
            }
        }
    }

    /// Number of packets in flight.
    pub fn flying(&self) -> usize {
        self.link.flying.len()
    }
}
