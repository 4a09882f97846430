//! The first case of any scenario that can be read, simulated for a moment: no overflow, no failed audit.
//! What is only large (many flows, long files) is left out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::Span;
use qdelay_study::engine::{EngineError, Simulator};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Library> = LazyLock::new(Library::new);

fuzz_target!(|text: &str| {
    // Long scenarios are slow to read, and no more than several short ones.
    if text.len() > 6000 {
        return;
    }
    let Ok(study) = Study::parse("f.toml", text, &Overrides::default()) else { return };
    let Ok(mut case) = study.case(0, &LIBRARY) else { return };
    let scenario = &mut case.scenario;
    if scenario.flows.len() > 20 {
        return;
    }
    scenario.duration = scenario.duration.min(Span::from_millis(200));
    scenario.warmup = scenario.warmup.min(Span::from_millis(20));
    for flow in &mut scenario.flows {
        flow.start = flow.start.min(Span::from_millis(50));
    }
    match Simulator.run(&case, None) {
        Ok(ran) => assert!(ran.outcome.flows.len() >= case.scenario.flows.len()),
        Err(EngineError::Audit(message) | EngineError::Stopped(message)) => panic!("{message}"),
        Err(EngineError::Input(error)) => assert!(!error.to_string().contains('\n')),
    }
});
