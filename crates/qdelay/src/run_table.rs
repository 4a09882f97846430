//! Printed results of a run: a row for each case with seeds averaged, groups, expectations, and the path of the report.

mod by;
pub mod differences;
pub mod figures;

use crate::cli::By;
use figures::{Point, ROWS};
use qdelay_study::cautions;
use qdelay_study::coinciding;
use qdelay_study::confidence;
use qdelay_study::results::{AxisFile, CaseSummary, ExpectResult, LINK_NOTE, Summary};
use qdelay_study::same_runs::SEED;
use qdelay_terminal::error::one_line;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Largest number of named groups of seeds with identical runs, and of named seeds in a group.
const GROUPS: usize = 4;
const SEEDS: usize = 8;
/// Largest number of named groups of labels with equal results.
const COINCIDING: usize = 3;
/// Number of seeds from which Student's t is close to its value for many seeds.
const SEEDS_ENOUGH: usize = 5;
/// Largest number of untrustworthy cases that are named.
const DOUBTFUL: usize = 5;

/// Tables of a run with their notes, and the paths of the run's files.
pub fn text(summary: &Summary, out: &Path, report: Option<&Path>, by: Option<By>) -> String {
    let more = if report.is_some() { "the report" } else { "summary.json" };
    let mut text = tables(summary, more, Wanted { by, differences: None });
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nresults: {}", one_line(&out.display().to_string()));
    if let Some(report) = report {
        let _ = writeln!(text, "report: {}", one_line(&report.display().to_string()));
    }
    text
}

/// Choice of tables.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Prints one table with these rows, in place of the tables by part of a case.
    pub by: Option<By>,
    /// Prints differences of this entry of `[[flow]]` (one of [`flows`]), in place of differences of all packets.
    pub differences: Option<&'a str>,
}

/// Names of the entries of `[[flow]]` that have figures.
pub fn flows(summary: &Summary) -> BTreeSet<&str> {
    summary.cases.iter().flat_map(|case| case.groups.keys()).map(String::as_str).collect()
}

/// Tables and their notes; `more` names the file or page with the rows that do not fit a screen.
pub fn tables(summary: &Summary, more: &str, wanted: Wanted<'_>) -> String {
    let points = points(summary);
    let mut text = sentence(summary, &points);
    // Writing to a string cannot fail.
    let _ = write!(text, "\n{}\n", figures::cases(summary, &points));
    if points.len() > ROWS {
        let _ = writeln!(text, "... and {} more in {more}", points.len() - ROWS);
    }
    let cautions = cautions::lines(&summary.cases.iter().collect::<Vec<_>>());
    for sentence in summary.unverified.iter().chain(&cautions) {
        let _ = writeln!(text, "{}", one_line(sentence));
    }
    let Summary { axes, cases, differences, population, .. } = summary;
    let population = population.as_deref();
    text.push_str(&match wanted.differences {
        None => differences::text(axes, differences, population),
        Some(name) => differences::of_flows(axes, cases, differences, name, population),
    });
    let flows = flows(summary);
    if wanted.differences.is_none() && !differences.is_empty() && flows.len() > 1 {
        let names: Vec<String> = flows.into_iter().map(one_line).collect();
        let _ = writeln!(
            text,
            "All packets count. For one [[flow]] alone ({}): qdelay report DIR --table --differences NAME",
            names.join(", ")
        );
    }
    text.push_str(&same_runs(summary));
    text.push_str(&coinciding(&summary.axes, &summary.cases.iter().collect::<Vec<_>>()));
    match wanted.by {
        Some(by) => text.push_str(&by::text(summary, &points, by)),
        None => {
            for (table, note) in figures::parts(summary, &points) {
                let _ = write!(text, "\n{table}\n{note}");
            }
        }
    }
    for expect in &summary.expects {
        let _ = writeln!(text, "{}", expectation(expect));
    }
    text.push_str(&verdicts(summary));
    text
}

/// Note on labels whose figures are all equal, so that rows and curves appear several times. Empty without such labels.
pub fn coinciding(axes: &[AxisFile], cases: &[&CaseSummary]) -> String {
    let lines = coinciding::lines(&coinciding::coinciding(axes, cases), COINCIDING, "\n");
    let text: String =
        lines.iter().flat_map(|line| line.lines()).map(|line| format!("{}\n", one_line(line))).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Note on seeds with identical runs, because the mean is then over fewer runs. Empty otherwise.
fn same_runs(summary: &Summary) -> String {
    let seed_of = |id: &String| {
        summary.cases.iter().find(|case| case.id == *id).and_then(|case| case.labels.get("seed")).cloned()
    };
    let groups: Vec<Vec<String>> =
        summary.same_runs.iter().map(|ids| ids.iter().filter_map(seed_of).collect()).collect();
    let repeated: usize = groups.iter().map(|seeds| seeds.len().saturating_sub(1)).sum();
    same_seeds(
        summary.cases.len(),
        repeated,
        groups,
        "`starts = \"random\"`, `jitter` in [path], or more flows",
    )
}

/// Note about seeds with equal runs: `groups` of equal runs, with `repeated` superfluous cases among `cases`;
/// `remedy` names a setting that depends on the seed. Empty without equal runs.
pub fn same_seeds(cases: usize, repeated: usize, mut groups: Vec<Vec<String>>, remedy: &str) -> String {
    if repeated == 0 {
        return String::new();
    }
    let distinct = cases - repeated;
    let runs = if distinct == 1 { "run" } else { "runs" };
    groups.sort();
    groups.dedup();
    let more = if groups.len() > GROUPS { "; ..." } else { "" };
    let named: Vec<String> = groups.iter().take(GROUPS).map(|seeds| of_seeds(seeds)).collect();
    format!(
        "\n{cases} cases, {distinct} distinct {runs}: the same came of seeds {}{more}.\n\
         A mean or an interval over equal runs says no more than one of them. What draws from the seed: {remedy}.\n",
        named.join("; ")
    )
}

/// List of seeds as users write them; a long list is shortened to the first and the last.
fn of_seeds(seeds: &[String]) -> String {
    match seeds {
        [first, .., last] if seeds.len() > SEEDS => format!("{first}, ..., {last} ({})", seeds.len()),
        _ => seeds.join(", "),
    }
}

/// Number of trustworthy cases and names of the others, for runs with real programs.
fn verdicts(summary: &Summary) -> String {
    let doubtful = || summary.cases.iter().filter(|case| case.trustworthy == Some(false));
    let judged = summary.cases.iter().filter(|case| case.trustworthy.is_some()).count();
    if judged == 0 {
        return String::new();
    }
    let clock = if summary.clock.as_deref() == Some("lab") { "laboratory" } else { "real time" };
    let mut text = format!("{clock}: {} of {judged} cases are trustworthy\n", judged - doubtful().count());
    let named: Vec<String> = doubtful().take(DOUBTFUL).map(|case| one_line(&case.id)).collect();
    if !named.is_empty() {
        let more = if doubtful().count() > DOUBTFUL { "..." } else { "" };
        let _ = writeln!(text, "not: {}{more} (cases/ID/run.json says why)", named.join(", "));
    }
    for case in summary.cases.iter().filter(|case| case.changes > 0) {
        let _ = writeln!(
            text,
            "changed by hand: {}, {} changes (cases/ID/run.json has them); its figures are not those of the scenario",
            one_line(&case.id),
            case.changes
        );
    }
    text
}

/// Cases of each point. The seed is the last axis, so the cases of a point are adjacent. Folders shown together may have different seeds.
fn points(summary: &Summary) -> Vec<Point<'_>> {
    summary.cases.chunk_by(is_same_point).collect()
}

fn is_same_point(one: &CaseSummary, other: &CaseSummary) -> bool {
    fn labels(case: &CaseSummary) -> impl Iterator<Item = (&String, &String)> {
        case.labels.iter().filter(|(axis, _)| *axis != SEED)
    }
    labels(one).eq(labels(other))
}

fn sentence(summary: &Summary, points: &[Point<'_>]) -> String {
    let seeds = || points.iter().map(|point| point.len());
    let (fewest, most) = (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0));
    let title = if summary.title.is_empty() { &summary.scenario } else { &summary.title };
    let cases = summary.cases.len();
    let counted = if cases == 1 { "one case".to_string() } else { format!("{cases} cases") };
    let averaged = if most > 1 {
        let seeds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        format!(", rows are means of {seeds} seeds, ± half the 95% interval")
    } else {
        String::new()
    };
    let link = if summary.is_of_link() {
        format!("{LINK_NOTE} The first table is of the downlink.\n")
    } else {
        String::new()
    };
    format!("{}: {counted}{averaged}.\n{link}{}", one_line(title), few_seeds(fewest))
}

/// Note on intervals that are wide because the seeds are few; empty with enough seeds.
pub fn few_seeds(seeds: usize) -> String {
    if !(2..SEEDS_ENOUGH).contains(&seeds) {
        return String::new();
    }
    format!(
        "With {seeds} seeds an interval reaches {:.1} standard errors to each side, with ten {:.1}: more seeds make it narrower.\n",
        confidence::quantile(seeds - 1),
        confidence::quantile(9)
    )
}

fn expectation(expect: &ExpectResult) -> String {
    let bounds = match (expect.low, expect.high) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "anything".to_string(),
    };
    let why =
        expect.missing_reason.as_deref().map_or(String::new(), |reason| format!(" ({})", one_line(reason)));
    let value = expect.value.map_or(format!("nothing{why}"), |value| format!("{value}"));
    let unit = match &expect.unit {
        unit if unit.is_empty() || expect.value.is_none() => String::new(),
        unit => format!(" {unit}"),
    };
    format!("{:>5}: {}: {value}{unit}, expected {bounds}", expect.verdict, one_line(&expect.claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unverified_components_stand_below_the_figures() {
        let sentence = "The figures of 'reads' are not verified: 'Reads.__init__' cannot be compared (it reads io.open).";
        let wanted = Wanted { by: None, differences: None };
        let summary = Summary { cases: vec![CaseSummary::default()], ..Summary::default() };
        assert!(!tables(&summary, "the report", wanted).contains("not verified"));
        let summary = Summary { unverified: vec![sentence.to_string()], ..summary };
        let text = tables(&summary, "the report", wanted);
        assert_eq!(text.lines().filter(|line| *line == sentence).count(), 1, "{text}");
    }
}
