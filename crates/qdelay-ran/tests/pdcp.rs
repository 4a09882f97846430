//! The receiving PDCP entity compared with a slow model of TS 38.323 clause 5.2.2 that shares no code with
//! it, and bearers whose packets already have numbers.

use proptest::prelude::*;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_ran::pdcp::{DESYNCHRONIZED, OLD, Outcome, PdcpCounts, PdcpSetting, Reception};
use qdelay_ran::rlc::{Bearer, BlockId, Receiver, RlcSetting, Split, Supply};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

fn setting(sn_bits: u8, t_reordering: Span, out_of_order_delivery: bool) -> PdcpSetting {
    PdcpSetting {
        sn_bits,
        t_reordering,
        out_of_order_delivery,
        discard_timer: Span::MAX,
        set_discard: false,
        ciphered: true,
        drops_before: false,
    }
}
fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}
fn span(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// The model: the variables, buffer and timer of the clause, in milliseconds, with each COUNT written out.
struct Model {
    sn_size: u32,
    t_reordering: Option<u64>,
    out_of_order: bool,
    rx_next: i128,
    rx_deliv: i128,
    rx_reord: i128,
    /// Expiry of t-Reordering while it is running; an inner `None` stands for never.
    running: Option<Option<u64>>,
    /// COUNT and SDU of the packets that are stored and not handed up.
    buffer: BTreeMap<i128, usize>,
    /// Every COUNT that was received.
    received: BTreeSet<i128>,
    events: Vec<(u64, usize, Outcome)>,
    holes: u64,
    stalled_ms: u64,
    packet_ms: u64,
    stalls: u64,
    most: u64,
}

impl Model {
    fn new(sn_size: u32, t_reordering: Option<u64>, out_of_order: bool) -> Model {
        Model {
            sn_size,
            t_reordering,
            out_of_order,
            rx_next: 0,
            rx_deliv: 0,
            rx_reord: 0,
            running: None,
            buffer: BTreeMap::new(),
            received: BTreeSet::new(),
            events: Vec::new(),
            holes: 0,
            stalled_ms: 0,
            packet_ms: 0,
            stalls: 0,
            most: 0,
        }
    }
    fn sn(&self, count: i128) -> i128 {
        count.rem_euclid(1 << self.sn_size)
    }
    fn hfn(&self, count: i128) -> i128 {
        count.div_euclid(1 << self.sn_size)
    }
    fn rcvd_count(&self, rcvd_sn: u32) -> i128 {
        let (rcvd_sn, window_size) = (i128::from(rcvd_sn), 1i128 << (self.sn_size - 1));
        let rcvd_hfn = if rcvd_sn < self.sn(self.rx_deliv) - window_size {
            self.hfn(self.rx_deliv) + 1
        } else if rcvd_sn >= self.sn(self.rx_deliv) + window_size {
            self.hfn(self.rx_deliv) - 1
        } else {
            self.hfn(self.rx_deliv)
        };
        rcvd_hfn * (1 << self.sn_size) + rcvd_sn
    }
    fn receive(&mut self, now: u64, rcvd_sn: u32, sdu: usize) {
        let rcvd_count = self.rcvd_count(rcvd_sn);
        if rcvd_count < self.rx_deliv {
            return self.events.push((now, sdu, Outcome::Old));
        }
        if !self.received.insert(rcvd_count) {
            return self.events.push((now, sdu, Outcome::Duplicate));
        }
        let held = self.buffer.len();
        self.buffer.insert(rcvd_count, sdu);
        if rcvd_count >= self.rx_next {
            self.rx_next = rcvd_count + 1;
        }
        if self.out_of_order {
            self.hand_up(now, rcvd_count);
        }
        if rcvd_count == self.rx_deliv {
            self.consecutive(now, self.rx_deliv);
        }
        if self.running.is_some() && self.rx_deliv >= self.rx_reord {
            self.running = None;
        }
        self.start(now);
        self.stalls += u64::from(held == 0 && !self.buffer.is_empty());
        self.most = self.most.max(self.buffer.len() as u64);
    }
    fn hand_up(&mut self, now: u64, count: i128) {
        if let Some(sdu) = self.buffer.remove(&count) {
            self.events.push((now, sdu, Outcome::Delivered));
        }
    }
    fn consecutive(&mut self, now: u64, from: i128) {
        let mut count = from;
        while self.received.contains(&count) {
            self.hand_up(now, count);
            count += 1;
        }
        self.rx_deliv = count;
    }
    fn start(&mut self, now: u64) {
        if self.running.is_none() && self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.running = Some(self.t_reordering.map(|wait| now + wait));
        }
    }
    /// Advances millisecond by millisecond.
    fn advance(&mut self, from: u64, to: u64) {
        for now in from..to {
            self.stalled_ms += u64::from(!self.buffer.is_empty());
            self.packet_ms += self.buffer.len() as u64;
            self.expire(now + 1);
        }
    }
    fn expire(&mut self, now: u64) {
        while let Some(Some(at)) = self.running
            && at <= now
        {
            self.running = None;
            self.holes +=
                (self.rx_deliv..self.rx_reord).filter(|count| !self.received.contains(count)).count() as u64;
            let below: Vec<i128> = self.buffer.range(..self.rx_reord).map(|(count, _)| *count).collect();
            below.into_iter().for_each(|count| self.hand_up(now, count));
            self.consecutive(now, self.rx_reord);
            self.start(now);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// The number that is this many after the last.
    Next(u32),
    /// A number this many before, which may have come or not.
    Earlier(u32),
    /// Any number.
    Any(u32),
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => Just(Op::Next(1)),
        2 => (1u32..6).prop_map(Op::Next),
        1 => (1u32..3000).prop_map(Op::Next),
        4 => (1u32..12).prop_map(Op::Earlier),
        1 => (1u32..3000).prop_map(Op::Earlier),
        1 => any::<u32>().prop_map(Op::Any),
        4 => (1u64..30).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..600)
}

proptest! {
    /// Under losses, disorder, duplicates, expiries and wrapping sequence numbers: the same packets at the
    /// same times, the same variables, the same statistics.
    #[test]
    fn the_entity_matches_the_model_of_the_clause(
        is_short in any::<bool>(),
        wait in prop_oneof![Just(None), (0u64..50).prop_map(Some)],
        out_of_order in any::<bool>(),
        ops in ops(),
    ) {
        let sn_bits = if is_short { 12 } else { 18 };
        let mut model = Model::new(u32::from(sn_bits), wait, out_of_order);
        let t_reordering = wait.map_or(Span::MAX, span);
        let mut entity = Reception::new(setting(sn_bits, t_reordering, out_of_order));
        let (mut now, mut number, mut told) = (0u64, 0u32, Vec::new());
        for (sdu, op) in ops.into_iter().enumerate() {
            let count = match op {
                Op::Wait(wait) => {
                    model.advance(now, now + wait);
                    while entity.next_deadline() <= ms(now + wait) {
                        let at = entity.next_deadline();
                        entity.poll(at, |sdu, outcome| told.push((at.as_nanos() / 1_000_000, sdu, outcome)));
                    }
                    now += wait;
                    continue;
                }
                Op::Next(step) => {
                    number += step;
                    number - 1
                }
                Op::Earlier(back) => number.saturating_sub(back),
                Op::Any(count) => count,
            };
            let sn = count & ((1 << sn_bits) - 1);
            let expected = model.rcvd_count(sn);
            prop_assert_eq!(entity.count_of(sn).map(i128::from), (expected >= 0).then_some(expected));
            model.receive(now, sn, sdu);
            model.expire(now);
            entity.receive(ms(now), sn, sdu, 100, |sdu, outcome| told.push((now, sdu, outcome)));
            while entity.next_deadline() <= ms(now) {
                entity.poll(ms(now), |sdu, outcome| told.push((now, sdu, outcome)));
            }
            prop_assert_eq!(&told, &model.events);
            prop_assert_eq!(i128::from(entity.rx_deliv()), model.rx_deliv);
            prop_assert_eq!(i128::from(entity.rx_next()), model.rx_next);
            prop_assert_eq!(entity.held(), (model.buffer.len() as u64, 100 * model.buffer.len() as u64));
        }
        prop_assert_eq!(&told, &model.events);
        let counts = entity.counts(ms(now));
        let of = |outcome| model.events.iter().filter(|event| event.2 == outcome).count() as u64;
        prop_assert_eq!(counts.holes, model.holes);
        prop_assert_eq!(counts.old, of(Outcome::Old));
        prop_assert_eq!(counts.duplicates, of(Outcome::Duplicate));
        prop_assert_eq!((counts.stalls, counts.most_packets), (model.stalls, model.most));
        prop_assert_eq!(counts.stalled, span(model.stalled_ms));
        prop_assert_eq!(counts.held_packets, u128::from(model.packet_ms) * 1_000_000);
        prop_assert_eq!(counts.held_bytes, counts.held_packets * 100);
    }
}

/// One bearer with a packet in each millisecond, each in a block that arrives 4 ms later.
struct Steady {
    bearer: Bearer,
    queue: VecDeque<Packet>,
    delivered: Vec<(u64, u32, Split)>,
    dropped: Vec<(u64, u32, DropReason)>,
    now: u64,
}

impl Supply for Steady {
    fn pull(&mut self) -> Option<Packet> {
        self.queue.pop_front()
    }
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    fn departed(&mut self, _: &Packet) {}
}
impl Receiver for Steady {
    fn delivered(&mut self, packet: Packet, split: Split) {
        self.delivered.push((self.now, packet.count, split));
    }
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.dropped.push((self.now, packet.count, reason));
    }
}

impl Steady {
    fn new(rlc: RlcSetting, pdcp: PdcpSetting) -> Steady {
        let bearer = Bearer::new(RlcSetting { pdcp: Some(pdcp), ..rlc }).unwrap();
        Steady { bearer, queue: VecDeque::new(), delivered: Vec::new(), dropped: Vec::new(), now: 0 }
    }
    fn with<T>(&mut self, call: impl FnOnce(&mut Bearer, &mut Steady) -> T) -> T {
        let pdcp = setting(12, Span::MAX, false);
        let rlc = RlcSetting { pdcp: Some(pdcp), ..RlcSetting::nr_um() };
        let mut bearer = core::mem::replace(&mut self.bearer, Bearer::new(rlc).unwrap());
        let result = call(&mut bearer, self);
        self.bearer = bearer;
        result
    }
    /// Runs until `end`; `counts` are the numbers in the order in which they leave the queue, one in each
    /// millisecond. `air` gives the end of a block and its outcome.
    fn run(&mut self, end: u64, counts: &[u32], air: impl Fn(u64) -> (u64, bool)) {
        let mut flying: Vec<(u64, BlockId, bool)> = Vec::new();
        for now in 0..end {
            self.now = now;
            flying.retain(|&(at, block, arrives)| {
                if at == now {
                    self.with(|bearer, host| match arrives {
                        true => bearer.received(ms(now), block, host),
                        false => bearer.lost(ms(now), block, host),
                    });
                }
                at > now
            });
            while self.bearer.next_deadline() <= ms(now) {
                self.with(|bearer, host| bearer.poll(ms(now), host));
            }
            if let Some(&count) = counts.get(now as usize) {
                self.queue.push_back(Packet { count, bytes: 100, ..Packet::default() });
            }
            if let Some(block) = self.with(|bearer, host| bearer.transmit(ms(now), 200, host)).block {
                let (after, arrives) = air(now);
                flying.push((now + after, block, arrives));
            }
        }
        assert_eq!(self.bearer.inside().packets, 0);
        assert_eq!(self.delivered.len() + self.dropped.len(), counts.len());
    }
    fn counts(&self) -> PdcpCounts {
        self.bearer.pdcp(ms(self.now)).unwrap()
    }
    fn times(&self) -> Vec<(u64, u32)> {
        self.delivered.iter().map(|&(at, count, _)| (at, count)).collect()
    }
}

fn modes() -> [RlcSetting; 4] {
    [RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::lte_am(), RlcSetting::nr_am()]
}

/// Number 10 is dropped in the queue. Number 11 is received at 10 + 4 ms: it waits for t-Reordering, and so
/// do all that come until then.
#[test]
fn a_drop_behind_pdcp_stalls_for_t_reordering() {
    let counts: Vec<u32> = (0..200).filter(|count| *count != 10).collect();
    for rlc in modes() {
        let mut run = Steady::new(rlc, setting(12, span(60), false));
        run.run(1000, &counts, |_| (4, true));
        let expected: Vec<(u64, u32)> = (0..10)
            .map(|count| (u64::from(count) + 4, count))
            .chain((11..200).map(|count| (u64::from(count - 1 + 4).max(14 + 60), count)))
            .collect();
        assert_eq!(run.times(), expected, "{rlc:?}");
        let counts = run.counts();
        assert_eq!((counts.holes, counts.expiries, counts.stalls, counts.old), (1, 1, 1, 0));
        assert_eq!((counts.stalled, counts.most_packets, counts.most_bytes), (span(60), 61, 6100));
        // Packets wait 60, 59... 1 ms; the one that arrives as the timer runs out does not wait.
        assert_eq!(counts.held_packets, 60 * 61 / 2 * 1_000_000);
        let waited = |split: Split| {
            (split.air.as_millis(), split.reassembly.as_millis(), split.reordering.as_millis())
        };
        assert_eq!(waited(run.delivered[10].2), (4, 0, 60));
        assert_eq!(waited(run.delivered[69].2), (4, 0, 1));
        assert_eq!(waited(run.delivered[70].2), (4, 0, 0));
    }
}

/// With numbers given as packets leave the queue the same drop causes no delay; neither does it with delivery
/// out of order, or a timer of zero.
#[test]
fn without_a_gap_or_a_wait_there_is_no_stall() {
    let with_hole: Vec<u32> = (0..50).filter(|count| *count != 10).collect();
    let without: Vec<u32> = (0..49).collect();
    let at_once: Vec<u64> = (4..53).collect();
    for rlc in modes() {
        for (pdcp, counts) in [
            (setting(12, span(60), false), &without),
            (setting(12, span(60), true), &with_hole),
            (setting(18, Span::ZERO, false), &with_hole),
        ] {
            let mut run = Steady::new(rlc, pdcp);
            run.run(400, counts, |_| (4, true));
            let times: Vec<u64> = run.times().iter().map(|(at, _)| *at).collect();
            assert_eq!((times, run.counts().stalled), (at_once.clone(), Span::ZERO), "{rlc:?} {pdcp:?}");
        }
    }
}

/// HARQ repeats a block: NR's packets behind it wait until it has come, and no longer. LTE's RLC has waited
/// for it already.
#[test]
fn a_repetition_ends_the_stall() {
    let counts: Vec<u32> = (0..40).collect();
    for (rlc, is_nr) in [(RlcSetting::nr_um(), true), (RlcSetting::lte_um(), false)] {
        let mut run = Steady::new(rlc, setting(12, span(60), false));
        run.run(400, &counts, |sent| (if sent == 10 { 20 } else { 4 }, true));
        let expected: Vec<(u64, u32)> = (0..40)
            .map(|count| {
                (if count < 10 { u64::from(count) + 4 } else { u64::from(count + 4).max(30) }, count)
            })
            .collect();
        assert_eq!(run.times(), expected);
        let stalled = if is_nr { span(30 - 15) } else { Span::ZERO };
        assert_eq!((run.counts().stalled, run.counts().holes), (stalled, 0));
    }
}

/// A block is lost for good: unacknowledged mode waits t-Reordering for the gap; acknowledged mode until RLC
/// has sent it again.
#[test]
fn without_acknowledgements_a_lost_block_is_a_gap() {
    let counts: Vec<u32> = (0..300).collect();
    let mut um = Steady::new(RlcSetting::nr_um(), setting(12, span(100), false));
    um.run(1000, &counts, |sent| (4, sent != 10));
    assert_eq!(um.counts().stalled, span(100));
    assert_eq!((um.counts().holes, um.dropped.len()), (1, 1));
    let mut am = Steady::new(RlcSetting::nr_am(), setting(12, span(300), false));
    am.run(1000, &counts, |sent| (4, sent != 10));
    // From number 11 at 15 ms: t-Reassembly of 50 ms, 8 ms until the report, 4 ms for its transmission, and 4
    // ms for the repetition.
    assert_eq!(am.counts().stalled, span(50 + 8 + 4 + 4));
    assert_eq!((am.counts().holes, am.dropped.len()), (0, 0));
}

/// A queue with priorities lets number 20 leave before 10 to 19: it waits for them at the UE, unless they
/// take longer than t-Reordering. Then they are too old.
#[test]
fn overtaking_behind_pdcp_gains_nothing() {
    let counts: Vec<u32> = (0..10).chain([20]).chain(10..20).chain(21..60).collect();
    let mut run = Steady::new(RlcSetting::nr_um(), setting(12, span(100), false));
    run.run(400, &counts, |_| (4, true));
    assert!(run.times().iter().map(|(_, count)| *count).eq(0..60));
    assert_eq!(run.times()[20], (24, 20), "no sooner than 19, which left at 20");
    assert_eq!(run.counts().stalled, span(10));
    let mut run = Steady::new(RlcSetting::nr_um(), setting(12, span(5), false));
    run.run(400, &counts, |_| (4, true));
    assert_eq!(run.times()[10..16], [(15, 10), (16, 11), (17, 12), (18, 13), (19, 14), (19, 20)]);
    let old: Vec<(u64, u32, DropReason)> = (15..20).map(|count| (u64::from(count) + 5, count, OLD)).collect();
    assert_eq!(run.dropped, old);
    assert_eq!((run.counts().holes, run.counts().old), (5, 5));
}

/// More than half of all numbers are dropped in a row: the UE assigns wrong numbers to the rest, and cannot
/// decipher them until all numbers have wrapped around.
#[test]
fn half_of_all_numbers_lost_is_desynchronization() {
    let counts: Vec<u32> = (0..10).chain(10 + 2048..10 + 2048 + 20).collect();
    let mut run = Steady::new(RlcSetting::nr_um(), setting(12, span(20), false));
    run.run(400, &counts, |_| (4, true));
    assert_eq!(run.delivered.len(), 10);
    assert!(run.dropped.iter().all(|drop| drop.2 == OLD), "{:?}", run.dropped);
    // After the first round the numbers are assigned to the wrong round.
    let counts: Vec<u32> = (0..10).chain(5000..5020).collect();
    let mut run = Steady::new(RlcSetting::nr_um(), setting(12, span(20), false));
    run.run(400, &counts, |_| (4, true));
    assert!(run.dropped.iter().all(|drop| drop.2 == DESYNCHRONIZED), "{:?}", run.dropped);
    assert_eq!((run.delivered.len(), run.counts().desynchronized), (10, 20));
    // With 18 bits there is no desynchronization.
    let mut run = Steady::new(RlcSetting::nr_um(), setting(18, span(20), false));
    run.run(400, &counts, |_| (4, true));
    assert_eq!((run.delivered.len(), run.counts().holes), (30, 4990));
}
