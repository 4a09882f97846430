//! The rate at which packets arrive, as acknowledged by feedback.
//!
//! Over the last second, and at least 20 packets: bytes over time at the sender, bytes over time at the receiver, and of both the lower
//! one. The longest gap between arrivals counts as the second longest, because it may be a channel that was blocked.
//!
//! Source: the robust estimator of libwebrtc (2021 and later). draft-ietf-rmcat-gcc-02 section 5.5 has R_hat, over 0.5 to 1 s.

use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Packets before which there is no rate.
const REQUIRED: usize = 10;
/// Packets that are kept however old they are, up to `LONGEST`.
const KEPT: usize = 20;
/// The most packets kept.
const MOST: usize = 500;
const WINDOW: Span = Span::from_secs(1);
const LONGEST: Span = Span::from_secs(5);

#[derive(Clone, Copy, Debug)]
struct Arrival {
    sent: Time,
    arrived: Time,
    bytes: u32,
}

/// The window of arrivals.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged {
    /// In order of arrival.
    window: VecDeque<Arrival>,
}

impl Acknowledged {
    /// A packet has arrived.
    pub fn add(&mut self, sent: Time, arrived: Time, bytes: u32) {
        let mut place = self.window.len();
        while place > 0 && self.window[place - 1].arrived > arrived {
            place -= 1;
        }
        self.window.insert(place, Arrival { sent, arrived, bytes });
        while let (Some(first), Some(last)) = (self.window.front(), self.window.back()) {
            let (count, span) = (self.window.len(), last.arrived.since(first.arrived));
            if count <= MOST && (count <= KEPT || span <= WINDOW) && span <= LONGEST {
                break;
            }
            self.window.pop_front();
        }
    }

    /// Bits a second; `None` before there are enough packets.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = (self.window.front()?, self.window.back()?);
        if self.window.len() < REQUIRED {
            return None;
        }
        let (mut first_sent, mut last_sent) = (*first, *first);
        let (mut longest, mut second) = (Span::ZERO, Span::ZERO);
        let (mut bytes, mut before) = (0_u64, first.arrived);
        for packet in &self.window {
            bytes += u64::from(packet.bytes);
            if packet.sent < first_sent.sent {
                first_sent = *packet;
            }
            if packet.sent >= last_sent.sent {
                last_sent = *packet;
            }
            let gap = packet.arrived.since(before);
            before = packet.arrived;
            if gap > longest {
                (longest, second) = (gap, longest);
            } else {
                second = second.max(gap);
            }
        }
        // The packets from the first to the last take the time between them without one of the two.
        let received = last.arrived.since(first.arrived).saturating_sub(longest.saturating_sub(second));
        let sent = last_sent.sent.since(first_sent.sent);
        let rate = |without: u32, span: Span| {
            8.0 * (bytes - u64::from(without)) as f64 / span.as_secs_f64().max(1e-3)
        };
        Some(rate(last_sent.bytes, sent).min(rate(first.bytes, received)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_both_rates() {
        let mut window = Acknowledged::default();
        for n in 0..9_u64 {
            window.add(Time::ZERO + Span::from_millis(n), Time::ZERO + Span::from_millis(50 + 10 * n), 1250);
        }
        assert_eq!(window.rate(), None);
        for n in 9..300_u64 {
            // 10 ms each at the receiver, and one gap of 400 ms.
            let gap = if n >= 250 { 400 } else { 0 };
            window.add(
                Time::ZERO + Span::from_millis(8 * n),
                Time::ZERO + Span::from_millis(50 + 10 * n + gap),
                1250,
            );
        }
        let rate = window.rate().unwrap();
        assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
    }
}
