//! The quality of a call over datagrams: codec, playout and the E-model's rating.
//!
//! Mouth-to-ear delay is the time to fill a packet, the network's delay and the wait in the playout buffer. Packets that the
//! buffer discards count as lost. Both are inputs of the E-model ([`crate::emodel`]); all others have their default values.
//!
//! Source: ITU-T G.107 and G.113 Appendix I (codecs), RFC 3551 section 4.5.14 (G.711 in RTP).

use crate::emodel::EModel;
use crate::playout::{Heard, PlayoutSetting};
use qdelay_core::Span;

/// Bytes of an RTP header without contributing sources (RFC 3550 section 5.1).
pub const RTP_HEADER: u32 = 12;
/// Bytes of IPv4 and UDP headers.
pub const UDP_HEADERS: u32 = 28;

/// A codec, and how its decoder handles a missing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Codec {
    /// G.711 at 64 kbit/s; a missing packet is silence.
    G711,
    /// G.711 with the packet loss concealment of its Appendix I.
    #[default]
    G711Concealed,
}

impl Codec {
    /// Equipment impairment Ie without loss (G.113 Table I.1).
    pub const fn impairment(self) -> f64 {
        match self {
            Codec::G711 | Codec::G711Concealed => 0.0,
        }
    }

    /// Robustness against packet loss, Bpl (G.113 Table I.3), for packets of 10 ms; the Recommendation has no values of G.711 for other sizes.
    pub const fn robustness(self) -> f64 {
        match self {
            Codec::G711 => 4.3,
            Codec::G711Concealed => 25.1,
        }
    }

    /// Bytes of an IP packet that carries `interval` of speech: 64 kbit/s and the headers of RTP, UDP and IPv4.
    pub const fn packet_bytes(self, interval: Span) -> u32 {
        // One sample of one byte every 125 us. The cast is exact below six days.
        (interval.as_micros() / 125) as u32 + RTP_HEADER + UDP_HEADERS
    }
}

/// The listening end of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The codec.
    pub codec: Codec,
    /// Duration of speech per packet.
    pub interval: Span,
    /// Playout buffer in front of the decoder.
    pub playout: PlayoutSetting,
}

/// The rating of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Mouth-to-ear delay.
    pub mouth_to_ear: Span,
    /// Rating R of the E-model: 93.2 for a perfect line; below 50 is unacceptable; may be negative.
    pub r: f64,
    /// Mean opinion score for conversation that follows from R, 1 (bad) to 4.5.
    pub mos: f64,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoiceOutcome {
    /// Playout statistics.
    pub heard: Heard,
    /// Rating of the statistics.
    pub quality: Quality,
}

impl Call {
    /// Rates a call with these playout statistics.
    pub fn quality(&self, heard: &Heard) -> Quality {
        let mouth_to_ear = self.interval + heard.delay;
        let r = rating(self.codec, mouth_to_ear, heard.loss, heard.burst_ratio);
        Quality { mouth_to_ear, r, mos: mos(r) }
    }
}

/// Rating R for a mouth-to-ear delay and a share of packets lost at random, 0 to 1.
pub fn r_factor(codec: Codec, mouth_to_ear: Span, loss: f64) -> f64 {
    rating(codec, mouth_to_ear, loss, 1.0)
}

fn rating(codec: Codec, mouth_to_ear: Span, loss: f64, burst_ratio: f64) -> f64 {
    let delay = mouth_to_ear.as_millis_f64();
    EModel {
        codec_impairment: codec.impairment(),
        loss_robustness: codec.robustness(),
        loss_percent: 100.0 * loss.clamp(0.0, 1.0),
        burst_ratio,
        ..EModel::default().with_delay_ms(delay)
    }
    .rating()
    .r
}

/// Mean opinion score of a rating R (G.107 Annex B): 1 to 4.5.
///
/// The cubic of the Recommendation is below 1 for R between 0 and 6.5; the result is 1 there, the lowest score.
pub fn mos(r: f64) -> f64 {
    match r {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Call = Call {
        codec: Codec::G711Concealed,
        interval: Span::from_millis(20),
        playout: PlayoutSetting::fixed(Span::from_millis(60)),
    };

    fn heard(delay: Span, loss: f64, burst_ratio: f64) -> Heard {
        Heard { sent: 100, played: 100, late: 0, delay, loss, burst_ratio }
    }

    #[test]
    fn packets_have_eight_bytes_per_millisecond_and_headers() {
        let bytes = |ms| Codec::G711.packet_bytes(Span::from_millis(ms));
        assert_eq!((bytes(10), bytes(20), bytes(30)), (120, 200, 280));
    }

    #[test]
    fn a_rating_falls_with_delay_loss_and_bursts() {
        let good = CALL.quality(&heard(Span::from_millis(80), 0.0, 1.0));
        assert_eq!(good.mouth_to_ear, Span::from_millis(100));
        assert_eq!(good.r, r_factor(Codec::G711Concealed, Span::from_millis(100), 0.0));
        assert!((good.r - 90.66).abs() < 0.01 && (good.mos - 4.355).abs() < 0.002, "{good:?}");
        let lossy = CALL.quality(&heard(Span::from_millis(80), 0.02, 1.0));
        assert!((good.r - lossy.r - 95.0 * 2.0 / 27.1).abs() < 1e-9);
        let bursty = CALL.quality(&heard(Span::from_millis(80), 0.02, 2.0));
        assert!((good.r - bursty.r - 95.0 * 2.0 / 26.1).abs() < 1e-9);
        let silent = CALL.quality(&heard(Span::from_secs(3), 1.0, 1.0));
        assert!(silent.r < 0.0 && silent.mos == 1.0);
    }
}
