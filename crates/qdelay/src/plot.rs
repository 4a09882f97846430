//! `qdelay plot`: draws a figure for a paper and writes its data.

use crate::cli::Plot;
use qdelay_report::plot::{self, Format, Kind, Request};
use qdelay_study::files::{write_bytes, write_file};
use qdelay_study::results::LINK_NOTE;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A folder without results, an unknown figure, label or measure, or a file that cannot be written.
pub fn run(options: &Plot) -> Result<(), Failure> {
    let format = format(options)?;
    let path = options.out.clone().unwrap_or_else(|| default_path(options, format));
    let data = path.with_extension("csv");
    let request = Request {
        kind: options.figure,
        select: options.select.clone(),
        measure: options.measure.clone(),
        flows: options.flows.clone(),
        over: options.over.clone(),
        size: options.size,
        format,
        log: options.log,
        title: options.title.clone(),
    };
    let plot = plot::plot(&options.folders, &request)?;
    write_bytes(&path, &plot.picture)?;
    write_file(&data, &plot.csv)?;
    let shown = |path: &Path| one_line(&path.display().to_string());
    let what = match options.figure {
        Kind::Cdf | Kind::Time => "lines",
        Kind::Plane => "marks",
        Kind::Bars => "bars",
        Kind::Box => "boxes",
    };
    let mut text = format!("{}: {} {what}", shown(&path), plot.entries);
    if plot.runs > 1 {
        text.push_str(&format!(", means of up to {} seeds with 95% intervals", plot.runs));
    }
    if plot.left_out > 0 {
        text.push_str(&format!("; {} without this measure are left out", plot.left_out));
    }
    let link = if plot.has_links { format!("{LINK_NOTE}\n") } else { String::new() };
    let notes: String = plot.coinciding.iter().map(|line| format!("{}\n", one_line(line))).collect();
    output::print(&format!("{text}\n{}: the data\n{link}{notes}", shown(&data)))?;
    output::print_next(&next(options))
}

/// Command for another figure of the same folders, which all results have.
fn next(options: &Plot) -> String {
    let figure = if options.figure == Kind::Plane { "cdf" } else { "plane" };
    format!("qdelay plot {} --figure {figure} --out {figure}.pdf", output::shell_paths(&options.folders))
}

/// Format of the option, which must agree with the extension of the file.
fn format(options: &Plot) -> Result<Format, Failure> {
    let Some(out) = &options.out else { return Ok(options.format.unwrap_or(Format::Svg)) };
    let ending = out.extension().map(|ending| ending.to_string_lossy().into_owned());
    let of_ending = ending.as_deref().and_then(Format::named);
    let wrong = |message: &str| Err(Failure::input(out.display(), message));
    match (options.format, of_ending) {
        _ if ending.as_deref() == Some("csv") => {
            wrong("is the name of the data file; expected the name of a figure, such as cdf.pdf")
        }
        (Some(asked), Some(of_ending)) if asked != of_ending => wrong(&format!(
            "has another extension than --format {}; expected equal ones, or one of them",
            asked.ending()
        )),
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) => wrong("has no known extension; expected .svg, .pdf, .pgf or .png, or --format"),
    }
}

fn default_path(options: &Plot, format: Format) -> PathBuf {
    let name =
        Kind::ALL.into_iter().find(|(_, kind)| *kind == options.figure).map_or("figure", |(name, _)| name);
    let name = format!("{name}.{}", format.ending());
    match options.folders.as_slice() {
        [only] => only.join(name),
        _ => PathBuf::from(name),
    }
}
