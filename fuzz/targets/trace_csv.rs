//! A column of a table, with a column of times or without: whole, in chunks, and back through a writer.
#![no_main]

#[path = "../../crates/qdelay-trace/tests/judge/mod.rs"]
#[allow(dead_code)]
mod judge;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let cuts = qdelay_fuzz::cuts(text);
    judge::csv(text, true, &cuts);
    judge::csv(text, false, &cuts);
});
