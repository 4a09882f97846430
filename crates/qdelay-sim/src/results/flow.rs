//! The figures of a flow.

use super::mean_of;
use qdelay_record::{DelaySummary, entity};
use qdelay_traffic::audio::AudioOutcome;
use qdelay_traffic::streaming::StreamOutcome;
use qdelay_traffic::voice::VoiceOutcome;
use qdelay_traffic::web::WebOutcome;

/// The direction of uploads.
pub(crate) const UP: &str = "up";

/// An [`entity!`] whose last fields are those that a flow and the flows of an entry of `[[flow]]` have alike.
macro_rules! traffic_entity {
    ($(#[$attribute:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        ::qdelay_record::entity! {
            $(#[$attribute])*
            pub struct $name {
                $($fields)*
                /// Datagrams that are sent back: the time from sending a datagram to its return.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub round_trip_ms: Option<::qdelay_record::DelaySummary>,
                /// Figures of a call; of several calls their means.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub voice: Option<$crate::results::VoiceFigures>,
                /// Figures of an adaptive call; of several calls their means.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub audio: Option<$crate::results::AudioFigures>,
                /// Figures of a video stream; of several streams their means.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub stream: Option<$crate::results::StreamFigures>,
                /// Figures of a browser; of several browsers their means.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub web: Option<$crate::results::WebFigures>,
                /// Figures of a call with video; of several calls their means.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub video: Option<$crate::results::VideoFigures>,
                /// Figures of PDU sets; not there for flows without them.
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub pdu_sets: Option<$crate::results::PduSetFigures>,
            }
        }
    };
}
pub(super) use traffic_entity;

traffic_entity! {
    /// A flow.
    pub struct FlowFigures {
        /// Name of the flow.
        pub name: String,
        /// The entry of `[[flow]]` it is of.
        pub group: String,
        /// Transport of the flow.
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
        /// With `discard_delay`: data packets that its receiver discarded because they were too late.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub discarded_late: Option<u64>,
        /// Retransmissions.
        pub retransmits: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Reductions taken back.
        pub undone: u64,
        /// TCP: tail loss probes (RFC 8985 section 7).
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub probes: Option<u64>,
        /// TCP: segments that arrived although all of their bytes had arrived before, so that sending them again was for nothing.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub duplicates: Option<u64>,
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

entity! {
    /// Figures of a video stream, or of those of an entry of `[[flow]]`: means over several. They are of the whole stream, the warm-up
    /// included.
    #[derive(Copy)]
    pub struct StreamFigures {
        /// Chunks downloaded.
        pub chunks: f64,
        /// Their mean bit rate, Mbit/s.
        pub bitrate_mbps: f64,
        /// From the start of the flow to the first picture.
        pub startup_ms: f64,
        /// Times that playback stopped for want of video.
        pub stalls: f64,
        /// How long that was.
        pub stalled_s: f64,
        /// Chunks at another bit rate than the one before.
        pub switches: f64,
        /// Video that was played.
        pub played_s: f64,
        /// Quality of experience (Yin et al. 2015): the sum of the bit rates, less that of their changes, Mbit/s, less `penalty` for each
        /// second of startup and stalls.
        pub qoe: f64,
        /// Over the chunks: at most the highest bit rate.
        pub qoe_per_chunk: f64,
    }
}

entity! {
    /// Figures of a browser, or of those of an entry of `[[flow]]`: means over several. They are of the whole run, the warm-up included.
    #[derive(Copy)]
    pub struct WebFigures {
        /// Page loads that were complete.
        pub pages: f64,
        /// From the start of a load until its last object was there: the mean.
        pub load_ms: f64,
        /// The median.
        pub load_p50_ms: f64,
        /// The 95th percentile.
        pub load_p95_ms: f64,
        /// The longest.
        pub load_max_ms: f64,
        /// Loads that were under way at the end.
        pub not_loaded: f64,
    }
}

impl WebFigures {
    /// Figures of one browser.
    pub(crate) fn from_outcome(web: &WebOutcome) -> WebFigures {
        WebFigures {
            pages: web.pages as f64,
            load_ms: web.mean.as_millis_f64(),
            load_p50_ms: web.p50.as_millis_f64(),
            load_p95_ms: web.p95.as_millis_f64(),
            load_max_ms: web.max.as_millis_f64(),
            not_loaded: f64::from(u8::from(web.is_loading)),
        }
    }

    /// Means over several browsers; `None` without browsers.
    pub(crate) fn together(browsers: &[WebFigures]) -> Option<WebFigures> {
        let mean = |figure: fn(&WebFigures) -> f64| mean_of(browsers, figure);
        (!browsers.is_empty()).then(|| WebFigures {
            pages: mean(|web| web.pages),
            load_ms: mean(|web| web.load_ms),
            load_p50_ms: mean(|web| web.load_p50_ms),
            load_p95_ms: mean(|web| web.load_p95_ms),
            load_max_ms: mean(|web| web.load_max_ms),
            not_loaded: mean(|web| web.not_loaded),
        })
    }
}

impl StreamFigures {
    /// Figures of one stream.
    pub(crate) fn from_outcome(stream: &StreamOutcome) -> StreamFigures {
        StreamFigures {
            chunks: stream.chunks as f64,
            bitrate_mbps: stream.bitrate_mbps,
            startup_ms: stream.startup.as_millis_f64(),
            stalls: stream.stalls as f64,
            stalled_s: stream.stalled.as_secs_f64(),
            switches: stream.switches as f64,
            played_s: stream.played.as_secs_f64(),
            qoe: stream.qoe,
            qoe_per_chunk: stream.qoe_per_chunk,
        }
    }

    /// Means over several streams; `None` without streams.
    pub(crate) fn together(streams: &[StreamFigures]) -> Option<StreamFigures> {
        let mean = |figure: fn(&StreamFigures) -> f64| mean_of(streams, figure);
        (!streams.is_empty()).then(|| StreamFigures {
            chunks: mean(|stream| stream.chunks),
            bitrate_mbps: mean(|stream| stream.bitrate_mbps),
            startup_ms: mean(|stream| stream.startup_ms),
            stalls: mean(|stream| stream.stalls),
            stalled_s: mean(|stream| stream.stalled_s),
            switches: mean(|stream| stream.switches),
            played_s: mean(|stream| stream.played_s),
            qoe: mean(|stream| stream.qoe),
            qoe_per_chunk: mean(|stream| stream.qoe_per_chunk),
        })
    }
}

impl VoiceFigures {
    /// Figures of one call.
    pub(crate) fn from_outcome(call: &VoiceOutcome) -> VoiceFigures {
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
    pub(crate) fn from_outcome(call: &AudioOutcome) -> AudioFigures {
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
