//! Runner of the cases of a study in the laboratory, each in a machine of its own.

use crate::archive::{self, Writer};
use crate::image::Image;
use crate::job::{self, Done, Job, Report};
use crate::machine;
use crate::program::Program;
use qdelay_core::Span;
use qdelay_study::InputError;
use qdelay_study::engine::{EngineError, Progress, Recorded, Runner};
use qdelay_study::files;
use qdelay_study::results::{CaseSummary, Laboratory, text};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::{Library, file_of};
use qdelay_terminal::progress::Bar;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Arguments of this program that run a job.
const GUEST: &str = "lab guest";
/// Time limit of a run in seconds of the host: for the start, and for each second of the scenario.
const LIMIT_S: (f64, f64) = (300.0, 60.0);
/// Maximum length of a scenario in bytes: the results of a longer one would fill the machine's memory.
const SCENARIO_BYTES_MAX: usize = 16 << 20;

/// Bottleneck of the cases of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The kernel's own queue if the kernel supports the case, otherwise qdelay's path.
    #[default]
    Auto,
    /// The kernel's own queue; cases that the kernel does not support are refused.
    Linux,
    /// qdelay's path for all cases.
    Qdelay,
}

/// Clock that runs cases in the laboratory.
pub struct Lab<'a> {
    wanted: Wanted,
    image: Image,
    machine: String,
    study: &'a Study,
    overrides: &'a Overrides,
    library: &'a Library,
    program: Program,
    /// Duration of the scenarios that have been run, in ns.
    simulated: AtomicU64,
    /// Progress of the cases.
    pub bar: Bar,
}

impl<'a> Lab<'a> {
    /// Creates a laboratory of `image` for the cases of `study`, which was read with `overrides`, over the `wanted` bottleneck.
    ///
    /// # Errors
    /// The image is damaged, there is no QEMU, or this program cannot be read; the message is one line.
    pub fn new(
        image: Image,
        wanted: Wanted,
        study: &'a Study,
        overrides: &'a Overrides,
        library: &'a Library,
    ) -> Result<Lab<'a>, String> {
        // A damaged image would give other figures, so its digests are checked once per run.
        if !image.is_whole() {
            return Err(format!(
                "{}: the image is damaged, or of a version without digests; 'qdelay lab build' builds it again",
                image.folder.display()
            ));
        }
        let machine = machine::version()?;
        Ok(Lab {
            wanted,
            image,
            machine,
            study,
            overrides,
            library,
            program: Program::running(GUEST)?,
            simulated: AtomicU64::new(0),
            bar: Bar::default(),
        })
    }

    /// Duration of the scenarios that have been run so far, without the starts of their machines.
    pub fn simulated(&self) -> Span {
        Span::from_nanos(self.simulated.load(Ordering::Relaxed))
    }

    /// True if the kernel's own queue is the bottleneck of `case`.
    fn is_over_kernel(&self, case: &Case) -> Result<bool, String> {
        match self.wanted {
            Wanted::Qdelay => Ok(false),
            Wanted::Auto => Ok(qdelay_real::check_kernel(&case.scenario).is_ok()),
            Wanted::Linux => qdelay_real::check_kernel(&case.scenario).map(|()| true),
        }
    }

    fn job(&self, case: &Case, packets: bool) -> Result<Vec<u8>, InputError> {
        let place = |message: String| InputError::new(format!("case {}", case.id), message);
        let mut archive = Writer::default();
        self.program.add_to(&mut archive);
        archive.folder("job/traces");
        let mut traces = BTreeMap::new();
        for (number, (name, path)) in self.library.files().into_iter().enumerate() {
            // Only traces that the case uses are passed, because the archive takes the machine's memory.
            if !case.traces.keys().any(|trace| file_of(trace) == name) {
                continue;
            }
            let contents = fs::read(&path)
                .map_err(|error| place(format!("{}: cannot be read: {error}", path.display())))?;
            let entry = format!("job/traces/{number}");
            archive.file(&entry, &contents);
            traces.insert(name, format!("/{entry}"));
        }
        let job = Job {
            name: self.study.name.clone(),
            text: self.study.source.clone(),
            seeds: self.overrides.seeds.clone(),
            duration_ns: self.overrides.duration.map(|span| span.as_nanos()),
            starts: self.overrides.starts.map(|starts| starts.word().to_string()),
            connections: self.overrides.connections,
            index: case.index,
            id: case.id.clone(),
            over_kernel: self.is_over_kernel(case).map_err(place)?,
            packets,
            traces,
        };
        archive.file(job::FILE.trim_start_matches('/'), text(&job).as_bytes());
        Ok(archive.finish())
    }
}

impl Progress for Lab<'_> {
    fn begins(&self, study: &str, cases: u64, there: u64) {
        self.bar.begins(study, cases, there);
        // The progress of a single case is worth showing, because a case takes long.
        self.bar.show();
    }
    fn case_done(&self) {
        self.bar.case_done();
    }
    fn warns(&self, line: &str) {
        self.bar.warns(line);
    }
}

impl Runner for Lab<'_> {
    fn clock(&self) -> Option<&'static str> {
        Some("lab")
    }

    fn check(&self, case: &Case) -> Result<(), InputError> {
        let refuse = |message: String| InputError::new(format!("case {}", case.id), message);
        if self.study.source.len() > SCENARIO_BYTES_MAX {
            return Err(refuse(format!(
                "the scenario is longer than {SCENARIO_BYTES_MAX} bytes; expected a shorter one in the laboratory"
            )));
        }
        self.is_over_kernel(case).map_err(refuse)?;
        qdelay_real::check(&case.scenario, &self.image.about.controls).map_err(refuse)
    }

    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        let fault = |message: String| EngineError::Audit(format!("case {}: {message}", case.id));
        let job = self.job(case, packets.is_some())?;
        let limit_s = LIMIT_S.0 + LIMIT_S.1 * case.scenario.duration.as_secs_f64();
        let hear = |message: &str| self.bar.set_message(message);
        // The machine's seed derives from the case's seed, so that equal cases give equal runs.
        let seed = qdelay_core::Random::derive(case.scenario.seed, "machine", "seed")
            .below(u64::from(u32::MAX)) as u32;
        let result = machine::run(&self.image, &job, seed, limit_s, &hear).map_err(fault)?;
        let broken = |error: &str| fault(format!("the machine's result cannot be read: {error}"));
        let entries = archive::read(&result).map_err(broken)?;
        let entry =
            |wanted: &str| entries.iter().find(|(name, _)| *name == wanted).map(|(_, contents)| *contents);
        let report = entry(job::REPORT).ok_or_else(|| broken("it has no report"))?;
        let report = serde_json::from_slice(report).map_err(|error| broken(&error.to_string()))?;
        let Done { kernel, counters, starts_s, opened_s, begun_s, summary, audit } = match report {
            Report::Done(done) => *done,
            Report::Refused(place, message) => return Err(InputError::new(place, message).into()),
            Report::Fault(message) => return Err(fault(message)),
        };
        if let Some(path) = packets {
            let contents = entry(job::PACKETS).ok_or_else(|| broken("it has no packets"))?;
            let written = files::create(path).and_then(|mut file| file.write_all(contents));
            written.map_err(|error| files::cannot_write(path, &error))?;
        }
        self.simulated.fetch_add(case.scenario.duration.as_nanos(), Ordering::Relaxed);
        let laboratory = Laboratory {
            kernel,
            image: self.image.about.digest.clone(),
            machine: self.machine.clone(),
            bottleneck: if self.is_over_kernel(case).map_err(fault)? { "linux" } else { "qdelay" }
                .to_string(),
            counters,
            starts_s,
            opened_s,
            begun_s,
        };
        Ok(Recorded { summary: CaseSummary { labels, ..summary }, audit, laboratory: Some(laboratory) })
    }
}
