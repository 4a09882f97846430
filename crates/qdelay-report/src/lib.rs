//! Reports of result folders: one HTML file that needs no network, and SVG pictures for papers.
//!
//! | module | what |
//! | --- | --- |
//! | [`load`] | reads folders and refuses incomplete results |
//! | `model` | lays several folders on one set of axes |
//! | [`together`] | the summaries of several folders as one, for tables |
//! | `document`, `series`, `by`, `slices`, `parts`, `viewers` | the data of the page, rounded and compact |
//! | `flent` | a case as a data file of flent |
//! | `html` | puts page, styles, program and data into one file |
//! | [`chart`] | every static picture: one list of paths and texts, and its formats |
//! | [`plot`] | one figure for a paper, as SVG, PDF, PGF or PNG, with its data |
//! | `svg` | the pictures of `--svg`, drawn with both |
//!
//! `docs/report.md` describes each part of the page.

mod by;
pub mod chart;
mod connections;
mod document;
mod flent;
mod html;
pub mod load;
mod model;
mod parts;
pub mod plot;
mod series;
mod short;
mod slices;
mod svg;
pub mod together;
mod viewers;

use qdelay_core::component::Registry;
use qdelay_study::InputError;
use qdelay_study::results::Series;
use std::path::{Path, PathBuf};

pub use html::head as page_head;

/// The style sheet of reports and similar pages.
pub const STYLES: &str = include_str!("../assets/report.css");

/// The options of a report. `Options::default()` is a good start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Heading of the page; the title of the study where it is not given.
    pub title: Option<String>,
    /// Most bins of time series in one file, over all cases. Above it only the first seed of each point has its series in
    /// the file, and if that is still too much, none has; the page says so. 400,000 bins are about 15 MB.
    pub series_bins: usize,
    /// Transports that are not built in, of which flows may be.
    pub registry: Registry,
}

impl Default for Options {
    fn default() -> Options {
        Options { title: None, series_bins: 400_000, registry: Registry::new() }
    }
}

/// One HTML file of the result folders, side by side where there are several: it opens without a network.
///
/// # Errors
///
/// No folder; one that is no result folder, whose cases are not complete, or that a newer version wrote; two of one name.
pub fn html(folders: &[PathBuf], options: &Options) -> Result<String, InputError> {
    let study = model::Study::from_folders(load::folders(folders)?);
    Ok(html::page(&document::Document::from_study(&study, options)))
}

/// The plots as SVG: pairs of file name and content. `plane.svg` (delay and throughput), `cdf.svg` (delays), and
/// `series-CASE.svg` (delay and rate over time) for each case that has series; the folder's name stands before the
/// case where there are several.
///
/// # Errors
///
/// Errors of [`html`].
pub fn svg(folders: &[PathBuf], options: &Options) -> Result<Vec<(String, String)>, InputError> {
    let study = model::Study::from_folders(load::folders(folders)?);
    svg::pictures(&study, options)
}

/// Delay and rate over time as SVG, of a time series without a folder.
pub fn series_svg(title: &str, series: &Series) -> String {
    svg::series_picture(title, chart::palette(0), series)
}

/// A data file of flent (`.flent.gz`) for each case that has time series: pairs of file name and content.
///
/// # Errors
///
/// Errors of [`html`]; no case has time series; or the folder is of a link.
pub fn flent(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, InputError> {
    let loaded = load::folders(&[folder.to_path_buf()])?;
    if loaded.iter().any(|folder| folder.summary.is_of_link()) {
        let message =
            "holds records of a link, which has directions and no streams; expected results of 'qdelay run'";
        return Err(InputError::new(folder.display(), message));
    }
    let files: Vec<(String, Vec<u8>)> = loaded.iter().flat_map(flent::files).collect();
    if files.is_empty() {
        let message = "no case has time series; expected a run without series = \"off\" in [run]";
        return Err(InputError::new(folder.display(), message));
    }
    Ok(files)
}
