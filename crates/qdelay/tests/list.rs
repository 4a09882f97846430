//! `qdelay list` shows every component of every registry with every parameter.

use crate::common::{json, succeed};
use qdelay_core::component::Component;
use qdelay_study::presets::PRESETS;
use qdelay_study::radio;

fn all() -> Vec<&'static Component> {
    let registries = [
        qdelay_core::qdisc::COMPONENTS,
        qdelay_core::pacer::COMPONENTS,
        qdelay_traffic::transport::COMPONENTS,
        qdelay_traffic::streaming::abr::COMPONENTS,
        qdelay_path::LINKS,
    ];
    let of_cells = radio::components();
    let formats = qdelay_trace::format::FORMATS.iter().map(|format| format.component);
    let programs = qdelay_study::traces::programs::PROGRAMS.iter().map(|program| program.component);
    let made = [&qdelay_trace::synth::COMPONENT];
    let delays = qdelay_study::traces::delay::components();
    let losses = qdelay_study::traces::loss::components();
    let jitters = qdelay_study::traces::jitter::components();
    let quic = qdelay_quic::component::COMPONENTS.iter().copied();
    registries
        .concat()
        .into_iter()
        .chain(made)
        .chain(delays)
        .chain(losses)
        .chain(jitters)
        .chain(formats)
        .chain(programs)
        .chain(of_cells)
        .chain(quic)
        .collect()
}

#[test]
fn the_text_covers_every_component() {
    let index = succeed(&["list"]);
    assert_eq!(index.lines().filter(|line| line.starts_with("  ")).count(), all().len() + PRESETS.len());
    assert!(index.lines().all(|line| line.chars().count() <= 120), "{index}");
    for component in all() {
        assert!(index.contains(&format!("\n  {} ", component.name)), "{}", component.name);
        let own = succeed(&["list", component.name]);
        let is_preset = PRESETS.iter().any(|preset| preset.name == component.name);
        assert_eq!(own.contains("qdelay link --preset"), is_preset, "{}", component.name);
        // A preset of the same name has a text of its own.
        let own = own.split(&format!("\npreset {}: ", component.name)).next().unwrap();
        for parameter in component.parameters {
            let line = own.lines().find(|line| line.starts_with(&format!("{} ", parameter.name)));
            let line = line.unwrap_or_else(|| panic!("{} {}", component.name, parameter.name));
            assert!(line.contains(&parameter.range()), "{line}");
            assert!(line.contains(parameter.default), "{line}");
        }
        assert!(own.lines().all(|line| line.chars().count() <= 130), "lines fit a page");
    }
}

#[test]
fn the_json_covers_every_component() {
    let report = json(&["list", "--json"]);
    let listed = report["components"].as_array().unwrap();
    assert_eq!(listed.len(), all().len());
    for (listed, component) in listed.iter().zip(all()) {
        assert_eq!(listed["name"], component.name);
        assert_eq!(listed["kind"], component.kind.name());
        let parameters = listed["parameters"].as_array().unwrap();
        assert_eq!(parameters.len(), component.parameters.len(), "{}", component.name);
        for (listed, parameter) in parameters.iter().zip(component.parameters) {
            assert_eq!(listed["name"], parameter.name);
            assert_eq!(listed["unit"], parameter.unit.describe());
            assert_eq!(listed["default"].as_str().unwrap_or(""), parameter.default);
        }
    }
}

#[test]
fn kinds_and_names_choose() {
    let count = |what: &str| json(&["list", what, "--json"])["components"].as_array().unwrap().len();
    assert_eq!(count("qdisc"), qdelay_core::qdisc::COMPONENTS.len());
    assert_eq!(count("pacer"), qdelay_core::pacer::COMPONENTS.len());
    assert_eq!(count("transport"), qdelay_traffic::transport::COMPONENTS.len() + 1, "and quic");
    assert_eq!(count("bode"), 1);
}

/// Known deviations are listed with the component, not only in the documentation.
/// The transport of the Python environments is named on their page, and has the keys of TCP.
#[test]
fn list_driven_is_known() {
    let listed = succeed(&["list", "driven"]);
    assert!(listed.contains("transport driven: TCP whose window and rate qdelay.QueueEnv sets"), "{listed}");
    assert!(listed.contains("\niw "), "{listed}");
    assert!(!succeed(&["list", "transport"]).contains("driven"), "it is named nowhere else");
}

#[test]
fn known_deviations_are_listed() {
    let text = succeed(&["list", "bbr"]);
    let (_, notes) = text.split_once("known to be off").expect("a table of them");
    assert!(["50 Mbit/s", "PIE", "FQ-CoDel", "Jain"].iter().all(|part| notes.contains(part)), "{notes}");
    assert!(!succeed(&["list", "udp"]).contains("known to be off"));
    let report = json(&["list", "bbr", "--json"]);
    assert_eq!(report["components"][0]["known_to_be_off"].as_array().unwrap().len(), 4);
}
