//! The far end of an adaptive call: TFRC's receiver, and packet counts per colour.

use super::{AudioConfig, AudioHeader, AudioReport, Colour, ColourCount};
use crate::segment::expand;
use crate::tfrc::{Receiver, Report};
use qdelay_core::Time;

/// The state of a listener.
#[derive(Clone, Debug)]
pub struct Listener {
    config: AudioConfig,
    call: u8,
    receiver: Receiver,
    colours: [ColourCount; 2],
}

impl Listener {
    /// A listener before the first call.
    pub fn new(config: AudioConfig) -> Listener {
        let receiver = Receiver::new(config.receiver());
        Listener { config, call: 0, receiver, colours: [ColourCount::default(); 2] }
    }

    /// Time at which [`Listener::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        self.receiver.next_deadline()
    }

    /// Processes a packet of `bytes` IP bytes; returns the report that it triggers, if any. Packets of an earlier call are ignored.
    pub fn on_data(
        &mut self,
        now: Time,
        header: &AudioHeader,
        bytes: u32,
        marked: bool,
    ) -> Option<AudioReport> {
        match header.call.wrapping_sub(self.call) as i8 {
            0 => {}
            later if later > 0 => {
                self.call = header.call;
                self.receiver = Receiver::new(self.config.receiver());
                self.colours = [ColourCount::default(); 2];
            }
            _ => return None,
        }
        let count = &mut self.colours[Colour::of_lane(header.data.lane).index()];
        count.expected = count.expected.max(expand(header.data.lane_seq, count.expected).saturating_add(1));
        count.received += 1;
        count.delay += now.since(header.data.sent);
        let report = self.receiver.on_data(now, &header.data, bytes, marked);
        report.map(|report| self.report(report))
    }

    /// Runs the timer of TFRC's receiver; returns the report that is due, if any.
    pub fn on_deadline(&mut self, now: Time) -> Option<AudioReport> {
        self.receiver.on_deadline(now).map(|report| self.report(report))
    }

    fn report(&self, report: Report) -> AudioReport {
        AudioReport { call: self.call, report, colours: self.colours }
    }
}
