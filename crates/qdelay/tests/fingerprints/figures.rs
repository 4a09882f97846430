//! Figures of a JSON document: its numbers, each with its path, in an order independent of that of the keys.

use serde_json::Value;

/// Path and value of a figure.
pub type Figure = (String, String);

/// Objects whose keys are the case's own names, such as nodes: the keys distinguish figures of one kind.
const NAMED: [&str; 17] = [
    "bearers",
    "by_class",
    "by_slice",
    "by_ue",
    "class",
    "codepoint_delay_cdf",
    "codepoints",
    "flow",
    "group_arrival_cdf",
    "group_delay_cdf",
    "group_round_trip_cdf",
    "group_stage_cdf",
    "groups",
    "nodes",
    "slice",
    "slices",
    "ue",
];
/// Keys of the cost of a run, and of its identification.
const LEFT_OUT: [&str; 5] = ["cpu_seconds", "wall_seconds", "max_rss_mb", "schema_version", "seed"];

/// Numbers, booleans and verdicts, and null for missing figures; other texts are names.
pub fn from_json(value: &Value) -> Vec<Figure> {
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
