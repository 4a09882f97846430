//! The ends of a Sprout flow.

use super::{DataHeader, HEADER_BYTES, REPORT_BYTES, Receiver, Report, Sender, SproutConfig};
use crate::ends::{Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use qdelay_core::{Ecn, Packet, Span, Time};

/// Sender and receiver of a Sprout flow.
pub struct SproutEnds {
    sender: Sender,
    receiver: Receiver,
    delivered_bytes: u64,
}

impl SproutEnds {
    fn flight<H: Host>(&mut self, now: Time, host: &mut H) -> Result<(), H::Error> {
        while let Some((header, bytes)) = self.sender.poll(now) {
            let is_other = host.draw();
            host.send(
                End::Near,
                Outgoing { contents: header.contents(now), bytes, ecn: Ecn::NotEct, is_other },
            )?;
        }
        Ok(())
    }

    fn deadline(&self, is_stopped: bool) -> Time {
        let receiver = self.receiver.next_deadline();
        if is_stopped { receiver } else { receiver.min(self.sender.next_deadline()) }
    }
}

impl Ends for SproutEnds {
    type Config = SproutConfig;

    fn new(config: &SproutConfig, flow: &FlowStart<'_>) -> SproutEnds {
        SproutEnds {
            sender: Sender::new(config, flow.start),
            receiver: Receiver::new(config),
            delivered_bytes: 0,
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        if !is_stopped {
            self.flight(now, host)?;
        }
        if let Some(report) = self.receiver.on_deadline(now) {
            let contents = report.contents();
            let outgoing = Outgoing { contents, bytes: REPORT_BYTES, ecn: Ecn::NotEct, is_other: false };
            host.send(End::Far, outgoing)?;
        }
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
                self.receiver.on_data(now, &DataHeader::from_contents(contents), packet.bytes);
            }
            End::Near if is_stopped => {}
            End::Near => {
                self.sender.on_report(now, &Report::from_contents(contents));
                self.flight(now, host)?;
            }
        }
        Ok(self.deadline(is_stopped))
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        None
    }
    fn has_round_trips(&self) -> bool {
        false
    }
    fn end_warmup(&mut self, _: Time) {}
    fn figures(&self, _: Time) -> EndFigures {
        EndFigures { packets_sent: self.sender.packets(), ..EndFigures::default() }
    }
}
