//! The Python package's own module, `qdelay._native`: the engine, with results as columns of Arrow.
//!
//! | module | contents |
//! | --- | --- |
//! | `study` | studies of options and of scenarios; their runs |
//! | `runner`, `drive`, `case` | running, watching and ending cases |
//! | `env` | simulations in steps, for `qdelay.QueueEnv` |
//! | `component` | user-defined components: Python classes, and compiled functions |
//! | `results`, `table`, `packets` | results as columns, over Arrow's C stream interface; their figures |
//! | `list` | names of components, traces and scenarios; the command |
//! | `error` | errors as exceptions of Python |
//!
//! Algorithms and engine are elsewhere: `qdelay-study` and `qdelay-sim` build and run cases, as for the command.

mod case;
mod component;
mod drive;
mod env;
mod error;
mod list;
mod packets;
mod results;
mod runner;
mod study;
mod table;

use pyo3::prelude::*;

/// Module that `import qdelay` loads.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::component::declare_law;
    #[pymodule_export]
    use super::component::{Declared, declare};
    #[pymodule_export]
    use super::drive::left_behind;
    #[pymodule_export]
    use super::env::Stepper;
    #[pymodule_export]
    use super::list::{command, components_json, link_options, renamed, traces_json};
    #[pymodule_export]
    use super::results::{Results, figure_path, palette, plot_data, plot_results, plot_title, shown_labels};
    #[pymodule_export]
    use super::study::{Archive, Study, merge, pack, read_scenario, scenarios};
    #[pymodule_export]
    use super::table::Table;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
