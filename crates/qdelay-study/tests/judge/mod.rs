//! Properties of every scenario file: no panic, every error on one line, and the cases of an accepted file can be built or give
//! an error.

use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// Reads a scenario, and builds its first, middle and last case.
pub fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let study = match Study::parse("f.toml", &text, &Overrides::default()) {
        Ok(study) => study,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.starts_with("f.toml: ") && line.len() > 20, "{line}");
            return;
        }
    };
    assert!(study.case_count() >= 1 && study.axes.last().is_some_and(|axis| axis.name == "seed"));
    let library = Library::new();
    for index in [0, study.case_count() / 2, study.case_count() - 1] {
        match study.case(index, &library) {
            Ok(case) => {
                assert!(
                    case.id.len() <= 81 && case.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                );
                assert_eq!(case.labels.len(), study.axes.len());
                assert!(!case.scenario.flows.is_empty() && case.scenario.warmup < case.scenario.duration);
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
    assert!(study.case(study.case_count(), &library).is_err());
}
