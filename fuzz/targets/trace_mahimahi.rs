//! mahimahi's format: whole, in chunks, against a naive reading, and back through the writer; statistics and conversion.
#![no_main]

#[path = "../../crates/qdelay-trace/tests/judge/mod.rs"]
#[allow(dead_code)]
mod judge;

use libfuzzer_sys::fuzz_target;
use qdelay_core::Span;
use qdelay_trace::{convert, info, mahimahi};

fuzz_target!(|text: &[u8]| {
    judge::mahimahi(text, qdelay_trace::schedule::OPPORTUNITIES_MAX, &qdelay_fuzz::cuts(text));
    judge::mahimahi(text, qdelay_fuzz::digest(text) % 50, &[]);
    if let Ok(schedule) = mahimahi::parse(text) {
        let info = info::of_schedule(&schedule);
        assert!(info.longest_gap <= info.duration && info.outage <= info.duration);
        // A window of a millisecond over 49 days is a step for each.
        if u64::from(schedule.period_ms()) < 1_000_000 {
            let rates = convert::to_rates(&schedule, Span::from_millis(100)).expect("a window above zero");
            judge::rates(&rates);
        }
    }
});
