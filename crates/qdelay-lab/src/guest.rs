//! Part of the laboratory that runs in the machine: one case, with real programs over the machine's kernel, in the machine's time.

use crate::archive::Writer;
use crate::job::{self, Done, Job, Report};
use crate::machine::MARK;
use qdelay_core::component::Registry;
use qdelay_core::{Random, Span, Time};
use qdelay_real::{Bottleneck, Observed, RealTime};
use qdelay_study::engine::{EngineError, Recorded, Runner};
use qdelay_study::results::{round, text};
use qdelay_study::scenario::{Case, Overrides, Starts, Study};
use qdelay_study::traces::Library;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Path of the result device: the only port of the machine's serial device.
const RESULT: &str = "/dev/vport0p1";
/// Path of the file of recorded packets.
const PACKETS: &str = "/tmp/packets.parquet";
/// Maximum random delay of a flow's start, so that its packets meet those of other flows at different times with each seed.
const START_SPREAD: Span = Span::from_millis(100);

/// Runs the job and writes its result.
///
/// # Errors
/// This is not a machine of the laboratory, or the result cannot be written; the message is one line.
pub fn run(registry: &Registry) -> Result<(), String> {
    let text = fs::read_to_string(job::FILE).map_err(|error| {
        format!("{}: cannot be read: {error}; this command is for the machine that 'qdelay run --clock lab' starts", job::FILE)
    })?;
    let job: Job = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", job::FILE))?;
    let report = match case(&job, registry) {
        Ok(done) => Report::Done(Box::new(done)),
        Err(EngineError::Input(error)) => Report::Refused(error.place, error.message),
        Err(error) => Report::Fault(error.to_string()),
    };
    leave(&report).map_err(|error| format!("{RESULT}: cannot be written: {error}"))
}

fn case(job: &Job, registry: &Registry) -> Result<Done, EngineError> {
    let overrides = Overrides {
        seeds: job.seeds.clone(),
        duration: job.duration_ns.map(Span::from_nanos),
        starts: job.starts.as_deref().and_then(Starts::named),
        connections: job.connections,
    };
    let study = Study::parse_with(&job.name, &job.text, &overrides, registry)?;
    let library =
        job.traces.iter().fold(Library::new(), |library, (name, path)| library.with_file(name, path));
    let mut case = study.case(job.index, &library)?;
    let starts_s = spread_starts(&mut case);
    let bottleneck = if job.over_kernel { Bottleneck::Linux } else { Bottleneck::Qdelay };
    let real = RealTime::for_virtual_time().over(bottleneck).on_progress(report_progress);
    let packets = job.packets.then(|| Path::new(PACKETS));
    // The host cannot check for programs and kernel features of the machine.
    real.check(&case)?;
    let (recorded, Observed { counters, opened, begun }) =
        real.record_observed(&case, case.labels(&study), packets)?;
    let Recorded { summary, audit, .. } = recorded;
    let seconds = |times: Vec<Option<Time>>| -> Vec<Option<f64>> {
        times.iter().map(|time| time.map(|time| round(time.since(Time::ZERO).as_secs_f64()))).collect()
    };
    let (opened_s, begun_s) = (seconds(opened), seconds(begun));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string();
    Ok(Done { kernel, counters, starts_s, opened_s, begun_s, summary, audit })
}

/// Delays the start of each flow a little; returns the start times in s.
fn spread_starts(case: &mut Case) -> Vec<f64> {
    let seed = case.scenario.seed;
    let spread = |(index, start): (usize, &mut Span)| {
        let mut random = Random::derive(seed, &index.to_string(), "lab-start");
        *start += Span::from_nanos(random.below(START_SPREAD.as_nanos()));
        round(start.as_secs_f64())
    };
    case.scenario.flows.iter_mut().map(|flow| &mut flow.start).enumerate().map(spread).collect()
}

/// Prints the progress on the console.
fn report_progress(now: Time, end: Time) {
    let seconds = |time: Time| time.as_nanos() / 1_000_000_000;
    say(&format!("{} s of {} s", seconds(now), seconds(end)));
}

fn leave(report: &Report) -> io::Result<()> {
    let packets = fs::read(PACKETS).ok();
    let packets = packets.as_deref().map(|packets| (job::PACKETS, packets));
    let report = text(report);
    let files = [(job::REPORT, report.as_bytes())];
    leave_files(files.into_iter().chain(packets))
}

/// Writes these files, by name and contents, as the result of the machine.
///
/// # Errors
/// The result device cannot be written to.
pub fn leave_files<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> io::Result<()> {
    let mut archive = Writer::default();
    for (name, contents) in files {
        archive.file(name, contents);
    }
    let mut device = fs::OpenOptions::new().write(true).open(RESULT)?;
    device.write_all(&archive.finish())
}

/// Prints a message on the console, which the host shows as the progress of the machine.
pub fn say(message: &str) {
    // Without a console there is no reader, so an error is ignored.
    let _ = writeln!(io::stdout(), "{MARK}{message}");
}
