//! PDU sets: the quality of service of QoS flows with sets (TS 23.501 clause 5.7.7), and the checks of the keys for them.

use super::case::Tables;
use super::cell_tables::{Bearer, Cell, QosFlow};
use super::declare::Flow;
use super::named::Named;
use qdelay_config::{AnySetting, Fault};
use qdelay_core::Span;
use qdelay_ran::tables::qos::QosClass;
use qdelay_sim::FlowSets;
use qdelay_traffic::transport::TransportConfig;

/// Shortest slot in which data of numerology 0 is sent.
const SUBFRAME: Span = Span::from_millis(1);

impl QosFlow {
    fn set_keys(&self) -> [&dyn AnySetting; 3] {
        [&self.keys.psdb, &self.keys.pser, &self.keys.psihi]
    }
}

impl Bearer {
    fn set_keys(&self) -> [&dyn AnySetting; 3] {
        [&self.keys.psdb, &self.keys.pser, &self.keys.psihi]
    }
}

/// The first key that is given.
fn given(keys: [&dyn AnySetting; 3]) -> Option<&dyn AnySetting> {
    keys.into_iter().find(|setting| setting.is_given())
}

impl Cell {
    /// The sets of QoS flow `qfi` of the UE with this index; `None` for a QoS flow whose packets are not handled by sets.
    ///
    /// # Errors
    /// The 5QI is not standardized.
    pub(super) fn sets(&self, ue: usize, qfi: u8) -> Result<Option<FlowSets>, Fault> {
        let ue = self.places().find(|(_, places)| places.contains(&ue)).map(|(ue, _)| ue);
        let mut flows = ue
            .into_iter()
            .flat_map(|ue| &ue.bearers)
            .flat_map(|bearer| bearer.qos_flows.iter().map(move |flow| (bearer, flow)));
        let Some((bearer, flow)) = flows.find(|(_, flow)| flow.qfi == qfi) else { return Ok(None) };
        if given(flow.set_keys()).or(given(bearer.set_keys())).is_none() {
            return Ok(None);
        }
        let budget = self.class(bearer, flow)?.map(QosClass::budget);
        Ok(Some(FlowSets {
            psdb: flow.keys.psdb.or(&bearer.keys.psdb).get().or(budget),
            pser: flow.keys.pser.or(&bearer.keys.pser).get(),
            psihi: flow.keys.psihi.or(&bearer.keys.psihi).get().is_some_and(|is_on| is_on),
            within: Vec::new(),
        }))
    }

    /// Checks the keys of sets without the flows.
    ///
    /// # Errors
    /// The first key that the cell cannot have, or a budget shorter than a TTI.
    pub(super) fn check_sets(&self) -> Result<(), Fault> {
        let tti = self.keys.tti.get().unwrap_or(SUBFRAME / (1 << self.keys.numerology.get().min(3)));
        for bearer in self.ues.iter().flat_map(|ue| &ue.bearers) {
            let all =
                std::iter::once(bearer.set_keys()).chain(bearer.qos_flows.iter().map(QosFlow::set_keys));
            if let Some(setting) = all.filter_map(given).find(|_| !self.is_nr()) {
                let message = "the cell is LTE; expected this key only with technology = \"nr\"";
                return Err(Fault::new(setting.line(), setting.key().path, message));
            }
            let budgets =
                std::iter::once(&bearer.keys.psdb).chain(bearer.qos_flows.iter().map(|flow| &flow.keys.psdb));
            for psdb in budgets {
                if psdb.get().is_some_and(|budget| budget < tti) {
                    let message = format!(
                        "{} is shorter than a TTI of {tti}, in which no set could be sent; expected at least {tti}",
                        psdb.text()
                    );
                    return Err(psdb.fault(message));
                }
            }
        }
        Ok(())
    }
}

impl Flow {
    /// Whether its transport makes frames, which are PDU sets.
    fn has_sets(&self) -> bool {
        matches!(*self.transport.value().0, TransportConfig::Video(_))
    }
}

impl Tables {
    /// Checks that keys of sets belong to flows with frames.
    ///
    /// # Errors
    /// A key of a flow, QoS flow or bearer without frames.
    pub(super) fn check_sets(&self) -> Result<(), Fault> {
        const EXPECTED: &str = "makes frames; expected transport = \"frames\", \"webrtc\" or \"scream\"";
        let mut carried: Vec<(usize, u8)> = Vec::new();
        for flow in &self.flows {
            let has_sets = flow.keys.has_sets();
            if flow.keys.set_within.is_given() && !has_sets {
                return Err(flow.keys.set_within.fault(format!("no packet of the flow {EXPECTED}")));
            }
            if has_sets {
                carried.extend(self.destinations(flow)?);
            }
        }
        let Some(cell) = &self.cell else { return Ok(()) };
        for (ue, places) in cell.places() {
            let has_frames = |flow: &QosFlow| {
                carried.iter().any(|(place, qfi)| places.contains(place) && *qfi == flow.qfi)
            };
            for bearer in &ue.bearers {
                let own = bearer
                    .qos_flows
                    .iter()
                    .find_map(|flow| given(flow.set_keys()).filter(|_| !has_frames(flow)));
                let shared = given(bearer.set_keys()).filter(|_| !bearer.qos_flows.iter().any(has_frames));
                if let Some(setting) = own.or(shared) {
                    let message = format!("no flow of UE '{}' that is carried here {EXPECTED}", ue.name);
                    return Err(Fault::new(setting.line(), setting.key().path, message));
                }
            }
        }
        Ok(())
    }

    /// The sets of a flow to a UE and QFI; `None` if they neither count nor matter.
    ///
    /// # Errors
    /// Errors of [`Cell::sets`].
    pub(super) fn sets(
        &self,
        flow: &Named<Flow>,
        (ue, qfi): (usize, u8),
    ) -> Result<Option<Box<FlowSets>>, Fault> {
        if !flow.keys.has_sets() {
            return Ok(None);
        }
        let of_cell = self.cell.as_ref().map_or(Ok(None), |cell| cell.sets(ue, qfi))?;
        let within = flow.keys.set_within.value().as_ref().map_or(Vec::new(), |delays| delays.0.clone());
        if of_cell.is_none() && within.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(FlowSets { within, ..of_cell.unwrap_or_default() })))
    }
}
