//! `qdelay report`: the page and the plots of result folders.

use crate::cli::Report;
use qdelay_papers::page;
use qdelay_report as report;
use qdelay_study::engine;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A folder that holds no results, or a file that cannot be written.
pub fn run(options: &Report) -> Result<(), Failure> {
    match &options.svg {
        Some(folder) => svg(&options.folders, folder),
        None => {
            let path = options.output.clone().unwrap_or_else(|| default_path(&options.folders));
            write(&options.folders, &path)?;
            output::print(&format!("report: {}\n", one_line(&path.display().to_string())))
        }
    }
}

/// Writes the page of `folders` to `path`.
///
/// # Errors
/// As [`run`].
pub fn write(folders: &[PathBuf], path: &Path) -> Result<(), Failure> {
    let page = match folders {
        [only] if page::is_of_paper(only) => page::of(only)?,
        _ => report::html(folders, &report::Options::default())?,
    };
    Ok(engine::write_file(path, &page)?)
}

fn default_path(folders: &[PathBuf]) -> PathBuf {
    match folders {
        [only] => only.join("report.html"),
        _ => PathBuf::from("report.html"),
    }
}

fn svg(folders: &[PathBuf], into: &Path) -> Result<(), Failure> {
    let plots = report::svg(folders, &report::Options::default())?;
    fs::create_dir_all(into).map_err(|error| {
        Failure::input(into.display(), format!("cannot be made: {error}; expected a place for a folder"))
    })?;
    for (name, plot) in &plots {
        engine::write_file(&into.join(name), plot)?;
    }
    output::print(&format!("{} plots in {}\n", plots.len(), one_line(&into.display().to_string())))
}
