//! A video encoder: frames at a constant frame rate, with sizes that follow a target rate with a lag.
//!
//! The encoder's rate approaches the target exponentially. A frame has the bytes of the rate in one frame interval, times a random factor with a
//! Laplace distribution around 1. A key frame is larger by a constant factor; the following frames save its excess bytes, each at most half of
//! its own size.
//!
//! Source: RFC 8593 (Video Traffic Models), section 4, for the lag (tau_v, 0.2 s) and the deviation of sizes (SCALE_B, 0.15).
//!
//! # Differences from the reference
//! * Frames have exact intervals (SCALE_t of 0), as from a camera, and encoding takes no time.
//! * The rate follows smoothly instead of after a fixed latency, without the RFC's transient of 8 frames after a large change.
//! * Key frames, picture sizes and the saving after a key frame are ours: the RFC has none.

use super::ladder::Ladder;
use qdelay_core::{Random, Span, Time};

/// Settings of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames per second.
    pub fps: f64,
    /// Time constant with which the rate follows the target.
    pub lag: Span,
    /// Scale of the Laplace distribution of frame sizes, relative to the mean; 0 for constant sizes.
    pub noise: f64,
    /// Interval between key frames; zero for key frames at the start and on request only.
    pub key_every: Span,
    /// Size of a key frame relative to other frames.
    pub key_size: f64,
    /// Pause of the camera: start and end, from the start of the flow; no pause unless the end is later.
    pub pause: (Span, Span),
    /// Index of the largest picture size in [`super::ladder::SIZES`].
    pub largest: usize,
}

impl EncoderConfig {
    /// Whether a key frame at `rate`, bit/s, is within the largest frame size.
    pub fn fits(&self, rate: f64) -> bool {
        rate / 8.0 / self.fps * (1.0 + DEVIATION) * self.key_size <= MOST_BYTES
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Number of the frame, from 0.
    pub number: u32,
    /// Capture time.
    pub captured: Time,
    /// Bytes of the frame, without packet headers.
    pub bytes: u32,
    /// Whether the frame is a key frame, decodable without other frames.
    pub is_key: bool,
    /// Index of the picture size in [`super::ladder::SIZES`].
    pub size: u8,
}

/// Shortest interval between requested key frames.
const KEY_APART: Span = Span::from_millis(300);
/// Size of the smallest frame, bytes.
const LEAST_BYTES: f64 = 60.0;
/// Size of the largest frame, bytes: the number of its packets must fit 16 bits.
const MOST_BYTES: f64 = 7e7;
/// Largest deviation of a size from the mean, relative to the mean.
const DEVIATION: f64 = 0.6;

/// The state of an encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    random: Random,
    interval: Span,
    ladder: Ladder,
    /// Current rate, bit/s.
    rate: f64,
    number: u32,
    /// Start and end of the camera's pause.
    pause: (Time, Time),
    next: Time,
    key: Option<Time>,
    is_key_due: bool,
    /// Excess bytes of key frames that later frames have still to save.
    debt: f64,
}

impl Encoder {
    /// An encoder whose first frame is captured at `start`, with an initial rate of `rate` bit/s.
    pub fn new(config: EncoderConfig, start: Time, rate: f64, random: Random) -> Encoder {
        Encoder {
            config,
            random,
            interval: Span::from_secs_f64(1.0 / config.fps),
            ladder: Ladder::new(config.largest, config.fps, rate),
            rate,
            number: 0,
            pause: (start + config.pause.0, start + config.pause.1),
            next: start,
            key: None,
            is_key_due: true,
            debt: 0.0,
        }
    }

    /// Capture time of the next frame.
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Interval between frames.
    pub fn interval(&self) -> Span {
        self.interval
    }
    /// Makes the next frame a key frame, on a request of the receiver.
    pub fn ask_key(&mut self, now: Time) {
        self.is_key_due |= self.key.is_none_or(|last| now.since(last) >= KEY_APART);
    }

    /// Skips the frame that is due.
    pub fn skip(&mut self) {
        self.next += self.interval;
        let (from, until) = self.pause;
        if (from..until).contains(&self.next) {
            self.next = until;
        }
    }

    /// Encodes the frame that is due; `target`: target rate, bit/s. `None` if no frame is due, and during the pause.
    pub fn poll(&mut self, now: Time, target: f64) -> Option<Frame> {
        if now < self.next {
            return None;
        }
        let captured = self.next;
        self.skip();
        let interval_s = self.interval.as_secs_f64();
        let lag_s = self.config.lag.as_secs_f64();
        let share = if lag_s > 0.0 { 1.0 - libm::exp(-interval_s / lag_s) } else { 1.0 };
        self.rate += share * (target - self.rate);
        let is_periodic = !self.config.key_every.is_zero()
            && self.key.is_none_or(|last| captured.since(last) >= self.config.key_every);
        let is_key = core::mem::take(&mut self.is_key_due) || is_periodic;
        let mean = self.rate * interval_s / 8.0;
        let mut bytes = mean * self.deviation();
        if is_key {
            self.key = Some(captured);
            bytes *= self.config.key_size;
            self.debt += bytes - mean;
        } else {
            let saved = self.debt.clamp(0.0, 0.5 * bytes);
            (self.debt, bytes) = (self.debt - saved, bytes - saved);
        }
        let frame = Frame {
            number: self.number,
            captured,
            bytes: bytes.clamp(LEAST_BYTES, MOST_BYTES) as u32,
            is_key,
            size: self.ladder.update(captured, self.rate) as u8,
        };
        self.number += 1;
        Some(frame)
    }

    /// Random factor of a frame's size: Laplace distribution around 1, clamped to 0.4 to 1.6 by [`DEVIATION`]. With a scale of 0.15 about 2% of the frames are
    /// clamped.
    fn deviation(&mut self) -> f64 {
        if self.config.noise == 0.0 {
            return 1.0;
        }
        let (size, sign) = (self.random.exponential(), self.random.unit());
        let deviation = self.config.noise * size;
        (1.0 + if sign < 0.5 { deviation } else { -deviation }).clamp(1.0 - DEVIATION, 1.0 + DEVIATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> EncoderConfig {
        EncoderConfig {
            fps: 30.0,
            lag: Span::from_millis(200),
            noise: 0.15,
            key_every: Span::ZERO,
            key_size: 4.0,
            pause: (Span::ZERO, Span::ZERO),
            largest: 4,
        }
    }

    /// Mean rate of the frames of `seconds` seconds, bit/s.
    fn run(encoder: &mut Encoder, target: f64, seconds: u64) -> f64 {
        let (end, mut bytes) = (encoder.next_deadline() + Span::from_secs(seconds), 0.0);
        while encoder.next_deadline() < end {
            let now = encoder.next_deadline();
            bytes += f64::from(encoder.poll(now, target).unwrap().bytes);
        }
        8.0 * bytes / seconds as f64
    }

    #[test]
    fn the_mean_rate_is_the_target() {
        let mut encoder = Encoder::new(config(), Time::ZERO, 3e5, Random::derive(1, "a", "encoder"));
        let rate = run(&mut encoder, 1e6, 60);
        assert!((rate / 1e6 - 1.0).abs() < 0.02, "{rate}");
        encoder.ask_key(Time::ZERO + Span::from_secs(60));
        let rate = run(&mut encoder, 1e6, 10);
        assert!((rate / 1e6 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn nothing_is_captured_in_a_pause() {
        let pause = (Span::from_secs(1), Span::from_secs(3));
        let paused = EncoderConfig { pause, fps: 10.0, ..config() };
        let mut encoder = Encoder::new(paused, Time::ZERO, 1e6, Random::derive(1, "a", "encoder"));
        let mut captured = 0;
        while encoder.next_deadline() < Time::ZERO + Span::from_secs(4) {
            let now = encoder.next_deadline();
            let second = encoder.poll(now, 1e6).unwrap().captured.as_secs_f64();
            assert!(!(1.0..3.0).contains(&second), "{second}");
            captured += 1;
        }
        assert_eq!(captured, 20);
    }

    /// After one time constant 63% of a step is done.
    #[test]
    fn the_rate_follows_with_the_lag() {
        let plain = EncoderConfig { noise: 0.0, key_size: 1.0, fps: 100.0, ..config() };
        let mut encoder = Encoder::new(plain, Time::ZERO, 1e6, Random::derive(1, "a", "encoder"));
        run(&mut encoder, 1e6, 1);
        let mut last = 0;
        for _ in 0..20 {
            let now = encoder.next_deadline();
            last = encoder.poll(now, 2e6).unwrap().bytes;
        }
        let rate = f64::from(last) * 8.0 * 100.0;
        assert!((rate / (1e6 + 1e6 * (1.0 - libm::exp(-1.0))) - 1.0).abs() < 0.001, "{rate}");
    }
}
