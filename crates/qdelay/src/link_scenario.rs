//! `qdelay link --scenario FILE[:CASE]`: the path of a scenario's case as the link.
//!
//! Data goes down, as under `qdelay run --clock real`: through the hops and the bottleneck, a link or a cell, then half of `rtt` and the
//! `jitter`; what the command sends goes up through the uplink and takes the other half. Flows, probe and duration are left to the
//! command.

use crate::cli::Link;
use crate::link_cell;
use crate::run::find;
use qdelay_emu::any_plan::AnyPlan;
use qdelay_emu::classes::Classes;
use qdelay_real::path;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use std::ffi::OsStr;
use std::path::Path;

/// Cases that are named where none was chosen.
const NAMED: u64 = 5;

/// The options with what the scenario says of the path, for whoever shows them, and the path itself.
///
/// # Errors
/// No such scenario or case, or several where none was chosen; a path that cannot be built.
pub fn read(options: &Link, scenario: &str) -> Result<(Link, AnyPlan), Failure> {
    let (file, chosen) = split(scenario);
    let (name, text) = find(OsStr::new(file))?;
    let study = Study::parse(&name, &text, &Overrides::default())?;
    let library = Library::of(Some(Path::new(file)), &options.traces);
    let case = choose(&study, chosen, &library)?;
    qdelay_terminal::output::tell_stand_ins(&library);
    let plan = match case.scenario.bottleneck.as_cell() {
        Some(cell) => link_cell::plan(&case.scenario, cell, &options.qos)?.into(),
        None if !options.qos.is_empty() => {
            let message = "rules for QoS flows are for scenarios with a [cell]; expected it without";
            return Err(Failure::input("--qos", message));
        }
        None if !case.scenario.hops.is_empty() => {
            let all = Classes { rules: Vec::new(), otherwise: 0 };
            path::dumbbell(&case.scenario, Vec::new(), all).into()
        }
        None => {
            AnyPlan::from(path::link(&case.scenario).map_err(|message| Failure::input(scenario, message))?)
        }
    };
    Ok((shown(options, &case), plan))
}

/// File and case; a file may have colons in its name.
fn split(scenario: &str) -> (&str, Option<&str>) {
    match scenario.rsplit_once(':') {
        Some((file, case)) if !Path::new(scenario).is_file() => (file, Some(case)),
        _ => (scenario, None),
    }
}

/// The case of this number or id, whose leading number may be left out. Where none is given, the only one; or the first, if all
/// have one path.
fn choose(study: &Study, chosen: Option<&str>, library: &Library) -> Result<Case, Failure> {
    let count = study.case_count();
    let Some(chosen) = chosen else {
        let varies = |name: &str| {
            name.starts_with("path.")
                || name.starts_with("cell.")
                || name == "variant"
                || name.starts_with("run.")
        };
        return match study.axes.iter().find(|axis| axis.labels.len() > 1 && varies(&axis.name)) {
            None => Ok(study.case(0, library)?),
            Some(axis) => Err(Failure::input(
                &study.name,
                format!(
                    "its {count} cases differ in {}; expected FILE:CASE, with one of {}",
                    axis.name,
                    ids(study, library)?
                ),
            )),
        };
    };
    let by_number = chosen.parse().ok().filter(|number: &u64| *number < count);
    if let Some(number) = by_number {
        return Ok(study.case(number, library)?);
    }
    for index in 0..count {
        let case = study.case(index, library)?;
        let bare = case.id.split_once('-').map(|(_, words)| words);
        if case.id == chosen || bare == Some(chosen) {
            return Ok(case);
        }
    }
    let message = format!("no case '{chosen}'; expected one of {}", ids(study, library)?);
    Err(Failure::input(&study.name, message))
}

fn ids(study: &Study, library: &Library) -> Result<String, Failure> {
    let count = study.case_count();
    let mut ids = Vec::new();
    for index in 0..count.min(NAMED) {
        ids.push(study.case(index, library)?.id);
    }
    let more = if count > NAMED { format!("... (0 to {})", count - 1) } else { String::new() };
    Ok(ids.join(", ") + &more)
}

/// As if it had been typed.
fn shown(options: &Link, case: &Case) -> Link {
    let path = &case.resolved["path"];
    let text = |key: &str| path[key].as_str().unwrap_or_default().to_string();
    let technology = case.resolved["cell"]["technology"].as_str().unwrap_or_default();
    let cell = case.scenario.bottleneck.as_cell().map(|cell| link_cell::shown(cell, technology));
    let down = match text("trace") {
        trace if trace.is_empty() => text("link"),
        trace => trace,
    };
    let up = match text("uplink") {
        none if none.is_empty() || none == "none" => "infinite".to_string(),
        uplink => uplink,
    };
    let scenario = &case.scenario;
    let limit = scenario.uplink.as_ref().map_or(u64::from(u32::MAX), |uplink| uplink.limit);
    Link {
        down: cell.as_ref().map_or(down, |(link, _)| link.clone()),
        up,
        qdisc: cell.map_or_else(
            || scenario.bottleneck.as_link().map_or("", |(qdisc, _)| qdisc.typed()).to_string(),
            |(_, bearer)| bearer,
        ),
        up_qdisc: if scenario.uplink.is_some() {
            format!("taildrop:limit={limit}")
        } else {
            "taildrop".into()
        },
        delay: scenario.base_rtt / 2,
        jitter: scenario.jitter,
        loss: 0.0,
        seed: scenario.seed,
        once: path["once"].as_bool().unwrap_or(false),
        ..options.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "[path]\nlink = \"10mbit\"\nrtt = \"30ms\"\n[[flow]]\n[run]\nduration = \"2s\"\n\
        [matrix]\npath.qdisc = [\"codel\", \"bode\"]\n";

    fn study(more: &str) -> Study {
        Study::parse("some", &(STUDY.to_string() + more), &Overrides::default()).unwrap()
    }

    #[test]
    fn cases_by_number_and_name() {
        let library = Library::new();
        let qdisc = |chosen| {
            choose(&study(""), chosen, &library)
                .map(|case| case.resolved["path"]["qdisc"].as_str().unwrap().to_string())
        };
        assert_eq!(qdisc(Some("1")).unwrap(), "bode");
        assert_eq!(
            (qdisc(Some("codel")).unwrap(), qdisc(Some("0-codel")).unwrap()),
            ("codel".into(), "codel".into())
        );
        for wrong in [None, Some("2"), Some("pie"), Some("")] {
            let Err(Failure::Input { message, .. }) = qdisc(wrong) else { panic!("{wrong:?}") };
            assert!(message.contains("0-codel, 1-bode"), "{message}");
        }
    }

    #[test]
    fn cases_of_one_path_need_no_choice() {
        let text = "[path]\nlink = \"10mbit\"\n[[flow]]\n[run]\nduration = \"2s\"\nseeds = \"1..3\"\n[matrix]\nflow.transport = [\"cubic\", \"bbr\"]\n";
        let study = Study::parse("some", text, &Overrides::default()).unwrap();
        assert_eq!(choose(&study, None, &Library::new()).unwrap().index, 0);
    }

    #[test]
    fn the_last_colon_is_what_counts() {
        assert_eq!(split("demo/first:3-pie-cubic"), ("demo/first", Some("3-pie-cubic")));
        assert_eq!(split("demo/first"), ("demo/first", None));
    }
}
