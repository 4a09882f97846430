//! Time division duplex (TDD): the pattern of downlink, uplink and special slots of a carrier.
//!
//! A pattern is a row of `D`, `S` and `U`, which repeats from the first slot of the run on (TS 38.213 clause
//! 11.1, TDD-UL-DL-Pattern of TS 38.331); or one of LTE's configurations 0 to 6 (TS 36.211 table 4.2-2). A
//! special slot has some downlink symbols, then a gap and uplink symbols. NR carries data in its downlink
//! symbols but the first, as in a whole slot; LTE's blocks there have the size for three quarters of their
//! resource blocks (TS 36.213 clause 7.1.7; 0.375 with 6 symbols, and nothing with 3).
//!
//! A block is acknowledged in the first uplink slot in which the UE can, and repeated in the first downlink
//! slot in which the cell can: both take as many slots as in frequency division duplex.
//!
//! # Differences from the reference
//! * LTE acknowledges by table 10.1.3.1-1 of TS 36.213. The first uplink subframe four or more later is that
//!   of the table in configurations 1, 2 and 5; in others the table puts some acknowledgements one or two
//!   uplink subframes later, to spread them.
//! * Special slots carry no acknowledgements, and NR's flexible symbols are guard.
//! * A block that was first sent in a whole slot is not repeated in a special one.

use super::RadioError;
use crate::tables::Carrier;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const PATTERN: Typed<str> = Typed::new(
    "pattern",
    "DDDSU",
    "pattern of slots: D downlink, S special, U uplink; or 0 to 6, a configuration of LTE",
)
.unit(Unit::Text);
const SPECIAL: Typed<u64> =
    Typed::new("special", "10", "downlink symbols of a special slot, of 14; with LTE 3, 6, 9, 10, 11 or 12")
        .unit(Unit::Count("symbols"))
        .within("0", "13")
        .source("TS 36.211 table 4.2-1, special subframe configuration 7");

static TDD: Component =
    Component::new(Kind::Air, "tdd", "a carrier that is downlink in some slots, and uplink in others")
        .source("TS 38.213 clause 11.1, TS 36.211 table 4.2-2")
        .with(&[PATTERN.parameter(), SPECIAL.parameter()])
        .positional("pattern");

/// Duplex schemes of a carrier.
pub static DUPLEXES: &[&Component] = &[&TDD];

/// LTE's configurations.
const CONFIGURATIONS: [&str; 7] =
    ["DSUUUDSUUU", "DSUUDDSUUD", "DSUDDDSUDD", "DSUUUDDDDD", "DSUUDDDDDD", "DSUDDDDDDD", "DSUUUDSUUD"];
/// Slots of the longest pattern: 20 ms of 125 us.
const MOST_SLOTS: usize = 160;

/// The direction of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Downlink,
    Special,
    Uplink,
}

/// A pattern of slots. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tdd {
    slots: Arc<[Slot]>,
    special_symbols: u8,
}

impl Tdd {
    /// The pattern that `arguments` of one of [`DUPLEXES`] describe.
    ///
    /// # Errors
    /// A letter that is none of D, S and U; no slot of D; no slot of U.
    pub fn build(arguments: &Arguments) -> Result<Tdd, String> {
        Tdd::new(arguments.get(&PATTERN), arguments.get(&SPECIAL) as u8)
    }

    /// The pattern of `text`, whose special slots have `special_symbols` downlink symbols.
    ///
    /// # Errors
    /// Errors of [`Tdd::build`].
    pub fn new(text: &str, special_symbols: u8) -> Result<Tdd, String> {
        let configuration = text.parse::<usize>().ok().and_then(|number| CONFIGURATIONS.get(number));
        let letters = configuration.copied().unwrap_or(text);
        let slot = |letter| match letter {
            'D' | 'd' => Ok(Slot::Downlink),
            'S' | 's' => Ok(Slot::Special),
            'U' | 'u' => Ok(Slot::Uplink),
            _ => Err(format!(
                "pattern={text}: '{letter}' is no slot; expected D, S and U, such as DDDSU, or 0 to 6"
            )),
        };
        let slots = letters.chars().map(slot).collect::<Result<Vec<Slot>, String>>()?;
        if !slots.contains(&Slot::Downlink) {
            return Err(format!("pattern={text}: no slot is downlink; expected at least one D"));
        }
        if !slots.contains(&Slot::Uplink) {
            return Err(format!(
                "pattern={text}: no slot is uplink, so no block can be acknowledged; expected at least one U"
            ));
        }
        if slots.len() > MOST_SLOTS {
            return Err(format!("pattern={text}: {} slots; expected at most {MOST_SLOTS}", slots.len()));
        }
        Ok(Tdd { slots: slots.into(), special_symbols })
    }

    /// The same slots in the other direction: uplink as downlink, and special slots without data.
    #[must_use]
    pub fn reversed(&self) -> Tdd {
        let other = |slot: &Slot| match slot {
            Slot::Downlink => Slot::Uplink,
            Slot::Special => Slot::Special,
            Slot::Uplink => Slot::Downlink,
        };
        Tdd { slots: self.slots.iter().map(other).collect(), special_symbols: 0 }
    }

    /// Slots after which the pattern repeats.
    pub fn period_slots(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn direction(&self, slot: u64) -> Slot {
        self.slots[(slot % self.slots.len() as u64) as usize]
    }

    /// Returns true if slot number `slot` is a whole downlink slot.
    #[inline]
    pub fn is_downlink(&self, slot: u64) -> bool {
        self.direction(slot) == Slot::Downlink
    }
    /// Returns true if slot number `slot` is a special slot.
    #[inline]
    pub fn is_special(&self, slot: u64) -> bool {
        self.direction(slot) == Slot::Special
    }
    /// Returns true if slot number `slot` is a whole uplink slot.
    #[inline]
    pub fn is_uplink(&self, slot: u64) -> bool {
        self.direction(slot) == Slot::Uplink
    }

    /// The carrier of special slots; `None` if they carry no data.
    ///
    /// # Errors
    /// A number of symbols that LTE does not have.
    pub fn special(&self, carrier: &Carrier) -> Result<Option<Carrier>, RadioError> {
        let symbols = self.special_symbols;
        if carrier.is_lte() && ![3, 6, 9, 10, 11, 12].contains(&symbols) {
            let (what, found) = ("number of downlink symbols of a special subframe", f64::from(symbols));
            return Err(RadioError::Number { what, found, expected: "3, 6, 9, 10, 11 or 12" });
        }
        Ok(carrier.special(symbols))
    }

    /// The first slot in which a block of slot `slot` can be repeated, where both UE and cell need `decoding`
    /// slots after one that they receive.
    pub fn repetition(&self, slot: u64, decoding: u64) -> u64 {
        let first = |from: u64, is_meant: fn(Slot) -> bool| {
            (from..).find(|&slot| is_meant(self.direction(slot))).unwrap_or(from)
        };
        let answer = first(slot.saturating_add(decoding + 1), |slot| slot == Slot::Uplink);
        first(answer.saturating_add(decoding + 1), |slot| slot == Slot::Downlink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{McsTable, Overhead};
    use qdelay_core::component::Arguments;

    fn tdd(text: &str) -> Result<Tdd, String> {
        Tdd::build(&Arguments::parse(DUPLEXES, text).unwrap())
    }

    /// Table 10.1.3.1-1 of TS 36.213: for each uplink subframe, the distance in subframes to the blocks that
    /// it acknowledges.
    #[test]
    fn answers_of_lte_are_those_of_its_table() {
        type Row<'a> = (u64, &'a [u64]);
        let table: [(&str, &[Row<'_>]); 3] = [
            ("1", &[(2, &[7, 6]), (3, &[4]), (7, &[7, 6]), (8, &[4])]),
            ("2", &[(2, &[8, 7, 4, 6]), (7, &[8, 7, 4, 6])]),
            ("5", &[(2, &[13, 12, 9, 8, 7, 5, 4, 11, 6])]),
        ];
        for (number, rows) in table {
            let tdd = tdd(&format!("tdd:{number}")).unwrap();
            for &(uplink, before) in rows {
                assert!(tdd.is_uplink(uplink));
                for before in before {
                    let sent = 20 + uplink - before;
                    assert!(!tdd.is_uplink(sent));
                    let answer = (sent + 4..).find(|&slot| tdd.is_uplink(slot)).unwrap();
                    assert_eq!(answer, 20 + uplink, "configuration {number}, block {before} before");
                    let again = tdd.repetition(sent, 3);
                    assert!(again >= answer + 4 && tdd.is_downlink(again));
                }
            }
        }
    }

    #[test]
    fn nr_answers_in_the_next_uplink_slot_that_it_can() {
        let tdd = tdd("tdd:DDDSU").unwrap();
        // Blocks of slots 0 to 2 are acknowledged in slot 4; those of slot 3 in slot 9, because a UE takes a
        // slot to decode. The repetition follows after a slot for decoding, in the next downlink slot.
        let expected = [(0, 6), (1, 6), (2, 6), (3, 11), (5, 11), (7, 11)];
        assert_eq!(expected.map(|(slot, _)| tdd.repetition(slot, 1)), expected.map(|(_, again)| again));
    }

    #[test]
    fn special_slots_carry_less() {
        let lte = Carrier::lte(25).unwrap();
        let special = |text, carrier: &Carrier| tdd(text).unwrap().special(carrier);
        // Three quarters of 25 resource blocks are 18; of one, one.
        let short = special("tdd:2", &lte).unwrap().unwrap();
        assert_eq!(short.block_bytes(28, 25), lte.block_bytes(28, 18));
        assert_eq!((short.block_bytes(9, 1), short.block_bytes(9, 0)), (lte.block_bytes(9, 1), 0));
        assert_eq!(
            special("tdd:2:special=6", &lte).unwrap().unwrap().block_bytes(28, 25),
            lte.block_bytes(28, 9)
        );
        assert!(special("tdd:2:special=3", &lte).unwrap().is_none());
        assert!(special("tdd:2:special=5", &lte).is_err());
        let nr = |symbols| {
            let overhead = Overhead { symbols, ..Overhead::default() };
            Carrier::nr(1, 51, McsTable::Qam256, 2, overhead).unwrap()
        };
        let short = special("tdd:DDDSU:special=6", &nr(13)).unwrap().unwrap();
        assert_eq!(short.block_bytes(20, 51), nr(5).block_bytes(20, 51));
        assert!(special("tdd:DDDSU:special=2", &nr(13)).unwrap().is_none());
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for (text, expected) in [
            ("tdd:UUUU", "no slot is downlink"),
            ("tdd:SU", "no slot is downlink"),
            ("tdd:DDD", "no slot is uplink"),
            ("tdd:DXU", "'X' is no slot"),
            ("tdd:7", "'7' is no slot"),
        ] {
            assert!(tdd(text).unwrap_err().contains(expected), "{text}");
        }
        assert!(tdd(&format!("tdd:{}U", "D".repeat(160))).unwrap_err().contains("161 slots"));
    }
}
