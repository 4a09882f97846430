//! `qdelay compare`: crosses links, disciplines, transports and seeds, runs every case and prints them side by side.

mod json;
mod table;

use crate::cli::{Cli, Command, Compare};
use crate::{native, usage};
use clap::Parser;
use qdelay_core::Rate;
use qdelay_core::component::{Arguments, Registry};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::units::parse_rate;
use qdelay_path::AnyLink;
use qdelay_study::InputError;
use qdelay_study::cost::{Stopwatch, process_cpu_seconds};
use qdelay_study::engine;
use qdelay_study::links;
use qdelay_study::lists::{component_list, refuse_repeated};
use qdelay_study::scenario::{Back, Crossed, START_WITHIN, Study};
use qdelay_study::traces::{self as trace_files, Format, Library, file_of};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::{Bar, StudyProgress};
use qdelay_traffic::transport::{self, TransportConfig};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Largest number of cases of one command.
const CASES_MAX: u64 = 100_000;

/// Runs the command.
///
/// # Errors
/// Bad input, or a case whose audit failed.
pub fn run(options: &Compare, registry: &Registry) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let (study, library) = study(options, registry, OverTime::Nothing)?;
    let bar = Bar::default();
    bar.when_interrupted(interrupted);
    let mut cases = engine::in_memory(&study, &library, options.jobs, &bar)?;
    drop(bar);
    if let [only] = cases.as_mut_slice() {
        // Wall time from the start of the process, which is the time that the user waits.
        (only.cpu_seconds, only.wall_seconds) = (process_cpu_seconds(), watch.seconds());
    }
    output::print(&if options.json {
        json::cases(&study, &cases)
    } else {
        table::cases(options, &study, &cases)
    })?;
    if options.json { Ok(()) } else { output::print_next(next(options)) }
}

/// Step after a comparison: intervals over seeds, and then a study that keeps its results.
fn next(options: &Compare) -> &'static str {
    match options.seed.0.len() {
        1 => "the same command with --seed 1..10, for intervals over seeds",
        _ => "qdelay run demo/first, a study that keeps its results and writes a report",
    }
}

/// Time series in the results of a comparison. Each level includes the levels before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverTime {
    /// No series.
    Nothing,
    /// Series of the bottleneck and of each entry of `[[flow]]`.
    Series,
    /// Series of each connection too: window, round-trip time and more.
    Connections,
}

/// A comparison whose results stay in memory.
#[derive(Debug)]
pub struct Comparison {
    /// Cases of the comparison.
    pub study: Study,
    /// Links and traces of the cases.
    pub library: Library,
    /// Number of cases run at once; one for each core where `None`.
    pub jobs: Option<usize>,
    /// Shared objects that hold components.
    pub files: Vec<String>,
}

/// Comparison that `qdelay compare` would run with these arguments (`--link`, `10mbit` and so on), for programs that need the results
/// instead of the tables.
///
/// # Errors
/// Bad input; the error names the option.
pub fn comparison(
    arguments: &[OsString],
    registry: &Registry,
    over_time: OverTime,
) -> Result<Comparison, Failure> {
    let typed = ["qdelay", "compare"].map(OsString::from).into_iter().chain(arguments.iter().cloned());
    let parsed = Cli::try_parse_from(typed).map_err(|error| usage::failure(&error))?;
    let Some(Command::Compare(options)) = parsed.command else {
        return Err(Failure::input(
            "compare",
            "another command was read; expected options of 'qdelay compare' alone",
        ));
    };
    let registry = native::typed(registry);
    let (study, library) = study(&options, &registry, over_time)?;
    let files = registry.opened().into_iter().map(|(name, _)| name).collect();
    Ok(Comparison { study, library, jobs: options.jobs, files })
}

fn study(options: &Compare, registry: &Registry, over_time: OverTime) -> Result<(Study, Library), Failure> {
    check_times(options)?;
    let (study, library) = crossed(options, registry, over_time)?.study()?;
    if study.case_count() > CASES_MAX {
        let message = format!("{} cases are too many; expected at most {CASES_MAX}", study.case_count());
        return Err(Failure::input("--seed", message));
    }
    Ok((study, library))
}

/// Message after an interrupt. A comparison prints its tables only at the end, so an interrupted one keeps nothing.
fn interrupted(reached: Option<StudyProgress>) -> String {
    let reached = reached
        .map_or_else(String::new, |StudyProgress { done, all, .. }| format!(", {done} of {all} cases done"));
    format!(
        "interrupted{reached}; nothing is kept, and the same command begins anew ('qdelay run' keeps cases)"
    )
}

fn check_times(options: &Compare) -> Result<(), Failure> {
    if options.warmup >= options.duration {
        let message = format!(
            "{} is not shorter than the duration of {}; expected a warm-up that leaves time to measure",
            options.warmup, options.duration
        );
        return Err(Failure::input("--warmup", message));
    }
    if options.flows > 1 && options.duration <= START_WITHIN {
        let message = format!(
            "{} is not longer than the {START_WITHIN} within which flows start; expected a longer run",
            options.duration
        );
        return Err(Failure::input("--duration", message));
    }
    Ok(())
}

/// Study of the options' cases. Seeds are checked for repetitions here, because two equal seeds would count as two runs in the interval.
fn crossed(options: &Compare, registry: &Registry, over_time: OverTime) -> Result<Crossed, Failure> {
    let qdiscs = component_list("--qdisc", &options.qdisc, qdisc::COMPONENTS, registry)?;
    check_limit(&qdiscs, options.limit)?;
    refuse_repeated("--seed", options.seed.0.iter().map(u64::to_string))?;
    Ok(Crossed {
        name: "compare".to_string(),
        bottlenecks: bottlenecks(options)?,
        are_traces: !options.trace.is_empty(),
        repeat: !options.no_repeat,
        qdiscs,
        transports: transports(options, registry)?,
        seeds: options.seed.0.clone(),
        starts: options.starts,
        uplink: (options.uplink.clone(), uplink(options)?),
        uplink_limit: options.uplink_limit,
        rtt: options.rtt.clone(),
        jitter: options.jitter,
        flows: options.flows as u64,
        limit: options.limit,
        probe: options.probe,
        series: over_time >= OverTime::Series,
        connections: over_time == OverTime::Connections,
        duration: options.duration,
        warmup: options.warmup,
        min_packet_bytes: options.min_packet_bytes,
    })
}

/// Builds each discipline once, with the bottleneck's limit unless it has its own, so that errors appear before any case runs.
fn check_limit(qdiscs: &[Arguments], limit: Option<u64>) -> Result<(), Failure> {
    for qdisc in qdiscs {
        let mut qdisc = qdisc.clone();
        if let Some(limit) = limit {
            qdisc.default_to(&qdisc::LIMIT, limit);
        }
        AnyQdisc::build(&qdisc).map_err(|error| Failure::input("--qdisc", error))?;
    }
    Ok(())
}

fn transports(options: &Compare, registry: &Registry) -> Result<Vec<(String, TransportConfig)>, Failure> {
    let build = |arguments: &Arguments| {
        let config =
            TransportConfig::build(arguments).map_err(|error| Failure::input("--transport", error))?;
        Ok((arguments.typed().to_string(), config))
    };
    component_list("--transport", &options.transport, transport::COMPONENTS, registry)?
        .iter()
        .map(build)
        .collect()
}

/// Link of the acknowledgements: a plain rate, a declared link, or a trace.
fn uplink(options: &Compare) -> Result<Back, Failure> {
    let text = options.uplink.as_str();
    Ok(match parse_rate(text) {
        _ if text == "none" => Back::None,
        Ok(rate) if rate > Rate::ZERO => Back::Rate(rate),
        _ if links::is_link(text) => {
            let link = links::parse(text);
            Back::Link(link.map_err(|error| Failure::input("--uplink", links::or_file(text, &error)))?)
        }
        _ => {
            let link = trace(options, OsStr::new(text), None).map_err(|mut error| {
                let is_there = Path::new(text).exists();
                error.message.push_str(if is_there { "" } else { links::OR_LINK });
                error.within_option("--uplink")
            })?;
            Back::Trace(link)
        }
    })
}

/// Links in the order of the options.
fn bottlenecks(options: &Compare) -> Result<Vec<(String, AnyLink)>, Failure> {
    const EITHER: &str = "expected --trace FILE (such as synth-lte-driving) or --link RATE (such as 10mbit)";
    match (options.trace.is_empty(), options.link.is_empty()) {
        (true, true) => Err(Failure::input("--trace", format!("no bottleneck is given; {EITHER}"))),
        (false, false) => {
            Err(Failure::input("--link", format!("both a trace and a link are given; {EITHER}")))
        }
        (true, false) if options.no_repeat => {
            Err(Failure::input("--no-repeat", "a link without a trace never ends; expected it with --trace"))
        }
        (true, false) if options.trace_format.is_some() => {
            Err(Failure::input("--trace-format", "applies to traces only; expected it with --trace"))
        }
        (true, false) => options.link.iter().map(|text| link(text)).collect(),
        (false, true) => traces(options),
    }
}

fn traces(options: &Compare) -> Result<Vec<(String, AnyLink)>, Failure> {
    // This check also applies where no trace is found.
    Format::parse(options.trace_format.as_deref())?;
    let load = |name| trace(options, name, options.trace_format.as_deref()).map_err(Failure::from);
    let typed = |name: &std::ffi::OsString| name.to_string_lossy().into_owned();
    refuse_repeated("--trace", options.trace.iter().map(typed))?;
    options.trace.iter().map(|name| Ok((typed(name), load(name)?))).collect()
}

/// Link over the trace `name`: a file, a shipped trace, or a trace in a folder of --traces.
fn trace(options: &Compare, name: &OsStr, format: Option<&str>) -> Result<AnyLink, InputError> {
    let in_folder = name.to_str().filter(|name| !name.is_empty() && !Path::new(file_of(name)).exists());
    let library = Library::for_scenario(None, &options.traces);
    if let Some(text) = in_folder.filter(|text| library.has_trace(text)) {
        let found = library.trace(text, format, !options.no_repeat, None);
        return found.map(|found| found.link).map_err(|error| InputError::new(text, error));
    }
    trace_files::load_link(name, &Format::parse(format)?, !options.no_repeat, &library)
}

/// Link without a trace file: a declared link, or a synthetic trace.
fn link(text: &str) -> Result<(String, AnyLink), Failure> {
    let link = links::parse(text).map_err(|error| match links::is_link(text) {
        true => Failure::input("--link", error),
        false => Failure::input("--link", format!("{error}; expected a trace as --trace")),
    })?;
    Ok((text.to_string(), link))
}
