//! A pair of TCP endpoints over a link that loses, copies, delays, reorders and marks segments at random. Every byte arrives once and in
//! order, both sides finish, and calls at times other than the deadlines have no effect.

use crate::common::{Fate, Net, Rule, Transit, exact, ms, profiles, time_ms, wire};
use proptest::prelude::*;
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_traffic::control::{AnyController, Reno};
use qdelay_traffic::tcp::Profile;

/// One direction of a link.
#[derive(Clone, Debug)]
struct Weather {
    delay: Span,
    jitter: Span,
    loss: f64,
    /// Probability that a burst of losses begins, and its mean length in milliseconds.
    burst: (f64, f64),
    duplicate: f64,
    mark: f64,
    rate: Option<Rate>,
    limit: u64,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    profile: Profile,
    controller: AnyController,
    forward: Weather,
    back: Weather,
    /// Outage: start and end, ms, and whether both directions are affected.
    outage: Option<(u64, u64, bool)>,
    /// Writes of the application: time, ms; side; bytes.
    writes: Vec<(u64, usize, u64)>,
    close: [bool; 2],
    start: Time,
}

fn rule(weather: Weather, outage: Option<(Time, Time)>, mut random: Random) -> Rule {
    let mut free = Time::ZERO;
    let mut burst_end = Time::ZERO;
    Box::new(move |transit: &Transit| {
        if outage.is_some_and(|(from, to)| from <= transit.now && transit.now < to) {
            return Fate::lost();
        }
        if transit.now < burst_end {
            return Fate::lost();
        }
        if random.unit() < weather.burst.0 {
            burst_end = transit.now + Span::from_secs_f64(random.exponential() * weather.burst.1 / 1000.0);
            return Fate::lost();
        }
        if random.unit() < weather.loss {
            return Fate::lost();
        }
        let mut wait = Span::ZERO;
        if let Some(rate) = weather.rate {
            if free.since(transit.now) > rate.time_for(1500) * weather.limit {
                return Fate::lost();
            }
            free = free.max(transit.now) + rate.time_for(u64::from(transit.segment.ip_bytes()));
            wait = free.since(transit.now);
        }
        let mut delay =
            || wait + weather.delay + Span::from_nanos(random.below(weather.jitter.as_nanos() + 1));
        let mut fate = Fate::after(delay());
        let copy = delay();
        if random.unit() < weather.duplicate {
            fate.copies[1] = Some(copy);
        }
        fate.mark = random.unit() < weather.mark;
        fate
    })
}

fn build(case: &Case) -> Net {
    let random = |purpose| Random::derive(case.seed, "link", purpose);
    let outage = case.outage.map(|(from, length, _)| (case.start + ms(from), case.start + ms(from + length)));
    let back_outage = outage.filter(|_| case.outage.is_some_and(|o| o.2));
    let mut net = Net::new(
        case.profile,
        case.controller.clone(),
        rule(case.forward.clone(), outage, random("forward")),
        rule(case.back.clone(), back_outage, random("back")),
    );
    net.now = case.start;
    net.edge_may_be_passed = case.profile.receive_buffer < 4 * u64::from(case.profile.mss);
    net
}

fn play(case: &Case, spurious: bool) -> Net {
    let mut net = build(case);
    if spurious {
        net.spurious = Some(Random::derive(case.seed, "poll", "times"));
    }
    net.connect();
    for &(time, side, bytes) in &case.writes {
        net.run_until(case.start + ms(time));
        net.write(side, bytes);
    }
    for side in 0..2 {
        if case.close[side] {
            net.close(side);
        }
    }
    // If 28% of round trips fail, one segment in 300,000 has ten consecutive timeouts; the longest timeout is two minutes.
    let outage = case.outage.map_or(Span::ZERO, |(from, length, _)| ms(from + length));
    net.finish(Span::from_secs(2400) + outage * 10);
    net
}

fn weather() -> impl Strategy<Value = Weather> {
    let loss = prop_oneof![3 => Just(0.0), 3 => 0.0..0.05, 1 => 0.05..0.15];
    let burst = prop_oneof![3 => Just((0.0, 1.0)), 1 => (0.0..0.01, 1.0..300.0)];
    let jitter = prop_oneof![2 => Just(0u64), 1 => 1..2_000u64, 1 => 2_000..80_000u64];
    let duplicate = prop_oneof![3 => Just(0.0), 1 => 0.0..0.2];
    let mark = prop_oneof![1 => Just(0.0), 1 => 0.0..0.2];
    let rate = prop_oneof![1 => Just(None), 2 => (100_000u64..200_000_000).prop_map(Some)];
    (10..150_000u64, jitter, loss, burst, duplicate, mark, rate, 2..100u64).prop_map(
        |(delay, jitter, loss, burst, duplicate, mark, rate, limit)| Weather {
            delay: Span::from_micros(delay),
            jitter: Span::from_micros(jitter),
            loss,
            burst,
            duplicate,
            mark,
            rate: rate.map(Rate::from_bps),
            limit,
        },
    )
}

fn profile() -> impl Strategy<Value = Profile> {
    let mss = prop_oneof![4 => Just(1448u32), 1 => 64..1448u32, 1 => Just(8948u32)];
    let buffer = prop_oneof![3 => Just(None), 1 => (4096..100_000u64).prop_map(Some)];
    let sack = prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)];
    (0..4usize, mss, buffer, any::<bool>(), 1..20u32, 1..4u32, sack).prop_map(
        |(base, mss, buffer, ecn, iw, every, partial_acks)| {
            let mut profile = Profile { mss, ecn, initial_window: iw, ack_every: every, ..profiles()[base] };
            if let Some(partial_acks) = partial_acks {
                profile = Profile { partial_acks, ..profile.without_sack() };
            }
            if let Some(buffer) = buffer {
                profile.receive_buffer = buffer;
                profile.receive_buffer_max = buffer;
            }
            profile
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let outage = prop_oneof![
        4 => Just(None),
        2 => (0..3_000u64, 1..2_000u64, any::<bool>()).prop_map(Some),
        1 => (0..3_000u64, 10_000..200_000u64, any::<bool>()).prop_map(Some)
    ];
    let size = prop_oneof![1 => Just(0u64), 2 => 1..3_000u64, 4 => 3_000..400_000u64];
    let both = any::<bool>();
    let gap = prop_oneof![2 => Just(0u64), 1 => 0..100u64, 1 => 0..4_000u64];
    let writes = prop::collection::vec((gap, any::<bool>(), size), 1..4);
    // Close to the wrap of the timestamp clock, 2^32 microseconds, or at zero.
    let start = prop_oneof![3 => Just(0u64), 1 => 4_290_000..4_295_000u64];
    let controller = prop::sample::select(AnyController::each().to_vec());
    (any::<u64>(), profile(), controller, weather(), weather(), outage, writes, both, start).prop_map(
        |(seed, profile, controller, forward, back, outage, writes, both, start)| {
            let mut now = 0;
            let mut list = Vec::new();
            for (gap, side, bytes) in writes {
                now += gap;
                list.push((now, usize::from(both && side), bytes));
            }
            Case {
                seed,
                profile,
                controller,
                forward,
                back,
                outage,
                writes: list,
                close: [true, both],
                start: time_ms(start),
            }
        },
    )
}

/// Configuration with `cases` cases, times the environment variable `TCP_CASES`.
fn config(cases: u32) -> ProptestConfig {
    let times = std::env::var("TCP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    ProptestConfig {
        cases: cases * times,
        failure_persistence: None,
        max_shrink_iters: 1000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(400))]
    #[test]
    fn every_byte_arrives_once(case in case()) {
        play(&case, false);
    }
}

proptest! {
    #![proptest_config(config(120))]
    #[test]
    fn calls_at_other_times_have_no_effect(case in case()) {
        let (plain, polled) = (play(&case, false), play(&case, true));
        prop_assert_eq!(&plain.log, &polled.log);
    }
}

/// Cases from the same generator with a fixed seed, equal on every machine.
#[test]
fn every_byte_arrives_once_in_fixed_cases() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let case = case().new_tree(&mut runner).unwrap().current();
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&case, false))) {
            eprintln!("the case: {case:?}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Two cases in which an outage of half a minute makes BBR's bandwidth less than its unit of 2^-24 segments per microsecond. A
/// rate that rounds to zero does not stop the sender (Linux `tcp_update_skb_after_send` paces at rates above zero only).
#[test]
fn a_pacing_rate_of_zero_does_not_stop_the_sender() {
    let weather = |delay, loss| Weather {
        delay: Span::from_micros(delay),
        jitter: Span::ZERO,
        loss,
        burst: (0.0, 1.0),
        duplicate: 0.0,
        mark: 0.0,
        rate: None,
        limit: 2,
    };
    let case = |seed, window, forward, back, outage, write, start| Case {
        seed,
        profile: Profile { initial_window: window, ack_every: 1, ..Profile::linux() },
        controller: AnyController::named("bbr").unwrap(),
        forward,
        back,
        outage: Some(outage),
        writes: vec![write],
        close: [true, true],
        start: time_ms(start),
    };
    let cases = [
        case(
            16_765_476_379_941_139_965,
            1,
            weather(10, 0.0),
            weather(10, 0.04942629603231077),
            (1001, 34_424, false),
            (1001, 1, 5793),
            0,
        ),
        case(
            10_891_846_775_608_355_976,
            3,
            weather(50_933, 0.04965242821818116),
            weather(133_134, 0.0),
            (1185, 31_132, true),
            (0, 0, 5793),
            4_290_628,
        ),
    ];
    for case in cases {
        play(&case, false);
    }
}

fn lossy(probability: f64, delay: Span, seed: u64, purpose: &str) -> Rule {
    let mut random = Random::derive(seed, "lossy", purpose);
    Box::new(move |_| if random.unit() < probability { Fate::lost() } else { Fate::after(delay) })
}

#[test]
fn transfers_complete_under_heavy_loss_in_both_directions() {
    for profile in profiles() {
        for controller in AnyController::each() {
            for seed in 0..4 {
                let (data, acks) = (lossy(0.2, ms(20), seed, "data"), lossy(0.2, ms(20), seed, "acks"));
                let mut net = Net::new(profile, controller.clone(), data, acks);
                net.download(100 * u64::from(profile.mss));
                net.finish(Span::from_secs(3600));
            }
        }
    }
}

#[test]
fn transfers_complete_with_half_of_the_acknowledgements_lost() {
    for profile in profiles() {
        let mut net = Net::new(profile, Reno, wire(ms(10)), lossy(0.5, ms(10), 3, "acks"));
        net.download(500_000);
        net.finish(Span::from_secs(1800));
    }
}

/// All segments are lost for ten seconds to five minutes. The transfer resumes at the latest
/// when the backed-off timer fires: within twice the outage and a round trip.
#[test]
fn transfers_resume_after_long_outages() {
    for profile in profiles() {
        for controller in AnyController::each() {
            for (seconds, both) in [(10, false), (60, true), (300, false)] {
                let (from, to) = (time_ms(300), time_ms(300 + seconds * 1000));
                let cut = move |t: &Transit| (from..to).contains(&t.now);
                let forward =
                    Box::new(move |t: &Transit| if cut(t) { Fate::lost() } else { Fate::after(ms(30)) });
                let back = Box::new(
                    move |t: &Transit| if both && cut(t) { Fate::lost() } else { Fate::after(ms(30)) },
                );
                let mut net = Net::new(profile, controller.clone(), forward, back);
                net.download(3_000_000);
                net.finish(Span::from_secs(seconds + 120 + 60));
                let counts = net.ends[0].sender().counts();
                assert!(counts.timeouts >= 2 && counts.timeouts < 16, "{counts:?}");
                let last = net.data(0).rfind(|s| s.at < to && s.attempt > 0).unwrap().at;
                let next = net.data(0).find(|s| s.at >= to).unwrap().at;
                let longest = (last.since(from) + ms(1000)) * 2 + ms(1000);
                assert!(next.since(last) <= longest.min(Span::from_secs(121)), "{last:?} {next:?}");
            }
        }
    }
}

#[test]
fn tiny_receive_buffers_are_respected() {
    for profile in profiles() {
        for (mss, buffer) in
            [(1448, 4096), (1448, 6000), (1448, 16_384), (8948, 4096), (8948, 65_536), (64, 4096)]
        {
            let profile = Profile { mss, receive_buffer: buffer, receive_buffer_max: buffer, ..profile };
            let forward = lossy(0.05, ms(5), buffer, "data");
            let mut net = Net::new(profile, Reno, forward, wire(ms(5)));
            // Linux offers 162/256 of a buffer.
            let offered = buffer * 162 / 256;
            net.edge_may_be_passed = offered < u64::from(mss);
            net.download(200_000);
            net.finish(Span::from_secs(400));
            assert!(net.peak_bytes <= offered.max(u64::from(mss)), "{} of {buffer}", net.peak_bytes);
        }
    }
}

#[test]
fn a_fin_without_data_is_delivered() {
    for profile in profiles() {
        let mut net = Net::reno(profile, ms(40), |_| false);
        net.download(0);
        net.finish(Span::from_secs(1));
        assert_eq!(net.data(0).count(), 1, "a FIN and nothing else");
        // The FIN is lost three times: the initial timeout doubles.
        let mut net = Net::reno(profile, ms(40), |t| t.is_data() && t.attempt < 3);
        net.download(0);
        net.finish(Span::from_secs(30));
        assert_eq!(net.again(0).len(), 3);
    }
}

#[test]
fn data_in_both_directions_is_delivered() {
    for profile in profiles() {
        for controller in AnyController::each() {
            let mut net = Net::new(
                profile,
                controller,
                lossy(0.02, ms(15), 1, "there"),
                lossy(0.02, ms(15), 1, "back"),
            );
            net.connect();
            net.write(0, 1_000_000);
            net.write(1, 1_500_000);
            net.close(0);
            net.close(1);
            net.finish(Span::from_secs(200));
        }
    }
}

#[test]
fn marks_reduce_the_window_and_lose_nothing() {
    for base in profiles() {
        let profile = Profile { ecn: true, ..base };
        let mut random = Random::derive(1, "marks", "");
        let forward = Box::new(move |_: &Transit| Fate { mark: random.unit() < 0.02, ..Fate::after(ms(20)) });
        let mut net = Net::new(profile, Reno, forward, wire(ms(20)));
        net.download(3_000_000);
        net.finish(Span::from_secs(60));
        let counts = net.ends[0].sender().counts();
        assert_eq!(counts.retransmits, 0, "{counts:?}");
        assert!(counts.echo_reductions > 5, "{counts:?}");
        let marked = net.data(0).filter(|s| s.segment.has(qdelay_traffic::segment::flag::CWR)).count() as u64;
        assert!(
            marked.abs_diff(counts.echo_reductions) <= 1,
            "one CWR for each reduction: {marked} {counts:?}"
        );
    }
}

/// More than 2^32 bytes, so that sequence numbers wrap twice.
#[test]
fn transfers_complete_when_sequence_numbers_wrap() {
    let profile = Profile {
        mss: 8948,
        receive_buffer: 16 << 20,
        receive_buffer_max: 16 << 20,
        tick: Span::ZERO,
        ..Profile::linux()
    };
    let mut random = Random::derive(1, "wrap", "");
    let mut free = Time::ZERO;
    let rate = Rate::from_mbps(4_000.0);
    let forward: Rule = Box::new(move |t: &Transit| {
        let lost = free.since(t.now) > ms(4) || random.unit() < 2e-5;
        if lost {
            return Fate::lost();
        }
        free = free.max(t.now) + rate.time_for(u64::from(t.segment.ip_bytes()));
        Fate::after(free.since(t.now) + ms(1))
    });
    let mut net = Net::new(profile, AnyController::named("cubic").unwrap(), forward, wire(ms(1)));
    net.keep_log = false;
    net.download((1 << 33) + (1 << 30));
    net.finish(Span::from_secs(60));
    assert!(net.ends[0].sender().counts().retransmits > 20);
}

#[test]
fn equal_runs_are_equal() {
    let run = |seed| {
        let mut net = Net::new(
            exact(),
            AnyController::named("bbr").unwrap(),
            lossy(0.02, ms(15), seed, "there"),
            lossy(0.02, ms(15), seed, "back"),
        );
        net.download(1_000_000);
        net.finish(Span::from_secs(200));
        net.log
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
