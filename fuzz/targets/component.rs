//! The grammar of components, a line each: a word for the registry (`qdisc`, `pacer`, `transport`, `link`, `synth`, `scheduler`,
//! `partition`, `channel`, `rlc`, `pdcp`, `trace-format`, `seeds`), a space and the text. What is read is built; errors name what was typed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::pacer::{AnyPacer, PacerSetting};
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Span, Time};
use qdelay_path::AnyLink;
use qdelay_ran::mac::{self, Scheduler};
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::radio::{Channel, Reported};
use qdelay_ran::rlc::{Bearer, RlcSetting};
use qdelay_ran::tables::Carrier;
use qdelay_ran::{Partition, cell};
use qdelay_study::{links, scenario, traces};
use qdelay_trace::synth::{self, Synth};
use qdelay_traffic::transport::{self, TransportConfig};

/// Reads and builds; an error names what was typed and is not empty.
fn build<T>(
    registry: &[&'static Component],
    text: &str,
    build: impl FnOnce(&Arguments) -> Result<T, ComponentError>,
) -> Option<T> {
    let built = Arguments::parse(registry, text).and_then(|arguments| {
        assert_eq!(arguments.typed(), text);
        build(&arguments)
    });
    built.map_err(|error| assert!(error.typed == text && !error.message.is_empty(), "{error}")).ok()
}

fn channel(text: &str) {
    let Ok(channel) = Channel::parse(text) else { return };
    let tti = Span::from_millis(1);
    for carrier in [Carrier::lte(6), Carrier::lte(25)].into_iter().flatten() {
        let Ok(mut radio) = channel.start(&carrier, tti, Reported::default(), 1, "ue") else { continue };
        for ms in [0, 1, 2, 10, 50] {
            let _ = radio.quality(Time::ZERO + Span::from_millis(ms));
        }
    }
}

fn pdcp(text: &str) {
    let Ok(arguments) = Arguments::parse(qdelay_ran::pdcp::COMPONENTS, text) else { return };
    for rlc in [RlcSetting::transparent(), RlcSetting::lte_um(), RlcSetting::nr_am()] {
        let Ok(Some(pdcp)) = PdcpSetting::build(&arguments, &rlc.mode) else { continue };
        assert!(Bearer::new(RlcSetting { pdcp: Some(pdcp), ..rlc }).is_ok(), "{text}");
    }
}

fn rlc(text: &str) {
    let Ok(arguments) = Arguments::parse(qdelay_ran::rlc::COMPONENTS, text) else { return };
    for is_nr in [false, true] {
        if let Ok(setting) = RlcSetting::build(&arguments, is_nr) {
            let _ = Bearer::new(setting);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((kind, text)) = text.split_once(' ') else { return };
    match kind {
        "qdisc" => {
            if let Some(qdisc) = build(qdelay_core::qdisc::COMPONENTS, text, AnyQdisc::build) {
                assert_eq!(qdisc.backlog().packets, 0);
            }
        }
        "pacer" => {
            let setting = PacerSetting::default();
            build(qdelay_core::pacer::COMPONENTS, text, |arguments| AnyPacer::build(arguments, &setting));
        }
        "transport" => drop(build(transport::COMPONENTS, text, TransportConfig::build)),
        "link" => {
            drop(qdelay_path::parse_link(text).and_then(|arguments| AnyLink::build(&arguments)));
            // A long synthetic trace only takes time.
            if !text.contains("duration=") {
                drop(links::parse(text));
            }
        }
        "synth" => {
            let Ok(arguments) = Arguments::parse(&[&synth::COMPONENT], text) else { return };
            // A longer one only takes time.
            if arguments.get(&synth::DURATION) <= Span::from_secs(5) {
                let synth = Synth::from_arguments(&arguments);
                let _ = (synth.rates(), synth.schedule());
            }
        }
        "scheduler" => drop(build(mac::COMPONENTS, text, Scheduler::build)),
        "partition" => drop(build(cell::PARTITIONS, text, Partition::build)),
        "channel" => channel(text),
        "rlc" => rlc(text),
        "pdcp" => pdcp(text),
        "trace-format" => drop(traces::Format::parse(Some(text))),
        "seeds" => drop(scenario::parse_seeds(text)),
        _ => {}
    }
});
