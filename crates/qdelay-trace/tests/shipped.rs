//! The shipped traces are those that the code makes, to the byte, and within their size.
//!
//! To make them anew after a wanted change: `QDELAY_REGENERATE=1 cargo test -p qdelay-trace --test main
//! shipped::`.

use qdelay_core::component::Arguments;
use qdelay_trace::shipped::{ORIGINS, find};
use qdelay_trace::{SHIPPED, info, mahimahi, synth};

fn make(origin: &str) -> String {
    let arguments = Arguments::parse(&[&synth::COMPONENT], origin).unwrap();
    let mut out = String::new();
    mahimahi::write(&synth::Synth::from_arguments(&arguments).schedule().unwrap(), &mut out).unwrap();
    out
}

#[test]
fn shipped_traces_equal_those_that_the_code_makes() {
    assert!(SHIPPED.iter().map(|(name, _)| name).eq(ORIGINS.iter().map(|(name, _)| name)));
    for (name, origin) in ORIGINS {
        let made = make(origin);
        if std::env::var_os("QDELAY_REGENERATE").is_some() {
            let path = format!("{}/traces/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(path, &made).unwrap();
        } else {
            assert!(find(name) == Some(made.as_bytes()), "{name} is not what '{origin}' makes");
        }
    }
}

#[test]
fn shipped_traces_are_small_and_readable() {
    for (name, contents) in SHIPPED {
        assert!(contents.len() < 300_000, "{name} has {} bytes", contents.len());
        let info = info::of_schedule(&mahimahi::parse(contents).unwrap());
        assert!((60.0..=120.0).contains(&info.duration.as_secs_f64()), "{name}");
        assert!(info.gaps_over_100ms > 0 && info.bins_1s.coefficient_of_variation > 0.2, "{name}: {info:?}");
    }
}
