//! Cells in which the kernel's own queue decides, compared with ours.

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

/// Required share of equal departures.
pub const ASKED: f64 = 0.99;
/// Further experiments: arrivals later by these nanoseconds, and another phase of the clock.
const SHIFTS: [[u64; 2]; 5] = [[2000, 0], [5000, 0], [10_000, 0], [0, 341], [0, 683]];

/// Seconds of a run, and of its warm-up, which removes nothing from the recording.
const SECONDS: (u64, u64) = (10, 1);

/// Cells of the comparison.
const CELLS: [(u64, u64, u64, &[&str], &str); 7] = [
    (10, 40, 4, &["cubic"], "codel"),
    (50, 20, 4, &["cubic"], "codel"),
    (5, 80, 2, &["reno"], "codel"),
    (10, 40, 4, &["cubic"], "drr"),
    (20, 20, 4, &["cubic", "vegas"], "drr"),
    (10, 40, 4, &["cubic"], "taildrop"),
    (10, 40, 4, &["cubic"], "sfq"),
];

/// Variant of CoDel with another law.
const OTHER_LAW: (&str, &str) = ("codel", "codel:variant=rfc");

/// Compared cell.
#[derive(Clone, Debug, Serialize)]
pub struct KernelCell {
    pub cell: String,
    /// The run can be trusted; otherwise `run.json` has the reasons.
    pub trustworthy: bool,
    /// Agreement at the recorded times.
    pub recorded: Agreement,
    pub equal_share: f64,
    /// The share of equal departures is large enough.
    pub matches: bool,
    /// Agreement decision by decision.
    pub followed: Followed,
    /// Time from a packet's time stamp before the queue to the one behind an empty queue: the excess of recorded sojourn times.
    pub least_sojourn_ns: u64,
    /// Agreement with arrivals later by this excess.
    pub later: Agreement,
    /// Agreement under another law, as a check of the comparison's sensitivity: the RFC's arithmetic in place of the kernel's, for CoDel.
    pub other_law: Option<Agreement>,
    /// Agreement under the shifted times of each experiment.
    pub shifted: Vec<Shifted>,
}

/// Experiment with shifted times.
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

/// Compares a recording with our discipline, and repeats the comparison with shifted times and another law to show what a difference means.
fn cell_of(cell: String, case: &Case, recording: &Recording) -> Result<KernelCell, Failure> {
    let fault = |message: &str| Failure::Check(format!("{cell}: {message}"));
    let (arguments, _) = case.scenario.bottleneck.as_link().ok_or_else(|| fault("it has no queue"))?;
    let qdisc = AnyQdisc::build(arguments).map_err(|error| fault(&error.to_string()))?;
    let by = |qdisc: &AnyQdisc, shift: Shift| {
        Agreement::between(recording, &play(recording, qdisc.clone(), shift))
    };
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
