//! NewReno as implemented in ns-3 3.44 (3.48 gives the same results; `TcpNewReno` in `tcp-congestion-ops.cc`).
//!
//! Each acknowledgement of new data counts once, for any number of segments: the window grows by a whole segment
//! below the slow start threshold (RFC 5681 equation 2), and by `mss * mss / window` bytes above (equation 3). Delayed
//! acknowledgements therefore halve the growth. A loss sets the threshold to half of the data *in flight* (equation 4), which excludes
//! segments marked lost or selectively acknowledged. The controller has no parameters.
//!
//! Differences from the reference: slow start compares with the threshold in whole segments; the half segment that the reference's threshold may
//! have is added when recovery ends with the window at the threshold. Differences of both from [`Reno`](super::Reno), which is Linux's: the
//! counting of acknowledgements, the threshold, and growth while the application does not fill the window.

use super::{AckSample, Connection, Controller, Event, Window};
use qdelay_core::Random;

/// ns-3's NewReno controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ns3Reno {
    /// Bytes of the window beyond its whole segments.
    fraction: u64,
    /// Bytes of the threshold beyond its whole segments.
    threshold_fraction: u64,
}

impl Controller for Ns3Reno {
    fn init(&mut self, _: &Connection, _: &mut Window, _: &mut Random) {}

    fn ssthresh(&mut self, connection: &Connection, _: &Window) -> u32 {
        let mss = u64::from(connection.mss.max(1));
        let bytes = (u64::from(connection.in_flight) * mss / 2).max(2 * mss);
        self.threshold_fraction = bytes % mss;
        (bytes / mss) as u32
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        let mut counted = sample.acked_sacked;
        if window.in_slow_start() && counted > 0 {
            window.cwnd = window.cwnd.saturating_add(1);
            counted -= 1;
        }
        if !window.in_slow_start() && counted > 0 {
            let mss = u64::from(connection.mss.max(1));
            let bytes = u64::from(window.cwnd) * mss + self.fraction;
            let grown = bytes + (mss * mss / bytes.max(1)).max(1);
            window.cwnd = u32::try_from(grown / mss).unwrap_or(u32::MAX);
            self.fraction = grown % mss;
        }
        window.cwnd = window.cwnd.min(window.clamp);
    }

    fn event(&mut self, _: &Connection, _: &mut Window, event: Event) {
        match event {
            Event::ReductionComplete => self.fraction = self.threshold_fraction,
            Event::Timeout => self.fraction = 0,
            Event::TransmitStart | Event::WindowRestart => {}
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{connection, sample, window};
    use super::*;
    use qdelay_core::Time;

    fn acknowledge(reno: &mut Ns3Reno, window: &mut Window, acked: u32) {
        reno.grow(&connection(Time::ZERO), window, &sample(acked));
    }

    #[test]
    fn an_acknowledgement_counts_once() {
        let (mut reno, mut w) = (Ns3Reno::default(), window(10, 12));
        acknowledge(&mut reno, &mut w, 2);
        assert_eq!((w.cwnd, reno.fraction), (11, 0));
        // The second segment is acknowledged in congestion avoidance: a twelfth of a segment.
        acknowledge(&mut reno, &mut w, 2);
        let mss = u64::from(connection(Time::ZERO).mss);
        assert_eq!((w.cwnd, reno.fraction), (12, mss * mss / (12 * mss)));
        acknowledge(&mut reno, &mut w, 0);
        assert_eq!((w.cwnd, reno.fraction), (12, mss * mss / (12 * mss)));
    }

    /// Growth divides by the window with its fraction: from 12 to 13 segments takes 12 to 13 acknowledgements.
    #[test]
    fn one_segment_per_window_of_acknowledgements() {
        let (mut reno, mut w) = (Ns3Reno::default(), window(12, 5));
        let count = (1..100).find(|_| {
            acknowledge(&mut reno, &mut w, 2);
            w.cwnd == 13
        });
        assert_eq!(count, Some(13));
    }

    #[test]
    fn a_loss_sets_the_threshold_to_half_of_the_data_in_flight() {
        let mut reno = Ns3Reno::default();
        let mut w = window(30, 5);
        let c = Connection { in_flight: 25, ..connection(Time::ZERO) };
        assert_eq!(reno.ssthresh(&c, &w), 12);
        reno.event(&c, &mut w, Event::ReductionComplete);
        assert_eq!(reno.fraction, u64::from(c.mss) / 2);
        assert_eq!(reno.ssthresh(&Connection { in_flight: 1, ..c }, &w), 2);
        reno.event(&c, &mut w, Event::Timeout);
        assert_eq!(reno.fraction, 0);
    }
}
