//! Helpers for tests of scenarios with a cell.

use qdelay_sim::CellScenario;
use qdelay_study::engine;
use qdelay_study::results::Summary;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;

pub fn study(text: &str) -> Study {
    Study::parse("my.toml", text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn case(text: &str) -> Case {
    study(text).case(0, &Library::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn cell(case: &Case) -> &CellScenario {
    case.scenario.bottleneck.as_cell().expect("a cell")
}

/// Runs all cases into the folder `out` in `folder`, with or without series files.
pub fn run(folder: &Folder, text: &str, series: bool) -> Summary {
    let out = folder.path().join("out");
    let options = engine::Options { out, jobs: 1, fresh: false, packets: false, series, commit: None };
    engine::run(&study(text), &Library::new(), &options, &()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs all cases in a temporary folder.
pub fn results(text: &str) -> Summary {
    run(&Folder::new("results"), text, false)
}
