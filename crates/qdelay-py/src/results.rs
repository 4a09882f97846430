//! Results of cases run in memory, or of folders.

use crate::error;
use crate::packets::{self, Packets};
use crate::table::Table;
use pyo3::prelude::*;
use qdelay_report::chart;
use qdelay_report::load::{self, Folder};
use qdelay_report::plot::{self, Format, Kind, Request, Size};
use qdelay_study::engine::series;
use qdelay_study::intervals::{self, Comparison, Unit};
use qdelay_study::results::{AxisFile, Difference, Interval, PairedDifference, PointFile, Summary, text};
use qdelay_study::same_runs::SEED;
use qdelay_study::tables::{self, Cells, Column, Rows};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Figures of the cases of a study.
#[pyclass(frozen, module = "qdelay._native")]
pub struct Results {
    name: String,
    summary: Summary,
    /// Figures with the curves of the cases; curves of a folder are read when needed.
    kept: Option<Folder>,
    path: Option<PathBuf>,
    packets: BTreeMap<u64, Packets>,
}

impl Results {
    /// Cases run in memory.
    pub fn kept(folder: Folder, packets: BTreeMap<u64, Packets>) -> Results {
        let (name, summary) = (folder.name.clone(), folder.summary.clone());
        Results { name, summary, kept: Some(folder), path: None, packets }
    }

    fn axis_names(&self) -> String {
        let names = self.summary.axes.iter().map(|axis| axis.name.as_str()).filter(|name| *name != SEED);
        names.collect::<Vec<_>>().join(", ")
    }

    /// Names of axes to average over, if any.
    fn averaged<'a>(&self, py: Python<'_>, over: &'a [String]) -> PyResult<Vec<&'a str>> {
        let wrong = |message: String| Err(error::input(py, "over", &message));
        for name in over {
            if name == SEED {
                return wrong("'seed': means are over the seeds anyway; expected another axis".to_string());
            }
            if !self.summary.axes.iter().any(|axis| axis.name == *name) {
                return wrong(format!("'{name}': no such axis; expected one of {}", self.axis_names()));
            }
        }
        Ok(over.iter().map(String::as_str).collect())
    }

    /// Unit of intervals over these axes, and its name: `seed`, or the last part of the axis' name. The default is the links where they
    /// were drawn.
    fn unit(&self, py: Python<'_>, word: Option<&str>, over: &[&str]) -> PyResult<(Unit, String)> {
        let place = |axis: &str| axis.rsplit('.').next().unwrap_or(axis).to_string();
        let unit = match word {
            None => Unit::for_axes(&self.summary.axes, over),
            Some(SEED) => Unit::Seed,
            Some(word) if over.len() == 1 && (word == over[0] || word == place(over[0])) => Unit::Place,
            Some(word) => {
                let known = match over {
                    [axis] => format!("seed or {}", place(axis)),
                    [] => "seed, or an axis that over= names".to_string(),
                    _ => "seed: over= names several axes".to_string(),
                };
                return Err(error::input(py, "unit", &format!("'{word}': expected {known}")));
            }
        };
        let name = over.iter().map(|axis| place(axis)).collect::<Vec<String>>().join("+");
        Ok((unit, if unit == Unit::Seed { SEED.to_string() } else { name }))
    }

    /// Axis to compare along.
    fn axis(
        &self,
        py: Python<'_>,
        name: Option<&str>,
        baseline: Option<&str>,
        over: &[&str],
    ) -> PyResult<&AxisFile> {
        let axes = &self.summary.axes;
        let wrong = |key: &str, message: String| Err(error::input(py, key, &message));
        let has = |axis: &&AxisFile| baseline.is_none_or(|label| axis.labels.iter().any(|own| own == label));
        let is_left = |axis: &&AxisFile| axis.name != SEED && !over.contains(&axis.name.as_str());
        if let Some(name) = name {
            let Some(axis) = axes.iter().filter(is_left).find(|axis| axis.name == name) else {
                return wrong(
                    "axis",
                    format!("'{name}': no axis to compare along; expected one of {}", self.axis_names()),
                );
            };
            if !has(&axis) {
                let labels = axis.labels.join(", ");
                return wrong(
                    "baseline",
                    format!(
                        "'{}': no label of {name}; expected one of {labels}",
                        baseline.unwrap_or_default()
                    ),
                );
            }
            return Ok(axis);
        }
        let compared = intervals::compared_axis(axes, over);
        let found = compared.filter(has).or_else(|| match baseline {
            Some(_) => axes.iter().filter(is_left).find(has),
            None => axes.iter().filter(is_left).find(|axis| axis.labels.len() > 1),
        });
        match (found, baseline) {
            (Some(axis), _) => Ok(axis),
            (None, None) => wrong("axis", "there is one point only; expected results of several".to_string()),
            (None, Some(label)) => {
                let axes = axes.iter().filter(is_left).filter(|axis| axis.labels.len() > 1);
                let labels: Vec<String> = axes.flat_map(|axis| axis.labels.clone()).collect();
                wrong(
                    "baseline",
                    format!("'{label}': no label of an axis; expected one of {}", labels.join(", ")),
                )
            }
        }
    }

    /// Labels of points, a column for each axis.
    fn labels<'a>(
        &self,
        over: &[&str],
        points: impl Iterator<Item = &'a BTreeMap<String, String>> + Clone,
    ) -> Vec<Column> {
        let is_told = |axis: &&AxisFile| axis.name != SEED && !over.contains(&axis.name.as_str());
        let column = |axis: &AxisFile| {
            let labels = points.clone().map(|labels| labels.get(&axis.name).cloned());
            text_column(&axis.name, "Label on the axis.", labels)
        };
        self.summary.axes.iter().filter(is_told).map(column).collect()
    }

    /// Table of differences, a row for each figure of each pair, with the columns that docs/results.md describes.
    fn rows_of(&self, differences: &[PairedDifference], over: &[&str], unit: &str) -> PyResult<Table> {
        let rows: Vec<(&PairedDifference, &String, &Difference)> = differences
            .iter()
            .flat_map(|pair| pair.measures.iter().map(move |(figure, measure)| (pair, figure, measure)))
            .collect();
        let mut columns = self.labels(over, rows.iter().map(|(pair, ..)| &pair.labels));
        columns.extend([
            text_column(
                "baseline",
                "Label that it is compared with, on the axis of that label.",
                rows.iter().map(|row| Some(row.0.baseline.clone())),
            ),
            figures(rows.iter().map(|(_, figure, _)| *figure)),
            number(
                "mean",
                "Mean difference from the baseline, in the figure's unit.",
                rows.iter().map(|row| Some(row.2.mean)),
            ),
            number(
                "half_width",
                "Half the width of its 95% confidence interval (Student's t); missing for a single pair.",
                rows.iter().map(|row| row.2.half_width),
            ),
            number(
                "p_value",
                "Probability of such a mean, or one farther from 0, if there is no difference (Student's t).",
                rows.iter().map(|row| row.2.p_value),
            ),
            Column {
                name: "significant".to_string(),
                about: "Whether it is beyond chance at 5%, by Holm's correction over all that was compared together.".to_string(),
                cells: Cells::Switch(rows.iter().map(|row| Some(row.2.significant)).collect()),
            },
            text_column(
                "unit",
                "Unit of the pairs, which the interval is over.",
                rows.iter().map(|_| Some(unit.to_string())),
            ),
            whole("pairs", "Different pairs, one for each unit.", rows.iter().map(|row| row.0.pairs)),
        ]);
        Table::from_table(&tables::Table { columns, rows: rows.len() })
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
    /// Reads the results of a folder written by 'qdelay run' or Scenario.run.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Results> {
        let read = py.detach(|| load::summaries(std::slice::from_ref(&path)));
        let summaries = read.map_err(|wrong| error::input(py, &wrong.place, &wrong.message))?;
        let (name, summary) = summaries.into_iter().next().unwrap_or_default();
        Ok(Results { name, summary, kept: None, path: Some(path), packets: BTreeMap::new() })
    }

    /// Table with a row for each case, group or flow.
    fn table(&self, rows: &str) -> PyResult<Table> {
        let rows = match rows {
            "groups" => Rows::Groups,
            "flows" => Rows::Flows,
            _ => Rows::Cases,
        };
        Table::from_table(&tables::result_table(&[("", &self.summary)], rows))
    }
    /// Table for several seeds: a row for each figure of each point, with mean and half-width of the interval; also of means over these
    /// axes.
    #[pyo3(signature = (over=vec![], unit=None))]
    fn intervals(&self, py: Python<'_>, over: Vec<String>, unit: Option<&str>) -> PyResult<Table> {
        let over = self.averaged(py, &over)?;
        let (unit, unit_name) = self.unit(py, unit, &over)?;
        let averaged = (!over.is_empty())
            .then(|| intervals::averaged(&self.summary.axes, &self.summary.cases, &over, unit));
        let points = averaged.as_ref().unwrap_or(&self.summary.points).iter();
        let rows: Vec<(&PointFile, &String, &Interval)> = points
            .flat_map(|point| point.figures.iter().map(move |(figure, interval)| (point, figure, interval)))
            .collect();
        let mut columns = self.labels(&over, rows.iter().map(|(point, ..)| &point.labels));
        columns.push(figures(rows.iter().map(|(_, figure, _)| *figure)));
        columns.extend([
            number(
                "mean",
                "Mean over the unit, in the figure's unit.",
                rows.iter().map(|row| Some(row.2.mean)),
            ),
            number(
                "half_width",
                "Half the width of its 95% confidence interval (Student's t); missing for a single run.",
                rows.iter().map(|row| row.2.half_width),
            ),
            text_column(
                "unit",
                "Unit that the interval is over.",
                rows.iter().map(|_| Some(unit_name.clone())),
            ),
            whole("seeds", "How many seeds.", rows.iter().map(|row| row.0.seeds)),
            whole(
                "distinct_runs",
                "How many different runs they gave: equal ones count once.",
                rows.iter().map(|row| row.0.distinct_runs),
            ),
        ]);
        Table::from_table(&tables::Table { columns, rows: rows.len() })
    }
    /// Differences for several seeds: points compared with the first of an axis, seed by seed, as in summary.json.
    fn differences(&self) -> PyResult<Table> {
        self.rows_of(&self.summary.differences, &[], SEED)
    }
    /// Differences of these figures, with a chosen baseline, also of means over these axes. The default axis is that of the baseline's
    /// label, or the axis that the command compares along.
    #[pyo3(signature = (figures, axis, baseline, over, unit=None))]
    fn compared(
        &self,
        py: Python<'_>,
        figures: Vec<String>,
        axis: Option<&str>,
        baseline: Option<&str>,
        over: Vec<String>,
        unit: Option<&str>,
    ) -> PyResult<Table> {
        let over = self.averaged(py, &over)?;
        let (unit, unit_name) = self.unit(py, unit, &over)?;
        let axis = self.axis(py, axis, baseline, &over)?;
        let baseline = baseline.or(axis.labels.first().map(String::as_str)).unwrap_or_default();
        let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
        let comparison = Comparison { axis: &axis.name, baseline, over: &over, unit, figures: &figures };
        let found = intervals::compared(&self.summary.axes, &self.summary.cases, &comparison);
        self.rows_of(&found, &over, &unit_name)
    }
    /// Text of summary.json, as written by 'qdelay run'.
    fn json(&self) -> String {
        text(&self.summary)
    }
    /// Name of the study or folder.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }
    /// Identifiers of the cases with their labels, in the order of the axes.
    fn cases(&self) -> Vec<(String, BTreeMap<String, String>)> {
        self.summary.cases.iter().map(|case| (case.id.clone(), case.labels.clone())).collect()
    }
    /// Axes, the seed last.
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.summary.axes.iter().map(|axis| (axis.name.clone(), axis.labels.clone())).collect()
    }
    /// Packets of the case at this place, if kept in memory.
    fn packets(&self, place: u64) -> PyResult<Option<Table>> {
        self.packets.get(&place).map(packets::table).transpose()
    }
    /// Time series of the case at this place, with the columns of series.parquet, if kept in memory.
    fn series(&self, place: usize) -> PyResult<Option<Table>> {
        let case = self.kept.as_ref().and_then(|folder| folder.cases.get(place));
        let series = case.and_then(|case| case.summary.series.as_ref());
        series.map(|series| Table::from_table(&series::table(series))).transpose()
    }
}

/// Figure of several results as 'qdelay plot' draws it; returns the file's contents.
#[pyfunction]
#[pyo3(signature = (results, kind, *, select=vec![], measure=None, flows=vec![], over=vec![], size=plot::COLUMN, format="svg", log=false, title=None))]
#[allow(clippy::too_many_arguments, reason = "the options of 'qdelay plot'")]
pub fn plot_results(
    py: Python<'_>,
    results: Vec<PyRef<'_, Results>>,
    kind: &str,
    select: Vec<String>,
    measure: Option<String>,
    flows: Vec<String>,
    over: Vec<String>,
    size: &str,
    format: &str,
    log: bool,
    title: Option<String>,
) -> PyResult<Vec<u8>> {
    let wrong = |key: &str, message: String| error::input(py, key, &message);
    let kind = named(&Kind::ALL, kind).map_err(|message| wrong("kind", message))?;
    let format = named(&Format::ALL, format).map_err(|message| wrong("format", message))?;
    let size = Size::parse(size).map_err(|message| wrong("size", message))?;
    let folders = results.iter().map(|results| results.folder(py)).collect::<PyResult<Vec<_>>>()?;
    let request = Request { kind, select, measure, flows, over, size, format, log, title };
    let drawn = py.detach(|| plot::plot_of(folders, &request));
    let drawn = drawn.map_err(|fault| error::input(py, &fault.place, &fault.message))?;
    Ok(drawn.picture)
}

/// Data of such a figure as CSV, without a limit on the number of entries.
#[pyfunction]
#[pyo3(signature = (results, kind, *, select=vec![], measure=None, flows=vec![], over=vec![]))]
pub fn plot_data(
    py: Python<'_>,
    results: Vec<PyRef<'_, Results>>,
    kind: &str,
    select: Vec<String>,
    measure: Option<String>,
    flows: Vec<String>,
    over: Vec<String>,
) -> PyResult<String> {
    let wrong = |key: &str, message: String| error::input(py, key, &message);
    let kind = named(&Kind::ALL, kind).map_err(|message| wrong("kind", message))?;
    let size = Size::parse(plot::COLUMN).map_err(|message| wrong("size", message))?;
    let folders = results.iter().map(|results| results.folder(py)).collect::<PyResult<Vec<_>>>()?;
    let request =
        Request { kind, select, measure, flows, over, size, format: Format::Svg, log: false, title: None };
    let data = py.detach(|| plot::data_of(folders, &request));
    data.map_err(|fault| error::input(py, &fault.place, &fault.message))
}

/// Path of a figure's short name into a case; a path is returned unchanged.
#[pyfunction]
pub fn figure_path(name: &str) -> String {
    plot::figure_path(name).to_string()
}

/// Axis label of a measure in a figure of this kind.
#[pyfunction]
pub fn plot_title(py: Python<'_>, kind: &str, measure: &str) -> PyResult<String> {
    let kind = named(&Kind::ALL, kind).map_err(|message| error::input(py, "kind", &message))?;
    Ok(plot::title_of(kind, measure))
}

/// Labels as shown in figures: file names without their folders.
#[pyfunction]
pub fn shown_labels(labels: Vec<String>) -> Vec<String> {
    plot::shown(&labels)
}

/// Colours of the command's figures, as #rrggbb.
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

fn text_column(name: &str, about: &str, values: impl Iterator<Item = Option<String>>) -> Column {
    Column { name: name.to_string(), about: about.to_string(), cells: Cells::Text(values.collect()) }
}

fn figures<'a>(names: impl Iterator<Item = &'a String>) -> Column {
    text_column("figure", "Path of the figure in a case.", names.cloned().map(Some))
}

fn number(name: &str, about: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    Column { name: name.to_string(), about: about.to_string(), cells: Cells::Number(values.collect()) }
}

fn whole(name: &str, about: &str, values: impl Iterator<Item = u64>) -> Column {
    let cells = Cells::Whole(values.map(|value| i64::try_from(value).ok()).collect());
    Column { name: name.to_string(), about: about.to_string(), cells }
}
