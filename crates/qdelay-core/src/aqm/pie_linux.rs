//! PIE as the Linux kernel computes it, for comparison with results measured on one.
//!
//! Source: Linux `sch_pie.c` and `pie.h` (6.12): `pie_drop_early`, `pie_process_dequeue` without the departure-rate
//! estimator (the kernel's default), `pie_calculate_probability`, `pie_timer`; `kernel/time/timer.c` for the time at
//! which the timer runs.
//!
//! Parameters: those of [`super::Pie`] without `estimator` (timestamps), `derandomize` (on) and `ecn_threshold`
//! (10%), and `hz`: the timer ticks a second that the kernel was built with (250, as Debian's and Ubuntu's are; others have 1000, 300 or 100).
//!
//! Differences from RFC 8033, all of them the kernel's:
//! * An arrival is spared while the *latest* sojourn is under half the target; the RFC compares that of the
//!   previous update.
//! * The burst allowance shrinks by the time between departures, not by `tupdate` per update, and an idle queue keeps
//!   it.
//! * A delay over 250 ms adds 2% to every step. The cap of 2% comes before that.
//! * Two idle updates subtract 1/64 of the probability. An update at which packets wait but the delay is zero
//!   subtracts nothing.
//! * The probability is not bounded by 1: under lasting overload it keeps growing, and takes as long to fall
//!   again.
//! * A probability of exactly 10% still marks. A mark that was due (8.5) does not restart the accumulated
//!   probability.
//! * Updates come every `tupdate` rounded up to whole timer ticks, plus one tick: each timer is armed when the previous one runs,
//!   which is at a tick, and the timer wheel adds one tick to every timeout, because one armed just before a tick would otherwise
//!   expire early. So 15 ms become 20 ms at HZ 250 (4 ticks and 1), 16 ms at 1000, 20 ms at 300 and 30 ms at 100. From 64 ticks
//!   on the wheel is coarser: steps of 8, from 505 on of 64, and so on.
//! * No drop while the backlog is *under* two MTUs.
//!
//! Differences from the reference:
//! * The first update comes one period after the run begins. The kernel's comes half a second after the discipline is
//!   attached, which on a router is long before the observed traffic.
//! * IP bytes: the kernel's packets and its MTU count 14 bytes of Ethernet header each, which cancels for full-size
//!   packets.
//! * `max_burst` is a parameter; the kernel has 150 ms.
//! * Every update runs at its tick; the kernel's is late by a tick or more while its processor has interrupts disabled.
//! * Steps saturate: in the kernel a change of more than 100 s in the delay overflows.

use super::{PieParameters, Verdict};
use crate::{Ecn, Random, Span, Time};

/// Probability one.
const ONE: u64 = u64::MAX >> 8;
/// Binary logarithm of the kernel's unit of delay in nanoseconds: the unit is 64 ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
/// Delay above which every step is 2% larger.
const HIGH_DELAY: u64 = 250_000_000 >> TICK_SHIFT;
/// Ticks up to which the timer wheel's first level reaches; each further level reaches 8 times as far, in
/// steps 8 times as long.
const WHEEL_REACH: u128 = 63;
const WHEEL_FACTOR: u128 = 8;

/// The law of Linux's PIE. Delays are in units of 64 ns, probabilities in 1/2^56.
#[derive(Clone, Debug)]
pub struct LinuxPie {
    target: u64,
    max_burst: u64,
    /// Weight of the distance from the target, in units of probability for each unit of delay.
    alpha: u64,
    beta: u64,
    mtu: u64,
    ecn: bool,
    bytemode: bool,
    tupdate: Span,
    next_update: Time,
    probability: u64,
    accumulated: u64,
    burst: u64,
    delay: u64,
    delay_old: u64,
    /// Time of the last departure in units of 64 ns; `None` since the last reset.
    last_departure: Option<u64>,
}

impl LinuxPie {
    /// The law at rest at the start of a run. `alpha` and `beta` are rounded to 1/16, as `tc` sets them.
    pub fn new(parameters: PieParameters) -> LinuxPie {
        let weight = |x: f64| ((libm::round(x * 16.0) as u64).saturating_mul(ONE / TICKS_PER_SECOND)) >> 4;
        let max_burst = ticks(parameters.max_burst);
        let tupdate = period(parameters.tupdate, parameters.hz);
        LinuxPie {
            target: ticks(parameters.target),
            max_burst,
            alpha: weight(parameters.alpha),
            beta: weight(parameters.beta),
            mtu: parameters.mtu,
            ecn: parameters.ecn,
            bytemode: parameters.bytemode,
            tupdate,
            next_update: Time::ZERO + tupdate,
            probability: 0,
            accumulated: 0,
            burst: max_burst,
            delay: 0,
            delay_old: 0,
            last_departure: None,
        }
    }

    /// The verdict on an arrival of `packet_bytes` at a queue of `backlog_bytes`.
    #[inline]
    pub fn admit(&mut self, backlog_bytes: u64, packet_bytes: u32, ecn: Ecn, random: &mut Random) -> Verdict {
        if !self.chooses(backlog_bytes, packet_bytes, random) {
            return Verdict::Forward;
        }
        if self.ecn && self.probability <= ONE / 10 && ecn.is_capable() {
            return Verdict::Mark(super::Pie::MARK);
        }
        self.accumulated = 0;
        Verdict::Drop
    }

    /// Tells the law that the host dropped an arrival because the queue was full.
    #[inline]
    pub fn refused(&mut self) {
        self.accumulated = 0;
    }

    /// Tells the law that a packet left after `sojourn`, with `backlog_bytes` queued behind it.
    #[inline]
    pub fn departed(&mut self, sojourn: Span, now: Time, backlog_bytes: u64) {
        let reading = clock(now);
        self.delay = if backlog_bytes == 0 { 0 } else { reading - clock(now - sojourn) };
        let gap = self.last_departure.replace(reading).map_or(0, |last| reading.saturating_sub(last));
        self.burst = self.burst.saturating_sub(gap);
    }

    /// Time at which [`LinuxPie::run_timer`] is due. [`Time::NEVER`] while the queue is empty and the law at
    /// rest.
    #[inline]
    pub fn next_update(&self, backlog_bytes: u64) -> Time {
        if self.is_at_rest(backlog_bytes) { Time::NEVER } else { self.next_update }
    }

    /// Recomputes the probability if an update is due; does nothing at any other time.
    #[inline]
    pub fn run_timer(&mut self, now: Time, backlog_bytes: u64) {
        if now >= self.next_update {
            self.update(now, backlog_bytes);
        }
    }

    /// The probability with which an arrival is dropped or marked; at least 0, and above 1 under lasting
    /// overload.
    pub fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    #[inline]
    fn chooses(&mut self, backlog_bytes: u64, packet_bytes: u32, random: &mut Random) -> bool {
        let is_calm = self.delay < self.target / 2 && self.probability < ONE / 5;
        if self.burst > 0 || is_calm || backlog_bytes < 2 * self.mtu {
            return false;
        }
        let mut probability = self.probability;
        let packet_bytes = u64::from(packet_bytes);
        if self.bytemode && packet_bytes <= self.mtu {
            probability = packet_bytes.saturating_mul(probability / self.mtu.max(1));
        }
        self.accumulated = if probability == 0 { 0 } else { self.accumulated.saturating_add(probability) };
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        if self.accumulated >= ONE / 2 * 17 {
            return true;
        }
        let chosen = random.bits() >> 8 < probability;
        if chosen {
            self.accumulated = 0;
        }
        chosen
    }

    fn is_at_rest(&self, backlog_bytes: u64) -> bool {
        backlog_bytes == 0
            && self.probability == 0
            && (self.delay, self.delay_old) == (0, 0)
            && self.last_departure.is_none()
            && (self.burst, self.accumulated) == (self.max_burst, 0)
    }

    #[cold]
    fn update(&mut self, now: Time, backlog_bytes: u64) {
        self.recompute(backlog_bytes);
        let missed = now.since(self.next_update).as_nanos() / self.tupdate.as_nanos();
        self.next_update += self.tupdate * (missed + 1);
    }

    fn recompute(&mut self, backlog_bytes: u64) {
        let shift = self.tuning_shift();
        // The kernel multiplies in 64 bits; saturation replaces its overflow at changes of more than 100 s.
        let product = |weight: u64, from: u64| {
            ((weight >> shift) as i64).saturating_mul((self.delay as i64).wrapping_sub(from as i64))
        };
        let two_percent = (ONE / 50) as i64;
        let mut step = product(self.alpha, self.target).saturating_add(product(self.beta, self.delay_old));
        if step > two_percent && self.probability >= ONE / 10 {
            step = two_percent;
        }
        if self.delay > HIGH_DELAY {
            step = step.saturating_add(two_percent);
        }
        // An overflow upwards restarts at probability one, as in the kernel.
        let sum = self.probability.checked_add_signed(step);
        let overflowed = sum.is_none() && step > 0;
        self.probability = sum.unwrap_or(if overflowed { ONE } else { 0 });
        if (self.delay, self.delay_old, backlog_bytes) == (0, 0, 0) && !overflowed {
            self.probability -= self.probability / 64;
        }
        let is_calm = self.delay < self.target / 2 && self.delay_old < self.target / 2;
        if is_calm && self.probability == 0 {
            self.burst = self.max_burst;
            self.accumulated = 0;
            self.last_departure = None;
        }
        self.delay_old = self.delay;
    }

    /// Number of bits by which the weights are shifted: 1 under a probability of 10%, and 2 more for each power
    /// of ten below, down to 10^-6.
    fn tuning_shift(&self) -> u32 {
        if self.probability >= ONE / 10 {
            return 0;
        }
        let mut shift = 1;
        let mut power = 100;
        while power <= 1_000_000 && self.probability < ONE / power {
            shift += 2;
            power *= 10;
        }
        shift
    }
}

/// Time from one update to the next. At the beginning of a run the tick counter is zero, so all updates lie on steps of their
/// level of the wheel.
fn period(tupdate: Span, hz: u32) -> Span {
    const SECOND: u128 = 1_000_000_000;
    let hz = u128::from(hz.max(1));
    let asked = (u128::from(tupdate.as_nanos()) * hz).div_ceil(SECOND);
    let (mut reach, mut step) = (WHEEL_REACH, 1);
    while asked > reach {
        reach *= WHEEL_FACTOR;
        step *= WHEEL_FACTOR;
    }
    let ticks = (asked / step + 1) * step;
    Span::from_nanos(u64::try_from(ticks * SECOND / hz).unwrap_or(u64::MAX))
}

/// The time on the kernel's clock, in units of 64 ns: a delay is the difference of two readings.
#[inline]
fn clock(time: Time) -> u64 {
    time.as_nanos() >> TICK_SHIFT
}

#[inline]
fn ticks(span: Span) -> u64 {
    span.as_nanos() >> TICK_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    fn ms(ms: u64) -> u64 {
        ticks(Span::from_millis(ms))
    }
    fn law() -> LinuxPie {
        LinuxPie::new(PieParameters::default())
    }
    fn percent(x: f64) -> u64 {
        (x / 100.0 * ONE as f64) as u64
    }
    fn congested(probability: u64) -> LinuxPie {
        LinuxPie { probability, burst: 0, delay: ms(100), delay_old: ms(100), ..law() }
    }
    fn admit(law: &mut LinuxPie, backlog_bytes: u64) -> Verdict {
        law.admit(backlog_bytes, 1500, Ecn::NotEct, &mut Random::derive(1, "node", "pie"))
    }
    /// The step of one update, as a fraction of probability one.
    fn step(probability: u64, delay: u64, delay_old: u64, backlog_bytes: u64) -> f64 {
        let mut law = LinuxPie { probability, delay, delay_old, ..law() };
        law.recompute(backlog_bytes);
        (law.probability as f64 - probability as f64) / ONE as f64
    }
    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn updates_come_at_whole_ticks_plus_one() {
        let mut law = law();
        assert_eq!(law.next_update(1), at(20));
        law.run_timer(at(20), 1);
        assert_eq!(law.next_update(1), at(40));
        let ms = Span::from_millis;
        for (tupdate, hz, expected) in [
            (ms(15), 1000, ms(16)),
            (ms(15), 300, ms(20)),
            (ms(15), 250, ms(20)),
            (ms(15), 100, ms(30)),
            (ms(16), 250, ms(20)),
            (Span::from_nanos(1), 250, ms(8)),
            (ms(63), 1000, ms(64)),
            (ms(64), 1000, ms(72)),
            (ms(71), 1000, ms(72)),
            (ms(504), 1000, ms(512)),
            (ms(505), 1000, ms(512)),
            (ms(512), 1000, ms(576)),
        ] {
            assert_eq!(period(tupdate, hz), expected, "{tupdate} at {hz}");
        }
        assert!(period(Span::MAX, 1000) >= Span::from_secs(1_000_000));
    }

    #[test]
    fn the_burst_shrinks_with_departures() {
        let mut law = law();
        law.departed(Span::from_millis(50), at(100), MANY);
        assert_eq!(law.burst, ms(150), "the first departure measures nothing");
        law.departed(Span::from_millis(50), at(140), MANY);
        assert_eq!(law.burst, ms(110));
        law.departed(Span::from_millis(50), at(400), MANY);
        assert_eq!(law.burst, 0);
    }

    #[test]
    fn arrivals_are_spared_in_a_short_queue_and_at_a_short_delay() {
        let due = LinuxPie { accumulated: ONE / 2 * 17, ..congested(percent(50.0)) };
        assert_eq!(admit(&mut due.clone(), 3000), Verdict::Drop);
        assert_eq!(admit(&mut due.clone(), 2999), Verdict::Forward, "under two packets");
        assert_eq!(admit(&mut LinuxPie { burst: 1, ..due.clone() }, MANY), Verdict::Forward, "burst");
        let calm = LinuxPie { delay: ms(7), probability: percent(19.0), ..due };
        assert_eq!(admit(&mut calm.clone(), MANY), Verdict::Forward, "latest delay under half the target");
        assert_eq!(admit(&mut LinuxPie { probability: percent(21.0), ..calm }, MANY), Verdict::Drop);
    }

    #[test]
    fn signals_are_spaced_by_the_accumulated_probability() {
        let mut law = congested(percent(10.0));
        let mut random = Random::derive(1, "node", "pie");
        let (mut pause, mut dropped) = (0, 0);
        for _ in 0..100_000 {
            pause += 1;
            if law.admit(MANY, 1500, Ecn::NotEct, &mut random) == Verdict::Drop {
                assert!((9..=86).contains(&pause), "{pause}");
                (pause, dropped) = (0, dropped + 1);
            }
        }
        // Without derandomisation the first drop would come at 0.85 / 0.1, then 1 in 10: a drop every 18 or
        // so.
        assert!((5200..5900).contains(&dropped), "{dropped}");
    }

    #[test]
    fn ecn_packets_are_marked_up_to_ten_percent_inclusive() {
        let parameters = PieParameters { ecn: true, ..PieParameters::default() };
        let mut random = Random::derive(1, "node", "pie");
        let mut signal = |probability| {
            let mut law = LinuxPie {
                accumulated: ONE / 2 * 17,
                burst: 0,
                delay: ms(100),
                probability,
                ..LinuxPie::new(parameters)
            };
            law.admit(MANY, 1500, Ecn::Ect0, &mut random)
        };
        assert_eq!(signal(ONE / 10), Verdict::Mark(crate::aqm::Pie::MARK));
        assert_eq!(signal(ONE / 10 + 1), Verdict::Drop);
    }

    #[test]
    fn bytemode_scales_by_size() {
        let parameters = PieParameters { bytemode: true, ..PieParameters::default() };
        let mut law =
            LinuxPie { burst: 0, delay: ms(100), probability: percent(50.0), ..LinuxPie::new(parameters) };
        law.admit(MANY, 150, Ecn::NotEct, &mut Random::derive(1, "node", "pie"));
        assert!(near(law.accumulated as f64 / ONE as f64, 0.05));
    }

    #[test]
    fn the_controller_has_the_rfcs_weights() {
        for (probability, divisor) in
            [(0.0, 2048.0), (2e-4, 512.0), (2e-3, 128.0), (0.02, 32.0), (0.2, 8.0), (2.0, 2.0), (20.0, 1.0)]
        {
            let step = step(percent(probability), ms(25), ms(20), 1);
            assert!((step * divisor - 0.0075).abs() < 1e-5, "{probability}%: {step}");
        }
        assert!(near(step(percent(50.0), ms(5), ms(5), 1), -0.00125));
    }

    #[test]
    fn steps_are_capped_and_long_delays_add() {
        assert!(near(step(percent(50.0), ms(200), 0, 1), 0.02));
        assert!(near(step(percent(50.0), ms(251), 0, 1), 0.04));
        assert!(near(step(percent(50.0), ms(251), ms(251), 1), 0.02 + 0.02));
    }

    #[test]
    fn the_probability_is_bounded_by_zero_but_not_by_one() {
        assert!(near(step(ONE, ms(251), 0, 1), 0.04));
        assert!(near(step(percent(0.5), 0, ms(2000), 1), -0.005));
        let mut law = LinuxPie { probability: u64::MAX - 1, delay: ms(300), ..law() };
        law.recompute(1);
        assert_eq!(law.probability, ONE, "a step that overflows restarts at one");
    }

    #[test]
    fn two_idle_updates_decay() {
        let expected = (0.5 - 0.001875) * (1.0 - 1.0 / 64.0) - 0.5;
        assert!(near(step(percent(50.0), 0, 0, 0), expected));
        assert!(near(step(percent(50.0), 0, 0, 100), -0.001875), "not with packets queued");
        assert!(near(step(percent(50.0), 0, 1, 0), -0.001875), "not after any delay");
    }

    #[test]
    fn without_delay_and_probability_the_law_resets_and_needs_no_timer() {
        let mut law = law();
        law.departed(Span::from_millis(1), at(10), 0);
        assert_eq!(law.next_update(0), at(20));
        law.run_timer(at(20), 0);
        assert_eq!(law.next_update(0), Time::NEVER);
        assert_eq!(law.next_update(1500), at(40));
        assert_eq!(law.last_departure, None);
    }

    #[test]
    fn huge_delays_do_not_overflow() {
        let mut law = LinuxPie { delay: u64::MAX >> TICK_SHIFT, ..congested(percent(1.0)) };
        law.recompute(1);
        law.departed(Span::MAX, Time::NEVER, MANY);
        law.run_timer(Time::NEVER, MANY);
        law.run_timer(Time::NEVER, MANY);
    }
}
