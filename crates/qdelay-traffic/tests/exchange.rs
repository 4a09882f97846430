//! Exchanges without losses of data: handshake, acknowledgements, ECN echoes, Nagle, windows. Each test is a small deterministic run.

use crate::common::{Fate, MSS, Net, Rule, Sent, bottleneck, exact, lose, ms, time_ms, wire};
use qdelay_core::{Ecn, Rate, Span, Time};
use qdelay_traffic::control::{AnyController, Recovery, Reno};
use qdelay_traffic::segment::{Segment, flag};
use qdelay_traffic::tcp::{Phase, Profile, Receiver};

// ---- Handshake ----

#[test]
fn a_lost_syn_is_sent_again_after_a_second() {
    for lost in 1..4u32 {
        let mut left = lost;
        let mut net = Net::reno(exact(), ms(40), move |t| {
            let drop = t.is_syn() && left > 0;
            left -= u32::from(drop);
            drop
        });
        net.download(100 * MSS);
        net.run_until(time_ms(990));
        assert_eq!(net.ends[0].phase(), Phase::SynSent);
        net.finish(Span::from_secs(12));
        let syns: Vec<&Sent> = net.log.iter().filter(|s| s.side == 0 && s.segment.has(flag::SYN)).collect();
        assert_eq!(syns.len() as u32, lost + 1);
        assert_eq!(syns[1].at.since(syns[0].at), Span::from_secs(1));
        // Karn's rule (RFC 6298 section 3): a handshake with a retransmission gives no round-trip sample.
        assert!(net.ends[0].sender().rtt().smoothed() < ms(80));
        assert!(net.ends[0].sender().rtt().min() >= ms(39));
    }
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut left = 2;
    let back: Rule = Box::new(move |t| {
        let drop = t.is_syn() && left > 0;
        left -= u32::from(drop);
        if drop { Fate::lost() } else { Fate::after(ms(20)) }
    });
    let mut net = Net::new(exact(), Reno, wire(ms(20)), back);
    net.download(100 * MSS);
    net.finish(Span::from_secs(5));
    // Both ends retransmit after one and after two more seconds; the third SYN-ACK arrives.
    assert!(net.now < time_ms(3500), "{:?}", net.now);
    assert_eq!(net.ends[0].sender().counts().retransmits, 0);
}

/// The last acknowledgement of the handshake is lost; the first data completes the handshake.
#[test]
fn the_first_data_completes_a_handshake_without_its_last_segment() {
    let mut left = 1;
    let mut net = Net::reno(exact(), ms(40), move |t| {
        let drop = !t.is_syn() && !t.is_data() && left > 0;
        left -= u32::from(drop);
        drop
    });
    net.connect();
    net.run_until(time_ms(500));
    assert_eq!(net.ends[1].phase(), Phase::SynReceived);
    net.write(0, 5 * MSS);
    net.close(0);
    net.finish(Span::from_secs(3));
    assert!(net.now < time_ms(700), "{:?}", net.now);
}

#[test]
fn duplicated_handshake_segments_are_harmless() {
    let twice = || -> Rule {
        Box::new(|t| if t.is_syn() { Fate::twice(ms(20), ms(500)) } else { Fate::after(ms(20)) })
    };
    let mut net = Net::new(exact(), Reno, twice(), twice());
    net.download(1000 * MSS);
    net.finish(Span::from_secs(5));
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.retransmits, counts.undone, counts.recoveries), (0, 0, 0), "{counts:?}");
    assert!(net.ends[0].sender().rtt().smoothed() < ms(60), "an old echo was measured");
}

// ---- Acknowledgements ----

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let plain = Profile { eager_acks: false, ..Profile::linux() };
    let mut net = Net::line(plain, Reno, |_| false);
    net.connect();
    net.write(0, 200 * MSS);
    net.run_until(time_ms(2000));
    let acks: Vec<u64> = net.pure(1).map(|s| (u64::from(s.segment.ack) - 1) / MSS).collect();
    assert_eq!(acks[..16], (1..=16).collect::<Vec<u64>>()[..], "sixteen at once");
    assert!(acks[16..].windows(2).all(|pair| pair[1] - pair[0] <= 2), "then every second");
    assert_eq!(acks[17] - acks[16], 2);
    assert_eq!(*acks.last().unwrap(), 200);
}

/// A single segment is acknowledged within 40 ms plus the rounding of the timer wheel (a jiffy of 4 ms).
#[test]
fn an_acknowledgement_is_delayed_by_40_ms_at_most() {
    for (profile, most) in [(Profile::linux(), ms(48)), (exact(), ms(40)), (Profile::ns3(), ms(200))] {
        let plain = Profile { quick_acks: 4, eager_acks: false, ..profile };
        let mut net = Net::reno(plain, ms(40), |_| false);
        net.connect();
        for i in 0..30 {
            net.run_until(time_ms(100 + i * 250));
            net.write(0, 500);
        }
        net.run_until(time_ms(9000));
        let sent: Vec<Time> = net.data(0).map(|s| s.at).collect();
        let acked: Vec<Time> = net.pure(1).filter(|s| s.segment.ack > 1).map(|s| s.at).collect();
        assert_eq!((sent.len(), acked.len()), (30, 30));
        for (sent, acked) in sent.iter().zip(acked).skip(5) {
            let held = acked.since(*sent + ms(20));
            assert!(held <= most && held + ms(12) >= most, "{held:?}");
        }
    }
}

/// Data in a segment that also acknowledges is acknowledged in time, by the data that this segment releases or by a later segment; nothing is
/// retransmitted.
#[test]
fn data_in_an_acknowledging_segment_is_acknowledged() {
    let profile = Profile { initial_window: 1, quick_acks: 0, ..exact() };
    let mut net = Net::reno(profile, ms(40), |_| false);
    net.connect();
    net.run_until(time_ms(100));
    // The server's second segment waits for its window, which the acknowledgement in the client's data opens.
    net.write(1, 2 * MSS);
    net.run_until(time_ms(130));
    net.write(0, 1000);
    net.run_until(time_ms(1000));
    assert_eq!((net.delivered(0), net.delivered(1)), (1000, 2 * MSS));
    for side in 0..2 {
        assert_eq!(net.again(side).len(), 0, "side {side} sent again what had arrived: {}", net.describe());
    }
}

/// The timestamp to echo never decreases, so that an old duplicate has no effect (RFC 7323 sections 4.3 and 5.3).
#[test]
fn an_old_duplicate_does_not_change_the_echo() {
    let mut receiver = Receiver::new(Profile::linux(), 0);
    let segment = |ts_value| Segment { seq: 1, len: 1448, ts_value, flags: flag::ACK, ..Segment::default() };
    let mut ack = Segment::default();
    receiver.on_data(time_ms(10), &segment(9_000), Ecn::NotEct, |_| ());
    receiver.fill(&mut ack);
    assert_eq!(ack.ts_echo, 9_000);
    receiver.on_data(time_ms(11), &segment(2_000), Ecn::NotEct, |_| ());
    receiver.fill(&mut ack);
    assert_eq!((ack.ts_echo, ack.sack_blocks()), (9_000, &[(1, 1449)][..]));
}

// ---- ECN ----

/// A retransmission is not ECN-capable (RFC 3168 section 6.1.5); CWR is sent with new data (section 6.1.2).
#[test]
fn retransmissions_are_not_ecn_capable() {
    let profile = Profile { ecn: true, ..exact() };
    let mut net = Net::line(profile, Reno, lose(&[150, 160], 1));
    net.download(400 * MSS);
    net.finish(Span::from_secs(5));
    for sent in net.data(0) {
        if sent.attempt == 0 {
            assert_eq!(sent.ecn, Ecn::Ect0);
        } else {
            assert_eq!(sent.ecn, Ecn::NotEct, "{sent:?}");
            assert!(!sent.segment.has(flag::CWR), "{sent:?}");
        }
    }
    assert!(net.log.iter().filter(|s| !s.is_data()).all(|s| s.ecn == Ecn::NotEct));
    assert_eq!(net.data(0).filter(|s| s.segment.has(flag::CWR)).count(), 1, "one reduction, told once");
}

/// The echo lasts until CWR arrives; the window is reduced once per round trip (RFC 3168 section 6.1.3).
#[test]
fn an_echo_lasts_until_it_is_answered() {
    let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
    let forward: Rule = Box::new(move |t| Fate { mark: (150..155).contains(&(t.seq / MSS)), ..queue(t) });
    let mut net = Net::new(Profile { ecn: true, ..exact() }, Reno, forward, wire(ms(20)));
    net.download(500 * MSS);
    net.finish(Span::from_secs(5));
    let counts = net.ends[0].sender().counts();
    assert_eq!((counts.echo_reductions, counts.retransmits), (1, 0), "{counts:?}");
    let echoes: Vec<&Sent> = net.pure(1).filter(|s| s.segment.has(flag::ECE)).collect();
    let answer = net.data(0).find(|s| s.segment.has(flag::CWR)).unwrap();
    assert!(echoes.len() > 5);
    assert!(u64::from(echoes.last().unwrap().segment.ack) <= answer.seq + MSS);
    // The state returns to Open, and the window grows again.
    assert_eq!(net.ends[0].sender().recovery_state(), Recovery::Open);
}

// ---- What may be sent ----

#[test]
fn small_writes_wait_while_data_is_in_flight() {
    let mut net = Net::reno(Profile { quick_acks: 100, ..exact() }, ms(40), |_| false);
    net.connect();
    net.run_until(time_ms(100));
    for _ in 0..5 {
        net.write(0, 100);
    }
    assert_eq!(net.data(0).map(|s| s.segment.len).collect::<Vec<u16>>(), [100]);
    net.run_until(time_ms(300));
    assert_eq!(net.data(0).map(|s| (s.at, s.segment.len)).nth(1), Some((time_ms(140), 400)));
    // The last segment before the FIN does not wait.
    net.write(0, MSS + 50);
    net.close(0);
    let last: Vec<&Sent> = net.data(0).skip(2).collect();
    assert!(last.iter().all(|s| s.at == net.now));
    assert!(last.last().unwrap().segment.has(flag::FIN));
    net.finish(Span::from_secs(1));
}

/// A fixed receive buffer bounds the outstanding bytes exactly, and so the throughput: window / round trip.
#[test]
fn the_receive_window_is_filled_and_respected() {
    let profile = Profile { receive_buffer: 200_000, receive_buffer_max: 200_000, ..Profile::linux() };
    let mut net = Net::reno(profile, ms(100), |_| false);
    net.connect();
    net.write(0, 1 << 40);
    net.run_until(time_ms(5000));
    let before = net.delivered(0);
    net.run_until(time_ms(15_000));
    // Linux offers 162/256 of the buffer.
    let offered = 200_000 / 256 * 162;
    assert!(net.peak_bytes <= offered && net.peak_bytes > offered - 2 * MSS, "{}", net.peak_bytes);
    let rate = (net.delivered(0) - before) as f64 / 10.0;
    assert!((rate / (offered as f64 / 0.1) - 1.0).abs() < 0.05, "{rate}");
    assert_eq!(net.ends[0].sender().counts().retransmits, 0);
}

/// A send buffer bounds the outstanding bytes: between two thirds of its size, at which the application writes again, and its size plus the rest
/// of the last piece. A FIN follows the last byte.
#[test]
fn the_send_buffer_is_filled_and_respected() {
    let buffer = 600_000;
    let profile = Profile { send_buffer_max: buffer, ..Profile::linux() };
    let mut net = Net::reno(profile, ms(100), |_| false);
    net.connect();
    net.write(0, 60_000_000);
    net.close(0);
    net.run_until(time_ms(8000));
    assert!(net.peak_bytes > buffer / 3 * 2 && net.peak_bytes < buffer + 65_536, "{}", net.peak_bytes);
    let before = net.delivered(0);
    net.run_until(time_ms(10_000));
    let rate = (net.delivered(0) - before) as f64 / 2.0;
    let full = buffer as f64 / 0.1;
    assert!(rate > 0.6 * full && rate < 1.05 * full, "{rate} of {full}");
    net.finish(Span::from_secs(30));
    assert_eq!(net.delivered(0), 60_000_000);
    assert_eq!(net.ends[0].sender().counts().retransmits, 0);
}

/// The autotuned window fills 100 Mbit/s over 100 ms; a fixed buffer of 128 kB could not.
#[test]
fn the_receive_window_grows_as_needed() {
    let goodput = |profile| {
        let queue = bottleneck(Rate::from_mbps(100.0), 1000, ms(50));
        let mut net = Net::new(profile, AnyController::named("cubic").unwrap(), queue, wire(ms(50)));
        net.keep_log = false;
        net.connect();
        net.write(0, 1 << 40);
        net.run_until(time_ms(10_000));
        let before = net.delivered(0);
        net.run_until(time_ms(15_000));
        (net.delivered(0) - before) as f64 * 8.0 / 5e6
    };
    let tuned = goodput(Profile::linux());
    assert!(tuned > 95.0, "{tuned}");
    let fixed = goodput(Profile { receive_buffer_max: 131_072, ..Profile::linux() });
    assert!(fixed < 6.7 && fixed > 6.0, "{fixed}");
}

/// After an idle time the window is the initial window again (RFC 9293 section 3.8.3, RFC 5681 section 4.1).
#[test]
fn the_window_restarts_after_idle_time() {
    let mut net = Net::line(exact(), Reno, |_| false);
    net.connect();
    net.write(0, 300 * MSS);
    net.run_until(time_ms(5000));
    let window = net.ends[0].sender().window().cwnd;
    assert!(window > 40);
    net.write(0, 300 * MSS);
    let burst = net.data(0).filter(|s| s.at == time_ms(5000)).count();
    assert_eq!((net.ends[0].sender().window().cwnd, burst), (10, 10));
    net.run_until(time_ms(10_000));
    assert_eq!(net.delivered(0), 600 * MSS);
}

/// An application that sends less than the window does not grow it (RFC 7661).
#[test]
fn an_idle_window_does_not_grow() {
    let mut net = Net::reno(exact(), ms(40), |_| false);
    net.connect();
    for i in 0..200 {
        net.run_until(time_ms(100 + 50 * i));
        net.write(0, 3 * MSS);
    }
    net.run_until(time_ms(12_000));
    assert_eq!(net.delivered(0), 600 * MSS);
    let cwnd = net.ends[0].sender().window().cwnd;
    assert!(cwnd <= 10, "{cwnd}");
}
