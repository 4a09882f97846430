//! The pacer, which spreads the packets of a frame over time at a multiple of the target rate, or sends them in bursts.
//!
//! Each packet that leaves adds its transmission time at the pacing rate to a debt, which time works off. While the debt is below the burst length,
//! packets leave at once; otherwise the next packet leaves when the debt has been worked off. Packets of a probe leave at the
//! probe's rate at any debt. Retransmissions go first. If the queue would take longer than 2 s, the pacing rate is raised so that the queue
//! is sent within 2 s.
//!
//! Source: libwebrtc's pacer (June 2025): its default factor of 1.1 for calls with video, and its default burst of 40 ms.
//! draft-ietf-rmcat-gcc-02 section 4 has bursts each 5 ms.

use super::wire::VideoPacket;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Longest time in the pacer's queue, s: the pacing rate is raised to keep it.
const LONGEST_S: f64 = 2.0;
/// Largest debt.
const MOST_DEBT: Span = Span::from_millis(500);

/// The queue of packets that wait, with the state of pacing.
#[derive(Clone, Debug)]
pub struct Pacer {
    again: VecDeque<VideoPacket>,
    video: VecDeque<VideoPacket>,
    bytes: u64,
    /// Burst length: largest debt with which a packet leaves at once; zero without bursts.
    burst: Span,
    /// Time at which the debt is worked off.
    free: Time,
    /// Time at which the next packet of a probe may leave.
    probe: Time,
}

impl Pacer {
    /// An empty pacer with bursts of length `burst`.
    pub fn new(start: Time, burst: Span) -> Pacer {
        Pacer { again: VecDeque::new(), video: VecDeque::new(), bytes: 0, burst, free: start, probe: start }
    }

    /// Appends a packet to the queue.
    pub fn push(&mut self, packet: VideoPacket) {
        self.bytes += u64::from(packet.bytes());
        if packet.is_resent { self.again.push_back(packet) } else { self.video.push_back(packet) }
    }

    /// Bytes in the queue.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
    /// Send time of the next packet; `is_probe`: the packet belongs to a probe. [`Time::NEVER`] with an empty queue.
    pub fn due(&self, is_probe: bool) -> Time {
        if is_probe { self.probe } else { self.free }
    }

    /// Whether a packet may leave at `now`.
    pub fn is_open(&self, now: Time, is_probe: bool) -> bool {
        self.due(is_probe) <= now || (!is_probe && self.free.since(now) < self.burst)
    }

    /// Size of the next packet, IP bytes.
    pub fn next_bytes(&self) -> Option<u32> {
        self.again.front().or(self.video.front()).map(VideoPacket::bytes)
    }

    /// Removes the next packet from the queue.
    pub fn pop(&mut self) -> Option<VideoPacket> {
        let packet = self.again.pop_front().or_else(|| self.video.pop_front())?;
        self.bytes -= u64::from(packet.bytes());
        debug_assert!(
            self.bytes > 0 || (self.again.is_empty() && self.video.is_empty()),
            "bytes of waiting packets are not counted"
        );
        Some(packet)
    }

    /// Empties the queue, which a key frame replaces.
    pub fn clear(&mut self) {
        (self.bytes, self.again, self.video) = (0, VecDeque::new(), VecDeque::new());
    }

    /// Records that a packet has left. `rate`: target rate times the pacing factor; `probe`: rate of its probe; both bit/s.
    pub fn spent(&mut self, now: Time, bytes: u32, rate: f64, probe: Option<f64>) {
        let time_at = |rate: f64| Span::from_secs_f64(8.0 * f64::from(bytes) / rate.max(1.0));
        let debt = self.free.max(now) + time_at(rate.max(8.0 * self.bytes as f64 / LONGEST_S));
        self.free = debt.min(now + MOST_DEBT);
        if let Some(rate) = probe {
            self.probe = self.probe.max(now) + time_at(rate);
        }
    }
}
