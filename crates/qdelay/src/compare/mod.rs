//! `qdelay compare`: crosses links, disciplines, transports and seeds, runs every case and prints them side by side.

mod table;

use crate::cli::Compare;
use qdelay_core::Rate;
use qdelay_core::qdisc;
use qdelay_core::units::parse_rate;
use qdelay_path::Line;
use qdelay_sim::{LinkSpec, ProbeSpec, Uplink};
use qdelay_study::compare::cases::{self, Bottleneck, Common, component_list};
use qdelay_study::compare::{json, pool, refuse_repeated};
use qdelay_study::cost::Stopwatch;
use qdelay_study::links;
use qdelay_study::traces::{self as trace_files, Format};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::{Bar, Reached};
use qdelay_traffic::transport;
use std::ffi::OsStr;

/// Runs the command.
///
/// # Errors
/// Bad input, or a case whose audit failed.
pub fn run(options: &Compare) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    check_times(options)?;
    let qdiscs = component_list("--qdisc", &options.qdisc, qdisc::COMPONENTS)?;
    let transports = component_list("--transport", &options.transport, transport::COMPONENTS)?;
    let bottlenecks = bottlenecks(options)?;
    let common = common(options)?;
    let cases = cases::cross(&bottlenecks, &qdiscs, &transports, &options.seed.0, &common)?;
    let bar = Bar::default();
    bar.when_interrupted(interrupted);
    let results = pool::run("compare", cases, options.jobs, &watch, &bar)?;
    drop(bar);
    output::print(&if options.json { json::cases(&results) } else { table::cases(options, &results) })
}

/// A comparison is a table, and there is none before everything is done.
fn interrupted(reached: Option<Reached>) -> String {
    let reached =
        reached.map_or_else(String::new, |Reached { done, all, .. }| format!(", {done} of {all} cases done"));
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
    Ok(())
}

fn common(options: &Compare) -> Result<Common, Failure> {
    Ok(Common {
        uplink: uplink(options)?,
        base_rtt: options.rtt,
        jitter: options.jitter,
        flows: options.flows,
        limit: options.limit,
        probe: options.probe.then(ProbeSpec::default),
        duration: options.duration,
        warmup: options.warmup,
        min_packet_bytes: options.min_packet_bytes,
    })
}

/// What the acknowledgements cross: a line of a plain rate, a link by its name, or else a trace.
fn uplink(options: &Compare) -> Result<Option<Uplink>, Failure> {
    let text = options.uplink.as_str();
    let link = match parse_rate(text) {
        _ if text == "none" => return Ok(None),
        Ok(rate) if rate > Rate::ZERO => Line::new(rate, 0).into(),
        _ if links::is_link(text) => {
            links::parse(text).map_err(|error| Failure::input("--uplink", links::or_file(text, &error)))?
        }
        _ => trace_files::load(OsStr::new(text), &Format::parse(None)?)
            .map_err(|mut error| {
                let is_there = std::path::Path::new(text).exists();
                error.message.push_str(if is_there { "" } else { links::OR_LINK });
                error.at("--uplink")
            })?
            .link(!options.once),
    };
    Ok(Some(Uplink { link: LinkSpec(link), limit: options.uplink_limit }))
}

/// The links, in the order they were typed.
fn bottlenecks(options: &Compare) -> Result<Vec<Bottleneck>, Failure> {
    const EITHER: &str = "expected --trace FILE (such as synth-lte-driving) or --link RATE (such as 10mbit)";
    match (options.trace.is_empty(), options.link.is_empty()) {
        (true, true) => Err(Failure::input("--trace", format!("no bottleneck is given; {EITHER}"))),
        (false, false) => {
            Err(Failure::input("--link", format!("both a trace and a link are given; {EITHER}")))
        }
        (true, false) if options.once => {
            Err(Failure::input("--once", "a link without a trace never ends; expected it with --trace"))
        }
        (true, false) if options.trace_format.is_some() => {
            Err(Failure::input("--trace-format", "there is no trace; expected it with --trace"))
        }
        (true, false) => options.link.iter().map(|text| link(text)).collect(),
        (false, true) => traces(options),
    }
}

fn traces(options: &Compare) -> Result<Vec<Bottleneck>, Failure> {
    let format = Format::parse(options.trace_format.as_deref())?;
    let load =
        |name| trace_files::load(name, &format).map(|trace| trace.link(!options.once)).map_err(Failure::from);
    let typed = |name: &std::ffi::OsString| name.to_string_lossy().into_owned();
    refuse_repeated("--trace", options.trace.iter().map(typed))?;
    options.trace.iter().map(|name| Ok(Bottleneck { typed: typed(name), link: load(name)? })).collect()
}

/// A link that is no trace of a file: one of the declared ones, or a synthetic trace.
fn link(text: &str) -> Result<Bottleneck, Failure> {
    let link = links::parse(text).map_err(|error| match links::is_link(text) {
        true => Failure::input("--link", error),
        false => Failure::input("--link", format!("{error}; a trace is given by --trace")),
    })?;
    Ok(Bottleneck { typed: text.to_string(), link })
}
