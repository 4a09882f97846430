//! The capacities of the 5G QoS thesis: whole, in chunks, back, as CQIs and as the channel of a UE.
#![no_main]

#[path = "../../crates/qdelay-trace/tests/judge/mod.rs"]
#[allow(dead_code)]
mod judge;

use libfuzzer_sys::fuzz_target;
use qdelay_core::{Span, Time};
use qdelay_ran::radio::{Capacity, Channel, Reported};
use qdelay_ran::tables::Carrier;
use qdelay_trace::capacity::{self, Tie};

fuzz_target!(|text: &[u8]| {
    judge::capacity(text, &qdelay_fuzz::cuts(text));
    let Ok(trace) = capacity::parse(text) else { return };
    let _ = (trace.cqis(Tie::Lowest), trace.cqis(Tie::Highest));
    let digest = qdelay_fuzz::digest(text);
    let span = |shift: u32| Span::from_millis((digest >> shift) % 20_000);
    let windowed = trace.window(span(0), span(20)).unwrap_or(trace);
    let (spread, repeat) = (digest >> 63 == 1, digest >> 62 & 1 == 1);
    let channel = Channel::Capacity(Capacity { trace: windowed, tick: capacity::TICK, spread, repeat });
    let carrier = Carrier::lte(25).expect("a carrier of 5 MHz");
    let tti = Span::from_millis(1);
    let mut radio = channel.start(&carrier, tti, Reported::default(), 1, "ue").expect("a channel");
    for at in 0..200 {
        let _ = radio.quality(Time::ZERO + Span::from_millis(at * at * 7));
    }
});
