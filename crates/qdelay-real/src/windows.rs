//! Congestion windows and round-trip times of the kernel's TCP over time, from iperf3's reports at the ends of its intervals.

use qdelay_core::{Span, Time};
use qdelay_sim::results::ConnectionSeries;
use serde_json::Value;

/// Report of iperf3 at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelSample {
    /// End of the interval, as time in the run.
    at: Time,
    /// Congestion window in bytes.
    window_bytes: u64,
    /// Smoothed round-trip time in ms; `None` before the first sample.
    srtt_ms: Option<f64>,
    /// Segments retransmitted in the interval.
    retransmits: u64,
}

/// Reports of a sender that began at `start`; empty for a program without windows, such as the receiver of an upload.
pub fn samples(printed: &Value, start: Time) -> Vec<KernelSample> {
    let intervals = printed["intervals"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sample = |interval: &Value| {
        let stream = &interval["streams"][0];
        let end = stream["end"].as_f64().filter(|end| (0.0..1e6).contains(end))?;
        Some(KernelSample {
            at: start + Span::from_nanos((end * 1e9) as u64),
            window_bytes: stream["snd_cwnd"].as_u64()?,
            srtt_ms: stream["rtt"].as_f64().filter(|us| *us > 0.0).map(|us| us / 1e3),
            retransmits: stream["retransmits"].as_u64().unwrap_or_default(),
        })
    };
    intervals.iter().filter_map(sample).collect()
}

/// Reports in bins of this width up to `end`, for a flow that stops at `stop`: each bin has the latest report before its end. The
/// other quantities of the series stay empty, because iperf3 does not report them.
pub fn series(samples: &[KernelSample], width: Span, end: Time, stop: Time) -> Option<ConnectionSeries> {
    samples.first()?;
    let bins = end.since(Time::ZERO).as_nanos().div_ceil(width.as_nanos().max(1));
    let mut series = ConnectionSeries::default();
    let mut next = 0;
    for bin in 1..=bins {
        let until = (Time::ZERO + width * bin).min(end);
        let first = next;
        next +=
            samples.get(next..).unwrap_or_default().iter().take_while(|sample| sample.at <= until).count();
        let latest = next.checked_sub(1).and_then(|latest| samples.get(latest)).filter(|_| until < stop);
        series.cwnd_bytes.push(latest.map(|sample| sample.window_bytes));
        series.srtt_ms.push(latest.and_then(|sample| sample.srtt_ms));
        let new = samples.get(first..next).unwrap_or_default();
        series.retransmits.push(new.iter().map(|sample| sample.retransmits).sum());
        series.ssthresh_bytes.push(None);
        series.in_flight_bytes.push(None);
        series.rtt_ms.push(None);
        series.pacing_mbps.push(None);
        series.delivery_mbps.push(None);
        series.ca_state.push(None);
    }
    Some(series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_bin_has_the_latest_report() {
        let stream = |end: f64, window: u64, rtt: u32| json!({ "streams": [{ "end": end, "snd_cwnd": window, "rtt": rtt, "retransmits": 2 }] });
        let printed = json!({ "intervals": [stream(0.1, 14_480, 0), stream(0.2, 28_960, 41_000), stream(0.3, 30_000, 42_000)] });
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let found = samples(&printed, at(1000));
        assert_eq!(found.len(), 3);
        let series = series(&found, Span::from_millis(150), at(1600), Time::NEVER).unwrap();
        let windows: Vec<Option<u64>> = series.cwnd_bytes.clone();
        assert_eq!(windows[..7], [None; 7]);
        assert_eq!(windows[7..], [Some(28_960), Some(30_000), Some(30_000), Some(30_000)]);
        assert_eq!((series.srtt_ms[7], series.srtt_ms[8]), (Some(41.0), Some(42.0)));
        assert_eq!(series.retransmits[7..], [4, 2, 0, 0]);
        assert_eq!(series.ca_state.len(), 11);
        assert_eq!(super::series(&[], Span::from_millis(150), at(1600), Time::NEVER), None);
        assert_eq!(samples(&Value::Null, at(0)), []);
    }
}
