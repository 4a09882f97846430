//! Channel utilization and RLC backlog under each pacer, for a bearer that always has data to send. The
//! documentation in `docs/algorithms` quotes these figures.

use crate::pacing::{MS, Outcome, US, at, build, saturate};
use qdelay_core::pacer::{Eligible, Pacer, Signal};
use std::collections::VecDeque;

/// Capacity of a TTI in bytes: 25 resource blocks at MCS 28.
const CAPACITY: u64 = 2289;
const TTIS: u64 = 20_000;

/// Runs full packets on a channel of `capacity` bytes a TTI of 1 ms, with reports `delay` microseconds late.
fn on(text: &str, capacity: u64, delay: u64) -> Outcome {
    saturate(text, MS, TTIS, delay, 1500, |_| capacity)
}

/// Capacity of TTIs with control channels: two in ten carry less.
fn control(tti: u64) -> u64 {
    if tti % 10 < 2 { 1569 } else { CAPACITY }
}

#[test]
fn pacers_use_the_channel_with_a_short_rlc_queue() {
    for (text, least_used, most_ttis) in [
        ("drql:max=15000b", 0.99, 2.5),
        ("dynrlc", 0.97, 5.0),
        ("5g-bdp", 0.999, 3.8),
        ("e5g-bdp", 0.999, 3.3),
    ] {
        for capacity in [549, 1200, 2000, 2289, 9000] {
            let outcome = on(text, capacity, 0);
            let shown = format!("{text} at {capacity} bytes a TTI: {outcome:?}");
            println!("{shown}");
            assert!(outcome.utilization >= least_used, "{shown}");
            // At 549 bytes a TTI a packet is sent in nearly three TTIs, behind another one in six.
            assert!(
                outcome.sojourn <= f64::max(most_ttis, (2.0 * 1500.0 / capacity as f64).ceil()),
                "{shown}"
            );
        }
    }
}

#[test]
fn pacers_follow_a_varying_channel() {
    for (text, steps, subframes) in [
        ("drql:max=15000b", 0.98, 0.98),
        ("dynrlc", 0.99, 0.99),
        ("5g-bdp", 0.99, 0.99),
        ("e5g-bdp", 0.99, 0.97),
    ] {
        let slow = saturate(text, MS, TTIS, 0, 1500, |tti| if (tti / 50) % 2 == 0 { CAPACITY } else { 700 });
        let fast = saturate(text, MS, TTIS, 0, 1500, control);
        println!("{text}: steps {slow:?}, control subframes {fast:?}");
        assert!(slow.utilization >= steps && fast.utilization >= subframes, "{text}: {slow:?} {fast:?}");
        assert!(slow.mean_before < 9_000.0 && fast.mean_before < 9_000.0, "{text}: {slow:?} {fast:?}");
    }
}

#[test]
fn counting_packets_fills_every_tti() {
    // Section 3.6: TTIs of 10 ms, 1 to 15 packets each; the backlog is at most a third more than a TTI sends.
    for packets in 1..=15 {
        let outcome = saturate("5g-bdp:fit=whole", 10 * MS, 5_000, 0, 1500, |_| packets * 1500);
        let limit = (packets as f64 * 1.33).floor() * 1500.0;
        assert!(outcome.utilization > 0.999, "{packets}: {outcome:?}");
        assert!(outcome.mean_before <= limit, "{packets}: {outcome:?}");
        let outcome = saturate("drql:max=30000b", 10 * MS, 5_000, 0, 1500, |_| packets * 1500);
        assert!(outcome.utilization > 0.999, "{packets}: {outcome:?}");
        assert!(outcome.mean_before <= (packets as f64 * 1.2 + 1.5) * 1500.0, "{packets}: {outcome:?}");
    }
}

#[test]
fn whole_packets_in_bytes_leave_part_of_each_tti_unused() {
    let outcomes = [1200, 2000, 2289].map(|capacity| on("5g-bdp:fit=whole", capacity, 0).utilization);
    assert!(outcomes[0] < 0.63 && outcomes[1] < 0.76 && outcomes[2] < 0.99, "{outcomes:?}");
}

#[test]
fn a_packet_in_every_tti_is_too_much_for_a_slow_channel() {
    assert!(on("5g-bdp", 1200, 0).mean_before < 2_500.0);
    assert!(on("5g-bdp:full=mtu", 1200, 0).mean_before > 1e6);
    assert!(on("5g-bdp:full=mtu", CAPACITY, 0).mean_before < 4_000.0);
}

#[test]
fn late_reports_cost_throughput() {
    let used = |text, capacity, delay| on(text, capacity, delay * US).utilization;
    // Reports that are late by less than a TTI reduce the throughput of a slow channel first.
    for (capacity, delay, range) in [
        (549, 0, 0.999..1.001),
        (549, 300, 0.98..0.999),
        (549, 700, 0.90..0.92),
        (1200, 700, 0.82..0.85),
        (2289, 300, 0.98..0.99),
        (2289, 3000, 0.65..0.75),
    ] {
        let used = used("e5g-bdp", capacity, delay);
        assert!(range.contains(&used), "{capacity} bytes a TTI, {delay} us late: {used}");
    }
    // A limit tolerates late reports better than a pace.
    assert!(used("drql:max=15000b", 2289, 1000) > 0.98);
    assert!(used("dynrlc", 2289, 1000) > 0.98);
    assert!(used("5g-bdp", 2289, 700) > 0.98 && used("5g-bdp", 2289, 1000) < 0.9);
}

#[test]
fn drql_first_fills_its_whole_limit() {
    let outcome = saturate("drql", MS, 10, 0, 1500, |_| CAPACITY);
    assert!(outcome.mean_before > 1_500_000.0, "{outcome:?}");
}

/// Runs a full UPF queue above USP, the SDAP queue, a pacer and the RLC buffer. Returns the utilization of
/// the channel, and the most bytes in the SDAP queue after the first tenth.
fn chain(lower: &str, ttis: u64) -> (f64, u64) {
    let (mut usp, mut pacer) = (build("usp:looks=10:max=30000b", MS), build(lower, MS));
    let (mut sdap, mut rlc) = (VecDeque::new(), crate::pacing::Rlc::default());
    let (mut sent, mut most, mut tick, mut ask) = (0, 0, 1, [0; 2]);
    let mut refused = false;
    while tick <= ttis {
        let now = (tick * MS).min(ask[0]).min(ask[1]);
        if now == tick * MS {
            if !rlc.packets.is_empty() {
                let served = rlc.serve(now, CAPACITY);
                sent += served.sent_bytes;
                pacer.on_signal(at(now), Signal::Served(served));
            }
            tick += 1;
        }
        loop {
            let mut moved = false;
            ask[0] = match usp.next_eligible(at(now), 1500) {
                Eligible::Now => {
                    usp.forwarded(at(now), 1500);
                    sdap.push_back(1500);
                    moved = true;
                    now
                }
                Eligible::At(time) => time.as_nanos(),
                Eligible::OnSignal => u64::MAX,
            };
            ask[1] = match sdap.front().map(|size| pacer.next_eligible(at(now), *size)) {
                Some(Eligible::Now) => {
                    sdap.pop_front();
                    pacer.forwarded(at(now), 1500);
                    rlc.push(now, 1500);
                    usp.on_signal(at(now), Signal::Dequeued { bytes: 1500 });
                    (moved, refused) = (true, false);
                    now
                }
                Some(answer) => {
                    if !refused {
                        usp.on_signal(at(now), Signal::Refused);
                        refused = true;
                    }
                    if let Eligible::At(time) = answer { time.as_nanos() } else { u64::MAX }
                }
                None => u64::MAX,
            };
            if !moved {
                break;
            }
        }
        if tick > ttis / 10 {
            most = most.max(sdap.iter().sum());
        }
    }
    (sent as f64 / (ttis * CAPACITY) as f64, most)
}

#[test]
fn usp_keeps_a_packet_or_two_in_the_sdap_queue() {
    for lower in ["drql:max=15000b", "dynrlc", "5g-bdp", "e5g-bdp"] {
        let (used, most) = chain(lower, 5_000);
        println!("usp over {lower}: {used} used, at most {most} bytes in the SDAP queue");
        assert!(used > 0.98, "{lower}: {used}");
        assert!((1500..=4500).contains(&most), "{lower}: {most}");
    }
}
