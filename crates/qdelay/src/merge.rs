//! `qdelay merge`: merges the folders of shards into one.

use crate::cli::Merge;
use crate::native;
use crate::run::{expected, jobs, next, print_summary, write_report};
use qdelay_core::component::Registry;
use qdelay_study::cost::Stopwatch;
use qdelay_study::engine::{self, MergeOptions};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output::print_next;
use qdelay_terminal::progress::Bar;
use std::path::PathBuf;

/// Runs the command. Output and exit status equal those of a single run of all cases.
///
/// # Errors
/// Folders that cannot be merged, or an expectation that is missed.
pub fn run(options: &Merge, registry: &Registry) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let out = &options.out;
    let bar = Bar::default();
    // Copies of one scenario in several folders name the same shared objects, so each is opened once.
    let scenario = options.folders.first().map_or_else(PathBuf::new, |folder| folder.join("scenario.toml"));
    let registry = &native::named_by(scenario, options.allow_native, registry);
    let merging = MergeOptions { registry: registry.clone(), jobs: jobs(options.jobs), is_unverified: false };
    let merged = engine::merge(&options.folders, out, &merging, &bar)?;
    let page = write_report(options.no_report, registry, &merged.summary, &merged.path())?;
    let summary = merged.finish()?;
    drop(bar);
    let page = page.and_then(|page| Some(out.join(page.file_name()?)));
    print_summary(&summary, out, page.as_deref(), options.by, options.json, &watch)?;
    expected(&summary)?;
    if options.json { Ok(()) } else { print_next(&next(out, page.as_deref())) }
}
