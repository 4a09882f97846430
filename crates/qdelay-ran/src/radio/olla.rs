//! Outer-loop link adaptation (OLLA): the cell corrects the reported channel by the acknowledgements of its
//! blocks.
//!
//! Each UE has an offset in dB. A first transmission that is acknowledged raises it by `step * target / (1 -
//! target)`, one that is not lowers it by `step` (Sampath, Kumar and Holtzman, "On setting reverse link
//! target SIR in a CDMA system", VTC 1997; Pedersen et al., "Frequency domain scheduling for OFDMA with
//! limited and noisy channel feedback", VTC 2007 Fall, for blocks). A block is sent with the highest MCS
//! whose threshold is not above that of the reported MCS plus the offset. With rank adaptation the block has the reported
//! rank, and the ends of the table below are the lowest and the highest MCS of that rank; the offset is the same for all ranks.
//!
//! The steps up and down cancel where a share of `target` of the first transmissions is lost. While the
//! offset is not at its limit nor the MCS at the end of its table, the share lost among `n` blocks thus
//! differs from `target` by at most the range of the offset over `n` steps up and down: `limit * 2 (1 -
//! target) / (n step)`, for any channel and any curve of losses.
//!
//! # Differences from the references
//! * The offset is not raised by blocks of the highest MCS, nor lowered by blocks of the lowest: it would run
//!   to its limit there and take long to come back.
//! * An acknowledgement counts at the time at which the block is decoded; it reaches a base station a few
//!   slots later.
//! * The offset is added in dB to the threshold of the reported MCS. A report is a CQI, whose steps are about
//!   2 dB apart.

use super::thresholds::{Ends, Thresholds};
use crate::tables::Rung;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const TARGET: Typed<f64> = Typed::new("target", "10%", "target share of lost first transmissions")
    .unit(Unit::Percent)
    .within("0.1%", "90%")
    .source("TS 36.213 7.2.3: the CQI's one block in ten");
const STEP: Typed<f64> = Typed::new("step", "0.5", "decrease of the offset by a lost block, dB")
    .within("0.001", "10")
    .source("ours: within the 0.1 to 1 dB that papers use");
const LIMIT: Typed<f64> =
    Typed::new("limit", "15", "largest absolute offset, dB").within("0.1", "60").source("ours");

static OLLA: Component =
    Component::new(Kind::Air, "olla", "an offset of the reported channel that follows acknowledgements")
        .source("Sampath, Kumar and Holtzman, VTC 1997; Pedersen et al., VTC 2007 Fall")
        .with(&[TARGET.parameter(), STEP.parameter(), LIMIT.parameter()]);

/// Link adaptations that correct the reports.
pub static ADAPTATIONS: &[&Component] = &[&OLLA];

/// The settings of OLLA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OllaSetting {
    /// Target share of lost first transmissions, above 0 and below 1.
    pub target: f64,
    /// Step down, dB.
    pub step_db: f64,
    /// Largest absolute offset, dB.
    pub limit_db: f64,
}

impl OllaSetting {
    /// The setting that `arguments` of one of [`ADAPTATIONS`] describe.
    pub fn build(arguments: &Arguments) -> OllaSetting {
        OllaSetting {
            target: arguments.get(&TARGET),
            step_db: arguments.get(&STEP),
            limit_db: arguments.get(&LIMIT),
        }
    }
}

/// The outer loop of a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Olla {
    offset_db: f64,
    up_db: f64,
    down_db: f64,
    limit_db: f64,
}

impl Olla {
    pub fn new(setting: OllaSetting) -> Olla {
        let OllaSetting { target, step_db, limit_db } = setting;
        Olla { offset_db: 0.0, up_db: step_db * target / (1.0 - target), down_db: step_db, limit_db }
    }

    /// Resets the offset to 0.
    pub fn forget(&mut self) {
        self.offset_db = 0.0;
    }

    pub fn offset_db(&self) -> f64 {
        self.offset_db
    }

    /// The rung with which a block is sent if `rung` is reported.
    pub fn chosen(&self, thresholds: &Thresholds, rung: Rung) -> Rung {
        thresholds.highest(rung, thresholds.db(rung) + self.offset_db)
    }

    /// Adjusts the offset by the first transmission of a block of `rung`, which was lost or not; `ends` are those of its rank.
    pub fn answered(&mut self, rung: Rung, ends: Ends, is_lost: bool) {
        let offset = match is_lost {
            true if rung != ends.lowest => self.offset_db - self.down_db,
            false if rung != ends.highest => self.offset_db + self.up_db,
            _ => return,
        };
        self.offset_db = offset.clamp(-self.limit_db, self.limit_db);
    }
}

#[cfg(test)]
mod tests {
    use super::super::thresholds::SHARE;
    use super::*;
    use crate::tables::Carrier;

    const ENDS: Ends = Ends { lowest: Rung::of_mcs(0), highest: Rung::of_mcs(28) };

    fn olla(text: &str) -> Olla {
        Olla::new(OllaSetting::build(&Arguments::parse(ADAPTATIONS, text).unwrap()))
    }

    #[test]
    fn acknowledgements_raise_and_losses_lower_the_offset() {
        let mut olla = olla("olla:target=20%:step=1:limit=2");
        for _ in 0..4 {
            olla.answered(Rung::of_mcs(5), ENDS, false);
        }
        assert!((olla.offset_db() - 1.0).abs() < 1e-12, "four acknowledgements are a step");
        olla.answered(Rung::of_mcs(5), ENDS, true);
        assert!(olla.offset_db().abs() < 1e-12);
        for _ in 0..9 {
            olla.answered(Rung::of_mcs(5), ENDS, true);
        }
        assert_eq!(olla.offset_db(), -2.0);
        olla.answered(Rung::of_mcs(0), ENDS, true);
        olla.answered(Rung::of_mcs(28), ENDS, false);
        assert_eq!(olla.offset_db(), -2.0, "the ends of the table");
    }

    #[test]
    fn a_higher_offset_gives_a_higher_mcs() {
        let carrier = Carrier::lte(25).unwrap();
        let thresholds = Thresholds::new(&carrier, SHARE);
        let mut olla = olla("olla:step=3");
        let chosen = |olla: &Olla, mcs| carrier.mcs_of(olla.chosen(&thresholds, Rung::of_mcs(mcs)));
        let db = |mcs| thresholds.db(Rung::of_mcs(mcs));
        assert_eq!(chosen(&olla, 10), 10);
        olla.answered(Rung::of_mcs(10), ENDS, true);
        let lower = chosen(&olla, 10);
        assert!(lower < 10 && db(lower) <= db(10) - 3.0);
        (0..20).for_each(|_| olla.answered(Rung::of_mcs(10), ENDS, false));
        assert!(chosen(&olla, 10) > 10);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for text in ["olla:target=0%", "olla:target=100%", "olla:step=0"] {
            assert!(Arguments::parse(ADAPTATIONS, text).is_err(), "{text}");
        }
    }
}
