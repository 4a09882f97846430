//! The command: options in, a proxy while a program or the user wants it, figures and verdict out.

use crate::engine::Settings;
use crate::mapping::Mapping;
use crate::options::ProxyOptions;
use crate::program::{self, Program};
use crate::serve::{Outcome, Proxy, ProxyError};
use qdelay_core::component::Registry;
use qdelay_emu::accuracy::late_share;
use qdelay_emu::audit::AuditFacts;
use qdelay_study::lists::component;
use qdelay_study::results::{Entity, SCHEMA_VERSION, pretty, round};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::live::adjust::{Adjuster, Files};
use qdelay_terminal::live::control::protocol;
use qdelay_terminal::live::settings;
use qdelay_terminal::output::{check_place, eprint, eprintln_line, stop_when_interrupted};
use qdelay_terminal::{directions, verdict};
use qdelay_traffic::transport::TransportConfig;
use serde_json::json;
use std::path::Path;

/// Most bytes of datagrams on the path.
const DATAGRAM_BYTES: u64 = 64 << 20;

/// Limits of a proxy, for the end of its results.
const LIMITS: &str = "a proxy ends TCP: programs see its losses as the delays of its own TCP, and connect at once (docs/proxy.md)";

/// Runs the proxy; the components of `registry` are known beside the built-in ones.
///
/// # Errors
/// Bad input, a place that cannot be listened on, a failed audit, or a non-zero exit status of the command.
pub fn run(options: &ProxyOptions, registry: &Registry) -> Result<(), Failure> {
    let mappings =
        Mapping::pairs(&options.listen, &options.to).map_err(|error| match error.split_once(": ") {
            Some(("--to", message)) => Failure::input("--to", message),
            _ => Failure::input("--listen", error),
        })?;
    let settings = engine_settings(options, registry)?;
    let keys = options.path.keys(registry)?;
    let library = Library::for_scenario(None, &options.traces);
    let plan = keys.plan(options.path.seed, &library, registry)?;
    options.json.as_deref().map_or(Ok(()), check_place)?;
    let places = options.control.open(options.control.listen()?)?;
    // Before any other thread, so that all of them leave the signal to the handler.
    let stop = stop_when_interrupted();
    let report = Box::new(eprintln_line);
    let shown = options.control.given().map(|_| settings::of_plan(&keys, &plan));
    let (mut proxy, control) =
        Proxy::new(plan, settings, mappings.clone(), shown, report).map_err(failure)?;
    let adjuster = Adjuster::new(control.clone(), registry.clone(), Files::OfUser(options.traces.clone()));
    let command = Program::command(&options.command, &places);
    let servers = places.serve(&control, &adjuster).map_err(|error| Failure::input("--control", error))?;
    let addresses = proxy.addresses().map_err(|error| failure(error.into()))?;
    if !options.quiet {
        for (mapping, address) in mappings.iter().zip(&addresses) {
            let (transport, target) = (mapping.listen.transport.name(), &mapping.target.name);
            eprintln_line(&format!("{transport}:{address} -> {target}"));
        }
    }
    let program = match command.map(Program::start).transpose()? {
        Some(program) => Some(program.end_with(&mut proxy, control)),
        // An interrupt goes to the program too, which then ends, and the proxy with it.
        None => {
            proxy.stop_when(stop);
            None
        }
    };
    let ran = proxy.run().map_err(failure);
    let status = program.and_then(|program| program.join().ok()).flatten();
    ran?;
    let outcome = proxy.outcome().map_err(|error| Failure::Check(error.to_string()))?;
    drop(servers);
    let status = status.map_or(0, program::status_of);
    if !options.quiet {
        // Standard output belongs to the program.
        eprint(&text(&outcome));
    }
    if let Some(path) = &options.json {
        write(path, &json(options, &mappings, &outcome, status))?;
    }
    match status {
        0 => Ok(()),
        status => Err(Failure::Status(status)),
    }
}

fn failure(error: ProxyError) -> Failure {
    match &error {
        ProxyError::Listen(mapping, cause) => Failure::input(
            "--listen",
            format!("{}: {cause}; expected a port of this machine that is free", mapping.listen),
        ),
        ProxyError::Path(_) | ProxyError::System(_) => Failure::input("proxy", error),
    }
}

fn engine_settings(options: &ProxyOptions, registry: &Registry) -> Result<Settings, Failure> {
    let tcp = component("--tcp", &options.tcp, qdelay_traffic::control::COMPONENTS, registry)?;
    let expected = || Failure::input("--tcp", format!("'{}' is no congestion control", options.tcp));
    match TransportConfig::build(&tcp).map_err(|error| Failure::input("--tcp", error))? {
        TransportConfig::Tcp(config) if config.bytes.is_none() => Ok(Settings {
            profile: config.profile,
            controller: config.controller,
            window: options.window,
            connections: options.connections,
            datagram_bytes: DATAGRAM_BYTES,
        }),
        TransportConfig::Tcp(_) => Err(Failure::input(
            "--tcp",
            "has the key bytes; expected none, because clients decide how much they send",
        )),
        _ => Err(expected()),
    }
}

/// Figures, verdict and limits, for the terminal.
fn text(outcome: &Outcome) -> String {
    let table = directions::table(&outcome.directions);
    let counts = outcome.counts;
    let [clients, datagrams] = outcome.rejected;
    let [up, down] = counts.retransmits;
    let mut connections = format!(
        "{} connections: {} closed, {} reset ({} of them refused by the target), {} open; segments sent again: {down} down, {up} up",
        counts.opened, counts.done, counts.resets, counts.refused, outcome.open
    );
    if clients + datagrams > 0 {
        connections += &format!("; turned away: {clients} connections, {datagrams} datagrams");
    }
    let verdict = verdict::lines(&outcome.facts, "", &advice(&outcome.facts));
    format!("\n{table}\n{verdict}{connections}\n{LIMITS}\n")
}

/// Advice for a more accurate run; empty if delays are right to a millisecond and releases were on time.
fn advice(facts: &AuditFacts) -> Vec<String> {
    match qdelay_emu::accuracy::advice(facts).is_empty() {
        true => Vec::new(),
        false => vec!["less other load on this machine".to_string(), "qdelay link, on Linux".to_string()],
    }
}

/// Figures and verdict as JSON (`docs/json.md`). Fields may be added; existing fields keep name and meaning.
fn json(options: &ProxyOptions, mappings: &[Mapping], outcome: &Outcome, status: u8) -> String {
    let facts = &outcome.facts;
    let accuracy = facts.accuracy();
    let [down, up] = &outcome.directions;
    let mapping =
        |mapping: &Mapping| json!({ "listen": mapping.listen.to_string(), "to": mapping.target.name });
    let counts = outcome.counts;
    let [clients, datagrams] = outcome.rejected;
    let [retransmits_up, retransmits_down] = counts.retransmits;
    pretty(&json!({
        "schema_version": SCHEMA_VERSION,
        "mappings": mappings.iter().map(mapping).collect::<Vec<_>>(),
        "links": {
            "down": { "link": options.path.down, "qdisc": options.path.qdisc },
            "up": { "link": options.path.up, "qdisc": options.path.up_qdisc },
        },
        "tcp": options.tcp,
        "window_bytes": options.window,
        "duration_s": round(outcome.duration.as_secs_f64()),
        "down": down,
        "up": up,
        "connections": {
            "opened": counts.opened,
            "closed": counts.done,
            "reset": counts.resets,
            "refused": counts.refused,
            "open": outcome.open,
            "turned_away": clients,
            "retransmits_down": retransmits_down,
            "retransmits_up": retransmits_up,
        },
        "datagrams_turned_away": datagrams,
        "changes": protocol::changes(&outcome.changes),
        "audit": {
            "trustworthy": facts.verdict.trustworthy,
            "reasons": facts.verdict.reasons,
            "grade": accuracy.grade.name(),
            "delays_hold_to_ms": accuracy.bound.as_millis_f64(),
            "late_share": round(late_share(facts)),
            "advice": advice(facts),
            "lateness_ms": facts.lateness.rounded(),
            "late_limits_ms": facts.limits.map(|limit| limit.as_millis_f64()),
            "releases_late": facts.late,
            "lost_outside": facts.lost,
            "cpu_seconds": round(facts.cpu.as_secs_f64()),
        },
        "limits": LIMITS,
        "status": status,
    }))
}

#[cfg(target_os = "linux")]
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(qdelay_study::engine::write_file(path, text)?)
}

#[cfg(not(target_os = "linux"))]
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let fault = |error| {
        Failure::input(path.display(), format!("cannot be written: {error}; expected a writable place"))
    };
    std::fs::write(path, text).map_err(fault)
}
