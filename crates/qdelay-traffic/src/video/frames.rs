//! Records of each frame from capture to display, and the outcome of the call.
//!
//! A frame is captured, complete at the receiver, and decoded. A frame is shown at its playout deadline, a fixed time after its
//! capture; a frame decoded after the deadline is late, and is shown when it is decoded. A frame that is never decoded is *frozen*: the picture
//! before it stays. A *freeze* is an interval between two pictures that exceeds both three times the mean interval and the mean interval plus
//! 150 ms.
//!
//! Source: W3C, Identifiers for WebRTC's Statistics API (2024), `freezeCount` and `totalFreezesDuration`, for freezes.

use super::ladder::SIZES;
use super::quality::Second;
use crate::nearest_rank::nearest_rank;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Time before the end in which captured frames are left out, because their outcome is undecided.
const UNDECIDED: Span = Span::from_secs(1);
/// Number of intervals in the mean interval of a freeze.
const INTERVALS: usize = 30;

/// Record of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameRecord {
    /// Capture time.
    pub captured: Time,
    /// Arrival time of the last packet; [`Time::NEVER`] for an incomplete frame.
    pub complete: Time,
    /// Decoding time; [`Time::NEVER`] for a frame never decoded.
    pub decoded: Time,
    /// Target rate at capture, bit/s.
    pub target: f32,
    /// Bytes of the frame, without packet headers.
    pub bytes: u32,
    /// Index of the picture size in [`SIZES`].
    pub size: u8,
}

impl FrameRecord {
    /// Display time with the playout delay `playout`; [`Time::NEVER`] for a frame never decoded.
    pub fn shown(&self, playout: Span) -> Time {
        if self.decoded == Time::NEVER { Time::NEVER } else { self.decoded.max(self.captured + playout) }
    }
    /// Whether the frame was decoded after its playout deadline.
    pub fn is_late(&self, playout: Span) -> bool {
        self.decoded != Time::NEVER && self.decoded > self.captured + playout
    }
    /// Height of the picture, pixels.
    pub fn height(&self) -> u32 {
        SIZES[usize::from(self.size)].height
    }
}

/// Records of all frames of a call.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    frames: Vec<FrameRecord>,
}

/// Statistics of the delay of complete frames, from capture to complete, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameDelay {
    /// Mean, ms.
    pub mean: f64,
    /// Median, ms.
    pub p50: f64,
    /// 95th percentile, ms.
    pub p95: f64,
    /// 99th percentile, ms.
    pub p99: f64,
    /// Maximum, ms.
    pub max: f64,
}

/// Outcome of a video call after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoOutcome {
    /// Mean target rate, Mbit/s.
    pub target_mbps: f64,
    /// Frames captured.
    pub frames: u64,
    /// Frames complete at the receiver.
    pub complete: u64,
    /// Frames decoded after the playout deadline.
    pub late: u64,
    /// Frames never decoded.
    pub frozen: u64,
    /// Delay of complete frames, from capture to complete.
    pub delay_ms: FrameDelay,
    /// Share of frames complete within 20 ms.
    pub within_20ms: f64,
    /// Share of frames complete within 50 ms.
    pub within_50ms: f64,
    /// Number of freezes.
    pub freezes: u64,
    /// Share of the time in freezes, 0 to 1.
    pub freeze_share: f64,
    /// Mean height of the pictures shown, pixels.
    pub height: f64,
    /// Mean opinion score of the call, averaged over seconds, 1 to 5.
    pub mos: f64,
    /// Key frames requested by the receiver.
    pub key_requests: u64,
}

impl Ledger {
    /// Records a captured frame. `target`: target rate, bit/s.
    pub fn captured(&mut self, now: Time, bytes: u32, size: u8, target: f64) {
        self.frames.push(FrameRecord {
            captured: now,
            complete: Time::NEVER,
            decoded: Time::NEVER,
            target: target as f32,
            bytes,
            size,
        });
    }
    /// Records that frame `number` is complete.
    pub fn complete(&mut self, number: u32, now: Time) {
        if let Some(frame) = self.frames.get_mut(number as usize) {
            frame.complete = now;
        }
    }
    /// Records that frame `number` was decoded.
    pub fn decoded(&mut self, number: u32, now: Time) {
        if let Some(frame) = self.frames.get_mut(number as usize) {
            frame.decoded = now;
        }
    }
    /// All frames in the order of capture.
    pub fn frames(&self) -> &[FrameRecord] {
        &self.frames
    }

    /// Outcome of the frames captured from `begin` until 1 s before `end`; `None` without frames.
    pub fn outcome(
        &self,
        begin: Time,
        end: Time,
        playout: Span,
        displayed: u8,
        key_requests: u64,
    ) -> Option<VideoOutcome> {
        let until = Time::ZERO + end.since(Time::ZERO + UNDECIDED);
        let from = self.frames.partition_point(|frame| frame.captured < begin);
        let to = self.frames.partition_point(|frame| frame.captured < until);
        let frames = self.frames.get(from..to).filter(|frames| !frames.is_empty())?;
        let number = frames.len() as f64;
        let mut delays: Vec<f64> = frames
            .iter()
            .filter(|frame| frame.complete != Time::NEVER)
            .map(|frame| frame.complete.since(frame.captured).as_millis_f64())
            .collect();
        delays.sort_unstable_by(f64::total_cmp);
        let within = |ms: f64| delays.partition_point(|&delay| delay <= ms) as f64 / number;
        let is_decoded = |frame: &&FrameRecord| frame.decoded != Time::NEVER;
        let shown: Vec<&FrameRecord> = frames.iter().filter(is_decoded).collect();
        let late = shown.iter().filter(|frame| frame.is_late(playout)).count();
        // The last picture is shown until the end.
        let times = shown.iter().map(|frame| frame.shown(playout)).chain([until + playout]);
        let (mut count, mut frozen_s) = (0, 0.0);
        freezes(times).for_each(|(from, to)| {
            (count, frozen_s) = (count + 1, frozen_s + to.since(from).as_secs_f64());
        });
        let heights: f64 = shown.iter().map(|frame| f64::from(frame.height())).sum();
        Some(VideoOutcome {
            target_mbps: frames.iter().map(|frame| f64::from(frame.target)).sum::<f64>() / number / 1e6,
            frames: frames.len() as u64,
            complete: delays.len() as u64,
            late: late as u64,
            frozen: (frames.len() - shown.len()) as u64,
            within_20ms: within(20.0),
            within_50ms: within(50.0),
            delay_ms: FrameDelay::from_sorted(&delays),
            freezes: count,
            freeze_share: frozen_s / until.since(begin).as_secs_f64(),
            height: heights / shown.len().max(1) as f64,
            mos: quality(&shown, begin, until, displayed),
            key_requests,
        })
    }
}

impl FrameDelay {
    /// Statistics of delays in ascending order; percentiles are by nearest rank.
    fn from_sorted(sorted: &[f64]) -> FrameDelay {
        let percentile = |percent| nearest_rank(sorted, percent);
        FrameDelay {
            mean: sorted.iter().sum::<f64>() / sorted.len().max(1) as f64,
            p50: percentile(50),
            p95: percentile(95),
            p99: percentile(99),
            max: percentile(100),
        }
    }
}

/// Freezes among pictures shown at the times `times`: for each, the times of the last picture before and of the first picture after.
pub fn freezes(times: impl Iterator<Item = Time>) -> impl Iterator<Item = (Time, Time)> {
    let (mut intervals, mut count, mut last) = ([0.0; INTERVALS], 0, None);
    times.filter_map(move |time| {
        let before = last.replace(time)?;
        let interval = time.since(before).as_secs_f64();
        let known = count.min(INTERVALS);
        let mean = intervals[..known].iter().sum::<f64>() / known.max(1) as f64;
        intervals[count % INTERVALS] = interval;
        count += 1;
        (known > 0 && interval >= (3.0 * mean).max(mean + 0.15)).then_some((before, time))
    })
}

/// Mean opinion score averaged over whole seconds; a second is rated by the frames captured in it and shown.
fn quality(shown: &[&FrameRecord], begin: Time, end: Time, displayed: u8) -> f64 {
    let seconds = (end.since(begin).as_nanos() / 1_000_000_000) as usize;
    let displayed = SIZES[usize::from(displayed)].pixels();
    let (mut next, mut sum) = (0, 0.0);
    for second in 0..seconds {
        let until = begin + Span::from_secs(second as u64 + 1);
        let (mut bytes, mut pixels, first) = (0.0, 0.0, next);
        while let Some(frame) = shown.get(next)
            && frame.captured < until
        {
            bytes += f64::from(frame.bytes);
            pixels += SIZES[usize::from(frame.size)].pixels();
            next += 1;
        }
        let fps = (next - first) as f64;
        sum += Second { kbps: 8.0 * bytes / 1000.0, coded: pixels / fps.max(1.0), displayed, fps }.mos();
    }
    if seconds == 0 { 1.0 } else { sum / seconds as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// 25 frames per second with a delay of 40 ms; frames captured from 2 to 2.4 s arrive 500 ms later, and the frame of 4 s is lost.
    #[test]
    fn a_stall_is_a_freeze_and_one_missing_frame_is_not() {
        let mut ledger = Ledger::default();
        for number in 0..250_u32 {
            let captured = 40 * u64::from(number);
            ledger.captured(time_ms(captured), 5000, 4, 1e6);
            let come = time_ms(captured + if (2000..2400).contains(&captured) { 540 } else { 40 });
            if captured != 4000 {
                ledger.complete(number, come);
                ledger.decoded(number, come);
            }
        }
        let outcome = ledger.outcome(time_ms(0), time_ms(10_000), Span::from_millis(100), 4, 3).unwrap();
        assert_eq!((outcome.frames, outcome.complete, outcome.late, outcome.frozen), (225, 224, 10, 1));
        assert_eq!((outcome.delay_ms.p50, outcome.delay_ms.p95, outcome.delay_ms.max), (40.0, 40.0, 540.0));
        assert_eq!((outcome.within_20ms, outcome.within_50ms), (0.0, 214.0 / 225.0));
        // The first late frame is shown 480 ms after the frame before; one missing frame is not a freeze.
        assert_eq!(outcome.freezes, 1);
        assert!((outcome.freeze_share - 0.48 / 9.0).abs() < 1e-9, "{}", outcome.freeze_share);
        assert_eq!((outcome.height, outcome.target_mbps, outcome.key_requests), (720.0, 1.0, 3));
        assert!(outcome.mos > 3.0 && outcome.mos < 4.5, "{}", outcome.mos);
        assert_eq!(ledger.outcome(time_ms(0), time_ms(500), Span::ZERO, 4, 0), None);
    }
}
