//! Flow control of F1-U: sends the bytes that the distributed unit (DU) desires, and no more.
//!
//! Source: TS 38.425 clause 5.4.2.1. By each downlink data delivery status the DU reports how many bytes it
//! desires beyond the highest transmitted PDCP number (unacknowledged mode). At most that many bytes may be
//! in RLC and on their way to it together, until the next report. The standard leaves the desired size to the
//! DU; here it is a key of F1-U: the desired data rate times a span.
//!
//! Differences from the reference:
//! * With acknowledged mode the bytes count from the highest transmitted number too, not from the highest
//!   delivered.
//! * Before the first report nothing is held back.
//! * If no report comes for `silence` beyond the round trip of F1, all packets sent are assumed to be gone:
//!   reports, packets and those that a queue in the DU drops may be lost at the end of a burst.
//! * Without F1-U the law receives no desired-buffer reports: every packet is sent.

use super::parameters::{FIT, Fit, PacerSetting, SILENCE};
use super::sent::Sent;
use super::{Eligible, Pacer, Signal, Signals};
use crate::component::{Arguments, Component, ComponentError, Kind};
use crate::{Span, Time};

/// Declaration of `ddds` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "ddds",
    "sends the buffer size that the distributed unit desires by F1-U flow control",
)
.source("TS 38.425 clause 5.4.2.1")
.with(&[
    FIT.source("TS 38.425 clause 5.4.2.1: up to the desired buffer size").with_default("whole").parameter(),
    SILENCE.parameter(),
]);

/// The law of F1-U's flow control.
#[derive(Clone, Debug)]
pub struct DesiredBuffer {
    fit: Fit,
    patience: Span,
    sent: Sent,
    /// Desired buffer size of the last report, in bytes; `None` before the first report.
    desired_bytes: Option<u64>,
    /// Time of the last report, or of the first packet sent into the empty buffer.
    heard: Time,
}

impl DesiredBuffer {
    /// The law that `arguments` describe.
    pub(super) fn build(
        arguments: &Arguments,
        setting: &PacerSetting,
    ) -> Result<DesiredBuffer, ComponentError> {
        let silence = setting.silence(arguments);
        Ok(DesiredBuffer {
            fit: Fit::from_arguments(arguments),
            patience: setting.split.map_or(silence, |split| split.patience(silence)),
            sent: Sent::default(),
            desired_bytes: None,
            heard: Time::ZERO,
        })
    }
    /// Bytes in RLC and on their way there, by the last report.
    pub fn outstanding_bytes(&self) -> u64 {
        self.sent.bytes()
    }
}

impl Pacer for DesiredBuffer {
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        let deadline = self.heard + self.patience;
        if !self.sent.is_empty() && now >= deadline {
            self.sent.clear();
        }
        match self.desired_bytes {
            Some(desired)
                if !self.sent.is_empty() && !self.fit.has_room(self.sent.bytes(), size_bytes, desired) =>
            {
                Eligible::At(deadline)
            }
            _ => Eligible::Now,
        }
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        if self.sent.is_empty() {
            self.heard = now;
        }
        self.sent.push(now, bytes);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        if let Signal::Delivered(ddds) = signal {
            self.sent.transmitted(ddds.transmitted);
            self.desired_bytes = Some(ddds.desired_buffer_bytes);
            self.heard = now;
        }
    }
    fn listens(&self) -> Signals {
        Signals { delivered: true, ..Signals::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, ms, parse};
    use super::super::{AnyPacer, Ddds};
    use super::*;

    #[test]
    fn no_more_than_the_desired_bytes_are_sent() {
        let AnyPacer::DesiredBuffer(mut law) = parse("ddds") else { panic!() };
        let report = |transmitted, desired_buffer_bytes| {
            Signal::Delivered(Ddds { transmitted, desired_buffer_bytes, ..Ddds::default() })
        };
        for _ in 0..4 {
            assert_eq!(law.ask(ms(1), 1500), Eligible::Now, "no report yet");
            law.forwarded(ms(1), 1500);
        }
        law.on_signal(ms(2), report(Some(1), 4500));
        assert_eq!((law.outstanding_bytes(), law.ask(ms(2), 1500)), (3000, Eligible::Now));
        law.forwarded(ms(2), 1500);
        assert_eq!(law.ask(ms(2), 1), Eligible::At(ms(22)));
        law.on_signal(ms(3), report(Some(1), 0));
        assert_eq!(law.ask(ms(4), 1), Eligible::At(ms(23)));
        law.on_signal(ms(5), report(Some(4), 0));
        assert_eq!(law.ask(ms(5), 9000), Eligible::Now, "nothing is outstanding");
        law.forwarded(ms(5), 9000);
        assert_eq!(law.ask(ms(5), 1), Eligible::At(ms(25)));
        assert_eq!(law.ask(ms(25), 1), Eligible::Now, "no report for 20 ms");
    }
}
