//! Usage of the resource blocks, including idle TTIs.
//!
//! TTIs in which no UE has data create no events. They are counted when the next TTI with data comes, or on a
//! query: resource blocks by multiplication, and bytes too if the channel is constant; otherwise TTI by TTI
//! from the channel.

use super::CellUsage;
use crate::mac::Grid;
use crate::radio::Radio;
use qdelay_core::{Span, Time};

/// The times at which TTIs begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub phase: Span,
    pub tti: Span,
}

impl Clock {
    /// Beginning of TTI number `tti`.
    pub fn time(self, tti: u64) -> Time {
        Time::ZERO + self.phase + self.tti * tti
    }
    /// The first TTI that does not begin before `now`.
    pub fn from(self, now: Time) -> u64 {
        now.since(Time::ZERO + self.phase).as_nanos().div_ceil(self.tti.as_nanos().max(1))
    }
    /// The first TTI that begins after `now`.
    pub fn after(self, now: Time) -> u64 {
        let begin = Time::ZERO + self.phase;
        if now < begin { 0 } else { now.since(begin).as_nanos() / self.tti.as_nanos().max(1) + 1 }
    }
}

/// The UE whose channel determines the capacity of idle TTIs.
pub(crate) struct Idle<'a> {
    pub radio: &'a mut Radio,
    /// True if the channel never changes.
    pub is_constant: bool,
}

/// The resource block account of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub usage: CellUsage,
    /// The first TTI that has not been counted.
    pub next: u64,
    /// The UE that was served last.
    pub last_ue: u32,
}

impl Account {
    /// Counts the TTIs before `until` that have not been counted; no UE had data in them.
    pub fn idle(&mut self, until: u64, grid: &Grid, clock: Clock, idle: Idle<'_>) {
        if until <= self.next {
            return;
        }
        let (from, period) = (self.next, grid.period());
        self.next = until;
        let rbs = repeated(from, until, period, |tti| {
            let frame = grid.frame(tti);
            frame.count(frame.all())
        });
        let Idle { radio, is_constant } = idle;
        let bytes = |tti| {
            let frame = grid.frame(tti);
            frame.bytes(radio.known(clock.time(tti)), frame.all())
        };
        let bytes = if is_constant { repeated(from, until, period, bytes) } else { sum(from, until, bytes) };
        self.usage.offered_rbs = self.usage.offered_rbs.saturating_add(rbs);
        self.usage.wasted_rbs = self.usage.wasted_rbs.saturating_add(rbs);
        self.usage.offered_bytes = self.usage.offered_bytes.saturating_add(bytes);
    }

    /// The usage including the TTIs before `until`. `last` is the UE of idle TTIs: its channel, and true if
    /// that never changes.
    pub fn until(&self, until: u64, grid: &Grid, clock: Clock, last: Option<(&Radio, bool)>) -> CellUsage {
        let mut account = self.clone();
        if let Some((radio, is_constant)) = last {
            account.idle(until, grid, clock, Idle { radio: &mut radio.clone(), is_constant });
        }
        account.usage
    }
}

/// The sum over TTIs of a quantity that repeats after `period` TTIs.
pub(crate) fn repeated(from: u64, until: u64, period: u64, mut of: impl FnMut(u64) -> u64) -> u64 {
    debug_assert!(from <= until, "an interval of TTIs ends after its beginning");
    let rounds = (until - from) / period.max(1);
    if rounds < 2 {
        return sum(from, until, of);
    }
    let round = sum(from, from + period, &mut of);
    // Every round has the same sum, and no TTI is evaluated twice.
    round.saturating_mul(rounds).saturating_add(sum(from + rounds * period, until, of))
}

fn sum(from: u64, until: u64, of: impl FnMut(u64) -> u64) -> u64 {
    (from..until).map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttis_begin_at_the_phase_and_every_tti() {
        let clock = Clock { phase: Span::from_nanos(300), tti: Span::from_nanos(1000) };
        for (now, from, after) in
            [(0, 0, 0), (300, 0, 1), (301, 1, 1), (1299, 1, 1), (1300, 1, 2), (1301, 2, 2)]
        {
            let now = Time::from_nanos(now);
            assert_eq!((clock.from(now), clock.after(now)), (from, after), "{now}");
        }
        assert_eq!(clock.time(2), Time::from_nanos(2300));
        assert_eq!(clock.time(u64::MAX), Time::NEVER);
    }

    #[test]
    fn whole_periods_are_multiplied() {
        let of = |tti: u64| [3, 5, 8][(tti % 3) as usize];
        for from in 0..4 {
            for until in from..30 {
                assert_eq!(repeated(from, until, 3, of), (from..until).map(of).sum());
            }
        }
    }
}
