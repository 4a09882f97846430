//! The tables of drive tests, with and without outages, and windows of them; then as the channel of a UE.
#![no_main]

#[path = "../../crates/qdelay-trace/tests/judge/mod.rs"]
#[allow(dead_code)]
mod judge;

use libfuzzer_sys::fuzz_target;
use qdelay_core::{Span, Time};
use qdelay_ran::radio::{Channel, CqiTrace, Reported};
use qdelay_ran::tables::Carrier;
use qdelay_trace::{Gap, cqi};

fuzz_target!(|text: &[u8]| {
    let (cuts, digest) = (qdelay_fuzz::cuts(text), qdelay_fuzz::digest(text));
    let window = (digest % 30_000, (digest >> 32) % 30_000);
    judge::cqi(text, Gap::Hold, 10_000, window, &cuts);
    judge::cqi(text, Gap::OutageAfter(Span::from_secs(digest % 20)), 10_000, window, &cuts);
    judge::cqi(text, Gap::Hold, 5, window, &cuts);
    if let Ok(trace) = cqi::parse(text, Gap::Hold) {
        let channel = Channel::CqiTrace(CqiTrace { trace, repeat: true, mapping: None });
        let carrier = Carrier::lte(25).expect("a carrier of 5 MHz");
        let tti = Span::from_millis(1);
        let mut radio = channel.start(&carrier, tti, Reported::default(), 1, "ue").expect("a channel");
        for second in 0..100 {
            let _ = radio.quality(Time::ZERO + Span::from_secs(second * second));
        }
    }
});
