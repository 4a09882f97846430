//! The figures of calls with video.

use super::mean_of;
use qdelay_record::entity;
use qdelay_traffic::video::VideoOutcome;

entity! {
    /// Figures of a call with video, or of those of an entry of `[[flow]]`: means over several. Of frames that were captured after the
    /// warm-up, and a second or more before the end.
    #[derive(Copy)]
    pub struct VideoFigures {
        /// Mean of the rate that its control allows, Mbit/s.
        pub target_mbps: f64,
        /// Frames captured.
        pub frames: f64,
        /// Share of the captured frames that was complete at the receiver.
        pub complete: f64,
        /// Share that was decoded after the playout deadline.
        pub late: f64,
        /// Share that was never decoded: the picture before it stayed.
        pub frozen: f64,
        /// From capture to complete, mean of the complete frames.
        pub delay_mean_ms: f64,
        /// Median of the same delay.
        pub delay_p50_ms: f64,
        /// 95th percentile of the same delay.
        pub delay_p95_ms: f64,
        /// 99th percentile of the same delay.
        pub delay_p99_ms: f64,
        /// The highest.
        pub delay_max_ms: f64,
        /// Share of the frames captured that was complete within 20 ms.
        pub within_20ms: f64,
        /// Share of the frames captured that was complete within 50 ms.
        pub within_50ms: f64,
        /// How often the picture froze.
        pub freezes: f64,
        /// Share of time for which it was frozen.
        pub freeze_share: f64,
        /// Mean height of the pictures shown, pixels.
        pub height: f64,
        /// Mean opinion score of the seconds by ITU-T P.1203.1, mode 0.
        pub mos: f64,
        /// Key frames that the receiver asked for.
        pub key_requests: f64,
    }
}

impl VideoFigures {
    /// Figures of one call.
    pub(crate) fn from_outcome(call: &VideoOutcome) -> VideoFigures {
        let share = |count: u64| count as f64 / call.frames.max(1) as f64;
        VideoFigures {
            target_mbps: call.target_mbps,
            frames: call.frames as f64,
            complete: share(call.complete),
            late: share(call.late),
            frozen: share(call.frozen),
            delay_mean_ms: call.delay_ms.mean,
            delay_p50_ms: call.delay_ms.p50,
            delay_p95_ms: call.delay_ms.p95,
            delay_p99_ms: call.delay_ms.p99,
            delay_max_ms: call.delay_ms.max,
            within_20ms: call.within_20ms,
            within_50ms: call.within_50ms,
            freezes: call.freezes as f64,
            freeze_share: call.freeze_share,
            height: call.height,
            mos: call.mos,
            key_requests: call.key_requests as f64,
        }
    }

    /// Means over several calls; `None` without calls.
    pub(crate) fn together(calls: &[VideoFigures]) -> Option<VideoFigures> {
        let mean = |figure: fn(&VideoFigures) -> f64| mean_of(calls, figure);
        (!calls.is_empty()).then(|| VideoFigures {
            target_mbps: mean(|call| call.target_mbps),
            frames: mean(|call| call.frames),
            complete: mean(|call| call.complete),
            late: mean(|call| call.late),
            frozen: mean(|call| call.frozen),
            delay_mean_ms: mean(|call| call.delay_mean_ms),
            delay_p50_ms: mean(|call| call.delay_p50_ms),
            delay_p95_ms: mean(|call| call.delay_p95_ms),
            delay_p99_ms: mean(|call| call.delay_p99_ms),
            delay_max_ms: mean(|call| call.delay_max_ms),
            within_20ms: mean(|call| call.within_20ms),
            within_50ms: mean(|call| call.within_50ms),
            freezes: mean(|call| call.freezes),
            freeze_share: mean(|call| call.freeze_share),
            height: mean(|call| call.height),
            mos: mean(|call| call.mos),
            key_requests: mean(|call| call.key_requests),
        })
    }
}
