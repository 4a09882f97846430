//! The ends of a flow of datagrams ([`crate::udp`]): a source, and a far end that counts them, echoes them or plays them to a listener.

use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::playout::Playout;
use crate::udp::{UdpConfig, UdpSource};
use crate::voice::{Call, UDP_HEADERS, VoiceOutcome};
use alloc::boxed::Box;
use qdelay_core::{Ecn, Packet, Span, Time};

/// Longest useful delay of a packet of a call: later packets are too late for any listener.
const UNDECIDED: Span = Span::from_secs(1);

/// Both ends of a flow of datagrams.
pub struct Datagrams {
    source: UdpSource,
    /// Whether the far end sends each datagram back.
    echoes: bool,
    /// The listener to whom the far end plays the speech; `None` without a call.
    listener: Option<Box<Listener>>,
    delivered_bytes: u64,
}

/// The listening end of a call.
struct Listener {
    call: Call,
    playout: Playout,
}

impl Datagrams {
    /// A source whose far end only counts datagrams.
    pub fn one_way(source: UdpSource) -> Datagrams {
        Datagrams { source, echoes: false, listener: None, delivered_bytes: 0 }
    }
}

impl Ends for Datagrams {
    type Config = UdpConfig;

    fn new(config: &UdpConfig, flow: &FlowStart<'_>) -> Datagrams {
        let listener =
            |call: Call| Box::new(Listener { call, playout: Playout::new(call.playout, call.interval) });
        Datagrams {
            echoes: config.echo,
            listener: config.call.map(listener),
            ..Datagrams::one_way(UdpSource::new(config.clone(), flow.start, flow.random("source")))
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if is_stopped {
            return Ok(Time::NEVER);
        }
        let number = self.source.sent();
        if let Some(bytes) = self.source.poll(now) {
            let contents = Contents { created: now, number, ..Contents::default() };
            let is_other = host.draw();
            host.send(End::Near, Outgoing { contents, bytes, ecn: Ecn::NotEct, is_other })?;
        }
        Ok(self.source.next_deadline())
    }

    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        _: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        match at {
            End::Far => {
                self.delivered_bytes += u64::from(packet.bytes.saturating_sub(UDP_HEADERS));
                if let Some(listener) = &mut self.listener {
                    listener.playout.arrived(contents.number, contents.created, now);
                }
                if self.echoes {
                    // The echo is the same packet.
                    let (contents, bytes, ecn) = (*contents, packet.bytes, packet.ecn);
                    host.send(End::Far, Outgoing { contents, bytes, ecn, is_other: false })?;
                }
            }
            End::Near => host.round_trip(now.since(contents.created)),
        }
        Ok(Time::NEVER)
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        None
    }
    fn has_round_trips(&self) -> bool {
        self.echoes
    }
    fn end_warmup(&mut self, _: Time) {
        if let Some(listener) = &mut self.listener {
            listener.playout.restart(self.source.sent());
        }
    }

    fn figures(&self, _: Time) -> EndFigures {
        let voice = self.listener.as_ref().and_then(|listener| {
            // Packets of the last second are left out: whether they would have been played is unknown.
            let undecided = UNDECIDED.as_nanos() / listener.call.interval.as_nanos().max(1);
            let heard = listener.playout.heard(self.source.sent().saturating_sub(undecided));
            (heard.sent > 0).then(|| VoiceOutcome { heard, quality: listener.call.quality(&heard) })
        });
        EndFigures { packets_sent: self.source.sent(), voice, ..EndFigures::default() }
    }
}
