//! Scenarios with one key at its default, at each end of its range, or with each of its choices or components.

use super::{Out, components};
use qdelay_config::{Key, Table};
use qdelay_core::component::Unit;
use qdelay_study::scenario::declare::{
    Bearer, Cell, Filter, Flow, Hop, Path, QosFlow, Run, Settings, Slice, Ue,
};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// A table of a scenario: its header, and keys with values.
type Section = (&'static str, Vec<(String, String)>);

fn sections(of: &[(&'static str, &[(&str, &str)])]) -> Vec<Section> {
    let pair = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    of.iter().map(|(header, pairs)| (*header, pairs.iter().map(pair).collect())).collect()
}

/// The least there is with a link, and with a cell.
fn least(is_cell: bool) -> Vec<Section> {
    let duration: &[(&str, &str)] = &[("duration", "\"5s\"")];
    if !is_cell {
        return sections(&[
            ("[path]", &[("link", "\"10mbit\""), ("qdisc", "\"bode\"")]),
            ("[[path.hop]]", &[("link", "\"20mbit\"")]),
            ("[[flow]]", &[("name", "\"a\"")]),
            ("[run]", duration),
        ]);
    }
    sections(&[
        ("[cell]", &[("partition", "\"fp\"")]),
        ("[[cell.slice]]", &[("name", "\"s\""), ("share", "\"50%\"")]),
        ("[[cell.ue]]", &[("channel", "\"mcs:10\"")]),
        ("[[cell.ue.bearer]]", &[("name", "\"d\""), ("slice", "\"s\"")]),
        ("[[cell.ue.bearer.qos_flow]]", &[("qfi", "2")]),
        ("[[cell.ue.bearer]]", &[("name", "\"e\""), ("slice", "\"s\"")]),
        ("[[cell.ue.bearer.qos_flow]]", &[("qfi", "1")]),
        ("[[cell.ue.bearer.filter]]", &[("precedence", "1")]),
        ("[[flow]]", &[("name", "\"a\"")]),
        ("[run]", duration),
    ])
}

/// With one bearer, without slices and filters, which not all keys go with.
fn plain_cell() -> Vec<Section> {
    sections(&[
        ("[cell]", &[]),
        ("[[cell.ue]]", &[("channel", "\"mcs:10\"")]),
        ("[[cell.ue.bearer]]", &[("name", "\"d\"")]),
        ("[[cell.ue.bearer.qos_flow]]", &[("qfi", "1")]),
        ("[[flow]]", &[("name", "\"a\"")]),
        ("[run]", &[("duration", "\"5s\"")]),
    ])
}

/// As TOML has it.
fn written(text: &str, unit: Unit) -> String {
    match (unit, text) {
        (Unit::Switch, _) => (text == "on").to_string(),
        (Unit::Text | Unit::Choice(_), _) => format!("{text:?}"),
        _ if text.parse::<f64>().is_ok() => text.to_string(),
        _ => format!("{text:?}"),
    }
}

/// Values of a key; components of a kind for the first key that takes them only, in `seen`.
fn values(key: &Key, seen: &mut Vec<String>) -> Vec<String> {
    let parameter = &key.parameter;
    let mut texts: Vec<String> = [parameter.default, parameter.min, parameter.max].map(str::to_string).into();
    if let Unit::Choice(words) = parameter.unit {
        texts.extend(words.iter().map(|word| word.to_string()));
    }
    if parameter.unit == Unit::Switch {
        texts.extend(["on", "off"].map(str::to_string));
    }
    if !seen.contains(&key.describe()) {
        seen.push(key.describe());
        texts.extend(key.components().into_iter().flat_map(components::texts));
    }
    // A synthetic trace of eleven days only takes time.
    texts.retain(|text| !text.is_empty() && !text.contains("1000000s"));
    texts.sort();
    texts.dedup();
    texts.iter().map(|text| written(text, parameter.unit)).collect()
}

/// `sections` with one key of one table set; none where it is empty.
fn with(mut sections: Vec<Section>, table: &Table, key: &str, value: &str) -> String {
    let is_it = |header: &str| header.trim_matches(['[', ']']) == table.name && !key.is_empty();
    for (_, pairs) in sections.iter_mut().filter(|(header, _)| is_it(header)) {
        pairs.retain(|(name, _)| name != key);
        pairs.push((key.to_string(), value.to_string()));
    }
    let lines = |(header, pairs): &Section| {
        let pairs: String = pairs.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("{header}\n{pairs}")
    };
    sections.iter().map(lines).collect()
}

/// What everything is put into can be run itself.
fn check(text: &str) {
    let case =
        Study::parse("f.toml", text, &Overrides::default()).and_then(|study| study.case(0, &Library::new()));
    case.unwrap_or_else(|error| panic!("the scenario of a seed: {error}\n{text}"));
}

pub fn write(out: &Out) {
    let plain = [Path::TABLE, Hop::TABLE, Flow::TABLE, Run::TABLE].map(|table| (table, least(false)));
    let sliced =
        [Slice::TABLE, Bearer::TABLE, QosFlow::TABLE, Filter::TABLE].map(|table| (table, least(true)));
    let cell = [Cell::TABLE, Ue::TABLE, Bearer::TABLE, QosFlow::TABLE].map(|table| (table, plain_cell()));
    let mut seen = Vec::new();
    for (way, tables) in [("plain", plain), ("cell", cell), ("sliced", sliced)] {
        for (table, sections) in tables {
            check(&with(sections.clone(), table, "", ""));
            for key in table.keys {
                for (number, value) in values(key, &mut seen).iter().enumerate() {
                    let text = with(sections.clone(), table, key.parameter.name, value);
                    let name = format!("{way}-{}-{}-{number}", table.name, key.parameter.name);
                    out.seed("scenario", &name, &text);
                    out.seed("simulate", &name, &text);
                }
            }
        }
    }
}
