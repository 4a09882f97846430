//! `[origin]`: the command-line settings of a run, at the end of the scenario in its result folder. A run of this file repeats
//! the study.

use super::overrides::{OVERRIDES, Overrides};
use super::study_name::name_below;
use super::table;
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, fault};
use qdelay_core::Span;
use qdelay_core::units::parse_span;
use std::fmt::Write;

/// Header of the table, and the comment in front of it.
const HEADER: &str = "[origin]";
const COMMENT: &str = "# What the command line said: 'qdelay run' with this file leaves the same bytes.";
/// Keys of the table.
pub fn keys() -> Vec<&'static str> {
    let overrides = OVERRIDES.iter().map(|declared| declared.key);
    ["name"].into_iter().chain(overrides).chain(["records"]).collect()
}
/// Files that a case may have besides its summaries.
pub const RECORDS: [&str; 2] = ["packets", "series"];

/// Contents of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the study.
    pub name: Option<String>,
    /// Values that replace the scenario's own.
    pub overrides: Overrides,
    /// Additional files of each case, from [`RECORDS`].
    pub records: Vec<String>,
}

impl Origin {
    /// Reads the table. It must be the last one of the file, because text behind it would be lost in the folder's copy.
    pub fn read(entry: &Entry, is_last: bool) -> Result<Origin, Fault> {
        if !is_last {
            return Err(Fault::new(
                entry.line,
                "origin",
                "is not the last table; expected nothing behind it",
            ));
        }
        // The command writes this table; errors concern files edited by hand.
        let mut origin = Origin::default();
        for Entry { key, line, value, .. } in table(entry)? {
            let path = format!("origin.{key}");
            let wrong = |message: String| Fault::new(*line, &path, message);
            let text = |expected: &str| value.text().ok_or_else(|| wrong_type(&path, value, expected));
            match key.as_str() {
                "name" => origin.name = Some(name_below(text("the study's name in quotes")?)),
                "records" => origin.records = records(value, &path)?,
                other => {
                    let declared = OVERRIDES.iter().find(|declared| declared.key == other);
                    let declared = declared.ok_or_else(|| fault::unknown(*line, &path, other, &keys()))?;
                    (declared.set)(&mut origin.overrides, text(declared.expected)?).map_err(wrong)?;
                }
            }
        }
        Ok(origin)
    }

    /// The scenario `body`, followed by the table.
    pub fn behind(&self, body: &str) -> String {
        let mut text = format!("{body}\n{COMMENT}\n{HEADER}\n");
        let mut line = |key: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{key} = {value}");
        };
        if let Some(name) = &self.name {
            line("name", quoted(name));
        }
        for declared in &OVERRIDES {
            if let Some(value) = (declared.text)(&self.overrides) {
                line(declared.key, quoted(value));
            }
        }
        if !self.records.is_empty() {
            let records: Vec<String> = self.records.iter().map(quoted).collect();
            line("records", format!("[{}]", records.join(", ")));
        }
        text
    }
}

/// The scenario without the table and its comment.
pub fn body(text: &str) -> &str {
    let place = match text.rfind(&format!("\n{HEADER}\n")) {
        Some(place) => place,
        None if text.starts_with(&format!("{HEADER}\n")) => return "",
        None => return text,
    };
    let before = &text[..place];
    before.strip_suffix(COMMENT).map_or(before, |before| before.strip_suffix('\n').unwrap_or(before))
}

/// The text of seeds, as [`parse_seeds`](super::parse_seeds) reads it.
pub fn seeds_text(seeds: &[u64]) -> String {
    let is_range = seeds.len() > 1 && seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match (is_range, seeds) {
        (true, [first, .., last]) => format!("{first}..{last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<String>>().join(","),
    }
}

/// The text of a duration, exact to the nanosecond.
pub fn duration_text(duration: Span) -> String {
    let exact = duration.to_string();
    if parse_span(&exact) == Ok(duration) { exact } else { format!("{}ns", duration.as_nanos()) }
}

fn records(value: &qdelay_config::Node, path: &str) -> Result<Vec<String>, Fault> {
    let expected = format!("a list of {}", RECORDS.map(quoted).join(" and "));
    let wrong = || wrong_type(path, value, &expected);
    let words = value.list().ok_or_else(wrong)?.iter().map(|node| node.text());
    words
        .map(|word| word.filter(|word| RECORDS.contains(word)).map(str::to_string).ok_or_else(wrong))
        .collect()
}

/// A TOML basic string.
fn quoted(text: impl AsRef<str>) -> String {
    serde_json::Value::String(text.as_ref().to_string()).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Starts, parse_seeds};

    #[test]
    fn removing_the_origin_table_restores_the_scenario() {
        let origin = Origin {
            name: Some("my \"own\"".to_string()),
            overrides: Overrides {
                seeds: Some(vec![1, 2, 3]),
                duration: None,
                starts: Some(Starts::Random),
                connections: true,
            },
            records: vec!["packets".to_string()],
        };
        for text in ["", "a = 1", "a = 1\n", "a = 1\n\n# [origin]\n", "# no end\r\n"] {
            let kept = origin.behind(text);
            assert_eq!(body(&kept), text, "{kept}");
            assert!(
                kept.contains(
                    "seeds = \"1..3\"\nstarts = \"random\"\nconnections = \"on\"\nrecords = [\"packets\"]\n"
                ),
                "{kept}"
            );
        }
        // A table written by hand has no comment.
        assert_eq!((body("a = 1\n[origin]\nname = \"b\"\n"), body("[origin]\n")), ("a = 1", ""));
    }

    #[test]
    fn seeds_are_ranges_where_they_can_be() {
        for (seeds, text) in [
            (&[7][..], "7"),
            (&[1, 2, 3], "1..3"),
            (&[3, 1], "3,1"),
            (&[u64::MAX, 0], "18446744073709551615,0"),
        ] {
            assert_eq!(seeds_text(seeds), text);
            assert_eq!(parse_seeds(text).as_deref(), Ok(seeds));
        }
    }
}
