//! Reads result folders, and reports missing or inconsistent data, so that later code need not check.

use qdelay_study::InputError;
use qdelay_study::files;
use qdelay_study::results::{self, CaseSummary, CellSeries, FlowSeries, RunFile, Series, StudyFile, Summary};
use serde::de::DeserializeOwned;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The commands that write result folders, for messages.
const WRITERS: &str = "'qdelay run' or 'qdelay link --out'";

/// A result folder, complete.
#[derive(Clone)]
pub struct Folder {
    /// Last part of its path; no two have the same.
    pub name: String,
    /// The commit of the program that made it, where it is known.
    pub commit: Option<String>,
    /// All cases, without their curves.
    pub summary: Summary,
    /// In the order of the summary.
    pub cases: Vec<LoadedCase>,
}

/// A case with its curves and its configuration.
#[derive(Clone)]
pub struct LoadedCase {
    /// Configuration of the case.
    pub run: RunFile,
    /// Results of the case.
    pub summary: CaseSummary,
}

/// Reads these folders.
///
/// # Errors
///
/// None; one that is no result folder, whose cases are not complete, or that a newer version wrote; two of one name.
pub fn folders(paths: &[PathBuf]) -> Result<Vec<Folder>, InputError> {
    names(paths)?.into_iter().zip(paths).map(|(name, path)| folder(path, name)).collect()
}

/// The names and summaries of these folders, without the files of their cases.
///
/// # Errors
///
/// Errors of [`folders`], without those of the files that it reads.
pub fn summaries(paths: &[PathBuf]) -> Result<Vec<(String, Summary)>, InputError> {
    names(paths)?.into_iter().zip(paths).map(|(name, path)| Ok((name, folder_summary(path)?))).collect()
}

/// Names of the folders, all different.
fn names(paths: &[PathBuf]) -> Result<Vec<String>, InputError> {
    if paths.is_empty() {
        return Err(InputError::new(
            "report",
            format!("no folder; expected one or several that {WRITERS} wrote"),
        ));
    }
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    for (place, path) in paths.iter().enumerate() {
        if let Some(other) = names[..place].iter().position(|name| *name == names[place]) {
            return Err(InputError::new(
                path.display(),
                format!(
                    "has the same name as {}; expected folders of different names, which the report labels them with",
                    paths[other].display()
                ),
            ));
        }
    }
    Ok(names)
}

fn folder(path: &Path, name: String) -> Result<Folder, InputError> {
    let summary = folder_summary(path)?;
    let unfinished = unfinished_cases(path, &summary)?;
    if let Some(first) = unfinished.first() {
        return Err(InputError::new(
            first.display(),
            format!(
                "missing, as in {} of {} cases; expected a complete folder{}",
                unfinished.len(),
                summary.cases.len(),
                // The traffic of a link cannot be had again.
                if summary.is_of_link() { "" } else { ": the same 'qdelay run' again completes it" }
            ),
        ));
    }
    let cases =
        summary.cases.iter().map(|case| load_case(path, &summary, &case.id)).collect::<Result<_, _>>()?;
    Ok(Folder { name, commit: commit_of(path), summary, cases })
}

/// That of `study.json`; none where there is no such file, as in folders of before.
fn commit_of(path: &Path) -> Option<String> {
    let study = path.join("study.json");
    files::is_file(&study).then(|| read::<StudyFile>(&study).ok()).flatten()?.commit
}

/// `results`, also of `results/` and of `.` inside of it.
fn name_of(path: &Path) -> String {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    whole.file_name().map_or_else(|| whole.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn folder_summary(path: &Path) -> Result<Summary, InputError> {
    let file = path.join("summary.json");
    if !path.is_dir() {
        let what = if path.exists() { "is no folder" } else { "no such folder" };
        return Err(InputError::new(path.display(), format!("{what}; expected one that {WRITERS} wrote")));
    }
    if !files::is_file(&file) {
        let study = path.join("study.json");
        let is_of_link = || read::<StudyFile>(&study).is_ok_and(|study| study.is_of_link());
        let message = if files::is_link(&file) {
            "summary.json is a symbolic link, which nothing in a result folder is; expected a file as 'qdelay run' wrote it".to_string()
        } else if files::is_file(&study) && is_of_link() {
            "no summary.json; expected a complete folder, as 'qdelay link --out' wrote it".to_string()
        } else if files::is_file(&study) {
            "no summary.json: the run was not finished; expected a complete folder: the same 'qdelay run' again completes it, and 'qdelay merge' those of shards".to_string()
        } else {
            format!("no summary.json, so this is no result folder; expected one that {WRITERS} wrote")
        };
        return Err(InputError::new(path.display(), message));
    }
    let summary: Summary = read(&file)?;
    if summary.cases.is_empty() {
        return Err(InputError::new(file.display(), "cases is empty; expected at least one case"));
    }
    Ok(summary)
}

/// The first missing file of each case that lacks one.
fn unfinished_cases(path: &Path, summary: &Summary) -> Result<Vec<PathBuf>, InputError> {
    let mut missing = Vec::new();
    for case in &summary.cases {
        // An id is a folder's name: anything else would read outside of the result.
        if case.id.is_empty() || case.id.starts_with('.') || case.id.contains(['/', '\\']) {
            let message = format!("case id {:?}; expected the name of a folder in cases/", case.id);
            return Err(InputError::new(path.join("summary.json").display(), message));
        }
        let folder = files::find_below(path, &format!("cases/{}", case.id))?;
        let files = ["run.json", "summary.json"].map(|file| folder.join(file));
        missing.extend(files.into_iter().find(|file| file.symlink_metadata().is_err()));
    }
    Ok(missing)
}

/// The configuration of a case as it was run: its `run.json`.
///
/// # Errors
///
/// It is missing or cannot be read, or the id leads elsewhere.
pub fn run_of(path: &Path, id: &str) -> Result<RunFile, InputError> {
    read(&files::find_below(path, &format!("cases/{id}"))?.join("run.json"))
}

fn load_case(path: &Path, folder: &Summary, id: &str) -> Result<LoadedCase, InputError> {
    let directory = path.join("cases").join(id);
    let file = directory.join("summary.json");
    let summary: CaseSummary = read(&file)?;
    check_case(folder, id, &summary).map_err(|message| InputError::new(file.display(), message))?;
    Ok(LoadedCase { run: run_of(path, id)?, summary })
}

fn check_case(folder: &Summary, id: &str, case: &CaseSummary) -> Result<(), String> {
    if case.id != id {
        return Err(format!("is of case {:?}; expected {id:?}, as its folder is named", case.id));
    }
    for axis in &folder.axes {
        match case.labels.get(&axis.name) {
            Some(label) if axis.labels.contains(label) => {}
            Some(label) => {
                return Err(format!(
                    "labels.{}: {label:?}; expected a point of this axis, as in the folder's summary.json",
                    axis.name
                ));
            }
            None => return Err(format!("labels.{}: missing; expected a point of this axis", axis.name)),
        }
    }
    let groups = case.group_delay_cdf.iter().flatten().map(|(_, cdf)| cdf);
    let stages = case.group_stage_cdf.iter().flatten().flat_map(|(_, stages)| stages.values());
    let round_trips = case.group_round_trip_cdf.iter().flatten().map(|(_, cdf)| cdf);
    let arrivals = case.group_arrival_cdf.iter().flatten().map(|(_, cdf)| cdf);
    for cdf in case.delay_cdf.iter().chain(groups).chain(stages).chain(round_trips).chain(arrivals) {
        same_length("delay_cdf.ms", cdf.ms.len(), cdf.percent.len())?;
    }
    case.series.as_ref().map_or(Ok(()), check_series)
}

fn check_series(series: &Series) -> Result<(), String> {
    if !(series.bin_s.is_finite() && series.bin_s > 0.0) {
        return Err(format!("series.bin_s is {}; expected seconds above 0", series.bin_s));
    }
    let bins = series.throughput_mbps.len();
    same_length("series.capacity_mbps", series.capacity_mbps.len(), bins)?;
    same_length("series.delay_mean_ms", series.delay_mean_ms.len(), bins)?;
    same_length("series.delay_max_ms", series.delay_max_ms.len(), bins)?;
    same_length("series.backlog_packets", series.backlog_packets.len(), bins)?;
    same_length("series.drops", series.drops.len(), bins)?;
    same_length("series.marks", series.marks.len(), bins)?;
    if !series.green_bias.is_empty() {
        same_length("series.green_bias", series.green_bias.len(), bins)?;
    }
    for (name, group) in &series.groups {
        same_length(&format!("series.groups.{name}.throughput_mbps"), group.throughput_mbps.len(), bins)?;
        same_length(&format!("series.groups.{name}.delay_mean_ms"), group.delay_mean_ms.len(), bins)?;
        same_length(&format!("series.groups.{name}.delay_max_ms"), group.delay_max_ms.len(), bins)?;
    }
    for (name, flow) in &series.flows {
        check_flow(name, flow, bins)?;
    }
    series.cell.as_ref().map_or(Ok(()), |cell| check_cell(cell, bins))
}

fn check_flow(name: &str, flow: &FlowSeries, bins: usize) -> Result<(), String> {
    let mut lengths = Vec::new();
    if let Some(video) = &flow.video {
        lengths.extend([
            ("video.target_mbps", video.target_mbps.len()),
            ("video.encoded_mbps", video.encoded_mbps.len()),
            ("video.height", video.height.len()),
            ("video.delay_mean_ms", video.delay_mean_ms.len()),
            ("video.delay_max_ms", video.delay_max_ms.len()),
            ("video.display_mean_ms", video.display_mean_ms.len()),
            ("video.display_max_ms", video.display_max_ms.len()),
            ("video.shown", video.shown.len()),
            ("video.late", video.late.len()),
            ("video.not_shown", video.not_shown.len()),
            ("video.frozen_ms", video.frozen_ms.len()),
        ]);
    }
    if let Some(stream) = &flow.stream {
        lengths.extend([
            ("stream.buffer_s", stream.buffer_s.len()),
            ("stream.chosen_mbps", stream.chosen_mbps.len()),
            ("stream.shown_mbps", stream.shown_mbps.len()),
            ("stream.startup_ms", stream.startup_ms.len()),
            ("stream.stalled_ms", stream.stalled_ms.len()),
            ("stream.chunks", stream.chunks.len()),
            ("stream.qoe", stream.qoe.len()),
        ]);
    }
    if let Some(web) = &flow.web {
        lengths.extend([
            ("web.pages", web.pages.len()),
            ("web.load_mean_ms", web.load_mean_ms.len()),
            ("web.load_max_ms", web.load_max_ms.len()),
        ]);
    }
    if let Some(connection) = &flow.connection {
        lengths.extend([
            ("connection.cwnd_bytes", connection.cwnd_bytes.len()),
            ("connection.ssthresh_bytes", connection.ssthresh_bytes.len()),
            ("connection.in_flight_bytes", connection.in_flight_bytes.len()),
            ("connection.srtt_ms", connection.srtt_ms.len()),
            ("connection.rtt_ms", connection.rtt_ms.len()),
            ("connection.pacing_mbps", connection.pacing_mbps.len()),
            ("connection.delivery_mbps", connection.delivery_mbps.len()),
            ("connection.retransmits", connection.retransmits.len()),
            ("connection.ca_state", connection.ca_state.len()),
        ]);
    }
    let check =
        |(field, length): (&str, usize)| same_length(&format!("series.flows.{name}.{field}"), length, bins);
    lengths.into_iter().try_for_each(check)
}

fn check_cell(cell: &CellSeries, bins: usize) -> Result<(), String> {
    same_length("series.cell.rlc_bytes_mean", cell.rlc_bytes_mean.len(), bins)?;
    same_length("series.cell.rlc_bytes_max", cell.rlc_bytes_max.len(), bins)?;
    same_length("series.cell.rlc_packets_mean", cell.rlc_packets_mean.len(), bins)?;
    same_length("series.cell.rlc_packets_max", cell.rlc_packets_max.len(), bins)?;
    same_length("series.cell.rbs_offered", cell.rbs_offered.len(), bins)?;
    same_length("series.cell.rbs_used", cell.rbs_used.len(), bins)?;
    same_length("series.cell.mcs", cell.mcs.len(), bins)?;
    // Without rank adaptation the list is empty.
    if cell.rank.is_empty() { Ok(()) } else { same_length("series.cell.rank", cell.rank.len(), bins) }
}

fn same_length(name: &str, found: usize, expected: usize) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{name} has {found} entries; expected {expected}")) }
}

/// Reads a file of a result. The version is checked first: in another one the fields have other names or meanings.
fn read<T: DeserializeOwned>(file: &Path) -> Result<T, InputError> {
    let bytes = files::read(file).map_err(|error| InputError::new(file.display(), reading(&error)))?;
    let broken = |error: &dyn std::fmt::Display| {
        let message = format!(
            "{error}; expected a file of a result folder: the same 'qdelay run' into a new folder makes it"
        );
        InputError::new(file.display(), message)
    };
    // As text, as the engine reads it too: what reads it is large, and compiled once.
    let text = std::str::from_utf8(&bytes).map_err(|error| broken(&error))?;
    let version = results::schema_version_of(text).map_err(|error| broken(&error))?;
    if let Some(message) = results::other_schema(version) {
        return Err(InputError::new(file.display(), message));
    }
    serde_json::from_str(text).map_err(|error| broken(&error))
}

fn reading(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file; expected a complete result folder".to_string(),
        _ => format!("{error}; expected to be able to read it"),
    }
}
