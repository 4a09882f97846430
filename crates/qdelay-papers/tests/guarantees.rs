//! Statements of papers that follow from the algorithm: expectations of shipped scenarios, which hold unless the program is wrong.

use qdelay_study::engine::{self, SharedSimulator};
use qdelay_study::expect::evaluate;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;

/// BoDe, section V-C: the bound on the sojourn, and the last three packets.
#[test]
fn bode_bounds_the_sojourn() {
    let text = shipped::find("bode/bound").expect("a shipped scenario");
    let study =
        Study::parse("bode/bound", text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let simulator = SharedSimulator::default();
    let cases = engine::some_in_memory(&simulator, &study, &Library::new(), 2, |_| true, &());
    let cases = cases.unwrap_or_else(|error| panic!("{error}"));
    let results = evaluate(&study.expects, &engine::axes(&study), &cases);
    assert_eq!(results.len(), 5);
    for result in results {
        assert_eq!(result.verdict, "match", "{}: {:?}", result.claim, result.ours);
    }
}
