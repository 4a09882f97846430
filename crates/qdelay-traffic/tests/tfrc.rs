//! TFRC against models with the whole history and against the equation, and tests of its properties.

use crate::tfrc_models::path::{Fate, Path};
use crate::tfrc_models::{receiver, sender, throughput};
use proptest::prelude::*;
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_traffic::tfrc::intervals::LossCount;
use qdelay_traffic::tfrc::{
    DataHeader, Equation, RateConfig, RateControl, Receiver, ReceiverConfig, Report, TfrcConfig,
};

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn time_s(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    value == expected || (value / expected - 1.0).abs() <= tolerance
}

// ---- The receiver against its model ----

/// A packet of a trial: gap to the packet before, ns; lost; marked; number of packets that overtake it; round trip, ns.
type Step = (u64, bool, bool, usize, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![8 => 1_000u64..3_000_000, 1 => 30_000_000u64..200_000_000];
    let moved = prop_oneof![8 => Just(0usize), 2 => 1usize..5];
    let step = (gap, prop::bool::weighted(0.12), prop::bool::weighted(0.03), moved, 8_000_000u64..30_000_000);
    prop::collection::vec(step, 2..250)
}

fn arrivals(steps: &[Step], first: u64, without_rtt: usize) -> Vec<receiver::Data> {
    let mut order: Vec<(usize, usize)> =
        steps.iter().enumerate().map(|(index, step)| (index + step.3 * 2, index)).collect();
    order.sort();
    let mut now = 0;
    let mut all = Vec::new();
    for (_, index) in order {
        let (gap, lost, marked, _, rtt) = steps[index];
        now += gap;
        if lost && index > 0 {
            continue;
        }
        let rtt = if index < without_rtt { 0 } else { rtt };
        let bytes = 500 + (index as u64 * 37) % 1000;
        let sent = 5 * index as u64;
        let number = first + index as u64;
        all.push(receiver::Data { number, lane: 0, in_lane: number, sent, rtt, bytes, marked, at: now });
    }
    all
}

fn same(ours: Option<Report>, theirs: Option<receiver::Feedback>) {
    match (ours, theirs) {
        (None, None) => {}
        (Some(ours), Some(theirs)) => {
            assert_eq!((ours.echo.as_nanos(), ours.delay.as_nanos()), (theirs.echo, theirs.delay));
            assert!(near(ours.receive_rate, theirs.x_recv, 1e-9), "{ours:?} {theirs:?}");
            assert!(near(ours.loss_event_rate, theirs.p, 1e-9), "{ours:?} {theirs:?}");
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

fn receive(arrivals: &[receiver::Data], equation: Equation, reorder: u32, discounting: bool) -> Receiver {
    receive_by(arrivals, ReceiverConfig { equation, reorder, discounting, count: LossCount::Event })
}

fn receive_by(arrivals: &[receiver::Data], config: ReceiverConfig) -> Receiver {
    let mut subject = Receiver::new(config);
    let ReceiverConfig { equation, reorder, discounting, count } = config;
    let equation = (equation.segment_bytes, equation.ack_every, equation.min_rto_s);
    let mut model = receiver::Model::new(equation, reorder as usize, discounting, count);
    let end = arrivals.last().map_or(0, |last| last.at) + 1_000_000_000;
    let mut next = arrivals.iter();
    let mut coming = next.next();
    loop {
        let timer = subject.next_deadline();
        assert_eq!(model.deadline(), (timer != Time::NEVER).then_some(timer.as_nanos()));
        let due = coming.map_or(end, |data| data.at);
        if timer.as_nanos() < due {
            same(subject.on_deadline(timer), model.on_timer(timer.as_nanos()));
            continue;
        }
        let Some(data) = coming else { break };
        // A call before the deadline has no effect.
        assert_eq!(
            subject.on_deadline(Time::from_nanos(data.at.min(timer.as_nanos().saturating_sub(1)))),
            None
        );
        let header = DataHeader {
            seq: data.number as u32,
            lane: data.lane as u8,
            lane_seq: data.in_lane as u32,
            sent: Time::from_nanos(data.sent),
            rtt: Span::from_nanos(data.rtt),
        };
        let report = subject.on_data(Time::from_nanos(data.at), &header, data.bytes as u32, data.marked);
        same(report, model.on_data(*data));
        coming = next.next();
    }
    subject
}

proptest! {
    /// Single losses and bursts, marks, reordering by few and many packets, silence, changing round trips, and
    /// sequence numbers that wrap.
    #[test]
    fn the_receiver_equals_its_model(
        steps in steps(),
        wraps in prop::bool::ANY,
        discounting in prop::bool::ANY,
        count in prop::sample::select(vec![LossCount::Event, LossCount::Short, LossCount::Packet]),
        reorder in 1u32..6,
        without_rtt in 0usize..4,
        least_timeout in 0usize..2,
    ) {
        let first = if wraps { (1u64 << 32) - 60 } else { 3 };
        let min_rto_s = [0.0, 1.0][least_timeout];
        let equation = Equation { min_rto_s, ..Equation::recommended(1000) };
        let config = ReceiverConfig { equation, reorder, discounting, count };
        receive_by(&arrivals(&steps, first, without_rtt), config);
    }

    /// Two lanes, one of which is slower.
    #[test]
    fn the_receiver_equals_its_model_with_two_lanes(
        steps in steps(),
        lanes in prop::collection::vec(prop::bool::weighted(0.3), 250),
        delay in 0u64..60_000_000,
        wraps in prop::bool::ANY,
    ) {
        let mut numbers = if wraps { [(1u64 << 32) - 20; 2] } else { [0, 77] };
        let (mut now, mut all) = (0, Vec::new());
        for (index, (gap, lost, marked, _, rtt)) in steps.iter().enumerate() {
            let lane = usize::from(lanes[index]);
            now += gap;
            let in_lane = numbers[lane];
            numbers[lane] += 1;
            if !lost {
                let (number, sent, at) = (index as u64, now, now + delay * lane as u64);
                all.push(receiver::Data { number, lane, in_lane, sent, rtt: *rtt, bytes: 900, marked: *marked, at });
            }
        }
        all.sort_by_key(|data| data.at);
        all.dedup_by_key(|data| data.at);
        receive(&all, Equation::recommended(1000), 3, true);
    }

    /// Packets of two lanes that overtake each other are not lost.
    #[test]
    fn lanes_may_overtake_each_other(lanes in prop::collection::vec(prop::bool::ANY, 300), delay in 0u64..50) {
        let mut numbers = [0; 2];
        let mut all = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            let lane = usize::from(*lane);
            let at = 1_000_001 * index as u64 + 1_000_000 * delay * lane as u64;
            let (number, in_lane, sent) = (index as u64, numbers[lane], index as u64);
            all.push(receiver::Data { number, lane, in_lane, sent, rtt: 10_000_000, bytes: 9, marked: false, at });
            numbers[lane] += 1;
        }
        all.sort_by_key(|data| data.at);
        prop_assert_eq!(receive(&all, Equation::recommended(1000), 3, true).loss_event_rate(), 0.0);
    }

    /// A packet overtaken by at most two packets is not lost.
    #[test]
    fn small_reordering_is_no_loss(swaps in prop::collection::vec(0usize..3, 10..300)) {
        let steps: Vec<Step> =
            swaps.iter().map(|swap| (1_000_000, false, false, 0, 20_000_000 + *swap as u64)).collect();
        let mut all = arrivals(&steps, 0, 0);
        let mut index = 0;
        // Moves a packet behind the next one or two.
        while index + 2 < all.len() {
            let by = swaps[index];
            for place in index..index + by {
                let (early, late) = (all[place].at, all[place + 1].at);
                all.swap(place, place + 1);
                (all[place].at, all[place + 1].at) = (early, late);
            }
            index += by + 1;
        }
        let receiver = receive(&all, Equation::recommended(1000), 3, true);
        prop_assert_eq!(receiver.loss_event_rate(), 0.0);
    }
}

/// A mark is a loss event, at once; marks and losses within a round trip are one event.
#[test]
fn marks_are_losses() {
    let step = |marked| (1_000_000, false, marked, 0, 10_000_000);
    let mut steps = vec![step(false); 400];
    for marked in [100, 105, 200, 205, 300, 305] {
        steps[marked] = step(true);
    }
    let receiver = receive(&arrivals(&steps, 0, 0), Equation::recommended(1000), 3, false);
    // The first interval is synthetic: 1000 bytes per millisecond correspond to p = 0.0146 at a round trip of 10 ms. The last two
    // intervals and the open one have 100 packets each.
    assert!((1.0 / receiver.loss_event_rate() - 100.0).abs() < 20.0, "{}", receiver.loss_event_rate());
}

// ---- The sender against its model ----

#[derive(Clone, Copy, Debug)]
enum Event {
    Sent { limited: bool },
    Report { sample_ms: f64, rate: f64, p: f64 },
    Silence,
}

fn events() -> impl Strategy<Value = Vec<(f64, Event)>> {
    let p = prop_oneof![2 => Just(0.0), 3 => 0.0001f64..0.2, 1 => Just(0.01)];
    let event = prop_oneof![
        4 => prop::bool::weighted(0.7).prop_map(|limited| Event::Sent { limited }),
        4 => (20.0f64..80.0, 100.0f64..1e6, p)
            .prop_map(|(sample_ms, rate, p)| Event::Report { sample_ms, rate, p }),
        1 => Just(Event::Silence),
    ];
    prop::collection::vec((0.001f64..0.05, event), 1..150)
}

proptest! {
    #[test]
    fn the_rate_equals_its_model(
        events in events(),
        damping in prop::bool::ANY,
        lossless in prop::bool::weighted(0.3),
        least_timeout in 0usize..2,
    ) {
        let min_rto_s = [0.0, 1.0][least_timeout];
        let equation = Equation { min_rto_s, ..Equation::recommended(1000) };
        let mut subject = RateControl::new(RateConfig { equation, damping, initial_window: 4000 });
        let mut model = sender::Model::new(1000.0, 1.0, min_rto_s, 4000.0, damping);
        let mut now = 1.0;
        let mut rates: Vec<(f64, f64)> = Vec::new();
        for (gap, event) in events {
            now += gap;
            while subject.next_deadline() <= time_s(now) {
                let due = subject.next_deadline();
                subject.on_deadline(due);
                model.on_no_feedback(due.as_secs_f64());
                compare(&subject, &model);
            }
            match event {
                Event::Sent { limited } => {
                    subject.sent(time_s(now), limited);
                    model.sent(now, limited);
                }
                Event::Report { sample_ms, rate, p } => {
                    let p = if lossless { 0.0 } else { p };
                    let (echo, delay) = (now - sample_ms / 1e3 - 0.003, 0.003);
                    let report = Report {
                        echo: time_s(echo),
                        delay: Span::from_secs_f64(delay),
                        receive_rate: rate,
                        loss_event_rate: p,
                    };
                    subject.on_report(time_s(now), &report);
                    model.on_feedback(now, echo, delay, rate, p);
                    rates.push((now, rate));
                    // At most twice the receive rate after the first two round trips, and at least a packet per 64 s.
                    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
                    let first = 4000.0 / 0.02;
                    if now > rates[0].0 + 0.2 {
                        prop_assert!(subject.allowed() <= (2.0 * most).max(first) * (1.0 + 1e-6));
                    }
                }
                Event::Silence => {
                    now += 0.3;
                }
            }
            prop_assert!(subject.rate() >= 1000.0 / 64.0 && subject.allowed() >= 1000.0 / 64.0);
            compare(&subject, &model);
        }
    }
}

fn compare(subject: &RateControl, model: &sender::Model) {
    assert!(near(subject.allowed(), model.x, 1e-5), "{} {}", subject.allowed(), model.x);
    assert!(near(subject.rate(), model.x_inst, 1e-5), "{} {}", subject.rate(), model.x_inst);
    assert!((subject.rtt().as_secs_f64() - model.r()).abs() < 1e-6);
    match model.timer {
        None => assert_eq!(subject.next_deadline(), Time::NEVER),
        Some(timer) => assert!(near(subject.next_deadline().as_secs_f64(), timer, 1e-5)),
    }
}

// ---- Both ends ----

/// A path with packets of 1000 bytes and a round trip of 100 ms.
fn path(config: TfrcConfig) -> Path {
    Path::new(&config, ms(100), 0)
}

/// Without a loss the rate doubles in every second round trip; `rate.rs` explains why.
#[test]
fn slow_start_doubles_the_rate_in_every_second_round_trip() {
    let mut path = path(TfrcConfig::standard(1000));
    path.run(time_s(1.55), |_| Fate::Comes, |_| {});
    let reports = path.seen.clone();
    assert!(reports.iter().all(|(_, report)| report.loss_event_rate == 0.0));
    // The report on the first packet arrives after 100 ms; the next round trip has 4000 bytes.
    assert_eq!(reports[0].0, Time::ZERO + ms(100));
    assert_eq!(reports[0].1.receive_rate, 0.0);
    let times: Vec<f64> =
        reports.windows(2).map(|pair| (pair[1].0.since(pair[0].0)).as_millis_f64()).collect();
    assert!(times[1..].iter().all(|time| (*time - 100.0).abs() < 26.0), "{times:?}");
    // From 40 kB/s the rate doubles in the first two round trips, which no receive rate limits, then in every second one: 12 more times.
    let allowed = path.sender.control().allowed();
    assert!(near(allowed, 40e3 * 2f64.powi(2 + 6), 0.03), "{allowed}");
    // Two consecutive reports have the same receive rate.
    for pair in reports[4..].chunks(2) {
        let n = (pair[0].0.since(reports[4].0).as_millis_f64() / 200.0).round() as i32;
        assert!(
            pair.iter().all(|(_, report)| near(report.receive_rate, 160e3 * 2f64.powi(n), 0.03)),
            "{pair:?}"
        );
    }
}

/// Without reports the sender sends a packet per second, then half of that, and so on.
#[test]
fn the_rate_halves_repeatedly_without_a_receiver() {
    let mut path = path(TfrcConfig::standard(1000));
    path.run(time_s(1000.0), |_| Fate::Lost, |_| {});
    assert!(near(path.sender.control().allowed(), 1000.0 / 64.0, 1e-9));
    // Two packets in the first two seconds, then two per period of 2, 4, 8... 128 s.
    assert!((14..=30).contains(&path.sent), "{}", path.sent);
}

/// When reports cease, the rate halves after four round trips, and again each four.
#[test]
fn the_rate_halves_when_reports_cease() {
    for loss in [0u64, 100] {
        let fate = |n: u64| if loss > 0 && n % loss == 50 { Fate::Lost } else { Fate::Comes };
        let config = TfrcConfig { max_rate: Rate::from_mbps(4.0), ..TfrcConfig::standard(1000) };
        let mut path = path(config);
        path.run(time_s(30.0), fate, |_| {});
        let before = path.sender.control().allowed();
        path.is_deaf = true;
        let last = path.seen.last().unwrap().0;
        path.run(last + ms(440), fate, |_| {});
        let after = path.sender.control().allowed();
        // The rate is the lower of the equation's and twice the receive rate.
        assert!(near(after, before / 2.0, 1e-6), "{loss}: {before} {after}");
        path.run(last + ms(840), fate, |_| {});
        assert!(near(path.sender.control().allowed(), before / 4.0, 1e-6));
        path.run(last + Span::from_secs(1000), fate, |_| {});
        assert!(near(path.sender.control().allowed(), 1000.0 / 64.0, 1e-6));
    }
}

/// With one loss in every n packets, more than a round trip apart, p is 1 / n, and the rate is that of the equation.
#[test]
fn regular_losses_give_the_rate_of_the_equation() {
    for (n, damping) in [(50u64, false), (100, false), (100, true), (1000, false)] {
        let standard = TfrcConfig::standard(1000);
        let config = TfrcConfig { rate: RateConfig { damping, ..standard.rate }, ..standard };
        let mut path = path(config);
        let fate = |number: u64| if number % n == n - 1 { Fate::Lost } else { Fate::Comes };
        path.run(time_s(200.0), fate, |_| {});
        let p = path.sender.control().loss_event_rate();
        assert!(near(p, 1.0 / n as f64, 0.04), "{n}: {p}");
        let before = path.sent;
        path.run(time_s(1000.0), fate, |_| {});
        let rate = (path.sent - before) as f64 * 1000.0 / 800.0;
        let expected = throughput(1000.0, 0.1, 1.0 / n as f64, 1.0, 0.0);
        assert!(near(rate, expected, 0.03), "{n}: {rate} {expected}");
    }
}

/// With random losses the mean rate is that of the equation for the observed loss events, within the few percent of an average over
/// eight random intervals.
#[test]
fn random_losses_give_the_rate_of_the_equation() {
    for (loss, seed) in [(0.003, 1), (0.01, 2), (0.03, 3), (0.1, 4)] {
        let mut random = Random::derive(seed, "tfrc", "losses");
        let mut path = path(TfrcConfig::standard(1000));
        let mut events = 0u64;
        let mut last_event = None;
        let mut lost_now = false;
        path.run(
            time_s(4000.0),
            |_| {
                lost_now = random.unit() < loss;
                if lost_now { Fate::Lost } else { Fate::Comes }
            },
            |_| {},
        );
        // Replays the losses to count loss events: losses a round trip or more after the start of the last event.
        let mut random = Random::derive(seed, "tfrc", "losses");
        let mut again = Path::new(&TfrcConfig::standard(1000), ms(100), 0);
        let mut times = Vec::new();
        let mut sent = 0;
        again.run(
            time_s(4000.0),
            |_| if random.unit() < loss { Fate::Lost } else { Fate::Comes },
            |path| {
                if path.sent > sent {
                    sent = path.sent;
                    times.push(path.now);
                }
            },
        );
        assert_eq!(again.sent, path.sent);
        let mut random = Random::derive(seed, "tfrc", "losses");
        for time in times {
            if random.unit() < loss && last_event.is_none_or(|last: Time| time.since(last) > ms(100)) {
                events += 1;
                last_event = Some(time);
            }
        }
        let p = events as f64 / path.sent as f64;
        let rate = path.sent as f64 * 1000.0 / 4000.0;
        let expected = throughput(1000.0, 0.1, p, 1.0, 0.0);
        println!(
            "loss {loss}: p {p:.5}, {rate:.0} B/s, equation {expected:.0}, ratio {:.3}",
            rate / expected
        );
        assert!(near(rate, expected, 0.10), "{loss}: {rate} {expected}");
    }
}

/// An application with less data than allowed keeps its rate, and the allowed rate is at most twice that.
#[test]
fn the_allowed_rate_is_at_most_twice_that_of_a_limited_application() {
    let config = TfrcConfig { max_rate: Rate::from_mbps(0.8), ..TfrcConfig::standard(1000) };
    let mut path = path(config);
    path.run(time_s(20.0), |_| Fate::Comes, |_| {});
    let before = path.sent;
    path.run(time_s(120.0), |_| Fate::Comes, |_| {});
    assert!((9_999..=10_001).contains(&(path.sent - before)), "{}", path.sent - before);
    let allowed = path.sender.control().allowed();
    assert!((100e3..=220e3).contains(&allowed), "{allowed}");
    // One loss in ten thousand packets does not reduce the rate: the equation allows more.
    let mut lost = false;
    path.run(
        time_s(121.0),
        |_| if core::mem::replace(&mut lost, true) { Fate::Comes } else { Fate::Lost },
        |_| {},
    );
    assert!(path.sender.control().loss_event_rate() > 0.0);
    let before = path.sent;
    path.run(time_s(221.0), |_| Fate::Comes, |_| {});
    assert!(path.sent - before > 9_000, "{}", path.sent - before);
}

#[test]
fn wrapped_sequence_numbers_have_no_effect() {
    let fate = |number: u64| if number % 97 == 96 { Fate::Lost } else { Fate::Comes };
    let run = |seq| {
        let mut path = Path::new(&TfrcConfig::standard(1000), ms(40), seq);
        path.run(time_s(60.0), fate, |_| {});
        (path.sent, path.seen)
    };
    assert_eq!(run(0), run(u32::MAX - 500));
}
