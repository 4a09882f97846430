//! A session over time: chunks, video in the buffer, startup and stalls.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// A chunk that was requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkRecord {
    /// Request time.
    pub requested: Time,
    /// Arrival time of the last byte; [`Time::NEVER`] for an incomplete chunk.
    pub complete: Time,
    /// Bit rate, bit/s.
    pub bps: f64,
}

/// Records of a session from its start to a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Start of the flow.
    pub start: Time,
    /// Time of the first picture; [`Time::NEVER`] without one.
    pub began: Time,
    /// Stalls: last picture before and first picture after; the latter is [`Time::NEVER`] if the stall has not ended.
    pub stalls: Vec<(Time, Time)>,
    /// Requested chunks in the order of the video.
    pub chunks: Vec<ChunkRecord>,
    /// Length of a chunk.
    pub chunk: Span,
    /// Length of the video.
    pub length: Span,
    /// Reduction of the quality of experience per second of waiting, Mbit/s.
    pub penalty: f64,
}

impl Session {
    /// Total duration of stalls between `from` and `to`.
    pub fn stalled(&self, from: Time, to: Time) -> Span {
        self.stalls.iter().fold(Span::ZERO, |sum, &stall| sum + overlap(stall, from, to))
    }

    /// Duration of the startup, before the first picture, between `from` and `to`.
    pub fn startup(&self, from: Time, to: Time) -> Span {
        overlap((self.start, self.began), from, to)
    }

    /// Video played until `at`.
    pub fn played(&self, at: Time) -> Span {
        let waits = self.startup(self.start, at) + self.stalled(self.start, at);
        at.since(self.start).saturating_sub(waits).min(self.length)
    }

    /// Video in the buffer at `at`.
    pub fn buffer(&self, at: Time) -> Span {
        let there = self.chunks.iter().take_while(|chunk| chunk.complete <= at).count() as u64;
        (self.chunk * there).saturating_sub(self.played(at))
    }

    /// Bit rate of the latest chunk requested by `at`, bit/s; `None` before the first.
    pub fn chosen(&self, at: Time) -> Option<f64> {
        self.chunks.iter().take_while(|chunk| chunk.requested <= at).last().map(|chunk| chunk.bps)
    }

    /// Bit rate of the picture shown at `at`, bit/s; `None` during startup and stalls, and after the end of the video.
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
