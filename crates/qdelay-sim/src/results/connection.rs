//! The state of a connection's sender in each bin of time.

use crate::rates::rate_mbps;
use qdelay_core::{Rate, Span, Time};
use qdelay_record::entity;
use qdelay_traffic::control::Recovery;
use qdelay_traffic::ends::ConnectionState;

entity! {
    /// The sender of a connection in each bin of time, as it is when the bin ends; of flows that are connections, with `[run] connections`.
    /// Bytes are those of segments without headers, of QUIC those of UDP payloads. All lists have one entry per bin; null before the
    /// connection is established, after the flow's stop, and once a finite download is acknowledged.
    pub struct ConnectionSeries {
        /// Congestion window: segments times `mss`.
        pub cwnd_bytes: Vec<Option<u64>>,
        /// Slow start threshold; null before the first reduction too, and where the control has none.
        pub ssthresh_bytes: Vec<Option<u64>>,
        /// Sent and neither acknowledged, selectively acknowledged nor marked lost; null for QUIC, whose stack does not say.
        pub in_flight_bytes: Vec<Option<u64>>,
        /// Smoothed round trip; null before the first sample too.
        pub srtt_ms: Vec<Option<f64>>,
        /// Latest sample of the round trip, which may be older than the bin; null before the first too, and for QUIC.
        pub rtt_ms: Vec<Option<f64>>,
        /// Rate at which segments leave; null where nothing is paced, and for QUIC but with a control that sets a rate, such as BBR.
        pub pacing_mbps: Vec<Option<f64>>,
        /// Delivery rate: bytes acknowledged or selectively acknowledged in the bin, Mbit/s; null for QUIC.
        pub delivery_mbps: Vec<Option<f64>>,
        /// Segments sent again in the bin, of QUIC packets with bytes of streams that had been sent before.
        pub retransmits: Vec<u64>,
        /// State of loss recovery, numbered as Linux's `tcp_ca_state`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss; null for QUIC.
        pub ca_state: Vec<Option<u32>>,
    }
}

/// Samples of one flow as they are taken.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLog {
    series: ConnectionSeries,
    /// End of the latest bin, and the sums at that time.
    since: Time,
    acknowledged: u64,
    retransmits: u64,
    /// Whether any sample has a state: of datagrams none has.
    is_connection: bool,
}

impl ConnectionLog {
    /// A bin ends at `now` with this state.
    pub(crate) fn sample(&mut self, now: Time, state: Option<ConnectionState>) {
        let width = now.since(self.since);
        self.since = now;
        let is_there = state.is_some();
        self.is_connection |= is_there;
        let state = state.unwrap_or_default();
        let series = &mut self.series;
        let there = |value: u64| is_there.then_some(value);
        series.cwnd_bytes.push(there(state.window_bytes));
        series.ssthresh_bytes.push(state.threshold_bytes);
        series.in_flight_bytes.push(state.in_flight_bytes);
        series.srtt_ms.push(state.smoothed_rtt.map(Span::as_millis_f64));
        series.rtt_ms.push(state.latest_rtt.map(Span::as_millis_f64));
        series.pacing_mbps.push(state.pacing_rate.map(Rate::as_mbps));
        let acknowledged = state.acknowledged_bytes;
        // A timeout may take selective acknowledgements back.
        let new = acknowledged.map(|sum| sum.saturating_sub(self.acknowledged));
        series.delivery_mbps.push(new.map(|bytes| rate_mbps(bytes, width)));
        self.acknowledged = self.acknowledged.max(acknowledged.unwrap_or_default());
        let retransmits = state.retransmits.max(self.retransmits);
        series.retransmits.push(retransmits - self.retransmits);
        self.retransmits = retransmits;
        series.ca_state.push(state.recovery.map(Recovery::number));
    }

    /// The samples of a connection; `None` of what was none.
    pub(crate) fn series(&self) -> Option<&ConnectionSeries> {
        self.is_connection.then_some(&self.series)
    }
}
