//! `qdelay link`: a command behind a link, in real time.

mod junit;
mod retries;

use crate::cli::Link;
use crate::mahimahi::Translated;
use crate::native;
use qdelay_core::component::Registry;
use qdelay_emu::accuracy::{Grade, advice};
use qdelay_emu::audit::SuperPackets;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_emu::wait::WaitOptions;
use qdelay_real::link::{DrainResult, Out, Outcome, json, scenario};
use qdelay_study::engine::write_file;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::live::logs::mahimahi_files;
use qdelay_terminal::live::settings;
use qdelay_terminal::output::{self, eprintln_line};
use qdelay_terminal::{directions, verdict};
use std::path::PathBuf;

/// Runs the command. Call this function before any thread is started.
///
/// # Errors
/// Bad input, no permission for a network namespace, a failed audit, or a non-zero exit status of the command behind the link.
pub fn run(options: &Link, registry: &Registry) -> Result<(), Failure> {
    let logs = options.log.as_deref().map(mahimahi_files).map_or([None, None], |files| files.map(Some));
    start(options, registry, logs)
}

/// Runs the command behind the link of one of mahimahi's programs.
///
/// # Errors
/// Same as [`run`].
pub fn run_translated(translated: &Translated, registry: &Registry) -> Result<(), Failure> {
    let Translated { options, logs } = translated;
    // Mahimahi's programs replace existing logs.
    let options = Link { force: true, ..(**options).clone() };
    start(&options, registry, logs.clone())
}

/// Runs the link; `logs` are mahimahi's.
fn start(options: &Link, registry: &Registry, logs: [Option<PathBuf>; 2]) -> Result<(), Failure> {
    check_records(options)?;
    let (settings, plan, library) = match &options.scenario {
        Some(scenario) => {
            let registry = &native::named_by(scenario::file(scenario), options.allow_native, registry);
            let library = scenario::library(scenario, &options.traces);
            let (settings, plan) = scenario::read(scenario, &library, &options.qos, registry)?;
            (settings, PlanKind::from(plan), library)
        }
        None => {
            let registry = &native::typed(registry);
            let keys = options.path.keys(registry)?;
            let library = Library::for_scenario(None, &options.traces);
            let plan = keys.plan(options.path.seed, &library, registry)?;
            (settings::of_plan(&keys, &plan), plan.into(), library)
        }
    };
    [&options.json, &options.junit].into_iter().flatten().try_for_each(|path| output::check_place(path))?;
    if options.retries > 0 && !retries::is_attempt() {
        return retries::run(options.retries);
    }
    let link = qdelay_real::link::Link {
        plan,
        settings: settings.clone(),
        command: options.command.clone(),
        mtu: options.mtu,
        hold: options.hold as u32,
        nat: options.nat,
        offload: options.offload,
        access: options.access.0,
        wait: WaitOptions { realtime: options.realtime, spin: options.spin },
        drain: options.drain,
        live: options.live,
        control: options.control.clone(),
        registry: registry.clone(),
        traces: options.traces.clone(),
        packets: options.packets.clone(),
        logs,
        pcap: options.pcap.clone(),
        out: options.out.clone().map(|path| Out {
            path,
            commit: crate::commit(),
            traces: library.used(),
            scenario: options.scenario.clone(),
        }),
        // A later attempt replaces the records of the one before.
        force: options.force || retries::is_repetition(),
        serve: options.serve.clone(),
        forward: options.forward.clone(),
        loopback: options.loopback.clone(),
    };
    end(options, &settings, &link.run()?)
}

/// Checks that each record has one place.
fn check_records(options: &Link) -> Result<(), Failure> {
    let Some(out) = &options.out else { return Ok(()) };
    let given = [("--packets", &options.packets), ("--log", &options.log), ("--pcap", &options.pcap)];
    match given.into_iter().find(|(_, path)| path.is_some()) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!(
                "--out {} writes this record into its folder; expected one of the two",
                out.display()
            );
            Err(Failure::input(option, message))
        }
    }
}

/// Prints and writes the results. The exit status is that of the command behind the link.
fn end(options: &Link, settings: &LinkSettings, outcome: &Outcome) -> Result<(), Failure> {
    if !options.quiet {
        // Figures go to standard error, because standard output belongs to the command.
        output::eprint(&text(options, outcome));
        if let Some(out) = options.out.as_ref().filter(|out| out.join("summary.json").is_file()) {
            let folder = output::shell_word(&out.display().to_string());
            output::eprint(&format!("records in {folder}; the page: qdelay report {folder}\n"));
        }
    }
    if let Some(path) = &options.json {
        write_file(path, &json::text(settings, options.access.0, outcome))?;
    }
    if let Some(path) = &options.junit {
        write_file(path, &junit::report(options, outcome))?;
    }
    // Missing records are an error even if everything else succeeded.
    if !outcome.broken.is_empty() {
        let message = outcome.broken.join("; ");
        if outcome.status == 0 {
            return Err(Failure::Check(message));
        }
        eprintln_line(&message);
    }
    if let Some(message) = &outcome.server {
        if outcome.status == 0 {
            return Err(Failure::Check(message.clone()));
        }
        eprintln_line(message);
    }
    if let Some(unmet) = unmet(options, outcome) {
        if outcome.status == 0 {
            return retries::not_met(&unmet);
        }
        eprintln_line(&format!("the requirement is not met, which may be why the command failed: {unmet}"));
    }
    if options.strict && !outcome.facts.verdict.trustworthy && outcome.status == 0 {
        let reasons = outcome.facts.verdict.reasons.join("; ");
        return Err(Failure::Check(format!("the run cannot be trusted: {reasons}")));
    }
    match outcome.status {
        0 => Ok(()),
        status => Err(Failure::Status(status)),
    }
}

/// The sentence about a requirement that was not met.
fn unmet(options: &Link, outcome: &Outcome) -> Option<String> {
    let accuracy = outcome.facts.accuracy();
    let required = options.require.filter(|required| !accuracy.meets(*required))?;
    let bound = accuracy.bound.as_millis_f64();
    Some(match accuracy.grade {
        Grade::Incomplete => {
            format!(
                "{} packets were lost outside the link; required: none, and {required}",
                outcome.facts.lost
            )
        }
        Grade::Unmeasured => format!("no packet was released; required: {required}"),
        grade => format!("delays hold to {bound:.2} ms ({}); required: {required}", grade.name()),
    })
}

/// Table of both directions, verdict, and notes on packets lost at the end and on offload, for the terminal.
fn text(options: &Link, outcome: &Outcome) -> String {
    let DrainResult { time, cut } = outcome.drained;
    let cut = match cut {
        0 => String::new(),
        cut => format!(
            "{cut} packets were still under way {time} after the command had ended, and are lost (--drain)\n"
        ),
    };
    let table = directions::table(&outcome.directions);
    format!(
        "\n{table}\n{}{}{cut}",
        verdict::lines(&outcome.facts, "", &advice(&outcome.facts)),
        offload(options, outcome)
    )
}

/// Line about super-packets split and joined; empty without any.
fn offload(options: &Link, outcome: &Outcome) -> String {
    let SuperPackets { read, split, written, joined } = outcome.facts.super_packets;
    let Some(offload) = outcome.offload.filter(|_| read + written > 0) else { return String::new() };
    let came = options.access.0.map_or("as bursts".to_string(), |rate| format!("spaced at {rate}"));
    format!(
        "offload ({}): {split} packets came in {read} super-packets, {came}; {joined} left in {written}\n",
        offload.name()
    )
}
