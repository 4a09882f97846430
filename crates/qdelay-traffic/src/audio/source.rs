//! The near end of an adaptive call: frames, their size and colour, and the decisions after each epoch.
//!
//! At each interval the codec makes one frame, in a packet of its own. The frame has as many bytes as TFRC allows, up to the highest
//! rate. If TFRC allows less than the least rate, the frame is skipped, and its bytes are saved for the next one. At the end of each
//! epoch [`super::choice`] decides to keep the colour, to change it, or to hang up. After a pause the source calls
//! again, with a new TFRC connection that begins with green.

use super::choice::{Choice, Decision};
use super::{AudioConfig, AudioHeader, AudioReport, Colour, ColourCount};
use crate::tfrc::{DataHeader, HEADER_BYTES, RateControl};
use qdelay_core::{Random, Span, Time};

/// Longest pause, as a multiple of the first.
const LONGEST_PAUSE: u64 = 16;
/// Most bytes that can be saved, in frames of the highest rate.
const SAVED_FRAMES: f64 = 2.0;

/// A packet that leaves the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioPacket {
    /// Header of the packet.
    pub header: AudioHeader,
    /// Size of the IP packet, bytes.
    pub bytes: u32,
}

/// Times that a source spent in each state, with counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AudioTimes {
    /// Time in calls, by [`Colour::index`] of the main colour.
    pub on: [Span; 2],
    /// Time without a call, from the start of the flow.
    pub off: Span,
    /// Changes of the main colour within calls.
    pub changes: u64,
    /// Number of times that the source hung up.
    pub hang_ups: u64,
    /// Bits of the codec sent, without headers and error correction.
    pub codec_bits: f64,
}

/// The state of a source.
#[derive(Clone, Debug)]
pub struct Source {
    config: AudioConfig,
    random: Random,
    /// Whether the flow has two colours to choose from.
    is_free: bool,
    control: RateControl,
    choice: Choice,
    /// Packet counts of the last report.
    counts: [ColourCount; 2],
    call: u8,
    seq: u32,
    /// Number of the next packet of each colour.
    numbers: [u32; 2],
    /// Main colour; `None` without a call.
    colour: Option<Colour>,
    /// Time of the next frame; without a call, that of the next call.
    frame: Time,
    /// End of the epoch: time of the next decision.
    decision: Time,
    /// Bytes that TFRC allows and that no frame has used.
    saved: f64,
    /// Bits of the codec sent in this epoch.
    epoch_bits: f64,
    /// Frames due in this epoch, skipped ones included.
    epoch_frames: u64,
    /// Start of the call.
    called: Time,
    /// Next pause as a multiple of the first; reset to 1 if the call lasts longer than that pause.
    pauses: u64,
    sent: u64,
    times: AudioTimes,
    /// Time up to which `times` is complete.
    timed: Time,
}

impl Source {
    /// A source whose first call begins at `start`. `is_free`: the flow has two colours.
    pub fn new(config: AudioConfig, start: Time, is_free: bool, random: Random) -> Source {
        Source {
            config,
            random,
            is_free,
            control: RateControl::new(config.rate()),
            choice: Choice::default(),
            counts: [ColourCount::default(); 2],
            call: 0,
            seq: 0,
            numbers: [0; 2],
            colour: None,
            frame: start,
            decision: Time::NEVER,
            saved: 0.0,
            epoch_bits: 0.0,
            epoch_frames: 0,
            called: start,
            pauses: 1,
            sent: 0,
            times: AudioTimes::default(),
            timed: start,
        }
    }

    /// Time at which [`Source::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        match self.colour {
            None => self.frame,
            Some(_) => self.frame.min(self.decision).min(self.control.next_deadline()),
        }
    }
    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }
    /// Main colour; `None` without a call.
    pub fn colour(&self) -> Option<Colour> {
        self.colour
    }
    /// Rate control of the current call, or of the last one.
    pub fn control(&self) -> &RateControl {
        &self.control
    }
    /// Times in each state up to `now`.
    pub fn times(&self, now: Time) -> AudioTimes {
        let mut times = self.times;
        let since = now.since(self.timed);
        match self.colour {
            Some(colour) => times.on[colour.index()] += since,
            None => times.off += since,
        }
        times
    }

    /// Runs the events that are due; returns the packet that leaves at `now`, if any.
    pub fn poll(&mut self, now: Time) -> Option<AudioPacket> {
        if self.colour.is_some() && now >= self.control.next_deadline() {
            self.control.on_deadline(now);
        }
        if self.colour.is_some() && now >= self.decision {
            self.decide(now);
        }
        if now < self.frame {
            return None;
        }
        if self.colour.is_none() {
            self.call(now);
        }
        self.frame += self.config.interval;
        self.make_frame(now)
    }

    /// Processes a report of the listener.
    pub fn on_report(&mut self, now: Time, report: &AudioReport) {
        if self.colour.is_none() || report.call != self.call {
            return;
        }
        if self.control.rtt().is_zero() {
            // Before the first report TFRC allows only a packet a second, too few for an epoch: the first epoch begins with the report, which
            // allows several packets at once.
            self.begin_epoch(now);
            self.saved = self.saved.max(self.first_frame());
        }
        self.control.on_report(now, &report.report);
        self.counts = report.colours;
    }

    fn begin_epoch(&mut self, now: Time) {
        (self.epoch_bits, self.epoch_frames) = (0.0, 0);
        self.decision = now + self.config.epoch;
    }

    /// Changes the main colour, or hangs up with `None`.
    fn change_colour(&mut self, now: Time, colour: Option<Colour>) {
        self.times = self.times(now);
        self.timed = now;
        self.colour = colour;
    }

    fn call(&mut self, now: Time) {
        self.change_colour(now, Some(Colour::Green));
        self.call = self.call.wrapping_add(1);
        self.called = now;
        self.control = RateControl::new(self.config.rate());
        self.choice = Choice::default();
        self.counts = [ColourCount::default(); 2];
        (self.seq, self.numbers) = (0, [0; 2]);
        // The first frame may have the highest rate.
        self.saved = self.first_frame();
        self.frame = now;
        self.begin_epoch(now);
    }

    fn first_frame(&self) -> f64 {
        f64::from(HEADER_BYTES) + libm::ceil(self.config.frame_bytes(self.config.utility.most, 0.0))
    }

    fn decide(&mut self, now: Time) {
        let Some(present) = self.colour else { return };
        self.choice.count(&self.counts);
        let spoken = self.config.interval.as_secs_f64() * self.epoch_frames.max(1) as f64;
        let rate_bps = self.epoch_bits / spoken;
        self.begin_epoch(now);
        match self.choice.decide(&self.config, present, rate_bps, self.control.rtt()) {
            Decision::Send(colour) => {
                if colour != present {
                    self.change_colour(now, Some(colour));
                    self.times.changes += 1;
                }
            }
            Decision::HangUp => {
                self.change_colour(now, None);
                self.times.hang_ups += 1;
                if now.since(self.called) > self.config.pause * self.pauses {
                    self.pauses = 1;
                }
                self.frame = now + self.config.pause * self.pauses;
                self.decision = Time::NEVER;
                self.pauses = (2 * self.pauses).min(LONGEST_PAUSE);
            }
        }
    }

    /// Makes a frame if TFRC allows the least rate; otherwise saves its bytes.
    fn make_frame(&mut self, now: Time) -> Option<AudioPacket> {
        let main = self.colour?;
        let is_probe = self.is_free && self.random.unit() < self.config.probe;
        let colour = if is_probe { main.other() } else { main };
        let loss = self.choice.loss(main);
        let header = f64::from(HEADER_BYTES);
        let size = |rate| header + libm::ceil(self.config.frame_bytes(rate, loss));
        let (least, wanted) = (size(self.config.utility.least), size(self.config.utility.most));
        self.epoch_frames += 1;
        let bytes = wanted.min(self.saved);
        let is_limited = self.saved < wanted;
        let allowed = self.control.rate() * self.config.interval.as_secs_f64();
        if bytes < least {
            self.saved += allowed;
            return None;
        }
        let bytes = libm::floor(bytes);
        self.saved = (self.saved - bytes + allowed).min(SAVED_FRAMES * wanted);
        let bits = 8.0 * (bytes - header).max(0.0) / self.config.overhead(loss);
        self.epoch_bits += bits;
        self.times.codec_bits += bits;
        let number = &mut self.numbers[colour.index()];
        let (lane, lane_seq) = (colour as u8, *number);
        let data = DataHeader { seq: self.seq, lane, lane_seq, sent: now, rtt: self.control.rtt() };
        let header = AudioHeader { call: self.call, data };
        *number = number.wrapping_add(1);
        self.seq = self.seq.wrapping_add(1);
        self.sent += 1;
        self.control.sent(now, is_limited);
        Some(AudioPacket { header, bytes: bytes as u32 })
    }
}
