//! The ends of a flow whose far end reports to the near one. Reports in transit are stored here; packets refer to them by
//! number.

use super::{HEADER_BYTES, RateControl};
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::{Ecn, Packet, Span, Time};

/// A source, and a listener that reports to it.
pub trait Reporting: Sized {
    /// Their settings.
    type Config;
    /// The listener's report.
    type Report: Copy + Default;
    /// Size of a report's IP packet.
    const REPORT_BYTES: u32;

    /// As [`Ends::new`].
    fn new(config: &Self::Config, flow: &FlowStart<'_>) -> Self;
    /// The packet that the source sends now, if one is due.
    fn poll<H: Host>(&mut self, now: Time, host: &mut H) -> Option<Outgoing>;
    /// A report has arrived at the source.
    fn on_report(&mut self, now: Time, report: &Self::Report);
    /// The listener's report on a packet that has arrived with these contents, of `bytes` IP bytes.
    fn on_data(
        &mut self,
        now: Time,
        contents: &Contents,
        bytes: u32,
        is_marked: bool,
    ) -> Option<Self::Report>;
    /// The listener's report at a deadline.
    fn on_deadline(&mut self, now: Time) -> Option<Self::Report>;
    /// The deadlines of the source and of the listener.
    fn deadlines(&self) -> (Time, Time);
    /// The source's rate control.
    fn control(&self) -> &RateControl;
    /// As [`Ends::end_warmup`].
    fn end_warmup(&mut self, now: Time);
    /// As [`Ends::figures`], without the statistics of [`Reporting::control`].
    fn figures(&self, end: Time) -> EndFigures;
}

/// The ends of a flow with the source and the listener of `P`.
pub struct ReportedEnds<P: Reporting> {
    pair: P,
    reports: Reports<P::Report>,
    delivered_bytes: u64,
}

impl<P: Reporting> ReportedEnds<P> {
    fn send<H: Host>(&mut self, now: Time, report: Option<P::Report>, host: &mut H) -> Result<(), H::Error> {
        let Some(report) = report else { return Ok(()) };
        host.send(End::Far, Outgoing::report(now, self.reports.keep(report), P::REPORT_BYTES))
    }

    fn deadline(&self, is_stopped: bool) -> Time {
        let (source, listener) = self.pair.deadlines();
        if is_stopped { listener } else { listener.min(source) }
    }
}

impl<P: Reporting> Ends for ReportedEnds<P> {
    type Config = P::Config;

    fn new(config: &P::Config, flow: &FlowStart<'_>) -> ReportedEnds<P> {
        ReportedEnds { pair: P::new(config, flow), reports: Reports::default(), delivered_bytes: 0 }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped && let Some(outgoing) = self.pair.poll(now, host) {
            host.send(End::Near, outgoing)?;
        }
        let report = self.pair.on_deadline(now);
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
                let report = self.pair.on_data(now, contents, packet.bytes, packet.ecn == Ecn::Ce);
                self.send(now, report, host)?;
            }
            End::Near if is_stopped => {}
            End::Near => {
                if let Some(report) = self.reports.get(contents.number) {
                    self.pair.on_report(now, report);
                }
            }
        }
        Ok(self.deadline(is_stopped))
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.pair.control().rtt())
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, now: Time) {
        self.pair.end_warmup(now);
    }
    fn figures(&self, end: Time) -> EndFigures {
        EndFigures { timeouts: self.pair.control().expirations(), ..self.pair.figures(end) }
    }
}

/// Most reports in transit: one or two are sent per round trip, and older ones are obsolete.
const REPORTS: usize = 256;

/// The latest reports: number `n` at `n % REPORTS`.
struct Reports<R> {
    latest: Vec<R>,
    count: u64,
}

impl<R: Copy + Default> Default for Reports<R> {
    fn default() -> Reports<R> {
        Reports { latest: vec![R::default(); REPORTS], count: 0 }
    }
}

impl<R: Copy> Reports<R> {
    /// Stores a report; returns its number.
    fn keep(&mut self, report: R) -> u64 {
        let number = self.count;
        self.latest[(number % REPORTS as u64) as usize] = report;
        self.count += 1;
        number
    }

    /// The report of this number. One that was overwritten in transit counts as lost.
    fn get(&self, number: u64) -> Option<&R> {
        let is_there = number < self.count && self.count - number <= REPORTS as u64;
        is_there.then(|| &self.latest[(number % REPORTS as u64) as usize])
    }
}
