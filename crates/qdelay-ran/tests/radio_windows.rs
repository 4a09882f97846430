//! The minute of the published capacity files that a thesis on 5G QoS used on its testbed: the figures of the
//! thesis compared with those of the files. docs/radio.md has the details.
//!
//! `QDELAY_TRACES` names the folder with `5g-thesis/`; without it the tests that compare with them are
//! skipped.

use qdelay_core::{Span, Time};
use qdelay_ran::radio::{Channel, Control, CqiTrace, Mcs, Quality, Reported};
use qdelay_ran::tables::{Carrier, CqiToMcs};
use qdelay_testing::{Need, skip};
use qdelay_trace::CapacitySteps;
use qdelay_trace::capacity::{self, Tie};

const TIES: [Tie; 2] = [Tie::Lowest, Tie::Highest];
/// Payload share of a testbed's bytes for a bulk flow: 1448 of 1500 byte packets, without MAC headers of 3
/// bytes a block.
const PAYLOAD: f64 = 1448.0 / 1500.0;

fn file(name: &str) -> CapacitySteps {
    let Some(folder) = std::env::var_os("QDELAY_TRACES").map(std::path::PathBuf::from) else {
        skip(Need::Traces, "QDELAY_TRACES names no folder");
    };
    let path = folder.join("5g-thesis").join(format!("packets_{name}.txt"));
    let Ok(text) = std::fs::read(&path) else {
        skip(Need::Traces, format_args!("QDELAY_TRACES has no 5g-thesis/packets_{name}.txt"));
    };
    capacity::parse(&text).unwrap()
}

/// Mean MCS and Mbit/s of payload of the testbed over a minute from `from` on, all TTIs full.
fn minute(trace: &CapacitySteps, from: u64, tie: Tie, mapping: CqiToMcs) -> (f64, f64) {
    let window = trace.window(Span::from_secs(from), Span::from_secs(60)).unwrap();
    let trace = window.cqis(tie).unwrap();
    let channel = Channel::CqiTrace(CqiTrace { trace, repeat: false, mapping: Some(mapping) });
    testbed(&channel, 60_000)
}

fn testbed(channel: &Channel, ttis: u64) -> (f64, f64) {
    let carrier = Carrier::lte(25).unwrap();
    let mut radio = channel.start(&carrier, carrier.slot(), Reported::default(), 1, "ue").unwrap();
    let (mut schemes, mut bytes) = (0, 0);
    for tti in 0..ttis {
        let Quality::Rung(rung) = radio.quality(Time::ZERO + carrier.slot() * tti) else { panic!() };
        let mcs = carrier.mcs_of(rung);
        schemes += u64::from(mcs);
        bytes += u64::from(carrier.block_bytes(mcs, Control::TESTBED.data_prbs(tti, 25)) - 3);
    }
    (schemes as f64 / ttis as f64, bytes as f64 * 8.0 * PAYLOAD / ttis as f64 / 1e3)
}

/// Published: 16.58 Mbit/s with Vanilla at MCS 28.
#[test]
fn a_testbed_at_mcs_28_matches_the_published_rate() {
    let (mcs, mbps) = testbed(&Channel::Mcs(Mcs(28)), 1000);
    assert_eq!(mcs, 28.0);
    assert!((mbps / 16.58 - 1.0).abs() < 0.01, "{mbps}");
}

/// Published: a mean MCS of 14.48, 6.20 Mbit/s with Vanilla. Between the lowest and highest of tied CQIs the
/// minute from second 100 matches both, as do the alternatives from 99 and 186; the minute from second 0 does
/// not.
#[test]
fn the_minute_of_the_train_matches_the_published_figures() {
    let trace = file("train");
    for (from, fits) in [(100, true), (99, true), (186, true), (0, false)] {
        let [low, high] = TIES.map(|tie| minute(&trace, from, tie, CqiToMcs::ThesisEmulator));
        println!(
            "train from {from} s: MCS {:.2} to {:.2}, {:.2} to {:.2} Mbit/s",
            low.0, high.0, low.1, high.1
        );
        assert_eq!((low.0..high.0).contains(&14.48) && (low.1..high.1).contains(&6.20), fits, "{from}");
    }
    // The sudden change near second 35: from the best channel to a poor one.
    let window = trace.window(Span::from_secs(100), Span::from_secs(60)).unwrap();
    assert_eq!(window.values()[32..36], [15, 3, 3, 2]);
}

/// Published: a mean MCS of 11.02.
#[test]
fn the_minute_of_the_pedestrian_matches_the_published_mcs() {
    let trace = file("pedestrian");
    for mapping in [CqiToMcs::ThesisEmulator, CqiToMcs::Oai] {
        let [low, high] = TIES.map(|tie| minute(&trace, 100, tie, mapping));
        println!(
            "pedestrian from 100 s, {mapping:?}: MCS {:.2} to {:.2}, {:.2} to {:.2} Mbit/s",
            low.0, high.0, low.1, high.1
        );
        assert!((low.0..high.0).contains(&11.02));
    }
}
