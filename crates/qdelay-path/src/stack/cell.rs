//! A cell as a bottleneck: the queues of the user plane above it, the pacers between them, and the UEs below.
//!
//! ```text
//! [n3 queue -> n3 link] -> classifier -> [UPF queue -> USP] -> SDAP queue -> pacer -> [F1] -> RLC queue -> cell -> UE
//!                                        one of each for every QoS flow     one of each for every bearer
//! ```
//!
//! The classifier goes by flow. Packets of a flow that is in [`CellScenario::by_dscp`] go on to a classifier by codepoint.

use super::LinkSpec;
use crate::{F1Spec, PullOrder};
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_core::dscp::CODEPOINTS;
use qdelay_core::pacer::SizeUnit;
use qdelay_ran::mac::Service;
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::uplink::Prioritised;
use qdelay_ran::{CellSetting, UeSetting, UplinkSetting};

/// A cell and the nodes above it.
#[derive(Clone, Debug)]
pub struct CellScenario {
    /// The cell, without UEs.
    pub setting: CellSetting,
    /// Transmission time interval (TTI).
    pub tti: Span,
    /// The unit in which pacers and the cell count.
    pub unit: SizeUnit,
    /// The link that packets cross before they come to the node; none where they come at once.
    pub n3: Option<Backhaul>,
    /// The UEs; at least one.
    pub ues: Vec<UeSpec>,
    /// Flows whose packets go to one QoS flow or another by their codepoints, in place of [`FlowWay::qfi`](super::FlowWay::qfi).
    pub by_dscp: Vec<ByDscp>,
    /// The other direction; `None` where that is a link for each UE, or nothing.
    pub uplink: Option<CellUplink>,
}

/// The uplink of a cell: each UE has a queue for each bearer.
#[derive(Clone, Debug)]
pub struct CellUplink {
    /// The uplink, without UEs.
    pub setting: UplinkSetting,
    /// The channel of each UE, without bearers.
    pub ues: Vec<UeSetting>,
    /// Bearers, in the order of [`CellScenario::bearers`].
    pub bearers: Vec<UplinkBearerSpec>,
}

/// A bearer in the uplink.
#[derive(Clone, Debug)]
pub struct UplinkBearerSpec {
    /// The discipline of its queue at the UE.
    pub queue: Arguments,
    /// Settings of RLC.
    pub rlc: RlcSetting,
    /// Prioritised bit rate; `None` for infinity.
    pub rate: Option<Prioritised>,
}

/// QoS flows that carry a flow, by packet filters (TS 24.008 clause 10.5.6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByDscp {
    /// The flow's number. The number after the last flow is for packets of no flow.
    pub flow: usize,
    /// The UE that it goes to: a place in [`CellScenario::ues`].
    pub ue: usize,
    /// For each codepoint the QFI.
    pub qfis: [u8; CODEPOINTS],
}

/// The link in front of the node (N3 in 5G, S1-U in LTE).
#[derive(Clone, Debug)]
pub struct Backhaul {
    /// The link, with the headers of the tunnel as its overhead.
    pub link: LinkSpec,
    /// Packets its queue holds.
    pub limit: u64,
}

/// A UE.
#[derive(Clone, Debug)]
pub struct UeSpec {
    /// Name, unique among UEs.
    pub name: String,
    /// Channel of the UE, without bearers.
    pub setting: UeSetting,
    /// Data radio bearers (DRBs); at least one.
    pub bearers: Vec<BearerSpec>,
}

/// A data radio bearer: a pacer, the queue that it fills, and radio link control (RLC).
#[derive(Clone, Debug)]
pub struct BearerSpec {
    /// Name, unique within the UE.
    pub name: String,
    /// Service: priority, delay budget, loss rate and guaranteed bit rate.
    pub service: Service,
    /// Settings of RLC.
    pub rlc: RlcSetting,
    /// The discipline of the queue that the RLC takes from.
    pub queue: Arguments,
    /// The common limit of this queue and the rest of a packet that is partly sent, in bytes with PDCP headers; `None` for the
    /// limit of the discipline.
    pub buffer_bytes: Option<u64>,
    /// The gate that lets packets into this queue.
    pub gate: GateSpec,
    /// Connection between the unit with the gate and that with this queue.
    pub f1: F1Spec,
    /// Order in which that gate serves the QoS flows.
    pub order: PullOrder,
    /// QoS flows, the most important first; at least one.
    pub qos_flows: Vec<QosFlowSpec>,
}

/// A QoS flow: the queue of the service data adaptation protocol (SDAP), and that of the user plane function (UPF) before it.
#[derive(Clone, Debug)]
pub struct QosFlowSpec {
    /// QoS flow identifier, 0 to 63, unique within the UE.
    pub qfi: u8,
    /// The discipline of its queue at the SDAP.
    pub sdap: Arguments,
    /// Queue at the UPF; `None` where packets come to the SDAP at once.
    pub upf: Option<UpfSpec>,
    /// Packet delay budget: from the far end of N3, or from the node without an N3, until the UE hands a packet up.
    pub budget: Option<Span>,
    /// The name of its class in results: `5qi-7`, of LTE `qci-7`; none where it has none.
    pub class: Option<String>,
}

/// A queue at the UPF and its gate.
#[derive(Clone, Debug)]
pub struct UpfSpec {
    /// The discipline.
    pub qdisc: Arguments,
    /// The pacer.
    pub gate: GateSpec,
}

/// A pacer and how it is run.
#[derive(Clone, Debug)]
pub struct GateSpec {
    /// The pacer.
    pub law: Arguments,
    /// Delay of its signals.
    pub feedback: Span,
    /// The gate polls at multiples of this time only; zero for after every event.
    pub polling: Span,
    /// Packets it lets through in each `period` at most; `None` for any number.
    pub packets: Option<u32>,
    /// See `packets`.
    pub period: Span,
}

impl CellScenario {
    /// The cell with its UEs and their bearers.
    pub fn complete(&self) -> CellSetting {
        self.ues.iter().fold(self.setting.clone(), |setting, ue| {
            let bearer = |ue: UeSetting, bearer: &BearerSpec| {
                let budgets =
                    bearer.qos_flows.iter().filter_map(|flow| Some((flow.qfi.into(), flow.budget?)));
                ue.serving(bearer.rlc, bearer.service).budgets(budgets.collect())
            };
            setting.ue(ue.bearers.iter().fold(ue.setting.clone(), bearer))
        })
    }
    /// The uplink with its UEs and their bearers; `None` where it is no cell's.
    pub fn complete_uplink(&self) -> Option<UplinkSetting> {
        let uplink = self.uplink.as_ref()?;
        let mut bearers = uplink.bearers.iter();
        let of = self.ues.iter().zip(&uplink.ues).fold(uplink.setting.clone(), |setting, (spec, ue)| {
            let ue = spec
                .bearers
                .iter()
                .zip(&mut bearers)
                .fold(ue.clone(), |ue, (down, up)| ue.serving(up.rlc, down.service));
            // Rates are guaranteed in the data direction only.
            setting.ue(ue.without_guarantees())
        });
        let rates = uplink.bearers.iter().map(|bearer| bearer.rate).enumerate();
        Some(rates.fold(of, |setting, (bearer, rate)| setting.prioritised(bearer, rate)))
    }
    /// Every bearer with its UE, in the order in which the cell numbers them.
    pub fn bearers(&self) -> impl Iterator<Item = (&UeSpec, &BearerSpec)> {
        self.ues.iter().flat_map(|ue| ue.bearers.iter().map(move |bearer| (ue, bearer)))
    }
}
