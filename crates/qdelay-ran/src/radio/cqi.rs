//! A constant channel quality indicator.

use super::schemes::{MAPPING, mapping, quality_for_cqi, schemes};
use super::{Constant, Declared, Named, RadioError};
use crate::tables::{Carrier, CqiToMcs};
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_trace::cqi::CQI_MAX;

const CQI: Typed<u64> = Typed::new("cqi", "15", "index of the channel quality indicator")
    .unit(Unit::Count("CQI"))
    .within("1", "15")
    .source("TS 36.213 Table 7.2.3-1, TS 38.214 Tables 5.2.2.1-2 and -3");

pub(super) static COMPONENT: Component =
    Component::new(Kind::Channel, "cqi", "a constant channel quality indicator")
        .source("TS 36.213 7.2.3, TS 38.214 5.2.2.1")
        .with(&[CQI.parameter(), MAPPING.parameter()])
        .positional("cqi");

/// A channel with this CQI, 1 to 15, at all times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cqi {
    /// The CQI.
    pub cqi: u8,
    /// The MCS for this CQI; `None`: [`Carrier::usual_mapping`].
    pub mapping: Option<CqiToMcs>,
}

impl Named for Cqi {
    fn build(arguments: &Arguments) -> Cqi {
        // The declared range ends at 15, so the conversion is exact.
        Cqi { cqi: arguments.get(&CQI) as u8, mapping: mapping(arguments) }
    }
}

impl Declared for Cqi {
    type Walk = Constant;

    fn start(&self, carrier: &Carrier, _: u64, _: &str) -> Result<Constant, RadioError> {
        match (1..=CQI_MAX).contains(&self.cqi) {
            true => Ok(Constant(quality_for_cqi(&schemes(carrier, self.mapping)?, self.cqi))),
            false => Err(RadioError::Cqi { found: self.cqi }),
        }
    }
    fn is_constant(&self) -> bool {
        true
    }
}
