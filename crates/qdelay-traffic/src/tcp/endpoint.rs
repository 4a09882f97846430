//! One side of a connection: the handshake, and the sending and receiving halves.

use super::receiver::{Answer, Receiver, window_of};
use super::sender::{Emit, Sender};
use crate::control::AnyController;
use crate::profile::Profile;
use crate::segment::{Segment, expand, flag};
use alloc::vec::Vec;
use qdelay_core::{Ecn, Random, Span, Time};

/// State of the handshake (RFC 9293 section 3.3.2); other states of a connection are not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not open; an arriving SYN opens the connection.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was answered.
    SynReceived,
    /// The connection is established.
    Established,
}

/// Initial sequence number of both sides; the first data byte has number 1.
const ISS: u64 = 0;

/// One side of a TCP connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    phase: Phase,
    ecn: bool,
    initial_rto: Span,
    tx: Sender,
    rx: Receiver,
    /// Time of the latest transmission of the SYN.
    syn_sent: Time,
    syn_count: u32,
    syn_deadline: Option<Time>,
    /// Whether the congestion control is chosen only after the data written before the handshake was complete.
    chooses_late: bool,
}

impl Endpoint {
    /// An endpoint that is not open. A segment has at most half of the largest window that a peer with the same profile will offer (Linux
    /// `tcp_bound_to_half_wnd`), so that a segment fits whenever nothing is in flight.
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

    /// The application writes `bytes` bytes, which leave once the handshake is complete.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        self.tx.write(now, bytes);
        self.transmit(now, out);
    }

    /// Partial segments do not wait for acknowledgements (`TCP_NODELAY`).
    pub fn set_nodelay(&mut self) {
        self.tx.set_nodelay();
    }

    /// The application writes `bytes` bytes before the handshake is complete, and chooses its congestion control once they are sent.
    pub fn greet(&mut self, now: Time, bytes: u64) {
        self.tx.write(now, bytes);
        self.chooses_late = true;
    }

    /// The application closes: a FIN follows the last byte.
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
    /// Application bytes up to the end of a segment that this side sends.
    pub fn data_end(&self, segment: &Segment) -> u64 {
        expand(segment.seq, self.tx.next_sequence()) - ISS - 1 + u64::from(segment.len)
    }
    /// Application bytes of an arriving segment, first and end; `None` without data.
    pub fn data_of(&self, segment: &Segment) -> Option<(u64, u64)> {
        let first = expand(segment.seq, self.rx.next()).checked_sub(ISS + 1)?;
        (segment.len > 0).then(|| (first, first + u64::from(segment.len)))
    }
    /// ECN codepoint of a segment of this endpoint.
    pub fn ecn(&self, segment: &Segment) -> Ecn {
        segment.ecn(self.ecn)
    }

    /// Processes a segment; `ecn`: codepoint of its packet.
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
        // Data is processed first, so that segments sent in response to the acknowledgement also acknowledge the data.
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

    /// Time at which [`Endpoint::on_deadline`] is due; may be early, never late.
    pub fn next_deadline(&self) -> Time {
        let handshake = self.syn_deadline.unwrap_or(Time::NEVER);
        handshake.min(self.tx.next_deadline()).min(self.rx.next_deadline())
    }

    /// Runs the timers that are due; has no effect at other times.
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
            // This side's answer was lost, or the peer's SYN was duplicated.
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

/// A segment without data that acknowledges the data in `rx`; `seq`: sequence number of this side's next data.
fn acknowledgement(rx: &mut Receiver, seq: u64, now: Time) -> Segment {
    let mut segment = Segment { seq: seq as u32, ts_value: micros(now), ..Segment::default() };
    rx.fill(&mut segment);
    segment
}

fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// Whether the data segments that were just sent (`sent`) carry the acknowledgement. They do not if there are SACK blocks to report.
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
