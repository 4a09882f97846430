//! The cells in which the kernel's own queue decides, and ours beside it.

use super::super::cells::{self, Cell};
use super::compare::Agreement;
use super::follow::{Followed, follow};
use super::play::{Shift, play};
use super::recording::Recording;
use super::{Runs, Where};
use qdelay_core::Span;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_lab::Wanted;
use qdelay_study::scenario::Case;
use qdelay_terminal::error::Failure;
use serde::Serialize;

/// The share of the departures that has to be equal.
pub const ASKED: f64 = 0.99;
/// Experiments besides the least sojourn: arrivals so many nanoseconds later, and another phase of the clock.
const SHIFTS: [[u64; 2]; 5] = [[2000, 0], [5000, 0], [10_000, 0], [0, 341], [0, 683]];

/// Seconds of a run, and of its warm-up, which takes nothing from the recording.
const SECONDS: (u64, u64) = (10, 1);

/// The cells.
const CELLS: [(u64, u64, u64, &[&str], &str); 7] = [
    (10, 40, 4, &["cubic"], "codel"),
    (50, 20, 4, &["cubic"], "codel"),
    (5, 80, 2, &["reno"], "codel"),
    (10, 40, 4, &["cubic"], "drr"),
    (20, 20, 4, &["cubic", "vegas"], "drr"),
    (10, 40, 4, &["cubic"], "taildrop"),
    (10, 40, 4, &["cubic"], "sfq"),
];

/// Of CoDel's, another law.
const OTHER_LAW: (&str, &str) = ("codel", "codel:variant=rfc");

/// A cell, compared.
#[derive(Clone, Debug, Serialize)]
pub struct KernelCell {
    pub cell: String,
    /// Whether the run can be trusted: else its `run.json` says why.
    pub trustworthy: bool,
    /// At the recorded times.
    pub recorded: Agreement,
    pub equal_share: f64,
    /// Whether the share is large enough.
    pub matches: bool,
    /// Decision by decision.
    pub followed: Followed,
    /// From a packet's time stamp before the queue to the one behind it where nothing waits: what the recorded sojourns are too long by.
    pub least_sojourn_ns: u64,
    /// The same with arrivals later by this.
    pub later: Agreement,
    /// The same by another law, to see what the comparison sees: the RFC's arithmetic in place of the kernel's, for CoDel.
    pub other_law: Option<Agreement>,
    /// The same with other times.
    pub shifted: Vec<Shifted>,
}

/// An experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Shifted {
    pub arrivals_ns: u64,
    pub clock_ns: u64,
    pub agreement: Agreement,
}

/// Runs and compares the cells.
///
/// # Errors
/// A machine that fails, or a recording that cannot be read.
pub fn compare(place: &Where<'_>) -> Result<Vec<KernelCell>, Failure> {
    let cells: Vec<Cell> = CELLS
        .iter()
        .map(|(rate_mbps, rtt_ms, flows, controls, discipline)| Cell {
            rate_mbps: *rate_mbps,
            rtt_ms: *rtt_ms,
            flows: *flows,
            controls: controls.to_vec(),
            discipline,
            seconds: SECONDS,
        })
        .filter(|cell| place.is_meant(&cell.name()))
        .collect();
    let mut compared = Vec::new();
    for (name, is_mixed) in [("kernel", false), ("kernel-mixed", true)] {
        let chosen: Vec<&Cell> = cells.iter().filter(|cell| cell.is_mixed() == is_mixed).collect();
        if chosen.is_empty() {
            continue;
        }
        let runs =
            Runs::recorded(place, name, &cells::scenario(chosen.iter().copied(), is_mixed), Wanted::Linux)?;
        for ((case, cell), summary) in runs.cases.iter().zip(chosen).zip(&runs.summary.cases) {
            let compare = cell_of(cell.name(), case, &runs.recording(case)?.complete())?;
            compared.push(KernelCell { trustworthy: summary.trustworthy != Some(false), ..compare });
        }
    }
    Ok(compared)
}

fn cell_of(cell: String, case: &Case, recording: &Recording) -> Result<KernelCell, Failure> {
    let fault = |message: &str| Failure::Check(format!("{cell}: {message}"));
    let (arguments, _) = case.scenario.bottleneck.as_link().ok_or_else(|| fault("it has no queue"))?;
    let qdisc = AnyQdisc::build(arguments).map_err(|error| fault(&error.to_string()))?;
    let by =
        |qdisc: &AnyQdisc, shift: Shift| Agreement::of(recording, &play(recording, qdisc.clone(), shift));
    let agreement = |shift: Shift| by(&qdisc, shift);
    let recorded = agreement(Shift::default());
    let is_other = arguments.component().name == OTHER_LAW.0;
    let other = is_other.then(|| AnyQdisc::parse(OTHER_LAW.1)).transpose();
    let other = other.map_err(|error| fault(&error.to_string()))?;
    let least = recording.least_sojourn();
    let shifted = SHIFTS.map(|[arrivals_ns, clock_ns]| Shifted {
        arrivals_ns,
        clock_ns,
        agreement: agreement(Shift {
            arrivals: Span::from_nanos(arrivals_ns),
            clock: Span::from_nanos(clock_ns),
        }),
    });
    Ok(KernelCell {
        trustworthy: true,
        equal_share: recorded.share(),
        matches: recorded.share() >= ASKED,
        followed: follow(recording, qdisc.clone()),
        other_law: other.map(|other| by(&other, Shift::default())),
        least_sojourn_ns: least.as_nanos(),
        later: agreement(Shift { arrivals: least, ..Shift::default() }),
        shifted: shifted.to_vec(),
        recorded,
        cell,
    })
}
