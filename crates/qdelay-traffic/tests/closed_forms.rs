//! Connections against formulas: the square root law for Reno, W(t) for Cubic, bandwidth and round trip of a constant link for BBR.

use crate::common::{Fate, MSS, Net, Rule, Transit, bottleneck, exact, ms, time_ms, wire};
use qdelay_core::{Random, Rate, Span};
use qdelay_traffic::control::{AnyController, Cubic, CubicConfig, Recovery, Reno};
use qdelay_traffic::tcp::{LossDetection, Profile};

fn large(profile: Profile) -> Profile {
    Profile { receive_buffer: 1 << 26, receive_buffer_max: 1 << 26, send_buffer_max: u64::MAX, ..profile }
}

/// Mathis et al. 1997: MSS / RTT * sqrt(3 / 2p), with an acknowledgement for every segment and independent random losses.
#[test]
fn reno_follows_the_square_root_law() {
    for (detection, loss) in
        [(LossDetection::Rack, 0.002), (LossDetection::Rack, 0.0005), (LossDetection::DuplicateAcks, 0.002)]
    {
        let rtt = ms(100);
        let profile = large(Profile { ack_every: 1, loss_detection: detection, ..exact() });
        let mut random = Random::derive(7, "mathis", "loss");
        let mut queue = bottleneck(Rate::from_mbps(1000.0), 1 << 30, rtt / 2);
        let forward: Rule =
            Box::new(
                move |t: &Transit| {
                    if t.is_data() && random.unit() < loss { Fate::lost() } else { queue(t) }
                },
            );
        let mut net = Net::new(profile, Reno, forward, wire(rtt / 2));
        net.keep_log = false;
        net.connect();
        net.write(0, 1 << 50);
        net.run_until(time_ms(50_000));
        let before = net.delivered(0);
        net.run_until(time_ms(850_000));
        let segments = (net.delivered(0) - before) as f64 / MSS as f64 / (800.0 / 0.1);
        let predicted = libm::sqrt(1.5 / loss);
        let counts = net.ends[0].sender().counts();
        assert!(
            (segments / predicted - 1.0).abs() < 0.15,
            "{segments} not {predicted} a round trip: {counts:?}"
        );
        assert!(counts.timeouts <= counts.recoveries / 50, "{counts:?}");
        assert_eq!(counts.undone, 0, "{counts:?}");
    }
}

/// RFC 9438 section 4.2: after a loss at a window of `W_max`, W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(0.3 W_max / 0.4).
#[test]
fn cubic_follows_its_curve() {
    for lost in [1000u64, 6000] {
        let profile = large(exact());
        let config = CubicConfig { hystart: false, ..Default::default() };
        let forward: Rule = Box::new(move |t: &Transit| {
            let first = t.seq == 1 + lost * MSS && t.is_data() && t.attempt == 0;
            if first { Fate::lost() } else { Fate::after(ms(100)) }
        });
        let mut net = Net::new(profile, Cubic::new(config), forward, wire(ms(100)));
        net.keep_log = false;
        net.connect();
        net.write(0, 1 << 50);
        let mut largest = 0;
        while net.ends[0].sender().recovery_state() != Recovery::Fast {
            largest = net.ends[0].sender().window().cwnd;
            net.step();
        }
        while net.ends[0].sender().recovery_state() == Recovery::Fast {
            net.step();
        }
        let start = net.now;
        let w_max = f64::from(largest);
        let k = libm::cbrt(0.3 * w_max / 0.4);
        let mut second = 0;
        while second as f64 <= 1.5 * k {
            net.run_until(start + Span::from_secs(second));
            let window = f64::from(net.ends[0].sender().window().cwnd);
            let t = second as f64;
            let curve = 0.4 * (t - k) * (t - k) * (t - k) + w_max;
            // The window may lag by a round trip, at a slope of up to 0.4 * 3 * K^2 segments/s.
            let slack = 2.0 + 0.01 * w_max + 0.4 * 3.0 * (t - k) * (t - k) * 0.25;
            assert!((window - curve).abs() < slack, "{lost}: {window}, not {curve} after {t} s, K {k}");
            second += 1;
        }
    }
}

/// BBR on a constant link: bandwidth within 5%, the smallest round trip within a millisecond, and about one window of a
/// bandwidth-delay product in flight.
#[test]
fn bbr_estimates_bandwidth_and_round_trip_of_a_constant_link() {
    for (mbps, rtt) in [(10.0, 40u64), (50.0, 20), (2.0, 100), (100.0, 100)] {
        let queue = bottleneck(Rate::from_mbps(mbps), 1000, ms(rtt / 2));
        let mut net =
            Net::new(Profile::linux(), AnyController::named("bbr").unwrap(), queue, wire(ms(rtt / 2)));
        net.keep_log = false;
        net.connect();
        net.write(0, 1 << 50);
        net.run_until(time_ms(30_000));
        let before = net.delivered(0);
        net.run_until(time_ms(40_000));
        let goodput = (net.delivered(0) - before) as f64 * 8.0 / 10e6;
        let sender = net.ends[0].sender();
        let AnyController::Bbr(bbr) = sender.controller() else { unreachable!() };
        let of_the_link = mbps * 1448.0 / 1500.0;
        let bandwidth = bbr.bandwidth(1448).as_mbps();
        assert!((bandwidth / of_the_link - 1.0).abs() < 0.05, "{bandwidth} of {of_the_link} Mbit/s");
        let one = 12.0 / mbps / 1000.0;
        let least = bbr.min_rtt().unwrap().as_secs_f64() - one;
        assert!((least - rtt as f64 / 1000.0).abs() < 0.001 + one, "{least} for {rtt} ms");
        assert!(goodput > 0.93 * of_the_link, "{goodput} of {of_the_link} Mbit/s");
        assert_eq!(sender.counts().timeouts, 0);
        let product = of_the_link * 1e6 * (rtt as f64 / 1000.0 + one) / 8.0 / 1448.0;
        let cwnd = f64::from(sender.window().cwnd);
        assert!(cwnd < 2.5 * product + 10.0, "{cwnd} of {product}");
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_trip_in_every_profile() {
    let mut net = Net::reno(large(Profile { ack_every: 1, ..exact() }), ms(100), |_| false);
    net.connect();
    net.write(0, 1 << 50);
    for round in 0..8u32 {
        // The first burst of a round leaves at the start of the round.
        net.run_until(time_ms(100 + 100 * u64::from(round) + 50));
        assert_eq!(net.ends[0].sender().window().cwnd, 10 << round);
        assert_eq!(net.ends[0].sender().in_flight(), 10 << round);
    }
}
