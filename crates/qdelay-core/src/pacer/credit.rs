//! A fixed window of bytes: each packet sent takes credit, and a report from downstream that it has left
//! returns the credit.
//!
//! Parameter: `window`, the most bytes between the gate and the node that reports, including bytes whose
//! report is still on its way back. A packet larger than the window may be sent when nothing else is
//! outstanding; otherwise it would wait for ever.
//!
//! Without a given window, and above a bearer, the window follows the reports of the bearer: two of the best of
//! its last ten service opportunities, one of which is filled while the other is sent, one more for each by which
//! reports are late, and a full packet. A carrier carries 40 times as much at its highest MCS as at its lowest, so no fixed window is right for both.
//!
//! Packets lost between the gate and the reporting node are never reported, and their credit is never
//! returned. The feedback should therefore come from the first queue behind the gate, which reports its drops
//! as well.
//!
//! Over F1-U the window covers the bytes in RLC and on their way there. Credit returns with the transmitted
//! numbers of a delivery status; without any status it returns after 20 TTIs, at least 20 ms, beyond the
//! round trip.

use super::opportunities::Opportunities;
use super::sent::Sent;
use super::{Eligible, Pacer, PacerSetting, Signal, Signals, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};
use alloc::boxed::Box;

const WINDOW: Typed<Option<u64>> = Typed::new(
    "window",
    "",
    "most bytes sent and not yet reported as gone; default: 15kb; above a bearer two of the best of its last ten TTIs with a grant, one more \
     for each TTI by which reports are late, and a full packet; over F1-U the most that the carrier sends in two TTIs and until a report, at least 15kb",
)
.unit(Unit::Bytes)
.within("1b", "")
.source("5G QoS thesis section 3.6.4: ten full packets are far more than a TTI of 5 MHz takes");

/// Declaration of `credit` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "credit",
    "a fixed window of bytes between the gate and the node that reports departures",
)
.source("sliding windows of any transport; none in 5G")
.with(&[WINDOW.parameter()])
.positional("window");

/// The law of a fixed window.
#[derive(Clone, Debug)]
pub struct Credit {
    window_bytes: u64,
    out_bytes: u64,
    /// The window follows the reports of a bearer.
    follows: Option<Box<Follows>>,
    /// Account of the packets sent, where reports come over F1-U.
    split: Option<Box<OverF1>>,
}

/// The packets outstanding over F1-U by number, and the time for which a report is awaited.
#[derive(Clone, Debug)]
struct OverF1 {
    sent: Sent,
    patience: Span,
    heard: Time,
}

/// The last service opportunities of the bearer, by which its window is set.
#[derive(Clone, Debug)]
struct Follows {
    opportunities: Opportunities,
    /// Opportunities in a window.
    count: u64,
    mtu_bytes: u64,
}

/// Default window at the start: ten full packets, or the most that two TTIs carry (one is filled while the other is sent)
/// if that is more; over F1-U plus the most that is sent until a report comes.
fn usual_window(setting: &PacerSetting) -> u64 {
    let split = setting.split.map_or(Span::ZERO, |split| split.round_trip + split.period);
    let ttis = FILLED_AND_SENT + split.as_nanos().div_ceil(setting.tti().as_nanos());
    setting.peak_bytes.unwrap_or(0).saturating_mul(ttis).max(LEAST_WINDOW_BYTES)
}

/// TTIs in a window: one is filled while the other is sent.
const FILLED_AND_SENT: u64 = 2;
const LEAST_WINDOW_BYTES: u64 = 15_000;

impl Credit {
    /// A window of `window_bytes`, all of it available.
    pub const fn new(window_bytes: u64) -> Credit {
        Credit { window_bytes, out_bytes: 0, follows: None, split: None }
    }
    /// The window that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<Credit, ComponentError> {
        let split = setting.split.map(|split| {
            let patience = split.patience(setting.usual_silence());
            Box::new(OverF1 { sent: Sent::default(), patience, heard: Time::ZERO })
        });
        let window_bytes = arguments.get(&WINDOW).unwrap_or(usual_window(setting));
        let is_followed = setting.split.is_none() && arguments.get(&WINDOW).is_none();
        let late = setting.round_trip.as_nanos().div_ceil(setting.opportunity().as_nanos());
        let (opportunities, count) = (Opportunities::default(), FILLED_AND_SENT + late);
        let follows =
            is_followed.then(|| Box::new(Follows { opportunities, count, mtu_bytes: setting.mtu_bytes }));
        Ok(Credit { split, follows, ..Credit::new(window_bytes) })
    }
    /// Bytes sent that have not been reported as gone.
    pub const fn out_bytes(&self) -> u64 {
        self.out_bytes
    }
}

impl Pacer for Credit {
    #[inline]
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        let mut otherwise = Eligible::OnSignal;
        if let Some(split) = &mut self.split {
            if now >= split.heard + split.patience {
                split.sent.clear();
            }
            self.out_bytes = split.sent.bytes();
            otherwise = Eligible::At(split.heard + split.patience);
        }
        let fits = self.out_bytes.saturating_add(size_bytes) <= self.window_bytes;
        if fits || self.out_bytes == 0 { Eligible::Now } else { otherwise }
    }
    #[inline]
    fn forwarded(&mut self, now: Time, bytes: u64) {
        if let Some(split) = &mut self.split {
            if split.sent.is_empty() {
                split.heard = now;
            }
            split.sent.push(now, bytes);
        }
        self.out_bytes = self.out_bytes.saturating_add(bytes);
    }
    #[inline]
    fn on_signal(&mut self, now: Time, signal: Signal) {
        match (signal, &mut self.split) {
            (Signal::Dequeued { bytes }, None) => self.out_bytes = self.out_bytes.saturating_sub(bytes),
            (Signal::Served(served), None) => {
                if let Some(Follows { opportunities, count, mtu_bytes }) = self.follows.as_deref_mut() {
                    opportunities.served(&served);
                    let best = opportunities.best();
                    self.window_bytes = best.map_or(self.window_bytes, |best| {
                        best.saturating_mul(*count).saturating_add(*mtu_bytes)
                    });
                }
            }
            (Signal::Delivered(ddds), Some(split)) => {
                split.sent.transmitted(ddds.transmitted);
                split.heard = now;
                self.out_bytes = split.sent.bytes();
            }
            _ => {}
        }
    }
    fn listens(&self) -> Signals {
        let is_split = self.split.is_some();
        Signals { dequeued: !is_split, served: self.follows.is_some(), delivered: is_split, ..Signals::NONE }
    }
    /// A report of a TTI in which the bearer could send nothing changes nothing.
    fn may_wait(&self, _: &Waited, _: Option<u64>) -> bool {
        self.split.is_none()
    }
    fn waited(&mut self, _: &Waited, _: Option<u64>) {}
}

#[cfg(test)]
mod tests {
    use super::super::{AnyPacer, SplitSetting};
    use super::*;

    #[test]
    fn the_window_follows_the_carrier() {
        let window = |text: &str, peak_bytes, split| {
            let setting = PacerSetting { peak_bytes, split, ..PacerSetting::default() };
            let Ok(AnyPacer::Credit(law)) = AnyPacer::parse(text, &setting) else { panic!() };
            law.window_bytes
        };
        assert_eq!((window("credit", None, None), window("credit", Some(2292), None)), (15_000, 15_000));
        assert_eq!(
            (window("credit", Some(9000), None), window("credit:3kb", Some(9000), None)),
            (18_000, 3000)
        );
        let (delay, round_trip) = (Span::from_millis(1), Span::from_millis(2));
        let split = SplitSetting { delay, round_trip, period: Span::from_millis(5) };
        assert_eq!(window("credit", Some(9000), Some(split)), 81_000, "two TTIs, and seven until a report");
    }

    #[test]
    fn packets_take_credit_and_reports_return_it() {
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
    fn a_packet_larger_than_the_window_is_sent_alone() {
        let mut law = Credit::new(100);
        assert_eq!(law.next_eligible(Time::ZERO, 1500), Eligible::Now);
        law.forwarded(Time::ZERO, 1500);
        assert_eq!(law.next_eligible(Time::ZERO, 1), Eligible::OnSignal);
    }
}
