//! The ends of an adaptive call.

use super::{AudioConfig, AudioOutcome, AudioReport, AudioTimes, Colour, Listener, Source};
use crate::ends::{Contents, EndFigures, FlowStart, Host, Outgoing};
use crate::tfrc::{RateControl, ReportedEnds, Reporting};
use qdelay_core::{Ecn, Span, Time};

/// Both ends of an adaptive call and the reports between them.
pub type AudioEnds = ReportedEnds<AudioCall>;

/// Source and listener of an adaptive call.
pub struct AudioCall {
    source: Source,
    listener: Listener,
    /// State of [`Source::times`] at the end of the warm-up.
    at_warmup: AudioTimes,
}

impl AudioCall {
    /// Outcome from the end of the warm-up until `end`; `None` if no time has passed.
    fn outcome(&self, end: Time) -> Option<AudioOutcome> {
        let (times, before) = (self.source.times(end), self.at_warmup);
        let since = |now: Span, then: Span| now.saturating_sub(then).as_secs_f64();
        let green = since(times.on[Colour::Green.index()], before.on[Colour::Green.index()]);
        let blue = since(times.on[Colour::Blue.index()], before.on[Colour::Blue.index()]);
        let off = since(times.off, before.off);
        let all = green + blue + off;
        (all > 0.0).then(|| AudioOutcome {
            green_share: green / all,
            blue_share: blue / all,
            off_share: off / all,
            changes: times.changes - before.changes,
            hang_ups: times.hang_ups - before.hang_ups,
            codec_mbps: (times.codec_bits - before.codec_bits) / all / 1e6,
        })
    }
}

impl Reporting for AudioCall {
    type Config = AudioConfig;
    type Report = AudioReport;
    const REPORT_BYTES: u32 = super::REPORT_BYTES;

    fn new(config: &AudioConfig, flow: &FlowStart<'_>) -> AudioCall {
        AudioCall {
            source: Source::new(*config, flow.start, flow.has_choice, flow.random("source")),
            listener: Listener::new(*config),
            at_warmup: AudioTimes::default(),
        }
    }

    fn poll<H: Host>(&mut self, now: Time, _: &mut H) -> Option<Outgoing> {
        let packet = self.source.poll(now)?;
        let contents = Contents::of_data(&packet.header);
        let is_other = Colour::of_lane(packet.header.data.lane) == Colour::Blue;
        Some(Outgoing { contents, bytes: packet.bytes, ecn: Ecn::NotEct, is_other })
    }
    fn on_report(&mut self, now: Time, report: &AudioReport) {
        self.source.on_report(now, report);
    }
    fn on_data(
        &mut self,
        now: Time,
        contents: &Contents,
        bytes: u32,
        is_marked: bool,
    ) -> Option<AudioReport> {
        self.listener.on_data(now, &contents.data(), bytes, is_marked)
    }
    fn on_deadline(&mut self, now: Time) -> Option<AudioReport> {
        self.listener.on_deadline(now)
    }
    fn deadlines(&self) -> (Time, Time) {
        (self.source.next_deadline(), self.listener.next_deadline())
    }
    fn control(&self) -> &RateControl {
        self.source.control()
    }
    fn end_warmup(&mut self, now: Time) {
        self.at_warmup = self.source.times(now);
    }
    fn figures(&self, end: Time) -> EndFigures {
        EndFigures { packets_sent: self.source.sent(), audio: self.outcome(end), ..EndFigures::default() }
    }
}
