//! The ends of a call that adapts, and what it did.

use super::{AudioConfig, AudioReport, AudioTimes, Colour, Listener, REPORT_BYTES, Source};
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::tfrc::{HEADER_BYTES, Reports};
use qdelay_core::{Ecn, Packet, Span, Time};

/// What an adaptive call did. Shares are of the time from its start to its stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioOutcome {
    /// It sent mainly with its own codepoint.
    pub green_share: f64,
    /// It sent mainly with its other codepoint.
    pub blue_share: f64,
    /// It sent nothing.
    pub off_share: f64,
    /// Changes of codepoint.
    pub changes: u64,
    /// Times it gave up for a while.
    pub hang_ups: u64,
    /// Rate of the codec while on and off, without headers and error correction, Mbit/s.
    pub codec_mbps: f64,
}

/// A source and its listener.
pub struct AudioEnds {
    source: Source,
    listener: Listener,
    reports: Reports<AudioReport>,
    /// What the call was until the end of the warm-up.
    at_warmup: AudioTimes,
    delivered_bytes: u64,
}

impl AudioEnds {
    fn send<H: Host>(
        &mut self,
        now: Time,
        report: Option<AudioReport>,
        host: &mut H,
    ) -> Result<(), H::Error> {
        let Some(report) = report else { return Ok(()) };
        host.send(End::Far, Outgoing::report(now, self.reports.keep(report), REPORT_BYTES))
    }

    fn deadline(&self, is_stopped: bool) -> Time {
        let listener = self.listener.next_deadline();
        if is_stopped { listener } else { listener.min(self.source.next_deadline()) }
    }

    /// What it was since the warm-up, until `end`.
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

impl Ends for AudioEnds {
    type Config = AudioConfig;

    fn new(config: &AudioConfig, flow: &FlowStart<'_>) -> AudioEnds {
        AudioEnds {
            source: Source::new(*config, flow.start, flow.has_choice, flow.random("source")),
            listener: Listener::new(*config),
            reports: Reports::default(),
            at_warmup: AudioTimes::default(),
            delivered_bytes: 0,
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped && let Some(packet) = self.source.poll(now) {
            let contents = Contents::of_data(&packet.header);
            let is_other = Colour::of_lane(packet.header.data.lane) == Colour::Blue;
            host.send(End::Near, Outgoing { contents, bytes: packet.bytes, ecn: Ecn::NotEct, is_other })?;
        }
        let report = self.listener.on_deadline(now);
        self.send(now, report, host)?;
        Ok(self.deadline(is_stopped))
    }

    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        match at {
            End::Far => {
                self.delivered_bytes += u64::from(packet.bytes.saturating_sub(HEADER_BYTES));
                let marked = packet.ecn == Ecn::Ce;
                let report = self.listener.on_data(now, &contents.data(), packet.bytes, marked);
                self.send(now, report, host)?;
            }
            End::Near if is_stopped => {}
            End::Near => {
                if let Some(report) = self.reports.get(contents.number) {
                    self.source.on_report(now, report);
                }
            }
        }
        Ok(self.deadline(is_stopped))
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.source.control().rtt())
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, now: Time) {
        self.at_warmup = self.source.times(now);
    }

    fn figures(&self, end: Time) -> EndFigures {
        EndFigures {
            packets_sent: self.source.sent(),
            timeouts: self.source.control().expirations(),
            audio: self.outcome(end),
            ..EndFigures::default()
        }
    }
}
