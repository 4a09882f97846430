//! Folder of `qdelay link --out`: the records of a link, and its figures as those of a study with one case.
//!
//! ```text
//! OUT/link.json                      figures and verdict, as --json writes them
//! OUT/link.pcapng                    the capture, as of --pcap
//! OUT/link.down, OUT/link.up         mahimahi's logs, as of --log
//! OUT/study.json, OUT/summary.json   as of a study
//! OUT/cases/0-link/packets.parquet   the packets, as of --packets
//! OUT/cases/0-link/...               run.json, summary.json and SHA256SUMS, as of a case
//! ```
//!
//! All files are written in a hidden folder. It takes the name of OUT in one step; where OUT is a folder already, its files are moved there,
//! `summary.json` last, without which nothing reads the folder.

use super::figures::DIRECTIONS;
use super::{Link, Outcome, json};
use crate::requests;
use qdelay_emu::accuracy::Accuracy;
use qdelay_emu::figures::DirectionFigures;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_study::InputError;
use qdelay_study::engine::digests;
use qdelay_study::figures;
use qdelay_study::files::{self, Partial, cannot_write, create_with};
use qdelay_study::results::{
    Audit, AxisFile, CaseSummary, LINK, LINK_NOTE, RunFile, SCHEMA_VERSION, StudyFile, Summary, TraceFile,
    round, text,
};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output::shell_word;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Id of the only case.
const CASE: &str = "0-link";
/// Axis that every study has.
const SEED: &str = "seed";
/// Names of everything in the folder. The first two are removed from an existing folder before the others, and are moved there last.
const NAMES: [&str; 8] = [
    "summary.json",
    "report.html",
    "study.json",
    "cases",
    "link.json",
    "link.pcapng",
    "link.down",
    "link.up",
];

/// Options of the folder.
#[derive(Clone, Debug)]
pub struct Out {
    /// The folder.
    pub path: PathBuf,
    /// Commit that the program was built from, if known.
    pub commit: Option<String>,
    /// Traces of the link, with their digests.
    pub traces: BTreeMap<String, TraceFile>,
    /// Scenario whose path the link has, as the user wrote it.
    pub scenario: Option<String>,
}

/// The folder while the link runs.
pub struct Records {
    out: PathBuf,
    partial: Partial,
    /// True if `out` was a folder before.
    is_there: bool,
}

/// Results of a link that has ended, besides its records.
pub struct Ended<'a> {
    pub out: &'a Out,
    pub link: &'a Link,
    pub outcome: &'a Outcome,
    pub measured: &'a qdelay_sim::Outcome,
}

impl Records {
    /// Begins the folder `out`: a new one, an empty one, or with `force` one with the records of a link.
    ///
    /// # Errors
    /// It has other files, or cannot be written to.
    pub fn begin(out: &Path, force: bool) -> Result<Records, Failure> {
        let refuse = |message: &str| Err(Failure::input(out.display(), message));
        let fail = |error: io::Error| Failure::from(cannot_write(out, &error));
        let is_there = match out.metadata() {
            Ok(found) if found.is_dir() => true,
            Ok(_) => return refuse("is a file; expected a folder, or a new name for one"),
            Err(_) => false,
        };
        if is_there && !is_empty(out).map_err(fail)? {
            let is_ours = is_of_link(out);
            if !is_ours {
                return refuse(
                    "holds files and no records of a link; expected an empty folder, or a new name for one",
                );
            }
            if !force {
                return refuse("holds records of a link; expected a new name, or --force to replace them");
            }
        }
        // In an existing folder, because another one may be on another disk.
        let place = if is_there { out.join(LINK) } else { out.to_path_buf() };
        let Some(name) = place.file_name() else {
            return refuse("is no name of a folder; expected one");
        };
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(fail)?;
        // Folders of links that were killed.
        files::remove_left(parent, Some(name));
        let partial = Partial::folder(&place).map_err(fail)?;
        fs::create_dir_all(partial.path().join("cases").join(CASE)).map_err(fail)?;
        Ok(Records { out: out.to_path_buf(), partial, is_there })
    }

    /// Path of the packet capture.
    pub fn capture(&self) -> PathBuf {
        self.partial.path().join("link.pcapng")
    }

    /// Paths of mahimahi's logs are this, and `.down` or `.up`.
    pub fn log_prefix(&self) -> PathBuf {
        self.partial.path().join("link")
    }

    /// Path of the packets.
    pub fn packets(&self) -> PathBuf {
        self.case().join("packets.parquet")
    }

    fn case(&self) -> PathBuf {
        self.partial.path().join("cases").join(CASE)
    }

    /// A message about a file with the name that the file has at the end.
    pub fn named(&self, message: &str) -> String {
        let of = |path: &Path| path.display().to_string();
        message.replace(&of(self.partial.path()), &of(&self.out))
    }

    /// Removes the packets, which cannot be read because they are incomplete.
    pub fn remove_packets(&self) {
        let _ = files::remove(&self.packets());
    }

    /// Writes the figures, and completes the folder.
    ///
    /// # Errors
    /// The folder cannot be written to; nothing of it is left.
    pub fn finish(self, ended: &Ended<'_>) -> Result<(), InputError> {
        let root = self.partial.path();
        let write = || -> Result<(), InputError> {
            let case = self.case();
            let summary = case_summary(ended);
            create_with(&case.join("run.json"), &text(&run_file(ended)))?;
            create_with(&case.join("summary.json"), &text(&summary))?;
            digests::write(&case)?;
            let figures = json::text(&ended.link.settings, ended.link.access, ended.outcome);
            create_with(&root.join("link.json"), &figures)?;
            create_with(&root.join("study.json"), &text(&study_file(ended)))?;
            create_with(&root.join("summary.json"), &text(&folder_summary(ended, summary)))
        };
        write().map_err(|error| InputError::new(self.named(&error.place), self.named(&error.message)))?;
        let out = self.out.clone();
        let done = self.complete().and_then(|()| files::sync_folder(&out));
        done.map_err(|error| cannot_write(&out, &error))
    }

    /// Gives the files their names.
    fn complete(self) -> io::Result<()> {
        let Records { out, partial, is_there } = self;
        files::flush_all(partial.path())?;
        if !is_there {
            return partial.settle();
        }
        NAMES[..2].iter().try_for_each(|name| files::remove(&out.join(name)))?;
        for name in NAMES.iter().rev() {
            let from = partial.path().join(name);
            files::remove(&out.join(name))?;
            if from.symlink_metadata().is_ok() {
                fs::rename(from, out.join(name))?;
            }
        }
        Ok(())
    }
}

/// True without any files, but for what killed links have left.
fn is_empty(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if !entry?.file_name().to_string_lossy().ends_with(".partial") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True for a folder with the records of a link.
fn is_of_link(folder: &Path) -> bool {
    let summary = files::read_text(&folder.join("summary.json")).ok();
    let summary = summary.and_then(|text| serde_json::from_str::<Summary>(&text).ok());
    summary.is_some_and(|summary| summary.is_of_link())
}

/// The command with its arguments.
fn command_line(link: &Link) -> String {
    let words: Vec<String> = link.command.iter().map(|word| shell_word(&word.to_string_lossy())).collect();
    if words.is_empty() { "a shell".to_string() } else { words.join(" ") }
}

fn seed(plan: &PlanKind) -> u64 {
    match plan {
        PlanKind::Link(plan) => plan.seed,
        PlanKind::Dumbbell(plan) => plan.seed,
    }
}

fn labels(ended: &Ended<'_>) -> BTreeMap<String, String> {
    [(SEED.to_string(), seed(&ended.link.plan).to_string())].into()
}

fn axes(ended: &Ended<'_>) -> Vec<AxisFile> {
    vec![AxisFile { name: SEED.to_string(), labels: labels(ended).into_values().collect() }]
}

fn case_summary(ended: &Ended<'_>) -> CaseSummary {
    let summary = figures::summary(CASE, labels(ended), ended.measured);
    CaseSummary {
        trustworthy: Some(ended.outcome.facts.verdict.trustworthy),
        changes: ended.outcome.changes.len() as u64,
        ..summary
    }
}

fn run_file(ended: &Ended<'_>) -> RunFile {
    let (link, facts) = (ended.link, &ended.outcome.facts);
    let Accuracy { grade, bound } = facts.accuracy();
    let mut settings = json!({
        "down": link.settings.down,
        "up": link.settings.up,
        "link": {
            "command": command_line(link),
            "mtu": link.mtu,
            "hold": link.hold,
            "access": link.access.map_or("burst".to_string(), |rate| rate.to_string()),
            "nat": link.nat,
            "serve": link.serve,
        },
        "run": {
            "duration": ended.outcome.duration.to_string(),
            "seed": seed(&ended.link.plan),
            "status": ended.outcome.status,
        },
    });
    if let Some(scenario) = &ended.out.scenario {
        settings["link"]["scenario"] = json!(scenario);
    }
    RunFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        scenario: LINK.to_string(),
        id: CASE.to_string(),
        labels: labels(ended),
        settings,
        traces: ended.out.traces.clone(),
        clock: Some("real".to_string()),
        audit: Some(Audit {
            grade: Some(grade.name().to_string()),
            delays_hold_to_ms: Some(round(bound.as_millis_f64())),
            changes: requests::changes(&ended.outcome.changes),
            ..crate::audit::of_facts(facts, ended.outcome.realtime)
        }),
        laboratory: None,
        drops_by_reason: DIRECTIONS.iter().zip(&ended.outcome.directions).map(drops_by_reason).collect(),
    }
}

/// Drops of a direction with its name.
fn drops_by_reason((name, figures): (&&str, &DirectionFigures)) -> (String, BTreeMap<String, u64>) {
    let drops = figures.drops_by_reason.iter().map(|(reason, count)| ((*reason).to_string(), *count));
    ((*name).to_string(), drops.collect())
}

fn study_file(ended: &Ended<'_>) -> StudyFile {
    let Out { commit, traces, .. } = ended.out;
    StudyFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        commit: commit.clone(),
        scenario: LINK.to_string(),
        // There is no text of a scenario.
        source: String::new(),
        overrides: [("clock".to_string(), "real".to_string())].into(),
        records: vec!["packets".to_string()],
        traces: traces.clone(),
        component_files: BTreeMap::new(),
        components: BTreeMap::new(),
        axes: axes(ended),
        cases: 1,
        digests: "sha256".to_string(),
    }
}

fn folder_summary(ended: &Ended<'_>, case: CaseSummary) -> Summary {
    let LinkSettings { down, up, .. } = &ended.link.settings;
    let facts = &ended.outcome.facts;
    let Accuracy { grade, bound } = facts.accuracy();
    let direction = |name: &str, link: &str, qdisc: &str| format!("{name} {link} {qdisc}");
    Summary {
        schema_version: SCHEMA_VERSION,
        scenario: LINK.to_string(),
        title: format!(
            "Link: {}, {}",
            direction("down", &down.link, &down.qdisc),
            direction("up", &up.link, &up.qdisc)
        ),
        about: format!(
            "Behind the link ran {}. {LINK_NOTE} Verdict: {}, delays hold to {:.2} ms.",
            command_line(ended.link),
            grade.name(),
            bound.as_millis_f64()
        ),
        axes: axes(ended),
        cases: vec![case.without_curves()],
        clock: Some("real".to_string()),
        recorded_by: Some(LINK.to_string()),
        ..Summary::default()
    }
}
