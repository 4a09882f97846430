//! The retransmission timer, and the undo of spurious reductions: F-RTO, timestamps, duplicate SACKs. Each test is a
//! small deterministic run.

use crate::common::{BOTH, Fate, Net, Rule, bottleneck, exact, found_by, lose, ms, seq, time_ms, wire};
use qdelay_core::{Rate, Span, Time};
use qdelay_traffic::control::{Recovery, Reno};
use qdelay_traffic::tcp::{LossDetection, Profile};

// ---- Timeouts ----

#[test]
fn the_timeout_has_a_floor_and_doubles() {
    for (profile, least, most) in [
        (Profile { tail_loss_probe: false, ..exact() }, 240, 300),
        (Profile { loss_detection: LossDetection::DuplicateAcks, ..exact() }, 240, 300),
        (Profile::ns3(), 1000, 1001),
    ] {
        let cut = time_ms(2000);
        let mut net = Net::reno(profile, ms(40), move |t| t.now >= cut);
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(2_000_000));
        let again = net.again(0);
        let head = again[0].seq;
        let times: Vec<Time> = again.iter().map(|s| s.at).collect();
        assert!(again.iter().all(|s| s.seq == head), "the oldest segment alone");
        let last_ack = net.pure(1).last().unwrap().at + ms(20);
        let first = times[0].since(last_ack).as_millis();
        assert!((least..=most).contains(&first), "{first}");
        let mut expected = times[0].since(last_ack) * 2;
        for pair in times.windows(2) {
            assert_eq!(pair[1].since(pair[0]), expected.min(Span::from_secs(120)));
            expected = expected * 2;
        }
        assert_eq!(net.ends[0].sender().counts().timeouts as usize, times.len());
        assert_eq!(net.ends[0].sender().window().cwnd, 1);
    }
}

/// After an acknowledgement of new data the timeout is that of fresh samples (RFC 6298 section 5.7, Karn).
#[test]
fn backing_off_ends_with_a_fresh_sample() {
    let (from, to) = (time_ms(2000), time_ms(9000));
    let mut net = Net::reno(exact(), ms(40), move |t| (from..to).contains(&t.now));
    net.connect();
    net.write(0, 1 << 40);
    net.run_until(time_ms(20_000));
    let estimator = net.ends[0].sender().rtt();
    assert!(estimator.timeout() < ms(300), "{:?}", estimator.timeout());
    assert!(estimator.smoothed() < ms(45), "{:?}", estimator.smoothed());
}

/// Data is delayed and then delivered in order without loss: RFC 5682 and RFC 4015 undo the reduction.
#[test]
fn a_spurious_timeout_is_undone() {
    for detection in BOTH {
        for held in [1000, 1500, 4000] {
            let (from, to) = (time_ms(1000), time_ms(1000 + held));
            let mut free = Time::ZERO;
            let forward: Rule = Box::new(move |t| {
                let paused = if (from..to).contains(&t.now) { to } else { t.now };
                free = free.max(paused) + Rate::from_mbps(10.0).time_for(u64::from(t.segment.ip_bytes()));
                Fate::after(free.since(t.now) + ms(20))
            });
            let mut net = Net::new(found_by(detection), Reno, forward, wire(ms(20)));
            net.connect();
            net.write(0, 1 << 40);
            net.run_until(from);
            let before = net.ends[0].sender().window();
            net.run_until(to + ms(300));
            let (after, counts) = (net.ends[0].sender().window(), net.ends[0].sender().counts());
            assert!(counts.timeouts >= 1 && counts.undone >= 1, "{detection:?} {held}: {counts:?}");
            assert!(
                counts.retransmits <= counts.timeouts + counts.probes + 1,
                "{detection:?} {held}: {counts:?}"
            );
            assert!(after.cwnd >= before.cwnd, "{detection:?} {held}: {before:?} {after:?}");
            assert_eq!(after.ssthresh, before.ssthresh, "{detection:?} {held}");
            assert_eq!(net.ends[0].sender().recovery_state(), Recovery::Open);
        }
    }
}

/// Half of the segments marked by the timeout had arrived, so that it is undone; the other half was lost, and is detected again by
/// the selective acknowledgements above, without a timeout for each.
#[test]
fn losses_unmarked_by_an_undo_are_detected_again() {
    for detection in BOTH {
        let (from, to) = (time_ms(1000), time_ms(1350));
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let forward: Rule =
            Box::new(move |t| if (from..to).contains(&t.now) { Fate::lost() } else { queue(t) });
        let back: Rule =
            Box::new(
                move |t| {
                    if (from + ms(40)..to).contains(&t.now) { Fate::lost() } else { Fate::after(ms(20)) }
                },
            );
        let mut net = Net::new(found_by(detection), Reno, forward, back);
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(6000));
        let counts = net.ends[0].sender().counts();
        let seen = (counts.timeouts, counts.undone, counts.recoveries);
        assert_eq!(seen, (1, 1, 1), "{detection:?}: {counts:?}");
    }
}

/// A timeout is not undone if all outstanding segments were lost.
#[test]
fn a_real_timeout_is_not_undone() {
    for detection in BOTH {
        let (from, to) = (time_ms(1000), time_ms(1600));
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let forward: Rule =
            Box::new(move |t| if (from..to).contains(&t.now) { Fate::lost() } else { queue(t) });
        let mut net = Net::new(found_by(detection), Reno, forward, wire(ms(20)));
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(3000));
        let counts = net.ends[0].sender().counts();
        assert!(counts.timeouts >= 1 && counts.undone == 0, "{detection:?}: {counts:?}");
        assert!(net.ends[0].sender().window().ssthresh < u32::MAX);
    }
}

// ---- Spurious fast retransmissions ----

/// Segment 150 is overtaken by its retransmission: the duplicate SACK for the original undoes the reduction (RFC 3708).
#[test]
fn a_duplicate_sack_undoes_the_reduction() {
    for detection in BOTH {
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let forward: Rule = Box::new(move |t| {
            let mut fate = queue(t);
            if t.seq == seq(150) && t.is_data() && t.attempt == 0 {
                fate.copies[0] = fate.copies[0].map(|delay| delay + ms(400));
            }
            fate
        });
        let mut net = Net::new(found_by(detection), Reno, forward, wire(ms(20)));
        net.connect();
        net.write(0, 1 << 40);
        let mut before = net.ends[0].sender().window();
        while net.ends[0].sender().recovery_state() != Recovery::Fast {
            before = net.ends[0].sender().window();
            net.step();
        }
        let end = net.now + ms(1200);
        net.run_until(end);
        let (after, counts) = (net.ends[0].sender().window(), net.ends[0].sender().counts());
        assert_eq!(
            (counts.retransmits, counts.undone, counts.timeouts),
            (1, 1, 0),
            "{detection:?}: {counts:?}"
        );
        assert!(
            after.cwnd >= before.cwnd && after.ssthresh >= before.ssthresh,
            "{detection:?}: {before:?} {after:?}"
        );
    }
}

/// The original arrives after the transmission and before the arrival of its retransmission: the acknowledgement echoes the original's
/// timestamp (RFC 4015, RFC 3522).
#[test]
fn a_late_original_undoes_the_reduction() {
    for detection in BOTH {
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let forward: Rule = Box::new(move |t| {
            let mut fate = queue(t);
            if t.seq == seq(150) && t.is_data() && t.attempt == 0 {
                fate.copies[0] = fate.copies[0].map(|delay| delay + ms(30));
            }
            fate
        });
        // Without a queue, so that the round trips of original and retransmission differ.
        let profile = Profile { receive_buffer: 90_000, receive_buffer_max: 90_000, ..found_by(detection) };
        let mut net = Net::new(profile, Reno, forward, wire(ms(20)));
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(1500));
        let counts = net.ends[0].sender().counts();
        assert_eq!(
            (counts.retransmits, counts.undone, counts.recoveries),
            (1, 1, 1),
            "{detection:?}: {counts:?}"
        );
        assert_eq!(net.ends[0].sender().window().ssthresh, u32::MAX);
    }
}

/// During the repair of a real loss the network duplicates a segment that was never retransmitted. The duplicate does not show that the
/// retransmission was spurious (RFC 3708 section 2; Linux `tcp_sacktag_one` checks whether the segment was retransmitted).
#[test]
fn a_duplicate_made_by_the_network_does_not_undo() {
    for detection in BOTH {
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let mut drop = lose(&[150], 1);
        let forward: Rule = Box::new(move |t| {
            if drop(t) {
                return Fate::lost();
            }
            let mut fate = queue(t);
            if t.seq == seq(152) && t.is_data() {
                // The copy arrives while the retransmission is in flight.
                fate.copies[1] = fate.copies[0].map(|delay| delay + ms(45));
            }
            fate
        });
        let mut net = Net::new(found_by(detection), Reno, forward, wire(ms(20)));
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(1500));
        let (counts, window) = (net.ends[0].sender().counts(), net.ends[0].sender().window());
        assert_eq!((counts.retransmits, counts.recoveries), (1, 1), "{detection:?}: {counts:?}");
        assert_eq!(counts.undone, 0, "{detection:?}: {counts:?}");
        assert!(window.ssthresh < u32::MAX, "{detection:?}");
    }
}
