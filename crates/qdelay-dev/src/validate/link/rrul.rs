//! `qdelay-dev validate link --rrul`: a line loaded in both directions, with pings; `demo/rrul` of real programs in real time compared with
//! the simulator.
//!
//! A cell is a case of the scenario: four downloads and four uploads of iperf3 with the kernel's TCP, and three pings, whose round-trip
//! times are measured on the path. Compared figures: total rates of downloads and of uploads (10%), and the mean round-trip
//! time of each ping (20% or 2 ms, whichever is larger), with the simulator's mean over five runs; a second count uses their range.
//! Real flows begin some tens of milliseconds after the scenario's time, and not all at once. Therefore simulated ones begin up to
//! 50 ms later, each run in another order.
//!
//! A run counts if it can be trusted, or if its delays are accurate to a millisecond (grade `good`) and no packet was lost outside the
//! path:
//! a millisecond is half of the tolerance of a ping.

use super::super::verdict::Measure;
use crate::validate::attempts::{self, Subject, is_meant};
use crate::validate::options::Validate;
use crate::validate::store::Entry;
use qdelay_core::Span;
use qdelay_real::{RealRun, RealTime};
use qdelay_sim::{Outcome, Scenario};
use qdelay_study::engine::{Named, outcomes};
use qdelay_study::results::{Audit, SCHEMA_VERSION, pretty, round};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use qdelay_terminal::text_table::{Column, table};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt::Write;

const COMMAND: &str = "validate link --rrul";
const SCENARIO: &str = "demo/rrul";
/// Duration of each cell in seconds, the scenario's, unless `--seconds` is given.
const SECONDS: u64 = 30;
const RETRIES: u32 = 3;
const RATE: f64 = 0.1;
const PING: f64 = 0.2;
const PING_MS: f64 = 2.0;
/// Required accuracy of the delays of a run that counts.
const HOLD_MS: f64 = 1.0;
/// One packet in this many may have waited unread; see [`qdelay_emu::audit`].
const UNSEEN: u64 = 1000;
const SIMULATED: u64 = 5;
/// Latest start of a simulated flow after the scenario's time.
const LATEST_MS: u64 = 50;
/// Names of the compared figures, in the order of [`Figures::all`].
const MEASURES: [&str; 5] = ["down Mbit/s", "up Mbit/s", "ping be ms", "ping bk ms", "ping ef ms"];
const PINGS: [&str; 3] = ["ping-be", "ping-bk", "ping-ef"];

/// Compared figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Figures {
    /// Goodput of all downloads together.
    down_mbps: f64,
    /// Goodput of all uploads together.
    up_mbps: f64,
    /// Mean round-trip time of each ping.
    ping_ms: [f64; 3],
}

impl Figures {
    fn from_outcome(outcome: &Outcome) -> Figures {
        let sum = |start: &str| {
            let groups = outcome.groups.iter().filter(|(name, _)| name.starts_with(start));
            round(groups.map(|(_, group)| group.goodput_mbps).sum())
        };
        let ping = |name: &str| {
            let group = outcome.groups.get(name);
            round(group.and_then(|group| group.round_trip_ms.as_ref()).map_or(0.0, |delays| delays.mean))
        };
        Figures { down_mbps: sum("down-"), up_mbps: sum("up-"), ping_ms: PINGS.map(ping) }
    }

    fn all(&self) -> [f64; 5] {
        let [be, bk, ef] = self.ping_ms;
        [self.down_mbps, self.up_mbps, be, bk, ef]
    }
}

/// Stored run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Attempt {
    figures: Figures,
    audit: Audit,
}

impl Attempt {
    /// Bound of the error of all but one delay in a thousand, as in `qdelay_emu::accuracy`.
    fn holds_to_ms(&self) -> f64 {
        let stalls = &self.audit.stalls;
        let unknown = stalls.packets_unseen + stalls.packets_held;
        let late = self.audit.lateness_ms.p999;
        if unknown.saturating_mul(UNSEEN) > stalls.packets_read { late + stalls.longest_gap_ms } else { late }
    }
}

impl attempts::Attempt for Attempt {
    fn is_trustworthy(&self) -> bool {
        self.audit.trustworthy || self.audit.lost_outside == 0 && self.holds_to_ms() <= HOLD_MS
    }
}

/// A cell with its results.
#[derive(Clone, Debug, Serialize)]
struct Judged {
    cell: String,
    runs: usize,
    /// Why the last run does not count.
    not_judged: Option<String>,
    trustworthy: bool,
    /// Largest error of the delays, ms.
    holds_to_ms: f64,
    real: Figures,
    /// Each result beside the mean of the simulated ones.
    measures: Vec<Measure>,
    /// The same beside their range.
    in_range: Vec<Measure>,
}

#[derive(Clone, Debug, Serialize)]
struct Report {
    schema_version: u32,
    against: &'static str,
    seconds: u64,
    folder: String,
    /// Cells with a run that counts; of these within the bounds; and within the bounds of the range.
    judged: usize,
    matching: usize,
    matching_range: usize,
    cells: Vec<Judged>,
}

/// Runs the command.
///
/// # Errors
/// No rights, a program that does not run, a cell outside its bounds, or none that can be judged.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let seconds = options.seconds.unwrap_or(SECONDS);
    let cases = cases(seconds, &options.only)?;
    let store = attempts::open(options, COMMAND, "validate-link-rrul", "cell")?;
    let subjects: Vec<_> = cases.iter().map(|case| subject(case, seconds)).collect();
    let real = RealTime::new(!options.no_realtime);
    let rounds = (1, options.retries.unwrap_or(RETRIES));
    let attempts = attempts::real_runs(COMMAND, &real, rounds, &subjects, &store)?;
    let mut simulated = Vec::new();
    for case in &cases {
        let named = |run| Named { name: case.id.clone(), scenario: shifted(&case.scenario, run) };
        simulated.extend((0..SIMULATED).map(named));
    }
    let simulated = outcomes("validate link --rrul, simulated", &simulated, options.jobs, &Bar::default())?;
    let cells: Vec<Judged> = cases
        .iter()
        .zip(&attempts)
        .zip(simulated.chunks(SIMULATED as usize))
        .filter_map(|((case, runs), simulated)| judge(case, runs, simulated))
        .collect();
    let count =
        |is: fn(&Judged) -> bool| cells.iter().filter(|cell| cell.not_judged.is_none() && is(cell)).count();
    let report = Report {
        schema_version: SCHEMA_VERSION,
        against: "simulator",
        seconds,
        folder: store.folder().display().to_string(),
        judged: count(|_| true),
        matching: count(|cell| cell.measures.iter().all(Measure::matches)),
        matching_range: count(|cell| cell.in_range.iter().all(Measure::matches)),
        cells,
    };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    match report {
        Report { judged: 0, cells, .. } => Err(Failure::Check(format!(
            "none of {} cells could be judged; expected runs that can be trusted, on a machine with less to do",
            cells.len()
        ))),
        Report { judged, matching_range, .. } if matching_range < judged => {
            Err(Failure::Check(format!("{matching_range} of {judged} judged cells match; expected all")))
        }
        _ => Ok(()),
    }
}

fn subject(case: &Case, seconds: u64) -> Option<Subject<'_, Attempt>> {
    let entry = Entry {
        name: case.id.clone(),
        file: format!("{}-{seconds}s", case.id),
        settings: case.settings.to_string(),
    };
    let keep = |real: &RealRun| Attempt {
        figures: Figures::from_outcome(&real.ran.outcome),
        audit: real.ran.audit.clone().unwrap_or_default(),
    };
    Some(Subject { entry, case, keep: Box::new(keep) })
}

/// The cases of the scenario whose ids have the words of `only`.
fn cases(seconds: u64, only: &[String]) -> Result<Vec<Case>, Failure> {
    let (name, text) = shipped::read(OsStr::new(SCENARIO))?;
    let overrides = Overrides { duration: Some(Span::from_secs(seconds)), ..Overrides::default() };
    let study = Study::parse(&name, &text, &overrides)?;
    let library = Library::new();
    let mut cases = Vec::new();
    for index in 0..study.case_count() {
        cases.push(study.case(index, &library)?);
    }
    cases.retain(|case| is_meant(only, &case.id));
    if cases.is_empty() {
        let message = "no cell has these words in its name; expected such as --only fq-codel";
        return Err(Failure::input("--only", message));
    }
    Ok(cases)
}

/// The scenario with each TCP flow up to [`LATEST_MS`] later, in an order that differs between runs.
fn shifted(scenario: &Scenario, run: u64) -> Scenario {
    let mut scenario = scenario.clone();
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        if !flow.start.is_zero() {
            flow.start += Span::from_millis((index as u64 * 13 + run * 17) % (LATEST_MS + 1));
        }
    }
    scenario
}

/// Judges a cell by its last run, against the mean of the simulated runs and against their range.
fn judge(case: &Case, runs: &[Attempt], simulated: &[Outcome]) -> Option<Judged> {
    let last = runs.last()?;
    let simulated: Vec<[f64; 5]> =
        simulated.iter().map(|outcome| Figures::from_outcome(outcome).all()).collect();
    let real = last.figures.all();
    let measures = |of: fn(Vec<f64>) -> Vec<f64>| {
        let measure = |(index, name): (usize, &&'static str)| {
            let references = of(simulated.iter().map(|figures| figures[index]).collect());
            let (relative, absolute) = if index < 2 { (RATE, 0.0) } else { (PING, PING_MS) };
            Measure::new(name, &references, &[real[index]], relative, absolute)
        };
        MEASURES.iter().enumerate().map(measure).collect::<Vec<Measure>>()
    };
    let counts = attempts::Attempt::is_trustworthy(last);
    Some(Judged {
        cell: case.id.clone(),
        runs: runs.len(),
        not_judged: (!counts).then(|| last.audit.reasons.join("; ")),
        trustworthy: last.audit.trustworthy,
        holds_to_ms: last.holds_to_ms(),
        real: last.figures,
        measures: measures(|all| vec![all.iter().sum::<f64>() / all.len().max(1) as f64]),
        in_range: measures(|all| all),
    })
}

/// Table of the cells, and the two counts with the required share.
fn text(report: &Report) -> String {
    let mut columns = vec![Column::left("cell")];
    columns.extend(MEASURES.map(Column::right));
    columns.extend([Column::right("runs"), Column::left("simulator")]);
    let row = |cell: &Judged| {
        let mut row = vec![cell.cell.clone()];
        for (mean, range) in cell.measures.iter().zip(&cell.in_range) {
            let mark = if mean.matches() { "" } else { " !" };
            let (low, high) = (range.reference_low, range.reference_high);
            row.push(format!("{:.2} / {:.2} ({low:.2} to {high:.2}){mark}", mean.value, mean.reference_low));
        }
        row.push(cell.runs.to_string());
        let all = |measures: &[Measure]| measures.iter().all(Measure::matches);
        let verdict = match &cell.not_judged {
            Some(_) => "not judged",
            None if all(&cell.measures) => "match",
            None if all(&cell.in_range) => "in range",
            None => "miss",
        };
        row.push(verdict.to_string());
        row
    };
    let rows = report.cells.iter().map(row).collect();
    let mut text = format!(
        "{SCENARIO}, {} s: four downloads, four uploads and pings of real programs in real time.\nEach figure: real / mean of \
         {SIMULATED} simulated runs (their range); ! outside {:.0}% of a rate, or {:.0}% and {PING_MS} ms of a mean round trip.\n\n{}\n",
        report.seconds,
        RATE * 100.0,
        PING * 100.0,
        table(&columns, rows)
    );
    for cell in &report.cells {
        let held = format!("delays hold to {:.2} ms", cell.holds_to_ms);
        let _ = match &cell.not_judged {
            Some(why) => writeln!(text, "{}: not judged, {held}: {}", cell.cell, one_line(why)),
            None if cell.trustworthy => writeln!(text, "{}: trustworthy, {held}", cell.cell),
            None => writeln!(text, "{}: good enough, {held}", cell.cell),
        };
    }
    let Report { judged, matching, matching_range, cells, .. } = report;
    let _ = writeln!(
        text,
        "\n{judged} of {} cells can be judged. Of these {matching} match the mean of the simulated runs, and {matching_range} their \
         range.\nruns: {}",
        cells.len(),
        one_line(&report.folder)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::results::Stalls;

    #[test]
    fn every_case_of_the_scenario_is_a_cell_that_real_programs_can_run() {
        let all = cases(10, &[]).unwrap();
        assert_eq!(all.len(), 5);
        let kernel = ["cubic".to_string()];
        for case in &all {
            assert_eq!(qdelay_real::check(&case.scenario, &kernel), Ok(()), "{}", case.id);
            assert_eq!(case.scenario.duration, Span::from_secs(10));
            let begin =
                |run| shifted(&case.scenario, run).flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
            assert!(begin(0) != begin(1) && begin(3).iter().all(|start| *start <= Span::from_millis(2050)));
        }
        assert_eq!(cases(10, &["fq-codel".to_string()]).unwrap().len(), 1);
        assert!(cases(10, &["sfq".to_string()]).is_err());
    }

    #[test]
    fn what_counts() {
        let attempt = |late, unseen, lost| {
            let mut audit = Audit { lost_outside: lost, ..Audit::default() };
            audit.lateness_ms.p999 = late;
            audit.stalls = Stalls {
                packets_read: 10_000,
                packets_unseen: unseen,
                longest_gap_ms: 7.0,
                ..Stalls::default()
            };
            attempts::Attempt::is_trustworthy(&Attempt { figures: Figures::default(), audit })
        };
        assert!(attempt(0.9, 10, 0));
        assert!(!attempt(1.1, 0, 0) && !attempt(0.9, 11, 0) && !attempt(0.1, 0, 1));
    }
}
