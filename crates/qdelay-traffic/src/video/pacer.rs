//! The pacer: the packets of frames leave spread out, at a multiple of the target rate, or in bursts.
//!
//! What leaves is a debt in time. Until it exceeds a burst, packets leave at once; then the next ones when it has been worked off, or
//! when they come and it is below a burst. Packets of a probe leave at its rate, whatever the debt. Packets to be sent again go first. If
//! what waits would take longer than 2 s, the rate is what clears it in that time.
//!
//! Source: libwebrtc's pacer (June 2025): its default factor of 1.1 for calls with video, and its default burst of 40 ms.
//! draft-ietf-rmcat-gcc-02 section 4 has bursts each 5 ms.

use super::wire::VideoPacket;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// The longest time that packets should wait, s.
const LONGEST_S: f64 = 2.0;
/// Of a debt no more is kept.
const MOST_DEBT: Span = Span::from_millis(500);

/// The packets that wait.
#[derive(Clone, Debug)]
pub struct Pacer {
    again: VecDeque<VideoPacket>,
    video: VecDeque<VideoPacket>,
    bytes: u64,
    /// The longest debt with which a packet leaves; zero for none.
    burst: Span,
    /// When the debt is worked off.
    free: Time,
    /// When the next packet of a probe may leave.
    probe: Time,
}

impl Pacer {
    /// An empty one, from `start` on, with bursts of this length.
    pub fn new(start: Time, burst: Span) -> Pacer {
        Pacer { again: VecDeque::new(), video: VecDeque::new(), bytes: 0, burst, free: start, probe: start }
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
    /// When a packet is to leave, of a probe if `is_probe`.
    pub fn due(&self, is_probe: bool) -> Time {
        if is_probe { self.probe } else { self.free }
    }

    /// Whether a packet may leave.
    pub fn is_open(&self, now: Time, is_probe: bool) -> bool {
        self.due(is_probe) <= now || (!is_probe && self.free.since(now) < self.burst)
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

    /// A packet has left; rates in bit/s, of the pacer and of the probe, if it belongs to one.
    pub fn spent(&mut self, now: Time, bytes: u32, rate: f64, probe: Option<f64>) {
        let time_at = |rate: f64| Span::from_secs_f64(8.0 * f64::from(bytes) / rate.max(1.0));
        let debt = self.free.max(now) + time_at(rate.max(8.0 * self.bytes as f64 / LONGEST_S));
        self.free = debt.min(now + MOST_DEBT);
        if let Some(rate) = probe {
            self.probe = self.probe.max(now) + time_at(rate);
        }
    }
}
