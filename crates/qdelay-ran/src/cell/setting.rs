//! The settings of a cell.

use super::MAX_BEARERS;
use super::drx::DrxSetting;
use super::error::CellError;
use super::handover::HandoverSetting;
use super::partition::{CellSlice, Partition};
use crate::harq::HarqSetting;
use crate::mac::{Grid, RoundRobin, Scheduler, Service, Sharing, multiple};
use crate::radio::{Channel, Control, Decoding, OllaSetting, RadioError, Reported, Tdd};
use crate::rlc::{Mode, RlcSetting};
use crate::tables::Carrier;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::pacer::{PACKET_BYTES, SizeUnit};

/// A bearer of a UE.
#[derive(Clone, Debug)]
pub(crate) struct BearerSetting {
    pub rlc: RlcSetting,
    pub service: Service,
    /// Packet delay budgets of its QoS flows, by QFI.
    pub budgets: Vec<(u16, Span)>,
}

/// A UE: its channel, the cell's knowledge of that channel, and its bearers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UeSetting {
    pub(crate) channel: Channel,
    pub(crate) reported: Reported,
    pub(crate) place: Span,
    pub(crate) olla: Option<OllaSetting>,
    pub(crate) drx: Option<DrxSetting>,
    pub(crate) handover: Option<HandoverSetting>,
    /// Channel in the other cell of handovers.
    pub(crate) target: Option<Channel>,
    pub(crate) bearers: Vec<BearerSetting>,
    /// Number of secondary cells that the UE is configured with: the first ones of the cell.
    pub(crate) scells: usize,
}

/// A secondary cell (SCell): a further component carrier under the same MAC, of the technology and with the slots of the primary
/// cell.
#[derive(Clone, Debug)]
pub struct ScellSetting {
    pub(crate) carrier: Carrier,
    pub(crate) tdd: Option<Tdd>,
    /// Channel of every UE, and its position when the run begins.
    pub(crate) channel: Option<(Channel, Span)>,
}

impl ScellSetting {
    /// A secondary cell on `carrier`, on which each UE has a channel like that of its primary cell, with random numbers of its own.
    pub const fn new(carrier: Carrier) -> ScellSetting {
        ScellSetting { carrier, tdd: None, channel: None }
    }
    /// Sets time division duplex.
    #[must_use]
    pub fn tdd(self, tdd: Option<Tdd>) -> ScellSetting {
        ScellSetting { tdd, ..self }
    }
    /// Sets the channel of every UE on this carrier, which is at position `place` when the run begins.
    #[must_use]
    pub fn channel(self, channel: Channel, place: Span) -> ScellSetting {
        ScellSetting { channel: Some((channel, place)), ..self }
    }
}

impl UeSetting {
    /// A UE without bearers, whose channel is known to the cell without delay.
    pub const fn new(channel: Channel) -> UeSetting {
        UeSetting {
            channel,
            reported: Reported { delay: Span::ZERO, period: Span::ZERO },
            place: Span::ZERO,
            olla: None,
            drx: None,
            handover: None,
            target: None,
            bearers: Vec::new(),
            scells: usize::MAX,
        }
    }
    /// Sets outer-loop link adaptation, by which the cell corrects the reports.
    #[must_use]
    pub fn olla(self, olla: Option<OllaSetting>) -> UeSetting {
        UeSetting { olla, ..self }
    }
    /// Sets discontinuous reception (DRX).
    #[must_use]
    pub fn drx(self, drx: Option<DrxSetting>) -> UeSetting {
        UeSetting { drx, ..self }
    }
    /// Sets handovers, and the channel `target` in the other cell if it differs; without a handover `target`
    /// is ignored.
    #[must_use]
    pub fn handover(self, handover: Option<HandoverSetting>, target: Option<Channel>) -> UeSetting {
        let target = target.filter(|_| handover.is_some());
        UeSetting { handover, target, ..self }
    }
    /// Sets the number of secondary cells that the UE is configured with, the first ones of the cell. The default is all.
    #[must_use]
    pub fn scells(self, scells: usize) -> UeSetting {
        UeSetting { scells, ..self }
    }
    /// The delay and period of channel reports.
    #[must_use]
    pub fn reported(self, reported: Reported) -> UeSetting {
        UeSetting { reported, ..self }
    }
    /// Sets the position `place` of the channel at the beginning of the run.
    #[must_use]
    pub fn starting_from(self, place: Span) -> UeSetting {
        UeSetting { place, ..self }
    }
    /// Adds a bearer. Bearers with a lower `priority` are served first, as logical channels are (TS 36.321 clause 5.4.3.1, TS
    /// 38.321 clause 5.4.3.1); those with equal priority take turns.
    #[must_use]
    pub fn bearer(self, rlc: RlcSetting, priority: u8) -> UeSetting {
        self.serving(rlc, Service::usual(priority))
    }
    /// Adds a bearer as [`UeSetting::bearer`] does, with a class and possibly a guaranteed bit rate.
    #[must_use]
    pub fn serving(mut self, rlc: RlcSetting, service: Service) -> UeSetting {
        self.bearers.push(BearerSetting { rlc, service, budgets: Vec::new() });
        self
    }
    /// Sets the packet delay budgets of the QoS flows of the bearer that was added last, each with its QFI
    /// ([`Packet::class`](qdelay_core::Packet::class)), for a scheduler that decides by the deadlines of packets.
    #[must_use]
    pub fn budgets(mut self, budgets: Vec<(u16, Span)>) -> UeSetting {
        if let Some(bearer) = self.bearers.last_mut() {
            bearer.budgets = budgets;
        }
        self
    }
    /// The same UE without guaranteed bit rates.
    #[must_use]
    pub fn without_guarantees(mut self) -> UeSetting {
        self.bearers.iter_mut().for_each(|bearer| bearer.service.guaranteed = None);
        self
    }
    /// Returns true if outer-loop link adaptation corrects the UE's reports.
    pub fn has_olla(&self) -> bool {
        self.olla.is_some()
    }
    /// Returns true if the UE has discontinuous reception.
    pub fn has_drx(&self) -> bool {
        self.drx.is_some()
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
    pub(crate) carrier: Carrier,
    pub(crate) tti: Span,
    pub(crate) scheduler: Scheduler,
    pub(crate) sharing: Sharing,
    pub(crate) harq: HarqSetting,
    pub(crate) air: Option<Span>,
    pub(crate) control: Control,
    pub(crate) tdd: Option<Tdd>,
    pub(crate) unit: SizeUnit,
    pub(crate) phase: Span,
    pub(crate) ues: Vec<UeSetting>,
    pub(crate) partition: Option<Partition>,
    pub(crate) slices: Vec<CellSlice>,
    pub(crate) scells: Vec<ScellSetting>,
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
            tdd: None,
            unit: SizeUnit::Bytes,
            phase: Span::ZERO,
            ues: Vec::new(),
            partition: None,
            slices: Vec::new(),
            scells: Vec::new(),
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
    /// Sets time division duplex: slots are numbered from that of the first TTI. TTIs must then have one
    /// slot.
    #[must_use]
    pub fn tdd(self, tdd: Option<Tdd>) -> CellSetting {
        CellSetting { tdd, ..self }
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
    /// Adds a secondary cell.
    #[must_use]
    pub fn scell(mut self, scell: ScellSetting) -> CellSetting {
        self.scells.push(scell);
        self
    }
    /// Returns true if the cell has secondary cells.
    pub fn has_scells(&self) -> bool {
        !self.scells.is_empty()
    }
    /// The slices, with or without a partition.
    pub fn slices(&self) -> &[CellSlice] {
        &self.slices
    }
    /// The partition; `None` if the cell is not divided.
    pub fn partitioned(&self) -> Option<Partition> {
        self.partition
    }
    /// Returns true if [`Cell::air`](super::Cell::air) is counted: blocks are decided by SNR or adapted by
    /// their loss, processes are limited, or UEs have DRX or handovers.
    pub fn has_air(&self) -> bool {
        self.harq.decoding != Decoding::Steps
            || self.harq.processes.is_some()
            || self.ues.iter().any(|ue| ue.olla.is_some() || ue.drx.is_some() || ue.handover.is_some())
    }
    /// The same cell in the uplink direction: without control and slices, with bytes as the unit.
    pub(crate) fn of_uplink(self) -> CellSetting {
        let (partition, slices, scells) = (None, Vec::new(), Vec::new());
        let (sharing, control, unit) = (Sharing::Priority, Control::NONE, SizeUnit::Bytes);
        let carrier = self.carrier.of_uplink();
        CellSetting { carrier, partition, slices, scells, sharing, control, unit, ..self }
    }
    /// Returns true if the carrier has time division duplex.
    pub fn has_tdd(&self) -> bool {
        self.tdd.is_some()
    }
    /// Returns true if the channel of `ue` gives bytes, so that TTIs between its opportunities carry nothing; false where
    /// packets are the unit, as in an emulator whose TTI is the tick of its channel.
    pub fn is_sparse(&self, ue: &UeSetting) -> bool {
        !ue.channel.has_mcs() && self.unit == SizeUnit::Bytes
    }
    /// Time from one slot with downlink data to the next, on average over the pattern of time division duplex; a slot that carries less
    /// than the fullest one, such as a special slot, counts as that part of it. `None` without TDD on any carrier.
    pub fn tdd_opportunity(&self) -> Option<Span> {
        let scells = (0..self.scells.len()).map(|scell| self.scell_grid(scell));
        let grids = core::iter::once(self.grid()).chain(scells).collect::<Result<Vec<_>, _>>().ok()?;
        let slots = grids.iter().filter_map(Grid::tdd_slots).reduce(multiple)?;
        let of_grid = |grid: &Grid, slot| f64::from(grid.slot_bytes(slot, grid.carrier.mcs_max()));
        let of_slot = |slot| grids.iter().map(|grid| of_grid(grid, slot)).sum::<f64>();
        let fullest = (0..slots).map(of_slot).fold(0.0, f64::max);
        let opportunities = (0..slots).map(|slot| of_slot(slot) / fullest).sum::<f64>();
        let spacing = slots as f64 / opportunities;
        Some(Span::from_nanos(libm::round(self.carrier.slot().as_nanos() as f64 * spacing) as u64))
    }
    /// The carriers, the primary cell first, each with its time division duplex.
    fn carriers(&self) -> impl Iterator<Item = (&Carrier, Option<&Tdd>)> {
        let first = core::iter::once((&self.carrier, self.tdd.as_ref()));
        first.chain(self.scells.iter().map(|scell| (&scell.carrier, scell.tdd.as_ref())))
    }
    /// Number of bearers of all UEs.
    pub fn bearers(&self) -> usize {
        self.ues.iter().map(UeSetting::bearers).sum()
    }
    /// The carrier.
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// Most bytes that a TTI carries for one bearer of `ue`: all resource blocks of its carriers, at the highest MCS. `None`
    /// on channels that are given in bytes, and where packets are the unit.
    pub fn peak_bytes(&self, ue: &UeSetting) -> Option<u64> {
        let of =
            |(carrier, _): (&Carrier, _)| u64::from(carrier.block_bytes(carrier.mcs_max(), carrier.prbs()));
        let slot_bytes: u64 = self.carriers().take(ue.scells.saturating_add(1)).map(of).sum();
        (ue.channel.has_mcs() && self.unit == SizeUnit::Bytes)
            .then(|| slot_bytes.saturating_mul(self.slots()))
    }

    /// The resource blocks of the primary cell.
    pub(super) fn grid(&self) -> Result<Grid, CellError> {
        self.grid_of(&self.carrier, self.tdd.as_ref()).map_err(|error| CellError::Tdd { error })
    }
    /// The resource blocks of a secondary cell.
    pub(super) fn scell_grid(&self, scell: usize) -> Result<Grid, CellError> {
        let ScellSetting { carrier, tdd, .. } = &self.scells[scell];
        self.grid_of(carrier, tdd.as_ref()).map_err(|error| CellError::TddOfScell { scell, error })
    }
    fn grid_of(&self, carrier: &Carrier, tdd: Option<&Tdd>) -> Result<Grid, RadioError> {
        let tdd = match tdd {
            Some(tdd) => Some((tdd.clone(), tdd.special(carrier)?)),
            None => None,
        };
        Ok(Grid {
            carrier: carrier.clone(),
            control: self.control,
            unit: self.unit,
            slots: self.slots(),
            tdd,
        })
    }

    /// Slots in a TTI.
    pub(crate) fn slots(&self) -> u64 {
        self.tti.as_nanos() / self.carrier.slot().as_nanos().max(1)
    }
    /// Time from the end of a block to its decoding, in slots.
    pub(super) fn decoding_slots(&self) -> u64 {
        match self.carrier.is_lte() {
            true => 3,
            false if self.carrier.slot() >= Span::from_micros(500) => 1,
            false => 2,
        }
    }
    pub(crate) fn air_span(&self) -> Span {
        self.air.unwrap_or(self.tti + self.carrier.slot() * self.decoding_slots())
    }
    /// TTIs from a block to its repetition.
    pub(crate) fn harq_ttis(&self) -> u64 {
        let answer_slots = 2 * self.decoding_slots() + 1;
        let rtt = self.harq.rtt.unwrap_or(self.tti + self.carrier.slot() * answer_slots);
        rtt.as_nanos().div_ceil(self.tti.as_nanos().max(1)).max(1)
    }

    /// Checks the settings and returns the first error.
    pub(crate) fn check(&self) -> Result<(), CellError> {
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
        if self.carrier.adapts_rank() && self.harq.decoding == Decoding::Steps {
            return Err(CellError::RankBySteps);
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
        let has_guarantee =
            self.ues.iter().flat_map(|ue| &ue.bearers).any(|bearer| bearer.service.guaranteed.is_some());
        let is_divided = self.partition.is_some() || divides(&self.scheduler);
        self.check_scells(is_divided, has_guarantee)?;
        if self.carriers().any(|(_, tdd)| tdd.is_some()) && self.slots() > 1 {
            return Err(CellError::TddOfSlots { tti: self.tti, slot });
        }
        let by_delay = |scheduler: &Scheduler| scheduler.by_delay().is_some();
        if is_divided && (has_guarantee || by_delay(&self.scheduler) || of_slices().any(by_delay)) {
            return Err(CellError::DelayOfSlice);
        }
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
    /// Checks the secondary cells.
    fn check_scells(&self, is_divided: bool, has_guarantee: bool) -> Result<(), CellError> {
        let slot = self.carrier.slot();
        for (scell, ScellSetting { carrier, .. }) in self.scells.iter().enumerate() {
            if carrier.slot() != slot || carrier.is_lte() != self.carrier.is_lte() {
                return Err(CellError::SlotOfScell { scell, found: carrier.slot(), slot });
            }
        }
        let in_bytes = |ue: &UeSetting| !ue.channel.has_mcs();
        match self.has_scells() {
            true if is_divided || has_guarantee => Err(CellError::ScellOfSlices),
            true if self.unit == SizeUnit::Packets || self.ues.iter().any(in_bytes) => {
                Err(CellError::ScellInBytes)
            }
            _ => Ok(()),
        }
    }
}
