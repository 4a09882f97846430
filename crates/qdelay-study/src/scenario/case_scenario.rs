//! The simulator's scenario of a case.

use super::case::Tables;
use super::declare::{Flow, Hop, Path};
use super::named::Named;
use super::queue_and_link::{QueueAndLink, with_limit, with_promised_rate};
use super::sources::Sources;
use super::values::{Bins, Direction, Percent, Uplink};
use crate::traces::delay::{BuiltDelay, Extent};
use crate::traces::jitter::JitterText;
use crate::traces::loss::Loss;
use qdelay_config::{Fault, OrNone, Setting};
use qdelay_core::{Random, Rate, Span};
use qdelay_path::{AnyLink, ImpairmentSpec, Impairments, Jitter, Line, LinkModel, LossModel};
use qdelay_sim::{
    Bottleneck, CellScenario, FlowSpec, HopSpec, LinkSpec, ProbeSpec, Scenario, SecondCodepoint,
};

/// With random starts, the latest start of a flow after its `start`: at least a round trip, and several ticks of any timer.
const START_SPREAD: Span = Span::from_millis(200);
/// Most bins of a time series whose width is not given.
const BINS: u64 = 500;

impl Tables {
    /// Bin width of the series; `None` if series are off.
    pub(super) fn series(&self) -> Option<Span> {
        let automatic = || Some(automatic_series(self.run.duration.get()));
        self.run.series.get().map_or_else(automatic, |Bins(width)| width)
    }

    fn hops(&self, sources: &mut Sources<'_>) -> Result<Vec<HopSpec>, Fault> {
        let hop = |Named { name, keys, .. }: &Named<Hop>| -> Result<HopSpec, Fault> {
            let bottleneck = QueueAndLink::from(keys);
            let delay = sources.delay(keys.delay.value(), Extent::OneWay);
            let delay = delay.map_err(|message| keys.delay.fault(message))?;
            Ok(HopSpec {
                name: name.clone(),
                qdisc: bottleneck.qdisc()?,
                link: LinkSpec(bottleneck.link_below(sources)?),
                delay: delay.constant(),
                curve: delay.curve,
            })
        };
        self.hops.iter().map(hop).collect()
    }

    fn uplink(&self, sources: &mut Sources<'_>) -> Result<Option<qdelay_sim::Uplink>, Fault> {
        if self.cell.as_ref().is_some_and(|cell| cell.uplink.is_some()) {
            return Ok(None);
        }
        let setting = &self.path.uplink;
        let link = match setting.get() {
            Uplink::None => return Ok(None),
            Uplink::Rate(rate) => Ok(line(rate)),
            Uplink::Link => sources.link(setting.text()),
            Uplink::Trace => {
                let trace = sources.trace(setting.text(), None, self.path.repeat.get());
                trace.map_err(|error| error + sources.library.or_link(setting.text()))
            }
        };
        let link = link.map_err(|message| setting.fault(message))?;
        let (limit, qdisc) = (self.path.uplink_limit.get(), &self.path.uplink_qdisc);
        let link = LinkSpec(with_promised_rate(qdisc, link)?);
        let qdisc = qdisc.is_given().then(|| with_limit(qdisc, Some(limit))).transpose()?;
        Ok(Some(qdelay_sim::Uplink { link, limit, qdisc }))
    }

    /// Loss, corruption, reordering and duplication in both directions.
    fn impairments(&self, sources: &mut Sources<'_>) -> Result<Impairments, Fault> {
        let Path { loss, reorder, reorder_delay, duplicate, corrupt, .. } = &self.path;
        let Path { uplink_loss, uplink_reorder, uplink_duplicate, uplink_corrupt, .. } = &self.path;
        let down = impairment(sources, loss, [corrupt, reorder, duplicate], reorder_delay.get())?;
        let up_models = [uplink_corrupt, uplink_reorder, uplink_duplicate];
        let up = impairment(sources, uplink_loss, up_models, reorder_delay.get())?;
        Ok(Impairments { down, up })
    }

    /// The simulator's scenario.
    ///
    /// # Errors
    /// A trace cannot be read, or a discipline cannot be built with the path's limit.
    pub fn scenario(&self, seed: u64, sources: &mut Sources<'_>) -> Result<Scenario, Fault> {
        let flows = self.flow_specs(seed, sources)?;
        // Packet filters of a cell refer to the flows, which are therefore built first.
        let bottleneck = match &self.cell {
            Some(cell) => {
                let by_dscp = cell.by_dscp(&flows, &self.flows);
                Bottleneck::Cell(Box::new(CellScenario { by_dscp, ..cell.scenario(sources)? }))
            }
            None => {
                let path = QueueAndLink::from(&self.path);
                Bottleneck::Link { qdisc: path.qdisc()?, link: LinkSpec(path.link_below(sources)?) }
            }
        };
        let (uplink, hops) = (self.uplink(sources)?, self.hops(sources)?);
        // Two loads have base delays of their own, to which a default would be added without a word.
        let down = bottleneck.as_link().map(|(_, link)| link);
        let has_light = |link: &LinkSpec| link.0.light().is_some();
        let is_of_two_loads = down
            .into_iter()
            .chain(uplink.as_ref().map(|uplink| &uplink.link))
            .chain(hops.iter().map(|hop| &hop.link))
            .any(has_light);
        if is_of_two_loads && !self.path.rtt.is_given() {
            return Err(self.path.rtt.fault(
                "not given, and the recording of light load has the base delay of its direction; expected what is beyond the recording, \
                such as \"1us\"",
            ));
        }
        let rtt = sources.delay(self.path.rtt.value(), Extent::RoundTrip);
        let rtt = rtt.and_then(BuiltDelay::round_trip).map_err(|message| self.path.rtt.fault(message))?;
        Ok(Scenario {
            hops,
            bottleneck,
            uplink,
            base_rtt: rtt.least,
            rtt_curve: rtt.curve,
            jitter: jitter(sources, &self.path.jitter)?,
            uplink_jitter: jitter(sources, &self.path.uplink_jitter)?,
            impairments: self.impairments(sources)?,
            flows,
            groups: self.flows.iter().map(|flow| flow.name.clone()).collect(),
            probe: self.run.probe.get().then(ProbeSpec::default),
            duration: self.run.duration.get(),
            warmup: self.run.warmup.get(),
            seed,
            min_packet_bytes: self.run.min_packet_bytes.get(),
            series: self.series(),
            connections: self.run.connections.get(),
        })
    }

    /// Time within which the flows of an entry start. With random starts and no `start_spread` given: 200 ms, or a tenth of the flow's
    /// lifetime if that is less.
    pub(super) fn spread(&self, flow: &Flow, is_random: bool) -> Span {
        if !is_random || flow.start_spread.is_given() {
            return flow.start_spread.get();
        }
        let end = flow.stop.get().unwrap_or(self.run.duration.get());
        START_SPREAD.min(end.saturating_sub(flow.start.get()) / 10)
    }

    fn flow_specs(&self, seed: u64, sources: &mut Sources<'_>) -> Result<Vec<FlowSpec>, Fault> {
        let mut specs = Vec::new();
        for (group, flow) in self.flows.iter().enumerate() {
            let Named { name: called, keys, .. } = flow;
            let count = keys.count.get();
            let destinations = self.destinations(flow)?;
            let several = count > 1 || destinations.len() > 1;
            let spread = self.spread(keys, sources.random.is_some());
            let extra = sources.delay(keys.extra_rtt.value(), Extent::RoundTrip);
            let extra = extra.map_err(|message| keys.extra_rtt.fault(message))?;
            // `count` flows go to each destination; their numbers run over all destinations.
            let members = destinations.iter().flat_map(|to| (0..count).map(|_| *to)).zip(1_u64..);
            for ((ue, qfi), member) in members {
                let name = if several { format!("{called}-{member}") } else { called.clone() };
                let transport = &keys.transport;
                specs.push(FlowSpec {
                    name,
                    group,
                    start: keys.start.get() + random_start(seed, specs.len(), spread),
                    stop: keys.stop.get(),
                    dscp: keys.dscp.get().0,
                    other: keys
                        .second_dscp
                        .get()
                        .map(|dscp| SecondCodepoint { dscp: dscp.0, share: second_share(keys) }),
                    access: access_rate(keys),
                    access_jitter: keys.access_jitter.get(),
                    discard_delay: keys.discard_delay.get(),
                    sets: self.sets(flow, (ue, qfi))?,
                    extra_rtt: extra.constant(),
                    extra_curve: extra.curve.clone().map(Box::new),
                    is_upload: keys.direction.get() == Direction::Up,
                    ue,
                    qfi,
                    ..FlowSpec::new(transport.text(), transport.value().0.as_ref().clone())
                });
            }
        }
        Ok(specs)
    }
}

/// Rate of a flow's own access link; `None` without one.
pub(super) fn access_rate(flow: &Flow) -> Option<Rate> {
    flow.access_rate.get().filter(|rate| *rate != Rate::INFINITE)
}

/// Share of a flow's data packets that carry `second_dscp`.
pub(super) fn second_share(flow: &Flow) -> f64 {
    flow.second_share.get().map_or(0.0, |Percent(share)| share)
}

fn line(rate: Rate) -> AnyLink {
    Line::new(rate, 0).into()
}

/// Random start of the flow with this index, uniform below `start_spread`.
pub fn random_start(seed: u64, index: usize, spread: Span) -> Span {
    if spread.is_zero() {
        return Span::ZERO;
    }
    let mut random = Random::derive(seed, &format!("flow-{index}"), "start");
    Span::from_nanos(random.below(spread.as_nanos()))
}

/// Default bin width: a 500th of `duration`, rounded up to 10, 20, 50, 100... ms.
fn automatic_series(duration: Span) -> Span {
    let wanted = duration / BINS;
    let mut width = Span::from_millis(10);
    for factor in [2, 5, 10].into_iter().cycle() {
        if width >= wanted {
            break;
        }
        // A pass over the factors starts at a power of ten and sets 2, 5 and 10 times this power.
        width = match factor {
            5 => width * 5 / 2,
            _ => width * 2,
        };
    }
    width
}

/// The impairment of a direction, with its models of corruption, reordering and duplication.
fn impairment(
    sources: &mut Sources<'_>,
    loss: &Setting<OrNone<Loss>>,
    models: [&Setting<Loss>; 3],
    reorder_delay: Span,
) -> Result<ImpairmentSpec, Fault> {
    let loss = match loss.value().as_option() {
        Some(model) => sources.loss(model).map_err(|message| loss.fault(message))?,
        None => LossModel::None,
    };
    let mut model =
        |setting: &Setting<Loss>| sources.loss(setting.value()).map_err(|message| setting.fault(message));
    let [corrupt, reorder, duplicate] = models;
    let (corrupt, reorder, duplicate) = (model(corrupt)?, model(reorder)?, model(duplicate)?);
    Ok(ImpairmentSpec { loss, corrupt, reorder, reorder_delay, duplicate, is_cut: false })
}

/// The jitter of a direction.
fn jitter(sources: &mut Sources<'_>, setting: &Setting<JitterText>) -> Result<Jitter, Fault> {
    sources.jitter(setting.value()).map_err(|message| setting.fault(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_bin_widths_give_at_most_500_bins() {
        let width = |seconds| automatic_series(Span::from_secs(seconds)).as_millis();
        assert_eq!((width(1), width(5), width(6), width(30), width(60)), (10, 10, 20, 100, 200));
        assert_eq!((width(500), width(600), width(3600), width(86_400)), (1000, 2000, 10_000, 200_000));
        assert!((1..5000).all(|s| Span::from_secs(s).as_nanos().div_ceil(width(s) * 1_000_000) <= BINS));
    }
}
