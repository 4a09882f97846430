//! Construction of a cell from its settings.

use super::account::{Account, Clock};
use super::activity::Activity;
use super::air::Air;
use super::duplex::Duplex;
use super::guarantees::Guarantees;
use super::handover::next_handover;
use super::held_back::HeldBack;
use super::slicing::Slicing;
use super::{BearerState, Cell, CellError, CellSetting, LEAST_BYTES, Ue, setting};
use crate::harq::Blocks;
use crate::mac::{Grid, State, Turns};
use crate::radio::{Channel, Decoding};
use crate::rlc::{Bearer, Mode, RlcSetting};
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
        let tdd = match &setting.tdd {
            Some(tdd) => {
                let special = tdd.special(&setting.carrier).map_err(|error| CellError::Tdd { error })?;
                Some((tdd.clone(), special))
            }
            None => None,
        };
        let duplex = Duplex::new(tdd.as_ref(), &setting.carrier, setting.tti);
        let grid = Grid {
            tdd,
            slots: setting.slots(),
            carrier: setting.carrier.clone(),
            control: setting.control,
            unit: setting.unit,
        };
        let slicing = Slicing::new(&setting, &grid)?.map(Box::new);
        let guarantees = Guarantees::new(&setting)?.map(Box::new);
        let (mut ues, mut bearers, mut rlcs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut services, mut budgets) = (Vec::new(), Vec::new());
        let has_air = setting.has_air();
        let by_snr = matches!(setting.harq.decoding, Decoding::Snr { .. });
        // Each UE has its own name for random streams, so that another UE changes no draw of this one.
        for (ue, of) in setting.ues.iter().enumerate() {
            let name = format!("{name} UE {ue}");
            let radio = of.channel.start(&setting.carrier, setting.tti, of.reported, seed, &name);
            let mut radio = radio.map_err(|error| CellError::Radio { ue, error })?.starting_from(of.place);
            if by_snr || of.olla.is_some() {
                radio = radio.with_levels(&setting.carrier, of.channel.share(), of.olla);
            }
            let other = match &of.target {
                Some(channel) => {
                    let radio = channel.start(
                        &setting.carrier,
                        setting.tti,
                        of.reported,
                        seed,
                        &format!("{name} elsewhere"),
                    );
                    let radio = radio.map_err(|error| CellError::Target { ue, error })?;
                    Some(match by_snr || of.olla.is_some() {
                        true => radio.with_levels(&setting.carrier, channel.share(), of.olla),
                        false => radio,
                    })
                }
                None => None,
            };
            ues.push(Ue {
                radio,
                is_constant: of.channel.is_constant() && of.target.as_ref().is_none_or(Channel::is_constant),
                random: Random::derive(seed, &name, "harq"),
                first: bearers.len(),
                turns: Turns::new(of.bearers.iter().map(|bearer| bearer.service.priority).collect()),
                repeated: 0,
                air: has_air
                    .then(|| Box::new(Air::new(setting.harq.processes, of.drx, of.handover.clone(), other))),
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
            scheduler: State::new(&setting.scheduler, ues.len(), setting.tti),
            activity: Activity::new(ues.len()),
            blocks: Blocks::default(),
            releases: VecDeque::new(),
            has_air,
            next_handover,
            timers: Deadlines::new(bearers.len()),
            account: Account::default(),
            tti: u64::MAX,
            candidates: Vec::new(),
            loads: Vec::new(),
            plan: Vec::new(),
            order: Vec::new(),
            told: vec![0; bearers.len()],
            held_back: HeldBack::new(bearers.len()),
            slicing,
            ues,
            bearers,
            rlcs,
            duplex,
            grid,
        })
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
