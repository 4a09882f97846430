//! Invalid scenarios, each with its error of one line.

mod cell_uplink;
mod expect;
mod flow;
mod matrix;
mod path;
mod renamed;
mod run;
mod whole;

use qdelay_core::Span;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// A valid scenario of five lines, which most cases extend.
const BASE: &str = "[path]\nlink = \"10mbit\"\n\n[[flow]]\nname = \"file\"\n";

/// The error of a scenario, in parsing or in its checks; checked to be one line.
fn error(text: &str) -> String {
    error_with(text, &Overrides::default())
}

fn error_with(text: &str, overrides: &Overrides) -> String {
    let study = Study::parse("my.toml", text, overrides);
    let error = study.and_then(|study| study.check(&Library::new())).expect_err(text);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// Bad scenarios with their errors.
const BAD: [&[(&str, &str)]; 7] =
    [whole::BAD, path::BAD, flow::BAD, cell_uplink::BAD, run::BAD, matrix::BAD, expect::BAD];

#[test]
fn each_invalid_scenario_has_its_error() {
    let names: Vec<&str> = qdelay_core::qdisc::COMPONENTS.iter().map(|component| component.name).collect();
    let qdiscs = names.join(", ");
    // The list of measures grows with every new field, so it is replaced by a placeholder.
    let unknown = error(&format!("{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"-\"\nlow = 1"));
    let measures = unknown.rsplit("one of ").next().unwrap_or_default().to_string();
    assert!(measures.contains("queue_delay_ms, "));
    let mut wrong = Vec::new();
    for (text, wanted) in BAD.into_iter().flatten() {
        let text = text.replace("{BASE}", BASE);
        let wanted = wanted.replace("{QDISCS}", &qdiscs);
        let found = error(&text).replace(&measures, "{MEASURES}");
        if found != wanted {
            wrong.push(format!("{text}\n  found  {found}\n  wanted {wanted}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn overrides_are_checked() {
    let seeds = |seeds| Overrides { seeds: Some(seeds), duration: None, ..Overrides::default() };
    let duration =
        |seconds| Overrides { seeds: None, duration: Some(Span::from_secs(seconds)), ..Overrides::default() };
    let base = format!("{BASE}start = \"5s\"\n");
    let found = [
        error_with(&base, &seeds(vec![])),
        error_with(&base, &seeds(vec![1, 1])),
        error_with(&base, &duration(4)),
        error_with(&base, &duration(0)),
        error_with(&base, &duration(90_000)),
        error_with(&format!("{base}[matrix]\nrun.duration = [\"10s\"]"), &duration(20)),
    ];
    let wanted = [
        "my.toml: run.seeds: 0 seeds; expected 1 to 10000",
        "my.toml: run.seeds: seed 1 is given twice; expected each once",
        "my.toml: line 6: flow.start: starts at up to 5s in a run of 4s; expected an earlier start",
        "my.toml: run.duration: '0s': out of range; expected 1ms to 1440min",
        "my.toml: run.duration: '90000s': out of range; expected 1ms to 1440min",
        "my.toml: run.duration: the matrix varies it; expected no duration on the command line",
    ];
    assert_eq!(found, wanted);
}

/// Mistakes of users who know other programs.
#[test]
fn mistakes_of_newcomers_get_helpful_errors() {
    let table = [
        ("[path]\nlink = 10mbit\n[[flow]]", "line 2: not TOML: string values must be quoted"),
        (
            "[path]\nlink = 10\n[[flow]]",
            "line 2: path.link: found the integer 10; expected a link in quotes: a rate with its unit, such as \"10mbit\"",
        ),
        (
            "[path]\nlink = \"10Mbps\"\n[[flow]]",
            "expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit",
        ),
        (
            "[path]\nlink = \"10 mbit\"\n[[flow]]",
            "line 2: path.link: '10 mbit': a space in a rate; expected \"10mbit\"",
        ),
        (
            "[path]\nbandwidth = \"10mbit\"\n[[flow]]",
            "line 2: path.bandwidth: unknown key; {}; use 'link' instead",
        ),
        ("{BASE}[path]\nrtt = 1", "line 6: not TOML: duplicate key"),
        ("[path]\nlink = \"10mbit\"\nrtt = 20\n[[flow]]", "such as \"20ms\" or \"20s\""),
        (
            "[path]\nlink = \"10mbit\"\nrtt = \"20 ms\"\n[[flow]]",
            "expected a number with a unit of ns, us, ms, s or min, such as 20ms",
        ),
        (
            "[path]\nlink = \"10mbit\"\nrtt = \"20msec\"\n[[flow]]",
            "expected a number with a unit of ns, us, ms, s or min, such as 20ms",
        ),
        (
            "[path]\nlink = \"10mbit\"\ndelay = \"20ms\"\n[[flow]]",
            "line 3: path.delay: unknown key; {}; use 'rtt' instead",
        ),
        (
            "[path]\nlink = \"10mbit\"\naqm = \"codel\"\n[[flow]]",
            "line 3: path.aqm: unknown key; {}; use 'qdisc' instead",
        ),
        (
            "[path]\nlink = \"10mbit\"\nbuffer = 100\n[[flow]]",
            "line 3: path.buffer: unknown key; {}; use 'limit' instead",
        ),
        (
            "[path]\nlink = \"10mbit\"\nlimit = \"100kb\"\n[[flow]]",
            "line 3: path.limit: '100kb': expected a whole number of packets",
        ),
        (
            "[path]\nlink = \"10mbit\"\nqdisc = [\"codel\", \"pie\"]\n[[flow]]",
            "line 3: path.qdisc: found an array; expected one qdisc here, and several as an axis under [matrix]",
        ),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"fq-codel\"\n[[flow]]", "did you mean 'fq_codel'?"),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"CoDel\"\n[[flow]]", "did you mean 'codel'?"),
        (
            "[path]\nlink = \"10mbit\"\nqdisc = \"codel:target=5ms,interval=100ms\"\n[[flow]]",
            "parameters are separated by ':', not by ','",
        ),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"codel:ecn=true\"\n[[flow]]", "ecn=true: expected on or off"),
        (
            "[path]\nlink = \"10mbit\"\n[flow]\ntransport = \"cubic\"",
            "line 3: flow: found a table; expected tables, each under [[flow]]",
        ),
        ("[path]\nlink = \"10mbit\"\n[[flows]]", "line 3: flows: unknown key; {}; did you mean 'flow'?"),
        ("{BASE}transport = \"CUBIC\"", "did you mean 'cubic'?"),
        ("{BASE}cc = \"bbr\"", "line 6: flow.cc: unknown key; {}; use 'transport' instead"),
        (
            "{BASE}start = 5",
            "flow.start: found the integer 5; expected a duration with its unit in quotes, such as \"5ms\" or \"5s\"",
        ),
        (
            "{BASE}dscp = \"EF46\"",
            "flow.dscp: 'EF46': unknown codepoint; expected 0 to 63, or a name such as \"ef\"",
        ),
        ("{BASE}[run]\nduration = 60", "such as \"60ms\" or \"60s\""),
        ("{BASE}[run]\ntime = \"60s\"", "line 7: run.time: unknown key; {}; use 'duration' instead"),
        ("{BASE}[run]\nseed = 1", "line 7: run.seed: unknown key; {}; did you mean 'seeds'?"),
        (
            "{BASE}[matrix]\npath.qdisc = \"codel\"",
            "matrix.path.qdisc: found the string 'codel'; expected an array of one or more values",
        ),
        (
            "{BASE}[[matrix]]\npath.qdisc = [\"codel\"]",
            "line 6: matrix: found an array; expected a table, as in [matrix]",
        ),
        (
            "{BASE}[matrix]\npath.aqm = [\"codel\"]",
            "line 7: matrix.path.aqm: unknown key; {}; use 'qdisc' instead",
        ),
        (
            "[cell]\nbandwidth = 20\n[[flow]]",
            "expected one of 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz in quotes",
        ),
        ("[cell]\nscheduler = \"pf\"\n[[flow]]", "did you mean 'proportional_fair'?"),
        ("[cell]\nmcs = 10\n[[flow]]", "line 2: cell.mcs: unknown key; {}; use 'channel' instead"),
    ];
    for (text, wanted) in table {
        let found = error(&text.replace("{BASE}", BASE));
        let mut parts = wanted.split("{}").map(|part| part.to_string());
        assert!(parts.all(|part| found.contains(&part)), "{text}\n  found  {found}\n  wanted {wanted}");
    }
}
