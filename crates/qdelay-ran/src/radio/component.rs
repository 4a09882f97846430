//! Channels that text can name: `mcs:28`, `cqi:12`, `fading:snr=15`. Those of files are built by whoever opens them.

use super::{Channel, Fading};
use crate::tables::CqiToMcs;
use alloc::format;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

/// The channels that text can name.
pub const COMPONENTS: &[&Component] = &[&MCS, &CQI, &FADING];

const NONE: Parameter =
    Parameter { name: "", unit: Unit::Text, default: "", min: "", max: "", about: "", source: "" };
const MAPPING: Parameter = Parameter {
    name: "mapping",
    unit: Unit::Choice(&["usual", "oai", "thesis", "efficiency"]),
    default: "usual",
    about: "which MCS a CQI stands for; usual: oai on LTE, efficiency on NR",
    source: "OpenAirInterface; TS 38.214 5.2.2.1",
    ..NONE
};

static MCS: Component = Component {
    kind: Kind::Channel,
    name: "mcs",
    about: "always the same modulation and coding scheme",
    source: "5G QoS thesis, section 3.6",
    parameters: &[Parameter {
        name: "mcs",
        unit: Unit::Count("MCS"),
        default: "28",
        min: "0",
        max: "28",
        about: "the scheme's index; up to 27 on an NR carrier with 256QAM",
        source: "TS 36.213 Table 7.1.7.1-1, TS 38.214 Tables 5.1.3.1-1 and -2",
    }],
    positional: Some("mcs"),
};
static CQI: Component = Component {
    kind: Kind::Channel,
    name: "cqi",
    about: "always the same channel quality indicator",
    source: "TS 36.213 7.2.3, TS 38.214 5.2.2.1",
    parameters: &[
        Parameter {
            name: "cqi",
            unit: Unit::Count("CQI"),
            default: "15",
            min: "1",
            max: "15",
            about: "the indicator",
            source: "TS 36.213 Table 7.2.3-1, TS 38.214 Tables 5.2.2.1-2 and -3",
        },
        MAPPING,
    ],
    positional: Some("cqi"),
};
static FADING: Component = Component {
    kind: Kind::Channel,
    name: "fading",
    about: "a signal with shadowing and Rayleigh fading, as a CQI",
    source: "TR 36.942 Annex A, TR 38.901 7.4.4",
    parameters: &[
        Parameter {
            name: "snr",
            unit: Unit::Number,
            default: "15",
            min: "-30",
            max: "80",
            about: "mean signal-to-noise ratio, dB",
            source: "ours: CQI 11 or so",
        },
        Parameter {
            name: "deviation",
            unit: Unit::Number,
            default: "4",
            min: "0",
            max: "40",
            about: "standard deviation of shadowing, dB",
            source: "TR 38.901 Table 7.4.1-1, UMa in line of sight",
        },
        Parameter {
            name: "memory",
            unit: Unit::Span,
            default: "5s",
            min: "1us",
            about: "time after which shadowing's correlation is 1/e",
            source: "TR 36.942: 50 m, at 10 m/s",
            ..NONE
        },
        Parameter {
            name: "fast",
            unit: Unit::Choice(&["rayleigh", "none"]),
            default: "rayleigh",
            about: "fast fading; none suits wide carriers, which even it out",
            source: "ours",
            ..NONE
        },
        Parameter {
            name: "coherence",
            unit: Unit::Span,
            default: "50ms",
            min: "1us",
            about: "time after which the correlation of fast fading's amplitude is 1/e",
            source: "ours: a pedestrian at 2 GHz",
            ..NONE
        },
        Parameter {
            name: "block",
            unit: Unit::Span,
            default: "10ms",
            min: "1us",
            about: "how long the signal stays the same",
            source: "ours",
            ..NONE
        },
        Parameter {
            name: "share",
            unit: Unit::Number,
            default: "0.75",
            min: "0.01",
            max: "1",
            about: "share of Shannon's bound that is reached",
            source: "TR 36.942 Annex A.1 (its 0.6 includes overhead that is counted elsewhere here)",
        },
        MAPPING,
    ],
    positional: None,
};

impl Channel {
    /// Reads `mcs:28`, `cqi:12`, `fading:snr=15:deviation=0`...
    ///
    /// # Errors
    /// An unknown channel or key, a value that is not of its unit or out of its range.
    pub fn parse(text: &str) -> Result<Channel, ComponentError> {
        Channel::build(&Arguments::parse(COMPONENTS, text)?)
    }

    /// Makes the channel that the arguments describe.
    ///
    /// # Errors
    /// Arguments of something that is no channel.
    pub fn build(arguments: &Arguments) -> Result<Channel, ComponentError> {
        let usual = Fading::default();
        let number = |key, default| arguments.number(key).unwrap_or(default);
        let span = |key, default| arguments.span(key).unwrap_or(default);
        // Declared ranges end at 28, so that nothing is cut.
        let index = |key, default| arguments.whole(key).and_then(|n| u8::try_from(n).ok()).unwrap_or(default);
        let mapping = || match arguments.text("mapping") {
            Some("oai") => Some(CqiToMcs::Oai),
            Some("thesis") => Some(CqiToMcs::ThesisEmulator),
            Some("efficiency") => Some(CqiToMcs::Efficiency),
            _ => None,
        };
        match arguments.component().name {
            "mcs" => Ok(Channel::Mcs(index("mcs", 28))),
            "cqi" => Ok(Channel::Cqi { cqi: index("cqi", 15), mapping: mapping() }),
            "fading" => {
                let fading = Fading {
                    snr_db: number("snr", usual.snr_db),
                    deviation_db: number("deviation", usual.deviation_db),
                    memory: span("memory", usual.memory),
                    rayleigh: arguments.text("fast") != Some("none"),
                    coherence: span("coherence", usual.coherence),
                    block: span("block", usual.block),
                    share: number("share", usual.share),
                };
                Ok(Channel::Fading { fading, mapping: mapping() })
            }
            other => Err(ComponentError {
                typed: arguments.typed().into(),
                message: format!("{other} is no channel; expected mcs, cqi or fading"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Quality, Reported};
    use super::*;
    use crate::tables::Carrier;
    use alloc::string::ToString;
    use qdelay_core::{Span, Time};

    #[test]
    fn texts() {
        assert!(matches!(Channel::parse("mcs:27"), Ok(Channel::Mcs(27))));
        assert!(matches!(Channel::parse("mcs"), Ok(Channel::Mcs(28))));
        assert!(matches!(Channel::parse("cqi:12"), Ok(Channel::Cqi { cqi: 12, mapping: None })));
        let oai = Channel::parse("cqi:12:mapping=oai");
        assert!(matches!(oai, Ok(Channel::Cqi { mapping: Some(CqiToMcs::Oai), .. })));
        let Ok(Channel::Fading { fading, mapping }) = Channel::parse("fading") else { panic!() };
        assert_eq!((fading, mapping), (Fading::default(), None));
        let text =
            "fading:snr=-5:deviation=0:fast=none:block=1ms:coherence=2ms:memory=3s:share=0.6:mapping=thesis";
        let Ok(Channel::Fading { fading, mapping }) = Channel::parse(text) else { panic!() };
        let expected = Fading {
            snr_db: -5.0,
            deviation_db: 0.0,
            memory: Span::from_secs(3),
            rayleigh: false,
            coherence: Span::from_millis(2),
            block: Span::from_millis(1),
            share: 0.6,
        };
        assert_eq!((fading, mapping), (expected, Some(CqiToMcs::ThesisEmulator)));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let message = |text| Channel::parse(text).unwrap_err().to_string();
        assert!(message("mcs:29").contains("0 to 28"));
        assert!(message("cqi:0").contains("1 to 15"));
        assert!(message("cqi:16").contains("1 to 15"));
        assert!(message("fading:share=0").contains("0.01 to 1"));
        assert!(message("fading:block=0").contains("at least 1us"));
        assert!(message("rayleigh").contains("unknown channel 'rayleigh'; known: mcs, cqi, fading"));
    }

    /// Whatever the declared ranges accept, the channel accepts.
    #[test]
    fn declared_ranges_are_valid() {
        let carrier = Carrier::lte(25).unwrap();
        for component in COMPONENTS {
            for parameter in component.parameters {
                for value in [parameter.default, parameter.min, parameter.max] {
                    if value.is_empty() {
                        continue;
                    }
                    let text = alloc::format!("{}:{}={value}", component.name, parameter.name);
                    let channel = Channel::parse(&text).unwrap();
                    let tti = Span::from_millis(1);
                    let mut radio = channel.start(&carrier, tti, Reported::default(), 1, "ue").unwrap();
                    assert!(
                        !matches!(radio.quality(Time::from_nanos(5_000_000)), Quality::Bytes(_)),
                        "{text}"
                    );
                }
            }
        }
    }
}
