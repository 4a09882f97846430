//! Both ends of a video call.

use super::VideoConfig;
use super::feedback::Report;
use super::frames::Ledger;
use super::receiver::Receiver;
use super::sender::Sender;
use super::wire::{HEADER_BYTES, VideoPacket};
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::experience::Experience;
use alloc::vec::Vec;
use qdelay_core::{Ecn, Packet, Span, Time};

/// Number of reports stored in transit; a report that a later one overwrites counts as lost.
const REPORTS: usize = 256;

/// Sender and receiver of a video call, with a record of each frame.
pub struct VideoEnds {
    playout: Span,
    displayed: u8,
    sender: Sender,
    receiver: Receiver,
    ledger: Ledger,
    /// Ring buffer: report `n` is at `n % REPORTS`.
    reports: Vec<Report>,
    reported: u64,
    delivered_bytes: u64,
    /// End of the warm-up, from which the call is rated.
    rated: Time,
    key_requests: u64,
}

impl VideoEnds {
    fn send<H: Host>(&mut self, now: Time, host: &mut H) -> Result<(), H::Error> {
        while let Some((packet, number)) = self.sender.poll(now, &mut self.ledger) {
            let (is_other, ecn) = (host.draw(), self.sender.ecn());
            let contents = packet.contents(now, number);
            host.send(End::Near, Outgoing { contents, bytes: packet.bytes(), ecn, is_other })?;
        }
        Ok(())
    }

    fn report<H: Host>(&mut self, now: Time, host: &mut H) -> Result<(), H::Error> {
        if now < self.receiver.next_deadline() {
            return Ok(());
        }
        let place = (self.reported % REPORTS as u64) as usize;
        if place == self.reports.len() {
            self.reports.push(Report::default());
        }
        let report = &mut self.reports[place];
        self.receiver.poll(now, report);
        if report.is_empty() {
            return Ok(());
        }
        let outgoing = Outgoing::report(now, self.reported, report.bytes());
        self.reported += 1;
        host.send(End::Far, outgoing)
    }

    fn deadline(&self, is_stopped: bool) -> Time {
        let receiver = self.receiver.next_deadline();
        if is_stopped { receiver } else { receiver.min(self.sender.next_deadline()) }
    }
}

impl Ends for VideoEnds {
    type Config = VideoConfig;

    fn new(config: &VideoConfig, flow: &FlowStart<'_>) -> VideoEnds {
        VideoEnds {
            playout: config.playout,
            displayed: config.encoder.largest as u8,
            sender: Sender::new(config, flow.start, flow.random("encoder")),
            receiver: Receiver::new(config.feedback, config.nack, flow.start),
            ledger: Ledger::default(),
            reports: Vec::new(),
            reported: 0,
            delivered_bytes: 0,
            rated: flow.start,
            key_requests: 0,
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped {
            self.send(now, host)?;
        }
        self.report(now, host)?;
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
                let video = VideoPacket::from_contents(contents);
                let is_marked = packet.ecn == Ecn::Ce;
                self.receiver.on_packet(now, &video, contents.number, is_marked, &mut self.ledger);
                self.report(now, host)?;
            }
            End::Near if is_stopped => {}
            End::Near => {
                let is_kept =
                    contents.number < self.reported && self.reported - contents.number <= REPORTS as u64;
                if is_kept {
                    let report = &self.reports[(contents.number % REPORTS as u64) as usize];
                    self.sender.on_report(now, report);
                    self.send(now, host)?;
                }
            }
        }
        Ok(self.deadline(is_stopped))
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.sender.rtt())
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, now: Time) {
        self.rated = self.rated.max(now);
        self.key_requests = self.receiver.key_requests();
    }
    fn figures(&self, end: Time) -> EndFigures {
        let key_requests = self.receiver.key_requests() - self.key_requests;
        EndFigures {
            packets_sent: self.sender.sent(),
            retransmits: self.sender.resent(),
            video: self.ledger.outcome(self.rated, end, self.playout, self.displayed, key_requests),
            ..EndFigures::default()
        }
    }
    fn experience(&self, _: Time) -> Option<Experience<'_>> {
        Some(Experience::Call { frames: self.ledger.frames(), playout: self.playout })
    }
}
