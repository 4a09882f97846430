//! BOLA: the bit rate maximizes a Lyapunov function of the buffer (Spiteri, Urgaonkar and Sitaraman, INFOCOM 2016).
//!
//! | parameter | unit | default | symbol |
//! | --- | --- | --- | --- |
//! | `gamma` | number | 5 | gamma p |
//! | `variant` | word | u | BOLA-BASIC or BOLA-U |
//!
//! The utility of a rung is the logarithm of its bit rate over the lowest bit rate. The next chunk has the rung with the largest
//! `(V (utility + gamma p) - buffer) / bit rate`. V is set so that the highest rung is chosen when the buffer has just room for one more chunk.
//! When increasing the bit rate, BOLA-U chooses at most one rung above the one that the throughput sustains; the buffer alone would overshoot
//! and fall back.
//!
//! # Differences from the reference
//! * The paper's BOLA-FINITE shrinks the buffer near both ends of the video; V is constant here.
//! * Downloads are not abandoned.
//! * The average of the throughput is that of dash.js (see `throughput.rs`); the paper does not define one.

use super::throughput::Ewma;
use super::{Download, Moment, Rule, Video};
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const GAMMA: Typed<f64> = Typed::new("gamma", "5", "Weight of stalls, gamma p of the paper")
    .within("0.1", "100")
    .source("Spiteri et al. 2016");
const VARIANT: Typed<str> = Typed::new(
    "variant",
    "u",
    "u: throughput bounds an increase of the bit rate (BOLA-U); basic: no bound (BOLA-BASIC)",
)
.unit(Unit::Choice(&["u", "basic"]))
.source("Spiteri et al. 2016");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Adaptation,
    "bola",
    "Bit rate with the largest utility that keeps the buffer from running empty",
)
.source("Spiteri et al. 2016")
.with(&[GAMMA.parameter(), VARIANT.parameter()]);

/// The rule BOLA with its parameters and state.
#[derive(Clone, Debug)]
pub struct Bola {
    gamma: f64,
    is_bounded: bool,
    throughput: Ewma,
}

pub(super) fn build(arguments: &Arguments) -> Bola {
    Bola {
        gamma: arguments.get(&GAMMA),
        is_bounded: arguments.get(&VARIANT) == "u",
        throughput: Ewma::default(),
    }
}

fn kbps(video: &Video, rung: usize) -> f64 {
    video.bps(rung) / 1e3
}

fn utility(video: &Video, rung: usize) -> f64 {
    libm::log(kbps(video, rung)) - libm::log(kbps(video, 0))
}

impl Bola {
    fn of_buffer(&self, moment: &Moment<'_>) -> usize {
        let video = moment.video;
        let top = video.rungs() - 1;
        let room = moment.buffer_max.saturating_sub(video.chunk()).as_millis_f64();
        let v = room / (utility(video, top) + self.gamma);
        let level = moment.buffer.as_millis_f64();
        let score = |rung| (v * (utility(video, rung) + self.gamma) - level) / kbps(video, rung);
        let (mut best, mut best_score) = (0, score(0));
        for rung in 1..=top {
            let score = score(rung);
            if score > best_score {
                (best, best_score) = (rung, score);
            }
        }
        best
    }

    /// Highest rung whose chunks download in less than their length at the average throughput.
    fn sustained(&self, video: &Video) -> usize {
        let chunk = video.chunk().as_millis_f64();
        let Some((throughput, latency)) = self.throughput.estimate(chunk) else { return 0 };
        let fits = |rung: &usize| latency + chunk * kbps(video, *rung) / throughput <= chunk;
        (1..video.rungs()).take_while(fits).last().unwrap_or(0)
    }
}

impl Rule for Bola {
    fn downloaded(&mut self, video: &Video, download: &Download) {
        self.throughput.add(download, video.chunk().as_millis_f64());
    }

    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        // Without a throughput sample the first chunk has the lowest rung.
        let Some(last) = moment.last else { return 0 };
        let wanted = self.of_buffer(moment);
        if !self.is_bounded || wanted <= last {
            return wanted;
        }
        let sustained = self.sustained(moment.video);
        if wanted <= sustained {
            wanted
        } else if last > sustained {
            last
        } else {
            sustained + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMPONENTS;
    use super::*;
    use qdelay_core::{Rate, Span, Time};

    /// Two rungs of 1 and 2 Mbit/s, chunks of 4 s, a buffer of 24 s: V = 20 s / (ln 2 + 5), and both rungs have equal scores at
    /// `buffer = V (gamma - ln 2)`.
    #[test]
    fn the_threshold_of_two_rungs_is_in_closed_form() {
        let ladder = [1, 2].map(|mbps| Rate::from_bps(mbps * 1_000_000));
        let video = Video::synthetic(&ladder, Span::from_secs(40), Span::from_secs(4), 0.0, 1);
        let ln2 = core::f64::consts::LN_2;
        let threshold = 20.0 / (ln2 + 5.0) * (5.0 - ln2);
        let mut rule = build(&Arguments::parse(COMPONENTS, "bola:variant=basic").unwrap());
        for (buffer, expected) in [(threshold - 0.01, 0), (threshold + 0.01, 1)] {
            let moment = Moment {
                video: &video,
                now: Time::ZERO,
                buffer: Span::from_secs_f64(buffer),
                buffer_max: Span::from_secs(24),
                next: 1,
                last: Some(0),
            };
            assert_eq!(rule.choose(&moment), expected, "{buffer}");
        }
    }
}
