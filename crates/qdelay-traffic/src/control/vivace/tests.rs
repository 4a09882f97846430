//! Closed forms of the paper over a minimal link, and two slow models: of an interval, with a list of every segment; and of the rate control,
//! which computes each decision from the list of all earlier ones.

use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
use super::interval::Interval;
use super::rate::RateControl;
use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Size of a segment on the minimal link, IP bytes.
const FRAME: f64 = 1500.0;

fn loss_config() -> VivaceConfig {
    VivaceConfig { latency_weight: 0.0, ..VivaceConfig::default() }
}

/// Goodput and queue of a flow in the second half of a run.
struct Share {
    /// Goodput as a share of the link's rate.
    goodput: f64,
    /// Mean queue delay, ms.
    mean_queue: f64,
}

fn run(config: VivaceConfig, mbps: u64, rtt_ms: u64, buffer: u64, loss: f64, seconds: u64) -> Share {
    let mut link = Link::new(Rate::from_bps(mbps * 1_000_000), Span::from_millis(rtt_ms));
    link.buffer = buffer;
    let mut dice = Random::derive(3, "link", "loss");
    let mut tcp = MinimalTcp::new(Vivace::new(config), link, move |_, _| dice.unit() < loss);
    let half = seconds / 2;
    tcp.run_until(Time::ZERO + Span::from_secs(half));
    let before = tcp.connection.delivered;
    let mut sum = 0.0;
    for step in 1..=half * 100 {
        let now = Time::ZERO + Span::from_secs(half) + Span::from_millis(10 * step);
        tcp.run_until(now);
        sum += tcp.link.free.since(now).as_secs_f64() * 1e3;
    }
    let delivered = (tcp.connection.delivered - before) as f64 * FRAME * 8.0 / 1e6;
    Share { goodput: delivered / (half * mbps) as f64, mean_queue: sum / (half * 100) as f64 }
}

/// With utility=latency the queue at the faster rate of a pair must grow by less than the slope filter: the rate converges to 1.01/1.05 (96%) of
/// the link's, or the smallest step (5%) below.
#[test]
fn one_flow_fills_the_link_with_a_short_queue() {
    for (mbps, rtt_ms) in [(1, 20), (1, 2), (5, 40), (10, 20), (20, 100), (50, 10), (100, 40), (100, 2)] {
        let Share { goodput, mean_queue } = run(VivaceConfig::default(), mbps, rtt_ms, 1000, 0.0, 60);
        assert!((0.90..=0.97).contains(&goodput), "{mbps} Mbit/s, {rtt_ms} ms: {goodput:.3}");
        let most = rtt_ms as f64 / 10.0 + 2.0 * FRAME * 8e-3 / mbps as f64;
        assert!(mean_queue <= most, "{mbps} Mbit/s, {rtt_ms} ms: {mean_queue:.2} of {most:.2} ms");
    }
}

/// With utility=loss random loss below 5% is tolerated: 0.9 x^-0.1 exceeds 11.35 times the loss up to 6% at 10 Mbit/s.
#[test]
fn loss_below_five_percent_is_tolerated() {
    for loss in [0.0, 0.01, 0.03, 0.045] {
        let Share { goodput, .. } = run(loss_config(), 10, 20, 30, loss, 60);
        assert!(goodput >= 0.85 * (1.0 - loss), "{loss}: {goodput:.3}");
    }
}

/// With a constant loss L the rate is (0.9 / 11.35 L)^10 Mbit/s: 3.5 Mbit/s at 7%.
#[test]
fn more_loss_leaves_the_rate_of_the_closed_form() {
    let config = loss_config();
    let loss = 0.07;
    let expected = libm::pow(config.exponent / config.loss_weight / loss, 1.0 / (1.0 - config.exponent));
    assert!((3.4..3.6).contains(&expected), "{expected}");
    let mut control = RateControl::new(config, 1.0);
    let mut random = Random::derive(1, "", "");
    let mut last = Vec::new();
    for step in 0..20_000 {
        if let Some(rate) = control.next(&mut random) {
            control.result(rate, config.utility(rate, 0.0, loss));
        }
        if step >= 19_000 {
            last.push(control.rate());
        }
    }
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} of {expected}");
}

/// Calculated by hand: 10^0.9 = 7.943282; the derivative at 10 is 0.714896.
#[test]
fn utility_and_gradient_equal_those_by_hand() {
    let config = VivaceConfig::default();
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-5, "{value} of {expected}");
    near(config.utility(10.0, 0.0, 0.0), 7.943_282);
    near(config.utility(10.0, 0.02, 0.0), 7.943_282 - 180.0);
    near(config.utility(10.0, -0.02, 0.0), 7.943_282 + 180.0);
    near(config.utility(10.0, 0.009_99, 0.1), 7.943_282 - 11.35);
    near(loss_config().utility(10.0, 0.5, 0.0), 7.943_282);
    let gradient = (config.utility(10.001, 0.0, 0.0) - config.utility(9.999, 0.0, 0.0)) / 0.002;
    near(gradient, 0.714_896);
    // Below the link's rate a first step is the gradient itself.
    let mut control = RateControl::new(VivaceConfig { boundary: 1.0, ..config }, 10.0);
    let mut random = Random::derive(1, "", "");
    for utility in [2.0, 1.0] {
        control.next(&mut random);
        control.result(10.0, utility);
    }
    for _ in 0..4 {
        let rate = control.next(&mut random).unwrap();
        control.result(rate, config.utility(rate, 0.0, 0.0));
    }
    assert!((control.rate() - 10.7149).abs() < 1e-3, "{}", control.rate());
}

/// A retransmission timeout halves the rate, and so does an interval with a late outcome.
#[test]
fn silence_halves_the_rate() {
    let mut vivace = Vivace::default();
    let mut random = Random::derive(1, "", "");
    let (mut w, rtt) = (window(10, u32::MAX), Span::from_millis(10));
    let mut state = Connection { srtt: rtt, min_rtt: rtt, ..connection(Time::ZERO) };
    vivace.init(&state, &mut w, &mut random);
    let first = vivace.rate_mbps();
    assert!((first - 10.0 * 1448.0 * 8.0 / 1e4).abs() < 1e-6 && vivace.is_starting());
    vivace.event(&state, &mut w, Event::Timeout);
    assert!((vivace.rate_mbps() - first / 2.0).abs() < 1e-9 && vivace.is_starting());
    for step in 0..30 {
        state.now = Time::ZERO + rtt * step;
        state.in_flight += 5;
        state.nxt += 5 * 1448;
        vivace.control(&state, &mut w, &sample(0), &mut random);
    }
    assert!(vivace.rate_mbps() <= first / 4.0, "{}", vivace.rate_mbps());
}

/// Model of the rate control from the paper's text: each decision is computed from the list of all steps.
struct Model {
    config: VivaceConfig,
    rate: f64,
    /// Gradient and rate of each step.
    steps: Vec<(f64, f64)>,
}

impl Model {
    fn decide(&mut self, pairs: [[f64; 2]; 2]) {
        let gradient =
            pairs.map(|[faster, slower]| (faster - slower) / (2.0 * self.config.epsilon * self.rate));
        if gradient[0] * gradient[1] <= 0.0 {
            return;
        }
        let mean = (gradient[0] + gradient[1]) / 2.0;
        self.steps.push((mean, self.rate));
        let run = self.steps.iter().rev().take_while(|step| step.0 * mean > 0.0).count();
        let (mut k, mut delta) = (0, 0.0);
        for (number, (gradient, rate)) in self.steps[self.steps.len() - run..].iter().enumerate() {
            let tau = number as f64 + 1.0;
            let m = if tau <= 3.0 { tau } else { 2.0 * tau - 3.0 };
            let wanted = m * self.config.theta * gradient.abs();
            let omega = |k: i32| self.config.boundary + f64::from(k) * self.config.boundary_step;
            if wanted > omega(k) * rate {
                delta = omega(k) * rate;
                k += 1;
            } else {
                delta = wanted;
                k = (0..=k).find(|k| wanted <= omega(*k) * rate).unwrap();
            }
        }
        self.rate = (self.rate + delta * mean.signum()).max(0.05);
    }
}

proptest! {
    #[test]
    fn rate_control_equals_its_model(
        seed in any::<u64>(),
        start in 0.5_f64..200.0,
        capacity in 0.5_f64..200.0,
        noise in 0.0_f64..2.0,
    ) {
        let config = VivaceConfig::default();
        let mut control = RateControl::new(config, start);
        let (mut random, mut dice) = (Random::derive(seed, "", "order"), Random::derive(seed, "", "noise"));
        // The falling utility ends slow start at once.
        for utility in [2.0, 1.0] {
            prop_assert!(control.next(&mut random).is_some() && control.next(&mut random).is_none());
            control.result(start, utility);
        }
        let mut model = Model { config, rate: start, steps: Vec::new() };
        for _ in 0..200 {
            let mut pairs = [[0.0; 2]; 2];
            let rates: Vec<f64> = core::iter::from_fn(|| control.next(&mut random)).collect();
            prop_assert_eq!(rates.len(), 4);
            for (number, rate) in rates.into_iter().enumerate() {
                let slope = ((rate - capacity) / capacity).max(0.0);
                let utility = config.utility(rate, slope, 0.0) + noise * dice.normal();
                let is_slower = rate < model.rate;
                let exact = model.rate * if is_slower { 0.95 } else { 1.05 };
                prop_assert!((rate / exact - 1.0).abs() < 1e-9);
                pairs[number / 2][usize::from(is_slower)] = utility;
                control.result(rate, utility);
            }
            model.decide(pairs);
            prop_assert!((control.rate() / model.rate - 1.0).abs() < 1e-9, "{} {}", control.rate(), model.rate);
            model.rate = control.rate();
        }
    }

    /// Slope and loss equal those from a list of segments.
    #[test]
    fn an_interval_equals_its_model(
        segments in prop::collection::vec((0_u64..100_000, 1_u64..1_000_000, any::<bool>()), 2..60),
        start in 0_u64..1_000_000_000,
    ) {
        let start = Time::from_nanos(start * 1000);
        let mut state = Connection { srtt: Span::from_millis(10), ..connection(start) };
        let mut interval = Interval::new(&state, 10.0, 0);
        let mut points = Vec::new();
        let mut lost = 0;
        for &(after, rtt, is_lost) in &segments {
            let sent = start + Span::from_micros(after);
            if is_lost {
                lost += 1;
                interval.lost += 1;
            } else {
                interval.add_round_trip(sent, Span::from_micros(rtt));
                points.push((after as f64 * 1e-6, rtt as f64 * 1e-6));
            }
        }
        state.now = start + Span::from_millis(100);
        interval.finish(&state, segments.len() as u64);
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count.max(1.0);
        let (time, rtt) = (mean(|p| p.0), mean(|p| p.1));
        let spread: f64 = points.iter().map(|p| (p.0 - time) * (p.0 - time)).sum();
        let both: f64 = points.iter().map(|p| (p.0 - time) * (p.1 - rtt)).sum();
        let measured = interval.measured();
        prop_assert_eq!(measured.loss, f64::from(lost) / segments.len() as f64);
        if spread > 1e-9 {
            prop_assert!((measured.slope - both / spread).abs() <= 1e-6 * (1.0 + measured.slope.abs()));
        }
        prop_assert!(measured.rate <= 10.0);
    }

    /// Rate and window are usable for any state of the connection.
    #[test]
    fn nothing_panics_and_something_is_always_sent(
        calls in prop::collection::vec((0_u64..200, 0_u32..50, 0_u32..20, 0_u64..400, 0_u8..12), 1..300),
    ) {
        let mut vivace = Vivace::default();
        let mut random = Random::derive(1, "", "");
        let mut w = window(10, u32::MAX);
        let mut state = connection(Time::from_nanos(1_000_000_000));
        vivace.init(&state, &mut w, &mut random);
        for (after, acked, losses, rtt, kind) in calls {
            state.now += Span::from_millis(after);
            let rtt = Span::from_millis(rtt);
            state.srtt = rtt;
            state.min_rtt = state.min_rtt.min(rtt);
            state.delivered += u64::from(acked);
            state.lost += u64::from(losses);
            state.una += u64::from(acked) * 1448;
            state.nxt = state.una + u64::from(w.cwnd) * 1448;
            state.in_flight = w.cwnd;
            state.app_limited = kind == 0;
            match kind {
                1 => vivace.event(&state, &mut w, Event::Timeout),
                2 => vivace.event(&state, &mut w, Event::TransmitStart),
                _ => {}
            }
            vivace.lost(state.now);
            let told = AckSample { losses, rtt: (kind > 3).then_some(rtt), ..sample(acked) };
            vivace.control(&state, &mut w, &told, &mut random);
            prop_assert!(w.cwnd >= 1);
            let rate = vivace.pacing_rate().unwrap();
            prop_assert!(rate >= Rate::from_bps(45_000) && rate <= Rate::from_bps(200_000_000_000));
        }
    }
}
