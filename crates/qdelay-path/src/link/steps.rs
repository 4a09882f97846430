//! A line whose rate changes in steps: store and forward, and bits on their way continue at the new rate.
//!
//! A rate of zero is an outage: the packet waits in the middle and goes on where the rate comes back. Parameters: the
//! steps, `overhead` bytes added to each packet (default 0), and `repeat`: after the last step's end the first follows
//! again; without it the last rate holds for ever.
//!
//! The line counts work: rate times time since the run began, in bit nanoseconds per second, exactly. A packet is
//! through when the work has grown by its size, which a search over the steps finds however many steps, rounds or
//! minutes of outage lie between.

use super::parameters::{OVERHEAD, fail, overhead};
use super::{LinkModel, Serial, WORK_PER_BYTE};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed};
use qdelay_core::units::{parse_rate, parse_span};
use qdelay_core::{Span, Time};
use qdelay_trace::{RateStep, RateSteps};

const PROFILE: Typed<Option<&str>> =
    Typed::new("profile", "", "Rates and since when they hold, as in 0s@6mbit+10s@600kbit; required.");
const REPEAT: Typed<Option<Span>> = Typed::new(
    "repeat",
    "",
    "Start over after this long; the last rate holds for ever where it is not given.",
)
.within("1us", "");

pub(super) static COMPONENT: Component =
    Component::new(Kind::Link, "steps", "A line whose rate changes in steps; zero is an outage.")
        .with(&[PROFILE.parameter(), OVERHEAD.parameter(), REPEAT.parameter()])
        .positional("profile");

pub(super) const EXAMPLE: &str = "steps:0s@6mbit+10s@600kbit:repeat=20s";

/// A step of one round: from `start` nanoseconds into it, at `bps`, with `work` done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    start: u64,
    bps: u64,
    work: u128,
}

#[derive(Debug, PartialEq, Eq)]
struct Table {
    steps: Vec<Step>,
    /// Duration in nanoseconds and work of one round. Without repetition: infinite, and all work.
    period: u64,
    work: u128,
    /// Duration of one round, also without repetition.
    length: Span,
}

/// A step placed in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Placed {
    /// In nanoseconds since the run began; `end` is exclusive.
    start: u64,
    end: u64,
    bps: u64,
    /// Work since the run began, at the step's two ends.
    work: u128,
    work_end: u128,
}

impl Table {
    fn new(rates: &RateSteps, repeat: bool) -> Table {
        let (mut steps, mut work) = (Vec::new(), 0);
        for (step, span) in rates.spans() {
            let bps = step.rate.as_bps();
            steps.push(Step { start: step.start.as_nanos(), bps, work });
            work += u128::from(bps) * u128::from(span.as_nanos());
        }
        let period = if repeat { rates.period().as_nanos() } else { u64::MAX };
        let mut table = Table { steps, period, work, length: rates.period() };
        if !repeat && let Some(last) = table.steps.last() {
            table.work = last.work + u128::from(last.bps) * u128::from(u64::MAX - last.start);
        }
        table
    }

    /// The step of `index` in `round`.
    fn placed(&self, round: u64, index: usize) -> Placed {
        let Some(step) = self.steps.get(index) else { return Placed::default() };
        let base = round.saturating_mul(self.period);
        let base_work = u128::from(round) * self.work;
        let (end, work_end) =
            self.steps.get(index + 1).map_or((self.period, self.work), |s| (s.start, s.work));
        Placed {
            start: base.saturating_add(step.start),
            end: base.saturating_add(end),
            bps: step.bps,
            work: base_work + step.work,
            work_end: base_work + work_end,
        }
    }

    /// The step that holds at `nanos`.
    fn at_time(&self, nanos: u64) -> Placed {
        let (round, within) = (nanos / self.period, nanos % self.period);
        self.placed(round, self.steps.partition_point(|step| step.start <= within).saturating_sub(1))
    }

    /// The step in which the work reaches `target`; `None` if it never does.
    fn at_work(&self, target: u128) -> Option<Placed> {
        let before = target.saturating_sub(1);
        let round = u64::try_from(before.checked_div(self.work)?).ok()?;
        if round > 0 && self.period == u64::MAX {
            return None;
        }
        let within = before - u128::from(round) * self.work;
        // Steps without work begin with the work they end with: the last one that begins with no more is the one.
        Some(self.placed(round, self.steps.partition_point(|step| step.work <= within).saturating_sub(1)))
    }
}

impl Placed {
    /// The work done at `nanos`, which is in this step.
    fn work_at(&self, nanos: u64) -> u128 {
        self.work + u128::from(self.bps) * u128::from(nanos - self.start)
    }
    /// When the work reaches `target` in this step, rounded down to a nanosecond.
    fn time_of(&self, target: u128) -> u64 {
        let rest = target - self.work;
        let nanos = match u64::try_from(rest) {
            Ok(rest) => rest / self.bps.max(1),
            Err(_) => u64::try_from(rest / u128::from(self.bps.max(1))).unwrap_or(u64::MAX),
        };
        self.start.saturating_add(nanos)
    }
}

/// A line whose rate changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLink {
    table: Arc<Table>,
    overhead_bytes: u32,
    /// When the steps begin, in nanoseconds since the run began; below 0 where the run begins in their middle. All that
    /// follows counts from there.
    begin: i64,
    /// The work before the run began.
    before: u128,
    /// The step that was used last.
    here: Placed,
    /// The time at which the last bit of the last packet was sent, and the exact work until then.
    finish: Time,
    work: u128,
}

impl RateLink {
    /// An idle line whose steps begin with the run.
    pub fn new(rates: &RateSteps, overhead_bytes: u32, repeat: bool) -> RateLink {
        let table = Arc::new(Table::new(rates, repeat));
        let here = table.placed(0, 0);
        RateLink { table, overhead_bytes, begin: 0, before: 0, here, finish: Time::ZERO, work: 0 }
    }
    pub(super) fn build(arguments: &Arguments) -> Result<RateLink, ComponentError> {
        let read = || {
            let profile =
                arguments.get(&PROFILE).ok_or("no profile; expected one such as 0s@6mbit+10s@600kbit")?;
            let repeat = arguments.get(&REPEAT);
            Ok(RateLink::new(&rates(profile, repeat)?, overhead(arguments), repeat.is_some()))
        };
        read().map_err(|message: String| fail(arguments, message))
    }

    /// Nanoseconds from the beginning of the steps to `now`.
    #[inline]
    fn in_steps(&self, now: Time) -> u64 {
        match u64::try_from(self.begin) {
            Ok(begin) => now.as_nanos().saturating_sub(begin),
            Err(_) => now.as_nanos().saturating_add(self.begin.unsigned_abs()),
        }
    }

    #[inline]
    fn find(&mut self, now: Time) -> Time {
        if self.work > self.here.work_end || self.work <= self.here.work {
            match self.table.at_work(self.work) {
                Some(step) => self.here = step,
                None => return Time::NEVER,
            }
        }
        Time::from_nanos(self.here.time_of(self.work).saturating_add_signed(self.begin)).max(now)
    }
}

/// The steps of `profile`, such as `0s@6mbit+10s@600kbit`.
fn rates(profile: &str, repeat: Option<Span>) -> Result<RateSteps, String> {
    let mut steps = Vec::new();
    for part in profile.split('+') {
        let (start, rate) = part.split_once('@').ok_or_else(|| {
            format!("'{part}' is not a step; expected a time and a rate, such as 10s@600kbit")
        })?;
        let start = parse_span(start).map_err(|e| format!("in step '{part}': {e}"))?;
        let rate = parse_rate(rate).map_err(|e| format!("in step '{part}': {e}"))?;
        steps.push(RateStep { start: Time::ZERO + start, rate });
    }
    let last = steps.last().map_or(Time::ZERO, |step| step.start);
    let period = repeat.unwrap_or(last.since(Time::ZERO) + Span::from_secs(1));
    RateSteps::new(steps, period).map_err(|e| format!("profile: {e}"))
}

impl Serial for RateLink {
    /// [`Time::NEVER`] where the rate stays zero.
    #[inline]
    fn begin(&mut self, now: Time, bytes: u32) -> Time {
        if now != self.finish {
            let nanos = self.in_steps(now);
            if !(self.here.start..self.here.end).contains(&nanos) {
                self.here = self.table.at_time(nanos);
            }
            self.work = self.here.work_at(nanos);
        }
        let wire = u64::from(bytes) + u64::from(self.overhead_bytes);
        self.work += u128::from(wire) * u128::from(WORK_PER_BYTE);
        self.finish = self.find(now);
        self.finish
    }
    fn continue_as(&mut self, now: Time, other: &RateLink) -> Option<Time> {
        if (self.begin, self.overhead_bytes) != (other.begin, other.overhead_bytes) {
            return None;
        }
        self.table = Arc::clone(&other.table);
        self.here = self.table.at_time(self.in_steps(now));
        if self.finish > now {
            self.finish = self.find(now);
        }
        Some(self.finish)
    }
}

impl LinkModel for RateLink {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    fn offered_bytes(&self, now: Time) -> u64 {
        let nanos = self.in_steps(now);
        let work = self.table.at_time(nanos).work_at(nanos) - self.before;
        u64::try_from(work / u128::from(WORK_PER_BYTE)).unwrap_or(u64::MAX)
    }
    fn begin_at(&mut self, begin: Time) {
        let here = self.table.placed(0, 0);
        self.begin = i64::try_from(begin.as_nanos()).unwrap_or(i64::MAX);
        (self.before, self.here, self.finish, self.work) = (0, here, Time::ZERO, 0);
    }
    fn start_from(&mut self, place: Span) {
        let nanos = place.as_nanos();
        self.begin = -i64::try_from(nanos).unwrap_or(i64::MAX);
        self.here = self.table.at_time(nanos);
        self.before = self.here.work_at(nanos);
        (self.finish, self.work) = (Time::ZERO, self.before);
    }
    fn length(&self) -> Option<Span> {
        Some(self.table.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use qdelay_core::{Rate, Span};
    use qdelay_trace::RateStep;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }
    fn link(steps: &[(u64, u64)], period: u64, repeat: bool) -> RateLink {
        let steps =
            steps.iter().map(|&(start, bps)| RateStep { start: ms(start), rate: Rate::from_bps(bps) });
        RateLink::new(&RateSteps::new(steps.collect(), Span::from_millis(period)).unwrap(), 0, repeat)
    }

    #[test]
    fn a_run_may_begin_anywhere_in_the_steps() {
        let all = [(0, 8_000_000), (10, 800_000), (12, 0), (17, 80_000)];
        for (repeat, place) in
            [true, false].into_iter().flat_map(|repeat| (0..20).map(move |ms| (repeat, ms)))
        {
            let (mut whole, mut from) = (link(&all, 20, repeat), link(&all, 20, repeat));
            from.start_from(Span::from_millis(place));
            assert_eq!(from.length(), Some(Span::from_millis(20)));
            let offered = whole.offered_bytes(ms(place + 9)) - whole.offered_bytes(ms(place));
            assert!(from.offered_bytes(ms(9)).abs_diff(offered) <= 1, "from {place}, repeat {repeat}");
            for (at, bytes) in [(0, 700), (3, 90), (4, 1)] {
                let later = whole.begin(ms(place + at), bytes);
                assert_eq!(
                    from.begin(ms(at), bytes) + Span::from_millis(place),
                    later,
                    "{bytes} bytes at {at} from {place}"
                );
            }
        }
    }

    #[test]
    fn bits_continue_at_the_new_rate() {
        // 8 Mbit/s is 1000 bytes a ms; then 0.8 Mbit/s.
        let mut link = link(&[(0, 8_000_000), (10, 800_000)], 20, false);
        assert_eq!(link.begin(ms(0), 1000), ms(1));
        assert_eq!(link.begin(ms(9), 1500), ms(15));
        assert_eq!(link.begin(ms(15), 100), ms(16));
        assert_eq!(link.begin(ms(500), 100), ms(501), "the last rate holds for ever");
        assert_eq!(link.offered_bytes(ms(30)), 12_000);
    }

    /// Beside a line that has had all rates from the beginning.
    #[test]
    fn other_rates_from_a_time_on() {
        let rates = |count: u64| {
            (0..count).map(|n| (n * 7, 1_000_000 + n * n * 700_001 % 9_000_000)).collect::<Vec<_>>()
        };
        let mut whole = link(&rates(40), 1000, false);
        let mut told = link(&rates(1), 1000, false);
        let (mut now, mut known) = (ms(0), 1);
        for n in 0..400_u64 {
            let bytes = 40 + (n * n * 37 % 1460) as u32;
            let (end, mut told_end) = (whole.begin(now, bytes), told.begin(now, bytes));
            // The rates of the next seven milliseconds come when they begin.
            while known < 40 && ms(known * 7) < end {
                known += 1;
                told_end = told.continue_as(ms((known - 1) * 7), &link(&rates(known), 1000, false)).unwrap();
            }
            assert_eq!(end, told_end, "packet {n} at {now:?}");
            assert_eq!(whole.offered_bytes(now), told.offered_bytes(now));
            now = if n % 5 == 0 { end + Span::from_micros(333) } else { end };
            while known < 40 && ms(known * 7) <= now {
                known += 1;
                told.continue_as(ms((known - 1) * 7).min(now), &link(&rates(known), 1000, false)).unwrap();
            }
        }
        assert_eq!(known, 40);
        let mut later = link(&rates(1), 1000, false);
        later.begin_at(ms(3));
        assert_eq!(later.continue_as(ms(4), &link(&rates(2), 1000, false)), None, "it began at another time");
    }

    #[test]
    fn an_outage_in_the_middle_and_many_rounds() {
        // 1000 bytes in the first ms of every 60 s.
        let mut link = link(&[(0, 8_000_000), (1, 0)], 60_000, true);
        assert_eq!(link.begin(ms(0), 1500), Time::from_nanos(60_000_500_000));
        assert_eq!(link.begin(Time::from_nanos(60_000_500_000), 500), ms(60_001));
        assert_eq!(link.begin(ms(60_001), 1_000_000), ms(60_001 + 1000 * 60_000));
        assert_eq!(link.offered_bytes(ms(120_500)), 3000);
        assert_eq!(link.begin(ms(100_000_000), 1), Time::from_nanos(100_020_000_001_000));
    }

    #[test]
    fn nothing_ever() {
        let mut dead = link(&[(0, 0)], 10, true);
        assert_eq!(dead.begin(ms(3), 1), Time::NEVER);
        let mut over = link(&[(0, 8_000_000), (1, 0)], 10, false);
        assert_eq!(over.begin(ms(0), 1001), Time::NEVER);
        assert_eq!(over.offered_bytes(Time::NEVER), 1000);
    }

    /// Against walking through the time nanosecond by nanosecond... in steps of the smallest exact unit.
    #[test]
    fn a_slow_walk_agrees() {
        let steps = [(0, 3_000_000), (2, 0), (3, 70_000), (9, 16_000_000), (10, 0)];
        for repeat in [true, false] {
            let mut link = link(&steps, 12, repeat);
            let rate_at = |nanos: u64| {
                let within = if repeat { nanos % 12_000_000 } else { nanos };
                steps.iter().rev().find(|s| s.0 * 1_000_000 <= within).map_or(0, |s| s.1)
            };
            let (mut now, mut work) = (0_u64, 0_u64);
            for bytes in [40, 1500, 700, 1, 333, 1200, 90, 1500] {
                let expected = loop {
                    // 500 ns divide all step lengths; within them the rate is constant.
                    if work >= bytes * WORK_PER_BYTE {
                        work -= bytes * WORK_PER_BYTE;
                        break now;
                    }
                    if now > 400_000_000 {
                        break u64::MAX;
                    }
                    work += rate_at(now) * 500;
                    now += 500;
                };
                let got = link.begin(link.finish, bytes as u32).as_nanos();
                assert!(expected == got || (got <= expected && expected - got <= 500), "{got} {expected}");
                if got == u64::MAX {
                    break;
                }
            }
        }
    }

    #[test]
    fn table_of_one_step_is_a_line() {
        let mut line = super::super::Line::new(Rate::from_bps(7_000_003), 0);
        let mut steps = link(&[(0, 7_000_003)], 3, true);
        let mut now = Time::ZERO;
        for bytes in vec![1500, 40, 999].into_iter().cycle().take(500) {
            let (a, b) = (line.begin(now, bytes), steps.begin(now, bytes));
            assert_eq!(a, b);
            now = a;
        }
    }
}
