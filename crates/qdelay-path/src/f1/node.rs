//! F1-U as a node of a path: packets on their way, and the end in the distributed unit.

use super::{F1Setting, Reporter};
use crate::NodeId;
use crate::schedule::Schedule;
use qdelay_core::{Packet, Random, Span, Time};

/// The state of F1-U of a bearer.
#[derive(Clone, Debug)]
pub(crate) struct F1 {
    /// The queue of RLC.
    pub(crate) next: NodeId,
    delay: Span,
    loss: f64,
    ddds_loss: f64,
    pub(crate) schedule: Schedule,
    pub(crate) reporter: Reporter,
    lost: Random,
    lost_ddds: Random,
    /// COUNT of the next packet.
    number: u32,
}

/// The fate of an entering packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It is there at once.
    Through,
    /// It is on its way.
    OnItsWay,
    /// It is lost.
    Lost,
}

impl F1 {
    pub(crate) fn new(setting: &F1Setting, tti: Span, next: NodeId, seed: u64, name: &str) -> F1 {
        F1 {
            next,
            delay: setting.delay,
            loss: setting.loss,
            ddds_loss: setting.ddds_loss,
            schedule: Schedule::default(),
            reporter: Reporter::new(setting, tti),
            lost: Random::derive(seed, name, "loss"),
            lost_ddds: Random::derive(seed, name, "ddds loss"),
            number: 0,
        }
    }
    /// When it has something to do.
    pub(crate) fn deadline(&self) -> Time {
        self.schedule.next_deadline().min(self.reporter.deadline())
    }
    /// `packet` leaves the CU, where it gets its number.
    pub(crate) fn enter(&mut self, now: Time, packet: &mut Packet) -> Sending {
        packet.count = self.number;
        self.number = self.number.wrapping_add(1);
        if self.loss > 0.0 && self.lost.unit() < self.loss {
            return Sending::Lost;
        }
        if self.delay.is_zero() {
            return Sending::Through;
        }
        self.schedule.push(now + self.delay, packet);
        Sending::OnItsWay
    }
    /// Whether a report is lost.
    pub(crate) fn loses_report(&mut self) -> bool {
        self.ddds_loss > 0.0 && self.lost_ddds.unit() < self.ddds_loss
    }
}
