//! Several result folders as one summary, whose first axis is the folder.

use super::load;
use super::model::{FOLDER_AXIS, NOT_THERE, SEED_AXIS, flat};
use qdelay_study::InputError;
use qdelay_study::intervals;
use qdelay_study::results::{AxisFile, CaseSummary, SCHEMA_VERSION, Summary};
use std::path::{Path, PathBuf};

/// The summary of one folder, or that of several as one: the cases of each have the folder's name in their ids and on the axis `folder`.
/// An axis that a folder does not have takes its point there from what the folder ran with. Where all have the same axes, the differences
/// are those of each folder from the first one, seed by seed; otherwise there are none.
///
/// # Errors
///
/// Errors of [`load::summaries`]; a case's `run.json` that is needed cannot be read.
pub fn summary(paths: &[PathBuf]) -> Result<Summary, InputError> {
    let mut all = load::summaries(paths)?;
    if let [(_, only)] = all.as_mut_slice() {
        return Ok(std::mem::take(only));
    }
    let is_same = all.windows(2).all(|pair| pair[0].1.axes == pair[1].1.axes);
    let axes = axes(&all);
    let mut together = Summary {
        schema_version: SCHEMA_VERSION,
        title: all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
        ..Summary::default()
    };
    for ((name, summary), path) in all.into_iter().zip(paths) {
        let Summary {
            scenario, cases, expects, unverified, same_runs, clock, recorded_by, population, ..
        } = summary;
        for mut case in cases {
            complete(&mut case, &name, &axes, path)?;
            together.cases.push(case);
        }
        together.scenario = scenario;
        together.unverified.extend(unverified.into_iter().map(|sentence| format!("{name}: {sentence}")));
        together.same_runs.extend(
            same_runs.into_iter().map(|ids| ids.iter().map(|id| format!("{name}/{id}")).collect::<Vec<_>>()),
        );
        together.expects.extend(expects.into_iter().map(|mut expect| {
            expect.claim = format!("{name}: {}", expect.claim);
            expect
        }));
        together.clock = together.clock.or(clock);
        together.recorded_by = together.recorded_by.or(recorded_by);
        together.population = together.population.or(population);
    }
    together.axes = axes;
    if is_same {
        together.points = intervals::point_means(&together.axes, &together.cases);
        together.differences = match together.axes.last() {
            Some(seeds) if seeds.labels.len() > 1 => {
                intervals::paired_along(&together.axes[0], &together.axes, &together.cases)
            }
            _ => Vec::new(),
        };
    }
    Ok(together)
}

/// The axes of all folders, each with the labels that any of them has; `folder` first, `seed` last.
fn axes(all: &[(String, Summary)]) -> Vec<AxisFile> {
    let labels = all.iter().map(|(name, _)| name.clone()).collect();
    let mut axes = vec![AxisFile { name: FOLDER_AXIS.to_string(), labels }];
    for axis in all.iter().flat_map(|(_, summary)| &summary.axes) {
        match axes.iter_mut().find(|known| known.name == axis.name) {
            Some(known) => axis.labels.iter().for_each(|label| {
                if !known.labels.contains(label) {
                    known.labels.push(label.clone());
                }
            }),
            None => axes.push(axis.clone()),
        }
    }
    axes.sort_by_key(|axis| axis.name == SEED_AXIS);
    axes
}

/// Gives the case its folder's name, and a label on each axis.
fn complete(case: &mut CaseSummary, name: &str, axes: &[AxisFile], path: &Path) -> Result<(), InputError> {
    let missing: Vec<&AxisFile> =
        axes[1..].iter().filter(|axis| !case.labels.contains_key(&axis.name)).collect();
    if !missing.is_empty() {
        let settings = flat(&load::run_of(path, &case.id)?.settings);
        for axis in missing {
            let label = settings.get(&axis.name).map_or(NOT_THERE, String::as_str);
            case.labels.insert(axis.name.clone(), label.to_string());
        }
    }
    case.labels.insert(FOLDER_AXIS.to_string(), name.to_string());
    case.id = format!("{name}/{}", case.id);
    Ok(())
}
