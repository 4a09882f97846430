//! Resource blocks that data above the bearers could have filled, against a count TTI by TTI.

use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Span, Time};
use qdelay_ran::radio::{Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{Cell, CellSetting, ScellSetting, Source, Split, UeSetting};
use qdelay_testing::effort;

/// Queues of equal packets.
struct Queues {
    packets: Vec<u64>,
}

const PACKET_BYTES: u32 = 1000;

impl Source for Queues {
    fn backlog(&self, bearer: usize) -> Backlog {
        let packets = self.packets[bearer];
        Backlog { packets, bytes: packets * u64::from(PACKET_BYTES) }
    }
    fn pull(&mut self, bearer: usize) -> Option<Packet> {
        self.packets[bearer] = self.packets[bearer].checked_sub(1)?;
        Some(Packet { bytes: PACKET_BYTES, ..Packet::default() })
    }
    fn departed(&mut self, _: usize, _: &Packet) {}
    fn delivered(&mut self, _: usize, _: Packet, _: Split) {}
    fn dropped(&mut self, _: usize, _: &Packet, _: DropReason) {}
    fn served(&mut self, _: usize, _: Served) {}
}

/// Resource blocks, in whole groups from the first one on, that carry `bytes` by a search through the table of block sizes.
fn rbs_for(carrier: &Carrier, all: u16, mcs: u8, bytes: u64) -> u64 {
    let ends = (1..=all).filter(|rbs| rbs % carrier.rbg_prbs() == 0 || *rbs == all);
    let enough = ends.clone().find(|rbs| u64::from(carrier.block_bytes(mcs, *rbs)) >= bytes);
    u64::from(if bytes == 0 { 0 } else { enough.unwrap_or(all) })
}

/// Resource blocks of a carrier that the bytes of `rest` could have filled, which are taken from it, one UE after the other until all
/// are filled.
fn taken(carrier: &Carrier, mcs: &[u8], rest: &mut [u64]) -> u64 {
    let (all, mut sum) = (u64::from(carrier.prbs()), 0);
    for (bytes, &mcs) in rest.iter_mut().zip(mcs) {
        if sum < all {
            let rbs = rbs_for(carrier, carrier.prbs(), mcs, *bytes);
            *bytes = bytes.saturating_sub(u64::from(carrier.block_bytes(mcs, rbs as u16)));
            sum += rbs;
        }
    }
    sum.min(all)
}

/// Nothing ever comes to the queues: all resource blocks are left, and data above comes and goes.
#[test]
fn a_cell_without_data_counts_what_waits_above_it() {
    for seed in 0..u64::from(effort::cases(60)) {
        let random = &mut Random::derive(seed, "held back", "idle");
        let prbs = 1 + random.below(100) as u16;
        let carrier =
            Carrier::nr(random.below(4) as u8, prbs.max(11), McsTable::Qam64, 1, Overhead::default())
                .unwrap();
        let ues = 1 + random.below(3) as usize;
        let mcs: Vec<u8> = (0..ues).map(|_| random.below(29) as u8).collect();
        let tdd = (random.below(2) == 0).then(|| Tdd::new("DDSU", 6).unwrap());
        let second = Carrier::nr(0, 24, McsTable::Qam64, 1, Overhead::default()).unwrap();
        let second = (random.below(2) == 0 && carrier.slot() == second.slot()).then_some(second);
        let carriers: Vec<&Carrier> = core::iter::once(&carrier).chain(&second).collect();
        let special = tdd.as_ref().map(|tdd| tdd.special(&carrier).unwrap());
        let mut setting = CellSetting::new(carrier.clone()).tdd(tdd.clone());
        if let Some(second) = &second {
            setting = setting.scell(ScellSetting::new(second.clone()));
        }
        for &mcs in &mcs {
            setting = setting.ue(UeSetting::new(Channel::Mcs(Mcs(mcs))).bearer(RlcSetting::nr_um(), 1));
        }
        let mut cell = Cell::new(setting, seed, "cell").unwrap();
        let slot = carrier.slot();
        let mut above = vec![0_u64; ues];
        let (mut expected, mut tti, mut now) = (0_u64, 0_u64, Time::ZERO);
        for _ in 0..40 {
            now += Span::from_nanos(random.below(5 * slot.as_nanos()));
            // Counts the TTIs that begin before now.
            while Time::ZERO + slot * tti < now {
                let mut rest = above.clone();
                for (number, &carrier) in carriers.iter().enumerate() {
                    let carrier = match &tdd {
                        Some(_) if number == 0 && tti % 4 == 3 => None,
                        Some(_) if number == 0 && tti % 4 == 2 => special.as_ref().and_then(Option::as_ref),
                        _ => Some(carrier),
                    };
                    expected += carrier.map_or(0, |carrier| taken(carrier, &mcs, &mut rest));
                }
                tti += 1;
            }
            let bearer = random.below(ues as u64) as usize;
            above[bearer] = [0, random.below(3000), random.below(200_000)][random.below(3) as usize];
            cell.hold_back(now, bearer, above[bearer]);
            assert_eq!(cell.next_deadline(), Time::NEVER, "data above a cell is no event of it");
        }
        let before = Time::ZERO + slot * (tti - 1);
        assert_eq!(cell.usage(before).held_back_rbs, expected, "{prbs} PRB, {tdd:?}");
        assert_eq!(cell.usage(before).held_back_rbs, expected, "a query changes nothing");
    }
}

/// One packet in the queue and many above it: what the TTI of the packet leaves could have been filled. With data left in the RLC nothing
/// counts as held back.
#[test]
fn what_a_tti_leaves_counts_only_if_the_rlc_is_empty() {
    let carrier = Carrier::lte(25).unwrap();
    let whole = u64::from(carrier.block_bytes(20, 25));
    assert!(whole > 1000 && whole < 2000);
    let ue = |mcs| UeSetting::new(Channel::Mcs(Mcs(mcs))).bearer(RlcSetting::lte_um(), 1);
    let run = |packets: u64, above: u64| {
        let mut cell = Cell::new(CellSetting::new(carrier.clone()).ue(ue(20)), 1, "cell").unwrap();
        let mut queues = Queues { packets: vec![packets] };
        cell.wake(Time::from_nanos(1), 0);
        cell.hold_back(Time::from_nanos(1), 0, above);
        let end = Time::from_nanos(1_000_000);
        run_until(&mut cell, end, &mut queues);
        let usage = cell.usage(end);
        (usage.held_back_rbs, usage.wasted_rbs + usage.unfit_rbs - 25)
    };
    // The first TTI, with the arrival in it, is one without data, and what waits above comes after its beginning.
    let (held, left) = run(1, 100_000);
    assert!(held == left && left > 0, "{held} of {left}");
    assert_eq!(run(1, 0).0, 0);
    assert_eq!(run(2, 100_000).0, 0);
    assert_eq!(run(1, 1).0, u64::from(carrier.rbg_prbs()));
}

fn run_until(cell: &mut Cell, end: Time, queues: &mut Queues) {
    while cell.next_deadline() <= end {
        cell.run(cell.next_deadline(), queues);
    }
}
