//! Results: of cases that were run in memory, or of folders.

use crate::error;
use crate::packets::{self, Packets};
use crate::table::Table;
use pyo3::prelude::*;
use qdelay_report::chart;
use qdelay_report::load::{self, Folder};
use qdelay_report::plot::{self, Format, Kind, Request, Size};
use qdelay_study::results::{Interval, Summary, text};
use qdelay_study::tables::{self, Cells, Column, Rows};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The figures of the cases of a study.
#[pyclass(frozen, module = "qdelay._native")]
pub struct Results {
    name: String,
    summary: Summary,
    /// With the curves of the cases; a folder's are read where they are needed.
    kept: Option<Folder>,
    path: Option<PathBuf>,
    packets: BTreeMap<u64, Packets>,
}

impl Results {
    /// Of cases that were run in memory.
    pub fn kept(folder: Folder, packets: BTreeMap<u64, Packets>) -> Results {
        let (name, summary) = (folder.name.clone(), folder.summary.clone());
        Results { name, summary, kept: Some(folder), path: None, packets }
    }

    fn folder(&self, py: Python<'_>) -> PyResult<Folder> {
        if let Some(folder) = &self.kept {
            return Ok(folder.clone());
        }
        let paths: Vec<PathBuf> = self.path.iter().cloned().collect();
        let folders = py
            .detach(|| load::folders(&paths))
            .map_err(|wrong| error::input(py, &wrong.place, &wrong.message))?;
        folders.into_iter().next().ok_or_else(|| error::input(py, &self.name, "no results"))
    }
}

#[pymethods]
impl Results {
    /// The results of a folder that 'qdelay run' or Scenario.run has written.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Results> {
        let read = py.detach(|| load::summaries(std::slice::from_ref(&path)));
        let summaries = read.map_err(|wrong| error::input(py, &wrong.place, &wrong.message))?;
        let (name, summary) = summaries.into_iter().next().unwrap_or_default();
        Ok(Results { name, summary, kept: None, path: Some(path), packets: BTreeMap::new() })
    }

    /// A row for each case, group or flow.
    fn table(&self, rows: &str) -> PyResult<Table> {
        let rows = match rows {
            "groups" => Rows::Groups,
            "flows" => Rows::Flows,
            _ => Rows::Cases,
        };
        Table::of(&tables::of(&[("", &self.summary)], rows))
    }
    /// With several seeds: a row for each figure of each point, with its mean and half of its interval.
    fn intervals(&self) -> PyResult<Table> {
        let mut rows = Columns::default();
        for point in &self.summary.points {
            for (figure, interval) in &point.figures {
                for axis in self.summary.axes.iter().filter(|axis| axis.name != "seed") {
                    rows.text(&axis.name, "Label on the axis.", point.labels.get(&axis.name).cloned());
                }
                rows.text("figure", "Path of the figure in a case.", Some(figure.clone()));
                rows.interval(interval);
                rows.whole("seeds", "How many seeds.", point.seeds);
                rows.whole(
                    "distinct_runs",
                    "How many different runs they gave: equal ones count once.",
                    point.distinct_runs,
                );
            }
        }
        Table::of(&rows.finish())
    }
    /// With several seeds: points compared with the first of an axis, seed by seed.
    fn differences(&self) -> String {
        text(&self.summary.differences)
    }
    /// The text of summary.json, as 'qdelay run' writes it.
    fn json(&self) -> String {
        text(&self.summary)
    }
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }
    /// The ids of the cases with their labels, in the order of the axes.
    fn cases(&self) -> Vec<(String, BTreeMap<String, String>)> {
        self.summary.cases.iter().map(|case| (case.id.clone(), case.labels.clone())).collect()
    }
    /// The axes, the seed last.
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.summary.axes.iter().map(|axis| (axis.name.clone(), axis.labels.clone())).collect()
    }
    /// The packets of the case at this place, if they were kept in memory.
    fn packets(&self, place: u64) -> PyResult<Option<Table>> {
        self.packets.get(&place).map(packets::table).transpose()
    }
}

/// A figure of several results as 'qdelay plot' draws it: the file's contents, and the data as CSV.
#[pyfunction]
#[pyo3(signature = (results, kind, *, select=vec![], measure=None, flows=vec![], size=plot::COLUMN, format="svg", log=false, title=None))]
#[allow(clippy::too_many_arguments, reason = "the options of 'qdelay plot'")]
pub fn plot_results(
    py: Python<'_>,
    results: Vec<PyRef<'_, Results>>,
    kind: &str,
    select: Vec<String>,
    measure: Option<String>,
    flows: Vec<String>,
    size: &str,
    format: &str,
    log: bool,
    title: Option<String>,
) -> PyResult<(Vec<u8>, String)> {
    let wrong = |key: &str, message: String| error::input(py, key, &message);
    let kind = named(&Kind::ALL, kind).map_err(|message| wrong("figure", message))?;
    let format = named(&Format::ALL, format).map_err(|message| wrong("format", message))?;
    let size = Size::parse(size).map_err(|message| wrong("size", message))?;
    let folders = results.iter().map(|results| results.folder(py)).collect::<PyResult<Vec<_>>>()?;
    let request = Request { kind, select, measure, flows, size, format, log, title };
    let drawn = py.detach(|| plot::plot_of(folders, &request));
    let drawn = drawn.map_err(|fault| error::input(py, &fault.place, &fault.message))?;
    Ok((drawn.picture, drawn.csv))
}

/// The colours of the command's figures, as #rrggbb.
#[pyfunction]
pub fn palette() -> Vec<&'static str> {
    (0..8).map(chart::print_colour).collect()
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T, String> {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let found = all.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| format!("'{name}' is not known; expected one of {}", names.join(", ")))
}

/// Columns that grow by a value each.
#[derive(Default)]
struct Columns {
    columns: Vec<Column>,
}

impl Columns {
    fn cells(&mut self, name: &str, about: &str, empty: Cells) -> &mut Cells {
        let place = self.columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
            self.columns.push(Column { name: name.to_string(), about: about.to_string(), cells: empty });
            self.columns.len() - 1
        });
        &mut self.columns[place].cells
    }
    fn text(&mut self, name: &str, about: &str, value: Option<String>) {
        if let Cells::Text(cells) = self.cells(name, about, Cells::Text(Vec::new())) {
            cells.push(value);
        }
    }
    fn whole(&mut self, name: &str, about: &str, value: u64) {
        if let Cells::Whole(cells) = self.cells(name, about, Cells::Whole(Vec::new())) {
            cells.push(i64::try_from(value).ok());
        }
    }
    fn number(&mut self, name: &str, about: &str, value: Option<f64>) {
        if let Cells::Number(cells) = self.cells(name, about, Cells::Number(Vec::new())) {
            cells.push(value);
        }
    }
    fn interval(&mut self, interval: &Interval) {
        self.number("mean", "Mean over the seeds, in the figure's unit.", Some(interval.mean));
        let half = "Half the width of its 95% confidence interval (Student's t); missing for a single run.";
        self.number("half_width", half, interval.half_width);
    }
    fn finish(self) -> tables::Table {
        let rows = self.columns.first().map_or(0, |column| match &column.cells {
            Cells::Text(cells) => cells.len(),
            Cells::Switch(cells) => cells.len(),
            Cells::Whole(cells) => cells.len(),
            Cells::Number(cells) => cells.len(),
        });
        tables::Table { columns: self.columns, rows }
    }
}
