//! Detection and repair of losses: fast retransmission, proportional rate reduction, tail loss probes, as the RFCs require. Each test is a
//! small deterministic run.

use crate::common::{BOTH, Fate, MSS, Net, Rule, bottleneck, exact, found_by, lose, ms, seq, time_ms, wire};
use qdelay_core::{Rate, Span, Time};
use qdelay_traffic::control::{AnyController, COMPONENTS, Controller, Ns3Cubic, Ns3Reno, Recovery, Reno};
use qdelay_traffic::segment::{Segment, flag};
use qdelay_traffic::tcp::Profile;
use std::collections::BTreeSet;

/// Arrival time of the acknowledgement that reports the third segment above the hole `hole`, 20 ms after it left.
fn third_duplicate(net: &Net, hole: u64) -> Time {
    let mut above = net.pure(1).filter(|s| {
        let top = s.segment.sack_blocks().iter().map(|b| u64::from(b.1)).max().unwrap_or(0);
        u64::from(s.segment.ack) == hole && top >= hole + 4 * MSS
    });
    above.next().expect("no third duplicate").at + ms(20)
}

// ---- Fast retransmission ----

#[test]
fn a_single_loss_is_repaired_by_one_fast_retransmission() {
    for detection in BOTH {
        // Even and odd numbers: the acknowledgement of the segment before the hole may be delayed when the hole appears.
        for lost in [100, 101, 150, 151] {
            let mut net = Net::line(found_by(detection), Reno, lose(&[lost], 1));
            net.download(400 * MSS);
            net.finish(Span::from_secs(5));
            let counts = net.ends[0].sender().counts();
            let again = net.again(0);
            assert_eq!(again.len(), 1, "{detection:?} {lost}: {counts:?}");
            assert_eq!(again[0].seq, seq(lost));
            assert_eq!((counts.recoveries, counts.timeouts, counts.probes, counts.undone), (1, 0, 0, 0));
            assert_eq!(counts.marked_lost, 1);
        }
    }
}

/// A loss is repaired at the third duplicate (RFC 6675; RFC 8985 section 6.2 while no reordering was seen). A delayed acknowledgement that
/// both advances and reports the first segment above a hole shows no reordering.
#[test]
fn a_loss_is_repaired_at_the_third_duplicate() {
    for detection in BOTH {
        for lost in [[100, 220], [101, 221]] {
            let mut net = Net::line(found_by(detection), Reno, lose(&lost, 1));
            net.download(600 * MSS);
            net.finish(Span::from_secs(5));
            let again = net.again(0);
            assert_eq!(again.len(), 2);
            for (sent, number) in again.iter().zip(lost) {
                assert_eq!(sent.at, third_duplicate(&net, seq(number)), "{detection:?} {number}");
            }
        }
    }
}

/// After lost acknowledgements one that reports two new blocks, the more recent first, shows no reordering either.
#[test]
fn lost_acknowledgements_are_no_reordering() {
    let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
    let mut drop = lose(&[100, 102, 420], 1);
    let forward: Rule = Box::new(move |t| if drop(t) { Fate::lost() } else { queue(t) });
    // The acknowledgements of segments 101 and 103 are lost, so that that of 104 is the first to report both holes.
    let back: Rule = Box::new(move |t| {
        let top = t.segment.sack_blocks().iter().map(|b| u64::from(b.1)).max().unwrap_or(0);
        if top == seq(102) || top == seq(104) { Fate::lost() } else { Fate::after(ms(20)) }
    });
    let mut net = Net::new(exact(), Reno, forward, back);
    net.download(600 * MSS);
    net.finish(Span::from_secs(5));
    let last = *net.again(0).last().unwrap();
    assert_eq!(last.seq, seq(420));
    assert_eq!(last.at, third_duplicate(&net, seq(420)));
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_costs_nothing() {
    let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
    let forward: Rule = Box::new(move |t| {
        let mut fate = queue(t);
        // Delayed by 4 ms, the time of a few segments, so that later segments overtake it.
        let late = if t.index > 100 && t.index % 40 == 0 { ms(4) } else { Span::ZERO };
        let first = if t.index == 50 { ms(2) } else { Span::ZERO };
        fate.copies[0] = fate.copies[0].map(|delay| delay + late + first);
        fate
    });
    let mut net = Net::new(exact(), Reno, forward, wire(ms(20)));
    net.download(800 * MSS);
    net.finish(Span::from_secs(5));
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.retransmits, counts.marked_lost, counts.recoveries), (0, 0, 0), "{counts:?}");
}

/// Each round trip with duplicate SACKs widens the reordering window by a quarter of the smallest round
/// trip, up to the smoothed one (RFC 8985 section 6.2 step 4).
#[test]
fn persistent_reordering_widens_the_window() {
    let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
    let forward: Rule = Box::new(move |t| {
        let mut fate = queue(t);
        let late = if t.index % 40 == 39 && t.attempt == 0 { ms(25) } else { Span::ZERO };
        fate.copies[0] = fate.copies[0].map(|delay| delay + late);
        fate
    });
    let mut net = Net::new(exact(), Reno, forward, wire(ms(20)));
    net.download(4000 * MSS);
    net.finish(Span::from_secs(20));
    let counts = net.ends[0].sender().counts();
    let late = 4000 / 40;
    assert!(
        counts.retransmits < late / 3,
        "{} of {late} late segments were sent again: {counts:?}",
        counts.retransmits
    );
}

#[test]
fn a_lost_retransmission_is_detected_by_time() {
    for times in [2, 3, 4] {
        let profile = Profile { receive_buffer: 4_000_000, receive_buffer_max: 4_000_000, ..exact() };
        let mut net = Net::line(profile, Reno, lose(&[200], times));
        net.download(1000 * MSS);
        net.finish(Span::from_secs(10));
        let counts = net.ends[0].sender().counts();
        assert_eq!(counts.timeouts, 0, "{counts:?}");
        assert_eq!(counts.retransmits, u64::from(times), "{counts:?}");
    }
}

#[test]
fn a_burst_of_losses_takes_one_recovery() {
    let lost: Vec<u64> = (100..130).collect();
    for detection in BOTH {
        let mut net = Net::line(found_by(detection), Reno, lose(&lost, 1));
        net.download(600 * MSS);
        net.finish(Span::from_secs(10));
        let counts = net.ends[0].sender().counts();
        assert_eq!((counts.recoveries, counts.timeouts), (1, 0), "{detection:?}: {counts:?}");
        assert_eq!(counts.retransmits, 30, "{detection:?}: {counts:?}");
    }
}

/// Set of the segments acknowledged or selectively acknowledged so far.
#[derive(Default)]
struct Delivered {
    segments: BTreeSet<u64>,
    una: u64,
}

impl Delivered {
    fn insert(&mut self, segment: &Segment) -> u64 {
        let mut news = 0;
        let ack = u64::from(segment.ack);
        let mut insert = |start: u64, end: u64| {
            let mut at = start;
            while at < end {
                news += u64::from(self.segments.insert(at));
                at += MSS;
            }
        };
        insert(self.una.max(1), ack);
        for &(start, end) in segment.sack_blocks() {
            insert(u64::from(start), u64::from(end));
        }
        self.una = self.una.max(ack);
        news
    }
}

/// Segments sent in recovery per acknowledgement (RFC 6937 section 3): above the threshold in proportion to the delivered segments;
/// below it at most the delivered segments, plus one if the acknowledgement advances without new losses.
#[test]
fn proportional_rate_reduction_never_sends_more_than_allowed() {
    let patterns: [&[u64]; 4] = [
        &[120],
        &[120, 125, 126, 140],
        &[110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128],
        &[100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126, 128, 130, 132, 134, 136, 138],
    ];
    let controls = COMPONENTS.iter().filter_map(|component| AnyController::named(component.name));
    for controller in controls.filter(|controller| !controller.owns_window()) {
        for detection in BOTH {
            for lost in patterns {
                let mut net = Net::line(found_by(detection), controller.clone(), lose(lost, 1));
                net.connect();
                net.write(0, 800 * MSS);
                let mut delivered = Delivered::default();
                let (mut total, mut out, mut prior, mut acks) = (0u64, 0u64, 0u64, 0);
                while net.delivered(0) < 800 * MSS {
                    let sender = net.ends[0].sender();
                    let (state, cwnd) = (sender.recovery_state(), u64::from(sender.window().cwnd));
                    let (sent_before, ssthresh_before) =
                        (sender.counts().segments_sent, sender.window().ssthresh);
                    net.step();
                    let now = net.ends[0].sender();
                    let news = match &net.arrived {
                        Some((0, segment)) if !segment.has(flag::SYN) => delivered.insert(segment),
                        _ => continue,
                    };
                    let sent = now.counts().segments_sent - sent_before;
                    // A recovery may end and the next one begin with the same acknowledgement.
                    if state != Recovery::Fast || now.window().ssthresh != ssthresh_before {
                        (total, out, prior) = (0, 0, cwnd);
                    }
                    if now.recovery_state() != Recovery::Fast {
                        continue;
                    }
                    acks += 1;
                    total += news;
                    let ssthresh = u64::from(now.window().ssthresh);
                    let pipe = u64::from(now.in_flight()) - sent;
                    let allowed = if pipe > ssthresh {
                        (total * ssthresh).div_ceil(prior).saturating_sub(out)
                    } else {
                        (total.saturating_sub(out)).max(news) + 1
                    };
                    let allowed = allowed.max(u64::from(out == 0));
                    assert!(
                        sent <= allowed,
                        "{controller:?} {detection:?} {lost:?}: {sent} sent, {allowed} allowed"
                    );
                    out += sent;
                }
                assert!(acks > 10);
                let counts = net.ends[0].sender().counts();
                assert_eq!(counts.retransmits as usize, lost.len(), "{controller:?} {detection:?}");
            }
        }
    }
}

/// The window after recovery is the threshold (RFC 6937): 0.5 of the window before for Reno, 0.7 for Cubic.
#[test]
fn the_window_after_recovery_is_the_threshold() {
    for (name, factor) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut net = Net::line(exact(), AnyController::named(name).unwrap(), lose(&[150], 1));
        net.connect();
        net.write(0, 800 * MSS);
        let mut before = 0;
        while net.ends[0].sender().recovery_state() != Recovery::Fast {
            before = net.ends[0].sender().window().cwnd;
            net.step();
        }
        while net.ends[0].sender().recovery_state() == Recovery::Fast {
            net.step();
        }
        let window = net.ends[0].sender().window();
        assert!(
            (f64::from(window.ssthresh) - factor * f64::from(before)).abs() <= 1.0,
            "{before} {window:?}"
        );
        assert!(window.cwnd.abs_diff(window.ssthresh) <= 1, "{window:?}");
    }
}

// ---- Tail loss probes ----

#[test]
fn tail_losses_are_repaired_by_a_probe() {
    for tail in 1..6u64 {
        let lost: Vec<u64> = (200 - tail..200).collect();
        let mut net = Net::line(exact(), Reno, lose(&lost, 1));
        net.download(200 * MSS);
        let (mut srtt, mut last) = (Span::ZERO, net.now);
        while net.ends[0].sender().counts().probes == 0 {
            srtt = net.ends[0].sender().rtt().smoothed();
            net.step();
            if net.arrived.is_some_and(|(side, _)| side == 0) {
                last = net.now;
            }
        }
        // The probe timer fires two round trips after the last acknowledgement, plus 2 ms, or plus 200 ms for a delayed acknowledgement
        // if one segment is outstanding (RFC 8985 section 7.2); at the latest at the retransmission timeout.
        let wanted = srtt * 2 + if tail == 1 { ms(200) } else { ms(2) };
        let waited = net.now.since(last);
        assert!(waited <= wanted, "{tail}: {waited:?}, not {wanted:?}");
        net.finish(Span::from_secs(5));
        let counts = net.ends[0].sender().counts();
        assert_eq!((counts.timeouts, counts.probes), (0, 1), "{tail}: {counts:?}");
        assert_eq!(counts.retransmits, tail, "the probe and the rest: {counts:?}");
    }
}

/// The probe is lost too, so that the retransmission timer fires.
#[test]
fn a_lost_probe_is_followed_by_the_timer() {
    let (mut once, mut twice) = (lose(&[198], 1), lose(&[199], 2));
    let mut net = Net::line(exact(), Reno, move |t| once(t) || twice(t));
    net.download(200 * MSS);
    net.finish(Span::from_secs(5));
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.probes, counts.timeouts), (1, 1), "{counts:?}");
}

/// A probe does not count as a retransmission of a lost segment (Linux `tcp_send_loss_probe` does not change `retrans_out`): while it is
/// outstanding, another loss is repaired as soon as it is detected.
#[test]
fn an_outstanding_probe_does_not_hold_back_a_retransmission() {
    let start = 1000;
    let forward: Rule = Box::new(move |t| {
        let number = t.seq / MSS;
        let lost = (number == 20 && t.attempt == 0) || (number == 29 && t.attempt < 2);
        if t.is_data() && lost { Fate::lost() } else { Fate::after(ms(20)) }
    });
    let back: Rule = Box::new(move |t| Fate::after(if t.now > time_ms(start) { ms(80) } else { ms(20) }));
    let mut net = Net::new(Profile { quick_acks: 1000, ..exact() }, Reno, forward, back);
    net.connect();
    // Twenty round trips of 40 ms, so that the smoothed round trip has converged.
    for i in 0..20 {
        net.run_until(time_ms(100 + i * 41));
        net.write(0, MSS);
    }
    net.run_until(time_ms(start));
    net.write(0, 10 * MSS);
    net.run_until(time_ms(start + 400));
    let again = net.again(0);
    assert_eq!(net.ends[0].sender().counts().probes, 1);
    assert_eq!(again[0].seq, seq(29), "the probe, at {:?}", again[0].at);
    assert_eq!(
        (again[1].seq, again[1].at),
        (seq(20), time_ms(start + 100)),
        "at the first acknowledgements, 100 ms after"
    );
}

// ---- ns-3 ----

/// In ns-3's NewReno and CUBIC one loss causes one retransmission and one reduction, after which the window is the threshold.
#[test]
fn a_single_loss_in_ns3_causes_one_reduction() {
    for (controller, beta) in
        [(AnyController::from(Ns3Reno::default()), 0.5), (Ns3Cubic::new(false).into(), 0.7)]
    {
        let mut net = Net::line(Profile::ns3(), controller.clone(), lose(&[150], 1));
        net.download(2_000 * MSS);
        let mut before = 0;
        while net.ends[0].sender().counts().recoveries == 0 {
            before = net.ends[0].sender().window().cwnd;
            net.run_until(net.now + ms(1));
        }
        while net.ends[0].sender().recovery_state() != Recovery::Open {
            net.run_until(net.now + ms(1));
        }
        let sender = net.ends[0].sender();
        assert_eq!((sender.counts().recoveries, sender.counts().retransmits), (1, 1));
        let kept = f64::from(sender.window().ssthresh) / f64::from(before);
        assert!((kept - beta).abs() < 0.12, "{controller:?}: {kept}");
        net.finish(Span::from_secs(20));
    }
}

/// In ns-3 only a timeout detects a lost retransmission.
#[test]
fn a_lost_retransmission_in_ns3_takes_a_timeout() {
    let mut net = Net::line(Profile::ns3(), Ns3Cubic::new(false), lose(&[150], 2));
    net.download(1_000 * MSS);
    net.finish(Span::from_secs(20));
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.recoveries, counts.timeouts), (1, 1));
}

/// In ns-3 segments sent before a timeout give no round-trip sample afterwards, not even by the timestamp of their retransmission.
#[test]
fn no_round_trip_is_measured_over_a_timeout_in_ns3() {
    let mut net = Net::line(Profile::ns3(), Ns3Reno::default(), lose(&[119], 1));
    net.download(120 * MSS);
    while net.ends[0].sender().counts().timeouts == 0 {
        net.run_until(net.now + ms(1));
    }
    let before = net.ends[0].sender().rtt().smoothed();
    net.finish(Span::from_secs(20));
    assert_eq!(net.ends[0].sender().rtt().smoothed(), before);
}

/// By Karn's rule only the timestamp gives the round trip of a retransmission, and Linux's timestamps count whole milliseconds: a
/// round trip of 40.4 ms is 40 or 41 ms, by the phase, and the smallest one known to the controllers is 40 ms (observed in Linux 6.12).
#[test]
fn round_trips_of_retransmissions_are_whole_milliseconds() {
    let rtt = Span::from_micros(40_400);
    let smallest = |lost: &[u64]| {
        let mut net = Net::reno(exact(), rtt, lose(lost, 1));
        net.download(400 * MSS);
        net.finish(Span::from_secs(5));
        net.ends[0].sender().rtt().min()
    };
    assert_eq!(smallest(&[]), rtt);
    let seen: BTreeSet<Span> = [60, 100, 150, 200, 250].map(|lost| smallest(&[lost])).into();
    assert!(seen.contains(&ms(40)), "{seen:?}");
    assert!(seen.is_subset(&[ms(40), rtt].into()), "{seen:?}");
}
