//! robustMPC: plans the bit rates of the next chunks for the highest quality at a cautious throughput (Yin et al., "A Control-Theoretic
//! Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015, sections 4 and 5).
//!
//! | parameter | unit | default | symbol |
//! | --- | --- | --- | --- |
//! | `horizon` | chunks | 5 | N |
//! | `penalty` | Mbit/s | 4.3 | mu |
//!
//! The predicted throughput is the harmonic mean of the last five chunks over `1 + error`, where `error` is the largest relative error of the
//! last five predictions by such means. Among all sequences of rungs for the next N chunks the rule takes the one with the highest quality
//! (`qoe.rs`), and requests its first chunk.
//!
//! # Differences from the reference
//! * All sequences are searched; FastMPC has a table. The search abandons a sequence that cannot become the best, which changes
//!   no choice. Among sequences of equal quality the last one in the order of their rungs is taken (Pensieve, `test/mpc.py`).
//! * The first chunk, without any throughput sample, has the second rung, as in that program; the paper optimizes the startup too.

use super::throughput::Last;
use super::{Download, Moment, Rule, Video};
use crate::streaming::qoe::PENALTY;
use alloc::format;
use alloc::string::String;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const HORIZON: Typed<u32> = Typed::new("horizon", "5", "Number of chunks in a plan")
    .unit(Unit::Count("chunks"))
    .within("1", "7")
    .source("Yin et al. 2015, section 7");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Adaptation,
    "robustmpc",
    "First bit rate of the best plan for the next chunks at a cautious throughput",
)
.source("Yin et al. 2015")
.with(&[HORIZON.parameter(), PENALTY.parameter()]);

/// Number of past chunks in the throughput and in its error.
const PAST: usize = 5;

/// The rule robustMPC with its parameters and state.
#[derive(Clone, Debug)]
pub struct RobustMpc {
    horizon: usize,
    penalty: f64,
    /// Throughputs of the last chunks, MB/s.
    throughputs: Last<PAST>,
    errors: Last<PAST>,
    /// Harmonic mean of the throughputs at the latest choice, MB/s.
    predicted: Option<f64>,
}

pub(super) fn build(arguments: &Arguments) -> RobustMpc {
    RobustMpc {
        horizon: arguments.get(&HORIZON) as usize,
        penalty: arguments.get(&PENALTY),
        throughputs: Last::default(),
        errors: Last::default(),
        predicted: None,
    }
}

/// The search for the best sequence.
struct Search<'a> {
    video: &'a Video,
    /// Predicted throughput, MB/s.
    throughput: f64,
    penalty: f64,
    /// One past the last chunk of the plan.
    end: usize,
    best: f64,
    best_first: usize,
}

/// The beginning of a sequence of rungs.
#[derive(Clone, Copy)]
struct Plan {
    rung: usize,
    buffer: f64,
    stall: f64,
    /// Sum of the bit rates, kbit/s.
    rates: f64,
    changes: f64,
    first: Option<usize>,
}

impl Search<'_> {
    fn worth(&self, plan: &Plan) -> f64 {
        plan.rates / 1000.0 - self.penalty * plan.stall - plan.changes / 1000.0
    }

    fn visit(&mut self, chunk: usize, plan: Plan) {
        if chunk == self.end {
            let worth = self.worth(&plan);
            // The search goes from high to low rungs, so the first sequence of equal quality is the last one in the order of the rungs.
            if worth > self.best {
                (self.best, self.best_first) = (worth, plan.first.unwrap_or(0));
            }
            return;
        }
        let top = self.video.rungs() - 1;
        // Upper bound: the highest rung for all remaining chunks without stalls or changes. Rounding is far below the margin.
        let promise = (self.end - chunk) as f64 * self.video.bps(top) / 1e6;
        if self.worth(&plan) + promise + 1e-6 < self.best {
            return;
        }
        // High rungs first, because a good first sequence lets the search abandon more of the others.
        for rung in (0..=top).rev() {
            let time = self.video.bytes(chunk, rung) as f64 / 1e6 / self.throughput;
            let mut next = plan;
            if next.buffer < time {
                next.stall += time - next.buffer;
                next.buffer = 0.0;
            } else {
                next.buffer -= time;
            }
            next.buffer += self.video.chunk().as_secs_f64();
            let (rate, before) = (self.video.bps(rung) / 1e3, self.video.bps(plan.rung) / 1e3);
            next.rates += rate;
            next.changes += (rate - before).abs();
            next.rung = rung;
            next.first = plan.first.or(Some(rung));
            self.visit(chunk + 1, next);
        }
    }
}

/// Largest number of sequences per choice.
const SEQUENCES_MAX: u64 = 1_000_000;

impl Rule for RobustMpc {
    fn check(&self, video: &Video) -> Result<(), String> {
        let (rungs, horizon) = (video.rungs() as u64, self.horizon as u32);
        match rungs.checked_pow(horizon).filter(|count| *count <= SEQUENCES_MAX) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{rungs} bit rates for {horizon} chunks are too many sequences; expected at most {SEQUENCES_MAX}: less of horizon, or of ladder"
            )),
        }
    }

    fn downloaded(&mut self, _: &Video, download: &Download) {
        let throughput = download.bytes as f64 / 1e6 / download.seconds();
        let error = self.predicted.map_or(0.0, |predicted| (predicted - throughput).abs() / throughput);
        self.errors.push(error);
        self.throughputs.push(throughput);
    }

    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let (video, Some(mean)) = (moment.video, self.throughputs.harmonic_mean(PAST)) else {
            return 1.min(moment.video.rungs() - 1);
        };
        self.predicted = Some(mean);
        let rung = moment.last.unwrap_or(0);
        let mut search = Search {
            video,
            throughput: mean / (1.0 + self.errors.max()),
            penalty: self.penalty,
            end: (moment.next + self.horizon).min(video.chunks()),
            best: f64::NEG_INFINITY,
            best_first: rung,
        };
        let buffer = moment.buffer.as_secs_f64();
        search.visit(moment.next, Plan { rung, buffer, stall: 0.0, rates: 0.0, changes: 0.0, first: None });
        search.best_first
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMPONENTS;
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::{Random, Rate, Span, Time};

    /// Abandoning sequences changes no choice.
    #[test]
    fn the_search_agrees_with_an_exhaustive_one() {
        let ladder = [300, 750, 1200, 1850].map(|kbps| Rate::from_bps(kbps * 1000));
        let video = Video::synthetic(&ladder, Span::from_secs(40), Span::from_secs(4), 0.3, 7);
        let mut random = Random::derive(1, "mpc", "cases");
        for _ in 0..200 {
            let mut rule = build(&Arguments::parse(COMPONENTS, "robustmpc:horizon=4").unwrap());
            let transfer = Span::from_millis(1000 + random.below(9000));
            rule.downloaded(&video, &Download { rung: 1, bytes: 375_000, wait: Span::ZERO, transfer });
            let buffer = Span::from_millis(random.below(20_000));
            let (next, last) = (1 + random.below(9) as usize, random.below(4) as usize);
            let moment = Moment {
                video: &video,
                now: Time::ZERO,
                buffer,
                buffer_max: Span::from_secs(60),
                next,
                last: Some(last),
            };
            let chosen = rule.choose(&moment);
            let count = 4.min(10 - next);
            let rate = 0.375 / transfer.as_secs_f64();
            // Best quality by first rung; several first rungs often have the same.
            let mut best = [f64::NEG_INFINITY; 4];
            for code in 0..4_usize.pow(count as u32) {
                let rungs: Vec<usize> =
                    (0..count).rev().map(|place| code / 4_usize.pow(place as u32) % 4).collect();
                let (mut level, mut stall, mut sum, mut change) = (buffer.as_secs_f64(), 0.0, 0.0, 0.0);
                for (index, rung) in rungs.iter().enumerate() {
                    let time = video.bytes(next + index, *rung) as f64 / 1e6 / rate;
                    stall += (time - level).max(0.0);
                    level = (level - time).max(0.0) + 4.0;
                    let before = if index == 0 { last } else { rungs[index - 1] };
                    sum += video.bps(*rung) / 1e6;
                    change += (video.bps(*rung) - video.bps(before)).abs() / 1e6;
                }
                let worth = sum - 4.3 * stall - change;
                best[rungs[0]] = worth.max(best[rungs[0]]);
            }
            assert!(best.iter().all(|other| best[chosen] > other - 1e-9), "{chosen} {best:?} {moment:?}");
        }
    }
}
