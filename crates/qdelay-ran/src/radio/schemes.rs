//! The MCS for each CQI, by a mapping that a channel's parameters may choose.

use super::{Quality, RadioError};
use crate::tables::{Carrier, CqiToMcs};
use qdelay_core::component::{Arguments, Typed, Unit};

/// The MCS for a CQI of 0 to 15; `None` if nothing is received.
pub(super) type Schemes = [Option<u8>; 16];

/// Key `mapping`, of every channel that has a CQI.
pub const MAPPING: Typed<str> =
    Typed::new("mapping", "usual", "mapping of a CQI to an MCS; usual: oai on LTE, efficiency on NR")
        .unit(Unit::Choice(&["usual", "oai", "thesis", "efficiency"]))
        .source("OpenAirInterface; TS 38.214 5.2.2.1");

/// The value of [`MAPPING`]; `None`: [`Carrier::usual_mapping`].
pub fn mapping(arguments: &Arguments) -> Option<CqiToMcs> {
    match arguments.get(&MAPPING) {
        "oai" => Some(CqiToMcs::Oai),
        "thesis" => Some(CqiToMcs::ThesisEmulator),
        "efficiency" => Some(CqiToMcs::Efficiency),
        _ => None,
    }
}

/// The MCS for each CQI on the carrier.
pub(super) fn schemes(carrier: &Carrier, mapping: Option<CqiToMcs>) -> Result<Schemes, RadioError> {
    let mapping = mapping.unwrap_or(carrier.usual_mapping());
    if mapping != CqiToMcs::Efficiency && !carrier.is_lte() {
        return Err(RadioError::Mapping);
    }
    Ok(core::array::from_fn(|cqi| carrier.mcs(mapping, cqi as u8)))
}

/// The quality for a CQI.
pub(super) fn quality_for_cqi(schemes: &Schemes, cqi: u8) -> Quality {
    schemes.get(usize::from(cqi)).copied().flatten().map_or(Quality::Outage, Quality::mcs)
}
