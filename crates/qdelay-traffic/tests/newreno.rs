//! Recovery without SACK: RFC 6582, RFC 5681, RFC 3042, each behaviour in a small run, and every transmission beside the slow model of
//! `newreno_model.rs`.

use crate::common::{Fate, MSS, Net, Rule, exact, lose, ms, seq, wire};
use crate::newreno_model::{Losses, Model};
use proptest::prelude::*;
use qdelay_core::{Span, Time};
use qdelay_traffic::control::{AnyController, COMPONENTS, Controller, Ns3Reno, Recovery, Reno};
use qdelay_traffic::tcp::Profile;

/// A profile without SACK, with exact timers and an acknowledgement per segment.
fn plain() -> Profile {
    Profile { ack_every: 1, initial_window: 2, ..Profile::ns3().without_sack() }
}

/// Reno's recovery, which ends at the first partial acknowledgement.
fn classic() -> Profile {
    Profile { partial_acks: false, ..plain() }
}

/// A sender of `segments` segments over links of 20 ms, after the last acknowledgement.
fn finished(profile: Profile, segments: u64, lost: &[u64], times: u32) -> Net {
    let mut net = Net::reno(profile, ms(40), lose(lost, times));
    net.download(segments * MSS);
    net.finish(Span::from_secs(600));
    net
}

#[test]
fn no_acknowledgement_has_blocks() {
    for profile in [plain(), exact().without_sack()] {
        let net = finished(profile, 300, &[50, 52, 60], 1);
        assert!(net.log.iter().all(|sent| sent.segment.sack_count == 0));
        assert!(net.pure(1).count() > 100);
    }
}

/// The third duplicate repairs one loss, and halves the window once (RFC 5681 section 3.2).
#[test]
fn the_third_duplicate_repairs_a_loss() {
    for profile in [plain(), classic(), exact().without_sack()] {
        let net = finished(profile, 300, &[60], 1);
        let counts = net.ends[0].sender().counts();
        assert_eq!(
            (counts.retransmits, counts.recoveries, counts.timeouts, counts.marked_lost),
            (1, 1, 0, 1)
        );
        let duplicates: Vec<Time> =
            net.pure(1).filter(|sent| u64::from(sent.segment.ack) == seq(60)).map(|sent| sent.at).collect();
        // The first of them advances.
        assert_eq!(net.again(0)[0].at, duplicates[3] + ms(20));
    }
}

/// The first two duplicates send a new segment each (RFC 3042), and each one after the third inflates the window (RFC 5681 section 3.2).
#[test]
fn the_window_is_inflated_by_each_duplicate() {
    let mut net = Net::reno(plain(), ms(40), lose(&[30], 1));
    net.connect();
    net.write(0, 300 * MSS);
    let (mut highest, mut inflations) = (0, 0);
    while net.ends[0].sender().recovery_state() != Recovery::Fast {
        highest = net.ends[0].sender().window().cwnd;
        net.step();
    }
    let window = net.ends[0].sender().window();
    assert_eq!((window.ssthresh, window.cwnd), (highest / 2, highest / 2 + 3));
    while net.ends[0].sender().recovery_state() == Recovery::Fast {
        let before = net.ends[0].sender().window().cwnd;
        net.step();
        let sender = net.ends[0].sender();
        if net.arrived.is_some_and(|(side, _)| side == 0) && sender.recovery_state() == Recovery::Fast {
            assert_eq!(sender.window().cwnd, before + 1);
            inflations += 1;
        }
    }
    assert!(inflations > 10);
    let sender = net.ends[0].sender();
    assert_eq!(sender.window().cwnd, window.ssthresh.min(sender.in_flight() + 1).max(2));
}

/// NewReno repairs one loss per round trip without a timeout (RFC 6582); Reno waits for the timer.
#[test]
fn partial_acknowledgements_repair_further_losses() {
    let lost = [60, 63, 66, 70];
    let net = finished(plain(), 300, &lost, 1);
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.retransmits, counts.recoveries, counts.timeouts), (4, 1, 0));
    let again = net.again(0);
    for (pair, number) in again.windows(2).zip(lost) {
        assert_eq!((pair[0].seq, pair[1].at.since(pair[0].at)), (seq(number), ms(40)));
    }
    let counts = finished(classic(), 300, &lost, 1).ends[0].sender().counts();
    assert_eq!((counts.recoveries, counts.timeouts), (1, 1), "{counts:?}");
}

/// After a timeout the window is one segment, and everything is sent again in order, what had arrived too (RFC 5681 section 3.1); its duplicates
/// start no recovery (RFC 6582 section 3.2 step 2).
#[test]
fn a_timeout_goes_back_n() {
    // The retransmission of segment 60 is lost too.
    let net = finished(plain(), 300, &[60], 2);
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.recoveries, counts.timeouts), (1, 1), "{counts:?}");
    let again = net.again(0);
    assert_eq!([again[0].seq, again[1].seq], [seq(60); 2]);
    assert_eq!(again[1].cwnd, 1);
    // The acknowledgement of the gap passes all that had arrived.
    assert_eq!(counts.retransmits, 2);
    // Without that acknowledgement they are sent again.
    let mut swallowed = 0;
    let back: Rule = Box::new(move |t| {
        let is_passing =
            u64::from(t.segment.ack) > seq(70) && swallowed < 200 && t.now > Time::ZERO + ms(1100);
        swallowed += u64::from(is_passing);
        if is_passing && swallowed == 1 { Fate::lost() } else { Fate::after(ms(20)) }
    });
    let mut drop = lose(&[60], 2);
    let forward: Rule = Box::new(move |t| if drop(t) { Fate::lost() } else { Fate::after(ms(20)) });
    let mut net = Net::new(plain(), Reno, forward, back);
    net.download(300 * MSS);
    net.finish(Span::from_secs(60));
    assert!(net.ends[0].sender().counts().retransmits >= 3);
    assert_eq!(net.ends[0].sender().counts().recoveries, 1);
}

/// A repeated timeout keeps the threshold of the first (RFC 5681 section 3.1).
#[test]
fn a_repeated_timeout_keeps_the_threshold() {
    let mut net = Net::reno(plain(), ms(40), |t| {
        t.is_data() && Time::ZERO + ms(250) < t.now && t.now < Time::ZERO + ms(9_000)
    });
    net.connect();
    net.write(0, 2000 * MSS);
    let mut thresholds = Vec::new();
    while net.ends[0].sender().counts().timeouts < 4 {
        let before = net.ends[0].sender().counts().timeouts;
        net.step();
        if net.ends[0].sender().counts().timeouts > before {
            thresholds.push(net.ends[0].sender().window().ssthresh);
        }
    }
    assert!(
        thresholds[0] > 2 && thresholds.iter().all(|threshold| *threshold == thresholds[0]),
        "{thresholds:?}"
    );
}

/// Every control recovers without SACK.
#[test]
fn every_control_delivers_without_sack() {
    for component in COMPONENTS {
        let Some(controller) = AnyController::named(component.name) else { continue };
        let owns = controller.owns_window();
        for base in [Profile::linux(), Profile::ns3()] {
            let mut net = Net::line(base.without_sack(), controller.clone(), lose(&[40, 80, 81, 150], 1));
            net.download(400 * MSS);
            net.finish(Span::from_secs(120));
            let counts = net.ends[0].sender().counts();
            assert!(counts.retransmits >= 4 && counts.probes == 0, "{}: {counts:?}", component.name);
            assert!(owns || counts.retransmits < 100, "{}: {counts:?}", component.name);
        }
    }
}

fn losses() -> impl Strategy<Value = Losses> {
    let segments = proptest::collection::btree_set((0..60u64, 0..3u32), 0..14);
    let run = proptest::option::weighted(0.5, (10..50u64, 2..14u64));
    let acks = proptest::collection::btree_set(0..90u64, 0..6);
    (segments, run, acks).prop_map(|(mut segments, run, acks)| {
        if let Some((start, length)) = run {
            segments.extend((start..start + length).map(|number| (number, 0)));
        }
        Losses { segments, acks }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every transmission at the same time as in the slow model, which has no receive window (61 segments here), so that all data arrive and all retransmissions are counted.
    #[test]
    fn transmissions_equal_those_of_the_model(losses in losses(), partial_acks: bool, initial in 1..4u64, total in 30..60u64) {
        let profile = Profile { partial_acks, initial_window: initial as u32, ..plain() };
        let lost = losses.segments.clone();
        let forward: Rule = Box::new(move |t| {
            let number = (t.seq.saturating_sub(1)) / MSS;
            if t.is_data() && lost.contains(&(number, t.attempt)) { Fate::lost() } else { Fate::after(ms(20)) }
        });
        let (acks, mut count) = (losses.acks.clone(), 0);
        let back: Rule = Box::new(move |t| {
            if t.is_syn() {
                return Fate::after(ms(20));
            }
            count += 1;
            if acks.contains(&(count - 1)) { Fate::lost() } else { Fate::after(ms(20)) }
        });
        let mut net = Net::new(profile, Ns3Reno::default(), forward, back);
        net.connect();
        net.write(0, total * MSS);
        while net.ends[0].sender().counts().segments_sent == 0 || !net.ends[0].sender().is_done() {
            net.step();
        }
        let mut model = Model::new(losses, partial_acks, total, initial);
        model.run();
        let ours: Vec<(u64, u64)> = net.log.iter().filter(|sent| sent.side == 0 && sent.is_data())
            .map(|sent| (sent.at.as_nanos() / 1_000_000, (sent.seq - 1) / MSS)).collect();
        prop_assert_eq!(&ours, &model.log);
        let counts = net.ends[0].sender().counts();
        prop_assert_eq!(counts.retransmits, ours.len() as u64 - total);
        prop_assert_eq!(net.delivered(0), total * MSS);
    }
}

/// Without losses no segment is sent twice.
#[test]
fn without_losses_nothing_is_sent_twice() {
    let mut net = Net::new(plain(), Reno, wire(ms(20)), wire(ms(20)));
    net.download(500 * MSS);
    net.finish(Span::from_secs(60));
    assert_eq!(net.ends[0].sender().counts().retransmits, 0);
}
