//! The two ends of a flow.

use crate::controlled::Controlled;
use crate::scenario::{FlowSpec, OtherMark};
use qdelay_core::{Random, Span, Time};
use qdelay_record::DelayHistogram;
use qdelay_traffic::control::Reno;
use qdelay_traffic::playout::Playout;
use qdelay_traffic::tcp::{Endpoint, TcpConfig};
use qdelay_traffic::transport::TransportConfig;
use qdelay_traffic::udp::{UdpConfig, UdpSource};
use qdelay_traffic::voice::Call;

/// An unlimited download: more than any run can send.
const ENDLESS: u64 = 1 << 62;

/// The ends of a flow.
#[allow(clippy::large_enum_variant, reason = "one per flow")]
pub enum Ends {
    /// A connection.
    Tcp { sender: Box<Endpoint>, receiver: Box<Endpoint>, bytes: Option<u64> },
    /// Datagrams; the far end counts.
    Udp(Datagrams),
    /// Datagrams at a rate that TFRC controls.
    Controlled(Box<Controlled>),
}

/// Datagrams and what their far end does with them.
pub struct Datagrams {
    pub source: UdpSource,
    /// Round trips after the warm-up, where the far end sends everything back.
    pub echo: Option<Box<DelayHistogram>>,
    /// Somebody listens to the far end.
    pub listener: Option<Box<Listener>>,
}

/// The listening end of a call.
pub struct Listener {
    pub call: Call,
    pub playout: Playout,
}

impl Datagrams {
    fn new(source: UdpSource, config: Option<UdpConfig>) -> Datagrams {
        let call = config.and_then(|config| config.call);
        let listener =
            |call: Call| Box::new(Listener { call, playout: Playout::new(call.playout, call.interval) });
        Datagrams {
            source,
            echo: config.filter(|config| config.echo).map(|_| Box::default()),
            listener: call.map(listener),
        }
    }
}

/// The codepoints of a flow.
pub struct Marking {
    /// Of all that comes back, and of data without another.
    pub dscp: u8,
    other: Option<(OtherMark, Random)>,
}

impl Marking {
    fn new(index: usize, spec: &FlowSpec, seed: u64) -> Marking {
        let random = || Random::derive(seed, &format!("flow-{index}"), "colour");
        Marking { dscp: spec.dscp, other: spec.other.map(|other| (other, random())) }
    }

    /// Whether the next data packet has the other codepoint.
    #[inline]
    pub fn draw(&mut self) -> bool {
        self.other.as_mut().is_some_and(|(other, random)| random.unit() < other.share)
    }

    /// The other codepoint, if that is meant and there is one.
    #[inline]
    pub fn of(&self, is_other: bool) -> u8 {
        self.other.as_ref().filter(|_| is_other).map_or(self.dscp, |(other, _)| other.dscp)
    }

    /// The codepoint of the next data packet.
    #[inline]
    pub fn data(&mut self) -> u8 {
        let is_other = self.draw();
        self.of(is_other)
    }
}

/// A flow as it runs.
pub struct Flow {
    pub ends: Ends,
    pub start: Time,
    pub started: bool,
    /// When it stops sending for good.
    pub stop: Time,
    pub marking: Marking,
    /// The far end throws away what comes later than this.
    pub discard_after: Option<Span>,
    /// How many packets it has thrown away.
    pub discarded_late: u64,
    /// Application bytes that have arrived.
    pub delivered_bytes: u64,
    /// The same at the end of the warm-up.
    pub delivered_at_warmup: u64,
    /// The smoothed round trips at the ends of bins: how many, and their sum.
    pub srtts: (u64, Span),
    /// When the last byte of a finite download arrived.
    pub finished: Option<Time>,
}

/// Bytes of IPv4 and UDP headers in a datagram.
pub const UDP_HEADERS: u32 = 28;

impl Flow {
    /// The flow numbered `index`; nothing is sent yet.
    pub fn new(index: usize, spec: &FlowSpec, seed: u64) -> Flow {
        let name = format!("flow-{index}");
        let start = Time::ZERO + spec.start;
        let ends = match spec.transport {
            TransportConfig::Tcp(TcpConfig { profile, controller, bytes }) => {
                let random = |purpose| Random::derive(seed, &name, purpose);
                // The far end sends acknowledgements only; its controller has nothing to do.
                Ends::Tcp {
                    sender: Box::new(Endpoint::new(profile, controller, random("sender"))),
                    receiver: Box::new(Endpoint::new(profile, Reno.into(), random("receiver"))),
                    bytes,
                }
            }
            TransportConfig::Udp(config) => {
                let source = UdpSource::new(config, start, Random::derive(seed, &name, "source"));
                Ends::Udp(Datagrams::new(source, Some(config)))
            }
            TransportConfig::Tfrc(config) => Ends::Controlled(Box::new(Controlled::tfrc(&config, start))),
            TransportConfig::Audio(config) => {
                let random = Random::derive(seed, &name, "source");
                let is_free = spec.other.is_some();
                Ends::Controlled(Box::new(Controlled::audio(config, start, is_free, random)))
            }
        };
        Flow {
            ends,
            start,
            started: false,
            stop: spec.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
            marking: Marking::new(index, spec, seed),
            discard_after: spec.discard_after,
            discarded_late: 0,
            delivered_bytes: 0,
            delivered_at_warmup: 0,
            srtts: (0, Span::ZERO),
            finished: None,
        }
    }

    /// A probe.
    pub fn probe(probe: &crate::ProbeSpec, seed: u64) -> Flow {
        let random = Random::derive(seed, "probe", "gaps");
        let source =
            UdpSource::probe(probe.bytes, probe.gap_min, probe.gap_max, Time::ZERO + Span::ZERO, random);
        Flow {
            ends: Ends::Udp(Datagrams::new(source, None)),
            start: Time::ZERO,
            started: false,
            stop: Time::NEVER,
            marking: Marking { dscp: 0, other: None },
            discard_after: None,
            discarded_late: 0,
            delivered_bytes: 0,
            delivered_at_warmup: 0,
            srtts: (0, Span::ZERO),
            finished: None,
        }
    }

    /// Bytes its application wants to send.
    pub fn wanted(bytes: Option<u64>) -> u64 {
        bytes.unwrap_or(ENDLESS)
    }
}
