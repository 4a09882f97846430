//! PDCP as a component that users name.

use super::setting::{PdcpSetting, USUAL_OVER_AM, USUAL_OVER_UM};
use crate::rlc::Mode;
use alloc::format;
use alloc::string::String;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::units;

/// Values of `t-Reordering` in TS 38.331; infinity stands for a field that RRC omits.
const T_REORDERINGS: &[&str] = &[
    "0ms", "1ms", "2ms", "4ms", "5ms", "8ms", "10ms", "15ms", "20ms", "30ms", "40ms", "50ms", "60ms", "80ms",
    "100ms", "120ms", "140ms", "160ms", "180ms", "200ms", "220ms", "240ms", "260ms", "280ms", "300ms",
    "500ms", "750ms", "1000ms", "1250ms", "1500ms", "1750ms", "2000ms", "2250ms", "2500ms", "2750ms",
    "3000ms", INFINITY,
];
/// Values of `discardTimer`, `DiscardTimerExt-r16` and `DiscardTimerExt2-r17` in TS 38.331.
const DISCARD_TIMERS: &[&str] = &[
    "0.5ms", "1ms", "2ms", "4ms", "6ms", "8ms", "10ms", "20ms", "30ms", "40ms", "50ms", "60ms", "75ms",
    "100ms", "150ms", "200ms", "250ms", "300ms", "500ms", "750ms", "1500ms", "2000ms", INFINITY,
];
const INFINITY: &str = "infinity";

const SN_BITS: Typed<Option<&'static str>> = Typed::new(
    "sn_bits",
    "",
    "Bits of a sequence number, with a header of 2 or 3 bytes; default: 12 over LTE's RLC, 18 over NR's.",
)
.unit(Unit::Choice(&["12", "18"]));
const T_REORDERING: Typed<Option<&'static str>> = Typed::new(
    "t_reordering",
    "",
    "Time that the UE waits for a missing number; default: 100 ms over unacknowledged, 300 ms over acknowledged mode.",
)
.unit(Unit::Choice(T_REORDERINGS));
const OUT_OF_ORDER: Typed<bool> = Typed::new(
    "out_of_order_delivery",
    "off",
    "The UE delivers packets as they arrive; t_reordering then only bounds how late a packet may be.",
);
const DISCARD_TIMER: Typed<str> = Typed::new(
    "discard_timer",
    INFINITY,
    "Time behind PDCP after which a packet is discarded, unless a part of it has been sent.",
)
.unit(Unit::Choice(DISCARD_TIMERS));
const SET_DISCARD: Typed<bool> = Typed::new(
    "set_discard",
    "off",
    "A discard, or with psihi a drop at arrival, discards all packets of the PDU set (pdu-SetDiscard).",
)
.source("TS 38.323 release 18, clause 5.3");
const CIPHERING: Typed<bool> = Typed::new(
    "ciphering",
    "on",
    "on hides IP headers from nodes behind PDCP; off (NEA0): those nodes may read them and mark packets.",
);
const DROP_BEFORE: Typed<bool> = Typed::new(
    "drop_before",
    "off",
    "The queue admits an arrival before PDCP numbers it; off: after, so that a drop leaves a gap in the numbers.",
);

static IDEAL: Component = Component::new(
    Kind::Pdcp,
    "ideal",
    "Packets are numbered as they leave the queue: drops and priorities in it cause neither gaps nor disorder",
);
static STANDARD: Component = Component::new(
    Kind::Pdcp,
    "standard",
    "Packets are numbered and ciphered as they enter the queue, and the UE restores that order",
)
.source("TS 38.323 clauses 5.2 and 5.3, TS 38.331")
.with(&[
    SN_BITS.parameter(),
    T_REORDERING.parameter(),
    OUT_OF_ORDER.parameter(),
    DISCARD_TIMER.parameter(),
    SET_DISCARD.parameter(),
    CIPHERING.parameter(),
    DROP_BEFORE.parameter(),
]);

/// The kinds of PDCP.
pub static COMPONENTS: &[&Component] = &[&IDEAL, &STANDARD];

impl PdcpSetting {
    /// The setting that `arguments` of one of [`COMPONENTS`] describe, over an RLC of `mode`; `None` for the ideal one.
    ///
    /// # Errors
    /// Transparent mode, which has no PDCP; a t-Reordering without effect.
    pub fn build(arguments: &Arguments, mode: &Mode) -> Result<Option<PdcpSetting>, String> {
        if arguments.component().name == IDEAL.name {
            return Ok(None);
        }
        let (is_nr, usual) = match mode {
            Mode::Transparent { .. } => {
                return Err(String::from(
                    "packets of transparent mode have no PDCP; expected rlc = \"um\" or \"am\"",
                ));
            }
            Mode::LteUm(_) => (false, USUAL_OVER_UM),
            Mode::LteAm(_) => (false, USUAL_OVER_AM),
            Mode::NrUm(_) => (true, USUAL_OVER_UM),
            Mode::NrAm(_) => (true, USUAL_OVER_AM),
        };
        let setting = PdcpSetting {
            sn_bits: match arguments.get(&SN_BITS) {
                Some("12") => 12,
                Some(_) => 18,
                None => {
                    if is_nr {
                        18
                    } else {
                        12
                    }
                }
            },
            t_reordering: arguments.get(&T_REORDERING).map_or(usual, span),
            out_of_order_delivery: arguments.get(&OUT_OF_ORDER),
            discard_timer: span(arguments.get(&DISCARD_TIMER)),
            set_discard: arguments.get(&SET_DISCARD),
            ciphered: arguments.get(&CIPHERING),
            drops_before: arguments.get(&DROP_BEFORE),
        };
        Ok(Some(setting))
    }

    /// A warning for the user if the arguments of a PDCP contain a setting of little effect; one sentence.
    pub fn warning(arguments: &Arguments) -> Option<String> {
        let is_standard = arguments.component().name == STANDARD.name;
        let is_finite = || arguments.get(&T_REORDERING).is_some_and(|word| word != INFINITY);
        let has_both = is_standard && arguments.get(&OUT_OF_ORDER) && is_finite();
        has_both.then(|| {
            format!(
                "{} holds no packet back with {}=on: it only bounds how late a packet may come",
                T_REORDERING.name(),
                OUT_OF_ORDER.name()
            )
        })
    }
}

/// Time of a word of these lists.
fn span(word: &str) -> Span {
    units::parse_span(word).unwrap_or(Span::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::RlcSetting;
    use alloc::string::ToString;

    fn build(text: &str, rlc: RlcSetting) -> Result<Option<PdcpSetting>, String> {
        let arguments = Arguments::parse(COMPONENTS, text).map_err(|error| error.to_string())?;
        PdcpSetting::build(&arguments, &rlc.mode)
    }

    #[test]
    fn every_value_of_rrc_is_a_time() {
        for word in T_REORDERINGS.iter().chain(DISCARD_TIMERS).filter(|word| **word != INFINITY) {
            assert_ne!(span(word), Span::MAX, "{word}");
        }
        assert_eq!((span("0.5ms"), span(INFINITY)), (Span::from_micros(500), Span::MAX));
        let is_sorted = |words: &[&str]| words.iter().map(|word| span(word)).is_sorted();
        assert!(is_sorted(T_REORDERINGS) && is_sorted(DISCARD_TIMERS));
    }

    #[test]
    fn defaults_are_those_of_the_technology_and_mode() {
        let of = |rlc| build("standard", rlc).unwrap().map(|it| (it.sn_bits, it.t_reordering.as_millis()));
        assert_eq!(of(RlcSetting::nr_um()), Some((18, 100)));
        assert_eq!(of(RlcSetting::nr_am()), Some((18, 300)));
        assert_eq!(of(RlcSetting::lte_um()), Some((12, 100)));
        assert_eq!(of(RlcSetting::lte_am()), Some((12, 300)));
        assert_eq!(build("ideal", RlcSetting::transparent()), Ok(None));
    }

    #[test]
    fn other_values_are_refused_with_the_valid_ones() {
        let refused = |text, expected: &str| {
            let error = build(text, RlcSetting::nr_um()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        refused("standard:t_reordering=70ms", "0ms");
        refused("standard:t_reordering=70ms", "3000ms, infinity");
        refused("standard:discard_timer=5ms", "0.5ms");
        refused("standard:sn_bits=15", "12");
        refused("real", "ideal, standard");
        let error = build("standard", RlcSetting::transparent()).unwrap_err();
        assert!(error.contains("expected rlc = \"um\" or \"am\""), "{error}");
    }

    #[test]
    fn a_timer_that_holds_nothing_back_gets_a_warning() {
        let warning = |text| PdcpSetting::warning(&Arguments::parse(COMPONENTS, text).unwrap());
        assert!(warning("standard:out_of_order_delivery=on:t_reordering=20ms").is_some());
        assert_eq!(warning("standard:out_of_order_delivery=on"), None);
        assert_eq!(
            warning("standard:out_of_order_delivery=on:t_reordering=infinity"),
            None,
            "nothing is too late"
        );
        assert_eq!(warning("standard:t_reordering=20ms"), None);
        assert_eq!(warning("ideal"), None);
    }
}
