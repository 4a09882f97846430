//! A session over time: which chunks came when, how much video was in the buffer, and when the viewer waited.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// A chunk that was requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkRecord {
    /// When it was requested.
    pub requested: Time,
    /// When all of it had come; [`Time::NEVER`] if it did not.
    pub complete: Time,
    /// Its bit rate, bit/s.
    pub bps: f64,
}

/// A session up to a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// When the flow began.
    pub start: Time,
    /// When the first picture was shown; [`Time::NEVER`] if none was.
    pub began: Time,
    /// From the last picture before a stall to the next one, [`Time::NEVER`] if there was none.
    pub stalls: Vec<(Time, Time)>,
    /// In the order of the video.
    pub chunks: Vec<ChunkRecord>,
    /// Length of a chunk.
    pub chunk: Span,
    /// Length of the video.
    pub length: Span,
    /// What a second of waiting takes from the quality of experience, Mbit/s.
    pub penalty: f64,
}

impl Session {
    /// The times of stalls between `from` and `to`.
    pub fn stalled(&self, from: Time, to: Time) -> Span {
        self.stalls.iter().fold(Span::ZERO, |sum, &stall| sum + overlap(stall, from, to))
    }

    /// The time between `from` and `to` before the first picture.
    pub fn startup(&self, from: Time, to: Time) -> Span {
        overlap((self.start, self.began), from, to)
    }

    /// Video that was played until `at`.
    pub fn played(&self, at: Time) -> Span {
        let waits = self.startup(self.start, at) + self.stalled(self.start, at);
        at.since(self.start).saturating_sub(waits).min(self.length)
    }

    /// Video that was downloaded and not played at `at`.
    pub fn buffer(&self, at: Time) -> Span {
        let there = self.chunks.iter().take_while(|chunk| chunk.complete <= at).count() as u64;
        (self.chunk * there).saturating_sub(self.played(at))
    }

    /// The bit rate that was chosen last at `at`, bit/s.
    pub fn chosen(&self, at: Time) -> Option<f64> {
        self.chunks.iter().take_while(|chunk| chunk.requested <= at).last().map(|chunk| chunk.bps)
    }

    /// The bit rate of the picture at `at`, bit/s; `None` while the viewer waits, and when everything has been played.
    pub fn shown(&self, at: Time) -> Option<f64> {
        let is_waiting = |&(from, to): &(Time, Time)| from <= at && at < to;
        if at < self.began || self.stalls.iter().any(is_waiting) {
            return None;
        }
        let number = self.played(at).as_nanos() / self.chunk.as_nanos().max(1);
        let is_over = self.played(at) >= self.length;
        self.chunks.get(number as usize).filter(|_| !is_over).map(|chunk| chunk.bps)
    }
}

fn overlap((begin, end): (Time, Time), from: Time, to: Time) -> Span {
    end.min(to).since(begin.max(from))
}
