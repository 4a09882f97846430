//! Words that mean something: names, keys, choices and bounds of components; keys and tables of scenarios, of a gateway's
//! configuration and of JSON; pieces of traces.

use super::{Out, components};
use qdelay_core::component::{Component, Parameter, Unit};
use qdelay_study::shipped::SCENARIOS;
use serde_json::Value;

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "1e9",
    "1e-9",
    "1e400",
    "nan",
    "inf",
    "0.5",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "00000000",
];
const VALUES: &[&str] = &[
    "on",
    "off",
    "0s",
    "1us",
    "5ms",
    "20ms",
    "584y",
    "18446744073s",
    "10mbit",
    "1bit",
    "18gbit",
    "infinite",
    "1500b",
    "64kb",
    "0s@6mbit+10s@0",
    ":",
    "=",
    "+",
    "@",
    "[",
    "]",
    ",",
];

fn words<'a>(more: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    NUMBERS.iter().copied().chain(more).map(str::to_string).collect()
}

fn of_parameter(parameter: &Parameter) -> Vec<String> {
    let choices = if let Unit::Choice(words) = parameter.unit { words } else { &[] };
    let values = [parameter.default, parameter.min, parameter.max];
    let key = format!("{}=", parameter.name);
    choices.iter().chain(&values).map(|word| word.to_string()).chain([key]).collect()
}

fn of_component(component: &Component) -> Vec<String> {
    let parameters = component.parameters.iter().flat_map(of_parameter);
    parameters.chain([component.name.to_string()]).collect()
}

/// Quoted keys of a JSON text, at any depth.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                found.push(format!("\"{key}\":"));
                keys(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// Lines that stand in several TOML files, and the keys and headers of all.
fn toml_words<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines = texts.flat_map(str::lines).map(|line| line.trim().trim_start_matches('#'));
    let word = |line: &str| match line.split_once(" = ") {
        _ if line.starts_with('[') => Some(format!("{line}\n")),
        Some((key, _)) if !key.contains(' ') => Some(format!("{key} = ")),
        _ => None,
    };
    lines.filter_map(word).collect()
}

pub fn write(out: &Out) {
    let registries = components::registries();
    let of = |kinds: &[&str]| -> Vec<String> {
        let wanted = registries.iter().filter(|(kind, _)| kinds.is_empty() || kinds.contains(kind));
        let components = wanted.flat_map(|(_, components)| components);
        components
            .flat_map(|component| of_component(component))
            .chain(words(VALUES.iter().copied()))
            .collect()
    };
    out.dictionary("component", of(&[]));
    for (target, kind) in [("qdisc", "qdisc"), ("pacer", "pacer"), ("tcp", "transport")] {
        out.dictionary(target, of(&[kind]));
    }
    let scenarios = toml_words(SCENARIOS.iter().map(|(_, text)| *text));
    let schema = include_str!("../../docs/scenario.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut declared = Vec::new();
    keys(&schema, &mut declared);
    let declared = declared.iter().map(|key| format!("{} = ", key.trim_matches(['"', ':'])));
    let scenarios: Vec<String> = scenarios
        .into_iter()
        .chain(declared)
        .chain(of(&[]))
        .chain(["\"\"\"", "[[", "]]"].map(str::to_string))
        .collect();
    out.dictionary("scenario", scenarios.clone());
    out.dictionary("simulate", scenarios);
    let gateway = toml_words([include_str!("../../packaging/gateway.toml")].into_iter());
    out.dictionary("gateway", gateway.into_iter().chain(of(&["qdisc", "link"])).collect());
    json(out);
    let traces = ["\n", "\r\n", "\r", "\t", " ", ",", "#", "\"", "\"\"", "\u{feff}", "# duration_s 5\n", "."];
    out.dictionary("trace_mahimahi", words(traces));
    out.dictionary("trace_mbps", words(traces));
    out.dictionary("trace_capacity", words(traces));
    let columns = ["t,v\n", "Timestamp,", "CQI", "2019.12.16_14.23.32", "9999.99.99_99.99.99", "-"];
    out.dictionary("trace_csv", words(traces.into_iter().chain(columns)));
    out.dictionary("trace_cqi", words(traces.into_iter().chain(columns)));
    let http = [
        "GET /",
        "POST /",
        "set",
        "cut",
        "pause",
        "restore",
        "reset",
        "status",
        "changes",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "\r\n\r\n",
        "Host: 127.0.0.1:8474\r\n",
        "Host: localhost:8474\r\n",
        "Authorization: Bearer 00112233445566778899aabbccddeeff\r\n",
        "Content-Length: ",
        "Transfer-Encoding: chunked\r\n",
        "{\"direction\":\"both\"}",
        "\"up\"",
        "{\"port\":",
        "\":\"",
        "\",\"",
        "down-",
        "up-",
        "delay",
        "jitter",
        "loss",
        "reorder",
        "duplicate",
        "corrupt",
        "hold",
        "drop",
        "off",
    ];
    out.dictionary("http_control", words(http).into_iter().chain(of(&["qdisc", "link"])).collect());
    out.dictionary(
        "resolver",
        words(["nameserver ", "search ", "options ", "fe80::1%", "::1", "127.0.0.1", "%1"]),
    );
}

/// The keys of what was written as a seed.
fn json(out: &Out) {
    for target in ["control", "results"] {
        let mut found = words(["{}", "[]", "null", "true", "false", "\"command\":", "=== "]);
        let folder = out.0.join("corpus").join(target);
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_seed = entry.file_name().to_string_lossy().starts_with("seed-");
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            for part in text.split(if target == "control" { "\n" } else { "=== " }).filter(|_| is_seed) {
                let json = part.find('{').map_or("", |at| &part[at..]);
                keys(&serde_json::from_str(json).unwrap_or_default(), &mut found);
            }
        }
        out.dictionary(target, found);
    }
}
