//! The sender of a call: an encoder, its packets, and the control that says how fast they may leave.

use super::encoder::Encoder;
use super::feedback::Report;
use super::frames::Ledger;
use super::gcc::{Gcc, PacketResult};
use super::history::History;
use super::pacer::Pacer;
use super::scream::{Marks, Scream};
use super::wire::{HEADER_BYTES, VideoPacket};
use super::{Control, VideoConfig};
use qdelay_core::{Ecn, Random, Span, Time};

/// Most bytes of a frame in a packet, as in libwebrtc.
pub const PAYLOAD_BYTES: u32 = 1200;

/// Time constant of the rate of what is sent again.
const AGAIN_S: f64 = 0.5;
/// The share of the target that is left for new frames whatever is sent again, as in libwebrtc.
const NEW: f64 = 0.5;

/// Least rate of SCReAM's pacer before its factor, bit/s.
const LEAST_PACED: f64 = 50_000.0;
/// Longest burst of packets of a call with Google Congestion Control.
const BURST: Span = Span::from_millis(40);

/// What decides the rate.
#[derive(Clone, Debug)]
pub enum Controller {
    /// Google Congestion Control.
    Gcc(alloc::boxed::Box<Gcc>),
    /// SCReAM v2.
    Scream(alloc::boxed::Box<Scream>),
    /// Nothing: frames have their rate, and leave at once.
    None {
        /// Bits a second.
        rate: f64,
        /// The last round trip.
        rtt: Span,
    },
}

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    pacing: f64,
    /// Most that the encoder can use, bit/s.
    most: f64,
    encoder: Encoder,
    control: Controller,
    pacer: Pacer,
    history: History,
    seq: u32,
    start: Time,
    has_begun: bool,
    resent: u64,
    /// Rate of what is sent again, bit/s, when it was last updated.
    again: (f64, Time),
    /// Frames that were due while some had to be dropped.
    crowded: u32,
}

impl Sender {
    /// A sender whose first frame is captured at `start`.
    pub fn new(config: &VideoConfig, start: Time, random: Random) -> Sender {
        let (least, most, first) =
            (config.least.as_bps() as f64, config.most.as_bps() as f64, config.start.as_bps() as f64);
        let control = match config.control {
            Control::Gcc { probes } => Controller::Gcc(Gcc::new(least, most, first, probes).into()),
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
        }
    }

    /// The rate of IP packets that it may have, bit/s.
    pub fn target(&self) -> f64 {
        match &self.control {
            Controller::Gcc(gcc) => gcc.target().min(self.most),
            Controller::Scream(scream) => scream.target(),
            Controller::None { rate, .. } => *rate,
        }
    }
    /// The control.
    pub fn control(&self) -> &Controller {
        &self.control
    }
    /// The round trip; zero before the first.
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
    /// Those sent again.
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// When [`Sender::poll`] is due.
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

    /// When the window lets the next packet leave.
    fn opens(&self) -> Time {
        match (&self.control, self.pacer.next_bytes()) {
            (Controller::Scream(scream), Some(bytes)) => scream.opens(bytes, self.history.in_flight()),
            _ => Time::ZERO,
        }
    }

    /// The ECN field of its packets.
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

    /// The packet that leaves now and its number in the flow, if one is due. To be called until none is.
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
            // Packets of a frame are equally large, to a byte.
            let until = |index: u32| u64::from(frame.bytes) * u64::from(index) / u64::from(count.max(1));
            for index in 0..count {
                let payload = (until(index + 1) - until(index)) as u16;
                let packet = VideoPacket {
                    seq: self.seq,
                    frame: frame.number,
                    count: count as u16,
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

    /// Drops the frame that is due, where too much is in flight.
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

    /// A report has come. Returns what it says of packets.
    pub fn on_report(&mut self, now: Time, report: &Report) -> &[PacketResult] {
        if report.wants_key {
            self.encoder.ask_key(now);
        }
        let rtt = self.rtt();
        for &seq in &report.missing {
            // No more than the target rate.
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

/// The rate of frames, bit/s, with which packets have `target`: less the headers of the packets of a frame.
fn media_rate(target: f64, interval: Span) -> f64 {
    let interval_s = interval.as_secs_f64();
    let frame = target * interval_s / 8.0;
    let packets = libm::ceil(frame / f64::from(PAYLOAD_BYTES + HEADER_BYTES)).max(1.0);
    (target - 8.0 * packets * f64::from(HEADER_BYTES) / interval_s).max(0.1 * target)
}
