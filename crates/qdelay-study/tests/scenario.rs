//! Scenarios to studies and cases: defaults, forms of values, axes, ids, laziness.

use qdelay_core::component::Arguments;
use qdelay_core::qdisc::LIMIT;
use qdelay_core::{Rate, Span};
use qdelay_path::{AnyLink, ImpairmentSpec, Impairments, Line, LinkModel, LossModel};
use qdelay_sim::SecondCodepoint;
use qdelay_study::InputError;
use qdelay_study::expect::{Best, Over};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use serde_json::json;

fn study(text: &str) -> Study {
    Study::parse("dir/my.toml", text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn case(text: &str) -> Case {
    study(text).case(0, &Library::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn qdisc(case: &Case) -> &Arguments {
    case.scenario.bottleneck.as_link().expect("a link").0
}

fn link(case: &Case) -> &AnyLink {
    &case.scenario.bottleneck.as_link().expect("a link").1.0
}

const SMALL: &str = "[path]\nlink = \"10mbit\"\n[[flow]]\n";

#[test]
fn defaults() {
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
    assert_eq!((scenario.base_rtt, scenario.jitter), (Span::from_millis(10), Span::ZERO));
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
fn every_key_arrives() {
    let text = r#"
        title = "t"
        about = """
        a
        """
        [path]
        trace = "synth-subway"
        trace_format = "mahimahi"
        once = true
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
        spread = "1s"
        dscp = "AF41"
        extra_rtt = "30ms"
        access = "5mbit"
        other_dscp = "be"
        other_share = "12.5%"
        access_jitter = "1.6ms"
        discard_after = "150ms"
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
    assert_eq!((scenario.base_rtt, scenario.jitter), (Span::from_millis(20), Span::from_millis(1)));
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
    assert_eq!((video.discard_after, scenario.flows[3].discard_after), (Some(Span::from_millis(150)), None));
    assert_eq!((scenario.flows[3].other, scenario.flows[3].access_jitter), (None, Span::ZERO));
    let starts: Vec<Span> = scenario.flows[..3].iter().map(|flow| flow.start).collect();
    assert!(starts.iter().all(|start| (Span::from_secs(5)..Span::from_secs(6)).contains(start)));
    assert!(starts[0] != starts[1], "each has a draw of its own");
    assert_eq!((scenario.flows[3].dscp, scenario.flows[3].group), (46, 1));
    assert_eq!(case.traces.keys().collect::<Vec<_>>(), ["synth-lte-driving.up", "synth-subway"]);
    let resolved = json!({
        "path": {
            "link": null, "trace": "synth-subway", "trace_format": "mahimahi", "once": true, "qdisc": "codel:limit=7",
            "limit": 20, "rtt": "20ms", "jitter": "1ms", "uplink": "synth-lte-driving.up", "uplink_limit": 30,
            "uplink_qdisc": "taildrop",
            "loss": "none", "reorder": "0%", "reorder_by": "2ms", "duplicate": "0%", "uplink_loss": "none",
        },
        "flow": [
            {
                "name": "video", "transport": "udp:4mbit", "count": 3, "direction": "down", "start": "5s", "stop": "9s", "spread": "1s",
                "dscp": "AF41", "other_dscp": "be", "other_share": "12.5%", "extra_rtt": "30ms", "access": "5mbit",
                "access_jitter": "1.6ms", "discard_after": "150ms",
            },
            {
                "name": "flow-2", "transport": "cubic", "count": 1, "direction": "down", "start": "0s", "stop": null, "spread": "200ms",
                "dscp": "46", "other_dscp": null, "other_share": null, "extra_rtt": "0s", "access": null,
                "access_jitter": "0s", "discard_after": null,
            },
        ],
        "run": {
            "duration": "10s", "warmup": "2s", "seed": 7, "min_packet_bytes": 200, "probe": true, "series": "50ms",
            "packets": true, "starts": "random",
            // The trace of the link ends: 30 s of its 40 s are places from which 10 s are left.
            "places": { "synth-subway": case.resolved["run"]["places"]["synth-subway"],
                "synth-lte-driving.up": case.resolved["run"]["places"]["synth-lte-driving.up"] },
        },
    });
    assert_eq!(case.resolved, resolved);
}

/// With several seeds each begins elsewhere on every trace, and its flows at other times; with one seed nothing moves.
#[test]
fn seeds_have_places_of_their_own() {
    const TEXT: &str = r#"
        [path]
        trace = "synth-subway"
        uplink = "none"
        [[flow]]
        [[flow]]
        start = "1s"
        spread = "1ms"
        [run]
        duration = "10s"
        [matrix]
        path.qdisc = ["taildrop", "codel"]
    "#;
    let cases = |more: &str| -> Vec<Case> {
        let study = study(&TEXT.replace("[run]", &format!("[run]\n{more}")));
        (0..study.case_count()).map(|index| study.case(index, &Library::new()).unwrap()).collect()
    };
    let place = |case: &Case| case.resolved["run"]["places"]["synth-subway"].clone();
    let starts = |case: &Case| case.scenario.flows.iter().map(|flow| flow.start).collect::<Vec<Span>>();
    let [one, other] = cases("").try_into().unwrap();
    assert_eq!((place(&one), starts(&one)), (json!(null), starts(&other)));
    assert_eq!(starts(&one)[0], Span::ZERO);
    let several = cases("seeds = \"1..3\"");
    for (first, second) in several[..3].iter().zip(&several[3..]) {
        assert_eq!(place(first), place(second), "the same for every discipline");
        assert_eq!(starts(first), starts(second));
        assert!(starts(first)[0] <= Span::from_millis(200));
        assert!((Span::from_secs(1)..=Span::from_millis(1001)).contains(&starts(first)[1]));
    }
    let mut places: Vec<String> = several[..3].iter().map(|case| place(case).to_string()).collect();
    places.dedup();
    assert_eq!(places.len(), 3);
    let fixed = cases("seeds = \"1..3\"\nstarts = \"fixed\"");
    assert!(fixed.iter().all(|case| place(case) == json!(null) && starts(case)[0].is_zero()));
    assert_eq!(fixed[0].resolved["run"]["starts"], json!("fixed"));
    let random = cases("starts = \"random\"");
    assert_eq!(place(&random[0]), place(&several[0]), "by the seed, however many there are");
}

/// A window of a trace is a trace.
#[test]
fn windows_of_traces() {
    let text = |trace: &str| format!("[path]\ntrace = \"{trace}\"\n[[flow]]\n");
    let length = |trace: &str| {
        let case = study(&text(trace)).case(0, &Library::new()).unwrap();
        (link(&case).length(), case.traces.keys().next().cloned())
    };
    let window = "synth-subway:from=5s:for=7s:scale=0.5";
    assert_eq!(length(window), (Some(Span::from_secs(7)), Some(window.to_string())));
    for (trace, error) in [
        ("synth-subway:from=5000s", "expected a window that has some length and ends within the trace"),
        ("synth-subway:form=5s", "has no key 'form'; known: from, for, scale"),
        ("nowhere:from=5s", "no trace 'nowhere'"),
    ] {
        let found = study(&text(trace)).check(&Library::new()).unwrap_err().to_string();
        assert!(found.contains("my.toml: line 2: path.trace: ") && found.contains(error), "{found}");
    }
}

/// Some keys of every hop, some of one, some varied.
#[test]
fn hops_arrive() {
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
    // What is said for one hop stands over what is said for all.
    assert_eq!((metro.qdisc.typed(), metro.qdisc.get(&LIMIT)), ("red", 50));
    assert_eq!((second.qdisc.typed(), second.qdisc.get(&LIMIT)), ("dsd:g=1", 1000));
    assert_eq!((metro.delay, second.delay), (Span::from_millis(3), Span::from_millis(7)));
    assert_eq!(metro.link.0, Line::new(Rate::from_bps(5_000_000), 0).into());
    assert!(second.link.0.opportunities().is_some());
    assert_eq!(case.traces.keys().collect::<Vec<_>>(), ["synth-subway"]);
    let resolved = json!([
        {
            "name": "metro", "link": "line:5mbit", "trace": null, "trace_format": null, "once": false, "qdisc": "red",
            "limit": 50, "delay": "3ms",
        },
        {
            "name": "hop-2", "link": null, "trace": "synth-subway", "trace_format": null, "once": false,
            "qdisc": "dsd:g=1", "limit": null, "delay": "7ms",
        },
    ]);
    assert_eq!(case.resolved["path"]["hop"], resolved);
    assert_eq!(self::case(SMALL).resolved["path"].get("hop"), None);
}

#[test]
fn hops_stand_before_a_cell_too() {
    let case = case("[[path.hop]]\nlink = \"5mbit\"\n[cell]\n[[flow]]");
    assert_eq!(case.scenario.hops.len(), 1);
    assert_eq!(case.resolved["path"]["hop"][0]["link"], "5mbit");
}

#[test]
fn at_most_sixteen_hops() {
    let text = |hops: usize| SMALL.to_string() + &"[[path.hop]]\nlink = \"5mbit\"\n".repeat(hops);
    assert_eq!(case(&text(16)).scenario.hops.len(), 16);
    let error = Study::parse("my.toml", &text(17), &Overrides::default()).unwrap_err().to_string();
    assert_eq!(error, "my.toml: line 36: path.hop: 17 hops are too many; expected at most 16");
}

#[test]
fn words_for_nothing() {
    let case = case(
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\n[[flow]]\naccess = \"infinite\"\n[run]\nseries = \"off\"",
    );
    assert!(case.scenario.uplink.is_none() && case.scenario.series.is_none());
    assert_eq!(case.scenario.flows[0].access, None);
    assert_eq!(case.resolved["run"]["series"], "off");
}

/// What the command line takes as text, and the same as a table.
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
        assert_eq!(text.resolved, table.resolved);
    }
    let link = |value: &str| format!("{:?}", link(&case(&format!("[path]\nlink = {value}\n[[flow]]"))));
    assert_eq!(link("\"htb:rate=5mbit:burst=3kb\""), link("{ htb = { rate = \"5mbit\", burst = \"3kb\" } }"));
    assert_eq!(link("\"5mbit:overhead=14\""), link("{ rate = { rate = \"5mbit\", overhead = 14 } }"));
}

#[test]
fn axes_stand_in_the_order_of_the_file_and_the_seed_changes_fastest() {
    let text = r#"
        [[flow]]
        name = "video"
        [[flow]]
        name = "file"
        [path]
        link = "10mbit"
        [run]
        seeds = [5, 3]
        starts = "fixed"
        [matrix]
        path.qdisc = ["taildrop", { label = "BoDe 20 ms", value = "bode:target=20ms" }, { codel = { target = "1ms" } }]
        flow.transport = ["cubic", "bbr"]
        path.rtt = ["10ms"]
        flow.file.transport = ["reno"]
        [[matrix.variant]]
        label = "A"
        path.limit = 50
        flow.video.dscp = "ef"
        flow.start = "1s"
        [[matrix.variant]]
        label = "B"
        run.duration = "30s"
    "#;
    let study = study(text);
    let axes: Vec<(&str, usize)> =
        study.axes.iter().map(|axis| (axis.name.as_str(), axis.labels.len())).collect();
    let wanted = [
        ("path.qdisc", 3),
        ("flow.transport", 2),
        ("path.rtt", 1),
        ("flow.file.transport", 1),
        ("variant", 2),
        ("seed", 2),
    ];
    assert_eq!(axes, wanted);
    assert_eq!(study.axes[0].labels, ["taildrop", "BoDe 20 ms", "codel:target=1ms"]);
    assert_eq!(study.case_count(), 24);
    let library = Library::new();
    study.check(&library).unwrap();
    let all: Vec<Case> = (0..24).map(|index| study.case(index, &library).unwrap()).collect();
    assert_eq!(all[0].id, "00-taildrop-cubic-a-5");
    assert_eq!(all[1].labels, ["taildrop", "cubic", "10ms", "reno", "A", "3"]);
    assert_eq!(all[2].labels, ["taildrop", "cubic", "10ms", "reno", "B", "5"]);
    assert_eq!(all[4].labels[1], "bbr");
    assert_eq!(all[8].id, "08-bode-20-ms-cubic-a-5");
    assert_eq!(all[23].id, "23-codel-target-1ms-bbr-b-3");
    assert_eq!(study.index_of(&[("variant", "B"), ("flow.transport", "bbr")]), Some(6), "else the first");
    assert_eq!((study.index_of(&[("variant", "C")]), study.index_of(&[("cell.mac", "pf")])), (None, None));
    for (index, case) in all.iter().enumerate() {
        let is_a = case.labels[4] == "A";
        assert_eq!(case.index, index as u64);
        let labels = study.axes.iter().zip(&case.labels).map(|(axis, label)| (&*axis.name, &**label));
        assert_eq!(study.index_of(&labels.collect::<Vec<_>>()), Some(case.index));
        assert_eq!(case.scenario.flows[0].typed, case.labels[1], "for all flows");
        assert_eq!(
            case.scenario.flows[1].typed, "reno",
            "what is said for one stands over what is said for all"
        );
        assert_eq!(
            (case.scenario.flows[0].dscp, case.scenario.flows[1].dscp),
            (if is_a { 46 } else { 0 }, 0)
        );
        assert_eq!(case.scenario.flows[1].start, Span::from_secs(u64::from(is_a)));
        assert_eq!(case.resolved["path"]["limit"], if is_a { json!(50) } else { json!(null) });
        assert_eq!(qdisc(case).get(&LIMIT), if is_a { 50 } else { 1000 });
        assert_eq!(case.scenario.duration, Span::from_secs(if is_a { 60 } else { 30 }));
        assert_eq!(case.scenario.seed.to_string(), case.labels[5]);
    }
    let ids: std::collections::BTreeSet<&str> = all.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), 24);
    assert!(study.case(24, &library).is_err());
}

#[test]
fn order_follows_the_file_also_where_variants_come_first() {
    let text = format!(
        "{SMALL}[[matrix.variant]]\nlabel = \"A\"\n[[matrix.variant]]\nlabel = \"B\"\n[matrix.run]\nprobe = [true, false]\n\
        [matrix.path]\nrtt = [\"1ms\", \"2ms\"]\n"
    );
    let names: Vec<String> = study(&text).axes.into_iter().map(|axis| axis.name).collect();
    assert_eq!(names, ["variant", "run.probe", "path.rtt", "seed"]);
}

#[test]
fn a_million_cases_cost_nothing_until_they_are_asked_for() {
    let hundred = |unit: &str| (1..=100).map(|n| format!("\"{n}{unit}\"")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "{SMALL}[matrix]\npath.rtt = [{}]\npath.jitter = [{}]\nflow.extra_rtt = [{}]\n",
        hundred("ms"),
        hundred("us"),
        hundred("ms")
    );
    let study = study(&text);
    assert_eq!(study.case_count(), 1_000_000);
    let last = study.case(999_999, &Library::new()).unwrap();
    assert_eq!(last.id, "999999-100ms-100us-100ms");
    assert_eq!(last.scenario.flows[0].extra_rtt, Span::from_millis(100));
    assert_eq!(study.case(123_456, &Library::new()).unwrap().labels, ["13ms", "35us", "57ms", "1"]);
    let nine = text.replace("[matrix]\n", &format!("[matrix]\npath.limit = [{}]\n", numbers(10_000)));
    assert_eq!(self::study(&nine).case_count(), 10_000_000_000);
    let many = format!(
        "{nine}flow.start = [{0}]\nflow.spread = [{0}]\nflow.count = [{1}]\nrun.min_packet_bytes = [{1}]\n[run]\nseeds = \"1..10000\"\n",
        (1..=100).map(|n| format!("\"{n}us\"")).collect::<Vec<_>>().join(", "),
        numbers(1_000)
    );
    let error = Study::parse("m", &many, &Overrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "m: matrix: more than 2^64 cases; expected fewer axes or values");
}

fn numbers(n: u32) -> String {
    (1..=n).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_command_line_stands_over_the_file() {
    let text = format!("{SMALL}[run]\nseeds = [1, 2]\nduration = \"60s\"\n");
    let overrides = Overrides {
        seeds: Some(vec![9, 4, 5]),
        duration: Some(Span::from_nanos(1_234_567_891)),
        ..Overrides::default()
    };
    let study = Study::parse("demo/x", &text, &overrides).unwrap();
    assert_eq!((study.name.as_str(), study.axes[0].labels.join(" ").as_str()), ("demo/x", "9 4 5"));
    let case = study.case(1, &Library::new()).unwrap();
    assert_eq!((case.scenario.seed, case.scenario.duration.as_nanos()), (4, 1_234_567_891));
    assert_eq!(case.resolved["run"]["duration"], "1234567891ns");
}

#[test]
fn expectations() {
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
        over = "geomean"
        versus = { path.limit = [10, 20] }
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
        (first.over, first.best, first.versus["path.limit"].join(" ")),
        (Over::Geomean, Best::Max, "10 20".into())
    );
    assert_eq!(
        (first.low, first.high, first.paper, first.unit.as_str()),
        (Some(0.0), Some(0.5), Some(0.1), "ratio")
    );
    assert_eq!((second.claim.as_str(), second.over, second.high), ("d", Over::Mean, None));
    assert!(second.select.is_empty() && second.versus.is_empty() && second.normalise.is_empty());
}

fn on_trace(library: &Library, name: &str) -> Result<Case, InputError> {
    let text = format!("[path]\ntrace = \"{name}\"\n[[flow]]\n[fallback]\n\"gone\" = \"synth-subway\"\n");
    Study::parse("s.toml", &text, &Overrides::default())?.case(0, library)
}

#[test]
fn traces_are_looked_for_in_order() {
    let (beside, extra) = (Folder::new("beside"), Folder::new("extra"));
    beside.write("both.down", "1\n2\n");
    extra.write("both.down", "1\n2\n3\n");
    extra.write("deep/only.down", "5\n");
    extra.write("synth-subway", "7\n");
    extra.write("bad", "5\nx\n");
    extra.write("table.csv", "a,b\n1,2\n");
    let library = Library::new().beside(beside.path()).folder(extra.path());
    let digest = |name: &str| on_trace(&library, name).unwrap().traces[name].digest.clone();
    let alone = Library::new().beside(extra.path());
    let other = on_trace(&alone, "both.down").unwrap().traces["both.down"].digest.clone();
    assert_ne!(digest("both.down"), other, "beside the scenario comes first");
    assert_eq!(digest("deep/only.down").len(), 16);
    assert_eq!(
        digest("synth-subway"),
        on_trace(&Library::new(), "synth-subway").unwrap().traces["synth-subway"].digest
    );
    let stands_in = on_trace(&library, "gone").unwrap();
    assert_eq!(stands_in.traces["synth-subway"].stands_in_for.as_deref(), Some("gone"));
    assert_eq!(stands_in.resolved["path"]["trace"], "gone");
    extra.write("gone", "9\n");
    let found = Library::new().folder(extra.path());
    assert_eq!(on_trace(&found, "gone").unwrap().traces["gone"].stands_in_for, None);
    let error = |name: &str| on_trace(&library, name).unwrap_err().to_string();
    assert!(
        error("bad").starts_with("s.toml: line 2: path.trace: ") && error("bad").contains("bad: line 2: ")
    );
    assert!(error("table.csv").contains("give trace_format csv:column=NAME"));
    assert!(error("deep").contains("is a folder"));
    assert!(error("nowhere").contains("no trace 'nowhere'"));
}

#[test]
fn a_library_serves_several_threads() {
    let text = "[path]\ntrace = \"synth-subway\"\n[[flow]]\n[run]\nseeds = \"1..40\"\n";
    let (study, library) = (study(text), Library::new());
    let ids: Vec<String> = std::thread::scope(|scope| {
        let (study, library) = (&study, &library);
        let parts: Vec<_> = (0..4)
            .map(|part| {
                scope.spawn(move || {
                    (part * 10..part * 10 + 10)
                        .map(|index| study.case(index, library).unwrap().id)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert_eq!((ids.len(), ids[0].as_str(), ids[39].as_str()), (40, "00-1", "39-40"));
}

#[test]
fn the_direction_of_a_flow_is_an_axis() {
    let text = "[path]\nlink = \"10mbit\"\n[[flow]]\n[matrix]\nflow.direction = [\"down\", \"up\"]";
    let study = Study::parse("my.toml", text, &Overrides::default()).unwrap();
    let library = Library::new();
    let is_upload = |index| study.case(index, &library).unwrap().scenario.flows[0].is_upload;
    assert_eq!((study.case_count(), is_upload(0), is_upload(1)), (2, false, true));
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
    assert!(case("").is_none() && case("reorder_by = \"5ms\"\nloss = \"0%\"").is_none());
    let keys = "loss = { gilbert-elliott = { p = \"1%\", r = \"25%\", good = \"0.1%\" } }\nreorder = \"2%\"\n\
                reorder_by = \"5ms\"\nduplicate = \"0.5%\"\nuplink_loss = \"3%\"";
    let Impairments { down, up } = case(keys);
    assert_eq!(down.loss, LossModel::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.001 });
    assert_eq!((down.reorder, down.reorder_by, down.duplicate), (0.02, Span::from_millis(5), 0.005));
    assert_eq!(up, ImpairmentSpec { loss: LossModel::Random(0.03), ..ImpairmentSpec::default() });
}
