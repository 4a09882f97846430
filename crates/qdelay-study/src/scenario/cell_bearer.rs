//! The simulator's bearer: queues, pacers, RLC, PDCP and F1.

use super::cell_tables::{Bearer, Cell};
pub(super) use super::values::MTU_BYTES;
use super::values::{self, Limit, Pacer, Qdisc, SdapOrder};
use qdelay_config::{Effective, Fault, Setting};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::{AnyPacer, PacerSetting, SizeUnit};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::{F1Spec, PullOrder};
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::rlc::{Mode, RlcSetting};
use qdelay_ran::tables::qos::QosClass;
use qdelay_sim::{BearerSpec, GateSpec, QosFlowSpec, UpfSpec};

/// Quantum of each QoS flow in deficit round robin, in bytes.
const QUANTUM_BYTES: u32 = 1500;
/// Packet limit beside a limit in bytes: large enough that only the bytes count.
const PACKETS_MAX: u64 = 10_000_000;
/// Time at the carrier's highest rate that a queue without a limit has room for. The disciplines' default of 1000 packets would
/// hold less above about 120 Mbit/s, and only 7 ms at 1.6 Gbit/s.
const USUAL_QUEUE: Span = Span::from_millis(100);

impl Cell {
    pub(super) fn bearer(&self, bearer: &Bearer, pacer: &PacerSetting) -> Result<BearerSpec, Fault> {
        let (keys, cell) = (&bearer.keys, &self.keys);
        let feedback = keys.feedback_delay.or_inherit(cell.feedback_delay.effective()).get();
        let polling = keys.pacer_interval.or_inherit(cell.pacer_interval.effective()).get();
        let gate =
            |law: Effective<'_, Pacer>, packets: Option<u32>, period: Span| -> Result<GateSpec, Fault> {
                let arguments = &law.value().0;
                AnyPacer::build(arguments, pacer).map_err(|error| law.fault(error))?;
                Ok(GateSpec { law: arguments.clone(), feedback, polling, packets, period })
            };
        let order = match keys.sdap_order.or_inherit(cell.sdap_order.effective()).get() {
            SdapOrder::RoundRobin => PullOrder::RoundRobin,
            SdapOrder::Drr => PullOrder::DeficitRoundRobin { quantum_bytes: QUANTUM_BYTES },
            SdapOrder::Priority => PullOrder::StrictPriority,
        };
        let usual = usual_packets(pacer.peak_bytes, pacer.tti);
        let mut qos_flows: Vec<(u8, QosFlowSpec)> = Vec::new();
        for flow in &bearer.qos_flows {
            let keys = &flow.keys;
            let upf = match keys.upf_qdisc.or_inherit(cell.upf_qdisc.effective()).value().as_option() {
                Some(qdisc) => Some(UpfSpec {
                    qdisc: with_room(qdisc.0.clone(), usual),
                    gate: gate(
                        keys.upf_pacer.or_inherit(cell.upf_pacer.effective()),
                        keys.upf_packets.or(&cell.upf_packets).get(),
                        keys.upf_period.or_inherit(cell.upf_period.effective()).get(),
                    )?,
                }),
                None => None,
            };
            let sdap =
                with_room(keys.sdap_qdisc.or_inherit(cell.sdap_qdisc.effective()).value().0.clone(), usual);
            let class = self.class(bearer, flow)?;
            let priority = match class {
                Some(class) if !keys.priority.is_given() => class.priority,
                _ => keys.priority.get(),
            };
            let (budget, kind) = (class.map(QosClass::budget), if self.is_nr() { "5qi" } else { "qci" });
            let class = class.map(|class| format!("{kind}-{}", class.number));
            qos_flows.push((priority, QosFlowSpec { qfi: flow.qfi, sdap, upf, budget, class }));
        }
        // The simulator serves QoS flows in the order of this list.
        if order == PullOrder::StrictPriority {
            qos_flows.sort_by_key(|(priority, _)| *priority);
        }
        let rlc = self.with_pdcp(
            self.rlc(keys.rlc.or_inherit(cell.rlc.effective()))?,
            keys.pdcp.or_inherit(cell.pdcp.effective()),
            keys.rlc.or_inherit(cell.rlc.effective()),
            keys.rlc_qdisc.or_inherit(cell.rlc_qdisc.effective()),
        )?;
        let f1 = keys.f1.or_inherit(cell.f1.effective());
        let spec = f1.value().0;
        check_f1(f1, rlc.pdcp.as_ref())?;
        let law = keys.pacer.or_inherit(cell.pacer.effective());
        let queue = keys.rlc_qdisc.or_inherit(cell.rlc_qdisc.effective());
        let split = spec.split(feedback);
        let above_rlc = PacerSetting { split, round_trip: feedback + spec.delay() * 2, ..*pacer };
        // A pacer that fails only because of F1 gets a hint at F1.
        if AnyPacer::build(&law.value().0, pacer).is_ok()
            && let Err(error) = AnyPacer::build(&law.value().0, &above_rlc)
        {
            let message = format!("{error}; expected another pacer, or f1 = \"ideal\"");
            return Err(law.fault(message));
        }
        Ok(BearerSpec {
            name: bearer.name.clone(),
            service: self.service(bearer)?,
            rlc,
            queue: rlc_qdisc(queue, keys.rlc_limit.or(&cell.rlc_limit), usual)?,
            buffer_bytes: keys.rlc_buffer.or(&cell.rlc_buffer).get(),
            gate: gate(
                law,
                keys.sdap_packets.or(&cell.sdap_packets).get(),
                keys.sdap_period.or_inherit(cell.sdap_period.effective()).get(),
            )?,
            f1: spec,
            order,
            qos_flows: qos_flows.into_iter().map(|(_, flow)| flow).collect(),
        })
    }

    pub(super) fn rlc(&self, effective: Effective<'_, values::Rlc>) -> Result<RlcSetting, Fault> {
        if self.unit() == SizeUnit::Packets {
            if effective.is_given() {
                let message =
                    "the cell counts whole packets, without an RLC; expected unit = \"bytes\", or no rlc";
                return Err(effective.fault(message));
            }
            return Ok(RlcSetting::whole_packets());
        }
        RlcSetting::build(&effective.value().0, self.is_nr())
            .map_err(|message| effective.fault(format!("'{}': {message}", effective.text())))
    }

    /// Adds the PDCP of the bearer to `rlc`; `queue` must work behind this PDCP.
    pub(super) fn with_pdcp(
        &self,
        rlc: RlcSetting,
        pdcp: Effective<'_, values::Pdcp>,
        effective_rlc: Effective<'_, values::Rlc>,
        queue: Effective<'_, Qdisc>,
    ) -> Result<RlcSetting, Fault> {
        if !pdcp.is_given() && matches!(rlc.mode, Mode::Transparent { .. }) {
            return Ok(rlc);
        }
        let built = PdcpSetting::build(&pdcp.value().0, &rlc.mode);
        let built = built.map_err(|message| pdcp.fault(format!("'{}': {message}", pdcp.text())))?;
        let Some(setting) = built else { return Ok(rlc) };
        if let Some(key) = effective_rlc.value().0.first_given(&["reordering", "in_order"]) {
            let message = format!(
                "'{}': {key} belongs to the ideal PDCP; expected t_reordering or out_of_order_delivery of pdcp = \"standard\"",
                effective_rlc.text()
            );
            return Err(effective_rlc.fault(message));
        }
        // Behind PDCP a discipline sees ciphered packets, without the headers that it classifies or marks by.
        let discipline = &queue.value().0;
        if let Some(what) = discipline.component().classifies {
            if setting.ciphered {
                let message = format!(
                    "'{}': the discipline classifies packets by {what}, but packets behind PDCP are ciphered; expected a discipline that keeps the order of packets, such as taildrop or codel, or pdcp = \"standard:ciphering=off\"",
                    queue.text()
                );
                return Err(queue.fault(message));
            }
            if setting.discard_timer < Span::MAX {
                let message = format!(
                    "'{}': discard_timer needs a discipline that keeps the order of packets, but rlc_qdisc is '{}'; expected another discipline, such as taildrop",
                    pdcp.text(),
                    queue.text()
                );
                return Err(pdcp.fault(message));
            }
        }
        if setting.ciphered
            && let Some(key) = qdisc::marks_by(discipline)
        {
            let message = format!(
                "'{}': the discipline marks packets ({key}), but packets behind PDCP are ciphered; expected no marking, marking at the sdap, or pdcp = \"standard:ciphering=off\"",
                queue.text()
            );
            return Err(queue.fault(message));
        }
        let has_header = effective_rlc.value().0.first_given(&["header"]).is_some();
        let header_bytes = if has_header { rlc.sdu_overhead_bytes } else { setting.header_bytes() };
        Ok(RlcSetting { sdu_overhead_bytes: header_bytes, pdcp: Some(setting), ..rlc })
    }
}

/// Checks that `f1` can connect the two units of a bearer with `pdcp`.
fn check_f1(f1: Effective<'_, values::F1>, pdcp: Option<&PdcpSetting>) -> Result<(), Fault> {
    let spec = f1.value().0;
    if matches!(spec, F1Spec::Standard(_)) && pdcp.is_none() {
        let message = format!(
            "'{}': the delivery status reports PDCP numbers, which the ideal PDCP assigns behind the queue; expected pdcp = \"standard\", or f1 = \"ideal\"",
            f1.text()
        );
        return Err(f1.fault(message));
    }
    if !matches!(spec, F1Spec::None) && pdcp.is_some_and(|pdcp| pdcp.drops_before) {
        let message = format!(
            "'{}': the queue in the distributed unit is behind the PDCP in the central unit, but drop_before=on needs it in front; expected f1 = \"none\", or drop_before=off",
            f1.text()
        );
        return Err(f1.fault(message));
    }
    Ok(())
}

/// Default room of a queue above or below a carrier, in packets: the packets sent within [`USUAL_QUEUE`] if each TTI carries
/// `peak_bytes`. 0 if the peak is unknown.
pub(super) fn usual_packets(peak_bytes: Option<u64>, tti: Span) -> u64 {
    let ttis = USUAL_QUEUE.as_nanos() / tti.as_nanos().max(1);
    (peak_bytes.unwrap_or(0).saturating_mul(ttis) / MTU_BYTES).min(PACKETS_MAX)
}

/// Sets the limit of a discipline to `packets` if its limit is not given and its default is lower. A discipline without a common
/// limit of its queues stays unchanged.
fn with_room(mut arguments: Arguments, packets: u64) -> Arguments {
    let mut parameters = arguments.component().parameters.iter();
    let own = parameters.find(|parameter| parameter.name == qdisc::LIMIT.name());
    let own: Option<u64> = own.and_then(|parameter| parameter.default.parse().ok());
    let is_given = arguments.is_given(&qdisc::LIMIT) || arguments.is_given(&qdisc::LIMIT_BYTES);
    if !is_given && own.is_some_and(|own| own < packets) {
        arguments.default_to(&qdisc::LIMIT, packets);
    }
    arguments
}

/// The queue of the RLC, with the table's limit if the discipline's own limit is not given, and room for `usual` packets if
/// neither is given.
pub(super) fn rlc_qdisc(
    queue: Effective<'_, Qdisc>,
    limit: &Setting<Option<Limit>>,
    usual: u64,
) -> Result<Arguments, Fault> {
    let mut arguments = queue.value().0.clone();
    match limit.get() {
        Some(Limit::Packets(packets)) => arguments.default_to(&qdisc::LIMIT, packets),
        Some(Limit::Bytes(bytes)) => {
            if !arguments.declares(&qdisc::LIMIT_BYTES) {
                let name = arguments.component().name;
                let message = format!("'{}': {name} has no limit in bytes; expected packets", limit.text());
                return Err(limit.fault(message));
            }
            arguments.default_to(&qdisc::LIMIT_BYTES, bytes);
            arguments.default_to(&qdisc::LIMIT, PACKETS_MAX);
        }
        None => arguments = with_room(arguments, usual),
    }
    AnyQdisc::build(&arguments).map_err(|error| queue.fault(error))?;
    Ok(arguments)
}
