//! A law above the buffer of a radio bearer: the common part of all such pacers.
//!
//! In an undivided base station a law receives a report of each TTI. In the central unit of a split base
//! station the only reports are the delivery statuses of F1-U, and the state of the buffer below is an
//! estimate that includes the packets on their way ([`Split`]). A law that sends by the capacity of a TTI
//! ([`BearerLaw::EVERY_TTI`]) receives the TTIs of that estimate, with the desired data rate as their
//! capacity; any other law receives each status: the bytes transmitted since the status before, and the bytes
//! left in RLC.

use super::below::Below;
use super::split::Split;
use super::{Ddds, Eligible, Pacer, PacerSetting, Served, Signal, Signals, Waited};
use crate::component::Arguments;
use crate::{Span, Time};
use alloc::boxed::Box;

/// The decisions of a pacer above a radio bearer. The law receives only the reports of the bearer's TTIs; an
/// estimate of the buffer below is maintained for it. Each method is called before `below` is updated.
pub(super) trait BearerLaw {
    /// True if over F1-U the law receives the estimated TTIs, false if it receives the reports as they come.
    const EVERY_TTI: bool;

    /// Time at which the packet at the head may be sent, as [`Pacer::next_eligible`].
    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible;

    /// Counts a packet that passed the gate, as [`Pacer::forwarded`].
    #[inline]
    fn forwarded(&mut self, below: &mut Below, now: Time, bytes: u64) {
        let _ = (below, now, bytes);
    }

    /// Handles a report at `now`: the bearer was served.
    fn served(&mut self, below: &mut Below, now: Time, served: &Served);

    /// Ends the TTIs up to `now` that had no report.
    #[inline]
    fn catch_up(&mut self, below: &mut Below, now: Time) {
        let _ = (below, now);
    }

    /// Returns true if reports may be delayed, as [`Pacer::may_wait`], with a refused head, while the estimate of `below` [outlasts](Below::outlasts) the reports.
    #[inline]
    fn may_wait(&self, below: &Below, waited: &Waited, head_bytes: u64) -> bool {
        let _ = (below, waited, head_bytes);
        false
    }

    /// Handles delayed reports, as [`Pacer::waited`], while the estimate of `below` outlasts the reports. Returns the number of
    /// reports, from the first on, that the law has processed; the host passes the others one by one.
    #[inline]
    fn waited(&mut self, below: &mut Below, waited: &Waited, is_held: bool) -> u64 {
        let _ = (below, waited, is_held);
        0
    }
}

/// The pacer that applies `L` above the buffer of a radio bearer.
#[derive(Clone, Debug)]
pub struct OverBearer<L> {
    pub(super) below: Below,
    pub(super) law: L,
    /// The estimate over F1-U; `None` where the buffer is in the same unit.
    split: Option<Box<Split>>,
}

impl<L> OverBearer<L> {
    /// `law` above an empty buffer, which is assumed to be empty again after `silence` without a report.
    pub fn new(law: L, silence: Span) -> OverBearer<L> {
        OverBearer { below: Below::new(silence), law, split: None }
    }
    /// `law` above the buffer, with the `silence` of `arguments` and the F1-U of `setting`.
    pub(super) fn build(law: L, arguments: &Arguments, setting: &PacerSetting) -> OverBearer<L> {
        let silence = setting.silence(arguments);
        let split = setting.split.map(|split| Box::new(Split::new(&split, setting, silence)));
        OverBearer { split, ..OverBearer::new(law, silence) }
    }
    /// The law that decides.
    pub const fn law(&self) -> &L {
        &self.law
    }
}

#[expect(private_bounds, reason = "these methods are private too")]
impl<L: BearerLaw> OverBearer<L> {
    /// Over F1-U: runs the estimate up to `now`.
    fn catch_up(&mut self, now: Time) {
        let Some(split) = &mut self.split else { return };
        while let Some((time, served)) = split.serve_due(now) {
            if L::EVERY_TTI {
                self.law.served(&mut self.below, time, &served);
            }
            self.below.served(time, &served);
        }
        if split.forget(now) {
            self.below.estimate(now, split.left());
        }
    }

    /// Handles a delivery status.
    fn delivered(&mut self, now: Time, ddds: &Ddds) {
        self.catch_up(now);
        // The law first ends its TTIs by the estimate made without this status.
        self.law.catch_up(&mut self.below, now);
        let Some(split) = &mut self.split else { return };
        let served = split.delivered(now, ddds);
        let left = split.left();
        if !L::EVERY_TTI {
            self.law.served(&mut self.below, now, &served);
        }
        self.below.estimate(now, left);
    }

    /// Time at which the packet at the head may be sent over F1-U, as [`Pacer::next_eligible`].
    #[inline(never)]
    fn next_over_f1(&mut self, now: Time, size_bytes: u64) -> Eligible {
        self.catch_up(now);
        let changes = self.split.as_ref().map_or(Time::NEVER, |split| split.deadline());
        match self.law.next_eligible(&mut self.below, now, size_bytes) {
            Eligible::Now => Eligible::Now,
            Eligible::At(time) => Eligible::At(time.min(changes)),
            Eligible::OnSignal => Eligible::At(changes),
        }
    }
}

impl<L: BearerLaw> Pacer for OverBearer<L> {
    #[inline]
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        if self.split.is_some() {
            return self.next_over_f1(now, size_bytes);
        }
        self.law.next_eligible(&mut self.below, now, size_bytes)
    }
    #[inline]
    fn forwarded(&mut self, now: Time, bytes: u64) {
        if self.split.is_some() {
            self.catch_up(now);
        }
        self.law.forwarded(&mut self.below, now, bytes);
        self.below.forwarded(now, bytes);
        if let Some(split) = &mut self.split {
            split.forwarded(now, bytes);
        }
    }
    #[inline]
    fn on_signal(&mut self, now: Time, signal: Signal) {
        match signal {
            Signal::Served(served) => {
                self.law.served(&mut self.below, now, &served);
                self.below.served(now, &served);
            }
            Signal::Delivered(ddds) => self.delivered(now, &ddds),
            _ => {}
        }
    }
    fn listens(&self) -> Signals {
        let is_split = self.split.is_some();
        Signals { served: !is_split, delivered: is_split, ..Signals::NONE }
    }
    fn may_wait(&self, waited: &Waited, head_bytes: Option<u64>) -> bool {
        head_bytes
            .is_none_or(|bytes| self.below.outlasts(waited) && self.law.may_wait(&self.below, waited, bytes))
    }
    fn waited(&mut self, waited: &Waited, head_bytes: Option<u64>) {
        let mut done = 0;
        if self.below.outlasts(waited) {
            done = self.law.waited(&mut self.below, waited, head_bytes.is_some());
            if done > 0 {
                self.below.served(Waited { count: done, ..*waited }.last(), &waited.report());
            }
        }
        for time in waited.times().skip(done as usize) {
            self.on_signal(time, Signal::Served(waited.report()));
            if let Some(bytes) = head_bytes {
                self.next_eligible(time, bytes);
            }
        }
    }
}
