//! The probability that a transport block is lost: by steps of the MCS, or by its signal-to-noise ratio
//! (SNR).
//!
//! `steps` is [`Bler`](super::Bler): the loss depends on the number of steps by which the MCS exceeds the
//! channel's, and each repetition reduces that number.
//!
//! With `snr` the log odds of loss are linear in the SNR in dB: one block in ten at the threshold of its MCS,
//! which is the definition of a CQI (TS 36.213 7.2.3, TS 38.214 5.2.2.1), and `slope` less for each dB above
//! it. A receiver combines the transmissions of a block:
//!
//! * `chase`: the energies add up (Chase, IEEE Transactions on Communications 33(5), 1985); the SNR is the
//!   sum of those of all transmissions, each with the channel at its time.
//! * `ir`, incremental redundancy: the mutual information adds up, so that `1 + SNR` is the product over all
//!   transmissions. Each carries other bits of the code; the block's code rate falls with each.
//! * `none`: each transmission is judged alone.
//!
//! Loss is never below the base rate of the cell (`bler`).
//!
//! # Differences from the reference
//! * One slope for all block lengths and MCS. In link simulations curves are steeper the longer a code block
//!   is: in those of 5G-LENA the log odds fall by 1.2 to 1.7 for each dB at 24 bits, and by about 9 at 8000.
//! * Given the SNR, the loss of a repetition is drawn independently of the transmissions before it.
//! * `ir` has new bits in each repetition: the mother code never ends, and no bit is sent twice. It is an
//!   upper bound of what redundancy versions reach at code rates above a third.

use alloc::format;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

/// Loss rate at the threshold: one block in ten.
const DEFINED: f64 = 0.1;

const SLOPE: Typed<f64> =
    Typed::new("slope", "2.2", "decrease of the log odds of loss for each dB of SNR").within("0.01", "1000");
const COMBINING: Typed<str> = Typed::new("combining", "chase", "combining of repetitions in the receiver")
    .unit(Unit::Choice(&["chase", "ir", "none"]))
    .source("TS 36.212 5.1.4.1.2, TS 38.212 5.4.2.1");

static STEPS: Component = Component::new(
    Kind::Air,
    "steps",
    "the loss of a block depends on the number of steps by which its MCS exceeds the channel's",
);
static BY_SNR: Component = Component::new(
    Kind::Air,
    "snr",
    "the loss of a block depends on its SNR, and repetitions are combined by energy or information",
)
.source("TS 36.213 7.2.3, TS 38.214 5.2.2.1")
.with(&[SLOPE.parameter(), COMBINING.parameter()]);

/// Rules that decide the loss of a block.
pub static DECODINGS: &[&Component] = &[&STEPS, &BY_SNR];

/// Combining of several transmissions of a block in the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combining {
    /// The energies of the transmissions add up.
    Chase,
    /// The mutual information of the transmissions adds up.
    IncrementalRedundancy,
    /// Only the last transmission counts.
    None,
}

/// The rule that decides the loss of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Decoding {
    /// The number of steps by which the block's MCS exceeds the channel's.
    #[default]
    Steps,
    /// The block's SNR.
    Snr {
        /// Decrease of the log odds of loss for each dB, above 0.
        slope_db: f64,
        /// Combining of repetitions.
        combining: Combining,
    },
}

impl Decoding {
    /// The rule that `arguments` of one of [`DECODINGS`] describe.
    ///
    /// # Errors
    /// A component that is none of them.
    pub fn build(arguments: &Arguments) -> Result<Decoding, ComponentError> {
        match arguments.component().name {
            "steps" => Ok(Decoding::Steps),
            "snr" => Ok(Decoding::Snr {
                slope_db: arguments.get(&SLOPE),
                combining: match arguments.get(&COMBINING) {
                    "ir" => Combining::IncrementalRedundancy,
                    "none" => Combining::None,
                    _ => Combining::Chase,
                },
            }),
            name => Err(arguments.fail(format!("'{name}' is no decoding; expected steps or snr"))),
        }
    }
}

impl Combining {
    /// The SNR (as a ratio) of a block whose transmissions so far have `before`, and whose next one has `snr`.
    pub(crate) fn add(self, before: f64, snr: f64) -> f64 {
        match self {
            Combining::Chase => before + snr,
            Combining::IncrementalRedundancy => (1.0 + before) * (1.0 + snr) - 1.0,
            Combining::None => snr,
        }
    }
}

/// The largest number below one.
const NEARLY_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The probability that a block received `excess_db` above the threshold of its MCS is lost. It is below one,
/// so that a random number is drawn for each such block, and rounding does not decide how many are drawn.
pub(crate) fn loss(slope_db: f64, excess_db: f64) -> f64 {
    let odds = libm::exp(libm::log(DEFINED / (1.0 - DEFINED)) - slope_db * excess_db);
    (1.0 / (1.0 + 1.0 / odds)).min(NEARLY_ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn one_block_in_ten_is_lost_at_the_threshold() {
        assert!((loss(2.2, 0.0) - 0.1).abs() < 1e-12);
        // One dB below the threshold, the odds are e^2.2 = 9.025 times 1/9.
        assert!((loss(2.2, -1.0) - 0.500_7).abs() < 1e-4);
        assert!(loss(2.2, 10.0) < 1e-9 && loss(1000.0, 1000.0) == 0.0);
        for excess_db in [-16.0, -17.0, -18.0, -1000.0] {
            assert!((0.999_999..1.0).contains(&loss(2.2, excess_db)), "{excess_db}");
        }
    }

    /// Two equal transmissions gain 3.01 dB by energy; by information, the more the higher the SNR.
    #[test]
    fn combining_gains_by_energy_or_information() {
        let db = |combining: Combining, snr: f64| {
            10.0 * libm::log10(combining.add(combining.add(0.0, snr), snr) / snr)
        };
        assert!((db(Combining::Chase, 7.0) - 3.0103).abs() < 1e-4);
        assert!((db(Combining::IncrementalRedundancy, 1e-9) - 3.0103).abs() < 1e-4, "as chase at low SNR");
        // Expected gain: ((1 + 100)^2 - 1) / 100.
        assert!((db(Combining::IncrementalRedundancy, 100.0) - 20.0860).abs() < 1e-4);
        assert!(db(Combining::None, 7.0).abs() < 1e-12);
    }

    #[test]
    fn every_name_builds_its_rule() {
        let parse =
            |text| Arguments::parse(DECODINGS, text).and_then(|arguments| Decoding::build(&arguments));
        assert_eq!(parse("steps"), Ok(Decoding::Steps));
        let snr = |slope_db, combining| Ok(Decoding::Snr { slope_db, combining });
        assert_eq!(parse("snr"), snr(2.2, Combining::Chase));
        assert_eq!(parse("snr:combining=ir:slope=5"), snr(5.0, Combining::IncrementalRedundancy));
        assert_eq!(parse("snr:combining=none"), snr(2.2, Combining::None));
        assert!(parse("snr:slope=0").unwrap_err().to_string().contains("0.01 to 1000"));
    }
}
