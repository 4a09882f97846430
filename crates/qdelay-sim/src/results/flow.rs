//! The figures of a flow.

use super::mean_of;
use qdelay_record::{DelaySummary, entity};
use qdelay_traffic::audio::AudioOutcome;
use qdelay_traffic::voice::VoiceOutcome;

/// The direction of uploads.
pub(crate) const UP: &str = "up";

entity! {
    /// A flow.
    pub struct FlowFigures {
        /// Its name.
        pub name: String,
        /// The entry of `[[flow]]` it is of.
        pub group: String,
        /// Its transport.
        pub transport: String,
        /// `up` of an upload, whose data crosses the uplink; not there for others.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub direction: Option<String>,
        /// Application bytes delivered, Mbit/s.
        pub goodput_mbps: f64,
        /// Application bytes delivered in the whole run.
        pub delivered_bytes: u64,
        /// IP bytes that left the bottleneck, of an upload the uplink, Mbit/s; of 2 to 256 flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub throughput_mbps: Option<f64>,
        /// Departure less arrival at the bottleneck, of an upload at the uplink; of 2 to 256 flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub queue_delay_ms: Option<DelaySummary>,
        /// From sender to receiver; of 2 to 256 flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub one_way_delay_ms: Option<DelaySummary>,
        /// Mean difference of consecutive one-way delays; of 2 to 256 flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub jitter_ms: Option<f64>,
        /// Bytes that a finite download asks for; not there for others, and where real programs make it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub bytes: Option<u64>,
        /// When a finite download was complete, since it started.
        pub completion_s: Option<f64>,
        /// Segments or datagrams sent.
        pub packets_sent: u64,
        /// Data packets lost on the path.
        pub packets_lost: u64,
        /// Lost over sent.
        #[serde(default)]
        pub loss_ratio: f64,
        /// With `discard_after`: data packets that its receiver discarded because they were too late.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub discarded_late: Option<u64>,
        /// Retransmissions.
        pub retransmits: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Reductions taken back.
        pub undone: u64,
        /// Congestion window at the end, segments.
        pub final_cwnd: u32,
        /// Smoothed round trip at the end.
        pub final_srtt_ms: f64,
        /// Mean of the smoothed round trip over time, after the warm-up; 0 where there is no series.
        #[serde(default)]
        pub srtt_mean_ms: f64,
        /// Cells only: the name of its UE.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub ue: Option<String>,
        /// Cells only: the QoS flow that carries it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub qfi: Option<u8>,
        /// Cells only: the slice of the bearer that carries it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub slice: Option<String>,
        /// Cells only: the class of its QoS flow, `5qi-7`, of LTE `qci-7`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub class: Option<String>,
        /// Cells only: the packet delay budget of its class.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub budget_ms: Option<f64>,
        /// Cells only: share of its packets handed up that were so within the budget of their QoS flow, since they came to the far end of N3.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_budget: Option<f64>,
        /// Datagrams that are sent back: the time from sending a datagram to its return.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub round_trip_ms: Option<DelaySummary>,
        /// Figures of a call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub voice: Option<VoiceFigures>,
        /// Figures of an adaptive call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub audio: Option<AudioFigures>,
    }
}

entity! {
    /// How a call, or the calls of an entry of `[[flow]]`, sounded.
    #[derive(Copy)]
    pub struct VoiceFigures {
        /// The E-model's rating R (ITU-T G.107); of several calls the mean.
        pub r: f64,
        /// The rating of the worst call.
        pub r_min: f64,
        /// Mean opinion score for conversation; of several calls the mean.
        pub mos: f64,
        /// From mouth to ear; of several calls the mean.
        pub mouth_to_ear_ms: f64,
        /// Packets not heard over packets sent, by loss and by lateness.
        pub loss_ratio: f64,
        /// Share of the sent packets that were too late for the listener's buffer.
        pub late_ratio: f64,
    }
}

entity! {
    /// Figures of an adaptive call, or of those of an entry of `[[flow]]`: means over several. Shares are of the time from its
    /// start to its stop, after the warm-up.
    #[derive(Copy)]
    pub struct AudioFigures {
        /// It sent mainly with its own codepoint.
        pub green_share: f64,
        /// It sent mainly with its other codepoint.
        pub blue_share: f64,
        /// It sent nothing.
        pub off_share: f64,
        /// Changes of codepoint.
        pub changes: f64,
        /// Times it gave up for a while.
        pub hang_ups: f64,
        /// Rate of the codec, on and off, without headers and error correction, Mbit/s.
        pub codec_mbps: f64,
    }
}

impl VoiceFigures {
    /// Figures of one call.
    pub(crate) fn of(call: &VoiceOutcome) -> VoiceFigures {
        VoiceFigures {
            r: call.quality.r,
            r_min: call.quality.r,
            mos: call.quality.mos,
            mouth_to_ear_ms: call.quality.mouth_to_ear.as_millis_f64(),
            loss_ratio: call.heard.loss,
            late_ratio: call.heard.late as f64 / call.heard.sent.max(1) as f64,
        }
    }

    /// Means over several calls; `None` without calls.
    pub(crate) fn together(calls: &[VoiceFigures]) -> Option<VoiceFigures> {
        let mean = |figure: fn(&VoiceFigures) -> f64| mean_of(calls, figure);
        (!calls.is_empty()).then(|| VoiceFigures {
            r: mean(|call| call.r),
            r_min: calls.iter().map(|call| call.r_min).fold(f64::INFINITY, f64::min),
            mos: mean(|call| call.mos),
            mouth_to_ear_ms: mean(|call| call.mouth_to_ear_ms),
            loss_ratio: mean(|call| call.loss_ratio),
            late_ratio: mean(|call| call.late_ratio),
        })
    }
}

impl AudioFigures {
    /// Figures of one call.
    pub(crate) fn of(call: &AudioOutcome) -> AudioFigures {
        AudioFigures {
            green_share: call.green_share,
            blue_share: call.blue_share,
            off_share: call.off_share,
            changes: call.changes as f64,
            hang_ups: call.hang_ups as f64,
            codec_mbps: call.codec_mbps,
        }
    }

    /// Means over several calls; `None` without calls.
    pub(crate) fn together(calls: &[AudioFigures]) -> Option<AudioFigures> {
        let mean = |figure: fn(&AudioFigures) -> f64| mean_of(calls, figure);
        (!calls.is_empty()).then(|| AudioFigures {
            green_share: mean(|call| call.green_share),
            blue_share: mean(|call| call.blue_share),
            off_share: mean(|call| call.off_share),
            changes: mean(|call| call.changes),
            hang_ups: mean(|call| call.hang_ups),
            codec_mbps: mean(|call| call.codec_mbps),
        })
    }
}
