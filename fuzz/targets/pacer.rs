//! Any pacer, as its first line describes it, told anything that a bearer may tell it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::pacer::{
    AnyPacer, Ddds, Eligible, Pacer, PacerSetting, Served, Signal, SplitSetting, TddSlot,
};
use qdelay_core::{Span, Time};
use qdelay_fuzz::Input;

/// Bytes of a buffer: up to a gigabyte.
const BYTES: u32 = 30;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    // In one unit, or over F1-U.
    let round_trip = Span::from_millis(u64::from(input.byte() % 8));
    let split = SplitSetting { delay: round_trip / 2, round_trip, period: Span::from_millis(5) };
    let split = (round_trip < Span::from_millis(7)).then_some(split);
    let peak_bytes = Some(input.spread(BYTES)).filter(|bytes| bytes % 2 == 0);
    let setting = PacerSetting { split, peak_bytes, ..PacerSetting::default() };
    let Some(mut pacer) = input.line().and_then(|text| AnyPacer::parse(text, &setting).ok()) else { return };
    let mut now = Time::ZERO;
    while !input.is_empty() {
        match input.byte() % 9 {
            0 => {
                let bytes = u64::from(input.word());
                if let Eligible::At(at) = pacer.next_eligible(now, bytes) {
                    assert!(at > now, "eligible in the past");
                    if input.byte() % 2 == 0 && at < Time::NEVER {
                        now = at;
                    }
                }
            }
            1 => pacer.forwarded(now, u64::from(input.word())),
            2 => now += Span::from_nanos(input.spread(44)),
            3 => pacer.on_signal(now, Signal::Dequeued { bytes: input.spread(BYTES) }),
            4 => pacer.on_signal(now, Signal::Remaining { bytes: input.spread(BYTES) }),
            5 => pacer.on_signal(now, Signal::Capacity { bytes: input.spread(BYTES) }),
            6 => pacer.on_signal(now, Signal::Refused),
            7 => {
                let ddds = Ddds {
                    transmitted: Some(u32::from(input.word())).filter(|number| *number > 0),
                    desired_buffer_bytes: input.spread(BYTES),
                    desired_rate: Some(input.spread(BYTES)).filter(|rate| rate % 2 == 0),
                };
                pacer.on_signal(now, Signal::Delivered(ddds));
            }
            _ => {
                let slot = TddSlot {
                    carries: input.spread(BYTES) as u32,
                    next_carries: input.spread(BYTES) as u32,
                    next: Span::from_nanos(input.spread(30)),
                };
                let served = Served {
                    capacity_bytes: input.spread(BYTES),
                    sent_bytes: input.spread(BYTES),
                    remaining_bytes: input.spread(BYTES),
                    remaining_packets: input.spread(20),
                    left_packets: u32::from(input.byte()),
                    left_sojourn: Span::from_nanos(input.spread(44)),
                    tdd: Some(slot).filter(|slot| slot.carries % 2 == 0),
                };
                pacer.on_signal(now, Signal::Served(served));
            }
        }
        let _ = pacer.listens();
    }
});
