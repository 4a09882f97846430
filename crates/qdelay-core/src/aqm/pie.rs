//! PIE: packets are dropped on arrival, with a probability that a controller adjusts such that the delay meets a
//! target.
//!
//! Source: RFC 8033 section 4 (the algorithm), section 5.1 (ECN), 5.2 (departure rate), 5.4 (derandomisation), 5.5
//! (cap), with the pseudo-code of its appendices A and B.
//!
//! Parameters:
//! * `target`: the delay to hold, in time (QDELAY_REF, 15 ms).
//! * `tupdate`: how often the probability is recomputed (T_UPDATE, 15 ms).
//! * `alpha`, `beta`: weights of the distance from the target and of the trend, in 1/s (0.125 and 1.25).
//! * `max_burst`: how long a burst may go on before the first drop (MAX_BURST, 150 ms).
//! * `estimator`: source of the delay. `timestamp` is the sojourn of the packet that left last, as in the basic
//!   algorithm of appendix A (and by default in Linux); `rate` is Little's law, backlog over departure rate, of
//!   section 5.2 and appendix B.
//! * `mtu`: no drop when the backlog is at most two of these (MEAN_PKTSIZE; 1500 bytes, as Linux takes the MTU).
//! * `ecn`, `ecn_threshold`: mark ECN-capable packets while the probability is below the threshold (off; 10%).
//! * `derandomize`: no drop soon after the last, and a certain one after a long pause (on).
//! * `bytemode`: scale the probability by packet size / `mtu`, at most 1 (off).
//!
//! The host calls [`Pie::admit`] for every arrival, reports departures with [`Pie::departed`] and arrivals that it
//! refused itself with [`Pie::refused`], and calls [`Pie::run_timer`] at [`Pie::next_update`] or at every call. An
//! arrival costs an addition and three comparisons; divisions are left to the timer.
//!
//! Differences from the reference:
//! * With `timestamp`, the delay counts as zero once a departure leaves the queue empty (as in Linux): the RFC's
//!   sample would stand for ever, and the probability would never decay.
//! * The probability decays by 2% where both samples are zero (section 4.2, appendix A), not where both are under
//!   half the target (appendix B).
//! * PIE is always on: section 5.3 starts it at a third of the tail-drop limit, which for 1000 packets is 400 ms at
//!   10 Mbit/s.
//! * The accumulated probability restarts at every signal. Appendix B restarts it at drops alone, so that a mark that
//!   was due after a long pause (8.5) would be followed by marks on every packet.
//! * Updates lie on a fixed grid of `tupdate` from the start of the run. A timer that runs late runs once.

use super::Verdict;
use crate::{DropReason, Ecn, MarkReason, Random, Span, Time};

/// Bytes of one measurement of the departure rate (DQ_THRESHOLD, section 5.2).
const MEASUREMENT_BYTES: u64 = 1 << 14;
/// Weight of a new measurement: DQ_THRESHOLD / 2^16.
const MEASUREMENT_WEIGHT: f64 = 0.25;
/// Accumulated probability below which no packet is dropped; from [`ACCUMULATED_MAX`] on every packet is
/// (section 5.4).
const ACCUMULATED_MIN: f64 = 0.85;
const ACCUMULATED_MAX: f64 = 8.5;
/// Probability from which on a step up is at most [`STEP_MAX`] (section 5.5).
const STEP_CAPPED_FROM: f64 = 0.1;
const STEP_MAX: f64 = 0.02;
/// Factor on the probability at an update without delay (section 4.2).
const DECAY: f64 = 0.98;
/// Divisors of a step (section 4.2's automatic tuning), each with the probability below which it applies.
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// The source of the queueing delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PieEstimator {
    /// The sojourn of the packet that left last.
    #[default]
    Timestamp,
    /// Backlog over departure rate.
    Rate,
}

/// The parameters of PIE; [`PieParameters::default`] are the RFC's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParameters {
    /// The delay to hold (QDELAY_REF).
    pub target: Span,
    /// Period between two computations of the probability (T_UPDATE), more than zero.
    pub tupdate: Span,
    /// Weight of the distance from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the trend, in 1/s.
    pub beta: f64,
    /// Longest burst without a drop (MAX_BURST).
    pub max_burst: Span,
    /// The source of the queueing delay.
    pub estimator: PieEstimator,
    /// MTU in IP bytes: no packet is dropped while the backlog is at most two of these.
    pub mtu: u64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Probability from which on ECN-capable packets are dropped instead of marked, 0 to 1.
    pub ecn_threshold: f64,
    /// Space the drops evenly.
    pub derandomize: bool,
    /// Scale the probability by packet size.
    pub bytemode: bool,
    /// Timer ticks a second of the kernel that [`super::LinuxPie`] models, at least 1; only that law counts
    /// ticks.
    pub hz: u32,
}

/// The law of PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    parameters: PieParameters,
    half_target: Span,
    /// Drop probability, 0 to 1 (`drop_prob_`).
    probability: f64,
    /// Sum of the probabilities since the last signal (`accu_prob_`).
    accumulated: f64,
    /// Remaining burst allowance (`burst_allowance_`).
    burst: Span,
    /// Latest sojourn, for the estimator `timestamp`.
    sojourn: Span,
    /// The delay at the previous update (`qdelay_old_`).
    delay_old: Span,
    next_update: Time,
    rate: DepartureRate,
}

/// Departure rate, measured as the time that [`MEASUREMENT_BYTES`] take to leave (section 5.2).
#[derive(Clone, Debug, Default)]
struct DepartureRate {
    /// Start of the measurement and the bytes since then; `None` outside a measurement.
    running: Option<(Time, u64)>,
    /// Average duration of a measurement in nanoseconds; 0 before the first.
    average: f64,
}

impl Pie {
    /// Drop reason: the drop probability chose the packet on arrival.
    pub const DROP: DropReason = DropReason::new("pie");
    /// Mark reason: the drop probability chose the packet on arrival.
    pub const MARK: MarkReason = MarkReason::new("pie");

    /// Takes over `parameters` and keeps the state, including the time of the next update.
    pub fn adjust(&mut self, parameters: PieParameters) {
        self.half_target = parameters.target / 2;
        self.parameters = parameters;
    }

    /// The law at rest at the start of a run.
    pub fn new(parameters: PieParameters) -> Pie {
        Pie {
            half_target: parameters.target / 2,
            probability: 0.0,
            accumulated: 0.0,
            burst: parameters.max_burst,
            sojourn: Span::ZERO,
            delay_old: Span::ZERO,
            next_update: Time::ZERO + parameters.tupdate,
            rate: DepartureRate::default(),
            parameters,
        }
    }

    /// The verdict on an arrival of `packet_bytes` at a queue of `backlog_bytes`. Draws from `random` where chance
    /// decides.
    #[inline]
    pub fn admit(&mut self, backlog_bytes: u64, packet_bytes: u32, ecn: Ecn, random: &mut Random) -> Verdict {
        self.renew_burst(backlog_bytes);
        if !self.burst.is_zero() || !self.chooses(backlog_bytes, packet_bytes, random) {
            return Verdict::Forward;
        }
        self.accumulated = 0.0;
        if self.parameters.ecn && ecn.is_capable() && self.probability < self.parameters.ecn_threshold {
            Verdict::Mark(Pie::MARK)
        } else {
            Verdict::Drop
        }
    }

    /// Tells the law that the host dropped an arrival because the queue was full.
    #[inline]
    pub fn refused(&mut self) {
        self.accumulated = 0.0;
    }

    /// Tells the law that a packet of `packet_bytes` left after `sojourn`, with `backlog_bytes` queued behind
    /// it.
    #[inline]
    pub fn departed(&mut self, sojourn: Span, now: Time, packet_bytes: u32, backlog_bytes: u64) {
        match self.parameters.estimator {
            PieEstimator::Timestamp => {
                self.sojourn = if backlog_bytes == 0 { Span::ZERO } else { sojourn };
            }
            PieEstimator::Rate => self.rate.departed(now, packet_bytes, backlog_bytes),
        }
    }

    /// Time at which [`Pie::run_timer`] is due. [`Time::NEVER`] while the queue is empty and the law at rest,
    /// because an update would change nothing.
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

    /// The probability with which an arrival is dropped or marked, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Restores the burst allowance in full where there is no congestion (section 4.4).
    #[inline]
    fn renew_burst(&mut self, backlog_bytes: u64) {
        if self.probability == 0.0
            && self.delay_old < self.half_target
            && self.delay(backlog_bytes) < self.half_target
        {
            self.burst = self.parameters.max_burst;
        }
    }

    /// Appendix B's `drop_early`: true if the arrival is to be dropped or marked.
    #[inline]
    fn chooses(&mut self, backlog_bytes: u64, packet_bytes: u32, random: &mut Random) -> bool {
        let is_calm = self.delay_old < self.half_target && self.probability < 0.2;
        if is_calm || backlog_bytes <= 2 * self.parameters.mtu {
            return false;
        }
        let mut probability = self.probability;
        if self.parameters.bytemode {
            let packet_bytes = u64::from(packet_bytes).min(self.parameters.mtu);
            probability *= packet_bytes as f64 / self.parameters.mtu as f64;
        }
        if self.parameters.derandomize {
            self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + probability };
            if self.accumulated < ACCUMULATED_MIN {
                return false;
            }
            if self.accumulated >= ACCUMULATED_MAX {
                return true;
            }
        }
        random.unit() < probability
    }

    fn delay(&self, backlog_bytes: u64) -> Span {
        match self.parameters.estimator {
            PieEstimator::Timestamp => self.sojourn,
            PieEstimator::Rate => self.rate.delay(backlog_bytes),
        }
    }

    fn is_at_rest(&self, backlog_bytes: u64) -> bool {
        backlog_bytes == 0
            && self.probability == 0.0
            && self.delay_old.is_zero()
            && self.delay(backlog_bytes).is_zero()
    }

    #[cold]
    fn update(&mut self, now: Time, backlog_bytes: u64) {
        self.recompute(self.delay(backlog_bytes));
        self.burst = self.burst - self.parameters.tupdate;
        let missed = now.since(self.next_update).as_nanos() / self.parameters.tupdate.as_nanos().max(1);
        self.next_update += self.parameters.tupdate * (missed + 1);
    }

    /// Appendix A's `calculate_drop_prob`, with the cap of section 5.5.
    fn recompute(&mut self, delay: Span) {
        let seconds = Span::as_secs_f64;
        let distance = seconds(delay) - seconds(self.parameters.target);
        let trend = seconds(delay) - seconds(self.delay_old);
        let divisor = TUNING.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, by)| *by);
        let mut step = (self.parameters.alpha * distance + self.parameters.beta * trend) / divisor;
        if self.probability >= STEP_CAPPED_FROM && step > STEP_MAX {
            step = STEP_MAX;
        }
        self.probability += step;
        if delay.is_zero() && self.delay_old.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_old = delay;
    }
}

impl DepartureRate {
    fn departed(&mut self, now: Time, packet_bytes: u32, backlog_bytes: u64) {
        if let Some((since, bytes)) = &mut self.running {
            *bytes += u64::from(packet_bytes);
            if *bytes >= MEASUREMENT_BYTES {
                let taken = now.since(*since).as_nanos() as f64;
                self.average = if self.average == 0.0 {
                    taken
                } else {
                    taken * MEASUREMENT_WEIGHT + self.average * (1.0 - MEASUREMENT_WEIGHT)
                };
                self.running = None;
            }
        }
        if self.running.is_none() && backlog_bytes >= MEASUREMENT_BYTES {
            self.running = Some((now, 0));
        }
    }

    fn delay(&self, backlog_bytes: u64) -> Span {
        Span::from_nanos((backlog_bytes as f64 * self.average / MEASUREMENT_BYTES as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 1_000_000;
    const LATE: Span = Span::from_millis(100);

    fn random() -> Random {
        Random::derive(1, "node", "pie")
    }
    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    fn law(parameters: PieParameters) -> Pie {
        Pie::new(parameters)
    }
    /// A congested law with this probability and no burst allowance left.
    fn congested(parameters: PieParameters, probability: f64) -> Pie {
        Pie { probability, burst: Span::ZERO, sojourn: LATE, delay_old: LATE, ..law(parameters) }
    }
    fn admit(law: &mut Pie, random: &mut Random) -> Verdict {
        law.admit(MANY, 1500, Ecn::NotEct, random)
    }
    /// Number of drops among `n` arrivals.
    fn drops(law: &mut Pie, n: u32) -> u32 {
        let mut random = random();
        (0..n).filter(|_| admit(law, &mut random) == Verdict::Drop).count() as u32
    }
    /// The step of one update from `probability`, with `delay` after `delay_old`.
    fn step(probability: f64, delay: Span, delay_old: Span) -> f64 {
        let mut law = Pie { probability, delay_old, ..law(PieParameters::default()) };
        law.recompute(delay);
        law.probability - probability
    }

    #[test]
    fn a_burst_is_let_through_for_its_allowance() {
        let mut law = law(PieParameters::default());
        let mut random = random();
        law.departed(LATE, at(1), 1500, MANY);
        let mut first = None;
        for ms in 1..2000 {
            law.run_timer(at(ms), MANY);
            for _ in 0..10 {
                if admit(&mut law, &mut random) == Verdict::Drop {
                    first = first.or(Some(ms));
                }
            }
            assert!(ms >= 150 || first.is_none());
        }
        assert!(first.is_some_and(|ms| ms < 300), "{first:?}");
    }

    #[test]
    fn the_allowance_returns_without_congestion() {
        let mut law = Pie { burst: Span::ZERO, ..law(PieParameters::default()) };
        admit(&mut law, &mut random());
        assert_eq!(law.burst, Span::from_millis(150));
        let mut law = Pie { burst: Span::ZERO, sojourn: Span::from_millis(8), ..law };
        admit(&mut law, &mut random());
        assert_eq!(law.burst, Span::ZERO, "the current delay is above half the target");
    }

    #[test]
    fn no_drops_while_the_delay_or_the_queue_is_short() {
        let calm = Pie { delay_old: Span::from_millis(7), ..congested(PieParameters::default(), 0.19) };
        assert_eq!(drops(&mut calm.clone(), 1000), 0, "last delay under half the target");
        assert_ne!(drops(&mut Pie { probability: 0.2, ..calm }, 1000), 0, "but not from 20% on");
        let mut short = congested(PieParameters::default(), 1.0);
        let mut random = random();
        assert_eq!(short.admit(3000, 1500, Ecn::NotEct, &mut random), Verdict::Forward);
        assert_eq!(short.admit(3001, 1500, Ecn::NotEct, &mut random), Verdict::Drop);
    }

    #[test]
    fn drops_are_spaced_by_the_accumulated_probability() {
        let mut law = congested(PieParameters::default(), 0.05);
        let mut random = random();
        let mut pause = 0;
        for _ in 0..100_000 {
            pause += 1;
            if admit(&mut law, &mut random) == Verdict::Drop {
                assert!((17..=170).contains(&pause), "0.85 / 0.05 to 8.5 / 0.05: {pause}");
                pause = 0;
            }
        }
        assert!(pause <= 170);
    }

    #[test]
    fn a_probability_of_zero_accumulates_nothing() {
        let mut law = congested(PieParameters::default(), 0.0);
        law.accumulated = 100.0;
        assert_eq!(drops(&mut law, 100), 0);
    }

    #[test]
    fn a_refused_arrival_restarts_the_spacing() {
        let mut law = congested(PieParameters::default(), 0.5);
        law.accumulated = 8.4;
        law.refused();
        assert_eq!(admit(&mut law, &mut random()), Verdict::Forward, "0.5 is under 0.85");
        law.accumulated = 8.0;
        assert_eq!(admit(&mut law, &mut random()), Verdict::Drop, "8.5 is certain");
        assert_eq!(law.accumulated, 0.0);
    }

    #[test]
    fn without_derandomisation_every_arrival_is_drawn_for() {
        let parameters = PieParameters { derandomize: false, ..PieParameters::default() };
        let dropped = drops(&mut congested(parameters, 0.3), 100_000);
        assert!((29_000..31_000).contains(&dropped), "{dropped}");
    }

    #[test]
    fn bytemode_spares_small_packets() {
        let parameters = PieParameters { derandomize: false, bytemode: true, ..PieParameters::default() };
        let mut law = congested(parameters, 0.5);
        let mut random = random();
        let mut dropped = |bytes| {
            (0..10_000).filter(|_| law.admit(MANY, bytes, Ecn::NotEct, &mut random) == Verdict::Drop).count()
        };
        assert!((4_700..5_300).contains(&dropped(1500)));
        assert!((4_700..5_300).contains(&dropped(9000)), "at most 1");
        assert!((400..600).contains(&dropped(150)));
    }

    #[test]
    fn ecn_packets_are_marked_up_to_the_threshold() {
        let parameters = PieParameters { ecn: true, ..PieParameters::default() };
        let signal = |probability, ecn| {
            let mut law = Pie { accumulated: 8.5, ..congested(parameters, probability) };
            law.admit(MANY, 1500, ecn, &mut random())
        };
        assert_eq!(signal(0.09, Ecn::Ect0), Verdict::Mark(Pie::MARK));
        assert_eq!(signal(0.09, Ecn::NotEct), Verdict::Drop);
        assert_eq!(signal(0.1, Ecn::Ect0), Verdict::Drop);
    }

    #[test]
    fn the_controller_computes_the_steps_of_the_rfc() {
        let (ms, near) = (Span::from_millis, |a: f64, b: f64| (a - b).abs() < 1e-12);
        // 0.125 (25 - 15 ms) + 1.25 (25 - 20 ms) = 0.0075, by each row of the table.
        for (probability, divisor) in
            [(0.0, 2048.0), (2e-6, 512.0), (2e-5, 128.0), (2e-4, 32.0), (2e-3, 8.0), (0.02, 2.0), (0.2, 1.0)]
        {
            assert!(near(step(probability, ms(25), ms(20)), 0.0075 / divisor), "{probability}");
        }
        assert!(near(step(0.5, ms(5), ms(5)), -0.00125), "down below the target");
    }

    #[test]
    fn steps_are_capped_from_ten_percent_on() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let jump = Span::from_millis(115);
        assert!(near(step(0.1, jump, Span::ZERO), 0.02));
        assert!(near(step(0.09, jump, Span::ZERO), 0.15625 / 2.0), "not below it");
    }

    #[test]
    fn the_probability_is_bounded() {
        assert_eq!(0.99 + step(0.99, Span::from_secs(9), Span::ZERO), 1.0);
        assert_eq!(1e-7 + step(1e-7, Span::ZERO, Span::from_secs(1)), 0.0);
    }

    #[test]
    fn the_probability_decays_after_two_updates_without_delay() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(step(0.5, Span::ZERO, Span::ZERO), (0.5 - 0.001875) * 0.98 - 0.5));
        let nano = Span::from_nanos(1);
        assert!(near(step(0.5, Span::ZERO, nano), -0.001875 - 1.25e-9), "not for any delay");
    }

    #[test]
    fn an_emptied_queue_has_no_delay() {
        let mut law = law(PieParameters::default());
        law.departed(LATE, at(1), 1500, 1);
        assert_eq!(law.delay(1), LATE);
        law.departed(LATE, at(2), 1500, 0);
        assert_eq!(law.delay(0), Span::ZERO);
    }

    #[test]
    fn the_timer_keeps_its_grid_and_stops_at_rest() {
        let mut law = law(PieParameters::default());
        assert_eq!(law.next_update(0), Time::NEVER);
        assert_eq!(law.next_update(1), at(15));
        law.departed(LATE, at(14), 1500, MANY);
        law.run_timer(at(14), MANY);
        assert_eq!(law.delay_old, Span::ZERO, "too early");
        law.run_timer(at(15), MANY);
        assert_eq!((law.delay_old, law.next_update(MANY)), (LATE, at(30)));
        let probability = law.probability();
        law.run_timer(at(100), MANY);
        assert_eq!(law.next_update(MANY), at(105), "late: once, and on the grid");
        assert!(law.probability() > probability);
        assert_eq!(law.next_update(0), at(105), "not at rest while there is a probability");
    }

    #[test]
    fn the_departure_rate_gives_the_delay() {
        let parameters = PieParameters { estimator: PieEstimator::Rate, ..PieParameters::default() };
        let mut law = law(parameters);
        // 1500 bytes a millisecond, from a backlog that stays long: 11 packets of measurement.
        for ms in 0..=11 {
            assert_eq!(law.delay(15_000), Span::ZERO);
            law.departed(Span::ZERO, at(ms), 1500, MANY);
        }
        // 16384 bytes took 11 ms of the clock.
        assert_eq!(law.delay(16_384), Span::from_millis(11));
        // The next measurement begins at once, at half the rate: 22 ms with weight 1/4.
        for i in 1..=11 {
            law.departed(Span::ZERO, at(11 + 2 * i), 1500, MANY);
        }
        assert_eq!(law.delay(16_384), Span::from_micros(13_750));
        assert!(law.next_update(0) == Time::NEVER, "an empty queue has no delay");
    }

    #[test]
    fn no_measurement_starts_in_a_short_queue() {
        let mut rate = DepartureRate::default();
        rate.departed(at(1), 1500, MEASUREMENT_BYTES - 1);
        assert_eq!(rate.running, None);
        rate.departed(at(2), 1500, MEASUREMENT_BYTES);
        assert_eq!(rate.running, Some((at(2), 0)));
    }
}
