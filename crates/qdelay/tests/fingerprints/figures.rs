//! The figures of a JSON document: its numbers, each with its path, in an order that does not depend on that of the keys.

use serde_json::Value;

/// A figure's path and its value.
pub type Figure = (String, String);

/// Objects whose keys are names of the case's own, such as those of nodes: they tell figures of one kind apart.
const NAMED: [&str; 16] = [
    "bearers",
    "by_class",
    "by_slice",
    "by_ue",
    "class",
    "codepoint_delay_cdf",
    "codepoints",
    "flow",
    "group_delay_cdf",
    "group_round_trip_cdf",
    "group_stage_cdf",
    "groups",
    "nodes",
    "slice",
    "slices",
    "ue",
];
/// What a run cost, and what says which it was.
const LEFT_OUT: [&str; 5] = ["cpu_seconds", "wall_seconds", "max_rss_mb", "schema_version", "seed"];

/// Numbers, switches and verdicts, and figures that there are none of; other texts are names.
pub fn of(value: &Value) -> Vec<Figure> {
    let mut figures = Vec::new();
    collect(value, "", "", &mut figures);
    figures
}

fn collect(value: &Value, path: &str, key: &str, figures: &mut Vec<Figure>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
                let path = match path {
                    _ if NAMED.contains(&key) => format!("{path}[{name}]"),
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                collect(field, &path, name, figures);
            }
        }
        // A curve or a series is one figure.
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (place, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{place}]"), "", figures);
            }
        }
        Value::String(_) if key != "verdict" => {}
        _ => figures.push((path.to_string(), value.to_string())),
    }
}
