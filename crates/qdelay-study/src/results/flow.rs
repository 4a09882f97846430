//! What a flow got.

use super::Delay;
use qdelay_record::entity;

entity! {
    /// A flow.
    pub struct Flow {
        /// Its name.
        pub name: String,
        /// The entry of `[[flow]]` it is of.
        pub group: String,
        /// What its ends run.
        pub transport: String,
        /// Application bytes delivered, Mbit/s.
        pub goodput_mbps: f64,
        /// Application bytes delivered in the whole run.
        pub delivered_bytes: u64,
        /// When a finite download was complete, since it started.
        pub completion_s: Option<f64>,
        /// Segments or datagrams sent.
        pub packets_sent: u64,
        /// Data packets lost on the path.
        pub packets_lost: u64,
        /// With `discard_after`: data packets that its receiver threw away because they came too late.
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
        /// Of a cell: the name of its UE.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub ue: Option<String>,
        /// Of a cell: the QoS flow that carries it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub qfi: Option<u8>,
        /// Of datagrams that are sent back: from sending one to its return.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub round_trip_ms: Option<Delay>,
        /// Of a call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub voice: Option<Voice>,
        /// Of an adaptive call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub audio: Option<Audio>,
    }
}

entity! {
    /// How a call, or the calls of an entry of `[[flow]]`, sounded.
    #[derive(Copy)]
    pub struct Voice {
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
        /// Of the packets sent: those that came too late for the listener's buffer.
        pub late_ratio: f64,
    }
}

entity! {
    /// What an adaptive call, or those of an entry of `[[flow]]`, did; of several the means. Shares are of the time from its start to
    /// its stop, after the warm-up.
    #[derive(Copy)]
    pub struct Audio {
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
