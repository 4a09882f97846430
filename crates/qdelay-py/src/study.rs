//! Studies from the options of a comparison, or from the text of a scenario.

use crate::component::{Declared, registry};
use crate::drive::{Shown, Watch, drive};
use crate::error;
use crate::results::Results;
use crate::runner::Cases;
use pyo3::prelude::*;
use qdelay::OverTime;
use qdelay_core::Span;
use qdelay_core::units::parse_span;
use qdelay_report::load::{Folder, LoadedCase};
use qdelay_study::engine::{self, EngineError, MergeOptions, Runner, Shard, Unpacked};
use qdelay_study::results::text;
use qdelay_study::scenario::{Overrides, Starts, parse_seeds};
use qdelay_study::{scenario, shipped, traces::Library};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// Study: its cases are all combinations of the points of its axes.
#[pyclass(frozen, module = "qdelay._native")]
pub struct Study {
    study: Arc<scenario::Study>,
    library: Arc<Library>,
    /// Study from the options of a comparison.
    jobs: Option<usize>,
    /// Shared objects that hold components.
    files: Vec<String>,
}

#[pymethods]
impl Study {
    /// Study of 'qdelay compare' with these options.
    #[staticmethod]
    #[pyo3(signature = (options, components, *, series=false, connections=false))]
    fn of_options(
        py: Python<'_>,
        options: Vec<OsString>,
        components: Vec<Py<Declared>>,
        series: bool,
        connections: bool,
    ) -> PyResult<Study> {
        let registry = registry(py, &components)?;
        let over_time = match (connections, series) {
            (true, _) => OverTime::Connections,
            (false, true) => OverTime::Series,
            (false, false) => OverTime::Nothing,
        };
        let comparison =
            qdelay::comparison(&options, &registry, over_time).map_err(|wrong| error::failure(py, &wrong))?;
        Ok(Study {
            study: Arc::new(comparison.study),
            library: Arc::new(comparison.library),
            jobs: comparison.jobs,
            files: comparison.files,
        })
    }

    /// Study of a scenario: its text, and its name or file for errors; the file's folder is searched for traces too.
    #[staticmethod]
    #[pyo3(signature = (name, text, components, *, seeds=None, duration=None, starts=None, connections=false, traces=vec![], allow_native=false))]
    #[allow(clippy::too_many_arguments, reason = "the options of 'qdelay run'")]
    fn of_scenario(
        py: Python<'_>,
        name: &str,
        text: &str,
        components: Vec<Py<Declared>>,
        seeds: Option<&str>,
        duration: Option<&str>,
        starts: Option<&str>,
        connections: bool,
        traces: Vec<PathBuf>,
        allow_native: bool,
    ) -> PyResult<Study> {
        let wrong = |key: &str, message: String| error::input(py, key, &message);
        let overrides = Overrides {
            seeds: seeds
                .map(parse_seeds)
                .transpose()
                .map_err(|message| wrong("seeds", message.to_string()))?,
            duration: duration.map(length).transpose().map_err(|message| wrong("duration", message))?,
            starts: starts.map(word).transpose().map_err(|message| wrong("starts", message))?,
            connections,
        };
        let registry = qdelay::native::named_by(name, allow_native, &registry(py, &components)?);
        let study = scenario::Study::parse_with(name, text, &overrides, &registry)
            .map_err(|wrong| engine::missing_component(name.as_ref(), wrong))
            .map_err(|wrong| error::input(py, &wrong.place, &wrong.message))?;
        let library = Library::for_scenario(Some(name.as_ref()), &traces);
        let files = study.component_files().keys().cloned().collect();
        Ok(Study { study: Arc::new(study), library: Arc::new(library), jobs: None, files })
    }

    /// Name of the study.
    #[getter]
    fn name(&self) -> &str {
        &self.study.name
    }
    /// Description in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.study.title
    }
    /// Axes with their labels, the seed last.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.study.axes.iter().map(|axis| (axis.name.clone(), axis.labels.clone())).collect()
    }
    /// Number of cases.
    fn __len__(&self) -> usize {
        usize::try_from(self.study.case_count()).unwrap_or(usize::MAX)
    }
    /// Labels of the case of this index, each with its axis.
    fn labels(&self, py: Python<'_>, index: u64) -> PyResult<Vec<(String, String)>> {
        let case = self.case(py, index)?;
        Ok(self.study.axes.iter().map(|axis| axis.name.clone()).zip(case.labels).collect())
    }

    /// Shared objects that hold the study's components.
    #[getter]
    fn files(&self) -> Vec<String> {
        self.files.clone()
    }

    /// Checks every case, without running any.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| self.study.check(&self.library));
        checked.map_err(|wrong| error::input(py, &wrong.place, &wrong.message))
    }

    /// Missing traces of the checked or run cases, each with the shipped trace used instead.
    fn stand_ins(&self) -> Vec<(String, String)> {
        let used = self.library.used().into_iter();
        used.filter_map(|(name, used)| used.substitute_for.map(|wanted| (wanted, name))).collect()
    }

    /// Runs all cases and keeps the results in memory.
    #[pyo3(signature = (*, jobs=None, packets=false, progress=None, terminal=false, limit_s=0.0, elsewhere=None))]
    #[allow(clippy::too_many_arguments, reason = "the options of a run")]
    fn in_memory(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        packets: bool,
        progress: Option<Py<PyAny>>,
        terminal: bool,
        limit_s: f64,
        elsewhere: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let cases = Arc::new(Cases::new(packets, elsewhere));
        let shown = Arc::new(Shown::new(terminal));
        let watch = Watch { cases: Arc::clone(&cases), shown: Arc::clone(&shown), progress, limit_s };
        let (study, library, jobs) = (Arc::clone(&self.study), Arc::clone(&self.library), jobs.or(self.jobs));
        let runner = Arc::clone(&cases);
        let kept = drive(py, &watch, move || {
            study.check(&library)?;
            engine::in_memory_by(&*runner, &study, &library, jobs, &*shown)
        })?;
        let loaded = kept.cases.into_iter().map(|(run, summary)| LoadedCase { run, summary }).collect();
        let commit = qdelay::commit();
        let folder = Folder { name: self.study.name.clone(), commit, summary: kept.summary, cases: loaded };
        Ok(Results::kept(folder, cases.take_packets()))
    }

    /// Runs the missing cases, or those of a shard (`3/8`), into a folder, as 'qdelay run' does, and returns the number of cases.
    /// `components`: parts of the Python components, as in `study.json`; `unverified`: treat parts that cannot be compared as equal.
    #[pyo3(signature = (out, *, components=BTreeMap::new(), unverified=false, shard=None, jobs=None, fresh=false, packets=false, series=false, progress=None, terminal=false, limit_s=0.0, elsewhere=None))]
    #[allow(clippy::too_many_arguments, reason = "the options of 'qdelay run'")]
    fn run_into(
        &self,
        py: Python<'_>,
        out: PathBuf,
        components: BTreeMap<String, BTreeMap<String, String>>,
        unverified: bool,
        shard: Option<&str>,
        jobs: Option<usize>,
        fresh: bool,
        packets: bool,
        series: bool,
        progress: Option<Py<PyAny>>,
        terminal: bool,
        limit_s: f64,
        elsewhere: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        let shard = shard.map(str::parse::<Shard>).transpose();
        let shard = shard.map_err(|message| error::input(py, "shard", &message))?;
        let cases = Arc::new(Cases::new(false, elsewhere));
        let shown = Arc::new(Shown::new(terminal));
        let watch = Watch { cases: Arc::clone(&cases), shown: Arc::clone(&shown), progress, limit_s };
        let study = scenario::Study::clone(&self.study).with_components(components, unverified);
        let library = Arc::clone(&self.library);
        let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        let has_record = |name: &str| study.records().iter().any(|record| record == name);
        let (packets, series) = (packets || has_record("packets"), series || has_record("series"));
        let commit = qdelay::commit();
        let options = engine::Options { out, jobs, fresh, packets, series, commit };
        drive(py, &watch, move || match shard {
            None => {
                engine::run_by(&*cases, &study, &library, &options, &*shown).map(|whole| whole.cases.len())
            }
            Some(shard) => engine::run_shard_by(&*cases, &study, &library, &options, shard, &*shown)
                .map(|part| part.len()),
        })
    }

    /// Runs one case, writes its packets into a new file if one is given, and returns its figures as JSON.
    #[pyo3(signature = (index, packets=None, *, limit_s=0.0))]
    fn run_case(
        &self,
        py: Python<'_>,
        index: u64,
        packets: Option<PathBuf>,
        limit_s: f64,
    ) -> PyResult<String> {
        let cases = Arc::new(Cases::new(false, None));
        let shown = Arc::new(Shown::new(false));
        let watch = Watch { cases: Arc::clone(&cases), shown, progress: None, limit_s };
        let (study, library) = (Arc::clone(&self.study), Arc::clone(&self.library));
        drive(py, &watch, move || {
            let case = study.case(index, &library)?;
            let recorded = cases.record(&case, case.labels(&study), packets.as_deref())?;
            Ok(text(&recorded.summary))
        })
    }
}

impl Study {
    fn case(&self, py: Python<'_>, index: u64) -> PyResult<scenario::Case> {
        self.study.case(index, &self.library).map_err(|wrong| error::input(py, &wrong.place, &wrong.message))
    }
}

/// Merges the folders of shards into one, as 'qdelay merge' does.
#[pyfunction]
pub fn merge(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    out: PathBuf,
    components: Vec<Py<Declared>>,
    allow_native: bool,
    unverified: bool,
) -> PyResult<()> {
    let scenario = folders.first().map_or_else(PathBuf::new, |folder| folder.join("scenario.toml"));
    let registry = qdelay::native::named_by(scenario, allow_native, &registry(py, &components)?);
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let options = MergeOptions { registry, jobs, is_unverified: unverified };
    let merged: Result<(), EngineError> = py.detach(|| {
        let merged = engine::merge(&folders, &out, &options, &Shown::new(false))?;
        Ok(merged.finish().map(drop)?)
    });
    merged.map_err(|fault| error::engine(py, &fault))
}

/// Packs a results folder and further files into an archive, as 'qdelay pack' does; returns the names of all packed files.
#[pyfunction]
pub fn pack(
    py: Python<'_>,
    folder: PathBuf,
    out: PathBuf,
    components: Vec<Py<Declared>>,
    traces: Vec<PathBuf>,
    allow_native: bool,
    extra: BTreeMap<String, Vec<u8>>,
) -> PyResult<Vec<String>> {
    let registry = registry(py, &components)?;
    py.detach(|| qdelay::pack::pack(&folder, &out, &traces, allow_native, &registry, extra))
        .map_err(|fault| error::failure(py, &fault))
}

/// Unpacked archive of `pack`; the files are deleted on drop.
#[pyclass(frozen, module = "qdelay._native")]
pub struct Archive(Unpacked);

#[pymethods]
impl Archive {
    /// Unpacks the file; None where it is no archive.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Option<Archive>> {
        let unpacked = py.detach(|| Unpacked::open(&path));
        unpacked
            .map(|unpacked| unpacked.map(Archive))
            .map_err(|wrong| error::input(py, &wrong.place, &wrong.message))
    }
    /// Path of the unpacked scenario file.
    #[getter]
    fn scenario(&self) -> PathBuf {
        self.0.scenario()
    }
    /// Components of Python in the archive, each with its parts.
    #[getter]
    fn components(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        self.0.study.components.clone()
    }
    /// Files of the results in a folder that differ from the packed ones; None for results of another study.
    fn differing(&self, py: Python<'_>, out: PathBuf) -> Option<Vec<String>> {
        py.detach(|| self.0.differing(&out))
    }
}

/// Name and text of a scenario: an existing file, or a shipped scenario.
#[pyfunction]
pub fn read_scenario(py: Python<'_>, scenario: OsString) -> PyResult<(String, String)> {
    shipped::read(&scenario).map_err(|wrong| error::input(py, &wrong.place, &wrong.message))
}

/// Names of the shipped scenarios.
#[pyfunction]
pub fn scenarios() -> Vec<&'static str> {
    shipped::SCENARIOS.iter().map(|(name, _)| *name).collect()
}

fn length(text: &str) -> Result<Span, String> {
    match parse_span(text) {
        Ok(span) if !span.is_zero() => Ok(span),
        Ok(_) => Err("out of range; expected a duration above 0, such as 60s".to_string()),
        Err(error) => Err(format!("'{text}': {error}")),
    }
}

fn word(text: &str) -> Result<Starts, String> {
    let words: Vec<&str> = Starts::ALL.iter().map(|(word, _)| *word).collect();
    Starts::named(text).ok_or_else(|| format!("'{text}': expected one of {}", words.join(", ")))
}
