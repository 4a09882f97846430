//! `qdelay pack`: packs the inputs of a results folder into an archive that runs again to the same bytes.

use crate::cli::Pack;
use crate::native;
use qdelay_core::component::Registry;
use qdelay_study::engine::{self, COMPONENTS, PackOptions, Unpacked};
use qdelay_study::results::SCHEMA_VERSION;
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::{self, eprintln_line};
use qdelay_terminal::progress::Bar;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A folder that cannot be packed, with the reason.
pub fn run(options: &Pack, registry: &Registry) -> Result<(), Failure> {
    let files = pack(
        &options.folder,
        &options.out,
        &options.traces,
        options.allow_native,
        registry,
        BTreeMap::new(),
    )?;
    let place = one_line(&options.out.display().to_string());
    output::print(&format!(
        "{place}: {}\n\nagain: qdelay run {place} --out DIR{}\n",
        files.join(", "),
        again(options)
    ))
}

fn again(options: &Pack) -> &'static str {
    if options.allow_native { " --allow-native" } else { "" }
}

/// Packs `folder` and `further` files into the archive `out`; returns the names of all packed files.
///
/// # Errors
/// Errors of [`engine::pack`].
pub fn pack(
    folder: &Path,
    out: &Path,
    traces: &[PathBuf],
    is_native_allowed: bool,
    registry: &Registry,
    extra: BTreeMap<String, Vec<u8>>,
) -> Result<Vec<String>, Failure> {
    let scenario = folder.join("scenario.toml");
    let registry = &native::named_by(&scenario, is_native_allowed, registry);
    let library = &Library::for_scenario(Some(&scenario), traces);
    Ok(engine::pack(folder, out, PackOptions { registry, library, extra }, &Bar::default())?)
}

/// Unpacks the archive `path`; `None` where the file is no archive. Prints a warning if the archive is from another version, whose bytes
/// may differ.
///
/// # Errors
/// A damaged archive, or one with components of Python, which this program cannot run.
pub fn unpacked(path: &Path) -> Result<Option<Unpacked>, Failure> {
    let Some(unpacked) = Unpacked::open(path)? else { return Ok(None) };
    if unpacked.scenario().with_file_name(COMPONENTS).exists() {
        let names: Vec<&str> = unpacked.study.components.keys().map(String::as_str).collect();
        let message = format!(
            "has components of Python ({}); expected python -m qdelay run {} --allow-native, with the package qdelay",
            names.join(", "),
            path.display()
        );
        return Err(Failure::input(path.display(), message));
    }
    let commit = crate::commit();
    let ours = (env!("CARGO_PKG_VERSION"), commit.as_deref());
    let theirs = (unpacked.study.qdelay.as_str(), unpacked.study.commit.as_deref());
    if ours != theirs {
        let shown = |(version, commit): (&str, Option<&str>)| match commit {
            Some(commit) => format!("{version} ({commit})"),
            None => version.to_string(),
        };
        eprintln_line(&format!(
            "{}: packed by version {}, and this is {}: figures may differ",
            one_line(&path.display().to_string()),
            shown(theirs),
            shown(ours)
        ));
    }
    // Equal results have other bytes in another schema, so the digests say nothing.
    if unpacked.study.schema_version != SCHEMA_VERSION {
        eprintln_line(&format!(
            "{}: packed with schema_version {}, and this writes {SCHEMA_VERSION}: the results are not compared with the packed ones",
            one_line(&path.display().to_string()),
            unpacked.study.schema_version
        ));
    }
    Ok(Some(unpacked))
}

/// Compares the results in `out` with the packed digests, and prints the outcome.
///
/// # Errors
/// Results that differ; the error names the files.
pub fn compare(unpacked: &Unpacked, out: &Path) -> Result<(), Failure> {
    match unpacked.differing(out) {
        // Options of the command line or another version made a different study, which has no digests to compare with.
        None => Ok(()),
        Some(files) if files.is_empty() => {
            eprintln_line("the results equal the packed ones byte for byte");
            Ok(())
        }
        Some(files) => Err(Failure::Check(format!(
            "{} files of the results differ from the packed ones: {}{}",
            files.len(),
            files.iter().take(4).map(String::as_str).collect::<Vec<&str>>().join(", "),
            if files.len() > 4 { "..." } else { "" }
        ))),
    }
}
