//! The pacer: the packets of frames leave spread out, at a multiple of the target rate.
//!
//! Packets to be sent again go first. If what waits would take longer than 2 s, the rate is what clears it in that time.
//!
//! Source: libwebrtc's pacer, with its factor of 2.5; draft-ietf-rmcat-gcc-02 section 4 has bursts each 5 ms.

use super::wire::VideoPacket;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// The longest time that packets should wait, s.
const LONGEST_S: f64 = 2.0;

/// The packets that wait.
#[derive(Clone, Debug)]
pub struct Pacer {
    again: VecDeque<VideoPacket>,
    video: VecDeque<VideoPacket>,
    bytes: u64,
    /// When the next one may leave.
    free: Time,
}

impl Pacer {
    /// An empty one, from `start` on.
    pub fn new(start: Time) -> Pacer {
        Pacer { again: VecDeque::new(), video: VecDeque::new(), bytes: 0, free: start }
    }

    /// A packet waits from now on.
    pub fn push(&mut self, packet: VideoPacket) {
        self.bytes += u64::from(packet.bytes());
        if packet.is_resent { self.again.push_back(packet) } else { self.video.push_back(packet) }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
    /// When a packet may leave.
    pub fn free(&self) -> Time {
        self.free
    }

    /// The size of the next packet.
    pub fn next_bytes(&self) -> Option<u32> {
        self.again.front().or(self.video.front()).map(VideoPacket::bytes)
    }

    /// The packet that leaves, if one waits.
    pub fn pop(&mut self) -> Option<VideoPacket> {
        let packet = self.again.pop_front().or_else(|| self.video.pop_front())?;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// What waits is of no use: a key frame comes instead.
    pub fn clear(&mut self) {
        (self.bytes, self.again, self.video) = (0, VecDeque::new(), VecDeque::new());
    }

    /// A packet has left, with this rate in bit/s until the next.
    pub fn spent(&mut self, now: Time, bytes: u32, rate: f64) {
        let rate = rate.max(8.0 * self.bytes as f64 / LONGEST_S).max(1.0);
        self.free = self.free.max(now) + Span::from_secs_f64(8.0 * f64::from(bytes) / rate);
    }
}
