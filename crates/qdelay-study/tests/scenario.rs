//! Parsing of scenarios to studies and cases: defaults, keys, forms of values.

use qdelay_core::component::Arguments;
use qdelay_core::qdisc::LIMIT;
use qdelay_core::{Rate, Span};
use qdelay_path::{AnyLink, Impairments, JitterShape, Line, LinkModel, LossModel, Variant};
use qdelay_sim::SecondCodepoint;
use qdelay_study::expect::{Aggregate, Best};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use serde_json::json;

pub fn study(text: &str) -> Study {
    Study::parse("dir/my.toml", text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn case(text: &str) -> Case {
    study(text).case(0, &Library::new()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn qdisc(case: &Case) -> &Arguments {
    case.scenario.bottleneck.as_link().expect("a link").0
}

pub fn link(case: &Case) -> &AnyLink {
    &case.scenario.bottleneck.as_link().expect("a link").1.0
}

pub const SMALL: &str = "[path]\nlink = \"10mbit\"\n[[flow]]\n";

#[test]
fn a_minimal_scenario_has_the_documented_defaults() {
    let study = study(SMALL);
    assert_eq!((study.name.as_str(), study.source.as_str(), study.case_count()), ("my", SMALL, 1));
    assert_eq!((study.axes.len(), study.axes[0].name.as_str()), (1, "seed"));
    let case = study.case(0, &Library::new()).unwrap();
    assert_eq!(
        (case.id.as_str(), case.labels.as_slice(), case.packets),
        ("0", &["1".to_string()][..], false)
    );
    let scenario = &case.scenario;
    let qdisc = qdisc(&case);
    assert_eq!((qdisc.typed(), qdisc.get(&LIMIT)), ("taildrop", 1000));
    assert_eq!((scenario.base_rtt, scenario.jitter.clone()), (Span::from_millis(10), Span::ZERO.into()));
    assert_eq!((scenario.duration, scenario.warmup, scenario.seed), (Span::from_secs(60), Span::ZERO, 1));
    assert_eq!((scenario.series, scenario.probe), (Some(Span::from_millis(200)), None));
    let Some(uplink) = &scenario.uplink else { panic!("an uplink") };
    assert_eq!(uplink.link.0, Line::new(Rate::from_bps(48_000_000), 0).into());
    assert_eq!(uplink.limit, 1000);
    let [flow] = scenario.flows.as_slice() else { panic!("one flow") };
    assert_eq!((flow.name.as_str(), flow.typed.as_str(), flow.group, flow.dscp), ("flow-1", "cubic", 0, 0));
    assert_eq!((flow.start, flow.stop, flow.access, flow.extra_rtt), (Span::ZERO, None, None, Span::ZERO));
    assert_eq!(scenario.groups, ["flow-1"]);
}

#[test]
fn every_key_reaches_the_simulator() {
    let text = r#"
        title = "t"
        about = """
        a
        """
        [path]
        trace = "synth-subway"
        trace_format = "mahimahi"
        repeat = false
        qdisc = "codel:limit=7"
        limit = "20"
        rtt = "20ms"
        jitter = "1ms"
        uplink = "synth-lte-driving.up"
        uplink_limit = 30
        [[flow]]
        name = "video"
        transport = "udp:4mbit"
        count = 3
        start = "5s"
        stop = "9s"
        start_spread = "1s"
        dscp = "AF41"
        extra_rtt = "30ms"
        access_rate = "5mbit"
        second_dscp = "be"
        second_share = "12.5%"
        access_jitter = "1.6ms"
        discard_delay = "150ms"
        [[flow]]
        dscp = 46
        [run]
        duration = "10s"
        warmup = "2s"
        seeds = "4,7..8"
        min_packet_bytes = "200b"
        probe = true
        series = "50ms"
        packets = true
    "#;
    let study = study(text);
    assert_eq!((study.title.as_str(), study.about.as_str(), study.case_count()), ("t", "a", 3));
    let case = study.case(1, &Library::new()).unwrap();
    assert_eq!((case.id.as_str(), case.packets, case.scenario.seed), ("1-7", true, 7));
    let scenario = &case.scenario;
    assert_eq!(qdisc(&case).get(&LIMIT), 7, "its own limit stands");
    assert_eq!(
        (scenario.base_rtt, scenario.jitter.clone()),
        (Span::from_millis(20), Span::from_millis(1).into())
    );
    assert!(link(&case).opportunities().is_some());
    assert!(
        matches!(&scenario.uplink, Some(uplink) if uplink.link.0.opportunities().is_some() && uplink.limit == 30)
    );
    assert_eq!((scenario.duration, scenario.warmup), (Span::from_secs(10), Span::from_secs(2)));
    assert_eq!((scenario.min_packet_bytes, scenario.probe.is_some()), (200, true));
    assert_eq!(scenario.series, Some(Span::from_millis(50)));
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["video-1", "video-2", "video-3", "flow-2"]);
    assert_eq!(scenario.groups, ["video", "flow-2"]);
    let video = &scenario.flows[1];
    assert_eq!((video.group, video.dscp, video.typed.as_str()), (0, 34, "udp:4mbit"));
    assert_eq!((video.stop, video.extra_rtt), (Some(Span::from_secs(9)), Span::from_millis(30)));
    assert_eq!(
        (video.access, video.access_jitter),
        (Some(Rate::from_bps(5_000_000)), Span::from_micros(1600))
    );
    assert_eq!(video.other, Some(SecondCodepoint { dscp: 0, share: 0.125 }));
    assert_eq!((video.discard_delay, scenario.flows[3].discard_delay), (Some(Span::from_millis(150)), None));
    assert_eq!((scenario.flows[3].other, scenario.flows[3].access_jitter), (None, Span::ZERO));
    let starts: Vec<Span> = scenario.flows[..3].iter().map(|flow| flow.start).collect();
    assert!(starts.iter().all(|start| (Span::from_secs(5)..Span::from_secs(6)).contains(start)));
    assert!(starts[0] != starts[1], "each has a draw of its own");
    assert_eq!((scenario.flows[3].dscp, scenario.flows[3].group), (46, 1));
    assert_eq!(case.traces.keys().collect::<Vec<_>>(), ["synth-lte-driving.up", "synth-subway"]);
    let settings = json!({
        "path": {
            "link": null, "trace": "synth-subway", "trace_format": "mahimahi", "repeat": false, "qdisc": "codel:limit=7",
            "limit": 20, "rtt": "20ms", "jitter": "1ms", "uplink": "synth-lte-driving.up", "uplink_limit": 30,
            "uplink_qdisc": "taildrop",
            "loss": "none", "reorder": "0%", "reorder_delay": "2ms", "duplicate": "0%", "corrupt": "0%", "uplink_loss": "none", "uplink_jitter": "0s", "uplink_reorder": "0%",
            "uplink_duplicate": "0%", "uplink_corrupt": "0%",
        },
        "flow": [
            {
                "name": "video", "transport": "udp:4mbit", "count": 3, "direction": "down", "start": "5s", "stop": "9s", "start_spread": "1s",
                "dscp": "AF41", "second_dscp": "be", "second_share": "12.5%", "extra_rtt": "30ms", "access_rate": "5mbit",
                "access_jitter": "1.6ms", "discard_delay": "150ms", "set_within": null,
            },
            {
                "name": "flow-2", "transport": "cubic", "count": 1, "direction": "down", "start": "0s", "stop": null, "start_spread": "200ms",
                "dscp": "46", "second_dscp": null, "second_share": null, "extra_rtt": "0s", "access_rate": null,
                "access_jitter": "0s", "discard_delay": null, "set_within": null,
            },
        ],
        "run": {
            "duration": "10s", "warmup": "2s", "seed": 7, "min_packet_bytes": 200, "probe": true, "series": "50ms",
            "packets": true, "starts": "random",
            // The trace of the link ends: a run of 10 s on its 40 s may begin within the first 30 s.
            "places": { "synth-subway": case.settings["run"]["places"]["synth-subway"],
                "synth-lte-driving.up": case.settings["run"]["places"]["synth-lte-driving.up"] },
        },
    });
    assert_eq!(case.settings, settings);
}

#[test]
fn none_and_infinite_and_off_disable_settings() {
    let case = case(
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\n[[flow]]\naccess_rate = \"infinite\"\n[run]\nseries = \"off\"",
    );
    assert!(case.scenario.uplink.is_none() && case.scenario.series.is_none());
    assert_eq!(case.scenario.flows[0].access, None);
    assert_eq!(case.settings["run"]["series"], "off");
}

/// A component as text, as on the command line, and the same component as a table.
#[test]
fn text_and_table_give_the_same_arguments() {
    for (key, text, table) in [
        ("qdisc", "bode:target=20ms:limit=500", "{ bode = { target = \"20ms\", limit = 500 } }"),
        ("qdisc", "codel", "{ codel = {} }"),
        ("qdisc", "codel:ecn=on:target=1ms", "{ codel = { ecn = true, target = \"1ms\" } }"),
        (
            "qdisc",
            "priority:classes=ef@[bode:target=5ms]+rest@taildrop",
            "{ priority = { classes = \"ef@[bode:target=5ms]+rest@taildrop\" } }",
        ),
        ("transport", "cubic:hystart=off:iw=4", "{ cubic = { hystart = false, iw = \"4\" } }"),
        ("transport", "udp:rate=4mbit:size=1000", "{ udp = { rate = \"4mbit\", size = 1000 } }"),
    ] {
        let of = |value: &str| match key {
            "qdisc" => case(&format!("[path]\nlink = \"1mbit\"\nqdisc = {value}\n[[flow]]")),
            _ => case(&format!("[path]\nlink = \"1mbit\"\n[[flow]]\n{key} = {value}")),
        };
        let (text, table) = (of(&format!("\"{text}\"")), of(table));
        assert_eq!(format!("{:?}", text.scenario), format!("{:?}", table.scenario));
        assert_eq!(text.settings, table.settings);
    }
    let link = |value: &str| format!("{:?}", link(&case(&format!("[path]\nlink = {value}\n[[flow]]"))));
    assert_eq!(link("\"htb:rate=5mbit:burst=3kb\""), link("{ htb = { rate = \"5mbit\", burst = \"3kb\" } }"));
    assert_eq!(link("\"5mbit:overhead=14\""), link("{ rate = { rate = \"5mbit\", overhead = 14 } }"));
}

#[test]
fn expectations_are_read() {
    let text = r#"
        [path]
        link = "10mbit"
        [[flow]]
        [matrix]
        path.qdisc = ["taildrop", "codel", "pie"]
        path.limit = [10, 20]
        [[expect]]
        claim = "c"
        measure = "groups.flow-1.queue_delay_ms.p99"
        where = { "path.qdisc" = ["codel", "pie"], path.limit = 20 }
        normalise = { "path.qdisc" = "taildrop" }
        aggregate = "geomean"
        alternatives = { path.limit = [10, 20] }
        best = "max"
        unit = "ratio"
        low = 0
        high = 0.5
        paper = 1e-1
        [[expect]]
        claim = "d"
        measure = "drops_by_reason.codel"
        low = 3
    "#;
    let study = study(text);
    let [first, second] = study.expects.as_slice() else { panic!("two") };
    let labels = |axis: &str| first.select[axis].join(" ");
    assert_eq!((labels("path.qdisc"), labels("path.limit")), ("codel pie".to_string(), "20".to_string()));
    assert_eq!((first.line, first.normalise["path.qdisc"].as_str()), (8, "taildrop"));
    assert_eq!(
        (first.aggregate, first.best, first.alternatives["path.limit"].join(" ")),
        (Aggregate::Geomean, Best::Max, "10 20".into())
    );
    assert_eq!(
        (first.low, first.high, first.paper, first.unit.as_str()),
        (Some(0.0), Some(0.5), Some(0.1), "ratio")
    );
    assert_eq!((second.claim.as_str(), second.aggregate, second.high), ("d", Aggregate::Mean, None));
    assert!(second.select.is_empty() && second.alternatives.is_empty() && second.normalise.is_empty());
}

#[test]
fn the_uplink_has_a_discipline_where_it_is_given() {
    let case = |keys: &str| {
        let text = format!("[path]\nlink = \"10mbit\"\n{keys}\n[[flow]]");
        let study = Study::parse("my.toml", &text, &Overrides::default()).unwrap();
        study.case(0, &Library::new()).unwrap().scenario
    };
    let qdisc = |keys: &str| {
        let uplink = case(keys).uplink.unwrap();
        uplink.qdisc.map(|qdisc| (qdisc.component().name, qdisc.get(&qdelay_core::qdisc::LIMIT)))
    };
    assert_eq!(qdisc("uplink_limit = 30"), None);
    assert_eq!(qdisc("uplink_limit = 30\nuplink_qdisc = \"taildrop\""), Some(("taildrop", 30)));
    assert_eq!(qdisc("uplink_limit = 30\nuplink_qdisc = \"codel:limit=7\""), Some(("codel", 7)));
    assert!(case("uplink_qdisc = \"fq_codel\"").measures_uplink() && !case("").measures_uplink());
}

#[test]
fn impairments_are_read() {
    let case = |keys: &str| {
        let text = format!("[path]\nlink = \"10mbit\"\n{keys}\n[[flow]]");
        let study = Study::parse("my.toml", &text, &Overrides::default()).unwrap();
        study.case(0, &Library::new()).unwrap().scenario.impairments
    };
    assert!(case("").is_none() && case("reorder_delay = \"5ms\"\nloss = \"0%\"").is_none());
    let keys = "loss = { gilbert-elliott = { p = \"1%\", r = \"25%\", good = \"0.1%\" } }\nreorder = \"2%\"\n\
                reorder_delay = \"5ms\"\nduplicate = \"0.5%\"\nuplink_loss = \"3%\"";
    let Impairments { down, up } = case(keys);
    assert_eq!(down.loss, LossModel::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.001 });
    assert_eq!(
        (down.reorder, down.reorder_delay, down.duplicate),
        (0.02.into(), Span::from_millis(5), 0.005.into())
    );
    assert_eq!((up.loss, up.reorder_delay), (0.03.into(), Span::from_millis(5)));
    let keys = "jitter = \"normal:2ms:correlation=25%\"\nuplink_jitter = { pareto = { deviation = \"1ms\" } }\n\
                corrupt = \"1%:correlation=20%\"\nuplink_duplicate = \"2%\"\nuplink_reorder = \"3%\"\nuplink_corrupt = \"4%\"";
    let text = format!("[path]\nlink = \"10mbit\"\n{keys}\n[[flow]]");
    let study = Study::parse("my.toml", &text, &Overrides::default()).unwrap();
    let scenario = study.case(0, &Library::new()).unwrap().scenario;
    let shapes =
        [&scenario.jitter, &scenario.uplink_jitter].map(|jitter| (jitter.shape.clone(), jitter.size));
    let ms = Span::from_millis;
    assert_eq!(shapes, [(JitterShape::Normal, ms(2)), (JitterShape::Pareto, ms(1))]);
    let Impairments { down, up } = scenario.impairments;
    let correlated = LossModel::Correlated { probability: 0.01, correlation: 0.2, variant: Variant::Exact };
    assert_eq!(
        (down.corrupt, up.duplicate, up.reorder, up.corrupt),
        (correlated, 0.02.into(), 0.03.into(), 0.04.into())
    );
}
