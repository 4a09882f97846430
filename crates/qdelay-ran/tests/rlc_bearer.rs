//! Worked examples of RLC, with bytes counted by hand; and properties in any case.

use proptest::prelude::*;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::rlc::*;
use std::collections::VecDeque;

#[derive(Default)]
struct Host {
    queue: VecDeque<Packet>,
    pulled: u64,
    departed: Vec<u64>,
    delivered: Vec<(u64, Split)>,
    dropped: Vec<(u64, DropReason)>,
}
impl Supply for Host {
    fn pull(&mut self) -> Option<Packet> {
        self.pulled += 1;
        self.queue.pop_front()
    }
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    fn departed(&mut self, packet: &Packet) {
        self.departed.push(packet.handle);
    }
}
impl Receiver for Host {
    fn delivered(&mut self, packet: Packet, split: Split) {
        self.delivered.push((packet.handle, split));
    }
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.dropped.push((packet.handle, reason));
    }
}
impl Host {
    fn with(sizes: &[u32]) -> Host {
        let packet = |(handle, &bytes)| Packet { handle: handle as u64, bytes, ..Packet::default() };
        Host { queue: sizes.iter().enumerate().map(packet).collect(), ..Host::default() }
    }
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.queue.iter().map(|packet| u64::from(packet.bytes)).sum(),
        }
    }
    fn numbers(&self) -> Vec<u64> {
        self.delivered.iter().map(|packet| packet.0).collect()
    }
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}
fn span(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// For each grant: bytes used, bytes of packets, bytes partly taken.
fn grants(setting: RlcSetting, sizes: &[u32], grants: &[u64]) -> Vec<(u64, u64, u64)> {
    let mut bearer = Bearer::new(setting).unwrap();
    let mut host = Host::with(sizes);
    sizes.iter().for_each(|&bytes| bearer.announce(bytes));
    let mut out = Vec::new();
    for &grant in grants {
        let wanted = bearer.wanted_bytes(host.backlog());
        let done = bearer.transmit(Time::ZERO, grant, &mut host);
        assert!(done.used_bytes <= grant && done.used_bytes <= wanted);
        out.push((done.used_bytes, done.sdu_bytes, bearer.remaining().bytes));
    }
    out
}

#[test]
fn whole_packets_count_1500_bytes_each() {
    let setting = RlcSetting::whole_packets();
    assert_eq!(
        grants(setting, &[40, 1500, 200], &[3000, 1499, 9000]),
        [(3000, 3000, 0), (0, 0, 0), (1500, 1500, 0)]
    );
    let bearer = Bearer::new(setting).unwrap();
    assert_eq!(bearer.wanted_bytes(Backlog { packets: 3, bytes: 99 }), 4500);
}

#[test]
fn transparent_mode_waits_for_a_grant_that_holds_the_packet() {
    let setting = RlcSetting::transparent();
    assert_eq!(grants(setting, &[100, 200], &[99, 299, 300]), [(0, 0, 100), (100, 100, 200), (200, 200, 0)]);
}

#[test]
fn lte_concatenates_with_indicators_of_12_bits() {
    // Three packets with 2 bytes of PDCP: 2 fixed, 2 indicators in 3 bytes, 606; MAC's subheader 3.
    let setting = RlcSetting::lte_um();
    assert_eq!(grants(setting, &[100, 200, 300], &[5000]), [(2 + 3 + 606 + 3, 600, 0)]);
    let bearer = Bearer::new(setting).unwrap();
    assert_eq!(bearer.wanted_bytes(Backlog { packets: 3, bytes: 600 }), 614);
    // One indicator takes 2 bytes; with 5-bit numbers the fixed part is 1.
    let mut short = setting;
    short.mode = Mode::LteUm(LteUm { sn_bits: 5, t_reordering: span(50) });
    assert_eq!(grants(short, &[10, 20], &[5000]), [(1 + 2 + 34 + 2, 30, 0)]);
    // Of a grant of 100 bytes the PDU has 98, 2 of them fixed, and 96 of the packet's 102; then come 6 more
    // and the next packet's 92 less an indicator's 2.
    assert_eq!(grants(setting, &[100, 200], &[100, 100]), [(100, 94, 6), (100, 6 + 86, 114)]);
    // A subheader of 3 bytes leaves 127 of a grant of 130, as of 129.
    assert_eq!(
        grants(setting, &[500], &[129, 130, 131]),
        [(129, 123, 377), (129, 125, 252), (131, 126, 126)]
    );
    // Only elements of at most 2047 bytes have a length indicator: the next packet gets its own PDU.
    assert_eq!(grants(setting, &[2045, 50], &[5000]), [(2 + 2 + 2047 + 52 + 3, 2095, 0)]);
    assert_eq!(grants(setting, &[2046, 50], &[5000]), [(2 + 2048 + 3 + 2 + 52 + 2, 2096, 0)]);
}

#[test]
fn nr_gives_each_packet_a_subheader_of_its_own() {
    // Headers: 3 bytes of PDCP, 1 of RLC without number, 2 of MAC up to 255 bytes.
    let setting = RlcSetting::nr_um();
    assert_eq!(grants(setting, &[251, 252], &[5000]), [(2 + 255 + 3 + 256, 503, 0)]);
    // A first segment has a number (2 bytes), later ones an offset too (4).
    assert_eq!(grants(setting, &[1000], &[103, 5000]), [(103, 103 - 2 - 2 - 3, 904), (904 + 4 + 3, 904, 0)]);
    // Acknowledged mode: 3 bytes with an 18-bit number, 5 with the offset.
    let setting = RlcSetting::nr_am();
    assert_eq!(grants(setting, &[1000], &[103, 5000]), [(103, 103 - 2 - 3 - 3, 905), (905 + 5 + 3, 905, 0)]);
    // A grant that has no room for a byte of a packet takes no packet.
    assert_eq!(grants(setting, &[1000], &[5, 6]), [(0, 0, 0), (6, 0, 1000)]);
}

#[test]
fn a_lost_block_loses_its_packets_and_only_those() {
    for setting in [RlcSetting::lte_um(), RlcSetting::nr_um()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[500, 500, 500]);
        // First block: packet 0 and the beginning of 1; second block: the rest of 1 and packet 2.
        let first = bearer.transmit(ms(0), 800, &mut host).block.unwrap();
        let second = bearer.transmit(ms(1), 2000, &mut host).block.unwrap();
        bearer.received(ms(5), second, &mut host);
        bearer.lost(ms(30), first, &mut host);
        assert_eq!(host.dropped, [(0, qdelay_ran::rlc::AIR), (1, qdelay_ran::rlc::AIR)]);
        while bearer.next_deadline() < Time::NEVER {
            let now = bearer.next_deadline();
            bearer.poll(now, &mut host);
        }
        assert_eq!(host.numbers(), [2]);
        assert_eq!(bearer.inside(), Backlog::default());
    }
}

#[test]
fn in_order_delivery_waits_for_a_repeated_block() {
    // The second block arrives first: LTE's RLC and NR's PDCP wait for the first, NR's RLC alone does not.
    let mut without = RlcSetting::nr_um();
    without.mode = Mode::NrUm(NrUm { sn_bits: 12, t_reassembly: span(50), pdcp: None });
    for (setting, expected) in
        [(RlcSetting::lte_um(), [0, 1]), (RlcSetting::nr_um(), [0, 1]), (without, [1, 0])]
    {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[500, 500]);
        let first = bearer.transmit(ms(0), 507, &mut host).block.unwrap();
        let second = bearer.transmit(ms(1), 507, &mut host).block.unwrap();
        bearer.received(ms(5), second, &mut host);
        bearer.received(ms(12), first, &mut host);
        assert_eq!(host.numbers(), expected);
        let of = |number: u64| host.delivered.iter().find(|packet| packet.0 == number).unwrap().1;
        assert_eq!(of(0), Split { air: span(12), ..Split::default() });
        let waited = if expected == [0, 1] { 7 } else { 0 };
        assert_eq!(of(1), Split { air: span(4), reassembly: span(waited), ..Split::default() });
    }
}

#[test]
fn acknowledged_mode_repeats_lost_blocks() {
    for setting in [RlcSetting::lte_am(), RlcSetting::nr_am()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[500, 500]);
        let first = bearer.transmit(ms(0), 600, &mut host).block.unwrap();
        let second = bearer.transmit(ms(1), 600, &mut host).block.unwrap();
        bearer.lost(ms(4), first, &mut host);
        bearer.received(ms(5), second, &mut host);
        assert_eq!(host.departed, [0, 1]);
        assert_eq!(bearer.wanted_bytes(Backlog::default()), 0);
        // The second block polls, but its number counts as missing only after t-Reordering, 50 ms; the report takes 8 and
        // 4 ms.
        let mut now = Time::ZERO;
        while bearer.wanted_bytes(Backlog::default()) == 0 {
            now = bearer.next_deadline();
            bearer.poll(now, &mut host);
        }
        assert_eq!(now, ms(5 + 50 + 8 + 4));
        let again = bearer.transmit(now, 2000, &mut host);
        assert_eq!(again.sdu_bytes, 0);
        bearer.received(ms(71), again.block.unwrap(), &mut host);
        assert_eq!(host.numbers(), [0, 1]);
        assert_eq!(host.delivered[0].1.air + host.delivered[0].1.reassembly, span(71));
        assert_eq!(bearer.inside(), Backlog::default());
    }
}

#[test]
fn a_lost_poll_is_repeated() {
    for setting in [RlcSetting::lte_am(), RlcSetting::nr_am()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[500]);
        for round in 0..3 {
            let wanted = bearer.wanted_bytes(host.backlog());
            assert!(wanted > 0, "round {round}");
            let done = bearer.transmit(ms(80 * round), wanted, &mut host);
            assert_eq!(done.used_bytes, wanted);
            bearer.lost(ms(80 * round + 4), done.block.unwrap(), &mut host);
            assert_eq!(bearer.next_deadline(), ms(80 * round + 80));
            bearer.poll(bearer.next_deadline(), &mut host);
        }
    }
}

#[test]
fn packets_are_dropped_after_too_many_retransmissions() {
    for setting in [RlcSetting::lte_am(), RlcSetting::nr_am()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[500, 1500]);
        let mut now = ms(0);
        let mut sent = 0;
        // The second packet is partly taken and waits behind retransmissions of the first.
        while host.dropped.is_empty() {
            let done = bearer.transmit(now, if sent == 0 { 600 } else { 510 }, &mut host);
            if let Some(block) = done.block {
                sent += 1;
                bearer.lost(now, block, &mut host);
            }
            let next = bearer.next_deadline();
            now = if next == Time::NEVER { now + span(1) } else { next.max(now) };
            bearer.poll(now, &mut host);
            assert!(sent < 100);
        }
        assert_eq!(bearer.counts().reestablished, 1);
        assert_eq!(host.dropped.len(), 2);
        assert!(host.dropped.iter().any(|drop| drop.1 == qdelay_ran::rlc::MAX_RETRANSMISSIONS));
        assert_eq!(bearer.inside(), Backlog::default());
        assert_eq!(bearer.remaining(), Backlog::default());
        // The bearer continues.
        host.queue.push_back(Packet { handle: 7, bytes: 300, ..Packet::default() });
        let block = bearer.transmit(now, 2000, &mut host).block.unwrap();
        bearer.received(now + span(4), block, &mut host);
        while bearer.next_deadline() < Time::NEVER {
            bearer.poll(bearer.next_deadline(), &mut host);
        }
        assert_eq!(host.numbers(), [7]);
    }
}

#[test]
fn complete_packets_are_delivered_at_re_establishment() {
    let mut setting = RlcSetting::lte_am();
    if let Mode::LteAm(am) = &mut setting.mode {
        (am.max_retransmissions, am.t_reassembly, am.t_poll_retransmit) = (1, span(500), span(45));
    }
    let mut bearer = Bearer::new(setting).unwrap();
    let mut host = Host::with(&[500, 500]);
    // One packet in each block: 2 bytes of PDCP, 2 of RLC, 3 of MAC.
    let first = bearer.transmit(ms(0), 507, &mut host).block.unwrap();
    let second = bearer.transmit(ms(1), 507, &mut host).block.unwrap();
    bearer.lost(ms(4), first, &mut host);
    bearer.received(ms(5), second, &mut host);
    // Behind the gap the second PDU waits for its turn; its poll has no answer before t-Reordering, so it is
    // repeated and fails.
    while bearer.counts().reestablished == 0 {
        let now = bearer.next_deadline();
        bearer.poll(now, &mut host);
        if let Some(block) = bearer.transmit(now, 600, &mut host).block {
            bearer.lost(now, block, &mut host);
        }
        bearer.poll(now, &mut host);
    }
    assert_eq!(host.numbers(), [1]);
    assert_eq!(host.dropped, [(0, qdelay_ran::rlc::REESTABLISHED)]);
    assert_eq!(bearer.inside(), Backlog::default());
}

#[test]
fn only_packets_that_are_sent_are_pulled() {
    for setting in [RlcSetting::lte_um(), RlcSetting::lte_am(), RlcSetting::nr_um(), RlcSetting::nr_am()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::with(&[1000, 1000]);
        for grant in 0..5 {
            assert_eq!(bearer.transmit(Time::ZERO, grant, &mut host), Transmitted::default());
        }
        bearer.transmit(Time::ZERO, 600, &mut host);
        assert_eq!(host.pulled, 1);
    }
}

#[test]
fn invalid_settings_are_refused_with_a_reason() {
    let mut um = RlcSetting::lte_um();
    um.mode = Mode::LteUm(LteUm { sn_bits: 12, t_reordering: span(50) });
    assert_eq!(
        Bearer::new(um).unwrap_err().to_string(),
        "sequence numbers cannot have 12 bits; expected 5 or 10"
    );
    um.mode = Mode::LteUm(LteUm { sn_bits: 5, t_reordering: Span::ZERO });
    assert_eq!(Bearer::new(um).unwrap_err().to_string(), "t-Reordering is 0; expected more");
    let with = |change: &dyn Fn(&mut Am)| {
        let mut setting = RlcSetting::lte_am();
        if let Mode::LteAm(am) = &mut setting.mode {
            change(am);
        }
        Bearer::new(setting).unwrap_err()
    };
    assert_eq!(with(&|am| am.sn_bits = 18), RlcError::SnBits { given: 18, expected: "10" });
    assert_eq!(with(&|am| am.max_retransmissions = 0), RlcError::MaxRetransmissions);
    assert_eq!(with(&|am| am.poll_pdu = Some(0)), RlcError::Poll);
    assert_eq!(with(&|am| am.t_status_prohibit = Span::ZERO), RlcError::Timer("t-StatusProhibit"));
    assert_eq!(with(&|am| am.uplink.limit_bytes = 15), RlcError::StatusLimit(15));
    let transparent = |counted_bytes| {
        let mode = Mode::Transparent { counted_bytes };
        Bearer::new(RlcSetting { mode, ..RlcSetting::transparent() })
    };
    assert_eq!(transparent(Some(0)).unwrap_err(), RlcError::CountedBytes);
    assert!(transparent(Some(1)).is_ok());
    let large = RlcSetting { sdu_overhead_bytes: 65, ..RlcSetting::transparent() };
    assert_eq!(Bearer::new(large).unwrap_err(), RlcError::SduOverhead(65));
}

fn settings() -> impl Strategy<Value = RlcSetting> {
    let am = |setting: RlcSetting, bits: u8, limit: u32, prohibit: u64| {
        let mut setting = setting;
        let (Mode::LteAm(am) | Mode::NrAm(NrAm { am, .. })) = &mut setting.mode else { return setting };
        am.sn_bits = bits;
        am.max_retransmissions = limit;
        am.t_status_prohibit = span(prohibit);
        setting
    };
    prop_oneof![
        Just(RlcSetting::whole_packets()),
        Just(RlcSetting::transparent()),
        prop_oneof![Just(5u8), Just(10)].prop_map(|sn_bits| RlcSetting {
            mode: Mode::LteUm(LteUm { sn_bits, t_reordering: span(40) }),
            ..RlcSetting::lte_um()
        }),
        (prop_oneof![Just(6u8), Just(12)], any::<bool>()).prop_map(|(sn_bits, ordered)| {
            let pdcp = ordered.then_some(PdcpReordering { t_reordering: span(60) });
            RlcSetting {
                mode: Mode::NrUm(NrUm { sn_bits, t_reassembly: span(40), pdcp }),
                ..RlcSetting::nr_um()
            }
        }),
        (1u32..9, 1u64..30).prop_map(move |(limit, prohibit)| am(RlcSetting::lte_am(), 10, limit, prohibit)),
        (prop_oneof![Just(12u8), Just(18)], 1u32..9, 1u64..30).prop_map(move |(bits, limit, prohibit)| am(
            RlcSetting::nr_am(),
            bits,
            limit,
            prohibit
        )),
        (0u8..4, any::<bool>(), any::<bool>(), 0u64..60).prop_map(|(mode, is_long, out_of_order, wait)| {
            let rlc = match mode {
                0 => RlcSetting::lte_um(),
                1 => RlcSetting::nr_um(),
                2 => RlcSetting::lte_am(),
                _ => RlcSetting::nr_am(),
            };
            let pdcp = PdcpSetting {
                sn_bits: if is_long { 18 } else { 12 },
                t_reordering: span(wait),
                out_of_order_delivery: out_of_order,
                discard_timer: Span::MAX,
                set_discard: false,
                ciphered: true,
                drops_before: false,
            };
            RlcSetting { pdcp: Some(pdcp), ..rlc }
        }),
    ]
}

#[derive(Clone, Debug)]
enum Op {
    Arrive(u32),
    /// A packet with the next PDCP number is dropped in the queue.
    Skip,
    Transmit(u64),
    /// Ends one of the blocks on the air: the oldest or any.
    End(usize, bool),
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0u32..3000).prop_map(Op::Arrive),
        1 => (0u32..60).prop_map(Op::Arrive),
        1 => Just(Op::Skip),
        4 => (0u64..4000).prop_map(Op::Transmit),
        2 => (0u64..40).prop_map(Op::Transmit),
        4 => (0usize..40, prop::bool::weighted(0.85)).prop_map(|(which, arrived)| Op::End(which, arrived)),
        3 => (0u64..20).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..400)
}

proptest! {
    /// Blocks end in any order, at any time, lost or not: every packet ends once or is still inside, order is
    /// kept where the mode keeps it, grants are kept, deadlines advance, and in the end nothing is left.
    #[test]
    fn packets_end_once_and_in_order(setting in settings(), ops in ops()) {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::default();
        let mut flying = Vec::new();
        let (mut now, mut offered, mut count) = (Time::ZERO, 0u64, 0u32);
        // Numbers of 5 bits wrap around before the last of the old ones arrive.
        let in_order = !matches!(
            setting.mode,
            Mode::Transparent { .. }
                | Mode::LteUm(LteUm { sn_bits: 5, .. })
                | Mode::NrUm(NrUm { pdcp: None, .. })
                | Mode::NrAm(NrAm { pdcp: None, .. })
        );
        let in_order = setting.pdcp.map_or(in_order, |pdcp| !pdcp.out_of_order_delivery);
        for op in ops {
            match op {
                Op::Arrive(bytes) => {
                    host.queue.push_back(Packet { handle: offered, bytes, count, ..Packet::default() });
                    (offered, count) = (offered + 1, count + 1);
                }
                Op::Skip => count += 1,
                Op::Transmit(grant) => {
                    let wanted = bearer.wanted_bytes(host.backlog());
                    let done = bearer.transmit(now, grant, &mut host);
                    prop_assert!(done.used_bytes <= grant);
                    prop_assert!(done.block.is_none() || wanted > 0);
                    prop_assert_eq!(done.block.is_none(), done.used_bytes == 0);
                    flying.extend(done.block);
                }
                Op::End(_, _) if flying.is_empty() => {}
                Op::End(which, true) => {
                    let block = flying.remove(which % flying.len());
                    bearer.received(now, block, &mut host);
                }
                Op::End(which, false) => {
                    let block = flying.remove(which % flying.len());
                    bearer.lost(now, block, &mut host);
                    bearer.lost(now, block, &mut host);
                }
                Op::Wait(wait) => now += span(wait),
            }
            if bearer.next_deadline() <= now {
                bearer.poll(now, &mut host);
                prop_assert!(bearer.next_deadline() > now);
            }
            let ended = (host.delivered.len() + host.dropped.len()) as u64;
            prop_assert_eq!(ended + bearer.inside().packets + host.backlog().packets, offered);
            prop_assert!(bearer.remaining().packets <= bearer.inside().packets);
        }
        // All remaining blocks arrive.
        for _ in 0..10_000 {
            let done = bearer.transmit(now, 20_000, &mut host);
            for block in flying.drain(..).chain(done.block) {
                bearer.received(now, block, &mut host);
            }
            if bearer.inside().packets + host.backlog().packets == 0 {
                break;
            }
            now = if bearer.next_deadline() == Time::NEVER { now + span(1) } else { bearer.next_deadline() };
            bearer.poll(now, &mut host);
        }
        prop_assert_eq!(bearer.inside(), Backlog::default());
        let mut ended: Vec<u64> = host.numbers();
        ended.extend(host.dropped.iter().map(|drop| drop.0));
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..offered).collect::<Vec<u64>>());
        if in_order {
            prop_assert!(host.numbers().is_sorted());
        }
        host.departed.sort_unstable();
        host.departed.dedup();
        prop_assert!(host.departed.len() as u64 <= offered);
    }
}
