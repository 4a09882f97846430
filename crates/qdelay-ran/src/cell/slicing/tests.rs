//! Elastic quantum partition in a cell: every packet that it chooses is completed in that TTI.

use super::Law;
use crate::cell::{Cell, CellSetting, CellSlice, Elastic, Source, Split, UeSetting};
use crate::radio::{Channel, Mcs, Tdd};
use crate::rlc::RlcSetting;
use crate::slice::Share;
use crate::tables::Carrier;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Span, Time};

struct Queues(Vec<VecDeque<u32>>);

impl Source for Queues {
    fn backlog(&self, bearer: usize) -> Backlog {
        let queue = &self.0[bearer];
        Backlog { packets: queue.len() as u64, bytes: queue.iter().map(|&bytes| u64::from(bytes)).sum() }
    }
    fn sizes(&self, bearer: usize, from: usize, sizes: &mut [u32]) -> usize {
        self.0[bearer].iter().skip(from).zip(sizes).map(|(&bytes, size)| *size = bytes).count()
    }
    fn pull(&mut self, bearer: usize) -> Option<Packet> {
        self.0[bearer].pop_front().map(|bytes| Packet { bytes, ..Packet::default() })
    }
    fn departed(&mut self, _: usize, _: &Packet) {}
    fn delivered(&mut self, _: usize, _: Packet, _: Split) {}
    fn dropped(&mut self, _: usize, _: &Packet, _: DropReason) {}
    fn served(&mut self, _: usize, _: Served) {}
}

/// Every chosen packet is sent whole, for all channels, RLC modes, sizes and numbers of bearers in a block, in
/// special slots too.
#[test]
fn each_chosen_packet_is_sent_whole_in_its_tti() {
    let mut random = Random::derive(1, "slices", "whole");
    let (mut chosen, mut cut) = (0, 0);
    let rlcs = [RlcSetting::transparent(), RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::nr_am()];
    for round in 0..160 {
        let prbs = [6, 15, 25, 100][round % 4];
        let mut setting = CellSetting::new(Carrier::lte(prbs).unwrap())
            .partition(Elastic { limit_rbs: 20 + random.below(200) as u32 }.into())
            .air(Span::ZERO)
            .tdd((round % 3 == 2).then(|| Tdd::new("DDSUD", 10).unwrap()));
        let mut of_slice = vec![Vec::new(); 3];
        let mut number = 0;
        for ue in 0..2 + random.below(4) {
            let mut of_ue = UeSetting::new(Channel::Mcs(Mcs(random.below(29) as u8)));
            for _ in 0..1 + random.below(3) {
                of_ue = of_ue.bearer(rlcs[round / 4 % 4], random.below(3) as u8);
                of_slice[if number < 3 { number } else { (ue % 3) as usize }].push(number);
                number += 1;
            }
            setting = setting.ue(of_ue);
        }
        for bearers in of_slice.into_iter().filter(|bearers| !bearers.is_empty()) {
            let agreed = Share::from_percent(33).unwrap().into();
            setting = setting.with_slice(CellSlice { name: String::new(), agreed, scheduler: None, bearers });
        }
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let mut queues = Queues(vec![VecDeque::new(); number]);
        for tti in 1..200_u64 {
            for bearer in 0..number {
                for _ in 0..random.below(3) {
                    let bytes =
                        if random.below(2) == 0 { 20 + random.below(200) } else { 40 + random.below(1460) };
                    queues.0[bearer].push_back(bytes as u32);
                }
                if queues.0[bearer].len() > 30 {
                    queues.0[bearer].clear();
                }
                cell.wake(Time::from_nanos(tti * 1_000_000 - 1), bearer);
            }
            let before = cell.carrier.account.next;
            cell.run(Time::from_nanos(tti * 1_000_000), &mut queues);
            let slicing = cell.slicing.as_ref().unwrap();
            let Law::Elastic(law) = &slicing.law else { panic!() };
            if cell.carrier.account.next == before {
                continue;
            }
            for whole in law.eqp.whole() {
                let bearer = slicing.heads.list[whole.queue].bearer;
                let load = cell.loads.iter().find(|load| load.bearer == bearer).unwrap();
                assert!(load.left_packets as usize >= whole.packets, "{round}: {whole:?} {load:?}");
                chosen += whole.packets;
            }
            cut += cell.loads.iter().filter(|load| load.sent_bytes > 0 && load.left_packets == 0).count();
        }
    }
    assert!(chosen > 50_000 && cut > 1000, "{chosen} chosen, {cut} cut");
}
