//! The ends of a flow of packets at the rate that TFRC allows.

use super::reports::Reports;
use super::{DataHeader, HEADER_BYTES, REPORT_BYTES, Receiver, Report, Sender, TfrcConfig};
use crate::audio::AudioHeader;
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use qdelay_core::{Ecn, Packet, Span, Time};

/// A sender and its receiver.
pub struct TfrcEnds {
    sender: Sender,
    receiver: Receiver,
    ecn: Ecn,
    /// How many packets each lane has had: there is one for each codepoint.
    numbers: [u32; 2],
    reports: Reports<Report>,
    delivered_bytes: u64,
}

impl TfrcEnds {
    fn poll<H: Host>(&mut self, now: Time, host: &mut H) -> Option<Outgoing> {
        let plain = self.sender.poll(now)?;
        let is_other = host.draw();
        let lane = u8::from(is_other);
        let number = &mut self.numbers[usize::from(lane)];
        let data = DataHeader { lane, lane_seq: *number, ..plain };
        *number = number.wrapping_add(1);
        let contents = Contents::of_data(&AudioHeader { data, ..AudioHeader::default() });
        Some(Outgoing { contents, bytes: self.sender.bytes(), ecn: self.ecn, is_other })
    }

    fn send<H: Host>(&mut self, now: Time, report: Option<Report>, host: &mut H) -> Result<(), H::Error> {
        let Some(report) = report else { return Ok(()) };
        host.send(End::Far, Outgoing::report(now, self.reports.keep(report), REPORT_BYTES))
    }

    fn deadline(&self, is_stopped: bool) -> Time {
        let receiver = self.receiver.next_deadline();
        if is_stopped { receiver } else { receiver.min(self.sender.next_deadline()) }
    }
}

impl Ends for TfrcEnds {
    type Config = TfrcConfig;

    fn new(config: &TfrcConfig, flow: &FlowStart<'_>) -> TfrcEnds {
        TfrcEnds {
            sender: Sender::new(config, flow.start, 0),
            receiver: Receiver::new(config.receiver),
            ecn: if config.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            numbers: [0; 2],
            reports: Reports::default(),
            delivered_bytes: 0,
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped && let Some(outgoing) = self.poll(now, host) {
            host.send(End::Near, outgoing)?;
        }
        let report = self.receiver.on_deadline(now);
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
                let header = contents.data().data;
                let report = self.receiver.on_data(now, &header, packet.bytes, packet.ecn == Ecn::Ce);
                self.send(now, report, host)?;
            }
            End::Near if is_stopped => {}
            End::Near => {
                if let Some(report) = self.reports.get(contents.number) {
                    self.sender.on_report(now, report);
                }
            }
        }
        Ok(self.deadline(is_stopped))
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.sender.control().rtt())
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, _: Time) {}

    fn figures(&self, _: Time) -> EndFigures {
        EndFigures {
            packets_sent: self.sender.sent(),
            timeouts: self.sender.control().expirations(),
            ..EndFigures::default()
        }
    }
}
