//! Experience of the user of an application in each bin of time.

use super::ConnectionSeries;
use crate::rates::{Bins, rate_mbps};
use qdelay_core::{Span, Time};
use qdelay_record::entity;
use qdelay_traffic::experience::Experience;
use qdelay_traffic::streaming::Session;
use qdelay_traffic::video::frames::{FrameRecord, freezes};
use qdelay_traffic::web::Load;

entity! {
    /// A flow in each bin of time: what the user of its application had, and the sender of its connection, where they are there.
    pub struct FlowSeries {
        /// Series of a call with video.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub video: Option<VideoSeries>,
        /// Series of a video stream.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub stream: Option<StreamSeries>,
        /// Series of a browser.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub web: Option<WebSeries>,
        /// Series of a connection, with `[run] connections`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub connection: Option<ConnectionSeries>,
    }
}

entity! {
    /// A call with video in each bin of time. All lists have one entry per bin.
    pub struct VideoSeries {
        /// Rate that its control allowed when a frame was captured, the mean over those of the bin, Mbit/s; null where none was.
        pub target_mbps: Vec<Option<f64>>,
        /// Bytes of the frames captured, without headers, Mbit/s.
        pub encoded_mbps: Vec<f64>,
        /// Height of the picture that is shown at the end of the bin, pixels; null before the first one and after the call.
        pub height: Vec<Option<u32>>,
        /// From capture to complete at the receiver, mean of the frames that were complete in the bin; null where none was.
        pub delay_mean_ms: Vec<Option<f64>>,
        /// The largest of them.
        pub delay_max_ms: Vec<Option<f64>>,
        /// From capture to display, mean of the frames shown in the bin, which is at least the playout delay; null where none was.
        pub display_mean_ms: Vec<Option<f64>>,
        /// The largest of them.
        pub display_max_ms: Vec<Option<f64>>,
        /// Frames shown.
        pub shown: Vec<u64>,
        /// Shown frames that were decoded after their playout deadline.
        pub late: Vec<u64>,
        /// Frames captured in the bin, a second or more before the end, that were never shown.
        pub not_shown: Vec<u64>,
        /// Time in which the picture was frozen.
        pub frozen_ms: Vec<f64>,
    }
}

entity! {
    /// A video stream in each bin of time. All lists have one entry per bin.
    pub struct StreamSeries {
        /// Video that is downloaded and not played at the end of the bin; null before the stream and after it.
        pub buffer_s: Vec<Option<f64>>,
        /// Bit rate of the chunk that was requested last at the end of the bin, Mbit/s; null before the first and after the stream.
        pub chosen_mbps: Vec<Option<f64>>,
        /// Bit rate of the picture at the end of the bin, Mbit/s; null while the viewer waits, and where there is none.
        pub shown_mbps: Vec<Option<f64>>,
        /// Time before the first picture.
        pub startup_ms: Vec<f64>,
        /// Time in stalls.
        pub stalled_ms: Vec<f64>,
        /// Chunks that were complete in the bin.
        pub chunks: Vec<u64>,
        /// Contribution of the bin to the quality of experience: bit rates of these chunks less their changes, less `penalty` for each second of
        /// startup and stalls.
        pub qoe: Vec<f64>,
    }
}

entity! {
    /// A browser in each bin of time. All lists have one entry per bin.
    pub struct WebSeries {
        /// Page loads that were complete in the bin.
        pub pages: Vec<u64>,
        /// How long they took, mean; null where there were none.
        pub load_mean_ms: Vec<Option<f64>>,
        /// The longest.
        pub load_max_ms: Vec<Option<f64>>,
    }
}

/// A frame that was captured less than this before the end is undecided, as in the figures of a call.
const UNDECIDED: Span = Span::from_secs(1);

impl FlowSeries {
    /// Series of what a user had until the flow's `end`.
    pub(crate) fn from_experience(experience: &Experience<'_>, end: Time, bins: Bins) -> FlowSeries {
        let mut series = FlowSeries::default();
        match experience {
            Experience::Call { frames, playout } => {
                series.video = Some(VideoSeries::from_frames(frames, *playout, end, bins));
            }
            Experience::Stream(session) => {
                series.stream = Some(StreamSeries::from_session(session, end, bins))
            }
            Experience::Web(loads) => series.web = Some(WebSeries::from_loads(loads, bins)),
        }
        series
    }
}

impl VideoSeries {
    fn from_frames(frames: &[FrameRecord], playout: Span, end: Time, bins: Bins) -> VideoSeries {
        let count = bins.count();
        let (mut targets, mut delays, mut displays) =
            (vec![Sample::default(); count], vec![Sample::default(); count], vec![Sample::default(); count]);
        let (mut bytes, mut heights) = (vec![0; count], vec![None; count]);
        let mut series = VideoSeries {
            late: vec![0; count],
            not_shown: vec![0; count],
            frozen_ms: vec![0.0; count],
            ..VideoSeries::default()
        };
        for frame in frames {
            let shown = frame.shown(playout);
            if let Some(bin) = bins.index(frame.captured) {
                targets[bin].add(f64::from(frame.target) / 1e6);
                bytes[bin] += u64::from(frame.bytes);
                let is_decided = frame.captured + UNDECIDED <= end;
                series.not_shown[bin] += u64::from(shown == Time::NEVER && is_decided);
            }
            if let Some(bin) = bins.index(frame.complete) {
                delays[bin].add(frame.complete.since(frame.captured).as_millis_f64());
            }
            if let Some(bin) = bins.index(shown) {
                displays[bin].add(shown.since(frame.captured).as_millis_f64());
                heights[bin] = Some(frame.height());
                series.late[bin] += u64::from(frame.is_late(playout));
            }
        }
        let times = frames.iter().map(|frame| frame.shown(playout)).filter(|shown| *shown <= end);
        for freeze in freezes(times.chain([end])) {
            bins.share_out(freeze, &mut series.frozen_ms);
        }
        // The picture keeps its height over bins in which no frame was shown.
        let mut height = None;
        for ((from, to), newest) in bins.all().zip(heights) {
            height = newest.or(height).filter(|_| from < end);
            series.height.push(height);
            series.encoded_mbps.push(rate_mbps(bytes[series.encoded_mbps.len()], to.since(from)));
        }
        series.target_mbps = Sample::means(&targets);
        (series.delay_mean_ms, series.delay_max_ms) = (Sample::means(&delays), Sample::largest(&delays));
        (series.display_mean_ms, series.display_max_ms) =
            (Sample::means(&displays), Sample::largest(&displays));
        series.shown = displays.iter().map(|sample| sample.count).collect();
        series
    }
}

impl StreamSeries {
    fn from_session(session: &Session, end: Time, bins: Bins) -> StreamSeries {
        let count = bins.count();
        let mut series =
            StreamSeries { chunks: vec![0; count], qoe: vec![0.0; count], ..StreamSeries::default() };
        let mut last = None;
        for chunk in &session.chunks {
            if let Some(bin) = bins.index(chunk.complete) {
                series.chunks[bin] += 1;
                series.qoe[bin] += (chunk.bps - (chunk.bps - last.unwrap_or(chunk.bps)).abs()) / 1e6;
                last = Some(chunk.bps);
            }
        }
        for (bin, (from, to)) in bins.all().enumerate() {
            // The buffer is sampled as a bin ends, as long as the session lasts: it has none before its start, and none once all is played.
            let is_there =
                |at: &Time| *at >= session.start && *at <= end && session.played(*at) < session.length;
            let at = Some(to).filter(is_there);
            series.buffer_s.push(at.map(|at| session.buffer(at).as_secs_f64()));
            series.chosen_mbps.push(at.and_then(|at| session.chosen(at)).map(|bps| bps / 1e6));
            series.shown_mbps.push(at.and_then(|at| session.shown(at)).map(|bps| bps / 1e6));
            let (startup, stalled) = (session.startup(from, to.min(end)), session.stalled(from, to.min(end)));
            series.startup_ms.push(startup.as_millis_f64());
            series.stalled_ms.push(stalled.as_millis_f64());
            series.qoe[bin] -= session.penalty * (startup + stalled).as_secs_f64();
        }
        series
    }
}

impl WebSeries {
    fn from_loads(loads: &[Load], bins: Bins) -> WebSeries {
        let mut samples = vec![Sample::default(); bins.count()];
        for load in loads {
            if let Some(bin) = bins.index(load.begun + load.took) {
                samples[bin].add(load.took.as_millis_f64());
            }
        }
        WebSeries {
            pages: samples.iter().map(|sample| sample.count).collect(),
            load_mean_ms: Sample::means(&samples),
            load_max_ms: Sample::largest(&samples),
        }
    }
}

/// Values of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    count: u64,
    sum: f64,
    max: f64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        (self.count, self.sum, self.max) = (self.count + 1, self.sum + value, self.max.max(value));
    }
    fn means(all: &[Sample]) -> Vec<Option<f64>> {
        all.iter().map(|one| (one.count > 0).then(|| one.sum / one.count as f64)).collect()
    }
    fn largest(all: &[Sample]) -> Vec<Option<f64>> {
        all.iter().map(|one| (one.count > 0).then_some(one.max)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_traffic::streaming::ChunkRecord;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn bins(ms: u64) -> Bins {
        Bins { width: Span::from_secs(1), end: at(ms) }
    }

    /// 10 frames a second for 6 s, 50 ms under way; those captured from 2 to 3.4 s come at 3.5 s, and that of 4 s never.
    #[test]
    fn a_call_that_freezes() {
        let frame = |number: u64| {
            let captured = 100 * number;
            let come = if (2000..3450).contains(&captured) { 3500 } else { captured + 50 };
            let come = if captured == 4000 { Time::NEVER } else { at(come) };
            let target = if captured < 3000 { 1e6 } else { 2e6 };
            FrameRecord {
                captured: at(captured),
                complete: come,
                decoded: come,
                target,
                bytes: 12_500,
                size: 2,
            }
        };
        let frames: Vec<FrameRecord> = (0..60).map(frame).collect();
        let series = VideoSeries::from_frames(&frames, Span::from_millis(100), at(6000), bins(6000));
        // What happens just when a bin ends belongs to it: 11 frames are captured in the first one.
        assert_eq!(series.encoded_mbps, [1.1, 1.0, 1.0, 1.0, 1.0, 0.9]);
        assert_eq!(series.target_mbps[..4], [Some(1.0), Some(1.0), Some(1.1), Some(2.0)]);
        assert_eq!(series.height, vec![Some(360); 6]);
        // The last picture before is shown at 2 s, the next ones at 3.5 s.
        assert_eq!(series.frozen_ms, [0.0, 0.0, 1000.0, 500.0, 0.0, 0.0]);
        assert_eq!(series.late, [0, 0, 0, 14, 0, 0]);
        assert_eq!(series.not_shown, [0, 0, 0, 1, 0, 0]);
        assert_eq!(series.shown.iter().sum::<u64>(), 59);
        assert_eq!((series.delay_mean_ms[0], series.delay_max_ms[3]), (Some(50.0), Some(1500.0)));
        assert_eq!((series.display_max_ms[0], series.display_max_ms[2]), (Some(100.0), None));
        // A call that ends earlier has no picture after it.
        let short = VideoSeries::from_frames(&frames[..20], Span::from_millis(100), at(2000), bins(6000));
        assert_eq!(short.height[1..3], [Some(360), None]);
        assert_eq!(short.frozen_ms, [0.0; 6]);
    }

    /// Chunks of 2 s; the first picture after 0.5 s, a stall from 2.5 to 4.2 s, and an end at 6.2 s.
    #[test]
    fn a_stream_that_stalls() {
        let chunk =
            |requested, complete, bps| ChunkRecord { requested: at(requested), complete: at(complete), bps };
        let session = Session {
            start: at(0),
            began: at(500),
            stalls: vec![(at(2500), at(4200))],
            chunks: vec![chunk(0, 500, 1e6), chunk(500, 4200, 3e6)],
            chunk: Span::from_secs(2),
            length: Span::from_secs(4),
            penalty: 4.0,
        };
        let series = StreamSeries::from_session(&session, at(8000), bins(8000));
        let buffer = [Some(1.5), Some(0.5), Some(0.0), Some(0.0), Some(1.2), Some(0.2), None, None];
        assert_eq!(series.buffer_s, buffer);
        assert_eq!(series.shown_mbps[..6], [Some(1.0), Some(1.0), None, None, Some(3.0), Some(3.0)]);
        assert_eq!(series.chosen_mbps[..2], [Some(3.0), Some(3.0)]);
        assert_eq!(series.startup_ms[..2], [500.0, 0.0]);
        assert_eq!(series.stalled_ms[..5], [0.0, 0.0, 500.0, 1000.0, 200.0]);
        assert_eq!(series.chunks, [1, 0, 0, 0, 1, 0, 0, 0]);
        // 1 + 3 - 2 - 4 (0.5 + 1.7).
        assert!((series.qoe.iter().sum::<f64>() - (2.0 - 8.8)).abs() < 1e-9, "{:?}", series.qoe);
    }

    #[test]
    fn a_browser() {
        let load = |begun, took| Load { begun: at(begun), took: Span::from_millis(took) };
        let series = WebSeries::from_loads(&[load(0, 400), load(500, 500), load(1900, 1000)], bins(3000));
        assert_eq!(series.pages, [2, 0, 1]);
        assert_eq!(series.load_mean_ms, [Some(450.0), None, Some(1000.0)]);
        assert_eq!(series.load_max_ms, [Some(500.0), None, Some(1000.0)]);
    }
}
