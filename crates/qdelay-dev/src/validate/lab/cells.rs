//! Cells, drawn by a seed.

use crate::validate::attempts::is_meant;
use qdelay_core::Random;
use std::fmt::Write;

/// Ranges of the draw.
pub struct Ranges {
    /// Rates of the bottleneck, Mbit/s.
    rates: &'static [u64],
    /// Numbers of flows.
    flows: &'static [u64],
    /// Seconds of a run and of its warm-up by rate: shorter where packets are many.
    seconds: fn(u64) -> (u64, u64),
}
/// Ranges of a plain draw.
pub const WIDE: Ranges =
    Ranges { rates: &[2, 5, 10, 20, 50, 100], flows: &[1, 2, 4, 8, 16], seconds: wide_seconds };
/// Ranges of `--settled`.
pub const SETTLED: Ranges = Ranges { rates: &[50, 75, 100], flows: &[1, 2, 4, 8], seconds: settled_seconds };
/// Round-trip times, milliseconds.
const ROUND_TRIPS: [u64; 6] = [5, 10, 20, 40, 80, 160];
/// Congestion controls.
const CONTROLS: [&str; 5] = ["cubic", "bbr", "reno", "westwood", "vegas"];
/// One in this many cells with several flows has two congestion controls.
const MIXED_OF: u64 = 4;
/// Queue disciplines.
const DISCIPLINES: [&str; 7] = ["taildrop", "codel", "pie", "fq_codel", "red", "sfq", "drr"];
/// Sizes of queues with their own limit: milliseconds at the link's rate, converted to packets.
const BUFFER_MS: u64 = 200;
/// Smallest limit of such a queue, in packets.
const BUFFER_MIN: u64 = 30;
/// Size of a full frame in bits.
const FRAME_BITS: u64 = 1514 * 8;

/// Cell of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub rate_mbps: u64,
    pub rtt_ms: u64,
    pub flows: u64,
    /// One congestion control, or two that share the flows.
    pub controls: Vec<&'static str>,
    pub discipline: &'static str,
    /// Seconds of a run, and of its warm-up.
    pub seconds: (u64, u64),
}

impl Cell {
    /// Name of the cell.
    pub fn name(&self) -> String {
        let controls = self.controls.join(" and ");
        format!(
            "{} Mbit/s, {} ms, {} x {controls}, {}",
            self.rate_mbps, self.rtt_ms, self.flows, self.discipline
        )
    }

    /// True for flows of two congestion controls.
    pub fn is_mixed(&self) -> bool {
        self.controls.len() > 1
    }

    /// Discipline with its parameters, which both the kernel and the simulator support.
    fn qdisc(&self) -> String {
        let buffer = (self.rate_mbps * 1000 * BUFFER_MS / FRAME_BITS).max(BUFFER_MIN);
        match self.discipline {
            "taildrop" => format!("taildrop:limit={buffer}"),
            "codel" => "codel:variant=linux".to_string(),
            "pie" => "pie:variant=linux".to_string(),
            "fq_codel" => "fq_codel:variant=linux".to_string(),
            "red" => format!("red:mode=bytes:gentle=off:draw=drop:ageing=off:rate={}mbit", self.rate_mbps),
            "drr" => format!("drr:depth={buffer}:limit=1000000"),
            other => other.to_string(),
        }
    }
}

fn wide_seconds(rate_mbps: u64) -> (u64, u64) {
    match rate_mbps {
        100.. => (8, 2),
        50.. => (12, 3),
        _ => (20, 4),
    }
}

fn settled_seconds(rate_mbps: u64) -> (u64, u64) {
    match rate_mbps {
        100.. => (6, 2),
        75.. => (7, 2),
        _ => (8, 2),
    }
}

/// Draws `count` distinct cells by `seed`, and returns those selected by `only`.
pub fn draw(ranges: &Ranges, seed: u64, count: usize, only: &[String]) -> Vec<Cell> {
    let mut random = Random::derive(seed, "validate-lab", "cells");
    let mut cells: Vec<Cell> = Vec::new();
    while cells.len() < count {
        let mut of = |all: usize| random.below(all as u64) as usize;
        let flows = ranges.flows[of(ranges.flows.len())];
        let first = of(CONTROLS.len());
        let mut controls = vec![CONTROLS[first]];
        let other = (first + 1 + of(CONTROLS.len() - 1)) % CONTROLS.len();
        if of(MIXED_OF as usize) == 0 && flows > 1 {
            controls.push(CONTROLS[other]);
        }
        let rate_mbps = ranges.rates[of(ranges.rates.len())];
        let cell = Cell {
            rate_mbps,
            rtt_ms: ROUND_TRIPS[of(ROUND_TRIPS.len())],
            flows,
            controls,
            discipline: DISCIPLINES[cells.len() % DISCIPLINES.len()],
            seconds: (ranges.seconds)(rate_mbps),
        };
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.retain(|cell| is_meant(only, &cell.name()));
    cells
}

/// Scenario of the cells, with a variant for each. All cells have one control, or all have two.
pub fn scenario<'a>(cells: impl Iterator<Item = &'a Cell>, is_mixed: bool) -> String {
    let mut text = "[path]\nlink = \"htb:10mbit:overhead=14\"\n".to_string();
    for flow in ["one", "other"].into_iter().take(1 + usize::from(is_mixed)) {
        let _ =
            writeln!(text, "[[flow]]\nname = \"{flow}\"\ntransport = \"cubic\"\nstart_spread = \"100ms\"");
    }
    text += "[run]\n";
    for cell in cells {
        let Cell { rate_mbps, rtt_ms, seconds: (seconds, warmup), .. } = cell;
        let _ = write!(
            text,
            "[[matrix.variant]]\nlabel = \"{}\"\npath.link = \"htb:{rate_mbps}mbit:overhead=14\"\npath.rtt = \"{rtt_ms}ms\"\n\
             path.qdisc = \"{}\"\nrun.duration = \"{seconds}s\"\nrun.warmup = \"{warmup}s\"\n",
            cell.name(),
            cell.qdisc()
        );
        let share = cell.flows / cell.controls.len() as u64;
        for (flow, control) in ["one", "other"].into_iter().zip(&cell.controls) {
            let _ = write!(text, "flow.{flow}.transport = \"{control}\"\nflow.{flow}.count = {share}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::scenario::{Overrides, Study};

    #[test]
    fn cells_are_drawn_once_and_can_be_run() {
        for seed in 1..4 {
            let cells = draw(&WIDE, seed, 60, &[]);
            assert_eq!(cells.len(), 60);
            assert_eq!(draw(&WIDE, seed, 24, &[]), cells[..24]);
            for is_mixed in [false, true] {
                let chosen: Vec<&Cell> = cells.iter().filter(|cell| cell.is_mixed() == is_mixed).collect();
                assert!(chosen.len() > 5, "{seed}");
                let text = scenario(chosen.iter().copied(), is_mixed);
                let study = Study::parse("cells", &text, &Overrides::default()).unwrap();
                assert_eq!(study.case_count(), chosen.len() as u64);
                let library = qdelay_study::traces::Library::new();
                for (index, cell) in chosen.iter().enumerate() {
                    let case = study.case(index as u64, &library).unwrap();
                    assert_eq!(case.scenario.flows.len() as u64, cell.flows, "{}", cell.name());
                    qdelay_real::check_kernel(&case.scenario).unwrap();
                }
            }
        }
    }
}
