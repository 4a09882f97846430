//! The settings of a cell.

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

/// A UE: its channel, the cell's knowledge of that channel, and its bearers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UeSetting {
    pub(super) channel: Channel,
    pub(super) reported: Reported,
    pub(super) place: Span,
    pub(super) bearers: Vec<BearerSetting>,
}

impl UeSetting {
    /// A UE without bearers, whose channel is known to the cell without delay.
    pub const fn new(channel: Channel) -> UeSetting {
        UeSetting {
            channel,
            reported: Reported { delay: Span::ZERO, period: Span::ZERO },
            place: Span::ZERO,
            bearers: Vec::new(),
        }
    }
    /// The delay and period of channel reports.
    #[must_use]
    pub fn reported(self, reported: Reported) -> UeSetting {
        UeSetting { reported, ..self }
    }
    /// The channel is at `place` when the run begins.
    #[must_use]
    pub fn starting_from(self, place: Span) -> UeSetting {
        UeSetting { place, ..self }
    }
    /// Adds a bearer. Bearers with a lower `priority` are served first, as logical channels are (TS 36.321 clause 5.4.3.1, TS
    /// 38.321 clause 5.4.3.1); those with equal priority take turns.
    #[must_use]
    pub fn bearer(mut self, rlc: RlcSetting, priority: u8) -> UeSetting {
        self.bearers.push(BearerSetting { rlc, priority });
        self
    }
    /// Number of bearers.
    pub fn bearers(&self) -> usize {
        self.bearers.len()
    }
}

/// A cell. Defaults: TTIs of one slot, round robin, strict priority of bearers, no loss on the air, data in all resource
/// blocks, bytes as the unit, and the first TTI at the beginning of the run.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    /// The interval between scheduling decisions: a whole multiple of the carrier's slot. The blocks of one decision then
    /// span that many slots.
    #[must_use]
    pub fn tti(self, tti: Span) -> CellSetting {
        CellSetting { tti, ..self }
    }
    /// The MAC scheduler.
    #[must_use]
    pub fn scheduler(self, scheduler: impl Into<Scheduler>) -> CellSetting {
        let scheduler = scheduler.into();
        CellSetting { scheduler, ..self }
    }
    /// The sharing of a UE's block among its bearers.
    #[must_use]
    pub fn sharing(self, sharing: Sharing) -> CellSetting {
        CellSetting { sharing, ..self }
    }
    /// Block losses on the air and their repetitions.
    #[must_use]
    pub fn harq(self, harq: HarqSetting) -> CellSetting {
        CellSetting { harq, ..self }
    }
    /// Time from the beginning of a block to its decoding at the UE; it may be zero. The default is the TTI itself plus the
    /// time until the UE must answer: in LTE three slots, which makes 4 ms (TS 36.213 clause 7.3.1); in NR one slot, or two
    /// if slots are shorter than 0.5 ms (`N1` of TS 38.214 Table 5.3-1, in whole slots).
    #[must_use]
    pub fn air(self, air: Span) -> CellSetting {
        CellSetting { air: Some(air), ..self }
    }
    /// Slots in which fewer resource blocks carry data. Slots are numbered from that of the first TTI.
    #[must_use]
    pub fn control(self, control: Control) -> CellSetting {
        CellSetting { control, ..self }
    }
    /// The unit in which packets are counted. With [`SizeUnit::Packets`] every bearer must be [`RlcSetting::whole_packets`],
    /// and resource blocks that do not fill a whole packet in a TTI are unfit.
    #[must_use]
    pub fn unit(self, unit: SizeUnit) -> CellSetting {
        CellSetting { unit, ..self }
    }
    /// Time at which the first TTI begins.
    #[must_use]
    pub fn phase(self, phase: Span) -> CellSetting {
        CellSetting { phase, ..self }
    }
    /// Adds a UE.
    #[must_use]
    pub fn ue(mut self, ue: UeSetting) -> CellSetting {
        self.ues.push(ue);
        self
    }
    /// Divides the cell among its slices. TTIs must then have one slot, or no slot with control.
    #[must_use]
    pub fn partition(self, partition: Partition) -> CellSetting {
        CellSetting { partition: Some(partition), ..self }
    }
    /// Adds a slice. Slices have no effect without a partition.
    #[must_use]
    pub fn with_slice(mut self, slice: CellSlice) -> CellSetting {
        self.slices.push(slice);
        self
    }
    /// The slices, whether or not the cell is divided.
    pub fn slices(&self) -> &[CellSlice] {
        &self.slices
    }
    /// The partition; `None` if the cell is not divided.
    pub fn partitioned(&self) -> Option<Partition> {
        self.partition
    }
    /// Number of bearers of all UEs.
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
    /// Time from the end of a block to its decoding, in slots.
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

    /// Checks the settings and returns the first error.
    pub(super) fn check(&self) -> Result<(), CellError> {
        let slot = self.carrier.slot();
        if self.tti.is_zero()
            || !self.tti.as_nanos().is_multiple_of(slot.as_nanos().max(1))
            || self.slots() > 1000
        {
            return Err(CellError::Tti { tti: self.tti, slot });
        }
        let fits = |scheduler: &Scheduler| match scheduler.longest_tti() {
            window if window < self.tti => Err(CellError::Window { window, tti: self.tti }),
            _ => Ok(()),
        };
        fits(&self.scheduler)?;
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
        let divides = |scheduler: &Scheduler| scheduler.divides().is_some();
        let of_slices = || self.slices.iter().filter_map(|slice| slice.scheduler.as_ref());
        if self.partition.is_some() && (divides(&self.scheduler) || of_slices().any(divides)) {
            return Err(CellError::SchedulerOfSlice);
        }
        if divides(&self.scheduler) && self.slots() > 1 && self.control != Control::NONE {
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

/// An invalid setting. UEs and their bearers are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CellError {
    /// It has no UE.
    NoUe,
    /// A UE has no bearer, or more than [`MAX_BEARERS`].
    Bearers {
        /// The UE.
        ue: usize,
        /// Number of bearers.
        found: usize,
    },
    /// The TTI is not a whole number of slots, or longer than 1000 slots.
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
    /// Slices in a cell whose TTIs have several slots of which some carry less data.
    Partition {
        /// The TTI.
        tti: Span,
    },
    /// A scheduler that makes slices itself, in a cell with slices or for a slice.
    SchedulerOfSlice,
    /// Invalid slices. Bearers are numbered over all UEs.
    Slices(SliceError),
    /// A share that is rounded down to nothing in each TTI.
    ShareOfNothing {
        /// The slice.
        slice: usize,
        /// Its agreed share.
        share: Share,
        /// RBs in a TTI.
        rbs: u32,
        /// Least RBs of a share.
        least_rbs: u32,
    },
    /// A block would be repeated before its decoding can have failed.
    HarqRtt {
        /// Time from a block to its repetition.
        rtt: Span,
        /// Time from a block to its decoding.
        air: Span,
    },
    /// Packets are the unit, but a bearer segments them.
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
        /// The error of the channel.
        error: RadioError,
    },
    /// A bearer with invalid settings.
    Rlc {
        /// The UE.
        ue: usize,
        /// Its bearer.
        bearer: usize,
        /// The error of the settings.
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
                    "a TTI of {tti} has several slots, of which some carry control; expected one slot, or no control, in a cell with slices"
                )
            }
            CellError::SchedulerOfSlice => f.write_str(
                "eqp makes each UE a slice; expected another scheduler in a cell with a partition",
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
