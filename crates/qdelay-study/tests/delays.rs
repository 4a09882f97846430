//! Delays over time: a constant one is a constant, and a step moves the round trip.

use crate::common::study;
use qdelay_study::engine;
use qdelay_study::results::Summary;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;

pub fn run(text: &str, files: &[(&str, &str)]) -> Summary {
    let folder = Folder::new("delays");
    let library = files.iter().fold(Library::new(), |library, (name, contents)| {
        library.with_contents(*name, contents.as_bytes().to_vec())
    });
    let out = folder.path().join("out");
    let options = engine::Options { out, jobs: 1, fresh: false, packets: false, series: false, commit: None };
    engine::run(&study(text), &library, &options, &()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn scenario(rtt: &str, more: &str) -> String {
    format!(
        "[path]\nlink = \"20mbit\"\nqdisc = \"codel\"\nrtt = \"{rtt}\"\n{more}[[flow]]\ntransport = \"cubic\"\n[[flow]]\ntransport = \"udp:2mbit\"\n\
         [run]\nduration = \"4s\"\n"
    )
}

/// The figures of the only case, without its settings.
pub fn figures(summary: &Summary) -> String {
    let [case] = summary.cases.as_slice() else { panic!("one case") };
    format!("{:?} {:?}", case.groups, case.queue_delay_ms)
}

#[test]
fn a_constant_delay_over_time_is_a_constant() {
    let slots = "23\n".repeat(50);
    let table = "when;note;owd\n5;a;23000\n6;b;\n7,5;c;23000\n";
    let files =
        [("slots.txt", slots.as_str()), ("columns.txt", "5 46\n6 46\n7.5 46\n"), ("table.csv", table)];
    let constant = figures(&run(&scenario("46ms", ""), &[]));
    for rtt in [
        "steps:0s@46ms",
        "steps:0s@46ms+1s@46ms:repeat=3s",
        "trace:slots.txt:of=one_way",
        "trace:columns.txt",
        "trace:columns.txt:reorder=on",
        "trace:table.csv:of=one_way:format=[csv:owd:time=when:unit=us:missing=hold]",
        "trace:table.csv:scale=2:for=2s:format=[csv:owd:unit=us:missing=skip]",
    ] {
        assert_eq!(figures(&run(&scenario(rtt, ""), &files)), constant, "{rtt}");
    }
    let hop = |delay: &str| format!("[[path.hop]]\nlink = \"50mbit\"\ndelay = \"{delay}\"\n");
    let of_hop = figures(&run(&scenario("46ms", &hop("23ms")), &[]));
    for delay in ["steps:0s@23ms", "trace:slots.txt", "trace:columns.txt:of=round_trip"] {
        assert_eq!(figures(&run(&scenario("46ms", &hop(delay)), &files)), of_hop, "{delay}");
    }
}

/// The additional round trip of a flow: constant steps are a constant, and a step moves the echoes that follow.
#[test]
fn an_additional_round_trip_moves() {
    let text = |rtt: &str, extra: &str| {
        format!(
            "[path]\nlink = \"1gbit\"\nrtt = \"{rtt}\"\nuplink = \"none\"\n[[flow]]\ntransport = \"udp:1mbit:size=125b:echo=on\"\n\
             extra_rtt = \"{extra}\"\n[[flow]]\nname = \"other\"\ntransport = \"udp:1mbit:size=125b:echo=on\"\n\
             [run]\nduration = \"4s\"\nwarmup = \"0s\"\nstarts = \"fixed\"\n"
        )
    };
    let files = [("slots.txt", "15\n15\n"), ("table.csv", "t,ms\n0,30\n9,30\n")];
    let constant = figures(&run(&text("20ms", "30ms"), &[]));
    for extra in [
        "steps:0s@30ms",
        "steps:0s@30ms+1s@30ms:repeat=3s",
        "trace:slots.txt:of=one_way",
        "trace:table.csv:format=[csv:ms:time=t]",
    ] {
        assert_eq!(figures(&run(&text("20ms", extra), &files)), constant, "{extra}");
        assert_eq!(figures(&run(&text("steps:0s@20ms", extra), &files)), constant, "{extra} beside steps");
    }
    for rtt in ["20ms", "steps:0s@20ms"] {
        let summary = run(&text(rtt, "steps:0s@10ms+2s@50ms"), &[]);
        let echoes = |group: &str| summary.cases[0].groups[group].round_trip_ms.unwrap();
        let (moved, other) = (echoes("flow-1"), echoes("other"));
        assert!((moved.max - 70.0).abs() < 0.1 && (moved.mean - 50.0).abs() < 0.5, "{moved:?}");
        assert!((other.max - 20.0).abs() < 0.1, "{other:?}");
    }
}

/// Datagrams on a fast link: one-way delays are half of the round trip that holds when they leave the link.
#[test]
fn a_step_moves_each_packet_that_follows() {
    let text = "[path]\nlink = \"1gbit\"\nrtt = \"steps:0s@20ms+1s@60ms+2s@30ms\"\n[[flow]]\ntransport = \"udp:1mbit:size=125b\"\n\
                [run]\nduration = \"4s\"\nwarmup = \"0s\"\nstarts = \"fixed\"\n";
    let summary = run(text, &[]);
    let delay = &summary.cases[0].groups["flow-1"].one_way_delay_ms;
    // A second of 10 ms, one of 30, of which the last 15 ms hold up what follows, and two of 15.
    assert!((delay.p50 - 15.0).abs() < 0.02 && (delay.max - 30.0).abs() < 0.02, "{delay:?}");
    assert!((delay.mean - (10.0 + 30.0 + 2.0 * 15.0 + 0.5 * 0.015 * 15.0) / 4.0).abs() < 0.05, "{delay:?}");
}

#[test]
fn mistakes_name_their_place() {
    let error = |rtt: &str| {
        let text = scenario(rtt, "");
        let parsed = Study::parse("my.toml", &text, &Overrides::default());
        match parsed {
            Err(error) => error.to_string(),
            Ok(study) => {
                let library = Library::new()
                    .with_contents("bad.txt", b"10\nx\n".to_vec())
                    .with_contents("nought.txt", b"10\n0\n".to_vec());
                study.case(0, &library).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
            }
        }
    };
    assert!(error("slow").contains("line 4: path.rtt: 'slow'"), "{}", error("slow"));
    assert!(
        error("trace:none.txt").contains("line 4: path.rtt: no trace 'none.txt'"),
        "{}",
        error("trace:none.txt")
    );
    assert!(error("trace:bad.txt").contains("line 2") && error("trace:bad.txt").contains("path.rtt"));
    assert!(error("trace:nought.txt").contains("a round trip of 0s at some time; expected at least 1us"));
    assert!(error("0s").contains("1us to 60s"));
    assert!(error("steps:0s@20ms:repeat=0s").contains("repeat"));
}
