//! Facts stated by the RFCs and the papers about disciplines that tell flows or classes apart, measured from
//! outside.

use crate::drive::{Subject, apart, drain, packet};
use crate::models::{Fate, MS};
use qdelay_core::Packet;
use qdelay_core::qdisc::Qdisc;

const SECOND: u64 = 1_000 * MS;

/// Numbers of two flows that do not share one of 1024 buckets.
fn two() -> [u32; 2] {
    let flows = apart(2, 1024, 0);
    [flows[0], flows[1]]
}

/// The example of Shreedhar and Varghese 1996, figures 2 and 3: a quantum of 500 for queues that hold 200,
/// 750, 20; 500, 500; 100, 600, 200; and 180, 700, 50. The first sends 200 and carries 300 over, so 750 can
/// be sent in the second round.
#[test]
fn drr_sends_what_the_papers_example_sends() {
    let mut subject = Subject::new("drr:by=class:quantum=500b:overhead=0", 1);
    let queues: [&[u32]; 4] = [&[200, 750, 20], &[500, 500], &[100, 600, 200], &[180, 700, 50]];
    for (class, sizes) in queues.iter().enumerate() {
        for bytes in *sizes {
            subject.enqueue(0, Packet { class: class as u16, ..packet(0, *bytes, false, 0) });
        }
    }
    let sent: Vec<(u16, u32)> =
        std::iter::from_fn(|| subject.dequeue(0)).map(|p| (p.class, p.bytes)).collect();
    let first = [(0, 200), (1, 500), (2, 100), (3, 180)];
    let second = [(0, 750), (0, 20), (1, 500), (2, 600), (2, 200), (3, 700), (3, 50)];
    assert_eq!(sent, [&first[..], &second[..]].concat());
}

/// Shreedhar and Varghese 1996, section 3: a queue that empties loses its deficit.
#[test]
fn drr_saves_no_deficit_for_an_empty_queue() {
    let mut subject = Subject::new("drr:by=class:quantum=1000b:overhead=0", 1);
    let send = |subject: &mut Subject, class, bytes| {
        subject.enqueue(0, Packet { class, ..packet(u64::from(bytes), bytes, false, 0) });
    };
    send(&mut subject, 0, 100);
    assert_eq!(drain(&mut subject, 0), [100], "900 were left over");
    send(&mut subject, 0, 1500);
    send(&mut subject, 1, 600);
    assert_eq!(drain(&mut subject, 0), [600, 1500], "which would have let 1500 go first");
}

/// The smallest quantum, 1 byte: a packet takes as many rounds as it has bytes.
#[test]
fn drr_needs_no_large_quantum() {
    let mut subject = Subject::new("drr:by=dscp:quantum=1b:overhead=0", 1);
    for (dscp, bytes) in [(0, 1500), (10, 1499), (46, 3)] {
        subject.enqueue(0, Packet { dscp, ..packet(u64::from(bytes), bytes, false, 0) });
    }
    assert_eq!(drain(&mut subject, 0), [3, 1499, 1500]);
}

/// Linux subtracts the length of the frame from a deficit that grows by the MTU with its header
/// (`qdisc_pkt_len`, `psched_mtu`): a turn is one full packet, never two from a carried-over rest. RFC 8290
/// section 5.2.4 has the same 1514 bytes.
#[test]
fn a_turn_is_one_full_packet_by_default() {
    for name in ["fq_codel:target=100s:interval=100s", "drr", "sfq"] {
        let flows = apart(3, 1024, 0);
        let mut subject = Subject::new(name, 1);
        for id in 0..12 {
            subject.enqueue(0, packet(id, 1500, false, flows[id as usize % 3]));
        }
        assert_eq!(drain(&mut subject, 0), (0..12).collect::<Vec<_>>(), "{name}: flow by flow, one each");
    }
}

/// A frame of 64 bytes has 50 bytes of IP. Beside a full packet, a turn of 1514 bytes holds 24 of them where
/// the last may overdraw it (23 are 1472), and 23 where it may not; counted in IP bytes, a turn would hold 31
/// and 30.
#[test]
fn small_packets_count_with_their_frames() {
    for (name, turn) in [("fq_codel:target=100s:interval=100s", 24), ("sfq", 24), ("drr", 23)] {
        let [small, large] = two();
        let mut subject = Subject::new(name, 1);
        (0..60).for_each(|id| subject.enqueue(0, packet(id, 50, false, small)));
        (100..104).for_each(|id| subject.enqueue(0, packet(id, 1500, false, large)));
        let first: Vec<u64> = (0..25).filter_map(|_| subject.dequeue(0)).map(|p| p.handle).collect();
        assert_eq!(first.iter().position(|handle| *handle == 100), Some(turn), "{name}");
    }
}

/// McKenney's buffer stealing: at a full buffer the flow with the most bytes queued loses packets, its newest
/// first, even if the arrival is its own.
#[test]
fn drr_drops_from_the_longest_queue() {
    let mut subject = Subject::new("drr:by=class:limit=4", 1);
    let send = |subject: &mut Subject, id, class, bytes| {
        subject.enqueue(0, Packet { class, ..packet(id, bytes, false, 0) });
    };
    for id in 0..4 {
        send(&mut subject, id, 0, 500);
    }
    send(&mut subject, 4, 0, 500);
    assert_eq!(std::mem::take(&mut subject.ear.0), [Fate::Drop("longest_flow", 4)]);
    send(&mut subject, 5, 1, 40);
    assert_eq!(std::mem::take(&mut subject.ear.0), [Fate::Drop("longest_flow", 3)]);
    send(&mut subject, 6, 1, 1500);
    assert_eq!(
        std::mem::take(&mut subject.ear.0),
        [Fate::Drop("longest_flow", 6)],
        "bytes count, not packets"
    );
    assert_eq!(drain(&mut subject, 0), [0, 1, 5, 2], "frames of 514 bytes: two are a turn");
}

/// McKenney 1990: flows have equal shares of a link, at any load of each.
#[test]
fn sfq_shares_the_link_equally() {
    let flows = apart(3, 1024, 0);
    let mut subject = Subject::new("sfq", 1);
    let mut served = [0u32; 3];
    for step in 0..60_000u64 {
        // One flow sends three times the load of another; the sizes differ too.
        for (index, bytes) in [(0, 1500), (1, 1500), (2, 700)] {
            if step % [1, 3, 1][index] == 0 {
                subject.enqueue(step, packet(step, bytes, false, flows[index]));
            }
        }
        if step % 3 == 0 {
            let gone = subject.dequeue(step).expect("an overload");
            served[flows.iter().position(|flow| *flow == gone.flow).expect("one of them")] += gone.bytes;
        }
    }
    let mean = f64::from(served.iter().sum::<u32>()) / 3.0;
    assert!(served.iter().all(|bytes| (f64::from(*bytes) / mean - 1.0).abs() < 0.01), "{served:?}");
}

/// Linux `sfq_enqueue`, `sfq_drop`: the longest queue loses its newest packet, or with `headdrop` its oldest; a queue
/// at its depth refuses.
#[test]
fn sfq_drops_from_the_longest_queue() {
    let [heavy, light] = two();
    for (headdrop, fate) in [("off", Fate::Drop("longest_flow", 3)), ("on", Fate::Drop("longest_flow", 0))] {
        let mut subject = Subject::new(&format!("sfq:limit=4:headdrop={headdrop}"), 1);
        for id in 0..4 {
            subject.enqueue(0, packet(id, 100, false, heavy));
        }
        subject.enqueue(0, packet(4, 1500, false, light));
        assert_eq!(subject.ear.0, [fate], "packets count, not bytes");
    }
    for (headdrop, fate) in [("off", Fate::Drop("tail_limit", 2)), ("on", Fate::Drop("head_limit", 0))] {
        let mut subject = Subject::new(&format!("sfq:depth=2:headdrop={headdrop}"), 1);
        for id in 0..3 {
            subject.enqueue(0, packet(id, 100, false, heavy));
        }
        assert_eq!(subject.ear.0, [fate]);
    }
}

/// McKenney 1990: flows of one bucket share one turn, and the next perturbation separates them.
#[test]
fn sfq_perturbation_separates_flows_of_one_bucket() {
    let met: Vec<u32> = (0..).filter(|flow| crate::models::bucket(*flow, 0, 1024) == 0).take(2).collect();
    let mut subject = Subject::new("sfq:perturb=10s:limit=60", 1);
    for id in 0..40 {
        // Twenty packets of the first flow, then twenty of the second.
        subject.enqueue(0, packet(id, 1500, false, met[id as usize / 20]));
    }
    let mut first = |now| (0..10).filter_map(|_| subject.dequeue(now)).map(|p| p.flow).collect::<Vec<_>>();
    assert!(first(SECOND).iter().all(|flow| *flow == met[0]));
    assert_eq!(subject.qdisc.next_deadline().as_nanos(), 10 * SECOND);
    subject.poll_until(10 * SECOND);
    assert_eq!(subject.qdisc.next_deadline().as_nanos(), 20 * SECOND);
    let mut first = |now| (0..20).filter_map(|_| subject.dequeue(now)).map(|p| p.flow).collect::<Vec<_>>();
    assert_eq!(first(10 * SECOND).iter().filter(|flow| **flow == met[0]).count(), 10);
}

/// RFC 8290 section 4.2: a new flow is served first, up to a quantum; then it is an old one. A flow that runs
/// empty stays in the list of the old for a round, so that it does not become new again by sending seldom.
#[test]
fn fq_codel_makes_new_flows_old() {
    let flows = apart(3, 1024, 0);
    let (a, b, c) = (flows[0], flows[1], flows[2]);
    let mut subject = Subject::new("fq_codel:quantum=1500b:overhead=0", 1);
    let next = |subject: &mut Subject| subject.dequeue(0).map(|p| p.handle);
    for id in 0..4 {
        subject.enqueue(0, packet(10 + id, 1000, false, a));
        subject.enqueue(0, packet(20 + id, 1000, false, b));
    }
    // Two packets of each flow use up its 1500 bytes (the second begins within them).
    for id in [10, 11, 20, 21] {
        assert_eq!(next(&mut subject), Some(id));
    }
    subject.enqueue(0, packet(30, 100, false, c));
    assert_eq!(next(&mut subject), Some(30), "a new flow goes before the old ones");
    assert_eq!(next(&mut subject), Some(12));
    subject.enqueue(0, packet(31, 100, false, c));
    assert_eq!(next(&mut subject), Some(22), "it is an old one now and waits its turn");
    assert_eq!(next(&mut subject), Some(31));
    assert_eq!(next(&mut subject), Some(13));
    assert_eq!(next(&mut subject), Some(23));
    assert_eq!(next(&mut subject), None);
    subject.enqueue(0, packet(14, 1000, false, a));
    subject.enqueue(0, packet(32, 100, false, c));
    assert_eq!(drain(&mut subject, 0), [14, 32], "with all of them gone, all are new again");
}

/// RFC 8290 section 4.1 with Linux's batches: an overflow drops half of the longest flow's queue, from the
/// head, but no more than a batch.
#[test]
fn fq_codel_drops_from_the_head_of_the_longest_flow() {
    let [fat, thin] = two();
    for (batch, lost) in [(64, 50), (20, 20), (1, 1)] {
        let mut subject = Subject::new(&format!("fq_codel:limit=110:drop_batch={batch}"), 1);
        for id in 0..10 {
            subject.enqueue(0, packet(1000 + id, 100, false, thin));
        }
        for id in 0..=100 {
            subject.enqueue(0, packet(id, 1000, false, fat));
        }
        // Of 101 packets, half of 101 000 bytes is reached with the 51st.
        let lost = if lost == 50 { 51 } else { lost };
        assert_eq!(subject.ear.0, (0..lost).map(|id| Fate::Drop("longest_flow", id)).collect::<Vec<_>>());
    }
}

/// RFC 8290 section 1: a flow that fills the link has its own queue and its own CoDel; a sparse flow beside
/// it waits for a packet or two and loses nothing.
#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let [heavy, sparse] = two();
    let mut subject = Subject::new("fq_codel", 1);
    let (mut id, mut worst) = (0, 0);
    for step in 0..20_000u64 {
        let now = step * MS;
        for flow in [heavy, heavy, sparse] {
            if flow == heavy || step % 20 == 0 {
                id += 1;
                let bytes = if flow == heavy { 1500 } else { 172 };
                subject.enqueue(now, packet(id * 2 + u64::from(flow == sparse), bytes, false, flow));
            }
        }
        let gone = subject.dequeue(now).expect("an overload");
        if gone.flow == sparse {
            worst = worst.max(now - gone.arrival.as_nanos());
        }
    }
    assert!(worst <= 2 * MS, "{worst}");
    let codel = |fate: &Fate| matches!(fate, Fate::Drop("codel", _));
    assert!(subject.ear.0.iter().filter(|fate| codel(fate)).count() > 1000);
    assert!(subject.ear.0.iter().all(|fate| fate.id() % 2 == 0), "all drops are of the heavy flow");
}

/// Linux commit 815980fe6dbb (2026): an empty bucket forgets that its last packet was late. Otherwise the
/// next packet, which may come an interval later and be late for the same reason, would be dropped although
/// the flow never had a queue.
#[test]
fn fq_codel_forgets_the_delay_of_an_emptied_flow() {
    let [heavy, sparse] = two();
    for variant in ["rfc", "linux"] {
        let mut subject = Subject::new(&format!("fq_codel:variant={variant}:limit=200"), 1);
        for step in 0..20_000u64 {
            // The link sends 14 packets every 14 ms.
            if step % 14 == 0 {
                for _ in 0..14 {
                    subject.dequeue(step * MS);
                }
            }
            for (flow, every) in [(heavy, 1), (heavy, 2), (sparse, 200)] {
                if step % every == 0 {
                    let id = 2 * step + u64::from(flow == sparse);
                    subject.enqueue(step * MS, packet(id, 1000, false, flow));
                }
            }
        }
        assert!(subject.ear.0.iter().any(|fate| matches!(fate, Fate::Drop("codel", _))));
        assert!(subject.ear.0.iter().all(|fate| fate.id() % 2 == 0), "all drops are of the heavy flow");
    }
}

/// BoDe VII-C: with the default classes, EF and VA precede all other packets.
#[test]
fn priority_lets_voice_overtake() {
    let mut subject = Subject::new("priority", 1);
    for (id, dscp) in [0, 46, 10, 44, 0, 46].into_iter().enumerate() {
        subject.enqueue(0, Packet { dscp, ..packet(id as u64, 1500, false, 0) });
    }
    assert_eq!(drain(&mut subject, 0), [1, 3, 5, 0, 2, 4]);
    assert_eq!(subject.qdisc.backlog().packets, 0);
}

/// Strict priority: under overload of the first class the classes below get no service, and their own
/// disciplines still decide.
#[test]
fn priority_starves_lower_classes_under_overload() {
    let mut subject = Subject::new("priority:ef@taildrop+rest@[bode:target=20ms]", 1);
    for step in 0..1000u64 {
        for (id, dscp) in [(2 * step, 46), (2 * step + 1, 0)] {
            subject.enqueue(step * MS, Packet { dscp, ..packet(id, 1500, false, 0) });
        }
        assert_eq!(subject.dequeue(step * MS).map(|p| p.dscp), Some(46));
    }
    assert!(subject.ear.0.iter().all(|fate| matches!(fate, Fate::Drop("tail_limit", _))));
    // BoDe drops at dequeue all packets but those in time and the last three.
    let next = subject.dequeue(999 * MS + 1).map(|p| p.handle);
    assert_eq!(next, Some(2 * 980 + 1), "arrived at 980 ms");
}
