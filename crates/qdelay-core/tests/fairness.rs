//! Fairness bounds proved for the disciplines that share a link between flows, over random arrivals.

use crate::drive::{Subject, apart, packet};
use proptest::prelude::*;
use qdelay_core::Packet;
use qdelay_core::qdisc::Qdisc;
use std::collections::VecDeque;

/// A discipline with flows that are always backlogged.
struct Backlogged {
    subject: Subject,
    flows: Vec<u32>,
    /// Number of queued packets of each flow.
    queued: Vec<u32>,
    /// Packet sizes, used in turn.
    sizes: VecDeque<u32>,
    sent: u64,
}

impl Backlogged {
    fn new(text: &str, flows: Vec<u32>, sizes: &[u32]) -> Backlogged {
        let queued = vec![0; flows.len()];
        let sizes = sizes.iter().copied().collect();
        Backlogged { subject: Subject::new(text, 1), flows, queued, sizes, sent: 0 }
    }
    fn size(&mut self) -> u32 {
        self.sizes.rotate_left(1);
        self.sizes[0]
    }
    fn send(&mut self, flow: u32, bytes: u32) {
        let one = packet(self.sent, bytes, false, flow);
        self.subject.enqueue(0, Packet { class: flow as u16, ..one });
        self.sent += 1;
    }
    /// Tops every flow up to two packets, and dequeues one packet.
    fn serve(&mut self) -> Packet {
        for index in 0..self.flows.len() {
            while self.queued[index] < 2 {
                self.queued[index] += 1;
                let bytes = self.size();
                self.send(self.flows[index], bytes);
            }
        }
        let gone = self.subject.dequeue(0).expect("there are packets");
        if let Some(index) = self.flows.iter().position(|flow| *flow == gone.flow) {
            self.queued[index] -= 1;
        }
        assert!(self.subject.ear.0.is_empty(), "there is room for all");
        gone
    }
}

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    (40..1500u32, 40..=1500u32).prop_flat_map(|(a, b)| prop::collection::vec(a.min(b)..=a.max(b), 1..40))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    /// Shreedhar and Varghese 1996, section 4.1: over any interval in which two flows are backlogged, the
    /// bytes sent of each differ by at most Q + 2 Max (their fairness measure for equal quanta), at any load
    /// of the others. Each flow's service in m rounds is m Q, less than Max of deficit off at either end, and
    /// their rounds differ by one at most. A packet counts with its overhead.
    #[test]
    fn drr_two_backlogged_flows_never_differ_by_more_than_a_quantum_and_two_packets(
        quantum in 100..3000u64,
        overhead in 0..60u32,
        large in sizes(),
        small in sizes(),
        others in prop::collection::vec((0..4u32, 40..=1500u32, 0..3u32), 0..200),
        steady in 0..4usize,
    ) {
        let text = format!("drr:by=class:quantum={quantum}b:overhead={overhead}b:limit=100000");
        let all: Vec<u32> = (2..2 + steady as u32).collect();
        let mut run = Backlogged::new(&text, all, &[1500, 40, 700]);
        let sizes = [large, small];
        let mut queued = [0u64; 2];
        let mut taken = [0usize; 2];
        // Service of the first flow less that of the second: its largest and smallest so far.
        let (mut difference, mut most, mut least) = (0i64, 0i64, 0i64);
        for round in 0..600 {
            for flow in 0..2 {
                while queued[flow] < 2 {
                    queued[flow] += 1;
                    run.send(flow as u32, sizes[flow][taken[flow] % sizes[flow].len()]);
                    taken[flow] += 1;
                }
            }
            // Other flows come and go.
            if let Some((flow, bytes, count)) = others.get(round) {
                (0..*count).for_each(|_| run.send(10 + flow, *bytes));
            }
            let gone = run.serve();
            if gone.flow < 2 {
                queued[gone.flow as usize] -= 1;
                difference += if gone.flow == 0 { 1 } else { -1 } * i64::from(gone.bytes + overhead);
                (most, least) = (most.max(difference), least.min(difference));
            }
        }
        let max = sizes.iter().flatten().max().copied().unwrap_or(0) + overhead;
        let bound = quantum as i64 + 2 * i64::from(max);
        prop_assert!(most - least <= bound, "{} > {bound}", most - least);
    }

    /// A flow that sends a packet only when it has none queued waits for the others' allotments once at most:
    /// each has up to a quantum left and ends on a packet that is begun within it.
    #[test]
    fn a_sparse_flow_waits_for_one_round_of_the_others(
        name in prop::sample::select(&["sfq:limit=65536", "fq_codel:target=100s:interval=100s"][..]),
        quantum in 256..3000u64,
        overhead in 0..60u64,
        sizes in sizes(),
        bulk in 1..8usize,
        pauses in prop::collection::vec((0..30u32, 40..256u32), 1..60),
        skip in any::<u16>(),
    ) {
        let mut flows = apart(bulk + 1, 1024, skip.into());
        let sparse = flows.pop().unwrap_or(0);
        let mut run = Backlogged::new(&format!("{name}:quantum={quantum}b:overhead={overhead}b"), flows, &sizes);
        let max = u64::from(sizes.iter().max().copied().unwrap_or(0)) + overhead;
        let round = bulk as u64 * (quantum + max - 1);
        for (pause, bytes) in pauses {
            for _ in 0..pause {
                prop_assert!(run.serve().flow != sparse);
            }
            run.send(sparse, bytes);
            let mut before = 0;
            loop {
                let gone = run.serve();
                if gone.flow == sparse {
                    break;
                }
                before += u64::from(gone.bytes) + overhead;
                prop_assert!(before <= round, "{before} bytes went first, {round} are a round");
            }
        }
    }

    /// RFC 8290 section 4.2: new flows precede all flows that have used up a quantum, in the order of their
    /// first packets, each up to its own quantum.
    #[test]
    fn fq_codel_serves_new_flows_before_old_ones(
        quantum in 256..3000u64,
        overhead in 0..50u32,
        sizes in sizes(),
        bulk in 1..8usize,
        new in 1..5usize,
        times in 1..5usize,
        skip in any::<u16>(),
    ) {
        let mut flows = apart(bulk + new * times, 65536, skip.into());
        let mut fresh = flows.split_off(bulk);
        let text = format!("fq_codel:flows=65536:target=100s:interval=100s:quantum={quantum}b:overhead={overhead}b");
        // Sizes that together take exactly the quantum, with the overhead of each.
        let both = [quantum as u32 - 100 - overhead, 100 - overhead];
        let mut run = Backlogged::new(&text, flows, &sizes);
        // Enough packets for each old flow to spend its first quantum.
        let mut bytes = 0;
        while bytes < bulk as u64 * (quantum + 1500) {
            bytes += u64::from(run.serve().bytes);
        }
        while !fresh.is_empty() {
            let now: Vec<u32> = fresh.drain(..new).collect();
            for flow in &now {
                both.iter().for_each(|bytes| run.send(*flow, *bytes));
                // One more packet of each, which has to wait its turn.
                run.send(*flow, 40);
            }
            for flow in &now {
                for bytes in both {
                    let gone = run.serve();
                    prop_assert_eq!((gone.flow, gone.bytes), (*flow, bytes));
                }
            }
            // The remaining packets of the new flows leave before the next flows come.
            let mut left = new;
            while left > 0 {
                left -= usize::from(now.contains(&run.serve().flow));
            }
        }
    }

    /// No class is served while a higher one holds a packet, and within a class (of one queue) the oldest
    /// packet is served.
    #[test]
    fn priority_never_serves_a_class_while_a_higher_one_holds_a_packet(
        operations in prop::collection::vec(prop_oneof![
            3 => prop::sample::select(&[46u8, 44, 8, 9, 0, 63, 34]).prop_map(Some),
            3 => Just(None),
        ], 0..400),
    ) {
        let mut subject = Subject::new(
            "priority:ef@taildrop+8-15/va@[priority:8@[drr:limit=500]+rest@headdrop]+rest@[pie:target=100s]",
            1,
        );
        let rank = |dscp: u8| match dscp {
            46 => 0,
            8 => 1,
            9..16 | 44 => 2,
            _ => 3,
        };
        let mut held: [VecDeque<u64>; 4] = Default::default();
        for (step, operation) in operations.into_iter().enumerate() {
            let id = step as u64;
            if let Some(dscp) = operation {
                held[rank(dscp)].push_back(id);
                subject.enqueue(id, Packet { dscp, ..packet(id, 1000, false, 0) });
            } else {
                let highest = held.iter_mut().find(|class| !class.is_empty());
                let expected = highest.and_then(|class| class.pop_front());
                prop_assert_eq!(subject.dequeue(id).map(|p| p.handle), expected);
            }
            prop_assert!(subject.ear.0.is_empty());
            let highest = held.iter().find_map(|class| class.front());
            prop_assert_eq!(subject.qdisc.head().map(|p| p.handle), highest.copied());
        }
    }
}
