//! The acknowledged rate: the rate at which packets arrive, by feedback.
//!
//! The window is the last second, but at least 20 packets. The estimate is the lower of two rates: bytes over the time of sending, and bytes over
//! the time of arrival. The longest gap between arrivals counts as long as the second longest, because the channel may have been blocked.
//!
//! Source: the robust estimator of libwebrtc (2021 and later). draft-ietf-rmcat-gcc-02 section 5.5 has R_hat, over 0.5 to 1 s.

use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Number of packets required for an estimate.
const REQUIRED: usize = 10;
/// Number of packets kept beyond one second of age, up to `LONGEST`.
const KEPT: usize = 20;
/// Most packets kept.
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
    /// Packets in the order of arrival.
    window: VecDeque<Arrival>,
}

impl Acknowledged {
    /// Records the arrival of a packet.
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

    /// Acknowledged rate, bit/s; `None` before enough packets have arrived.
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
        // The time between the first and the last packet is that of all packets but one.
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
    fn the_rate_is_the_lower_of_sending_and_arrival() {
        let mut window = Acknowledged::default();
        for n in 0..9_u64 {
            window.add(Time::ZERO + Span::from_millis(n), Time::ZERO + Span::from_millis(50 + 10 * n), 1250);
        }
        assert_eq!(window.rate(), None);
        for n in 9..300_u64 {
            // Gaps of 10 ms at the receiver, and one of 400 ms.
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
