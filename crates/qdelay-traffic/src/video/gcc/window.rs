//! Congestion window with pushback: if more bytes are in flight than target rate and round trip explain, the encoder's rate is reduced, and
//! frames are dropped.
//!
//! The window is the bytes of the target rate in the shortest of the last round trips plus 350 ms. The encoder has a share of the target rate,
//! updated with each packet, each feedback and each 25 ms. While the bytes in flight exceed the window, the share falls by 5% per update, or by
//! 10% beyond 1.5 times the window; otherwise it grows by 5%. At most every second frame is dropped.
//!
//! Source: libwebrtc (June 2025), its window with pushback and the dropping of frames, both on by default.

use qdelay_core::{Span, Time};

const QUEUE: Span = Span::from_millis(350);
const LEAST_BYTES: f64 = 3000.0;
const TICK: Span = Span::from_millis(25);
/// Lowest rate to which the window reduces the encoder, bit/s.
const LEAST_RATE: f64 = 30_000.0;
/// Smallest reduction of the share that has an effect.
const EFFECT: f64 = 0.01;

/// State of the window.
#[derive(Clone, Debug)]
pub struct Window {
    bytes: Option<f64>,
    /// Share of the target rate for the encoder, 0 to 1.
    share: f64,
    in_flight: f64,
    ticked: Option<Time>,
}

impl Default for Window {
    fn default() -> Window {
        Window { bytes: None, share: 1.0, in_flight: 0.0, ticked: None }
    }
}

impl Window {
    /// Updates the share after a packet or feedback; `in_flight`: bytes in flight.
    pub fn update(&mut self, in_flight: u64) {
        self.in_flight = in_flight as f64;
        self.push_back();
    }

    /// Sets the window by the target rate, bit/s, and the shortest of the last round trips.
    pub fn resize(&mut self, target: f64, rtt: Span) {
        let bytes = target / 8.0 * (rtt + QUEUE).as_secs_f64();
        let mean = self.bytes.map_or(bytes, |before| (before + bytes) / 2.0);
        self.bytes = Some(mean.max(LEAST_BYTES));
    }

    /// Updates the share each 25 ms. `target`: target rate, bit/s; `rtt`: shortest of the last round trips.
    pub fn tick(&mut self, now: Time, target: f64, rtt: Span) {
        let mut last = *self.ticked.get_or_insert(now);
        while now.since(last) >= TICK {
            last += TICK;
            if self.bytes.is_some() {
                self.resize(target, rtt);
            }
            self.push_back();
        }
        self.ticked = Some(last);
    }

    fn push_back(&mut self) {
        let Some(bytes) = self.bytes else { return };
        let fill = self.in_flight / bytes;
        self.share = if fill > 1.5 {
            0.9 * self.share
        } else if fill > 1.0 {
            0.95 * self.share
        } else if fill < 0.1 {
            1.0
        } else {
            (1.05 * self.share).min(1.0)
        };
    }

    /// Number of frames per dropped frame; `None` without drops. `target`: target rate; `least`: lowest rate; both bit/s.
    pub fn drops_each(&self, target: f64, least: f64) -> Option<u32> {
        let pushed = (self.share * target).max(LEAST_RATE.min(target)).max(least);
        let reduced = (target - pushed).min(target - LEAST_RATE);
        (reduced > EFFECT * target).then(|| ((target / reduced) as u32).max(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s and 400 ms give a window of 50 kB.
    #[test]
    fn bytes_in_flight_above_the_window_drop_frames() {
        let mut window = Window::default();
        window.update(1_000_000);
        assert_eq!(window.drops_each(1e6, 1e5), None);
        window.resize(1e6, Span::from_millis(50));
        window.update(40_000);
        assert_eq!(window.drops_each(1e6, 1e5), None);
        for _ in 0..3 {
            window.update(60_000);
        }
        // The share is 14% less.
        assert_eq!(window.drops_each(1e6, 1e5), Some(7));
        for _ in 0..20 {
            window.update(90_000);
        }
        assert_eq!(window.drops_each(1e6, 1e5), Some(2));
        window.tick(Time::ZERO, 1e6, Span::from_millis(50));
        window.update(1000);
        assert_eq!(window.drops_each(1e6, 1e5), None);
    }
}
