//! Errors of a channel.

use core::fmt;
use qdelay_core::Span;

/// An invalid channel, or one that does not fit its carrier, with the expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RadioError {
    /// An MCS that the carrier does not have.
    Mcs {
        /// Given MCS.
        found: u8,
        /// Highest MCS that the carrier has.
        max: u8,
    },
    /// A CQI that does not exist.
    Cqi {
        /// Given CQI.
        found: u8,
    },
    /// A mapping from CQI to MCS that was made for LTE, on an NR carrier.
    Mapping,
    /// A channel without an SNR, on a carrier with rank adaptation.
    Rank,
    /// A number out of its range.
    Number {
        /// Name of the number.
        what: &'static str,
        /// Given number.
        found: f64,
        /// The accepted values.
        expected: &'static str,
    },
    /// A time out of its range.
    Span {
        /// Name of the time.
        what: &'static str,
        /// Given time.
        found: Span,
        /// Accepted values.
        expected: &'static str,
    },
}

impl fmt::Display for RadioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RadioError::Mcs { found, max } => {
                write!(f, "the carrier has no MCS {found}; expected 0 to {max}")
            }
            RadioError::Cqi { found } => write!(f, "there is no CQI {found}; expected 1 to 15"),
            RadioError::Mapping => {
                f.write_str("the mappings oai and thesis are made for LTE; expected efficiency on NR")
            }
            RadioError::Rank => f.write_str(
                "the channel has no SNR, by which rank adaptation chooses the number of layers; expected fading, such as fading:snr=20:fast=none, or no rank adaptation",
            ),
            RadioError::Number { what, found, expected } => {
                write!(f, "the {what} is {found}; expected {expected}")
            }
            RadioError::Span { what, found, expected } => {
                write!(f, "the {what} is {found}; expected {expected}")
            }
        }
    }
}
impl core::error::Error for RadioError {}
