//! Connections over time as the page has them: window, round trip and rates of each flow.

use super::short::{SERIES_DIGITS, Short, maybe_shorts};
use qdelay_study::results::{CaseSummary, ConnectionSeries, Series};
use serde::Serialize;
use std::collections::BTreeMap;

/// Most connections of a case: as many lines as can be told apart.
pub(super) const MOST: usize = 12;

type Gaps = Vec<Option<Short<SERIES_DIGITS>>>;

/// A connection. Windows are in kB; a list without any value is empty.
#[derive(Serialize)]
pub(super) struct ConnectionPart<'a> {
    flow: &'a str,
    group: &'a str,
    cwnd: Gaps,
    ssthresh: Gaps,
    flight: Gaps,
    srtt: Gaps,
    rtt: Gaps,
    pacing: Gaps,
    delivery: Gaps,
}

/// The most connections of a case on the page.
pub(super) fn count(series: &Series) -> usize {
    series.flows.values().filter(|flow| flow.connection.is_some()).count().min(MOST)
}

/// The first connections of a case, in the order of its flows, and how many others there are.
pub(super) fn over_time<'a>(case: &'a CaseSummary, series: &'a Series) -> (Vec<ConnectionPart<'a>>, usize) {
    let known: BTreeMap<&str, &ConnectionSeries> = series
        .flows
        .iter()
        .filter_map(|(name, flow)| Some((name.as_str(), flow.connection.as_ref()?)))
        .collect();
    let all = case.flows.iter().filter_map(|flow| Some((flow, *known.get(flow.name.as_str())?)));
    let shown = all.take(MOST).map(|(flow, connection)| part(&flow.name, &flow.group, connection)).collect();
    (shown, known.len().saturating_sub(MOST))
}

fn part<'a>(flow: &'a str, group: &'a str, connection: &ConnectionSeries) -> ConnectionPart<'a> {
    ConnectionPart {
        flow,
        group,
        cwnd: kilobytes(&connection.cwnd_bytes),
        ssthresh: kilobytes(&connection.ssthresh_bytes),
        flight: kilobytes(&connection.in_flight_bytes),
        srtt: numbers(&connection.srtt_ms),
        rtt: numbers(&connection.rtt_ms),
        pacing: numbers(&connection.pacing_mbps),
        delivery: numbers(&connection.delivery_mbps),
    }
}

fn kilobytes(values: &[Option<u64>]) -> Gaps {
    let is_any = values.iter().any(Option::is_some);
    let all = values.iter().map(|bytes| bytes.map(|bytes| Short(bytes as f64 / 1e3)));
    if is_any { all.collect() } else { Vec::new() }
}

fn numbers(values: &[Option<f64>]) -> Gaps {
    if values.iter().any(Option::is_some) { maybe_shorts(values) } else { Vec::new() }
}
