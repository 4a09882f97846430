//! One side of a connection: the handshake, and the two halves together.

use super::receiver::{Answer, Receiver, window_of};
use super::sender::{Emit, Sender};
use crate::control::AnyController;
use crate::profile::Profile;
use crate::segment::{Segment, expand, flag};
use alloc::vec::Vec;
use qdelay_core::{Ecn, Random, Span, Time};

/// State of the handshake (RFC 9293 section 3.3.2, as far as needed here).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not opened yet; an arriving SYN opens it.
    Listen,
    /// A SYN has been sent.
    SynSent,
    /// A SYN has been answered.
    SynReceived,
    /// The connection is established.
    Established,
}

/// Initial sequence number of both sides. The first data byte is number 1.
const ISS: u64 = 0;

/// One side of a TCP connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    phase: Phase,
    ecn: bool,
    initial_rto: Span,
    tx: Sender,
    rx: Receiver,
    /// When the SYN was last sent, how often, and when it is sent again.
    syn_sent: Time,
    syn_count: u32,
    syn_deadline: Option<Time>,
    /// Whether the congestion control is chosen behind what is written before the handshake is complete.
    chooses_late: bool,
}

impl Endpoint {
    /// A closed endpoint. Its segments fill at most half of the largest window that its peer, with the same profile, will offer (Linux
    /// `tcp_bound_to_half_wnd`), so that one fits whenever nothing is in flight.
    pub fn new(mut profile: Profile, controller: AnyController, random: Random) -> Endpoint {
        let half_window = window_of(profile.receive_buffer_max) / 2;
        profile.mss = profile.mss.min(half_window.max(1) as u32);
        Endpoint {
            phase: Phase::Listen,
            ecn: profile.ecn,
            initial_rto: profile.initial_rto,
            tx: Sender::new(profile, controller, random, ISS),
            rx: Receiver::new(profile, ISS),
            syn_sent: Time::ZERO,
            syn_count: 0,
            syn_deadline: None,
            chooses_late: false,
        }
    }

    /// Opens the connection: sends a SYN.
    pub fn connect(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.phase = Phase::SynSent;
        self.send_syn(now, out);
    }

    /// The application writes `bytes`; nothing leaves before the handshake is complete.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        self.tx.write(now, bytes);
        self.transmit(now, out);
    }

    /// Partial segments do not wait for acknowledgements (`TCP_NODELAY`).
    pub fn set_nodelay(&mut self) {
        self.tx.set_nodelay();
    }

    /// The application writes `bytes` before the handshake is complete, and chooses its congestion control once they are sent.
    pub fn greet(&mut self, now: Time, bytes: u64) {
        self.tx.write(now, bytes);
        self.chooses_late = true;
    }

    /// The application is done writing: a FIN follows the last byte.
    pub fn close(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.tx.close();
        self.transmit(now, out);
    }

    fn transmit(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.phase == Phase::Established {
            let Endpoint { tx, rx, .. } = self;
            let before = out.len();
            tx.transmit(now, &mut emit(rx, now, out));
            carried_acknowledgement(rx, out.len() > before);
        }
    }

    /// State of the handshake.
    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.tx
    }
    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.rx
    }
    /// Bytes handed to this side's application so far.
    pub fn bytes_received(&self) -> u64 {
        self.rx.next() - ISS - 1 - u64::from(self.rx.is_finished())
    }
    /// The bytes of this side's application up to the end of a segment that it sends.
    pub fn data_end(&self, segment: &Segment) -> u64 {
        expand(segment.seq, self.tx.next_sequence()) - ISS - 1 + u64::from(segment.len)
    }
    /// The ECN codepoint of a segment of this endpoint.
    pub fn ecn(&self, segment: &Segment) -> Ecn {
        segment.ecn(self.ecn)
    }

    /// A segment has arrived; `ecn` is the codepoint of its packet.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn, out: &mut Vec<Segment>) {
        if segment.has(flag::SYN) {
            self.on_syn(now, segment, out);
            return;
        }
        match self.phase {
            Phase::Listen | Phase::SynSent => return,
            Phase::SynReceived => self.establish(now, segment),
            Phase::Established => {}
        }
        let Endpoint { tx, rx, .. } = self;
        // The data first, so that any segment sent for the acknowledgement also acknowledges it.
        let mut answer = Answer::Wait;
        if segment.len > 0 || segment.has(flag::FIN) {
            let seq = tx.next_sequence();
            answer = rx.on_data(now, segment, ecn, |rx| out.push(acknowledgement(rx, seq, now)));
        } else {
            rx.on_bare_segment(segment);
        }
        let before = out.len();
        if segment.has(flag::ACK) {
            tx.on_ack(now, segment, &mut emit(rx, now, out));
        }
        let carried = carried_acknowledgement(rx, out.len() > before);
        if answer == Answer::Acknowledge && !carried {
            self.acknowledge(now, out);
        }
    }

    /// When [`Endpoint::on_deadline`] is due; may be early, never late.
    pub fn next_deadline(&self) -> Time {
        let handshake = self.syn_deadline.unwrap_or(Time::NEVER);
        handshake.min(self.tx.next_deadline()).min(self.rx.next_deadline())
    }

    /// Runs timers that are due; does nothing at any other time.
    pub fn on_deadline(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.syn_deadline.is_some_and(|at| at <= now) {
            self.send_syn(now, out);
        }
        if self.tx.next_deadline() <= now {
            let Endpoint { tx, rx, .. } = self;
            let before = out.len();
            tx.on_deadline(now, &mut emit(rx, now, out));
            carried_acknowledgement(rx, out.len() > before);
        }
        if self.rx.on_deadline(now) == Answer::Acknowledge {
            self.acknowledge(now, out);
        }
    }

    fn on_syn(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        self.rx.set_echo(segment.ts_value);
        match self.phase {
            Phase::Listen => {
                self.phase = Phase::SynReceived;
                self.send_syn(now, out);
            }
            Phase::SynSent if segment.has(flag::ACK) => {
                self.establish(now, segment);
                self.acknowledge(now, out);
                self.transmit(now, out);
                if self.chooses_late {
                    self.tx.choose_control(now);
                }
            }
            // Our answer was lost, or the peer's SYN was duplicated.
            Phase::SynReceived => self.send_syn(now, out),
            Phase::SynSent => {}
            Phase::Established => self.acknowledge(now, out),
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.phase = Phase::Established;
        self.syn_deadline = None;
        let rtt = now.since(self.syn_sent);
        self.rx.set_round_trip(rtt);
        self.tx.established(now, (self.syn_count == 1).then_some(rtt), segment.window);
    }

    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        let mut segment =
            Segment { seq: ISS as u32, flags: flag::SYN, ts_value: micros(now), ..Segment::default() };
        self.rx.fill_header(&mut segment);
        if self.phase == Phase::SynSent {
            segment.flags &= !flag::ACK;
        }
        self.syn_sent = now;
        self.syn_count += 1;
        let backoff = 1 << (self.syn_count - 1).min(6);
        self.syn_deadline = Some(now + self.initial_rto * backoff);
        out.push(segment);
    }

    fn acknowledge(&mut self, now: Time, out: &mut Vec<Segment>) {
        out.push(acknowledgement(&mut self.rx, self.tx.next_sequence(), now));
    }
}

/// An acknowledgement of what `rx` has, from a side whose next data has number `seq`.
fn acknowledgement(rx: &mut Receiver, seq: u64, now: Time) -> Segment {
    let mut segment = Segment { seq: seq as u32, ts_value: micros(now), ..Segment::default() };
    rx.fill(&mut segment);
    segment
}

fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// Data sent has acknowledged everything, unless there are SACK blocks to report, which data segments do not carry.
fn carried_acknowledgement(rx: &mut Receiver, sent: bool) -> bool {
    let carried = sent && !rx.has_blocks();
    if carried {
        rx.sent();
    }
    carried
}

#[inline]
fn emit<'a>(rx: &'a Receiver, now: Time, out: &'a mut Vec<Segment>) -> Emit<'a> {
    Emit { rx, ts_value: micros(now), out }
}
