//! Lines of seconds and Mbit/s: whole, in chunks, and back through the writer; conversion to opportunities.
#![no_main]

#[path = "../../crates/qdelay-trace/tests/judge/mod.rs"]
#[allow(dead_code)]
mod judge;

use libfuzzer_sys::fuzz_target;
use qdelay_trace::{convert, mbps};

fuzz_target!(|text: &[u8]| {
    judge::mbps(text, &qdelay_fuzz::cuts(text));
    if let Ok(rates) = mbps::parse(text) {
        let _ = convert::to_schedule_limited(&rates, 10_000);
    }
});
