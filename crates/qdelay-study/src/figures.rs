//! Conversion of the outcome of a run to the figures and curves of result files.

use crate::results::{CaseSummary, Cdf, Entity, SCHEMA_VERSION};
use qdelay_record::DelayHistogram;
use qdelay_sim::results::percent_of_arrived;
use qdelay_sim::{Delays, Outcome};
use std::collections::BTreeMap;

/// Percentiles of a curve, denser towards the largest delays.
pub const PERCENTS: [f64; 217] = percents();

const fn percents() -> [f64; 217] {
    let mut percents = [0.0; 217];
    let mut at = 0;
    // Steps of 0.5 up to 98, of 0.2 up to 99.8, then ever closer to 100.
    while at < 197 {
        percents[at] = at as f64 / 2.0;
        at += 1;
    }
    let mut fifths = 1;
    while fifths < 10 {
        percents[at] = 98.0 + fifths as f64 / 5.0;
        at += 1;
        fifths += 1;
    }
    let last = [99.85, 99.9, 99.93, 99.95, 99.97, 99.98, 99.985, 99.99, 99.995, 99.999, 100.0];
    let mut i = 0;
    while i < last.len() {
        percents[at] = last[i];
        at += 1;
        i += 1;
    }
    percents
}

/// Percentiles of the curve of a flow, UE, slice or class: fewer, because a case may have many of these.
pub const FEW_PERCENTS: [f64; 21] = [
    0.0, 1.0, 5.0, 10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 98.0, 99.0,
    99.5, 99.9, 100.0,
];

/// Figures and curves of the case `id`, rounded to six decimals.
pub fn summary(id: &str, labels: BTreeMap<String, String>, outcome: &Outcome) -> CaseSummary {
    let delays = outcome.delays.as_deref();
    let found = |of: fn(&Delays) -> &BTreeMap<String, DelayHistogram>| {
        delays.map(of).filter(|delays| !delays.is_empty()).map(cdfs)
    };
    CaseSummary {
        schema_version: SCHEMA_VERSION,
        id: id.to_string(),
        labels,
        measures: outcome.measures.clone().rounded(),
        trustworthy: None,
        changes: 0,
        delay_cdf: delays.map(|delays| cdf(&delays.queue, &PERCENTS)),
        group_delay_cdf: delays.map(|delays| cdfs(&delays.groups)),
        codepoint_delay_cdf: found(|delays| &delays.codepoints),
        group_stage_cdf: delays
            .and_then(|delays| delays.stages.as_ref())
            .map(|groups| groups.iter().map(|(name, stages)| (name.clone(), cdfs(stages))).collect()),
        group_round_trip_cdf: found(|delays| &delays.round_trips),
        group_arrival_cdf: delays.and_then(arrival_cdfs),
        part_delay_cdf: delays.and_then(|delays| part_cdfs(outcome, delays)),
        series: outcome.series.clone().map(Entity::rounded),
    }
}

impl CaseSummary {
    /// The figures without the curves.
    #[must_use]
    pub fn without_curves(self) -> CaseSummary {
        CaseSummary {
            delay_cdf: None,
            group_delay_cdf: None,
            codepoint_delay_cdf: None,
            group_stage_cdf: None,
            group_round_trip_cdf: None,
            group_arrival_cdf: None,
            part_delay_cdf: None,
            series: None,
            ..self
        }
    }
}

fn cdfs(delays: &BTreeMap<String, DelayHistogram>) -> BTreeMap<String, Cdf> {
    delays.iter().map(|(name, delays)| (name.clone(), cdf(delays, &PERCENTS))).collect()
}

fn cdf(delays: &DelayHistogram, percents: &[f64]) -> Cdf {
    let ms = delays.curve(percents);
    Cdf { percent: percents[..ms.len()].to_vec(), ms }.rounded()
}

/// Curves of the delay until data arrived. They end below 100 percent if data did not arrive.
fn arrival_cdfs(delays: &Delays) -> Option<BTreeMap<String, Cdf>> {
    let curve = |(name, (arrived, missing)): (&String, &(DelayHistogram, u64))| {
        let of_arrived = |percent: f64| percent_of_arrived(percent, arrived.count(), *missing);
        let (percent, scaled): (Vec<f64>, Vec<f64>) =
            PERCENTS.iter().map_while(|&percent| Some((percent, of_arrived(percent)?))).unzip();
        (name.clone(), Cdf { percent, ms: arrived.curve(&scaled) }.rounded())
    };
    let curves: BTreeMap<String, Cdf> = delays.arrivals.iter().map(curve).collect();
    (!curves.is_empty()).then_some(curves)
}

/// Curves of flows, UEs, slices and classes. A flow that is the only one of its group has no curve here: the group's curve is the
/// same.
fn part_cdfs(outcome: &Outcome, delays: &Delays) -> Option<BTreeMap<String, BTreeMap<String, Cdf>>> {
    let few = |(name, delays): (&String, &DelayHistogram)| (name.clone(), cdf(delays, &FEW_PERCENTS));
    let flows = outcome.flows.iter().zip(&delays.flows).map(|(flow, delays)| (&flow.name, &delays.queue));
    let flows = flows.filter(|_| delays.flows.len() > delays.groups.len()).map(few).collect();
    let of = |delays: &BTreeMap<String, DelayHistogram>| delays.iter().map(few).collect();
    let parts: [(&str, BTreeMap<String, Cdf>); 4] = [
        ("flow", flows),
        ("ue", of(&delays.parts.ues)),
        ("slice", of(&delays.parts.slices)),
        ("class", of(&delays.parts.classes)),
    ];
    let parts: BTreeMap<String, BTreeMap<String, Cdf>> = parts
        .into_iter()
        .filter(|(_, curves)| !curves.is_empty())
        .map(|(kind, curves)| (kind.to_string(), curves))
        .collect();
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_ascend_from_0_to_100() {
        assert!(PERCENTS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((PERCENTS[0], PERCENTS[216]), (0.0, 100.0));
        for wanted in [50.0, 95.0, 99.0, 99.9, 99.99] {
            assert!(PERCENTS.iter().any(|percent| (percent - wanted).abs() < 1e-9), "{wanted}");
        }
    }
}
