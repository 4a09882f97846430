//! `qdelay-dev validate`: our results compared with a real kernel, mahimahi and ns-3; real packets compared with
//! the simulator.

mod attempts;
mod cell;
mod kernel;
mod lab;
mod link;
mod mahimahi;
mod netem;
mod ns3;
mod options;
mod radio;
mod reference;
mod replay;
mod store;
mod verdict;

pub use options::{Validate, ValidateAgainst};
use qdelay_core::component::{Arguments, Registry};
use qdelay_core::qdisc;
use qdelay_sim::Outcome;
use qdelay_study::engine::{Named, outcomes};
use qdelay_study::results::SCHEMA_VERSION;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use qdelay_traffic::transport::{self, TransportConfig};
use serde_json::json;
use std::path::PathBuf;
use verdict::{ReferenceCell, ReferenceVerdict};

/// Judges cells by the outcomes of their runs.
type Judge = Box<dyn FnOnce(&[&Outcome]) -> Vec<ReferenceCell>>;

/// Cells of a reference that share their runs, and the function that judges their outcomes.
pub struct Row {
    cases: Vec<Named>,
    judge: Judge,
}

/// Runs the cells and prints them.
///
/// # Errors
/// A trace that cannot be used, a failed audit, or a cell outside its bounds.
pub fn run(options: &Validate) -> Result<(), Failure> {
    refuse_foreign_options(options)?;
    let folder = options.traces.clone().or_else(|| std::env::var_os("QDELAY_TRACES").map(PathBuf::from));
    let variant = options.variant.as_deref().unwrap_or("linux");
    let (title, rows) = match options.against {
        ValidateAgainst::Kernel => (
            "Linux 6.12 in virtual time: 10 Mbit/s, seconds 10 to 40 of 40 s.",
            kernel::rows(&kernel::AT_10_MBIT, variant)?,
        ),
        ValidateAgainst::Rates => (
            "Linux 6.12 in virtual time: 2 to 50 Mbit/s, 40 s, probe's delays of seconds 10 to 40.",
            kernel::rows(&kernel::AT_OTHER_RATES, variant)?,
        ),
        ValidateAgainst::Fq => (
            "Linux 6.12 in virtual time: fq_codel at 10 Mbit/s, seconds 10 to 40 of 40 s.",
            kernel::rows(&kernel::FQ, variant)?,
        ),
        ValidateAgainst::Mahimahi => (
            "mahimahi with kernel TCP, first 60 s of the trace, packets over 200 bytes.",
            mahimahi::rows(folder.as_deref(), mahimahi::Host::new(options.rtt, options.jitter))?,
        ),
        ValidateAgainst::Leo => {
            ("LeoReplayer on its example pair of files, seconds 1 to 31.", replay::leo(folder.as_deref())?)
        }
        ValidateAgainst::Cellreplay => {
            if let Some(folder) = &options.write {
                return replay::write_recording(folder);
            }
            ("CellReplay on a recording of two loads made by a formula.", replay::cellreplay()?)
        }
        ValidateAgainst::Link => return link::run(options),
        ValidateAgainst::Cell => return cell::run(options),
        ValidateAgainst::Lab => return lab::run(options),
        ValidateAgainst::Netem => return netem::run(options),
        ValidateAgainst::Ns3 => {
            ("ns-3 3.48, dumbbell of 20 flows, 100 Mbit/s, 60 s, mean of three seeds.", ns3::rows()?)
        }
        ValidateAgainst::Radio => ("The radio of ns-3 3.44: delays from PDCP to PDCP.", radio::rows()?),
    };
    let cells = judge(rows, options.jobs)?;
    let text = if options.json {
        let value = json!({"schema_version": SCHEMA_VERSION, "against": title, "cells": cells});
        format!("{value:#}\n")
    } else {
        verdict::print_table(title, &cells)
    };
    output::print(&text)?;
    match verdict::count(&cells, ReferenceVerdict::Miss) {
        0 => Ok(()),
        misses => Err(Failure::Check(format!("cells that miss their bounds: {misses}; expected none"))),
    }
}

/// Checks options that do not apply to the reference, and folders that do not exist, which would otherwise be ignored silently.
fn refuse_foreign_options(options: &Validate) -> Result<(), Failure> {
    let kernel = matches!(options.against, ValidateAgainst::Kernel | ValidateAgainst::Rates);
    let mahimahi = options.against == ValidateAgainst::Mahimahi;
    let link = options.against == ValidateAgainst::Link;
    let pair = options.against == ValidateAgainst::Leo;
    let real = link || options.against == ValidateAgainst::Cell;
    let lab = options.against == ValidateAgainst::Lab;
    let netem = options.against == ValidateAgainst::Netem;
    let measured = netem && options.measure;
    let foreign = [
        ("--variant", options.variant.is_some() && !kernel, "kernel"),
        ("--traces", options.traces.is_some() && !mahimahi && !pair && !real, "mahimahi"),
        ("--rtt", options.rtt.is_some() && !mahimahi && !link, "mahimahi"),
        ("--jitter", options.jitter.is_some() && !mahimahi, "mahimahi"),
        ("--seconds", options.seconds.is_some() && !real, "link"),
        ("--retries", options.retries.is_some() && !real, "link"),
        ("--only", !options.only.is_empty() && !real && !lab && !netem, "link"),
        ("--out", options.out.is_some() && !real && !lab && !measured, "link"),
        ("--fresh", options.fresh && !real && !lab && !measured, "link"),
        ("--draw", options.draw.is_some() && !lab, "lab"),
        ("--cells", options.cells.is_some() && !lab, "lab"),
        ("--decisions", options.decisions && !lab, "lab"),
        ("--settled", options.settled && !lab, "lab"),
        ("--image", options.image.is_some() && !lab && !measured, "lab"),
        ("--measure", options.measure && !netem, "netem"),
        ("--in-machine", options.in_machine && !netem, "netem"),
        ("--mahimahi", options.mahimahi && !link, "link"),
        ("--rrul", options.rrul && !link, "link"),
        ("--quic", options.quic && !link, "link"),
        ("--write", options.write.is_some() && options.against != ValidateAgainst::Cellreplay, "cellreplay"),
        ("--no-realtime", options.no_realtime && !real, "link"),
    ];
    if let Some((option, _, owner)) = foreign.iter().find(|(_, given, _)| *given) {
        return Err(Failure::input(
            option,
            format!("it has no effect here; use it with 'validate {owner}', or remove it"),
        ));
    }
    if options.rrul && (options.mahimahi || options.traces.is_some() || options.rtt.is_some()) {
        let message = "the scenario has neither traces nor another round trip; expected it without --mahimahi, --traces and --rtt";
        return Err(Failure::input("--rrul", message));
    }
    if options.quic && (options.mahimahi || options.rrul) {
        let message = "the flows are QUIC's on six traces; expected it without --mahimahi and --rrul";
        return Err(Failure::input("--quic", message));
    }
    if options.mahimahi && options.seconds.is_some() {
        return Err(Failure::input("--seconds", "mahimahi was run for 60 s; expected it without --mahimahi"));
    }
    match options.traces.as_deref().filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Failure::input(folder.display(), "expected a folder with recorded traces")),
        None => Ok(()),
    }
}

fn judge(rows: Vec<Row>, jobs: Option<usize>) -> Result<Vec<ReferenceCell>, Failure> {
    let cases: Vec<Named> = rows.iter().flat_map(|row| row.cases.iter().cloned()).collect();
    let outcomes = match cases.is_empty() {
        true => Vec::new(),
        false => outcomes("validate", &cases, jobs, &Bar::default())?,
    };
    let mut outcomes = outcomes.iter();
    let cells = rows.into_iter().flat_map(|row| {
        let own: Vec<&Outcome> = outcomes.by_ref().take(row.cases.len()).collect();
        (row.judge)(&own)
    });
    Ok(cells.collect())
}

/// One result from each run of a cell.
fn each(outcomes: &[&Outcome], figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
    outcomes.iter().map(|outcome| figure(outcome)).collect()
}

fn parse_qdisc(text: &str) -> Result<Arguments, Failure> {
    Arguments::parse(qdisc::COMPONENTS, text).map_err(|error| Failure::input("validate", error))
}

fn parse_transport(text: &str) -> Result<TransportConfig, Failure> {
    let registry = Registry::new().with(qdelay_quic::custom());
    registry
        .parse(transport::COMPONENTS, text)
        .and_then(|arguments| TransportConfig::build(&arguments))
        .map_err(|error| Failure::input("validate", error))
}
