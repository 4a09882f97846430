//! FESTIVE: throughput, with a bound on how often and how far the bit rate changes (Jiang, Sekar and Zhang, "Improving Fairness, Efficiency,
//! and Stability in HTTP-based Adaptive Video Streaming with FESTIVE", CoNEXT 2012, section 4).
//!
//! | parameter | unit | default | symbol |
//! | --- | --- | --- | --- |
//! | `window` | chunks | 20 | of the harmonic mean |
//! | `share` | number | 0.85 | p |
//! | `alpha` | number | 12 | alpha |
//!
//! Throughput is the harmonic mean of the last `window` chunks. The reference rung is one down where the bit rate is above `p` times the
//! throughput, and one up where the next bit rate is not, but from the k-th rung only after k chunks at it. It is taken where that
//! lowers `2^n + alpha |b / min(throughput, reference) - 1|`, with n the switches of the last 20 s and 1 more in the sum for a change. The
//! next chunk is requested when the buffer has fallen to a level that is drawn anew each time, so that players do not keep in step.
//!
//! # Differences from the reference
//! * The level is drawn from one chunk below what the buffer can hold up to that; the paper has a target and a range around it.
//! * `p` bounds going up and down alike.

use super::throughput::Last;
use super::{Download, Moment, Rule, Video};
use alloc::collections::VecDeque;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Random, Span, Time};

const WINDOW: Typed<u32> = Typed::new("window", "20", "Chunks whose throughputs count")
    .unit(Unit::Count("chunks"))
    .within("1", "20")
    .source("Jiang et al. 2012");
const SHARE: Typed<f64> = Typed::new("share", "0.85", "Share of the throughput that the video may have")
    .within("0.1", "1")
    .source("Jiang et al. 2012");
const ALPHA: Typed<f64> = Typed::new("alpha", "12", "How much efficiency counts against stability")
    .within("0", "1000")
    .source("Jiang et al. 2012");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Adaptation,
    "festive",
    "The bit rate that throughput sustains, changed step by step and seldom",
)
.source("Jiang et al. 2012")
.with(&[WINDOW.parameter(), SHARE.parameter(), ALPHA.parameter()]);

/// The time in which switches are counted.
const SWITCHES_OF: Span = Span::from_secs(20);
/// Most chunks in the window.
const WINDOW_MAX: usize = 20;

/// The rule.
#[derive(Clone, Debug)]
pub struct Festive {
    window: usize,
    share: f64,
    alpha: f64,
    /// bit/s.
    throughputs: Last<WINDOW_MAX>,
    switches: VecDeque<Time>,
    /// Chunks at the present rung.
    stayed: u64,
}

pub(super) fn build(arguments: &Arguments) -> Festive {
    Festive {
        window: arguments.get(&WINDOW) as usize,
        share: arguments.get(&SHARE),
        alpha: arguments.get(&ALPHA),
        throughputs: Last::default(),
        switches: VecDeque::new(),
        stayed: 0,
    }
}

impl Festive {
    /// The rung to move towards.
    fn reference(&self, video: &Video, last: usize, throughput: f64) -> usize {
        let allowed = self.share * throughput;
        if video.bps(last) > allowed {
            return last.saturating_sub(1);
        }
        let next = last + 1;
        // The k-th rung has index k - 1.
        let is_settled = self.stayed >= next as u64;
        if next < video.rungs() && video.bps(next) <= allowed && is_settled { next } else { last }
    }
}

impl Rule for Festive {
    fn downloaded(&mut self, _: &Video, download: &Download) {
        self.throughputs.push(download.bytes as f64 * 8.0 / download.seconds());
    }

    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let video = moment.video;
        let (Some(last), Some(throughput)) = (moment.last, self.throughputs.harmonic_mean(self.window))
        else {
            self.stayed = 1;
            return 0;
        };
        while self.switches.front().is_some_and(|at| moment.now.since(*at) > SWITCHES_OF) {
            self.switches.pop_front();
        }
        let reference = self.reference(video, last, throughput);
        let bound = throughput.min(video.bps(reference));
        let stability = libm::ldexp(1.0, self.switches.len().min(60) as i32);
        let efficiency = |rung: usize| self.alpha * (video.bps(rung) / bound - 1.0).abs();
        if reference != last && stability + 1.0 + efficiency(reference) < stability + efficiency(last) {
            self.switches.push_back(moment.now);
            self.stayed = 1;
            return reference;
        }
        self.stayed += 1;
        last
    }

    fn patience(&mut self, room: Span, chunk: Span, random: &mut Random) -> Span {
        room.saturating_sub(Span::from_nanos(random.below(chunk.as_nanos())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMPONENTS;
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::Rate;

    /// At 10 Mbit/s it climbs one rung at a time, and the k-th rung takes k chunks.
    #[test]
    fn it_climbs_step_by_step() {
        let ladder = [300, 750, 1200, 1850].map(|kbps| Rate::from_bps(kbps * 1000));
        let video = Video::synthetic(&ladder, Span::from_secs(80), Span::from_secs(4), 0.0, 1);
        let mut rule = build(&Arguments::parse(COMPONENTS, "festive").unwrap());
        let (mut last, mut chosen) = (None, Vec::new());
        for next in 0..8 {
            let now = Time::ZERO + Span::from_secs(4 * next as u64);
            let (buffer, buffer_max) = (Span::from_secs(20), Span::from_secs(60));
            let rung = rule.choose(&Moment { video: &video, now, buffer, buffer_max, next, last });
            let bytes = video.bytes(next, rung);
            let transfer = Rate::from_mbps(10.0).time_for(bytes);
            rule.downloaded(&video, &Download { rung, bytes, wait: Span::ZERO, transfer });
            last = Some(rung);
            chosen.push(rung);
        }
        assert_eq!(chosen, [0, 1, 1, 2, 2, 2, 3, 3]);
    }
}
