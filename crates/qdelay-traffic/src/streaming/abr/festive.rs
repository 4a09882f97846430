//! FESTIVE: the bit rate follows the throughput, with bounds on the frequency and size of changes (Jiang, Sekar and Zhang, "Improving Fairness,
//! Efficiency, and Stability in HTTP-based Adaptive Video Streaming with FESTIVE", CoNEXT 2012, section 4).
//!
//! | parameter | unit | default | symbol |
//! | --- | --- | --- | --- |
//! | `window` | chunks | 20 | of the harmonic mean |
//! | `share` | number | 0.85 | p |
//! | `alpha` | number | 12 | alpha |
//!
//! Throughput is the harmonic mean of the last `window` chunks. The reference rung is one lower than the current rung if the current bit rate
//! exceeds `p` times the throughput; one higher if the next bit rate does not exceed that, and the player has been at the k-th rung for k
//! chunks; otherwise the current rung. The player changes to the reference rung if that lowers the cost
//! `2^n + alpha |b / min(throughput, reference) - 1|`, where `n` is the number of switches in the last 20 s, plus 1 for the change. The
//! next chunk is requested when the buffer has fallen to a level that is drawn for each chunk, so that players do not synchronize.
//!
//! # Differences from the reference
//! * The level is uniform between the full buffer and one chunk less; the paper has a target and a range around it.
//! * `p` bounds increases and decreases alike.

use super::throughput::Last;
use super::{Download, Moment, Rule, Video};
use alloc::collections::VecDeque;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Random, Span, Time};

const WINDOW: Typed<u32> = Typed::new("window", "20", "Chunks in the harmonic mean of the throughput")
    .unit(Unit::Count("chunks"))
    .within("1", "20")
    .source("Jiang et al. 2012");
const SHARE: Typed<f64> = Typed::new("share", "0.85", "Largest bit rate as a share of the throughput")
    .within("0.1", "1")
    .source("Jiang et al. 2012");
const ALPHA: Typed<f64> = Typed::new("alpha", "12", "Weight of efficiency relative to stability")
    .within("0", "1000")
    .source("Jiang et al. 2012");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Adaptation,
    "festive",
    "Bit rate that the throughput sustains, changed rarely and one step at a time",
)
.source("Jiang et al. 2012")
.with(&[WINDOW.parameter(), SHARE.parameter(), ALPHA.parameter()]);

/// Time window in which switches are counted.
const SWITCHES_OF: Span = Span::from_secs(20);
/// Largest value of the parameter `window`.
const WINDOW_MAX: usize = 20;

/// The rule FESTIVE with its parameters and state.
#[derive(Clone, Debug)]
pub struct Festive {
    window: usize,
    share: f64,
    alpha: f64,
    /// Throughputs of the last chunks, bit/s.
    throughputs: Last<WINDOW_MAX>,
    switches: VecDeque<Time>,
    /// Number of consecutive chunks at the current rung.
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
    /// Reference rung: the rung to move towards.
    fn reference(&self, video: &Video, last: usize, throughput: f64) -> usize {
        let allowed = self.share * throughput;
        if video.bps(last) > allowed {
            return last.saturating_sub(1);
        }
        let next = last + 1;
        // The k-th rung has index k - 1 = last, and `next` = k.
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

    /// A throughput of 10 Mbit/s: one rung at a time, and k chunks at the k-th rung.
    #[test]
    fn the_bit_rate_rises_one_rung_at_a_time() {
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
