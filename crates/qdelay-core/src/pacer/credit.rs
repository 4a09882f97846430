//! A fixed window of bytes: each packet sent takes credit, and a report from downstream that it has left returns the credit.
//!
//! Parameter: `window_bytes`, the most bytes between the gate and the node that reports, including bytes whose report is
//! still on its way back. A packet larger than the window may be sent when nothing else is outstanding; otherwise it would
//! wait for ever.
//!
//! Packets lost between the gate and the reporting node are never reported, and their credit is never returned. The feedback
//! should therefore come from the first queue behind the gate, which reports its drops as well.

use super::{Eligible, Pacer, PacerSetting, Signal, Signals};
use crate::Time;
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

const WINDOW: Typed<u64> =
    Typed::new("window", "15kb", "most bytes that went through and were not reported as gone")
        .unit(Unit::Bytes)
        .within("1b", "")
        .source("5G QoS thesis section 3.6.4: ten full packets are far more than a TTI of 5 MHz takes");

/// Declaration of `credit` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "credit",
    "a fixed window of bytes between the gate and the node that reports what it sent",
)
.source("sliding windows of any transport; nothing of 5G")
.with(&[WINDOW.parameter()])
.positional("window");

/// The law of a fixed window.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    window_bytes: u64,
    out_bytes: u64,
}

impl Credit {
    /// A window of `window_bytes`, all of it available.
    pub const fn new(window_bytes: u64) -> Credit {
        Credit { window_bytes, out_bytes: 0 }
    }
    /// The window that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, _: &PacerSetting) -> Result<Credit, ComponentError> {
        Ok(Credit::new(arguments.get(&WINDOW)))
    }
    /// Bytes sent that have not been reported as gone.
    pub const fn out_bytes(&self) -> u64 {
        self.out_bytes
    }
}

impl Pacer for Credit {
    #[inline]
    fn next_eligible(&mut self, _: Time, size_bytes: u64) -> Eligible {
        let fits = self.out_bytes.saturating_add(size_bytes) <= self.window_bytes;
        if fits || self.out_bytes == 0 { Eligible::Now } else { Eligible::OnSignal }
    }
    #[inline]
    fn forwarded(&mut self, _: Time, bytes: u64) {
        self.out_bytes = self.out_bytes.saturating_add(bytes);
    }
    #[inline]
    fn on_signal(&mut self, _: Time, signal: Signal) {
        if let Signal::Dequeued { bytes } = signal {
            self.out_bytes = self.out_bytes.saturating_sub(bytes);
        }
    }
    fn listens(&self) -> Signals {
        Signals { dequeued: true, ..Signals::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_handed_out_and_returned() {
        let mut law = Credit::new(3000);
        for _ in 0..2 {
            assert_eq!(law.next_eligible(Time::ZERO, 1500), Eligible::Now);
            law.forwarded(Time::ZERO, 1500);
        }
        assert_eq!(law.next_eligible(Time::ZERO, 1), Eligible::OnSignal);
        law.on_signal(Time::ZERO, Signal::Remaining { bytes: 0 });
        assert_eq!(law.next_eligible(Time::ZERO, 1), Eligible::OnSignal);
        law.on_signal(Time::ZERO, Signal::Dequeued { bytes: 1500 });
        assert_eq!(law.next_eligible(Time::ZERO, 1501), Eligible::OnSignal);
        assert_eq!(law.next_eligible(Time::ZERO, 1500), Eligible::Now);
    }

    #[test]
    fn a_packet_larger_than_the_window_goes_alone() {
        let mut law = Credit::new(100);
        assert_eq!(law.next_eligible(Time::ZERO, 1500), Eligible::Now);
        law.forwarded(Time::ZERO, 1500);
        assert_eq!(law.next_eligible(Time::ZERO, 1), Eligible::OnSignal);
    }
}
