//! What keeps a cell from sending a new block to a UE besides the UE's channel, and what became of its blocks: HARQ processes, DRX,
//! handovers.

use super::Ue;
use super::drx::{Drx, DrxSetting};
use super::handover::HandoverSetting;
use crate::harq::Block;
use crate::radio::Radio;
use qdelay_core::{Span, Time};

/// What became of a UE's blocks, and of its time, since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirUsage {
    /// Blocks whose first transmission was decoded or lost.
    pub blocks: u64,
    /// Of these, how many first transmissions were lost.
    pub lost: u64,
    /// Sum over them of the offset of outer-loop link adaptation, dB.
    pub offsets_db: f64,
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
            asleep: self.asleep - earlier.asleep,
            handovers: self.handovers - earlier.handovers,
            interrupted: self.interrupted - earlier.interrupted,
        }
    }
}

/// The state of a UE where any of this matters.
#[derive(Clone, Debug)]
pub(super) struct Air {
    usage: AirUsage,
    drx: Option<Drx>,
    /// HARQ processes, and those in use.
    processes: u32,
    busy: u32,
    /// When it changes its cell, and how many handovers have begun.
    handover: Option<(HandoverSetting, u64)>,
    /// The channel in the cell that it is not in, if that differs.
    other: Option<Radio>,
    /// The end of the last handover, and the time in those before.
    silent_until: Time,
    interrupted: Span,
}

impl Air {
    pub fn new(
        processes: Option<u8>,
        drx: Option<DrxSetting>,
        handover: Option<HandoverSetting>,
        other: Option<Radio>,
    ) -> Air {
        Air {
            usage: AirUsage::default(),
            drx: drx.map(Drx::new),
            processes: processes.map_or(u32::MAX, u32::from),
            busy: 0,
            handover: handover.map(|handover| (handover, 0)),
            other,
            silent_until: Time::ZERO,
            interrupted: Span::ZERO,
        }
    }

    /// Whether no new block can be sent to the UE in the TTI that begins at `now`.
    pub fn is_silent(&self, now: Time) -> bool {
        self.busy >= self.processes
            || now < self.silent_until
            || self.drx.as_ref().is_some_and(|drx| drx.is_asleep(now))
    }

    /// A new block is sent at `now`.
    pub fn granted(&mut self, now: Time) {
        self.busy += 1;
        if let Some(drx) = &mut self.drx {
            drx.granted(now);
        }
    }

    /// The process of a block is free again.
    pub fn release(&mut self) {
        self.busy -= 1;
    }

    /// What has happened until `now`.
    pub fn usage(&self, now: Time) -> AirUsage {
        let asleep = self.drx.as_ref().map_or(Span::ZERO, |drx| drx.asleep(now));
        let left = self.silent_until.since(now);
        AirUsage { asleep, interrupted: self.interrupted - left, ..self.usage }
    }

    /// When the next handover begins.
    pub fn next_handover(&self) -> Time {
        self.handover.as_ref().map_or(Time::NEVER, |(setting, number)| setting.time(*number))
    }

    /// A handover begins at `now`, from the cell where the UE has `radio`.
    pub fn hand_over(&mut self, now: Time, radio: &mut Radio) {
        let Some((setting, number)) = &mut self.handover else { return };
        *number += 1;
        let end = (now + setting.interruption()).max(self.silent_until);
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
    /// The first transmission of `block` was decoded or lost.
    #[inline]
    pub(super) fn answered(&mut self, block: &Block) {
        if let Some(air) = &mut self.air {
            air.usage.blocks += 1;
            air.usage.lost += u64::from(block.is_lost);
            air.usage.offsets_db += self.radio.offset_db();
        }
        self.radio.answered(block.chosen, block.is_lost);
    }
}
