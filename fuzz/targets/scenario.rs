//! The reader of scenarios: TOML text to a study, and its first, middle and last case.
#![no_main]

#[path = "../../crates/qdelay-study/tests/judge/mod.rs"]
mod judge;

libfuzzer_sys::fuzz_target!(|text: &[u8]| judge::scenario(text));
