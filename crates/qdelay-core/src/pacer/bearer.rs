//! A law above the buffer of a radio bearer: the common part of all such pacers.

use super::below::Below;
use super::{Eligible, Pacer, Served, Signal, Signals, Waited};
use crate::{Span, Time};

/// The decisions of a pacer above a radio bearer. It is notified only of the bearer's TTIs; an estimate of the buffer below
/// is maintained for it. Each method is called before `below` is updated.
pub(super) trait BearerLaw {
    /// As [`Pacer::next_eligible`].
    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible;

    /// As [`Pacer::forwarded`].
    #[inline]
    fn forwarded(&mut self, below: &mut Below, now: Time, bytes: u64) {
        let _ = (below, now, bytes);
    }

    /// A report at `now`: the bearer was served.
    fn served(&mut self, below: &mut Below, now: Time, served: &Served);

    /// As [`Pacer::may_wait`], with a refused head, while the estimate of `below` [outlasts](Below::outlasts) the reports.
    #[inline]
    fn may_wait(&self, below: &Below, waited: &Waited, head_bytes: u64) -> bool {
        let _ = (below, waited, head_bytes);
        false
    }

    /// As [`Pacer::waited`], while the estimate of `below` outlasts the reports. Returns how many of them, from the first on, it
    /// has taken in; the others are told one by one.
    #[inline]
    fn waited(&mut self, below: &mut Below, waited: &Waited, is_held: bool) -> u64 {
        let _ = (below, waited, is_held);
        0
    }
}

/// The pacer that applies `L` above the buffer of a radio bearer.
#[derive(Clone, Copy, Debug)]
pub struct OverBearer<L> {
    pub(super) below: Below,
    pub(super) law: L,
}

impl<L> OverBearer<L> {
    /// `law` above an empty buffer, which is assumed to be empty again after `silence` without a report.
    pub fn new(law: L, silence: Span) -> OverBearer<L> {
        OverBearer { below: Below::new(silence), law }
    }
    /// The law that decides.
    pub const fn law(&self) -> &L {
        &self.law
    }
}

impl<L: BearerLaw> Pacer for OverBearer<L> {
    #[inline]
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        self.law.next_eligible(&mut self.below, now, size_bytes)
    }
    #[inline]
    fn forwarded(&mut self, now: Time, bytes: u64) {
        self.law.forwarded(&mut self.below, now, bytes);
        self.below.forwarded(now, bytes);
    }
    #[inline]
    fn on_signal(&mut self, now: Time, signal: Signal) {
        if let Signal::Served(served) = signal {
            self.law.served(&mut self.below, now, &served);
            self.below.served(now, &served);
        }
    }
    fn listens(&self) -> Signals {
        Signals { served: true, ..Signals::NONE }
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
