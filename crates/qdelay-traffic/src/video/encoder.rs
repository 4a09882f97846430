//! An encoder: frames at a constant rate, whose sizes follow a target rate with a lag.
//!
//! The rate follows the target exponentially. A frame has the rate's share for its interval, times a factor that deviates from 1 by a
//! Laplace distribution. A key frame is larger by a factor; what it has too much, the following frames save, at most half of each.
//!
//! Source: RFC 8593 (Video Traffic Models), section 4, for the lag (tau_v, 0.2 s) and the deviation of sizes (SCALE_B, 0.15).
//!
//! # Differences from the reference
//! * Frames come at exact intervals (SCALE_t of 0), as from a camera, and take no time to encode.
//! * The rate follows smoothly instead of after a fixed latency, without the RFC's transient of 8 frames after a large change.
//! * Key frames, sizes of pictures and the saving after a key frame are ours: the RFC has none.

use super::ladder::Ladder;
use qdelay_core::{Random, Span, Time};

/// The settings of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames a second.
    pub fps: f64,
    /// Time constant with which the rate follows.
    pub lag: Span,
    /// Scale of the deviation of sizes; 0 for none.
    pub noise: f64,
    /// From a key frame to the next; zero for key frames only at the start and when asked for.
    pub key_every: Span,
    /// Size of a key frame over that of others.
    pub key_size: f64,
    /// From when until when after its start nothing is captured; empty for always.
    pub pause: (Span, Span),
    /// Index of the largest size of pictures in [`super::ladder::SIZES`].
    pub largest: usize,
}

impl EncoderConfig {
    /// Whether the largest frame at this rate in bit/s can be sent.
    pub fn fits(&self, rate: f64) -> bool {
        rate / 8.0 / self.fps * (1.0 + DEVIATION) * self.key_size <= MOST_BYTES
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u32,
    /// When its picture was taken.
    pub captured: Time,
    /// Bytes without headers of packets.
    pub bytes: u32,
    /// Whether it can be decoded without others.
    pub is_key: bool,
    /// Index of its size in [`super::ladder::SIZES`].
    pub size: u8,
}

/// Key frames that are asked for are at least so far apart.
const KEY_APART: Span = Span::from_millis(300);
/// Bytes of the smallest frame.
const LEAST_BYTES: f64 = 60.0;
/// Bytes of the largest: its packets have numbers of 16 bits.
const MOST_BYTES: f64 = 7e7;
/// The largest deviation of a size from the mean, over it.
const DEVIATION: f64 = 0.6;

/// The state of an encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    random: Random,
    interval: Span,
    ladder: Ladder,
    /// Bits a second.
    rate: f64,
    number: u32,
    /// When nothing is captured.
    pause: (Time, Time),
    next: Time,
    key: Option<Time>,
    is_key_due: bool,
    /// Bytes that key frames had too much.
    debt: f64,
}

impl Encoder {
    /// An encoder whose first frame is taken at `start`, for a rate of `rate` bit/s.
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

    /// When the next frame is taken.
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// From a frame to the next.
    pub fn interval(&self) -> Span {
        self.interval
    }
    /// The receiver asks for a key frame.
    pub fn ask_key(&mut self, now: Time) {
        self.is_key_due |= self.key.is_none_or(|last| now.since(last) >= KEY_APART);
    }

    /// The frame that is due is not encoded.
    pub fn skip(&mut self) {
        self.next += self.interval;
        let (from, until) = self.pause;
        if (from..until).contains(&self.next) {
            self.next = until;
        }
    }

    /// The frame that is due, with the target in bit/s.
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

    /// Of a Laplace distribution about 1, within 0.4 and 1.6, [`DEVIATION`]: the scale of 0.15 gets there once in 100 frames.
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

    /// Mean rate of `seconds` of frames.
    fn run(encoder: &mut Encoder, target: f64, seconds: u64) -> f64 {
        let (end, mut bytes) = (encoder.next_deadline() + Span::from_secs(seconds), 0.0);
        while encoder.next_deadline() < end {
            let now = encoder.next_deadline();
            bytes += f64::from(encoder.poll(now, target).unwrap().bytes);
        }
        8.0 * bytes / seconds as f64
    }

    #[test]
    fn the_rate_is_the_target() {
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

    /// After the lag, 63% of a step is done.
    #[test]
    fn it_follows_with_the_lag() {
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
