//! Scenario files: TOML text to a [`Study`], the cases it spans.
//!
//! | file | what |
//! | --- | --- |
//! | `declare` | every key, once |
//! | `values`, `component` | types of the values of keys; components |
//! | `named`, `hops` | tables of which there are several; `[path]` and its hops |
//! | `matrix`, `changes` | axes and variants; what their points set |
//! | `expectations` | `[[expect]]` |
//! | `case` | the tables of a case, contradictions, and the simulator's scenario |
//! | `cell`, `cell_case`, `cell_slices` | `[cell]` and the tables below it; the simulator's cell; its slices |
//! | `crossed` | a study out of typed values, without a file |
//! | `origin` | what the command line said, in the scenario that a folder keeps |
//! | `schema` | JSON Schema of the whole |
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
mod queue_and_link;
mod read;
pub mod schema;
mod sources;
mod study;
mod study_cases;
mod study_name;
mod values;

pub use case::Case;
pub use case_scenario::random_start;
pub(crate) use component::build_link;
pub use crossed::{Back, Crossed, START_WITHIN};
pub use study::Study;
pub use values::{Starts, parse_seeds};

use qdelay_core::Span;

/// Changes of a scenario by the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// In place of `run.seeds`; see [`parse_seeds`].
    pub seeds: Option<Vec<u64>>,
    /// In place of `run.duration`.
    pub duration: Option<Span>,
    /// In place of `run.starts`.
    pub starts: Option<Starts>,
    /// Whether `run.connections` is on, whatever the scenario says.
    pub connections: bool,
}

impl Overrides {
    /// These changes, and where there are none those of `other`.
    fn or(self, other: &Overrides) -> Overrides {
        Overrides {
            seeds: self.seeds.or_else(|| other.seeds.clone()),
            duration: self.duration.or(other.duration),
            starts: self.starts.or(other.starts),
            connections: self.connections || other.connections,
        }
    }
}

/// An axis of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `path.qdisc`, `flow.transport`, `flow.video.dscp`, `variant`, `seed`.
    pub name: String,
    /// Its points, all different.
    pub labels: Vec<String>,
}
