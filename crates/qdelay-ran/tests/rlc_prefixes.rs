//! Announced grant sizes of a bearer, compared with its transmissions.

use proptest::prelude::*;
use qdelay_core::{DropReason, Packet, Time};
use qdelay_ran::rlc::*;
use std::collections::VecDeque;

#[derive(Clone, Default)]
struct Host {
    queue: VecDeque<Packet>,
    departed: usize,
    delivered: usize,
}
impl Supply for Host {
    fn pull(&mut self) -> Option<Packet> {
        self.queue.pop_front()
    }
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    fn departed(&mut self, _: &Packet) {
        self.departed += 1;
    }
}
impl Receiver for Host {
    fn delivered(&mut self, _: Packet, _: Split) {
        self.delivered += 1;
    }
    fn dropped(&mut self, _: &Packet, _: DropReason) {}
}

fn settings() -> Vec<RlcSetting> {
    let bare = |setting: RlcSetting| RlcSetting { sdu_overhead_bytes: 0, mac: MacHeader::None, ..setting };
    vec![
        RlcSetting::transparent(),
        RlcSetting::whole_packets(),
        RlcSetting::lte_um(),
        RlcSetting::nr_um(),
        RlcSetting::lte_am(),
        RlcSetting::nr_am(),
        bare(RlcSetting::lte_um()),
        bare(RlcSetting::nr_um()),
    ]
}

fn prefixes(bearer: &Bearer, host: &Host, limit: u64) -> Vec<u32> {
    let mut sizes = host.queue.iter().map(|packet| packet.bytes);
    let mut ends = vec![7];
    bearer.prefixes(limit, || sizes.next(), &mut ends);
    assert_eq!(ends.remove(0), 7, "others' answers are left alone");
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(qdelay_testing::effort::cases(400)))]
    #[test]
    fn an_announced_grant_carries_its_packets_and_a_smaller_one_does_not(
        which in 0_usize..8,
        sizes in prop::collection::vec(prop_oneof![1_u32..40, 100_u32..300, 1000_u32..3000], 1..24),
        before in prop::collection::vec(5_u64..3000, 0..4),
        limit in 100_u64..40_000,
    ) {
        let mut bearer = Bearer::new(settings()[which]).unwrap();
        let mut host = Host::default();
        for (handle, &bytes) in sizes.iter().enumerate() {
            host.queue.push_back(Packet { handle: handle as u64, bytes, ..Packet::default() });
        }
        // Some packets are sent before, one of them in part.
        for grant in before {
            bearer.transmit(Time::ZERO, grant, &mut host);
        }
        host.departed = 0;
        let ends = prefixes(&bearer, &host, limit);
        let waiting = host.queue.len() + bearer.remaining().packets as usize;
        prop_assert!(ends.len() <= waiting);
        prop_assert!(ends.windows(2).all(|two| two[0] < two[1]) && ends.iter().all(|&end| u64::from(end) <= limit));
        for (index, &end) in ends.iter().enumerate() {
            for (grant, enough) in [(u64::from(end), true), (u64::from(end) + 37, true), (u64::from(end) - 1, false)] {
                let (mut bearer, mut host) = (bearer.clone(), host.clone());
                bearer.transmit(Time::ZERO, grant, &mut host);
                prop_assert_eq!(host.departed > index, enough, "{} bytes for {} packets: {:?}", grant, index + 1, ends);
            }
        }
        // Packets that are left out would not fit, or exceed the limit.
        if ends.len() < waiting && ends.len() < 100 {
            let (mut bearer, mut host) = (bearer, host);
            bearer.transmit(Time::ZERO, limit, &mut host);
            prop_assert_eq!(host.departed, ends.len());
        }
    }
}

/// Acknowledged mode: lost data is first, each retransmission as a packet.
#[test]
fn retransmissions_come_before_the_queue() {
    for setting in [RlcSetting::lte_am(), RlcSetting::nr_am()] {
        let mut bearer = Bearer::new(setting).unwrap();
        let mut host = Host::default();
        let send = |host: &mut Host, count: u64| {
            for handle in 0..count {
                host.queue.push_back(Packet { handle, bytes: 500, ..Packet::default() });
            }
        };
        send(&mut host, 2);
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let lost = bearer.transmit(at(0), 600, &mut host).block.unwrap();
        let arrived = bearer.transmit(at(1), 700, &mut host).block.unwrap();
        bearer.lost(at(9), lost, &mut host);
        bearer.received(at(10), arrived, &mut host);
        let mut now = 10;
        while bearer.next_deadline() < Time::NEVER && prefixes(&bearer, &host, 10_000).is_empty() {
            now += 1;
            assert!(now < 300, "the gap is reported");
            bearer.poll(at(now), &mut host);
        }
        send(&mut host, 2);
        let ends = prefixes(&bearer, &host, 10_000);
        // LTE repeats the PDU, NR each of its packets.
        let repeated = if matches!(setting.mode, Mode::LteAm(_)) { 1 } else { 2 };
        assert_eq!(ends.len(), repeated + 2, "{ends:?}");
        let wanted = bearer.wanted_bytes(qdelay_core::qdisc::Backlog { packets: 2, bytes: 1000 });
        let all = u64::from(ends[repeated + 1]);
        assert!(all <= wanted && wanted <= all + 8, "{wanted} {ends:?}");
        host.departed = 0;
        bearer.transmit(at(now + 1), u64::from(ends[repeated - 1]), &mut host);
        assert_eq!(host.departed, 0, "the repetition alone");
        let left: Vec<u32> = prefixes(&bearer, &host, 10_000);
        assert_eq!(left.len(), 2);
        bearer.transmit(at(now + 2), u64::from(left[1]), &mut host);
        assert_eq!(host.departed, 2);
    }
}
