//! What a cell is made of.

use super::partition::{CellSlice, Partition};
use crate::harq::HarqSetting;
use crate::mac::{RoundRobin, Scheduler, Sharing};
use crate::radio::{Channel, Control, RadioError, Reported};
use crate::rlc::{Mode, RlcError, RlcSetting};
use crate::slice::{Share, SliceError};
use crate::tables::Carrier;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::Span;
use qdelay_core::pacer::{PACKET_BYTES, SizeUnit};

/// The most data radio bearers of a UE: `maxDRB` is 29 in TS 38.331, and 32 identities is what MAC has.
pub const MAX_BEARERS: usize = 30;

/// A bearer of a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct BearerSetting {
    pub rlc: RlcSetting,
    pub priority: u8,
}

/// A UE: its channel, what of it the cell knows, and its bearers.
#[derive(Clone, Debug)]
pub struct UeSetting {
    pub(super) channel: Channel,
    pub(super) reported: Reported,
    pub(super) bearers: Vec<BearerSetting>,
}

impl UeSetting {
    /// A UE without bearers, whose channel the cell knows at once.
    pub const fn new(channel: Channel) -> UeSetting {
        UeSetting {
            channel,
            reported: Reported { delay: Span::ZERO, period: Span::ZERO },
            bearers: Vec::new(),
        }
    }
    /// How late the cell learns of the channel.
    #[must_use]
    pub fn reported(self, reported: Reported) -> UeSetting {
        UeSetting { reported, ..self }
    }
    /// One bearer more. Bearers with a lower `priority` are served first, as logical channels are (TS 36.321 clause
    /// 5.4.3.1, TS 38.321 clause 5.4.3.1); those with the same take turns.
    #[must_use]
    pub fn bearer(mut self, rlc: RlcSetting, priority: u8) -> UeSetting {
        self.bearers.push(BearerSetting { rlc, priority });
        self
    }
    /// How many bearers it has.
    pub fn bearers(&self) -> usize {
        self.bearers.len()
    }
}

/// A cell. What is not said: TTIs of one slot, round robin, strict priority of bearers, no loss on the air, data in all
/// resource blocks, bytes as the unit, and the first TTI at the beginning of the run.
#[derive(Clone, Debug)]
pub struct CellSetting {
    pub(super) carrier: Carrier,
    pub(super) tti: Span,
    pub(super) scheduler: Scheduler,
    pub(super) sharing: Sharing,
    pub(super) harq: HarqSetting,
    pub(super) air: Option<Span>,
    pub(super) control: Control,
    pub(super) unit: SizeUnit,
    pub(super) phase: Span,
    pub(super) ues: Vec<UeSetting>,
    pub(super) partition: Option<Partition>,
    pub(super) slices: Vec<CellSlice>,
}

impl CellSetting {
    /// A cell on `carrier` without UEs.
    pub fn new(carrier: Carrier) -> CellSetting {
        CellSetting {
            tti: carrier.slot(),
            carrier,
            scheduler: RoundRobin.into(),
            sharing: Sharing::Priority,
            harq: HarqSetting::default(),
            air: None,
            control: Control::NONE,
            unit: SizeUnit::Bytes,
            phase: Span::ZERO,
            ues: Vec::new(),
            partition: None,
            slices: Vec::new(),
        }
    }
    /// How far decisions are apart: a whole multiple of the carrier's slot. The blocks of one decision then carry what that
    /// many slots do.
    #[must_use]
    pub fn tti(self, tti: Span) -> CellSetting {
        CellSetting { tti, ..self }
    }
    /// Which UE gets which resource blocks.
    #[must_use]
    pub fn scheduler(self, scheduler: impl Into<Scheduler>) -> CellSetting {
        let scheduler = scheduler.into();
        CellSetting { scheduler, ..self }
    }
    /// How the bearers of a UE share what it gets.
    #[must_use]
    pub fn sharing(self, sharing: Sharing) -> CellSetting {
        CellSetting { sharing, ..self }
    }
    /// Losses on the air and repetitions.
    #[must_use]
    pub fn harq(self, harq: HarqSetting) -> CellSetting {
        CellSetting { harq, ..self }
    }
    /// From the beginning of a block to when the UE has decoded it; it may be zero. Where it is not said, the TTI itself and
    /// the time until the UE must answer: in LTE three slots, which makes 4 ms (TS 36.213 clause 7.3.1); in NR one slot, or
    /// two where slots are shorter than 0.5 ms (`N1` of TS 38.214 Table 5.3-1, in whole slots).
    #[must_use]
    pub fn air(self, air: Span) -> CellSetting {
        CellSetting { air: Some(air), ..self }
    }
    /// Slots in which fewer resource blocks carry data. Slots count from that of the first TTI.
    #[must_use]
    pub fn control(self, control: Control) -> CellSetting {
        CellSetting { control, ..self }
    }
    /// What a packet counts as. With [`SizeUnit::Packets`] every bearer is [`RlcSetting::whole_packets`], and what does not
    /// fill a whole packet in a TTI is unfit.
    #[must_use]
    pub fn unit(self, unit: SizeUnit) -> CellSetting {
        CellSetting { unit, ..self }
    }
    /// When the first TTI begins.
    #[must_use]
    pub fn phase(self, phase: Span) -> CellSetting {
        CellSetting { phase, ..self }
    }
    /// One UE more.
    #[must_use]
    pub fn ue(mut self, ue: UeSetting) -> CellSetting {
        self.ues.push(ue);
        self
    }
    /// Divides it among its slices. TTIs have one slot then, or no control.
    #[must_use]
    pub fn partition(self, partition: Partition) -> CellSetting {
        CellSetting { partition: Some(partition), ..self }
    }
    /// One slice more. Without a partition slices mean nothing.
    #[must_use]
    pub fn with_slice(mut self, slice: CellSlice) -> CellSetting {
        self.slices.push(slice);
        self
    }
    /// Its slices, whether it is divided among them or not.
    pub fn slices(&self) -> &[CellSlice] {
        &self.slices
    }
    /// How it is divided; `None` where it is not.
    pub fn partitioned(&self) -> Option<Partition> {
        self.partition
    }
    /// Bearers of all UEs.
    pub fn bearers(&self) -> usize {
        self.ues.iter().map(UeSetting::bearers).sum()
    }
    /// The carrier.
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// Slots in a TTI.
    pub(super) fn slots(&self) -> u64 {
        self.tti.as_nanos() / self.carrier.slot().as_nanos().max(1)
    }
    /// From the end of a block to when it is decoded, in slots.
    fn decoding_slots(&self) -> u64 {
        match self.carrier.is_lte() {
            true => 3,
            false if self.carrier.slot() >= Span::from_micros(500) => 1,
            false => 2,
        }
    }
    pub(super) fn air_span(&self) -> Span {
        self.air.unwrap_or(self.tti + self.carrier.slot() * self.decoding_slots())
    }
    /// TTIs from a block to its repetition.
    pub(super) fn harq_ttis(&self) -> u64 {
        let answer_slots = 2 * self.decoding_slots() + 1;
        let rtt = self.harq.rtt.unwrap_or(self.tti + self.carrier.slot() * answer_slots);
        rtt.as_nanos().div_ceil(self.tti.as_nanos().max(1)).max(1)
    }

    /// The first thing wrong with it, if any.
    pub(super) fn check(&self) -> Result<(), CellError> {
        let slot = self.carrier.slot();
        if self.tti.is_zero()
            || !self.tti.as_nanos().is_multiple_of(slot.as_nanos().max(1))
            || self.slots() > 1000
        {
            return Err(CellError::Tti { tti: self.tti, slot });
        }
        let fits = |scheduler: Scheduler| match scheduler.longest_tti() {
            window if window < self.tti => Err(CellError::Window { window, tti: self.tti }),
            _ => Ok(()),
        };
        fits(self.scheduler)?;
        let (rtt, air) = (self.tti * self.harq_ttis(), self.air_span());
        if self.harq.retransmissions > 0 && rtt < air {
            return Err(CellError::HarqRtt { rtt, air });
        }
        if self.ues.is_empty() {
            return Err(CellError::NoUe);
        }
        if self.partition.is_some() && self.slots() > 1 && self.control != Control::NONE {
            return Err(CellError::Partition { tti: self.tti });
        }
        let divides = |scheduler: Scheduler| scheduler.divides().is_some();
        let of_slices = || self.slices.iter().filter_map(|slice| slice.scheduler);
        if self.partition.is_some() && (divides(self.scheduler) || of_slices().any(divides)) {
            return Err(CellError::SchedulerOfSlice);
        }
        if divides(self.scheduler) && self.slots() > 1 && self.control != Control::NONE {
            return Err(CellError::Partition { tti: self.tti });
        }
        of_slices().try_for_each(fits)?;
        for (ue, setting) in self.ues.iter().enumerate() {
            if setting.bearers.is_empty() || setting.bearers.len() > MAX_BEARERS {
                return Err(CellError::Bearers { ue, found: setting.bearers.len() });
            }
            for (bearer, BearerSetting { rlc, .. }) in setting.bearers.iter().enumerate() {
                let counted = Mode::Transparent { counted_bytes: Some(PACKET_BYTES as u32) };
                if self.unit == SizeUnit::Packets && rlc.mode != counted {
                    return Err(CellError::Unit { ue, bearer });
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with a setting. UEs and their bearers are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CellError {
    /// It has no UE.
    NoUe,
    /// A UE has no bearer, or more than [`MAX_BEARERS`].
    Bearers {
        /// The UE.
        ue: usize,
        /// How many it has.
        found: usize,
    },
    /// The TTI is no whole number of slots, or of more than 1000.
    Tti {
        /// The TTI.
        tti: Span,
        /// The carrier's slot.
        slot: Span,
    },
    /// The window of proportional fair is shorter than a TTI.
    Window {
        /// The window.
        window: Span,
        /// The TTI.
        tti: Span,
    },
    /// Slices, where a TTI has several slots of which some carry less.
    Partition {
        /// The TTI.
        tti: Span,
    },
    /// A cell with slices, or a slice, whose scheduler would make slices itself.
    SchedulerOfSlice,
    /// Slices that cannot be. Bearers are numbered over all UEs.
    Slices(SliceError),
    /// A share that is rounded to nothing in each TTI.
    ShareOfNothing {
        /// The slice.
        slice: usize,
        /// What it has agreed on.
        share: Share,
        /// RBs of a TTI.
        rbs: u32,
        /// RBs that a share has to have at least.
        least_rbs: u32,
    },
    /// A block would be repeated before it can have failed.
    HarqRtt {
        /// From a block to its repetition.
        rtt: Span,
        /// From a block to when it is decoded.
        air: Span,
    },
    /// Packets are the unit, and a bearer splits them.
    Unit {
        /// The UE.
        ue: usize,
        /// Its bearer.
        bearer: usize,
    },
    /// A channel that does not fit the carrier.
    Radio {
        /// The UE.
        ue: usize,
        /// What is wrong with it.
        error: RadioError,
    },
    /// A bearer that cannot be.
    Rlc {
        /// The UE.
        ue: usize,
        /// Its bearer.
        bearer: usize,
        /// What is wrong with it.
        error: RlcError,
    },
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellError::NoUe => f.write_str("the cell has no UE; expected at least one"),
            CellError::Bearers { ue, found } => {
                write!(f, "UE {ue} has {found} bearers; expected 1 to {MAX_BEARERS}")
            }
            CellError::Tti { tti, slot } => {
                write!(f, "a TTI of {tti}; expected 1 to 1000 whole slots of {slot}")
            }
            CellError::Window { window, tti } => {
                write!(f, "a window of {window}; expected at least the TTI, {tti}")
            }
            CellError::Partition { tti } => {
                write!(
                    f,
                    "a TTI of {tti} has several slots, of which some carry control; expected one slot, or no control, where there are slices"
                )
            }
            CellError::SchedulerOfSlice => f.write_str(
                "eqp makes each UE a slice; expected another scheduler where there is a partition",
            ),
            CellError::Slices(error) => write!(f, "{error}"),
            CellError::ShareOfNothing { share, rbs, least_rbs, .. } => {
                let least = (u64::from(*least_rbs) * 1_000_000).div_ceil(u64::from(*rbs).max(1));
                write!(
                    f,
                    "{}% of {rbs} resource blocks is rounded down to {}, and a slice gets no fewer than {least_rbs}; expected at least {}%",
                    f64::from(share.millionths()) / 10_000.0,
                    share.of(*rbs),
                    least.div_ceil(100) as f64 / 100.0
                )
            }
            CellError::HarqRtt { rtt, air } => {
                write!(f, "a block is repeated after {rtt}; expected at least the time on the air, {air}")
            }
            CellError::Unit { ue, bearer } => {
                write!(
                    f,
                    "bearer {bearer} of UE {ue} splits packets; expected whole packets where packets are the unit"
                )
            }
            CellError::Radio { ue, error } => write!(f, "UE {ue}: {error}"),
            CellError::Rlc { ue, bearer, error } => write!(f, "bearer {bearer} of UE {ue}: {error}"),
        }
    }
}
impl core::error::Error for CellError {}
