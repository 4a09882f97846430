//! The ends of a flow whose far end sends reports to the near end. Reports in transit are stored here; a packet contains the number of its
//! report.

use super::{HEADER_BYTES, RateControl};
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::{Ecn, Packet, Span, Time};

/// A source, and a listener that sends reports to the source.
pub trait Reporting: Sized {
    /// Settings of the flow.
    type Config;
    /// The listener's report.
    type Report: Copy + Default;
    /// Size of a report's IP packet, bytes.
    const REPORT_BYTES: u32;

    /// See [`Ends::new`].
    fn new(config: &Self::Config, flow: &FlowStart<'_>) -> Self;
    /// Next packet of the source, if one is due at `now`.
    fn poll<H: Host>(&mut self, now: Time, host: &mut H) -> Option<Outgoing>;
    /// Processes a report at the source.
    fn on_report(&mut self, now: Time, report: &Self::Report);
    /// Processes a data packet of `bytes` IP bytes at the listener; returns the report that it triggers, if any.
    fn on_data(
        &mut self,
        now: Time,
        contents: &Contents,
        bytes: u32,
        is_marked: bool,
    ) -> Option<Self::Report>;
    /// Runs the listener's timer; returns the report that is due, if any.
    fn on_deadline(&mut self, now: Time) -> Option<Self::Report>;
    /// Deadlines of the source and of the listener.
    fn deadlines(&self) -> (Time, Time);
    /// The source's rate control.
    fn control(&self) -> &RateControl;
    /// See [`Ends::end_warmup`].
    fn end_warmup(&mut self, now: Time);
    /// See [`Ends::figures`]; without the statistics of [`Reporting::control`].
    fn figures(&self, end: Time) -> EndFigures;
}

/// Both ends of a flow with the source and the listener of `P`, and the reports in transit.
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

/// Number of reports stored: one or two are sent per round trip, and a report overwritten by a later one is obsolete.
const REPORTS: usize = 256;

/// Ring buffer of the latest reports: report `n` is at `n % REPORTS`.
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

    /// Report `number`; `None` if a later report has overwritten it, which counts as a loss in transit.
    fn get(&self, number: u64) -> Option<&R> {
        let is_there = number < self.count && self.count - number <= REPORTS as u64;
        is_there.then(|| &self.latest[(number % REPORTS as u64) as usize])
    }
}
