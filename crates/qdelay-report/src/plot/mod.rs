//! Figures for papers: one plot at the size of print, with the data beside it.
//!
//! | module | what |
//! | --- | --- |
//! | `chosen` | the selected cases, by the axes on which they differ |
//! | `connections` | measures of connections over time, by flow |
//! | `measure` | figures, distributions and lines over time, with intervals over seeds |
//! | `layout` | the look of entries; a figure without its data |
//! | `lines`, `marks` | the kinds of figures, drawn with `chart` |
//! | `data`, `table` | the data, as CSV |
//!
//! `docs/plot.md` describes them. Equal folders and options make equal bytes.

mod chosen;
mod connections;
mod data;
mod layout;
mod lines;
mod marks;
mod measure;
mod table;

pub use chosen::shown;
pub use measure::{figure_path, title_of};

use super::chart::{self, Medium, Sheet};
use super::load;
use super::model::Study;
use chosen::Chosen;
use qdelay_study::InputError;
use qdelay_study::coinciding;
use qdelay_study::results::CaseSummary;
use std::path::PathBuf;

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The share of packets over their delay.
    Cdf,
    /// Throughput over a measure of delay, a mark for each.
    Plane,
    /// A measure over time.
    Time,
    /// A measure as bars.
    Bars,
    /// Quartiles of delays.
    Box,
}

impl Kind {
    /// All of them with their names.
    pub const ALL: [(&'static str, Kind); 5] = [
        ("cdf", Kind::Cdf),
        ("plane", Kind::Plane),
        ("time", Kind::Time),
        ("bars", Kind::Bars),
        ("box", Kind::Box),
    ];

    /// The default measure.
    fn measure(self) -> &'static str {
        match self {
            Kind::Cdf | Kind::Box => "queue",
            Kind::Plane | Kind::Bars => "p99",
            Kind::Time => "delay",
        }
    }
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text as outlines.
    Svg,
    /// With the font's used part in it.
    Pdf,
    /// Text for LaTeX.
    Pgf,
    /// 300 pixels to the inch.
    Png,
}

impl Format {
    /// All of them with their names, which are the endings of their files.
    pub const ALL: [(&'static str, Format); 4] =
        [("svg", Format::Svg), ("pdf", Format::Pdf), ("pgf", Format::Pgf), ("png", Format::Png)];

    /// The format whose files have this ending.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        Format::ALL.into_iter().find(|(_, format)| *format == self).map_or("svg", |(name, _)| name)
    }
}

/// The size of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    width_pt: f64,
    height_pt: f64,
}

/// The width of a column in a paper with two, and a usual height.
pub const COLUMN: &str = "3.5x2.2in";
/// Groups of labels with equal results that are named.
const COINCIDING: usize = 3;
/// Least and largest width and height, inches.
const INCHES: (f64, f64) = (1.0, 40.0);

impl Size {
    /// Reads `3.5x2.2in`, `89x56mm`, `8.9x5.6cm` or `252x158pt`.
    ///
    /// # Errors
    /// Anything else; less than an inch or more than 40.
    pub fn parse(text: &str) -> Result<Size, String> {
        let expected = "expected WIDTHxHEIGHT with a unit: in, cm, mm or pt, such as 3.5x2.2in";
        let units = [("in", 72.0), ("cm", 72.0 / 2.54), ("mm", 72.0 / 25.4), ("pt", 1.0)];
        let (rest, points) = units
            .into_iter()
            .find_map(|(unit, points)| Some((text.strip_suffix(unit)?, points)))
            .ok_or_else(|| format!("no size; {expected}"))?;
        let (width, height) = rest.split_once('x').ok_or_else(|| format!("no size; {expected}"))?;
        let length = |text: &str| text.trim().parse::<f64>().ok().filter(|length| length.is_finite());
        let (Some(width), Some(height)) = (length(width), length(height)) else {
            return Err(format!("no size; {expected}"));
        };
        let (width_pt, height_pt) = (width * points, height * points);
        let allowed = INCHES.0 * 72.0 - 1e-9..=INCHES.1 * 72.0 + 1e-9;
        if allowed.contains(&width_pt) && allowed.contains(&height_pt) {
            Ok(Size { width_pt, height_pt })
        } else {
            Err(format!("out of range; expected {} to {} in each way", INCHES.0, INCHES.1) + " (inches)")
        }
    }

    /// A size in points.
    pub(crate) const fn in_points(width_pt: f64, height_pt: f64) -> Size {
        Size { width_pt, height_pt }
    }

    pub(crate) fn points(self) -> (f64, f64) {
        (self.width_pt, self.height_pt)
    }
}

/// A request for a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The kind.
    pub kind: Kind,
    /// `axis=label,label`; several of one axis add up.
    pub select: Vec<String>,
    /// A short name or a path into a case, a distribution or what is there over time; the kind's own where it is not given.
    pub measure: Option<String>,
    /// Entries of `[[flow]]`; none for all flows together, and for all connections where the measure is one of connections: of these single
    /// flows may be named too.
    pub flows: Vec<String>,
    /// Axes that are averaged over within each seed; intervals are over the seeds.
    pub over: Vec<String>,
    /// The size.
    pub size: Size,
    /// The format.
    pub format: Format,
    /// Whether the axis of the measure is logarithmic.
    pub log: bool,
    /// A heading; none where it is not given: papers have captions.
    pub title: Option<String>,
}

impl Request {
    fn title(&self) -> &str {
        self.title.as_deref().unwrap_or_default()
    }
    fn measure(&self) -> &str {
        self.measure.as_deref().unwrap_or(self.kind.measure())
    }
    /// Whether each connection has a line of its own.
    fn is_of_connections(&self) -> bool {
        self.kind == Kind::Time && connections::title(self.measure()).is_some()
    }
}

/// A figure and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The file.
    pub picture: Vec<u8>,
    /// The data as CSV.
    pub csv: String,
    /// The number of lines, marks, bars or boxes.
    pub entries: usize,
    /// The number of those that lack the measure and are left out.
    pub left_out: usize,
    /// The most runs that a mean is of.
    pub runs: usize,
    /// Labels under which all figures are equal, so that one hides the other.
    pub coinciding: Vec<String>,
    /// Traffic of links, which no run repeats, is among the figures.
    pub has_links: bool,
}

/// A sheet with its data on it.
struct Drawn {
    sheet: Sheet,
    left_out: usize,
}

/// A figure and the medium that it is drawn for.
type Wanted<'a> = (&'a Request, Medium);

/// Draws a figure of result folders.
///
/// # Errors
/// Errors of [`html`](super::html); a selection, flows or a measure that are not there; a size without room; letters that the font lacks.
pub fn plot(folders: &[PathBuf], request: &Request) -> Result<Plot, InputError> {
    plot_of(load::folders(folders)?, request)
}

/// Draws a figure of results that are loaded already.
///
/// # Errors
/// Errors of [`plot`].
pub fn plot_of(folders: Vec<load::Folder>, request: &Request) -> Result<Plot, InputError> {
    let study = Study::from_folders(folders);
    if study.is_of_links() && request.flows.is_empty() {
        // All flows together would be those at the bottleneck, which are those of one direction.
        let flows = study.folders.iter().flat_map(|folder| &folder.summary.cases);
        let mut flows: Vec<String> = flows.flat_map(|case| case.groups.keys().cloned()).collect();
        flows.sort_unstable();
        flows.dedup();
        // A direction lacks some measures of its queue and its link.
        if let Ok(plot) = drawn(&study, &Request { flows, ..request.clone() }) {
            return Ok(plot);
        }
    }
    drawn(&study, request)
}

fn drawn(study: &Study, request: &Request) -> Result<Plot, InputError> {
    let chosen = Chosen::select(study, request)?;
    let measure = request.measure();
    let Drawn { sheet, left_out } = draw(&chosen, (request, Medium::Print))?;
    if request.format != Format::Pgf {
        sheet.check_letters()?;
    }
    let picture = match request.format {
        Format::Svg => chart::svg(&sheet, "").into_bytes(),
        Format::Pdf => chart::pdf(&sheet)?,
        Format::Png => chart::png(&sheet)?,
        Format::Pgf => chart::pgf(&sheet),
    };
    let runs = chosen.entries.iter().map(|entry| entry.runs.len()).max().unwrap_or_default();
    let csv = data::csv(&chosen, request.kind, measure)?;
    let cases: Vec<&CaseSummary> = chosen
        .entries
        .iter()
        .flat_map(|entry| &entry.runs)
        .flat_map(|run| run.cases.iter().copied())
        .collect();
    let coinciding = coinciding::lines(&coinciding::coinciding(&study.axes, &cases), COINCIDING, " ");
    let has_links = study.folders.iter().any(|folder| folder.summary.is_of_link());
    Ok(Plot { picture, csv, entries: chosen.entries.len() - left_out, left_out, runs, coinciding, has_links })
}

/// The figure of a study for the screen, however many entries it has: the SVG of a report.
///
/// # Errors
/// The errors of [`plot_of`] without those of a lack of room.
pub(crate) fn draw_for_screen(study: &Study, request: &Request) -> Result<Sheet, InputError> {
    let chosen = Chosen::select(study, request)?;
    Ok(draw(&chosen, (request, Medium::File))?.sheet)
}

fn draw(chosen: &Chosen, wanted: Wanted) -> Result<Drawn, InputError> {
    let draw = match wanted.0.kind {
        Kind::Cdf => lines::cdf,
        Kind::Time => lines::time,
        Kind::Plane => marks::plane,
        Kind::Bars => marks::bars,
        Kind::Box => marks::boxes,
    };
    draw(chosen, wanted.0.measure(), wanted)
}

/// The data of a figure alone, however many lines, marks, bars or boxes they are; size, format and title are not looked at.
///
/// # Errors
/// The errors of [`plot_of`] without those of a lack of room.
pub fn data_of(folders: Vec<load::Folder>, request: &Request) -> Result<String, InputError> {
    let study = Study::from_folders(folders);
    let chosen = Chosen::select(&study, request)?;
    data::csv(&chosen, request.kind, request.measure())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let points = |text: &str| Size::parse(text).map(Size::points);
        let is_near = |text: &str, width: f64, height: f64| {
            let (x, y) = points(text).unwrap();
            assert!((x - width).abs() < 1e-9 && (y - height).abs() < 1e-9, "{text}: {x} x {y}");
        };
        is_near("3.5x2.2in", 252.0, 158.4);
        is_near("254x127mm", 720.0, 360.0);
        is_near("25.4x2.54cm", 720.0, 72.0);
        is_near("100x80.5pt", 100.0, 80.5);
        for wrong in ["", "3.5in", "3.5x2.2", "axbin", "NaNx2in", "3 by 2in"] {
            assert!(points(wrong).unwrap_err().contains("such as 3.5x2.2in"), "{wrong}");
        }
        for wrong in ["0x2in", "3x-2in", "3x41in", "1e9x1e9mm"] {
            assert!(points(wrong).unwrap_err().contains("out of range"), "{wrong}");
        }
    }
}
