//! Viewers: the figures and time series of users of calls, video streams and browsers.

use super::short::{SERIES_DIGITS, Short, maybe_shorts, shorts};
use qdelay_study::results::{
    CaseSummary, FlowSeries, Series, StreamFigures, StreamSeries, VideoFigures, VideoSeries, WebFigures,
    WebSeries,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures of a flow whose user had something.
#[derive(Serialize)]
pub(super) struct Viewer<'a> {
    flow: &'a str,
    /// The viewer's entry of `[[flow]]`.
    group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    video: Option<&'a VideoFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a StreamFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web: Option<&'a WebFigures>,
}

/// Most flows of a case that the page tells of.
pub(super) const MOST: usize = 16;

pub(super) fn viewers(case: &CaseSummary) -> Vec<Viewer<'_>> {
    let viewers = case.flows.iter().map(|flow| Viewer {
        flow: &flow.name,
        group: &flow.group,
        video: flow.video.as_ref(),
        stream: flow.stream.as_ref(),
        web: flow.web.as_ref(),
    });
    let has_any = |viewer: &Viewer| viewer.video.is_some() || viewer.stream.is_some() || viewer.web.is_some();
    viewers.filter(has_any).take(MOST).collect()
}

/// The same over time, by flow.
pub(super) type OverTime<'a> = BTreeMap<&'a str, FlowPart<'a>>;

#[derive(Serialize)]
pub(super) struct FlowPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    video: Option<VideoPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<StreamPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web: Option<WebPart>,
}

type List = Vec<Short<SERIES_DIGITS>>;
type Gaps = Vec<Option<Short<SERIES_DIGITS>>>;

#[derive(Serialize)]
struct VideoPart<'a> {
    target: Gaps,
    encoded: List,
    height: &'a [Option<u32>],
    received: Gaps,
    shown: Gaps,
    shown_max: Gaps,
    late: &'a [u64],
    not_shown: &'a [u64],
    frozen: List,
}

#[derive(Serialize)]
struct StreamPart {
    buffer: Gaps,
    chosen: Gaps,
    shown: Gaps,
    startup: List,
    stalled: List,
}

#[derive(Serialize)]
struct WebPart {
    mean: Gaps,
    max: Gaps,
}

pub(super) fn over_time<'a>(series: &'a Series, viewers: &[Viewer<'_>]) -> OverTime<'a> {
    let is_told = |name: &String| viewers.iter().any(|viewer| viewer.flow == name);
    let flows = series.flows.iter().filter(|(name, _)| is_told(name));
    flows.map(|(name, flow)| (name.as_str(), part(flow))).collect()
}

fn part(flow: &FlowSeries) -> FlowPart<'_> {
    let stream = |stream: &StreamSeries| StreamPart {
        buffer: maybe_shorts(&stream.buffer_s),
        chosen: maybe_shorts(&stream.chosen_mbps),
        shown: maybe_shorts(&stream.shown_mbps),
        startup: shorts(&stream.startup_ms),
        stalled: shorts(&stream.stalled_ms),
    };
    let web = |web: &WebSeries| WebPart {
        mean: maybe_shorts(&web.load_mean_ms),
        max: maybe_shorts(&web.load_max_ms),
    };
    FlowPart {
        video: flow.video.as_ref().map(video_part),
        stream: flow.stream.as_ref().map(stream),
        web: flow.web.as_ref().map(web),
    }
}

fn video_part(video: &VideoSeries) -> VideoPart<'_> {
    VideoPart {
        target: maybe_shorts(&video.target_mbps),
        encoded: shorts(&video.encoded_mbps),
        height: &video.height,
        received: maybe_shorts(&video.delay_mean_ms),
        shown: maybe_shorts(&video.display_mean_ms),
        shown_max: maybe_shorts(&video.display_max_ms),
        late: &video.late,
        not_shown: &video.not_shown,
        frozen: shorts(&video.frozen_ms),
    }
}
