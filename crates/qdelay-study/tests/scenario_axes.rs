//! Axes of a study: order, ids, number of cases, and changes by the command line.

use crate::scenario::{SMALL, qdisc, study};
use qdelay_core::Span;
use qdelay_core::qdisc::LIMIT;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use serde_json::json;

#[test]
fn axes_follow_the_file_and_the_seed_changes_fastest() {
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
        assert_eq!(case.settings["path"]["limit"], if is_a { json!(50) } else { json!(null) });
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
fn cases_are_built_only_on_request() {
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
        "{nine}flow.start = [{0}]\nflow.start_spread = [{0}]\nflow.count = [{1}]\nrun.min_packet_bytes = [{1}]\n[run]\nseeds = \"1..10000\"\n",
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
fn the_command_line_overrides_the_file() {
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
    assert_eq!(case.settings["run"]["duration"], "1234567891ns");
}

#[test]
fn the_direction_of_a_flow_is_an_axis() {
    let text = "[path]\nlink = \"10mbit\"\n[[flow]]\n[matrix]\nflow.direction = [\"down\", \"up\"]";
    let study = Study::parse("my.toml", text, &Overrides::default()).unwrap();
    let library = Library::new();
    let is_upload = |index| study.case(index, &library).unwrap().scenario.flows[0].is_upload;
    assert_eq!((study.case_count(), is_upload(0), is_upload(1)), (2, false, true));
}
