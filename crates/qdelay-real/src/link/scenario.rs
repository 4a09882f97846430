//! `qdelay link --scenario FILE[:CASE]`: the path of a scenario's case as the link.
//!
//! Data goes down, as under `qdelay run --clock real`: through the hops and the bottleneck, a link or a cell, then half of `rtt` and the
//! `jitter`; packets of the command go up through the uplink and take the other half. The command replaces flows, probe and
//! duration.

use super::rules;
use crate::path;
use qdelay_core::Rate;
use qdelay_core::component::Registry;
use qdelay_emu::classes::Classes;
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_emu::snapshot::{DirectionSettings, LinkSettings};
use qdelay_path::{ImpairmentSpec, Jitter, Line, LossModel};
use qdelay_sim::{CellScenario, Uplink};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::live::settings::jitter_model;
use qdelay_terminal::output;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Limit of the queue at an uplink without a rate limit, in packets: the default of queues.
const UPLINK_LIMIT: u64 = 1000;
/// Maximum number of cases listed in an error.
const NAMED: u64 = 5;

/// The library of the traces that `scenario`, `FILE` or `FILE:CASE`, may name: those beside it, and in the folders `traces`.
pub fn library(scenario: &str, traces: &[PathBuf]) -> Library {
    Library::for_scenario(Some(Path::new(file(scenario))), traces)
}

/// Reads the path of `scenario`, `FILE` or `FILE:CASE`, with its settings as text. Traces come from `library`, and `rules` assign
/// packets to the QoS flows of a cell.
///
/// # Errors
/// There is no such scenario or case, or several and none was chosen; a rule cannot be parsed, or there is no cell.
pub fn read(
    scenario: &str,
    library: &Library,
    rules: &[String],
    registry: &Registry,
) -> Result<(LinkSettings, DumbbellPlan), Failure> {
    let (file, chosen) = split(scenario);
    let (name, text) = shipped::read(OsStr::new(file))?;
    let study = Study::parse_with(&name, &text, &Overrides::default(), registry)?;
    let mut case = choose(&study, chosen, library)?;
    output::report_substitutes(library);
    let settings = settings(&case);
    // Packets that go up are measured at an uplink, even if it has no rate limit and no packets wait.
    let endless = || Uplink::tail_drop(Line::new(Rate::INFINITE, 0), UPLINK_LIMIT);
    case.scenario.uplink.get_or_insert_with(endless);
    let mut plan = match case.scenario.bottleneck.as_cell() {
        Some(cell) => rules::plan(&case.scenario, cell, rules)?,
        None if rules.is_empty() => path::dumbbell(&case.scenario, Vec::new(), Classes::default()),
        None => {
            let message =
                "rules for QoS flows need a scenario with a [cell]; expected the scenario without rules";
            return Err(Failure::input("--qos", message));
        }
    };
    plan.is_changeable = true;
    Ok((settings, plan))
}

/// The file part of `FILE` or `FILE:CASE`.
pub fn file(scenario: &str) -> &str {
    split(scenario).0
}

/// Splits into file and case at the last colon, because a file name may contain colons.
fn split(scenario: &str) -> (&str, Option<&str>) {
    match scenario.rsplit_once(':') {
        Some((file, case)) if !Path::new(scenario).is_file() => (file, Some(case)),
        _ => (scenario, None),
    }
}

/// The case with this number or id, whose leading number may be omitted. Without a choice, the only case; or the first, if all
/// cases have the same path.
fn choose(study: &Study, chosen: Option<&str>, library: &Library) -> Result<Case, Failure> {
    let count = study.case_count();
    let Some(chosen) = chosen else {
        // Cases that differ only in flows or seeds have the same path.
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
        // An id is NUMBER-LABELS; users may omit the number.
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

/// The settings as text, in the syntax of command-line options.
pub fn settings(case: &Case) -> LinkSettings {
    let (path, scenario) = (&case.settings["path"], &case.scenario);
    let text = |key: &str| Some(path[key].as_str().unwrap_or_default()).filter(|text| !text.is_empty());
    let (down, up) = (&scenario.impairments.down, &scenario.impairments.up);
    let (jitter, uplink_jitter) = (&scenario.jitter, &scenario.uplink_jitter);
    let model = |model: &LossModel, key: String| text(&key).filter(|_| model.is_lossy()).map(str::to_string);
    // Half of the round-trip time is behind the bottleneck, half behind the uplink.
    let setting = |link: String, qdisc: String, prefix: &str, spec: &ImpairmentSpec, jitter: &Jitter| {
        DirectionSettings {
            link,
            qdisc,
            delay_ms: (scenario.base_rtt / 2).as_millis_f64(),
            delay_over_time: scenario
                .rtt_curve
                .as_ref()
                .map(|_| format!("half of {}", text("rtt").unwrap_or_default())),
            jitter_ms: jitter.size.as_millis_f64(),
            jitter_model: jitter_model(jitter, text(&format!("{prefix}jitter")).unwrap_or_default()),
            loss: spec.loss.least(),
            loss_model: text(&format!("{prefix}loss"))
                .filter(|_| !matches!(spec.loss, LossModel::None | LossModel::Random(_)))
                .map(str::to_string),
            reorder: model(&spec.reorder, format!("{prefix}reorder")),
            duplicate: model(&spec.duplicate, format!("{prefix}duplicate")),
            corrupt: model(&spec.corrupt, format!("{prefix}corrupt")),
            cut: None,
        }
    };
    let technology = case.settings["cell"]["technology"].as_str().unwrap_or_default();
    let (link, qdisc) = match (scenario.bottleneck.as_cell(), scenario.bottleneck.as_link()) {
        (Some(cell), _) => shown(cell, technology),
        (None, link) => {
            let link_name = text("trace").or(text("link")).unwrap_or_default();
            (link_name.to_string(), link.map_or("", |(qdisc, _)| qdisc.typed()).to_string())
        }
    };
    let up = match &scenario.uplink {
        Some(uplink) => setting(
            text("uplink").unwrap_or_default().to_string(),
            match &uplink.qdisc {
                Some(qdisc) => qdisc.typed().to_string(),
                None => format!("taildrop:limit={}", uplink.limit),
            },
            "uplink_",
            up,
            uplink_jitter,
        ),
        None => setting("infinite".to_string(), "taildrop".to_string(), "uplink_", up, uplink_jitter),
    };
    LinkSettings { down: setting(link, qdisc, "", down, jitter), up, preset: None }
}

/// Link and discipline of a cell for display: technology and bearer.
fn shown(cell: &CellScenario, technology: &str) -> (String, String) {
    let ues = cell.ues.len();
    let link = format!("{technology} cell of {ues} UE{}", if ues == 1 { "" } else { "s" });
    let bearers = cell.ues.first().map(|ue| ue.bearers.as_slice()).unwrap_or_default();
    let bearer = bearers.last().map(|bearer| {
        let sdap = bearer.qos_flows.last().map_or("", |qos_flow| qos_flow.sdap.typed());
        [sdap, bearer.gate.law.typed(), bearer.queue.typed()].join(" > ")
    });
    (link, bearer.unwrap_or_default())
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
    fn cases_are_chosen_by_number_and_name() {
        let library = Library::new();
        let qdisc = |chosen| {
            choose(&study(""), chosen, &library)
                .map(|case| case.settings["path"]["qdisc"].as_str().unwrap().to_string())
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
    fn cases_with_one_path_need_no_choice() {
        let text = "[path]\nlink = \"10mbit\"\n[[flow]]\n[run]\nduration = \"2s\"\nseeds = \"1..3\"\n[matrix]\nflow.transport = [\"cubic\", \"bbr\"]\n";
        let study = Study::parse("some", text, &Overrides::default()).unwrap();
        assert_eq!(choose(&study, None, &Library::new()).unwrap().index, 0);
    }

    #[test]
    fn the_last_colon_separates_the_case() {
        assert_eq!(split("demo/first:3-pie-cubic"), ("demo/first", Some("3-pie-cubic")));
        assert_eq!(split("demo/first"), ("demo/first", None));
    }
}
