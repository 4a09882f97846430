//! `qdelay report`: the page, the plots and the tables of result folders.

use crate::cli::{Report, ReportRows};
use crate::run_table::{self, Wanted};
use qdelay_core::component::Registry;
use qdelay_papers::page;
use qdelay_report::{self as report, load, together};
use qdelay_study::engine;
use qdelay_study::files;
use qdelay_study::results::{SCHEMA_VERSION, Summary, pretty};
use qdelay_study::tables::{self, Rows};
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::{self, shell_paths};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A folder without results, or a file that cannot be written.
pub fn run(options: &Report, registry: &Registry) -> Result<(), Failure> {
    let has_tables = options.csv.is_some() || options.parquet.is_some();
    if options.rows.is_some() && !has_tables {
        return Err(Failure::input(
            "--rows",
            "is an option of table files; expected it with --csv or --parquet",
        ));
    }
    if options.table || options.json {
        let summary = together::summary(&options.folders)?;
        output::print(&if options.json {
            pretty(
                &json!({ "schema_version": SCHEMA_VERSION, "folders": options.folders, "summary": summary }),
            )
        } else {
            let differences = options.differences.as_deref();
            if let Some(name) = differences {
                check_differences(name, &summary)?;
            }
            run_table::tables(&summary, "summary.json", Wanted { by: options.by, differences })
        })?;
    }
    if has_tables {
        write_tables(options)?;
    }
    if let Some(folder) = &options.svg {
        svg(&options.folders, folder)?;
    }
    if let Some(folder) = &options.flent {
        flent(options, folder)?;
    }
    let is_instead =
        options.table || options.json || has_tables || options.svg.is_some() || options.flent.is_some();
    if is_instead && options.out.is_none() {
        return print_next(options);
    }
    let path = options.out.clone().unwrap_or_else(|| default_path(&options.folders));
    write(&options.folders, &path, registry)?;
    print_written(options, &format!("report: {}\n", one_line(&path.display().to_string())))?;
    print_next(options)
}

/// Names the next command: the page after a table, and otherwise a figure. A paper's folder has no further command.
fn print_next(options: &Report) -> Result<(), Failure> {
    let folders = shell_paths(&options.folders);
    let is_table_alone =
        options.table && options.out.is_none() && options.csv.is_none() && options.parquet.is_none();
    match options.folders.as_slice() {
        _ if is_for_data(options) => Ok(()),
        [only] if page::is_of_paper(only) => Ok(()),
        _ if is_table_alone => output::print_next(&format!("qdelay report {folders}")),
        _ => output::print_next(&format!("qdelay plot {folders} --figure cdf --out cdf.pdf")),
    }
}

/// Checks that the results have differences, and flows of this name.
fn check_differences(name: &str, summary: &Summary) -> Result<(), Failure> {
    let known = run_table::flows(summary);
    let refuse = |message: String| Err(Failure::input(format!("--differences {}", one_line(name)), message));
    if !known.contains(name) {
        let known: Vec<String> = known.into_iter().map(one_line).collect();
        return refuse(format!("no [[flow]] has this name; expected one of {}", known.join(", ")));
    }
    if summary.differences.is_empty() {
        return refuse(
            "the results have no differences; expected two seeds or more, and an axis along which to compare"
                .to_string(),
        );
    }
    Ok(())
}

/// Whether standard output carries data for a program.
fn is_for_data(options: &Report) -> bool {
    options.json || options.csv.as_deref() == Some(Path::new("-"))
}

/// Prints a line about a written file, unless standard output carries data.
fn print_written(options: &Report, line: &str) -> Result<(), Failure> {
    if is_for_data(options) { Ok(()) } else { output::print(line) }
}

/// Writes the figures as CSV and as Parquet.
fn write_tables(options: &Report) -> Result<(), Failure> {
    let folders = load::summaries(&options.folders)?;
    let rows = match options.rows {
        None | Some(ReportRows::Cases) => Rows::Cases,
        Some(ReportRows::Groups) => Rows::Groups,
        Some(ReportRows::Flows) => Rows::Flows,
    };
    let named: Vec<_> = folders.iter().map(|(name, summary)| (name.as_str(), summary)).collect();
    let table = tables::result_table(&named, rows);
    let size = format!("{} rows, {} columns", table.rows, table.columns.len());
    if let Some(path) = &options.csv {
        output::write_file(path, true, |out| out.write_str(&tables::csv(&table)))?;
        print_written(options, &format!("{size}: {}\n", one_line(&path.display().to_string())))?;
    }
    if let Some(path) = &options.parquet {
        tables::write_parquet(&table, path)?;
        print_written(options, &format!("{size}: {}\n", one_line(&path.display().to_string())))?;
    }
    Ok(())
}

/// Writes the page of `folders`, whose flows may use transports in `registry`, to `path`.
///
/// # Errors
/// Same as [`run`].
pub fn write(folders: &[PathBuf], path: &Path, registry: &Registry) -> Result<(), Failure> {
    let page = match folders {
        [only] if page::is_of_paper(only) => page::from_folder(only)?,
        _ => {
            let options = report::Options { registry: registry.clone(), ..report::Options::default() };
            report::html(folders, &options)?
        }
    };
    Ok(engine::write_file(path, &page)?)
}

fn default_path(folders: &[PathBuf]) -> PathBuf {
    match folders {
        [only] => only.join("report.html"),
        _ => PathBuf::from("report.html"),
    }
}

/// Writes a flent file for each case; several folders get a subfolder each.
fn flent(options: &Report, into: &Path) -> Result<(), Failure> {
    let names = load::summaries(&options.folders)?;
    let mut count = 0;
    for (path, (name, _)) in options.folders.iter().zip(&names) {
        let into = if names.len() > 1 { into.join(name) } else { into.to_path_buf() };
        make_folder(&into)?;
        for (name, bytes) in report::flent(path)? {
            files::write_bytes(&into.join(name), &bytes)?;
            count += 1;
        }
    }
    print_written(options, &format!("{count} files of flent in {}\n", one_line(&into.display().to_string())))
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| {
        Failure::input(path.display(), format!("cannot be made: {error}; expected a place for a folder"))
    })
}

fn svg(folders: &[PathBuf], into: &Path) -> Result<(), Failure> {
    let plots = report::svg(folders, &report::Options::default())?;
    make_folder(into)?;
    for (name, plot) in &plots {
        engine::write_file(&into.join(name), plot)?;
    }
    output::print(&format!("{} plots in {}\n", plots.len(), one_line(&into.display().to_string())))
}
