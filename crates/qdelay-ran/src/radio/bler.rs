//! Block error rate: the probability that a transport block is lost.
//!
//! A block sent with an MCS up to the channel's is lost at a base rate. Above that, the loss follows the curve that link
//! simulations show for any code on one fading block: a logistic function of the signal strength, where steps of the MCS are
//! about equally far apart in dB. The curve starts at the definition of the CQI (TS 36.213 7.2.3, TS 38.214 5.2.2.1), at one
//! block in ten for the channel's own MCS; with the default slope of 2.2 for each step, which is about 1 dB, the next MCS
//! loses half of its blocks, the one after that nine of ten.
//!
//! Retransmissions are evaluated in the same way and independently: the gain of combining them is not modelled here.

use super::{Quality, RadioError};

/// Loss rate in the definition of the CQI.
const DEFINED: f64 = 0.1;

/// The block error rate as a function of the distance between the MCS and the channel's MCS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bler {
    base: f64,
    slope: f64,
}

impl Default for Bler {
    fn default() -> Bler {
        Bler::NONE
    }
}

impl Bler {
    /// Default increase of the log odds of loss with each step of the MCS.
    pub const SLOPE: f64 = 2.2;
    /// No loss, except for blocks sent with an MCS above the channel's.
    pub const NONE: Bler = Bler { base: 0.0, slope: Bler::SLOPE };

    /// A loss of `base` (0 to 1) up to the channel's MCS; above it the log odds rise by `slope` (above 0) for each step.
    ///
    /// # Errors
    /// A base that is not a probability, a slope that is not above 0.
    pub fn new(base: f64, slope: f64) -> Result<Bler, RadioError> {
        if !(0.0..=1.0).contains(&base) {
            return Err(RadioError::Number { what: "block error rate", found: base, expected: "0 to 1" });
        }
        if !(slope > 0.0 && slope.is_finite()) {
            let expected = "a number above 0";
            return Err(RadioError::Number { what: "slope of the block error rate", found: slope, expected });
        }
        Ok(Bler { base, slope })
    }

    /// The loss up to the channel's MCS.
    pub(crate) fn base(&self) -> f64 {
        self.base
    }

    /// The probability that a block sent with the MCS `chosen` is lost on a channel of quality `truth`, on a carrier
    /// with a fixed number of layers. The base rate for [`Quality::Bytes`], which has no MCS; 1 in an outage.
    pub fn probability(&self, chosen: u8, truth: Quality) -> f64 {
        match truth {
            Quality::Outage => 1.0,
            Quality::Rung(rung) if chosen > rung.row() => {
                let defined = libm::log(DEFINED / (1.0 - DEFINED));
                let odds = libm::exp(defined + self.slope * f64::from(chosen - rung.row()));
                // For infinite odds the probability is one.
                let lost = if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 };
                lost.max(self.base)
            }
            Quality::Rung(_) | Quality::Bytes(_) => self.base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_is_the_base_then_half_then_nine_of_ten() {
        let bler = Bler::new(0.05, Bler::SLOPE).unwrap();
        let at = |chosen| bler.probability(chosen, Quality::mcs(10));
        assert_eq!([at(0), at(9), at(10)], [0.05; 3]);
        assert!((at(11) - 0.5).abs() < 0.01 && (at(12) - 0.9).abs() < 0.01 && at(13) > 0.98);
        assert!((10..=28).map(at).is_sorted() && at(28) <= 1.0);
        assert_eq!(bler.probability(0, Quality::Bytes(1)), 0.05);
        assert_eq!(bler.probability(0, Quality::Outage), 1.0);
    }

    #[test]
    fn the_loss_stays_between_its_base_and_one() {
        let bler = Bler::new(0.8, 1e300).unwrap();
        assert_eq!(bler.probability(1, Quality::mcs(0)), 1.0);
        let bler = Bler::new(0.8, 1e-9).unwrap();
        assert_eq!(bler.probability(1, Quality::mcs(0)), 0.8);
        assert_eq!(Bler::NONE.probability(5, Quality::mcs(5)), 0.0);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (base, slope) in [(-0.1, 1.0), (1.1, 1.0), (f64::NAN, 1.0), (0.1, 0.0), (0.1, f64::INFINITY)] {
            assert!(Bler::new(base, slope).is_err());
        }
    }
}
