//! A download over TCP: the near end sends, and the far end only acknowledges.
//!
//! The near end sends the bytes that its application has offered, and then waits without closing. A finite download offers all of its bytes at
//! once and closes; an unlimited one offers more bytes than a run can send.

use super::{Endpoint, Phase, Prelude, TcpConfig};
use crate::control::Reno;
use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::segment::Segment;
use alloc::vec::Vec;
use qdelay_core::{Packet, Span, Time};

/// Bytes of an unlimited download: more than any run can send.
const ENDLESS: u64 = 1 << 62;

/// Both ends of a TCP flow.
pub struct TcpEnds {
    near: Endpoint,
    far: Endpoint,
    /// Application bytes offered so far.
    offered: u64,
    /// Whether no bytes follow the offered ones.
    is_all: bool,
    prelude: Option<Prelude>,
    is_open: bool,
    /// Time at which the application writes its first data; [`Time::NEVER`] once written, and before the connection is open.
    writes: Time,
    delivered_bytes: u64,
    finished: Option<Time>,
    /// Segments to send at the end of the current call.
    out: Vec<Segment>,
}

impl TcpEnds {
    /// Sends the segments of `out`, if any.
    #[inline]
    fn flush<H: Host>(&mut self, now: Time, from: End, host: &mut H) -> Result<(), H::Error> {
        if self.out.is_empty() { Ok(()) } else { self.send(now, from, host) }
    }

    fn send<H: Host>(&mut self, now: Time, from: End, host: &mut H) -> Result<(), H::Error> {
        let is_near = from == End::Near;
        let end = if is_near { &self.near } else { &self.far };
        let sent = self.out.iter().try_for_each(|segment| {
            if is_near && segment.len > 0 {
                host.sent(end.data_end(segment));
            }
            let outgoing = Outgoing {
                contents: Contents { segment: *segment, created: now, number: 0 },
                bytes: segment.ip_bytes(),
                ecn: end.ecn(segment),
                is_other: is_near && host.draw(),
            };
            host.send(from, outgoing)
        });
        self.out.clear();
        sent
    }

    fn open(&mut self, now: Time) {
        self.is_open = true;
        self.near.connect(now, &mut self.out);
        match self.prelude {
            None => self.write(now),
            Some(Prelude { lead, greeting }) => {
                self.near.greet(now, greeting);
                self.writes = now + lead;
            }
        }
    }

    fn write(&mut self, now: Time) {
        self.writes = Time::NEVER;
        self.near.write(now, self.offered, &mut self.out);
        if self.is_all {
            self.near.close(now, &mut self.out);
        }
    }

    /// Ends of a connection whose application offers its bytes over time, none at first. Partial segments leave at once (`TCP_NODELAY`, as for
    /// servers).
    pub fn carrying(config: &TcpConfig, flow: &FlowStart<'_>) -> TcpEnds {
        let mut ends = TcpEnds::new(&TcpConfig { bytes: Some(0), ..config.clone() }, flow);
        ends.near.set_nodelay();
        ends.is_all = false;
        ends
    }

    /// Lets the near end send the first `total` bytes of its stream; a total below an earlier one has no effect. Returns a time at which the ends
    /// are to be called.
    ///
    /// # Errors
    /// Errors of the host.
    pub fn offer<H: Host>(&mut self, now: Time, total: u64, host: &mut H) -> Result<Time, H::Error> {
        let more = total.saturating_sub(self.offered);
        self.offered += more;
        if more > 0 && self.is_open && self.writes == Time::NEVER {
            self.near.write(now, more, &mut self.out);
            self.flush(now, End::Near, host)?;
        }
        Ok(self.near.next_deadline())
    }
}

impl Ends for TcpEnds {
    type Config = TcpConfig;

    fn new(config: &TcpConfig, flow: &FlowStart<'_>) -> TcpEnds {
        TcpEnds {
            near: Endpoint::new(config.profile, config.controller.clone(), flow.random("sender")),
            // The far end only sends acknowledgements; its controller is not used.
            far: Endpoint::new(config.profile, Reno.into(), flow.random("receiver")),
            offered: config.bytes.unwrap_or(ENDLESS),
            is_all: config.bytes.is_some(),
            prelude: config.prelude,
            is_open: false,
            writes: Time::NEVER,
            delivered_bytes: 0,
            finished: None,
            out: Vec::new(),
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped {
            if !self.is_open {
                self.open(now);
            }
            if self.writes <= now {
                self.write(now);
            }
            self.near.on_deadline(now, &mut self.out);
            self.flush(now, End::Near, host)?;
        }
        self.far.on_deadline(now, &mut self.out);
        self.flush(now, End::Far, host)?;
        let far = self.far.next_deadline();
        Ok(if is_stopped { far } else { far.min(self.near.next_deadline()).min(self.writes) })
    }

    #[inline]
    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        let deadline = match at {
            End::Near if is_stopped => return Ok(Time::NEVER),
            End::Near => {
                self.near.on_segment(now, &contents.segment, packet.ecn, &mut self.out);
                self.near.next_deadline().min(self.writes)
            }
            End::Far => {
                let data = self.far.data_of(&contents.segment);
                self.far.on_segment(now, &contents.segment, packet.ecn, &mut self.out);
                if let Some((first, end)) = data {
                    host.arrived(first, end);
                }
                self.delivered_bytes = self.far.bytes_received();
                host.in_order(self.delivered_bytes);
                if self.is_all && self.finished.is_none() && self.delivered_bytes >= self.offered {
                    self.finished = Some(now);
                }
                self.far.next_deadline()
            }
        };
        self.flush(now, at, host)?;
        Ok(deadline)
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.near.sender().rtt().smoothed())
    }
    fn connection(&self) -> Option<ConnectionState> {
        let sender = self.near.sender();
        let is_over = self.is_all && sender.is_done();
        (self.near.phase() == Phase::Established && !is_over).then(|| sender.connection_state())
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, _: Time) {}

    fn figures(&self, _: Time) -> EndFigures {
        let counts = self.near.sender().counts();
        EndFigures {
            packets_sent: counts.segments_sent,
            retransmits: counts.retransmits,
            timeouts: counts.timeouts,
            undone: counts.undone,
            probes: Some(counts.probes),
            duplicates: Some(self.far.receiver().duplicates()),
            window: self.near.sender().window().cwnd,
            finished: self.finished,
            ..EndFigures::default()
        }
    }
}
