//! Hops of a scenario: keys, axes, limits.

use crate::scenario::{SMALL, case, study};
use qdelay_core::qdisc::LIMIT;
use qdelay_core::{Rate, Span};
use qdelay_path::{Line, LinkModel};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use serde_json::json;

/// Keys of hops: of all, of one, and varied by axes.
#[test]
fn hops_have_their_keys_and_axes() {
    let text = r#"
        [path]
        link = "10mbit"
        [[path.hop]]
        name = "metro"
        link = "20mbit"
        qdisc = "codel"
        limit = 50
        delay = "3ms"
        [[path.hop]]
        trace = "synth-subway"
        [[flow]]
        [matrix]
        path.hop.qdisc = ["pie", { label = "DSD", value = "dsd:g=1" }]
        path.hop.hop-2.delay = ["0s", "7ms"]
        [[matrix.variant]]
        label = "narrow"
        path.hop.metro.qdisc = "red"
        path.hop.metro.link = "line:5mbit"
    "#;
    let study = study(text);
    assert_eq!(study.case_count(), 4);
    let names: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["path.hop.qdisc", "path.hop.hop-2.delay", "variant", "seed"]);
    study.check(&Library::new()).unwrap();
    let case = study.case(3, &Library::new()).unwrap();
    let [metro, second] = case.scenario.hops.as_slice() else { panic!("two hops") };
    assert_eq!((metro.name.as_str(), second.name.as_str()), ("metro", "hop-2"));
    // Keys of one hop override keys of all hops.
    assert_eq!((metro.qdisc.typed(), metro.qdisc.get(&LIMIT)), ("red", 50));
    assert_eq!((second.qdisc.typed(), second.qdisc.get(&LIMIT)), ("dsd:g=1", 1000));
    assert_eq!((metro.delay, second.delay), (Span::from_millis(3), Span::from_millis(7)));
    assert_eq!(metro.link.0, Line::new(Rate::from_bps(5_000_000), 0).into());
    assert!(second.link.0.opportunities().is_some());
    assert_eq!(case.traces.keys().collect::<Vec<_>>(), ["synth-subway"]);
    let settings = json!([
        {
            "name": "metro", "link": "line:5mbit", "trace": null, "trace_format": null, "repeat": true, "qdisc": "red",
            "limit": 50, "delay": "3ms",
        },
        {
            "name": "hop-2", "link": null, "trace": "synth-subway", "trace_format": null, "repeat": true,
            "qdisc": "dsd:g=1", "limit": null, "delay": "7ms",
        },
    ]);
    assert_eq!(case.settings["path"]["hop"], settings);
    assert_eq!(self::case(SMALL).settings["path"].get("hop"), None);
}

#[test]
fn hops_may_precede_a_cell() {
    let case = case("[[path.hop]]\nlink = \"5mbit\"\n[cell]\n[[flow]]");
    assert_eq!(case.scenario.hops.len(), 1);
    assert_eq!(case.settings["path"]["hop"][0]["link"], "5mbit");
}

#[test]
fn more_than_sixteen_hops_are_refused() {
    let text = |hops: usize| SMALL.to_string() + &"[[path.hop]]\nlink = \"5mbit\"\n".repeat(hops);
    assert_eq!(case(&text(16)).scenario.hops.len(), 16);
    let error = Study::parse("my.toml", &text(17), &Overrides::default()).unwrap_err().to_string();
    assert_eq!(error, "my.toml: line 36: path.hop: 17 hops are too many; expected at most 16");
}
