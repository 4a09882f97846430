//! Checks of a cell for contradictory or ineffective settings, and the destinations of flows.

use super::cell_case::NO_HANDOVER;
use super::cell_tables::{Bearer, Cell, EACH, Ue};
use super::declare::{self, UES_MAX};
use super::matrix_keys::listed;
use super::named::Named;
use super::values::Rank;
use qdelay_config::{AnySetting, Fault, fault};
use qdelay_core::pacer;
use qdelay_path::F1Spec;
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::radio::Decoding;

impl Cell {
    /// Checks for settings that contradict each other, without reading a file.
    ///
    /// # Errors
    /// The contradiction, at the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        let (is_nr, keys) = (self.is_nr(), &self.keys);
        let of_nr: [&dyn AnySetting; 4] = [&keys.numerology, &keys.mcs_table, &keys.layers, &keys.rank];
        if let Some(setting) = of_nr.into_iter().find(|setting| !is_nr && setting.is_given()) {
            let message = "the cell is LTE; expected this key only with technology = \"nr\"";
            return Err(Fault::new(setting.line(), setting.key().path, message));
        }
        if keys.bandwidth.is_set() {
            if is_nr {
                return Err(keys.bandwidth.fault("the cell is NR; expected prbs instead"));
            }
            if keys.prbs.is_given() {
                return Err(keys.bandwidth.fault("prbs is given too; expected one of the two"));
            }
        }
        self.check_rank()?;
        let count = self.count();
        if count > UES_MAX {
            let line = self.ues.last().map_or(0, |ue| ue.line);
            let message = format!("{count} UEs are too many; expected at most {UES_MAX} in all");
            return Err(Fault::new(line, "cell.ue", message));
        }
        // The channel given for the cell is a default, which some UE must use.
        let no_handover = |ue: &Ue| {
            ue.keys.handover.or_inherit(self.keys.handover.effective()).value().as_option().is_none()
        };
        if self.keys.handover_channel.is_set() && self.ues.iter().all(no_handover) {
            return Err(self.keys.handover_channel.fault(NO_HANDOVER));
        }
        self.check_scells()?;
        self.check_slices()?;
        self.check_uplink()?;
        self.check_classes()?;
        self.check_sets()?;
        self.check_upf()
    }

    /// Refuses keys of NR in secondary cells of LTE, and more secondary cells of a UE than there are.
    fn check_scells(&self) -> Result<(), Fault> {
        let of_nr = |scell: &Named<declare::Scell>| {
            let keys: [&dyn AnySetting; 2] = [&scell.keys.mcs_table, &scell.keys.layers];
            let given = keys.into_iter().find(|setting| setting.is_given());
            given.map(|setting| (setting.line(), setting.key().path))
        };
        if let Some((line, path)) = self.scells.iter().find_map(of_nr).filter(|_| !self.is_nr()) {
            let message = "the cell is LTE; expected this key only with technology = \"nr\"";
            return Err(Fault::new(line, path, message));
        }
        let all = self.scells.len();
        for ue in &self.ues {
            if let Some(count) = ue.keys.scells.get().filter(|count| *count as usize > all) {
                let message = match all {
                    0 => "there is no secondary cell; expected a table [[cell.scell]]".to_string(),
                    _ => format!("{count} is more than the cell has; expected 0 to {all}"),
                };
                return Err(ue.keys.scells.fault(message));
            }
        }
        Ok(())
    }

    /// Refuses rank adaptation where blocks are lost by steps of the MCS.
    fn check_rank(&self) -> Result<(), Fault> {
        let keys = &self.keys;
        if keys.rank.get() == Rank::Fixed || keys.decoding.value().0 != Decoding::Steps {
            return Ok(());
        }
        let message = "decoding = \"steps\" counts steps of the MCS, which differ between ranks; expected decoding = \"snr\" too";
        Err(keys.rank.fault(message))
    }

    /// Refuses keys of the UPF's pacer without a queue in front of it.
    fn check_upf(&self) -> Result<(), Fault> {
        const MESSAGE: &str = "there is no queue at the UPF; expected this key only with upf_qdisc, such as upf_qdisc = \"sfq\"";
        let mut has_any = false;
        for flow in self.ues.iter().flat_map(|ue| &ue.bearers).flat_map(|bearer| &bearer.qos_flows) {
            let keys = &flow.keys;
            let has_upf =
                keys.upf_qdisc.or_inherit(self.keys.upf_qdisc.effective()).value().as_option().is_some();
            has_any |= has_upf;
            let of_upf: [&dyn AnySetting; 2] = [&keys.upf_pacer, &keys.upf_packets];
            if let Some(setting) = of_upf.into_iter().find(|setting| !has_upf && setting.is_given()) {
                return Err(Fault::new(setting.line(), setting.key().path, MESSAGE));
            }
        }
        let of_upf: [&dyn AnySetting; 2] = [&self.keys.upf_pacer, &self.keys.upf_packets];
        match of_upf.into_iter().find(|setting| !has_any && setting.is_given()) {
            Some(setting) => Err(Fault::new(setting.line(), setting.key().path, MESSAGE)),
            None => Ok(()),
        }
    }

    /// Destinations of the flows of an entry of `[[flow]]`: indices of UEs, and QFIs. With packet filters, the QFI that packets
    /// with the flow's own codepoint are filtered to.
    ///
    /// # Errors
    /// The UE or QFI does not exist, or there are several and the flow names none.
    pub fn destinations(&self, flow: &Named<declare::Flow>) -> Result<Vec<(usize, u8)>, Fault> {
        let (named, wanted) = (&flow.keys.ue, &flow.keys.qfi);
        let names: Vec<&str> = self.ues.iter().map(|ue| ue.name.as_str()).collect();
        let is_meant = |ue: &Ue| !named.is_set() || named.text() == EACH || named.text() == ue.name;
        if named.is_set() && named.text() != EACH && !names.contains(&named.text()) {
            let hint = fault::suggestion(named.text(), names.iter().copied());
            let message =
                format!("unknown UE '{}'; expected each or one of {}{hint}", named.text(), listed(&names));
            return Err(named.fault(message));
        }
        let total = self.count();
        if !named.is_set() && total > 1 {
            let message = format!(
                "there are {total} UEs and none is named; expected each or one of {}",
                listed(&names)
            );
            return Err(Fault { line: flow.line, ..named.fault(message) });
        }
        let mut all = Vec::new();
        for (ue, places) in self.places().filter(|(ue, _)| is_meant(ue)) {
            let qfis: Vec<u8> =
                ue.bearers.iter().flat_map(|bearer| &bearer.qos_flows).map(|flow| flow.qfi).collect();
            let known = || qfis.iter().map(u8::to_string).collect::<Vec<String>>().join(", ");
            // Packet filters choose the QFI, unless the flow names one.
            let qfi = match (wanted.get(), self.filtered(ue, flow), qfis.as_slice()) {
                (None, Some(filtered), _) => filtered,
                (Some(wanted), ..) if qfis.contains(&wanted) => wanted,
                (Some(_), ..) => {
                    let message = format!(
                        "{}: no bearer of UE '{}' carries this QFI; expected one of {}",
                        wanted.text(),
                        ue.name,
                        known()
                    );
                    let fault = wanted.fault(message);
                    return Err(if fault.line > 0 { fault } else { Fault { line: flow.line, ..fault } });
                }
                (None, None, [only]) => *only,
                (None, None, _) => {
                    let message = format!(
                        "UE '{}' has several QoS flows and none is named; expected one of {}",
                        ue.name,
                        known()
                    );
                    return Err(Fault { line: flow.line, ..wanted.fault(message) });
                }
            };
            all.extend(places.map(|place| (place, qfi)));
        }
        Ok(all)
    }

    /// Warnings about settings of PDCP, F1 and pacers that have little effect.
    pub fn warnings(&self) -> Vec<Fault> {
        let bearers = self.ues.iter().flat_map(|ue| &ue.bearers);
        let of = |bearer: &Bearer| {
            let pdcp = bearer.keys.pdcp.or_inherit(self.keys.pdcp.effective());
            let f1 = bearer.keys.f1.or_inherit(self.keys.f1.effective());
            let of_pdcp = PdcpSetting::warning(&pdcp.value().0)
                .map(|message| pdcp.fault(format!("'{}': {message}", pdcp.text())));
            let rlc = self.rlc(bearer.keys.rlc.or_inherit(self.keys.rlc.effective())).ok();
            let built = rlc.and_then(|rlc| PdcpSetting::build(&pdcp.value().0, &rlc.mode).ok().flatten());
            let of_f1 = built
                .and_then(|pdcp| f1.value().0.warning(pdcp.discard_timer, pdcp.t_reordering))
                .map(|message| f1.fault(format!("'{}': {message}", f1.text())));
            let law = bearer.keys.pacer.or_inherit(self.keys.pacer.effective());
            let is_alone = law.value().0.component().name == pacer::DESIRED_BUFFER.name
                && !matches!(f1.value().0, F1Spec::Standard(_));
            let of_pacer = is_alone.then(|| {
                let message = "without f1 = \"standard\" the pacer receives no desired-buffer reports, and passes every packet";
                law.fault(format!("'{}': {message}", law.text()))
            });
            [of_pdcp, of_f1, of_pacer]
        };
        bearers.flat_map(of).flatten().collect()
    }
}
