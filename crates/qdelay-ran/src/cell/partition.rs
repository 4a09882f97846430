//! How a cell is divided among slices, and how users name that.

use crate::mac::Scheduler;
use crate::slice::Share;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

/// The law that gives slices their resource blocks: see [`crate::slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Each slice its share in every TTI; what it does not use is lost.
    Fixed,
    /// Slices lend and borrow, so that packets go whole: elastic quantum partition.
    Elastic {
        /// The most resource blocks that a slice may have borrowed.
        limit_rbs: u32,
    },
}

/// The quantum limit where none is given (5G QoS thesis, section 4.5.1).
pub(crate) const LIMIT_RBS: u32 = 100;

/// A slice of a cell.
#[derive(Clone, Debug)]
pub struct CellSlice {
    /// What it is called, for people.
    pub name: String,
    /// Its part of the resource blocks that carry new data.
    pub share: Share,
    /// Which of its UEs gets what of it; `None` for what the cell has. Where packets decide how much each gets
    /// ([`Partition::Elastic`]), it says whose come first among equals.
    pub scheduler: Option<Scheduler>,
    /// Its bearers, by number over all UEs.
    pub bearers: Vec<usize>,
}

/// The quantum limit of EQP, which both a partition and a scheduler have.
pub(crate) const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Count("resource blocks"),
    default: "100",
    min: "1",
    max: "1000000",
    about: "The quantum limit: what a slice may have borrowed at most; at least a resource block group.",
    source: "5G QoS thesis, section 4.5.1",
};

static FIXED: Component = Component {
    kind: Kind::Partition,
    name: "fp",
    about: "Each slice gets the whole resource block groups of its share in every TTI; what it does not use is lost.",
    source: "5G QoS thesis, section 4.4; OpenAirInterface, FlexRAN",
    parameters: &[],
    positional: None,
};
static ELASTIC: Component = Component {
    kind: Kind::Partition,
    name: "eqp",
    about: "Elastic quantum partition: slices lend and borrow, so that as many packets as possible go whole.",
    source: "5G QoS thesis, section 4.4",
    parameters: &[LIMIT],
    positional: None,
};

/// The partitions that text can name.
pub const PARTITIONS: &[&Component] = &[&FIXED, &ELASTIC];

impl Partition {
    /// The partition that `arguments` describe.
    ///
    /// # Errors
    /// A component that is no partition.
    pub fn build(arguments: &Arguments) -> Result<Partition, ComponentError> {
        Ok(match arguments.component().name {
            "fp" => Partition::Fixed,
            "eqp" => Partition::Elastic { limit_rbs: limit_rbs(arguments) },
            other => {
                return Err(ComponentError {
                    typed: arguments.typed().to_string(),
                    message: format!("'{other}' is not a partition"),
                });
            }
        })
    }

    /// The partition that `text` describes, such as `eqp:limit=250`.
    ///
    /// # Errors
    /// As [`Arguments::parse`].
    pub fn parse(text: &str) -> Result<Partition, ComponentError> {
        Partition::build(&Arguments::parse(PARTITIONS, text)?)
    }
}

/// What is given for [`LIMIT`], whose range fits.
pub(crate) fn limit_rbs(arguments: &Arguments) -> u32 {
    arguments.whole("limit").and_then(|limit| u32::try_from(limit).ok()).unwrap_or(LIMIT_RBS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Partition::parse("fp"), Ok(Partition::Fixed));
        assert_eq!(Partition::parse("eqp"), Ok(Partition::Elastic { limit_rbs: 100 }));
        assert_eq!(Partition::parse("eqp:limit=250"), Ok(Partition::Elastic { limit_rbs: 250 }));
        let message = |text| Partition::parse(text).unwrap_err().to_string();
        assert!(message("dp").contains("unknown partition 'dp'; known: fp, eqp"));
        assert!(message("eqp:limit=0").contains("1 to 1000000"));
        for component in PARTITIONS {
            assert_eq!(component.kind, Kind::Partition);
            assert!(Partition::build(&Arguments::defaults(component)).is_ok());
        }
    }
}
