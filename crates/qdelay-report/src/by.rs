//! The part of the page about each UE, flow, slice and class: figures, and the distribution of their queue delay.

use super::short::{FIGURE_DIGITS, Short};
use qdelay_study::results::{CaseSummary, Cdf, DelaySummary, FlowFigures, TrafficFigures, VoiceFigures};
use serde::Serialize;
use std::collections::BTreeMap;

type Figure = Option<Short<FIGURE_DIGITS>>;

/// Most rows of one file, over all cases: about 0.5 MB. Cases that come after them have none.
pub(super) const ROWS_MAX: usize = 2_000;

/// Names of the figures of a row, in their order.
pub(super) const FIGURES: [&str; 15] = [
    "flows",
    "throughput",
    "mean",
    "p50",
    "p95",
    "p99",
    "max",
    "loss",
    "budget",
    "within",
    "mos",
    "done",
    "open",
    "took50",
    "took95",
];

/// A row: its name, its figures without those at the end that it does not have, and the delay at the percentiles of its kind.
#[derive(Serialize)]
pub(super) struct Row<'a>(&'a str, Vec<Figure>, Vec<Short<4>>);

/// The rows of a case by kind (`flow`, `ue`, `slice`, `class`), of the kinds that it has.
pub(super) type Rows<'a> = BTreeMap<&'static str, Vec<Row<'a>>>;

/// The percentiles of the distributions of rows, from the first case that has any.
pub(super) fn percents<'a>(cases: impl Iterator<Item = &'a CaseSummary>) -> Vec<f64> {
    let curves =
        cases.flat_map(|case| case.part_delay_cdf.iter().flatten()).flat_map(|(_, curves)| curves.values());
    curves.map(|cdf| &cdf.percent).find(|percent| !percent.is_empty()).cloned().unwrap_or_default()
}

/// The number of rows of a case.
pub(super) fn count(case: &CaseSummary) -> usize {
    let of_cell =
        case.cell.as_ref().map_or(0, |cell| cell.by_ue.len() + cell.by_slice.len() + cell.by_class.len());
    of_cell + own_flows(case).count()
}

/// Flows that have figures of their own; where each entry of `[[flow]]` has one, its group tells of it.
fn own_flows(case: &CaseSummary) -> impl Iterator<Item = &FlowFigures> {
    let is_told = case.flows.len() <= case.groups.len();
    case.flows.iter().filter(move |flow| !is_told && flow.queue_delay_ms.is_some())
}

/// The rows of a case, whose distributions have `percents`.
pub(super) fn rows<'a>(case: &'a CaseSummary, percents: &[f64]) -> Rows<'a> {
    let curve = |kind: &str, name: &str| {
        let found = case.part_delay_cdf.as_ref().and_then(|kinds| kinds.get(kind)?.get(name));
        let fits = |cdf: &&Cdf| cdf.percent == percents && cdf.ms.len() == percents.len();
        found.filter(fits).map(|cdf| cdf.ms.iter().map(|ms| Short(*ms)).collect()).unwrap_or_default()
    };
    let flows =
        own_flows(case).map(|flow| Row(&flow.name, of_flow(flow), curve("flow", &flow.name))).collect();
    let mut rows: Rows<'a> = [("flow", flows)].into();
    if let Some(cell) = &case.cell {
        for (kind, parts) in [("ue", &cell.by_ue), ("slice", &cell.by_slice), ("class", &cell.by_class)] {
            let of = parts.iter().map(|(name, part)| Row(name, of_traffic(part), curve(kind, name)));
            rows.insert(kind, of.collect());
        }
    }
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

fn of_flow(flow: &FlowFigures) -> Vec<Figure> {
    let took = flow.completion_s.map(|seconds| 1000.0 * seconds);
    let (done, open) = (flow.bytes.map(|_| took.is_some()), flow.bytes.map(|_| took.is_none()));
    let number = |is: bool| if is { 1.0 } else { 0.0 };
    row(
        (1.0, flow.throughput_mbps.unwrap_or(flow.goodput_mbps), flow.loss_ratio),
        &flow.queue_delay_ms.unwrap_or_default(),
        (flow.budget_ms, flow.within_budget, flow.voice.as_ref()),
        [done.map(number), open.map(number), took, took],
    )
}

fn of_traffic(part: &TrafficFigures) -> Vec<Figure> {
    let completion = part.completion_ms.filter(|completion| completion.count > 0);
    row(
        (part.flows as f64, part.throughput_mbps, part.loss_ratio),
        &part.queue_delay_ms,
        (part.budget_ms, part.within_budget, part.voice.as_ref()),
        [
            part.completion_ms.map(|completion| completion.count as f64),
            part.not_completed.map(|open| open as f64),
            completion.map(|completion| completion.p50),
            completion.map(|completion| completion.p95),
        ],
    )
}

/// In the order of [`FIGURES`].
fn row(
    (flows, throughput, loss): (f64, f64, f64),
    delay: &DelaySummary,
    (budget, within, voice): (Option<f64>, Option<f64>, Option<&VoiceFigures>),
    completions: [Option<f64>; 4],
) -> Vec<Figure> {
    let delayed = |ms: f64| (delay.count > 0).then_some(ms);
    let delays = [delay.mean, delay.p50, delay.p95, delay.p99, delay.max].map(delayed);
    let mut all: Vec<Option<f64>> = vec![Some(flows), Some(throughput)];
    all.extend(delays);
    all.extend([Some(loss), budget, within, voice.map(|voice| voice.mos)]);
    all.extend(completions);
    let last = all.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    all.into_iter().take(last).map(|figure| figure.map(Short)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::results::{CellFigures, GroupFigures};
    use serde_json::json;

    #[test]
    fn rows_have_what_there_is() {
        let delay = DelaySummary { count: 9, mean: 2.0, p50: 1.0, p95: 3.0, p99: 4.0, p999: 5.0, max: 6.0 };
        let flow = |name: &str| FlowFigures {
            name: name.to_string(),
            throughput_mbps: Some(1.5),
            queue_delay_ms: Some(delay),
            ..FlowFigures::default()
        };
        let page =
            FlowFigures { bytes: Some(9), completion_s: Some(0.25), loss_ratio: 0.01, ..flow("page-1") };
        let part = TrafficFigures {
            flows: 2,
            throughput_mbps: 3.0,
            within_budget: Some(0.5),
            budget_ms: Some(100.0),
            ..TrafficFigures::default()
        };
        let cell = CellFigures { by_ue: [("phone".to_string(), part)].into(), ..CellFigures::default() };
        let curve = Cdf { percent: vec![0.0, 100.0], ms: vec![0.5, 6.0] };
        let curves = [("flow".to_string(), [("page-1".to_string(), curve)].into())];
        let mut case = CaseSummary { part_delay_cdf: Some(curves.into()), ..CaseSummary::default() };
        case.measures.flows = vec![page, flow("page-2")];
        case.measures.groups = [("page".to_string(), GroupFigures::default())].into();
        case.measures.cell = Some(cell);
        let percents = percents([&case].into_iter());
        assert_eq!((percents.as_slice(), count(&case)), ([0.0, 100.0].as_slice(), 3));
        let shown = serde_json::to_value(rows(&case, &percents)).unwrap();
        let page = json!([1, 1.5, 2, 1, 3, 4, 6, 0.01, null, null, null, 1, 0, 250, 250]);
        assert_eq!(shown["flow"][0], json!(["page-1", page, [0.5, 6]]));
        assert_eq!(shown["flow"][1], json!(["page-2", [1, 1.5, 2, 1, 3, 4, 6, 0], []]));
        let phone = json!([2, 3, null, null, null, null, null, 0, 100, 0.5]);
        assert_eq!((&shown["ue"][0], shown.get("slice")), (&json!(["phone", phone, []]), None));
        case.measures.groups.insert("other".to_string(), GroupFigures::default());
        assert_eq!(count(&case), 1, "each flow is its group");
    }
}
