//! Construction of a cell from its settings.

use super::account::{Account, Clock};
use super::activity::Activity;
use super::aggregation::Aggregation;
use super::air::Air;
use super::component::{Component, RadioLink};
use super::duplex::Duplex;
use super::guarantees::Guarantees;
use super::handover::next_handover;
use super::held_back::HeldBack;
use super::slicing::Slicing;
use super::{BearerState, Cell, CellError, CellSetting, LEAST_BYTES, Ue, UeSetting, setting};
use crate::harq::Blocks;
use crate::mac::{Grid, State, Turns};
use crate::radio::{Channel, Decoding, Radio, RadioError};
use crate::rlc::{Bearer, Mode, RlcSetting};
use crate::tables::Carrier;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{Random, Time};

impl Cell {
    /// Builds the cell of `setting`. Random streams are derived from `seed` and `name`, one for each UE.
    ///
    /// # Errors
    /// The first invalid setting, with the expected value.
    pub fn new(setting: CellSetting, seed: u64, name: &str) -> Result<Cell, CellError> {
        setting.check()?;
        let grid = setting.grid()?;
        let slicing = Slicing::new(&setting, &grid)?.map(Box::new);
        let guarantees = Guarantees::new(&setting)?.map(Box::new);
        let (mut ues, mut bearers, mut rlcs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut services, mut budgets) = (Vec::new(), Vec::new());
        let has_air = setting.has_air();
        let start = Start { setting: &setting, seed, name };
        for (ue, of) in setting.ues.iter().enumerate() {
            let other = match &of.target {
                Some(channel) => {
                    let name = format!("{name} UE {ue} elsewhere");
                    let radio = start.radio(of, channel, &setting.carrier, &name);
                    Some(radio.map_err(|error| CellError::Target { ue, error })?)
                }
                None => None,
            };
            ues.push(Ue {
                first: bearers.len(),
                turns: Turns::new(of.bearers.iter().map(|bearer| bearer.service.priority).collect()),
                air: has_air.then(|| Box::new(Air::new(of.drx, of.handover.clone(), other))),
            });
            for (bearer, setting::BearerSetting { rlc, service, budgets: of_flows }) in
                of.bearers.iter().enumerate()
            {
                let rlc = *rlc;
                services.push(*service);
                budgets.push(of_flows.clone());
                let mut rlc_bearer =
                    Bearer::new(rlc).map_err(|error| CellError::Rlc { ue, bearer, error })?;
                if of.handover.is_some() {
                    rlc_bearer.expect_handovers();
                }
                rlcs.push(rlc_bearer);
                bearers.push(BearerState {
                    ue: ue as u32,
                    least_bytes: least_bytes(&rlc),
                    partly: Backlog::default(),
                    asked: None,
                    wanted_bytes: 0,
                    deadline: Time::NEVER,
                });
            }
        }
        let carrier = start.component(grid, None)?;
        let scells = start.scells()?;
        let all = || core::iter::once(&carrier).chain(&scells).map(|carrier| &carrier.grid);
        let duplex = Duplex::new(all(), setting.tti);
        let next_handover = next_handover(&ues);
        Ok(Cell {
            next: next_handover,
            clock: Clock { phase: setting.phase, tti: setting.tti },
            harq: setting.harq,
            sharing: setting.sharing,
            services,
            budgets,
            urgency: setting.scheduler.by_delay(),
            guarantees,
            air: setting.air_span(),
            harq_ttis: setting.harq_ttis(),
            tdd_decoding: setting.harq.rtt.is_none().then(|| setting.decoding_slots()),
            activity: Activity::new(ues.len()),
            has_air,
            next_handover,
            timers: Deadlines::new(bearers.len()),
            tti: u64::MAX,
            candidates: Vec::new(),
            loads: Vec::new(),
            plan: Vec::new(),
            order: Vec::new(),
            told: vec![0; bearers.len()],
            held_back: HeldBack::new(bearers.len(), scells.len()),
            slicing,
            ues,
            bearers,
            rlcs,
            duplex,
            aggregation: Aggregation::new(scells.len()),
            carrier,
            scells,
        })
    }
}

/// Builds the component carriers of a cell.
struct Start<'a> {
    setting: &'a CellSetting,
    seed: u64,
    name: &'a str,
}

impl Start<'_> {
    /// The channel of a UE on a carrier; `name`: that of its random stream.
    fn radio(
        &self,
        ue: &UeSetting,
        channel: &Channel,
        carrier: &Carrier,
        name: &str,
    ) -> Result<Radio, RadioError> {
        let radio = channel.start(carrier, self.setting.tti, ue.reported, self.seed, name)?;
        let by_snr = matches!(self.setting.harq.decoding, Decoding::Snr { .. });
        Ok(match by_snr || ue.olla.is_some() {
            true => radio.with_levels(carrier, channel.share(), ue.olla),
            false => radio,
        })
    }

    /// The component carrier of `grid`: the primary cell, or the secondary cell of that number.
    fn component(&self, grid: Grid, scell: Option<usize>) -> Result<Component, CellError> {
        let Start { setting, seed, name } = *self;
        let own = scell.and_then(|number| setting.scells.get(number)?.channel.as_ref());
        let mut links = Vec::with_capacity(setting.ues.len());
        for (ue, of) in setting.ues.iter().enumerate() {
            // Each UE has its own name for random streams on each carrier, so that another UE or carrier changes no draw of this one.
            let name = match scell {
                None => format!("{name} UE {ue}"),
                Some(number) => format!("{name} UE {ue} SCell {number}"),
            };
            let (channel, place) = own.map_or((&of.channel, of.place), |(channel, place)| (channel, *place));
            let radio = self.radio(of, channel, &grid.carrier, &name).map_err(|error| match scell {
                None => CellError::Radio { ue, error },
                Some(scell) => CellError::RadioOfScell { scell, ue, error },
            })?;
            let is_configured = scell.is_none_or(|number| number < of.scells);
            let processes = setting.harq.processes.map_or(u32::MAX, u32::from);
            links.push(RadioLink {
                radio: radio.starting_from(place),
                is_constant: channel.is_constant() && of.target.as_ref().is_none_or(Channel::is_constant),
                random: Random::derive(seed, &name, "harq"),
                repeated: 0,
                busy: 0,
                processes: if is_configured { processes } else { 0 },
            });
        }
        Ok(Component {
            scheduler: State::new(&setting.scheduler, links.len(), setting.tti),
            blocks: Blocks::default(),
            releases: VecDeque::new(),
            account: Account::default(),
            links,
            grid,
        })
    }

    /// The secondary cells.
    fn scells(&self) -> Result<Vec<Component>, CellError> {
        let of = |number: usize| self.component(self.setting.scell_grid(number)?, Some(number));
        (0..self.setting.scells.len()).map(of).collect()
    }
}

/// The smallest block that is useful to a bearer with at least as much data.
fn least_bytes(rlc: &RlcSetting) -> u32 {
    match rlc.mode {
        // Packets are not segmented: any but the largest fits, and those need more.
        Mode::Transparent { counted_bytes } => counted_bytes.unwrap_or(1500),
        Mode::LteUm(_) | Mode::NrUm(_) | Mode::LteAm(_) | Mode::NrAm(_) => LEAST_BYTES as u32,
    }
}
