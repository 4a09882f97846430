//! Scenario files: TOML text to a [`Study`] and its cases.
//!
//! | file | contents |
//! | --- | --- |
//! | `declare` | declaration of every key |
//! | `values`, `component` | types of the values of keys; components as values |
//! | `read`, `named`, `hops` | the file; tables that may occur several times; `[path]` and its hops |
//! | `matrix`, `matrix_keys`, `changes` | axes and variants; the tables that their keys belong to; changes by their points |
//! | `expectations` | `[[expect]]` |
//! | `study`, `study_cases`, `study_name` | the parsed scenario; its cases; its name |
//! | `combinations` | checks over all combinations of points |
//! | `case`, `case_checks`, `case_scenario` | the settings of a case; contradictions; the simulator's scenario |
//! | `queue_and_link` | queue and link of the bottleneck or of a hop |
//! | `cell`, `cell_tables` | reading `[cell]` and the tables below it; their contents |
//! | `cell_case`, `cell_bearer`, `cell_uplink`, `cell_slices` | the simulator's cell, bearers, uplink and slices |
//! | `cell_checks`, `cell_classes`, `cell_filters`, `filter` | contradictions in a cell; QoS classes; packet filters |
//! | `cell_json` | the cell in result files |
//! | `crossed` | a study from typed values, without a file |
//! | `overrides`, `origin` | changes by the command line; their table in the scenario that a result folder keeps |
//! | `schema` | JSON Schema of scenario files |
//!
//! All values are read and checked once; a case only combines them.

mod case;
mod case_checks;
mod case_scenario;
mod cell;
mod cell_bearer;
mod cell_case;
mod cell_checks;
mod cell_classes;
mod cell_filters;
mod cell_json;
mod cell_sets;
mod cell_slices;
mod cell_tables;
mod cell_uplink;
mod changes;
mod combinations;
mod component;
mod crossed;
pub mod declare;
mod expectations;
mod filter;
mod hops;
mod matrix;
mod matrix_keys;
mod named;
pub mod origin;
pub(crate) mod overrides;
mod queue_and_link;
mod read;
pub mod schema;
mod sources;
mod study;
mod study_cases;
mod study_name;
mod values;

use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault};

pub use case::Case;
pub use case_scenario::random_start;
pub(crate) use component::build_link;
pub use crossed::{Back, Crossed, START_WITHIN};
pub use overrides::Overrides;
pub use study::Study;
pub use values::{Starts, parse_seeds};

/// An axis of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name: `path.qdisc`, `flow.transport`, `flow.video.dscp`, `variant`, `seed`.
    pub name: String,
    /// Label of each point, all different.
    pub labels: Vec<String>,
}

/// The entries of a table.
///
/// # Errors
/// The entry is not a table.
fn table(entry: &Entry) -> Result<&[Entry], Fault> {
    let expected = format!("a table, as in [{}]", entry.key);
    entry.value.table().ok_or_else(|| wrong_type(&entry.key, &entry.value, &expected))
}
