//! Measures of connections over time: one line for each flow, also of an entry of `[[flow]]` that has several.

use crate::model::Study;
use qdelay_study::InputError;
use qdelay_study::results::{CaseSummary, ConnectionSeries};

/// Measures, and what an axis says.
const MEASURES: [(&str, &str); 8] = [
    ("cwnd", "Congestion window (kB)"),
    ("ssthresh", "Slow start threshold (kB)"),
    ("in_flight", "Bytes in flight (kB)"),
    ("srtt", "Smoothed round trip (ms)"),
    ("rtt", "Round trip, latest sample (ms)"),
    ("pacing", "Pacing rate (Mbit/s)"),
    ("delivery", "Delivery rate (Mbit/s)"),
    ("retransmits", "Segments sent again"),
];

/// The names of the measures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MEASURES.iter().map(|(name, _)| *name)
}

/// Title of the axis of a measure; `None` for a measure that connections do not have.
pub(super) fn title(measure: &str) -> Option<&'static str> {
    MEASURES.iter().find(|(name, _)| *name == measure).map(|(_, title)| *title)
}

/// Whether a measure is a state at the end of each bin, and not a sum over it.
pub(super) fn is_state(measure: &str) -> bool {
    title(measure).is_some() && !matches!(measure, "delivery" | "retransmits")
}

/// The flows with a connection over time, in the order of the cases; only those of these entries of `[[flow]]`, or of these names.
pub(super) fn flows<'a>(study: &'a Study, wanted: &[String]) -> Result<Vec<&'a str>, InputError> {
    let cases = || study.cases.iter().map(|placed| study.figures(placed));
    let mut all: Vec<(&str, &str)> = Vec::new();
    for flow in cases().flat_map(|case| case.flows.iter().filter(|flow| has_connection(case, &flow.name))) {
        if !all.iter().any(|(known, _)| *known == flow.name) {
            all.push((&flow.name, &flow.group));
        }
    }
    let is_meant = |(name, group): &(&str, &str), wanted: &String| wanted == name || wanted == group;
    if let Some(missing) = wanted.iter().find(|wanted| !all.iter().any(|flow| is_meant(flow, wanted))) {
        let there = all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let message = match there.is_empty() {
            true => none(study).to_string(),
            false => format!(
                "no connection '{missing}'; expected one of {there}, or an entry of [[flow]] that has some of them"
            ),
        };
        return Err(InputError::new("--flows", message));
    }
    if all.is_empty() {
        return Err(InputError::new("--measure", none(study)));
    }
    let is_kept =
        |flow: &(&str, &str)| wanted.is_empty() || wanted.iter().any(|wanted| is_meant(flow, wanted));
    Ok(all.into_iter().filter(is_kept).map(|(name, _)| name).collect())
}

/// The error where no flow has a connection over time.
const NONE: &str = "these cases have no connections over time; expected results of 'qdelay run --connections', of a scenario with [run] \
    connections = true, or of compare() in Python with connections=True; datagrams have none";

fn none(study: &Study) -> &'static str {
    if study.is_of_links() { NONE_OF_LINK } else { NONE }
}

/// The error for a link.
const NONE_OF_LINK: &str =
    "a link measures packets, and no connections of its programs; expected delay, max, throughput or backlog";

fn has_connection(case: &CaseSummary, flow: &str) -> bool {
    let flows = case.series.as_ref().map(|series| &series.flows);
    flows.and_then(|flows| flows.get(flow)).is_some_and(|flow| flow.connection.is_some())
}

/// The values of a measure, one for each bin.
pub(super) fn values(connection: &ConnectionSeries, measure: &str) -> Vec<Option<f64>> {
    let kilobytes =
        |bytes: &[Option<u64>]| bytes.iter().map(|bytes| bytes.map(|bytes| bytes as f64 / 1e3)).collect();
    match measure {
        "cwnd" => kilobytes(&connection.cwnd_bytes),
        "ssthresh" => kilobytes(&connection.ssthresh_bytes),
        "in_flight" => kilobytes(&connection.in_flight_bytes),
        "srtt" => connection.srtt_ms.clone(),
        "rtt" => connection.rtt_ms.clone(),
        "pacing" => connection.pacing_mbps.clone(),
        "delivery" => connection.delivery_mbps.clone(),
        _ => connection.retransmits.iter().map(|count| Some(*count as f64)).collect(),
    }
}
