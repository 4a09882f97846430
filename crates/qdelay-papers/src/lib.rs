//! Papers: their claims are run and judged.
//!
//! | file | what |
//! | --- | --- |
//! | `papers/NAME.toml` of this crate | the claims, their bounds and how these follow, and causes of differences |
//! | [`claims`] | reads the claims |
//! | [`checks`] | the check of a claim: scenario or example, figure and bounds |
//! | [`settings`] | settings that remove the cause of a difference |
//! | [`examples`] | worked examples, which no scenario has |
//! | `judge` | the verdict of a claim |
//! | [`paired`] | paired comparisons: the effect of a choice on the flow that makes it, and on others |
//! | [`page`] | the results of a paper as one HTML page |
//!
//! Claims about recorded traces are judged on these traces only: if a trace of a scenario is missing they are skipped, with a
//! note. Claims about cellular links in general are also judged on substitute traces.

pub mod checks;
pub mod claims;
pub mod examples;
mod judge;
mod labels;
pub mod page;
pub mod paired;
pub mod settings;

use checks::{By, Check};
use claims::{Claim, ClaimSource, Paper};
use judge::{ClaimResult, judge};
use paired::{PairedComparison, PairedTable};
use qdelay_core::component::Registry;
use qdelay_study::InputError;
use qdelay_study::engine::{self, EngineError, Options, Progress, SharedSimulator};
use qdelay_study::expect::Table;
use qdelay_study::files;
use qdelay_study::results::{SCHEMA_VERSION, pretty};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use serde::{Deserialize, Serialize};
use settings::{Setting, SettingFile};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Name and claims of each paper.
pub static PAPERS: &[(&str, &str)] = &[
    ("5g", include_str!("../papers/5g.toml")),
    ("abe", include_str!("../papers/abe.toml")),
    ("bode", include_str!("../papers/bode.toml")),
    ("eqp", include_str!("../papers/eqp.toml")),
    ("lying", include_str!("../papers/lying.toml")),
    ("rd", include_str!("../papers/rd.toml")),
];

/// The results of a paper's claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Changes only if a field has to change its meaning.
    pub schema_version: u32,
    /// The paper.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Seeds of each scenario that were run.
    #[serde(default)]
    pub seeds: SeedShare,
    /// Missing recorded traces, and the shipped traces that replace them.
    pub stand_ins: BTreeMap<String, String>,
    /// The claims, in the order of the file.
    pub rows: Vec<Row>,
    /// The results of the settings that explain rows.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<SettingFile>,
    /// Tables of changes, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tables: Vec<PairedTable>,
}

/// A claim and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The figure of the paper; null where only its text says so.
    pub figure: Option<String>,
    /// The section.
    pub section: String,
    /// The claim in words.
    pub claim: String,
    /// Unit of the figures.
    pub unit: String,
    /// The paper's figure, where it names one.
    pub paper: Option<f64>,
    /// Figure of this run; null if the row is skipped.
    pub value: Option<f64>,
    /// Least accepted.
    pub low: Option<f64>,
    /// Largest accepted.
    pub high: Option<f64>,
    /// The derivation of the bounds from the text.
    pub bound: String,
    /// Result of the claim.
    pub verdict: Verdict,
    /// Distance of our figure to the nearer bound, as a share of that bound: negative out of bounds; null where the bound is 0.
    #[serde(default)]
    pub margin: Option<f64>,
    /// The author of the statement: `paper`, `qdelay` or `ns-3`.
    #[serde(default)]
    pub source: ClaimSource,
    /// Ours over the paper's figure, where it is better.
    #[serde(default)]
    pub factor: Option<f64>,
    /// Why it is explained, fitted or skipped, or what does not explain it.
    pub cause: Option<String>,
    /// The setting that was run in search of the cause, where it is out of bounds.
    #[serde(default)]
    pub setting: Option<String>,
    /// Ours with that setting.
    #[serde(default)]
    pub with_setting: Option<f64>,
    /// The scenario it was judged by.
    pub scenario: Option<String>,
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Ours is within the bounds.
    Match,
    /// Out of bounds on the good side: it differs from the paper's figure by the row's factor, at most twofold.
    Better,
    /// In bounds by a setting that was chosen by this figure, which so shows nothing.
    Fitted,
    /// Out of bounds, but in bounds under a stated setting that breaks no other row of the section.
    Explained,
    /// Out of bounds, or without a figure.
    Miss,
    /// Not judged.
    Skipped,
}

impl Verdict {
    /// All, the best first.
    pub const ALL: [Verdict; 6] = [
        Verdict::Match,
        Verdict::Better,
        Verdict::Fitted,
        Verdict::Explained,
        Verdict::Miss,
        Verdict::Skipped,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Match => "match",
            Verdict::Better => "better",
            Verdict::Fitted => "fitted",
            Verdict::Explained => "explained",
            Verdict::Miss => "miss",
            Verdict::Skipped => "skipped",
        }
    }
}

impl Reproduction {
    /// The number of rows with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The number of rows of each verdict, in a line.
    pub fn counts(&self) -> String {
        let counts = |is_meant: &dyn Fn(&Row) -> bool| {
            let of = |verdict: Verdict| {
                self.rows.iter().filter(|row| row.verdict == verdict && is_meant(row)).count()
            };
            Verdict::ALL.map(|verdict| format!("{} {}", of(verdict), verdict.name())).join(", ")
        };
        let mut text = format!("{} claims: {}.", self.rows.len(), counts(&|_| true));
        let has_others = self.rows.iter().any(|row| row.source != ClaimSource::Paper);
        for source in ClaimSource::ALL.into_iter().filter(|_| has_others) {
            let number = self.rows.iter().filter(|row| row.source == source).count();
            if number > 0 {
                let of_source = counts(&|row| row.source == source);
                text += &format!("\n  {number} of {}: {of_source}.", source.name());
            }
        }
        text
    }

    /// The results as JSON.
    pub fn json(&self) -> String {
        pretty(self)
    }
}

/// The claims of `paper`.
///
/// # Errors
/// No paper of this name.
pub fn find(paper: &str) -> Result<Paper, InputError> {
    let Some((name, text)) = PAPERS.iter().find(|(name, _)| *name == paper) else {
        let known: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
        let message = format!("no such paper; expected one of {}", known.join(", "));
        return Err(InputError::new(format!("'{paper}'"), message));
    };
    Paper::parse(name, text).map_err(|message| InputError::new(format!("papers/{name}.toml"), message))
}

/// Components that scenarios may name beside the built-in ones, and the runner of their cases.
pub struct RunContext<'a> {
    /// Traces.
    pub library: &'a Library,
    /// Components.
    pub registry: Registry,
    /// The same as in [`engine::Options`].
    pub commit: Option<String>,
    /// Seeds of each scenario.
    pub seeds: SeedShare,
}

/// Part of each scenario's seeds that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedShare {
    /// All seeds, as the pages have them.
    #[default]
    All,
    /// The first quarter, rounded up, and at least two where a scenario has two: a first look within a minute or two.
    /// Verdicts can differ from those of all seeds.
    Quick,
}

impl SeedShare {
    /// Seeds of `study` that run, if not all.
    fn chosen(self, study: &Study) -> Option<Vec<u64>> {
        let all = study.seeds();
        let number = all.len().div_ceil(4).max(2);
        (self == SeedShare::Quick && number < all.len()).then(|| all[..number].to_vec())
    }

    /// Sentence beside verdicts that rest on fewer seeds.
    pub fn note(self) -> Option<&'static str> {
        (self == SeedShare::Quick).then_some(
            "Quick: a quarter of each scenario's seeds, at least two; verdicts can differ from those of all seeds.",
        )
    }
}

impl<'a> From<&'a Library> for RunContext<'a> {
    fn from(library: &'a Library) -> RunContext<'a> {
        RunContext { library, registry: Registry::new(), commit: None, seeds: SeedShare::All }
    }
}

/// Runs and judges the claims of `paper`, or those of one `figure`. Each scenario is run into its own folder in
/// `out`, from where a run that was killed goes on, and what came of all is left there as `reproduction.json`; without
/// `out` nothing is left, and cases that no claim looks at are not run. Cases that several scenarios have are run once. `progress` begins anew
/// with each scenario.
///
/// # Errors
/// Unknown paper or figure, and the errors of [`engine::run`].
pub fn reproduce<'a>(
    paper: &str,
    figure: Option<&str>,
    known: impl Into<RunContext<'a>>,
    jobs: usize,
    progress: &dyn Progress,
    out: Option<PathBuf>,
) -> Result<Reproduction, EngineError> {
    reproduce_with(&find(paper)?, figure, known, jobs, progress, out, &Overrides::default())
}

/// [`reproduce`] with the command line's changes of the scenarios; the figures then differ from the judged ones.
///
/// # Errors
/// Errors of [`reproduce`].
pub fn reproduce_with<'a>(
    paper: &Paper,
    figure: Option<&str>,
    known: impl Into<RunContext<'a>>,
    jobs: usize,
    progress: &dyn Progress,
    out: Option<PathBuf>,
    overrides: &Overrides,
) -> Result<Reproduction, EngineError> {
    let RunContext { library, registry, commit, seeds } = known.into();
    let claims = chosen(paper, figure)?;
    let explaining = explaining(paper, &claims);
    let runs = runs(paper, &claims, &explaining);
    let wanted: Vec<&PairedComparison> =
        paper.tables.iter().filter(|table| figure.is_none_or(|figure| table.figure == figure)).collect();
    let mut tables: Vec<PairedTable> = wanted.iter().map(|changes| changes.empty()).collect();
    let mut found: Vec<ClaimResult> = vec![ClaimResult::Nothing; runs.len()];
    let mut stand_ins = BTreeMap::new();
    let mut studies = Vec::new();
    let mut simulator = SharedSimulator::default();
    for name in scenarios(&runs, &wanted) {
        let study = study(name, overrides, seeds, &registry)?;
        let standing = standing_in(&study, library, &mut simulator)?;
        studies.push((name, study, standing));
    }
    for (name, study, standing) in studies {
        let missing = missing(&standing);
        let here = || runs.iter().enumerate().filter(|(_, run)| run.check.scenario() == Some(name));
        let judged = |run: &Run<'_>| run.check.any_trace || missing.is_none();
        for (at, _) in here().filter(|(_, run)| !judged(run)) {
            found[at] = ClaimResult::Skipped(missing.clone());
        }
        // Tables also use substitute traces, which are named where the tables are printed.
        let is_tabled = wanted.iter().any(|changes| changes.scenarios().any(|of| of == name));
        if is_tabled || here().any(|(_, run)| judged(run)) {
            let axes = engine::axes(&study);
            let cases = match &out {
                Some(out) => {
                    let options = Options {
                        fresh: false,
                        out: files::make_below(out, name)?,
                        jobs,
                        packets: false,
                        series: false,
                        commit: commit.clone(),
                    };
                    engine::run_by(&simulator, &study, library, &options, progress)?.cases
                }
                // A case that no row and no table reads is not run where nothing is left of it.
                None => {
                    let is_read = |case: &Case| {
                        let labels = case.labels(&study);
                        let mut rows = here().filter(|(_, run)| judged(run));
                        is_tabled || rows.any(|(_, run)| run.check.expect.reads(&labels))
                    };
                    engine::some_in_memory(&simulator, &study, library, jobs, is_read, progress)?
                }
            };
            let table = Table::new(&axes, &cases);
            for (at, run) in here().filter(|(_, run)| judged(run)) {
                let figure = table.figure(&run.check.expect).map(|figure| run.check.in_units(figure));
                found[at] = ClaimResult::Figure(figure);
            }
            for (changes, made) in wanted.iter().zip(&mut tables) {
                changes.fill(name, &table, made);
            }
        }
        stand_ins.extend(standing);
    }
    for (run, found) in runs.iter().zip(&mut found) {
        if let By::Example(example) = run.check.by {
            let figure = example.figure(&run.check.expect.measure);
            *found = ClaimResult::Figure(figure.map(|figure| run.check.in_units(figure)));
        }
    }
    let of = |claim: &Claim, setting: Option<&Setting>| {
        let is_it = |run: &Run<'_>| {
            std::ptr::eq(run.claim, claim) && run.setting.map(|one| &one.name) == setting.map(|one| &one.name)
        };
        runs.iter().position(is_it).map_or(&ClaimResult::Nothing, |at| &found[at])
    };
    let settings: Vec<SettingFile> = explaining
        .iter()
        .map(|setting| judge::served(paper, setting, |claim, with| of(claim, with)))
        .collect();
    let row = |claim: &&Claim| {
        let setting = paper.explaining(claim);
        let served = setting.and_then(|one| settings.iter().find(|file| file.name == one.name));
        judge(claim, of(claim, None), served.map(|served| (served, of(claim, setting))))
    };
    let rows = claims.iter().map(row).collect();
    let reproduction = Reproduction {
        schema_version: SCHEMA_VERSION,
        paper: paper.name.clone(),
        title: paper.title.clone(),
        seeds,
        stand_ins,
        rows,
        settings,
        tables,
    };
    if let Some(out) = &out {
        std::fs::create_dir_all(out).map_err(|error| files::cannot_write(out, &error))?;
        files::write_file(&out.join(page::REPRODUCTION), &reproduction.json())?;
    }
    Ok(reproduction)
}

/// The claims of a figure or, by name, of a section of the paper; or all.
fn chosen<'a>(paper: &'a Paper, figure: Option<&str>) -> Result<Vec<&'a Claim>, InputError> {
    let Some(wanted) = figure else { return Ok(paper.claims.iter().collect()) };
    let is_meant = |claim: &&Claim| match claim.figure.as_deref() {
        Some(figure) if figure.eq_ignore_ascii_case(wanted) => true,
        _ => claim.section.eq_ignore_ascii_case(wanted),
    };
    let claims: Vec<&Claim> = paper.claims.iter().filter(is_meant).collect();
    if claims.is_empty() {
        let mut figures: Vec<&str> =
            paper.claims.iter().filter_map(|claim| claim.figure.as_deref()).collect();
        figures.sort_by_key(|figure| (figure.len(), *figure));
        figures.dedup();
        let mut sections: Vec<&str> = Vec::new();
        for claim in paper.claims.iter().filter(|claim| claim.figure.is_none()) {
            if !sections.contains(&claim.section.as_str()) {
                sections.push(&claim.section);
            }
        }
        let mut message = format!("nothing is claimed of it; expected one of {}", figures.join(", "));
        if !sections.is_empty() {
            message += &format!(", or a section: {}", sections.join(", "));
        }
        return Err(InputError::new(format!("figure '{wanted}'"), message));
    }
    Ok(claims)
}

/// A claim to be run as its file has it, or with a setting.
struct Run<'a> {
    claim: &'a Claim,
    setting: Option<&'a Setting>,
    check: Check,
}

/// The settings that `claims` are explained by, each once, in the order of the file.
fn explaining<'a>(paper: &'a Paper, claims: &[&'a Claim]) -> Vec<&'a Setting> {
    let named = |setting: &&Setting| {
        claims.iter().any(|claim| paper.explaining(claim).is_some_and(|one| one.name == setting.name))
    };
    paper.settings.iter().filter(named).collect()
}

/// Runs that `claims` need. Each claim is run as it is. With a setting, all claims of its section are run, because a setting
/// that loses one of them explains none; they are run without it too.
fn runs<'a>(paper: &'a Paper, claims: &[&'a Claim], settings: &[&'a Setting]) -> Vec<Run<'a>> {
    let is_chosen = |claim: &Claim| claims.iter().any(|chosen| std::ptr::eq(*chosen, claim));
    let mut runs = Vec::new();
    for claim in &paper.claims {
        let Ok(check) = &claim.check else { continue };
        let mut with = settings.iter().filter(|setting| setting.section == claim.section).peekable();
        if is_chosen(claim) || with.peek().is_some() {
            runs.push(Run { claim, setting: None, check: check.clone() });
        }
        runs.extend(with.map(|setting| Run { claim, setting: Some(setting), check: setting.apply(check) }));
    }
    runs
}

/// The scenarios that runs and tables name, each once, in the order of the claims.
fn scenarios<'a>(runs: &'a [Run<'_>], tables: &[&'a PairedComparison]) -> Vec<&'a str> {
    let of_runs = runs.iter().filter_map(|run| run.check.scenario());
    let mut names: Vec<&str> = Vec::new();
    for name in of_runs.chain(tables.iter().flat_map(|table| table.scenarios())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A scenario with `overrides`: one that varies its duration keeps it, and `seeds` chooses among the scenario's own seeds.
fn study(
    name: &str,
    overrides: &Overrides,
    seeds: SeedShare,
    registry: &Registry,
) -> Result<Study, InputError> {
    let text = shipped::find(name)
        .ok_or_else(|| InputError::new(name, "no such scenario; expected a shipped one"))?;
    let alone = Study::parse_with(name, text, &Overrides { duration: None, ..overrides.clone() }, registry)?;
    let mut overrides = overrides.clone();
    if alone.varies_duration() {
        overrides.duration = None;
    }
    if overrides.seeds.is_none() {
        overrides.seeds = seeds.chosen(&alone);
    }
    if overrides.duration.is_none() && overrides.seeds.is_none() {
        return Ok(alone);
    }
    Study::parse_with(name, text, &overrides, registry)
}

/// Traces of `study` that are not at hand, and what stands in for them; `simulator` hears of its cases.
fn standing_in(
    study: &Study,
    library: &Library,
    simulator: &mut SharedSimulator,
) -> Result<BTreeMap<String, String>, InputError> {
    let mut standing = BTreeMap::new();
    for index in 0..study.case_count() {
        let case = study.case(index, library)?;
        simulator.announce(&case);
        for (name, used) in case.traces {
            if let Some(asked) = used.substitute_for {
                standing.insert(asked, name);
            }
        }
    }
    Ok(standing)
}

fn missing(standing: &BTreeMap<String, String>) -> Option<String> {
    let names: Vec<&str> = standing.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        format!("not at hand: {}; expected in a folder given by --traces or QDELAY_TRACES", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_runs_a_quarter_of_the_seeds_and_at_least_two() {
        let seeds = |text: &str| {
            let text = format!(
                "[run]\nduration = \"1s\"\nseeds = {text}\n[path]\nlink = \"1mbit\"\n[[flow]]\ntransport = \"cubic\"\n"
            );
            let study = Study::parse_with("quick", &text, &Overrides::default(), &Registry::new());
            SeedShare::Quick.chosen(&study.unwrap_or_else(|error| panic!("{error}")))
        };
        assert_eq!(seeds("[7]"), None);
        assert_eq!(seeds("[7, 8]"), None);
        assert_eq!(seeds("\"101..108\""), Some(vec![101, 102]));
        assert_eq!(seeds("\"1..9\""), Some(vec![1, 2, 3]));
        assert_eq!(SeedShare::All.note(), None);
    }

    #[test]
    fn claims_by_figure_and_by_section() {
        let paper = find("abe").unwrap();
        let of = |wanted| chosen(&paper, Some(wanted)).unwrap();
        assert!(!of("4").is_empty() && of("4").iter().all(|claim| claim.figure.as_deref() == Some("4")));
        assert!(!of("beyond").is_empty() && of("beyond").iter().all(|claim| claim.section == "Beyond"));
        assert_eq!(chosen(&paper, None).unwrap().len(), paper.claims.len());
        let error = chosen(&paper, Some("Fig. 4")).map(|claims| claims.len()).unwrap_err().to_string();
        assert!(
            error.contains("figure 'Fig. 4': nothing is claimed of it; expected one of 1, 2, 4,"),
            "{error}"
        );
        assert!(error.contains(", or a section: ") && error.contains("Beyond"), "{error}");
    }
}
