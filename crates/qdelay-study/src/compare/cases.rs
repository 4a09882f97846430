//! One case for each combination of link, discipline, transport and seed, all checked before any is run.

use super::refuse_repeated;
use crate::InputError;
use qdelay_core::component::{Arguments, Component, Value, find_outside_brackets, split_outside_brackets};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Random, Span};
use qdelay_path::AnyLink;
use qdelay_sim::{FlowSpec, ProbeSpec, Scenario, Uplink};
use qdelay_traffic::transport::TransportConfig;

/// Most cases of one command.
const CASES_MAX: usize = 100_000;
/// Flows start at a random time before this.
const START_WITHIN: Span = Span::from_millis(4);

/// A link and what the user typed for it.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// To the letter.
    pub typed: String,
    /// Ready to be put on a path.
    pub link: AnyLink,
}

/// What all cases have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// What acknowledgements cross.
    pub uplink: Option<Uplink>,
    /// Round trip without any queue.
    pub base_rtt: Span,
    /// At most this much more delay behind the bottleneck.
    pub jitter: Span,
    /// Flows of each case.
    pub flows: usize,
    /// Packets the bottleneck's queue holds where the discipline's `limit` is not given; without it the discipline's default.
    pub limit: Option<u64>,
    /// The probe.
    pub probe: Option<ProbeSpec>,
    /// Simulated time.
    pub duration: Span,
    /// Where measuring begins.
    pub warmup: Span,
    /// Smallest packet whose delay counts.
    pub min_packet_bytes: u32,
}

/// What tells a case from the others, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The trace or link.
    pub trace: String,
    /// The discipline.
    pub qdisc: String,
    /// The transport.
    pub transport: String,
    /// The seed.
    pub seed: u64,
}

/// A case, ready to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// What tells it from the others.
    pub axes: Axes,
    /// What to run.
    pub scenario: Scenario,
}

/// The components of a list option, each against its registry.
///
/// # Errors
/// A name, key or value that is not known, an empty item, or the same component twice.
pub fn component_list(
    option: &str,
    lists: &[String],
    registry: &[&'static Component],
) -> Result<Vec<Arguments>, InputError> {
    let mut all = Vec::new();
    for list in lists {
        let items = items(list).map_err(|message| InputError::new(option, message))?;
        refuse_parameters(option, &items, registry)?;
        for item in items {
            all.push(Arguments::parse(registry, item).map_err(|error| InputError::new(option, error))?);
        }
    }
    refuse_repeated(option, all.iter().map(|arguments| arguments.typed().to_string()))?;
    Ok(all)
}

/// `text` cut at its commas, except at those in square brackets.
///
/// # Errors
/// An item with nothing in it; a bracket without its partner.
fn items(text: &str) -> Result<Vec<&str>, String> {
    let items = split_outside_brackets(text, ',').map_err(|message| format!("'{text}': {message}"))?;
    let items: Vec<&str> = items.into_iter().map(str::trim).collect();
    if items.iter().any(|item| item.is_empty()) {
        return Err(format!("'{text}': a name is missing; expected names separated by single commas"));
    }
    Ok(items)
}

/// Commas separate components; who separates parameters by them gets what was meant.
fn refuse_parameters(
    option: &str,
    items: &[&str],
    registry: &[&'static Component],
) -> Result<(), InputError> {
    let is_parameter = |item: &&&str| {
        let name = find_outside_brackets(item, ':').map_or(**item, |end| &item[..end]);
        find_outside_brackets(name, '=').is_some()
    };
    let Some(at) = items.iter().position(|item| is_parameter(&item)).filter(|at| *at > 0) else {
        return Ok(());
    };
    let kind = registry.first().map_or("component", |component| component.kind.name());
    let parameters = items[at..].iter().take_while(is_parameter).copied();
    let meant: Vec<&str> = std::iter::once(items[at - 1]).chain(parameters).collect();
    let message =
        format!("'{}' is no {kind}; parameters are separated by ':': {}", items[at], meant.join(":"));
    Err(InputError::new(option, message))
}

/// Every combination: links outermost, then disciplines, transports, seeds.
///
/// # Errors
/// A combination that cannot be built, or too many of them.
pub fn cross(
    bottlenecks: &[Bottleneck],
    qdiscs: &[Arguments],
    transports: &[Arguments],
    seeds: &[u64],
    common: &Common,
) -> Result<Vec<Case>, InputError> {
    let qdiscs = with_limit(qdiscs, common.limit)?;
    let transports = built(transports)?;
    refuse_repeated("--seed", seeds.iter().map(u64::to_string))?;
    let count = bottlenecks.len().saturating_mul(qdiscs.len() * transports.len()).saturating_mul(seeds.len());
    if count > CASES_MAX {
        return Err(InputError::new(
            "--seed",
            format!("{count} cases are too many; expected at most {CASES_MAX}"),
        ));
    }
    let mut cases = Vec::with_capacity(count);
    for bottleneck in bottlenecks {
        for qdisc in &qdiscs {
            for transport in &transports {
                for &seed in seeds {
                    cases.push(case(bottleneck, qdisc, transport, seed, common));
                }
            }
        }
    }
    Ok(cases)
}

/// The disciplines with the bottleneck's limit where they have none of their own; each is built once to see that it can be.
fn with_limit(qdiscs: &[Arguments], limit: Option<u64>) -> Result<Vec<Arguments>, InputError> {
    let mut qdiscs = qdiscs.to_vec();
    for qdisc in &mut qdiscs {
        if let Some(limit) = limit {
            qdisc.default_to("limit", Value::Whole(limit));
        }
        AnyQdisc::build(qdisc).map_err(|error| InputError::new("--qdisc", error))?;
    }
    Ok(qdiscs)
}

fn built(transports: &[Arguments]) -> Result<Vec<(String, TransportConfig)>, InputError> {
    let build = |arguments: &Arguments| {
        let config =
            TransportConfig::build(arguments).map_err(|error| InputError::new("--transport", error))?;
        Ok((arguments.typed().to_string(), config))
    };
    transports.iter().map(build).collect()
}

fn case(
    bottleneck: &Bottleneck,
    qdisc: &Arguments,
    (name, transport): &(String, TransportConfig),
    seed: u64,
    common: &Common,
) -> Case {
    let flow =
        |index| FlowSpec { start: flow_start(seed, index, common.flows), ..FlowSpec::new(name, *transport) };
    let scenario = Scenario {
        bottleneck: qdelay_sim::Bottleneck::link(qdisc.clone(), bottleneck.link.clone()),
        uplink: common.uplink.clone(),
        hops: Vec::new(),
        base_rtt: common.base_rtt,
        jitter: common.jitter,
        flows: (0..common.flows).map(flow).collect(),
        probe: common.probe,
        duration: common.duration,
        warmup: common.warmup,
        seed,
        min_packet_bytes: common.min_packet_bytes,
        groups: Vec::new(),
        series: None,
    };
    let (trace, qdisc) = (bottleneck.typed.clone(), qdisc.typed().to_string());
    Case { axes: Axes { trace, qdisc, transport: name.clone(), seed }, scenario }
}

/// When a flow starts: at a random time within 4 ms, or at once where it is the only one.
pub fn flow_start(seed: u64, index: usize, flows: usize) -> Span {
    if flows == 1 {
        return Span::ZERO;
    }
    let mut random = Random::derive(seed, &format!("flow-{index}"), "start");
    Span::from_nanos(random.below(START_WITHIN.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_start_within_4_ms() {
        assert_eq!(flow_start(1, 0, 1), Span::ZERO);
        let starts: Vec<Span> = (0..100).map(|index| flow_start(1, index, 100)).collect();
        assert!(starts.iter().all(|start| *start < START_WITHIN));
        assert!(starts.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn items_of_a_list() {
        assert!(items("a,,b").is_err() && items("").is_err());
        assert_eq!(items("a, b"), Ok(vec!["a", "b"]));
        assert_eq!(items("a@[b,c],d"), Ok(vec!["a@[b,c]", "d"]));
        assert!(items("a@[b,c").unwrap_err().contains("'a@[b,c': '[' without its ']'"));
        assert!(items("a],b").unwrap_err().contains("']' without its '['"));
    }
}
