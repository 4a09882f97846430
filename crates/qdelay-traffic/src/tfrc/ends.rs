//! The ends of a TFRC flow.

use super::reports::{ReportedEnds, Reporting};
use super::{DataHeader, RateControl, Receiver, Report, Sender, TfrcConfig};
use crate::audio::AudioHeader;
use crate::ends::{Contents, EndFigures, FlowStart, Host, Outgoing};
use qdelay_core::{Ecn, Time};

/// Both ends of a TFRC flow and the reports between them.
pub type TfrcEnds = ReportedEnds<Tfrc>;

/// Sender and receiver of a TFRC flow.
pub struct Tfrc {
    sender: Sender,
    receiver: Receiver,
    ecn: Ecn,
    /// Packets sent in each lane; each codepoint has a lane.
    numbers: [u32; 2],
}

impl Reporting for Tfrc {
    type Config = TfrcConfig;
    type Report = Report;
    const REPORT_BYTES: u32 = super::REPORT_BYTES;

    fn new(config: &TfrcConfig, flow: &FlowStart<'_>) -> Tfrc {
        Tfrc {
            sender: Sender::new(config, flow.start, 0),
            receiver: Receiver::new(config.receiver),
            ecn: if config.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            numbers: [0; 2],
        }
    }

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
    fn on_report(&mut self, now: Time, report: &Report) {
        self.sender.on_report(now, report);
    }
    fn on_data(&mut self, now: Time, contents: &Contents, bytes: u32, is_marked: bool) -> Option<Report> {
        self.receiver.on_data(now, &contents.data().data, bytes, is_marked)
    }
    fn on_deadline(&mut self, now: Time) -> Option<Report> {
        self.receiver.on_deadline(now)
    }
    fn deadlines(&self) -> (Time, Time) {
        (self.sender.next_deadline(), self.receiver.next_deadline())
    }
    fn control(&self) -> &RateControl {
        self.sender.control()
    }
    fn end_warmup(&mut self, _: Time) {}
    fn figures(&self, _: Time) -> EndFigures {
        EndFigures { packets_sent: self.sender.sent(), ..EndFigures::default() }
    }
}
