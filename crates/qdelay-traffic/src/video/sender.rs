//! The sender of a call: an encoder, its packets, and the control of their rate.

use super::encoder::Encoder;
use super::feedback::Report;
use super::frames::Ledger;
use super::gcc::{Gcc, PacketResult};
use super::history::History;
use super::pacer::Pacer;
use super::scream::{Marks, Scream};
use super::wire::{HEADER_BYTES, VideoPacket};
use super::{Control, Importance, VideoConfig};
use qdelay_core::{Ecn, Random, Span, Time};

/// Largest payload of a packet, bytes (libwebrtc).
pub const PAYLOAD_BYTES: u32 = 1200;

/// Time constant of the average rate of retransmissions, s.
const AGAIN_S: f64 = 0.5;
/// Share of the target rate that is reserved for new frames (libwebrtc).
const NEW: f64 = 0.5;

/// Minimum rate of SCReAM's pacer before the pacing factor, bit/s.
const LEAST_PACED: f64 = 50_000.0;
/// Burst length of the pacer with Google Congestion Control.
const BURST: Span = Span::from_millis(40);

/// State of the control of the rate.
#[derive(Clone, Debug)]
pub enum Controller {
    /// Google Congestion Control.
    Gcc(alloc::boxed::Box<Gcc>),
    /// SCReAM v2.
    Scream(alloc::boxed::Box<Scream>),
    /// No control: a constant rate, and frames leave at once.
    None {
        /// Rate, bit/s.
        rate: f64,
        /// Last round-trip sample.
        rtt: Span,
    },
}

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    pacing: f64,
    /// Highest useful rate of the encoder, bit/s.
    most: f64,
    encoder: Encoder,
    control: Controller,
    pacer: Pacer,
    history: History,
    seq: u32,
    start: Time,
    has_begun: bool,
    resent: u64,
    /// Average rate of retransmissions, bit/s, and the time of its last update.
    again: (f64, Time),
    /// Frames due since the window began to require drops.
    crowded: u32,
    importance: Importance,
}

impl Sender {
    /// A sender whose first frame is captured at `start`.
    pub fn new(config: &VideoConfig, start: Time, random: Random) -> Sender {
        let (least, most, first) =
            (config.least.as_bps() as f64, config.most.as_bps() as f64, config.start.as_bps() as f64);
        let control = match config.control {
            Control::Gcc { probes, signals } => {
                Controller::Gcc(Gcc::new(least, most, first, probes, signals).into())
            }
            Control::Scream { delay, marks } => {
                Controller::Scream(Scream::new(least, most, first, delay, marks).into())
            }
            Control::None => Controller::None { rate: most, rtt: Span::ZERO },
        };
        let burst = if matches!(control, Controller::Gcc(_)) { BURST } else { Span::ZERO };
        Sender {
            pacing: config.pacing,
            most,
            encoder: Encoder::new(config.encoder, start, first, random),
            control,
            pacer: Pacer::new(start, burst),
            history: History::default(),
            seq: 0,
            start,
            has_begun: false,
            resent: 0,
            again: (0.0, start),
            crowded: 0,
            importance: config.importance,
        }
    }

    /// Target rate of IP packets, bit/s.
    pub fn target(&self) -> f64 {
        match &self.control {
            Controller::Gcc(gcc) => gcc.target().min(self.most),
            Controller::Scream(scream) => scream.target(),
            Controller::None { rate, .. } => *rate,
        }
    }
    /// State of the control of the rate.
    pub fn control(&self) -> &Controller {
        &self.control
    }
    /// Round trip as the control measures it; zero before the first sample.
    pub fn rtt(&self) -> Span {
        match &self.control {
            Controller::Gcc(gcc) => gcc.rtt(),
            Controller::Scream(scream) => scream.rtt(),
            Controller::None { rtt, .. } => *rtt,
        }
    }
    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.history.count()
    }
    /// Packets retransmitted.
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// Time at which [`Sender::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        let packet = if self.pacer.is_empty() && self.probe().is_none() {
            Time::NEVER
        } else {
            self.pacer.due(self.probe().is_some()).max(self.opens())
        };
        self.encoder.next_deadline().min(packet.max(self.start))
    }

    fn probe(&self) -> Option<super::gcc::probe::Cluster> {
        match &self.control {
            Controller::Gcc(gcc) => gcc.probe(),
            Controller::Scream(_) | Controller::None { .. } => None,
        }
    }

    /// Time at which SCReAM's window lets the next packet leave.
    fn opens(&self) -> Time {
        match (&self.control, self.pacer.next_bytes()) {
            (Controller::Scream(scream), Some(bytes)) => scream.opens(bytes, self.history.in_flight()),
            _ => Time::ZERO,
        }
    }

    /// ECN field of the sender's packets.
    pub fn ecn(&self) -> Ecn {
        match &self.control {
            Controller::Scream(scream) => match scream.marks() {
                Marks::Off => Ecn::NotEct,
                Marks::Classic => Ecn::Ect0,
                Marks::L4s => Ecn::Ect1,
            },
            Controller::Gcc(_) | Controller::None { .. } => Ecn::NotEct,
        }
    }

    /// Sends the next packet if one is due: the packet and its number in the flow. To be called until it returns `None`.
    pub fn poll(&mut self, now: Time, ledger: &mut Ledger) -> Option<(VideoPacket, u64)> {
        if !self.has_begun && now >= self.start {
            self.has_begun = true;
            if let Controller::Gcc(gcc) = &mut self.control {
                gcc.begin(now);
            }
        }
        let target = self.target();
        let new = (target - self.again_rate(now)).max(NEW * target);
        self.drop_frame(now);
        while let Some(frame) = self.encoder.poll(now, media_rate(new, self.encoder.interval())) {
            ledger.captured(frame.captured, frame.bytes, frame.size, target);
            if let Controller::Scream(scream) = &mut self.control {
                scream.on_frame(frame.bytes, self.encoder.interval());
            }
            let count = frame.bytes.div_ceil(PAYLOAD_BYTES);
            // The packets of a frame differ in size by at most one byte.
            let until = |index: u32| u64::from(frame.bytes) * u64::from(index) / u64::from(count.max(1));
            for index in 0..count {
                let payload = (until(index + 1) - until(index)) as u16;
                let packet = VideoPacket {
                    seq: self.seq,
                    frame: frame.number,
                    count: count as u16,
                    index: index as u16,
                    frame_bytes: frame.bytes + count * HEADER_BYTES,
                    importance: if frame.is_key { self.importance.key } else { self.importance.other },
                    payload,
                    captured: frame.captured,
                    size: frame.size,
                    is_key: frame.is_key,
                    ..VideoPacket::default()
                };
                self.seq = self.seq.wrapping_add(1);
                self.pacer.push(packet);
            }
        }
        let probe = self.probe();
        if !self.pacer.is_open(now, probe.is_some()) || now < self.opens() {
            return None;
        }
        let packet = match (self.pacer.pop(), probe) {
            (Some(packet), _) => packet,
            (None, Some(_)) => {
                VideoPacket { is_padding: true, payload: PAYLOAD_BYTES as u16, ..VideoPacket::default() }
            }
            (None, None) => return None,
        };
        let packet = VideoPacket { rtt: self.rtt(), ..packet };
        let (bytes, number) = (packet.bytes(), probe.map_or(0, |probe| probe.number));
        self.resent += u64::from(packet.is_resent);
        let place = self.history.add(now, &packet, number);
        let in_flight = self.history.in_flight();
        match &mut self.control {
            Controller::Gcc(gcc) => {
                gcc.on_sent(now, bytes, number, in_flight);
                self.pacer.spent(now, bytes, self.pacing * gcc.target(), probe.map(|probe| probe.rate));
            }
            Controller::Scream(scream) => {
                scream.on_sent(now, in_flight);
                self.pacer.spent(now, bytes, self.pacing * target.max(LEAST_PACED), None);
            }
            Controller::None { .. } => {}
        }
        Some((packet, place))
    }

    /// Drops the frame that is due if the window requires it.
    fn drop_frame(&mut self, now: Time) {
        let Controller::Gcc(gcc) = &mut self.control else { return };
        if now < self.encoder.next_deadline() {
            return;
        }
        if let Some(each) = gcc.drops_each(now) {
            if self.crowded.is_multiple_of(each) {
                self.encoder.skip();
            }
            self.crowded = self.crowded.wrapping_add(1);
        }
    }

    fn again_rate(&self, now: Time) -> f64 {
        let (rate, at) = self.again;
        if rate == 0.0 { 0.0 } else { rate * libm::exp(-now.since(at).as_secs_f64() / AGAIN_S) }
    }

    /// Processes a report; returns the packets that it reports.
    pub fn on_report(&mut self, now: Time, report: &Report) -> &[PacketResult] {
        if report.wants_key {
            self.encoder.ask_key(now);
        }
        let rtt = self.rtt();
        for &seq in &report.missing {
            // Retransmissions are limited to the target rate.
            let rate = self.again_rate(now);
            if rate > self.target() {
                break;
            }
            if let Some(packet) = self.history.again(now, seq, rtt) {
                self.again = (rate + 8.0 * f64::from(packet.bytes()) / AGAIN_S, now);
                self.pacer.push(packet);
            }
        }
        let in_flight = self.history.in_flight();
        self.history.match_report(report);
        let left = self.history.in_flight();
        let results = self.history.results();
        if !results.is_empty() {
            match &mut self.control {
                Controller::Gcc(gcc) => gcc.on_feedback(now, results, left),
                Controller::Scream(scream) => scream.on_feedback(now, results, report.marked, in_flight),
                Controller::None { rtt, .. } => {
                    if let Some(last) = results.iter().rfind(|result| result.arrived.is_some()) {
                        *rtt = now.since(last.sent);
                    }
                }
            }
        }
        results
    }
}

/// Rate of frames, bit/s, at which their packets with headers have the rate `target`, bit/s. `interval`: time between frames.
fn media_rate(target: f64, interval: Span) -> f64 {
    let interval_s = interval.as_secs_f64();
    let frame = target * interval_s / 8.0;
    let packets = libm::ceil(frame / f64::from(PAYLOAD_BYTES + HEADER_BYTES)).max(1.0);
    (target - 8.0 * packets * f64::from(HEADER_BYTES) / interval_s).max(0.1 * target)
}
