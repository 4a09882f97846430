//! A constant modulation and coding scheme.

use super::{Constant, Declared, Named, Quality, RadioError};
use crate::tables::Carrier;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const MCS: Typed<u64> = Typed::new("mcs", "28", "the scheme's index; up to 27 on an NR carrier with 256QAM")
    .unit(Unit::Count("MCS"))
    .within("0", "28")
    .source("TS 36.213 Table 7.1.7.1-1, TS 38.214 Tables 5.1.3.1-1 and -2");

pub(super) static COMPONENT: Component =
    Component::new(Kind::Channel, "mcs", "a constant modulation and coding scheme")
        .source("5G QoS thesis, section 3.6")
        .with(&[MCS.parameter()])
        .positional("mcs");

/// A channel with this MCS at all times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs(pub u8);

impl Named for Mcs {
    fn build(arguments: &Arguments) -> Mcs {
        // The declared range ends at 28, so the conversion is exact.
        Mcs(arguments.get(&MCS) as u8)
    }
}

impl Declared for Mcs {
    type Walk = Constant;

    fn start(&self, carrier: &Carrier, _: u64, _: &str) -> Result<Constant, RadioError> {
        match self.0 > carrier.mcs_max() {
            true => Err(RadioError::Mcs { found: self.0, max: carrier.mcs_max() }),
            false => Ok(Constant(Quality::mcs(self.0))),
        }
    }
    fn is_constant(&self) -> bool {
        true
    }
}
