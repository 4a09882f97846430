//! BBR against an idealised link.

use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
use super::*;
use alloc::vec::Vec;

const RTT: Span = Span::from_millis(40);
/// Application rate of a link of 10 Mbit/s with 1500-byte packets that carry 1448 bytes, bit/s.
const APPLICATION_BPS: f64 = 10e6 * 1448.0 / 1500.0;

fn time_ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn link() -> Link {
    Link::new(Rate::from_mbps(10.0), RTT)
}

#[test]
fn estimates_converge_to_the_link() {
    let mut tcp = MinimalTcp::new(Bbr::new(BbrConfig::default()), link(), |_, _| false);
    tcp.run_until(time_ms(3_000));
    let before = tcp.connection.delivered;
    tcp.run_until(time_ms(9_000));
    let bbr = &tcp.controller;
    assert_eq!(bbr.mode(), Mode::ProbeBandwidth);
    let bandwidth = bbr.bandwidth(1448).as_bps() as f64;
    assert!((bandwidth / APPLICATION_BPS - 1.0).abs() < 0.03, "{bandwidth}");
    let rtt = bbr.min_rtt().map_or(0.0, Span::as_millis_f64);
    assert!((rtt / 41.2 - 1.0).abs() < 0.03, "{rtt}"); // with the segment's own 1.2 ms
    let used = (tcp.connection.delivered - before) as f64 * 1500.0 * 8.0 / 6.0 / 10e6;
    assert!(used > 0.95, "{used}");
    // The window is twice the bandwidth-delay product (34.3 segments) plus the batches.
    assert!((69..=82).contains(&tcp.window.cwnd), "{}", tcp.window.cwnd);
}

#[test]
fn startup_drains_and_then_gains_cycle_in_order() {
    let mut tcp = MinimalTcp::new(Bbr::new(BbrConfig::default()), link(), |_, _| false);
    let mut modes = Vec::new();
    let mut gains = Vec::new();
    for millis in 1..8_000 {
        tcp.run_until(time_ms(millis));
        let (mode, gain) = (tcp.controller.mode(), tcp.controller.pacing_gain());
        if modes.last() != Some(&mode) {
            modes.push(mode);
        }
        if mode == Mode::ProbeBandwidth && gains.last().is_none_or(|(g, _)| *g != gain) {
            gains.push((gain, millis));
        }
    }
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBandwidth]);
    assert!(gains[0].0 != 0.75);
    let start = gains.iter().position(|(gain, _)| *gain == 1.25).unwrap_or(0);
    let cycles = gains[start..].chunks_exact(3);
    assert!(cycles.len() > 15);
    for cycle in cycles.map(|c| [c[0], c[1], c[2]]) {
        assert_eq!(cycle.map(|(gain, _)| gain), [1.25, 0.75, 1.0]);
    }
    // A cycle is about eight smallest round trips, less what draining saves.
    let ups: Vec<u64> = gains.iter().filter(|(gain, _)| *gain == 1.25).map(|(_, millis)| *millis).collect();
    let mean = (ups[ups.len() - 1] - ups[0]) as f64 / (ups.len() - 1) as f64;
    assert!((280.0..=360.0).contains(&mean), "{mean}");
}

/// A queue inflates the round trips, so the first sample stays the smallest until ProbeRTT measures again, every 10 s.
#[test]
fn probe_rtt_occurs_every_ten_seconds() {
    let mut tcp = MinimalTcp::new(Bbr::new(BbrConfig::default()), link(), |_, _| false);
    let mut visits: Vec<(u64, u64)> = Vec::new();
    let mut inside = false;
    for millis in 1..45_000 {
        tcp.run_until(time_ms(millis));
        let probing = tcp.controller.mode() == Mode::ProbeRoundTrip;
        if probing && !inside {
            visits.push((millis, 0));
        }
        if probing {
            assert!(tcp.window.cwnd <= 4);
            let last = visits.len() - 1;
            visits[last].1 += u64::from(tcp.connection.in_flight <= 4);
        }
        inside = probing;
    }
    assert!((3..=4).contains(&visits.len()), "{visits:?}");
    for (_, small) in &visits {
        assert!((200..=320).contains(small), "{visits:?}");
    }
    for pair in visits.windows(2) {
        assert!((10_000..11_500).contains(&(pair[1].0 - pair[0].0)), "{visits:?}");
    }
    assert!(tcp.controller.mode() == Mode::ProbeBandwidth && tcp.window.cwnd > 60);
}

/// A token bucket of 2 Mbit/s in front of a 20 Mbit/s link, with 50 kB of credit.
#[test]
fn a_policer_is_detected_and_its_rate_used() {
    let (mut tokens, mut last) = (50_000.0, Time::ZERO);
    let police = move |now: Time, _: u64| {
        tokens = f64::min(50_000.0, tokens + now.since(last).as_secs_f64() * 250_000.0);
        last = now;
        let lost = tokens < 1500.0;
        tokens -= if lost { 0.0 } else { 1500.0 };
        lost
    };
    let link = Link::new(Rate::from_mbps(20.0), RTT);
    let mut tcp = MinimalTcp::new(Bbr::new(BbrConfig::default()), link, police);
    let policed = (1..20_000).find(|millis| {
        tcp.run_until(time_ms(*millis));
        tcp.controller.is_policed()
    });
    assert!(policed.is_some());
    let rate = tcp.controller.bandwidth(1448).as_mbps() * 1500.0 / 1448.0;
    assert!((rate / 2.0 - 1.0).abs() < 0.15, "{rate}");
    assert_eq!(tcp.controller.pacing_gain(), 1.0);
}

#[test]
fn first_round_of_recovery_conserves_packets_and_the_window_returns() {
    let mut bbr = Bbr::new(BbrConfig::default());
    let mut random = Random::derive(1, "n", "p");
    let (mut c, mut w) = (connection(time_ms(0)), window(50, u32::MAX));
    c.srtt = RTT;
    bbr.init(&c, &mut w, &mut random);
    (c.in_flight, c.delivered) = (45, 100);
    assert_eq!(bbr.ssthresh(&c, &w), u32::MAX);
    c.recovery = Recovery::Fast;
    bbr.control(&c, &mut w, &AckSample { losses: 3, ..sample(1) }, &mut random);
    assert_eq!(w.cwnd, 46); // in flight and just acknowledged
    c.in_flight = 40;
    bbr.control(&c, &mut w, &AckSample { losses: 6, ..sample(1) }, &mut random);
    assert_eq!(w.cwnd, 41);
    c.recovery = Recovery::Open;
    bbr.control(&c, &mut w, &sample(1), &mut random);
    assert!(w.cwnd >= 50);
    // Undo keeps the window and restarts the search for the full pipe.
    bbr.full_bw = 7;
    assert_eq!((bbr.undo(&c, &w, 9), bbr.full_bw), (w.cwnd, 0));
}

#[test]
fn departure_time_lowers_what_is_in_the_network() {
    let mut bbr = Bbr::new(BbrConfig::default());
    bbr.bandwidth.reset(0, (1 << BW_BITS) / 1_000 + 1); // one segment per millisecond
    bbr.pacing_gain = UNIT;
    let c = Connection { next_departure: time_ms(7), ..connection(time_ms(2)) };
    assert_eq!(bbr.in_network_at_departure(&c, 20), 15);
    assert_eq!(bbr.in_network_at_departure(&c, 3), 0);
    bbr.pacing_gain = HIGH_GAIN;
    bbr.pacing_rate = 1_448_000 * 4;
    assert_eq!(bbr.in_network_at_departure(&c, 20), 18); // and a batch of three
}

/// Fixed-point results for 826 segments per second (10 Mbit/s), calculated by hand.
#[test]
fn fixed_point_truncates_as_the_kernel_does() {
    let bw = ((826u64 << BW_BITS) / 1_000_000) as u32;
    assert_eq!(bw, 13_857);
    // 13857 * 1448 = 20064936; * 320 >> 8 = 25081170; * 990000 >> 24 = 1480004.
    assert_eq!(bytes_per_second(1448, bw, 320, 1), 1_480_004);
    // Without a margin 25081170 * 1000000 >> 24.
    assert_eq!(bytes_per_second(1448, bw, 320, 0), 1_494_954);
    let bbr = Bbr { min_rtt: 40_000, ..Bbr::new(BbrConfig::default()) };
    // 13857 * 40000 = 554280000; * 512 >> 8 = 1108560000; over 2^24 is 66.08, rounded up.
    assert_eq!(bbr.bdp(bw, CWND_GAIN), 67);
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
}

#[test]
fn low_rates_send_singly_and_batches_are_bounded() {
    let mut bbr = Bbr::new(BbrConfig::default());
    bbr.pacing_rate = 149_999;
    assert_eq!((bbr.min_burst(), bbr.batch(1448)), (1, 1));
    bbr.pacing_rate = 150_000;
    assert_eq!((bbr.min_burst(), bbr.batch(1448)), (2, 2));
    bbr.pacing_rate = 1 << 40;
    assert_eq!((bbr.batch(1448), bbr.batch(100)), (45, 127));
    assert_eq!(bbr.with_batches(10, UNIT, 1448), 146);
}

fn of_4_19() -> Bbr {
    Bbr::new(BbrConfig { kernel: BbrKernel::V4_19, ..BbrConfig::default() })
}

/// Two additional segments in ProbeBW: in Linux 4.19 with every gain above 1, in 6.12 in the probing phase only.
#[test]
fn targets_are_those_of_each_kernel() {
    let targets = |mut bbr: Bbr, mode, phase| {
        (bbr.mode, bbr.phase, bbr.min_rtt) = (mode, phase, 10_000);
        // 826 segments a second for 10 ms are 8.26; a batch is one segment.
        let bw = ((826u64 << BW_BITS) / 1_000_000) as u32;
        [UNIT * 3 / 4, UNIT, UNIT * 5 / 4, CWND_GAIN].map(|gain| bbr.target_in_flight(bw, gain, 1448))
    };
    for phase in 0..8 {
        assert_eq!(targets(of_4_19(), Mode::ProbeBandwidth, phase), [10, 12, 16, 22]);
        let more = if phase == 0 { 2 } else { 0 };
        let all = [10, 12, 14, 20].map(|target| target + more);
        assert_eq!(targets(Bbr::default(), Mode::ProbeBandwidth, phase), all);
    }
    assert_eq!(targets(of_4_19(), Mode::Drain, 0), [10, 12, 14, 20]);
}

/// Linux 4.19 has twice the bandwidth-delay product, the batches and two segments in the window; 6.12 adds the excess of acknowledgements that
/// arrive aggregated over 10 ms.
#[test]
fn linux_4_19_ignores_what_is_acknowledged_at_once_and_pacing() {
    let mut bbr = of_4_19();
    let mut c = connection(time_ms(0));
    c.next_departure = time_ms(5);
    bbr.bandwidth.update(BW_ROUNDS, 0, ((1000u64 << BW_BITS) / 1_000_000) as u32);
    (bbr.pacing_gain, bbr.pacing_rate) = (UNIT * 5 / 4, 1_448_000 * 4);
    assert_eq!(bbr.in_network_at_departure(&c, 20), 20);
    (bbr.mode, bbr.full_bw_reached, bbr.min_rtt, bbr.cwnd_gain) =
        (Mode::ProbeBandwidth, true, 10_000, CWND_GAIN);
    bbr.pacing_rate = 100_000;
    (1..20).for_each(|n| bbr.aggregation.update(n * 30_000, 30, bbr.bw(), 1_000, false));
    // 2 x 10, 3 batches of one, rounded up to even, and 2.
    assert_eq!(bbr.approach_target(&c, 1_000, 1), 26);
    bbr.kernel = BbrKernel::V6_12;
    bbr.phase = 2;
    assert_eq!(bbr.approach_target(&c, 1_000, 1), 54);
}

/// After an application limit and an idle time, pacing returns to the bandwidth, and ProbeRTT is not entered.
#[test]
fn a_restart_after_idle_paces_at_the_bandwidth() {
    let mut tcp = MinimalTcp::new(Bbr::new(BbrConfig::default()), link(), |_, _| false);
    tcp.run_until(time_ms(5_000));
    let (c, w) = (&mut tcp.connection, &mut tcp.window);
    c.app_limited = true;
    c.now = time_ms(20_000);
    tcp.controller.event(c, w, Event::TransmitStart);
    let bandwidth = tcp.controller.bandwidth(1448).as_bps() as f64;
    let paced = tcp.controller.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64);
    assert!((paced / bandwidth - 0.99).abs() < 0.001);
    let mut random = Random::derive(1, "n", "p");
    let ack = AckSample { rtt: Some(RTT * 2), is_ack_delayed: true, ..sample(1) };
    tcp.controller.control(c, w, &ack, &mut random);
    assert_eq!(tcp.controller.mode(), Mode::ProbeBandwidth);
    // The next acknowledgement is not a restart.
    tcp.controller.control(c, w, &ack, &mut random);
    assert_eq!(tcp.controller.mode(), Mode::ProbeRoundTrip);
}

/// Window and pacing rate (bit/s) in ProbeBW every two seconds equal those of Linux 6.12.117's own functions for
/// the same acknowledgements: 1 loss in 1777, a buffer of 100 segments, and a link of 10, then 4, then 20 Mbit/s.
#[test]
fn same_as_linux() {
    let expected: [(u32, u64); 12] = [
        (76, 9_556_784),
        (76, 9_556_784),
        (76, 9_556_784),
        (76, 9_556_784),
        (72, 9_132_984),
        (40, 4_778_048),
        (38, 3_822_440),
        (144, 19_113_576),
        (69, 19_113_576),
        (144, 14_335_184),
        (144, 19_113_576),
        (144, 19_113_576),
    ];
    let limited = Link { buffer: 100, ..link() };
    let mut tcp =
        MinimalTcp::new(Bbr::new(BbrConfig::default()), limited, |_, sequence| sequence % 1777 == 1776);
    for (i, expected) in expected.into_iter().enumerate() {
        tcp.run_until(time_ms(2_000 * (i as u64 + 1)));
        let rate = tcp.controller.pacing_rate().map_or(0, Rate::as_bps);
        assert_eq!(tcp.controller.mode(), Mode::ProbeBandwidth);
        assert_eq!((tcp.window.cwnd, rate), expected, "{i}");
        match i {
            3 => tcp.link.rate = Rate::from_mbps(4.0),
            6 => tcp.link.rate = Rate::from_mbps(20.0),
            _ => {}
        }
    }
}
