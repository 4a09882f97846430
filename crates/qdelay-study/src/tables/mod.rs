//! Results as tables for data frames: a row for each case, group or flow, and a column for each figure, named by its dotted path.
//!
//! ```text
//! folder   name of the folder; with several folders only
//! case     id of the case
//! AXIS     label on each axis: path.qdisc, seed...
//! AXIS_ms  milliseconds, if every label of the axis is a time; AXIS_mbps, if every label is a rate
//! same_run_as  the case of another seed with an equal run, if there is one
//! trustworthy  with a real clock: true if the audit found no problem
//! changes  with a real clock: number of changes made to the path by hand, if there were any
//! group    in rows of groups: the entry of [[flow]]
//! FIGURE   queue_delay_ms.p99, groups.video.loss_ratio...
//! ```
//!
//! Columns stand in the order in which figures are declared. A figure that a row lacks is missing there: an empty field or null.
//! The type of a column is that of its values: integer, float, boolean or text.

mod csv;
mod parquet;

use crate::results::{CaseSummary, Entity, FlowFigures, GroupFigures, Summary};
use crate::same_runs;
use qdelay_core::Rate;
use qdelay_core::units::{parse_rate, parse_span};
use qdelay_record::entity::{Field, Shape};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

pub use csv::{csv, csv_field};
pub use parquet::write as write_parquet;

/// Name of the column with the case that has an equal run.
const SAME_RUN: &str = "same_run_as";

/// Kind of item that has a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// A row for each case.
    #[default]
    Cases,
    /// A row for each entry of `[[flow]]` of each case; figures without the prefix `groups.NAME`.
    Groups,
    /// A row for each flow of each case.
    Flows,
}

/// A table of columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns, each with a different name.
    pub columns: Vec<Column>,
    /// The number of rows.
    pub rows: usize,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Description, with the unit.
    pub about: String,
    /// Values, one for each row.
    pub cells: Cells,
}

/// Values of one type; `None` if the row lacks the value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Booleans.
    Switch(Vec<Option<bool>>),
    /// Integers.
    Whole(Vec<Option<i64>>),
    /// Floats.
    Number(Vec<Option<f64>>),
}

/// The table of these results, with rows of the given kind; each summary stands with the name of its folder.
pub fn result_table(results: &[(&str, &Summary)], rows: Rows) -> Table {
    let mut builder = Builder::default();
    for (folder, summary) in results {
        let kinds: Vec<Quantity> =
            summary.axes.iter().map(|axis| Quantity::from_labels(&axis.labels)).collect();
        let firsts = same_runs::first_equals(&summary.cases);
        for (place, case) in summary.cases.iter().enumerate() {
            // The same key columns stand in front of the figures of every kind of row.
            let keys = |builder: &mut Builder| {
                if results.len() > 1 {
                    builder.set("folder", "Name of the result folder.", Value::from(*folder));
                }
                builder.set("case", "Id of the case.", Value::from(case.id.as_str()));
                for (axis, kind) in summary.axes.iter().zip(&kinds) {
                    if let Some(label) = case.labels.get(&axis.name) {
                        kind.set(builder, &axis.name, label);
                    }
                }
                let first = summary.cases.get(firsts[place]).filter(|_| firsts[place] != place);
                let about = "Case of another seed with an equal run; together they are one observation.";
                builder.set(
                    SAME_RUN,
                    about,
                    first.map_or(Value::Null, |first| Value::from(first.id.as_str())),
                );
                if let Some(trustworthy) = case.trustworthy {
                    builder.set(
                        "trustworthy",
                        "True if the audit of the real clock found no problem.",
                        Value::from(trustworthy),
                    );
                }
                if case.changes > 0 {
                    let about = "Changes made to the path by hand while the case ran.";
                    builder.set("changes", about, Value::from(case.changes));
                }
            };
            builder.rows_of(case, rows, &keys);
        }
    }
    builder.finish()
}

/// Kind of quantity that the labels of an axis are.
enum Quantity {
    Time,
    Rate,
    Whole,
    Number,
    Text,
}

impl Quantity {
    fn from_labels(labels: &[String]) -> Quantity {
        let are = |is: &dyn Fn(&String) -> bool| !labels.is_empty() && labels.iter().all(is);
        let number = |label: &String| label.parse::<f64>().is_ok_and(f64::is_finite);
        if are(&|label| label.parse::<i64>().is_ok()) {
            Quantity::Whole
        } else if are(&number) {
            Quantity::Number
        } else if are(&|label| parse_span(label).is_ok()) {
            Quantity::Time
        } else if are(&|label| parse_rate(label).is_ok()) {
            Quantity::Rate
        } else {
            Quantity::Text
        }
    }

    fn set(&self, builder: &mut Builder, axis: &str, label: &str) {
        let about = format!("Label on the axis {axis}.");
        let value = match self {
            Quantity::Whole => label.parse::<i64>().map_or(Value::Null, Value::from),
            Quantity::Number => label.parse::<f64>().map_or(Value::Null, Value::from),
            _ => Value::from(label),
        };
        builder.set(axis, &about, value);
        match self {
            Quantity::Time => {
                let milliseconds = parse_span(label).map(|span| span.as_secs_f64() * 1e3);
                let about = format!("Label on the axis {axis}, ms.");
                builder.set(&format!("{axis}_ms"), &about, milliseconds.map_or(Value::Null, Value::from));
            }
            Quantity::Rate => {
                let finite = parse_rate(label).ok().filter(|rate| *rate != Rate::INFINITE);
                let megabits = finite.map(|rate| rate.as_bps() as f64 / 1e6);
                let about = format!("Label on the axis {axis}, Mbit/s.");
                builder.set(&format!("{axis}_mbps"), &about, megabits.into());
            }
            _ => {}
        }
    }
}

/// A table under construction, row by row.
#[derive(Default)]
struct Builder {
    places: BTreeMap<String, usize>,
    columns: Vec<(String, String, Vec<Value>)>,
    rows: usize,
}

impl Builder {
    /// Adds the rows of a case; `keys` adds the key columns in front of the figures of each row.
    fn rows_of(&mut self, case: &CaseSummary, rows: Rows, keys: &dyn Fn(&mut Builder)) {
        match rows {
            Rows::Cases => {
                keys(self);
                self.figures(&case.measures);
                self.rows += 1;
            }
            Rows::Groups => {
                for (name, group) in &case.groups {
                    keys(self);
                    self.set("group", "Entry of [[flow]].", Value::from(name.as_str()));
                    self.figures::<GroupFigures>(group);
                    self.rows += 1;
                }
            }
            Rows::Flows => {
                for flow in &case.flows {
                    keys(self);
                    self.figures::<FlowFigures>(flow);
                    self.rows += 1;
                }
            }
        }
    }

    fn figures<T: Entity + Serialize>(&mut self, entity: &T) {
        // Results consist of numbers and texts, so serialization cannot fail.
        let Ok(file) = serde_json::to_value(entity) else { return };
        self.walk(T::shape(), "", "", &file);
    }

    fn walk(&mut self, shape: Shape, path: &str, about: &str, value: &Value) {
        let below = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        match shape {
            Shape::Number | Shape::Text => self.set(path, about, value.clone()),
            Shape::Fields(_, fields) => fields.iter().for_each(|Field { name, about: own, shape }| {
                if let Some(value) = value.get(name) {
                    let about = format!("{about} {}", own.trim());
                    self.walk(shape(), &below(name), about.trim(), value);
                }
            }),
            Shape::Named(of) => value.as_object().into_iter().flatten().for_each(|(name, value)| {
                self.walk(of(), &below(name), about, value);
            }),
            // Elements of a list have no names; flows have rows of their own.
            Shape::List(_) => {}
        }
    }

    /// Sets a value in the current row.
    fn set(&mut self, name: &str, about: &str, value: Value) {
        let place = *self.places.entry(name.to_string()).or_insert_with(|| {
            self.columns.push((name.to_string(), about.to_string(), Vec::new()));
            self.columns.len() - 1
        });
        let values = &mut self.columns[place].2;
        // Fills earlier rows that lack the column. A name that occurs twice in a row keeps its first value.
        values.resize(self.rows.max(values.len()), Value::Null);
        if values.len() == self.rows {
            values.push(value);
        }
    }

    fn finish(self) -> Table {
        let rows = self.rows;
        let column = |(name, about, mut values): (String, String, Vec<Value>)| {
            values.resize(rows, Value::Null);
            Column { name, about, cells: cells(values) }
        };
        // A column without values has no type and is dropped, except the one that programs use to skip equal runs.
        let is_kept = |(name, _, values): &(String, String, Vec<Value>)| {
            name == SAME_RUN || values.iter().any(|value| !value.is_null())
        };
        Table { columns: self.columns.into_iter().filter(is_kept).map(column).collect(), rows }
    }
}

/// The values in the narrowest type that holds all of them.
fn cells(values: Vec<Value>) -> Cells {
    let all = |is: &dyn Fn(&Value) -> bool| values.iter().filter(|value| !value.is_null()).all(is);
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    if all(&Value::is_null) || values.iter().any(Value::is_string) {
        Cells::Text(values.into_iter().map(text).collect())
    } else if all(&Value::is_i64) {
        Cells::Whole(values.iter().map(Value::as_i64).collect())
    } else if all(&Value::is_number) {
        Cells::Number(values.iter().map(Value::as_f64).collect())
    } else if all(&Value::is_boolean) {
        Cells::Switch(values.iter().map(Value::as_bool).collect())
    } else {
        Cells::Text(values.into_iter().map(text).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AxisFile, DelaySummary, Measures};

    fn summary() -> Summary {
        let case = |id: &str, rtt: &str, seed: &str, throughput_mbps: f64| {
            let labels = [("path.rtt", rtt), ("seed", seed)];
            let group = GroupFigures { flows: 2, throughput_mbps: 1.5, ..GroupFigures::default() };
            let flow = |name: &str| FlowFigures { name: name.to_string(), ..FlowFigures::default() };
            let measures = Measures {
                throughput_mbps,
                queue_delay_ms: DelaySummary { p99: 2.25, ..DelaySummary::default() },
                groups: [("a \"b\", c".to_string(), group)].into(),
                flows: vec![flow("x-1"), flow("x-2")],
                ..Measures::default()
            };
            CaseSummary {
                id: id.to_string(),
                labels: labels.map(|(axis, label)| (axis.to_string(), label.to_string())).into(),
                measures,
                ..CaseSummary::default()
            }
        };
        let axis = |name: &str, labels: [&str; 2]| AxisFile {
            name: name.to_string(),
            labels: labels.map(str::to_string).to_vec(),
        };
        let mut cases =
            vec![case("0", "20ms", "1", 1.0), case("1", "20ms", "2", 1.0), case("2", "1s", "1", 0.1)];
        cases[2].measures.drops_by_reason.insert("codel".to_string(), 7);
        Summary {
            axes: vec![axis("path.rtt", ["20ms", "1s"]), axis("seed", ["1", "2"])],
            cases,
            ..Summary::default()
        }
    }

    fn column<'a>(table: &'a Table, name: &str) -> &'a Cells {
        &table.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no {name}")).cells
    }

    #[test]
    fn a_table_of_cases_has_one_row_per_case() {
        let summary = summary();
        let table = result_table(&[("x", &summary)], Rows::Cases);
        assert_eq!(table.rows, 3);
        assert_eq!(*column(&table, "path.rtt_ms"), Cells::Number(vec![Some(20.0), Some(20.0), Some(1000.0)]));
        assert_eq!(*column(&table, "seed"), Cells::Whole(vec![Some(1), Some(2), Some(1)]));
        assert_eq!(*column(&table, "throughput_mbps"), Cells::Number(vec![Some(1.0), Some(1.0), Some(0.1)]));
        assert_eq!(*column(&table, "queue_delay_ms.p99"), Cells::Number(vec![Some(2.25); 3]));
        assert_eq!(*column(&table, "drops_by_reason.codel"), Cells::Whole(vec![None, None, Some(7)]));
        assert_eq!(*column(&table, "same_run_as"), Cells::Text(vec![None, Some("0".to_string()), None]));
        assert_eq!(*column(&table, "groups.a \"b\", c.flows"), Cells::Whole(vec![Some(2); 3]));
        assert!(
            !table.columns.iter().any(|column| column.name == "folder" || column.name.starts_with("flows"))
        );
        let names: Vec<&str> = table.columns.iter().take(4).map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["case", "path.rtt", "path.rtt_ms", "seed"]);
        let about =
            table.columns.iter().find(|column| column.name == "queue_delay_ms.p99").map(|c| c.about.as_str());
        assert_eq!(about, Some("Departure less arrival at the bottleneck. 99th percentile."));
    }

    #[test]
    fn tables_have_rows_of_groups_or_flows_and_a_folder_column() {
        let summary = summary();
        let table = result_table(&[("x", &summary), ("y", &summary)], Rows::Groups);
        assert_eq!(table.rows, 6);
        assert_eq!(*column(&table, "throughput_mbps"), Cells::Number(vec![Some(1.5); 6]));
        let Cells::Text(folders) = column(&table, "folder") else { panic!("text") };
        assert_eq!(folders[2..4], [Some("x".to_string()), Some("y".to_string())]);
        let table = result_table(&[("x", &summary)], Rows::Flows);
        assert_eq!(table.rows, 6);
        let Cells::Text(names) = column(&table, "name") else { panic!("text") };
        assert_eq!(names[1], Some("x-2".to_string()));
    }

    #[test]
    fn a_study_without_cases_gives_an_empty_table() {
        assert_eq!(result_table(&[("x", &Summary::default())], Rows::Cases), Table::default());
    }
}
