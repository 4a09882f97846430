//! State of a UE's air interface besides its channels, and statistics of its blocks: DRX, handovers.

use super::Ue;
use super::component::RadioLink;
use super::drx::{Drx, DrxSetting};
use super::handover::HandoverSetting;
use crate::harq::Block;
use crate::radio::{Quality, Radio};
use crate::tables::Carrier;
use qdelay_core::{Span, Time};

/// Statistics of a UE's blocks, and of its time, since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirUsage {
    /// Blocks whose first transmission was decoded or lost.
    pub blocks: u64,
    /// Blocks whose first transmission was lost.
    pub lost: u64,
    /// Sum over these blocks (`blocks`) of the offset of outer-loop link adaptation, dB.
    pub offsets_db: f64,
    /// Sum over these blocks of their layers; 0 without rank adaptation.
    pub layers: u64,
    /// Time asleep.
    pub asleep: Span,
    /// Handovers that began.
    pub handovers: u64,
    /// Time in handovers.
    pub interrupted: Span,
}

impl AirUsage {
    /// The difference to `earlier`, an earlier value of the same UE.
    #[must_use]
    pub fn since(&self, earlier: &AirUsage) -> AirUsage {
        AirUsage {
            blocks: self.blocks - earlier.blocks,
            lost: self.lost - earlier.lost,
            offsets_db: self.offsets_db - earlier.offsets_db,
            layers: self.layers - earlier.layers,
            asleep: self.asleep - earlier.asleep,
            handovers: self.handovers - earlier.handovers,
            interrupted: self.interrupted - earlier.interrupted,
        }
    }
}

/// State of a UE with DRX, handovers or counted blocks.
#[derive(Clone, Debug)]
pub(super) struct Air {
    usage: AirUsage,
    drx: Option<Drx>,
    /// Handovers of the UE, and the number that have begun.
    handover: Option<(HandoverSetting, u64)>,
    /// Channel in the other cell, if it differs.
    other: Option<Radio>,
    /// End of the last handover; `interrupted`: time in the handovers before.
    silent_until: Time,
    interrupted: Span,
}

impl Air {
    pub fn new(drx: Option<DrxSetting>, handover: Option<HandoverSetting>, other: Option<Radio>) -> Air {
        Air {
            usage: AirUsage::default(),
            drx: drx.map(Drx::new),
            handover: handover.map(|handover| (handover, 0)),
            other,
            silent_until: Time::ZERO,
            interrupted: Span::ZERO,
        }
    }

    /// Returns true if no new block can be sent to the UE in the TTI that begins at `now`.
    pub fn is_silent(&self, now: Time) -> bool {
        now < self.silent_until || self.drx.as_ref().is_some_and(|drx| drx.is_asleep(now))
    }

    /// Records that a new block is sent at `now`.
    pub fn granted(&mut self, now: Time) {
        if let Some(drx) = &mut self.drx {
            drx.granted(now);
        }
    }

    /// Statistics until `now`.
    pub fn usage(&self, now: Time) -> AirUsage {
        let asleep = self.drx.as_ref().map_or(Span::ZERO, |drx| drx.asleep(now));
        let left = self.silent_until.since(now);
        AirUsage { asleep, interrupted: self.interrupted - left, ..self.usage }
    }

    /// Time of the next handover.
    pub fn next_handover(&self) -> Time {
        self.handover.as_ref().map_or(Time::NEVER, |(setting, number)| setting.time(*number))
    }

    /// Begins a handover at `now`; `radio` is the channel in the present cell.
    pub fn hand_over(&mut self, now: Time, radio: &mut Radio) {
        let Some((setting, number)) = &mut self.handover else { return };
        *number += 1;
        let end = setting.end(now).max(self.silent_until);
        self.interrupted += end.since(now.max(self.silent_until));
        self.silent_until = end;
        self.usage.handovers += 1;
        if let Some(other) = &mut self.other {
            core::mem::swap(other, radio);
        }
        radio.forget();
    }
}

impl Ue {
    /// Returns true if no new block can be sent to the UE in TTI number `tti`, which begins at `now`, on the carrier of `link`: it
    /// repeats a block, has no free HARQ process, is asleep or in a handover.
    #[inline]
    pub(super) fn is_silent(&self, link: &RadioLink, tti: u64, now: Time) -> bool {
        link.repeated == tti + 1 || link.is_full() || self.air.as_ref().is_some_and(|air| air.is_silent(now))
    }

    /// Counts the first transmission of `block`, which was decoded or lost on `carrier`.
    #[inline]
    pub(super) fn answered(&mut self, link: &mut RadioLink, block: &Block, carrier: &Carrier) {
        if let Some(air) = &mut self.air {
            air.usage.blocks += 1;
            air.usage.lost += u64::from(block.is_lost);
            air.usage.offsets_db += link.radio.offset_db();
            if let (true, Quality::Rung(rung)) = (carrier.adapts_rank(), block.chosen) {
                air.usage.layers += u64::from(carrier.rank_of(rung));
            }
        }
        link.radio.answered(block.chosen, block.is_lost);
    }
}
