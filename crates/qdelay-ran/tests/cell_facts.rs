//! Cells with figures known without simulation: closed forms, shares of schedulers, HARQ as geometric trials.

use crate::cell_common::*;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::{Random, Span, Time};
use qdelay_ran::mac::{MaxThroughput, ProportionalFair, RoundRobin};
use qdelay_ran::radio::{Bler, Channel, Control, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::*;

fn lte(prbs: u16) -> CellSetting {
    CellSetting::new(Carrier::lte(prbs).unwrap())
}
fn one(mcs: u8, rlc: RlcSetting) -> UeSetting {
    UeSetting::new(Channel::Mcs(Mcs(mcs))).bearer(rlc, 1)
}
fn build(setting: CellSetting) -> Cell {
    Cell::new(setting, 7, "cell").unwrap()
}
fn loss(bler: f64, retransmissions: u8) -> HarqSetting {
    HarqSetting { bler: Bler::new(bler, Bler::SLOPE).unwrap(), retransmissions, ..HarqSetting::default() }
}
/// Arrivals of packets of `bytes` for a queue that never runs empty until `end`: all come at the beginning.
fn backlog(bearer: usize, packets: usize, bytes: u32) -> Vec<Arrival> {
    (0..packets).map(|_| (1, bearer, bytes)).collect()
}
/// Number of whole packets that a TTI of 10 ms at MCS 28 and 25 PRB carries.
const PACKETS: u64 = 15;

#[test]
fn a_burst_leaves_as_many_packets_a_tti_as_fit() {
    // D/D/K queue: packet i of a burst leaves in the TTI that carries it.
    let setting = lte(25).tti(ms(10)).unit(SizeUnit::Packets).air(ms(3));
    let mut cell = build(setting.ue(one(28, RlcSetting::whole_packets())));
    let arrivals: Vec<Arrival> = (0..100).map(|n| (25 * MS, 0, 40 + n * 10)).collect();
    let host = drive(&mut cell, &arrivals, 1000 * MS);
    for (handle, (time, _, delivered, split)) in host.delivered().enumerate() {
        assert_eq!(delivered, handle as u64);
        assert_eq!(time, (30 + 10 * (handle as u64 / PACKETS) + 3) * MS);
        assert_eq!((split.air, split.reassembly), (ms(3), Span::ZERO));
    }
    assert_eq!(host.delivered().count(), 100);
    let served: Vec<_> = host.served(0).collect();
    assert_eq!(served.len() as u64, 100_u64.div_ceil(PACKETS), "only TTIs with data are reported");
    for (n, (time, served)) in served.iter().enumerate() {
        let left = 100_u64.saturating_sub((n as u64 + 1) * PACKETS);
        assert_eq!(*time, (30 + 10 * n as u64) * MS);
        assert_eq!(served.capacity_bytes, PACKETS * 1500);
        assert_eq!((served.remaining_packets, served.remaining_bytes), (left, left * 1500));
        assert_eq!(served.sent_bytes, u64::from(served.left_packets) * 1500);
        assert_eq!(served.left_sojourn, ms(5 + 10 * n as u64) * u64::from(served.left_packets));
    }
    audit(&cell, &host, &arrivals);
}

#[test]
fn poisson_arrivals_wait_as_in_a_slotted_queue() {
    // One packet a TTI. The mean wait from arrival to service is half a TTI plus that of M/D/1.
    for (load, packets) in [(0.3, 100_000), (0.5, 200_000), (0.8, 600_000)] {
        // A TTI of 1500 to 2999 bytes carries one packet.
        let setting = lte(25).unit(SizeUnit::Packets).ue(one(28, RlcSetting::whole_packets()));
        let mut cell = build(setting);
        let mut random = Random::derive(3, "arrivals", "poisson");
        let mut time = 0.0;
        let arrivals: Vec<Arrival> = (0..packets)
            .map(|_| {
                time += random.exponential() / load * 1e6;
                (time as u64, 0, 1500)
            })
            .collect();
        let host = drive(&mut cell, &arrivals, u64::MAX / 2);
        let waits = host.delivered().map(|(at, _, handle, split)| {
            Time::from_nanos(at)
                .since(Time::from_nanos(arrivals[handle as usize].0))
                .saturating_sub(split.air)
        });
        let mean = waits.map(Span::as_millis_f64).sum::<f64>() / f64::from(packets);
        let expected = 0.5 + load / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.02, "load {load}: {mean} ms, expected {expected}");
    }
}

#[test]
fn transmissions_are_geometric_trials() {
    // A packet every 60 ms is alone in the cell: its delay shows the number of its transmissions.
    let (p, packets) = (0.3_f64, 40_000);
    let setting = lte(25).harq(loss(p, 3)).ue(one(20, RlcSetting::transparent()));
    let mut cell = build(setting);
    let arrivals: Vec<Arrival> = (0..packets).map(|n| (n * 60 * MS + 300_000, 0, 200)).collect();
    let host = drive(&mut cell, &arrivals, (packets + 1) * 60 * MS);
    let mut counts = [0; 5];
    for (time, _, handle, split) in host.delivered() {
        let delay = time - arrivals[handle as usize].0;
        // The delay is 0.7 ms to the TTI, 4 ms on the air, and 8 ms for each repetition.
        let repeated = (delay - 4_700_000) / (8 * MS);
        assert_eq!(delay, 4_700_000 + repeated * 8 * MS);
        assert_eq!(split.air.as_nanos(), delay - 700_000);
        counts[repeated as usize] += 1;
    }
    for (time, _, handle, reason) in host.dropped() {
        assert_eq!((time - arrivals[handle as usize].0, reason), (700_000 + 28 * MS, qdelay_ran::rlc::AIR));
        counts[4] += 1;
    }
    for (n, &count) in counts.iter().enumerate() {
        let share = if n < 4 { p.powi(n as i32) * (1.0 - p) } else { p.powi(4) };
        let (mean, deviation) = (share * packets as f64, (packets as f64 * share * (1.0 - share)).sqrt());
        assert!(
            (f64::from(count) - mean).abs() < 4.0 * deviation,
            "{n} repetitions: {count}, expected {mean}"
        );
    }
    let usage = cell.usage(host.now);
    let repetitions: u64 = (0..4).map(|n| n * counts[n as usize] as u64).sum::<u64>() + 3 * counts[4] as u64;
    assert_eq!(usage.used_rbs % (packets + repetitions), 0, "each block fills as many resource blocks");
    assert_eq!(usage.repeated_rbs * (packets + repetitions), usage.used_rbs * repetitions);
    audit(&cell, &host, &arrivals);
}

#[test]
fn without_retransmissions_lost_blocks_are_dropped() {
    let setting = lte(25).harq(loss(1.0, 0)).ue(one(20, RlcSetting::transparent()));
    let mut cell = build(setting);
    let arrivals = [(MS / 2, 0, 1000), (7 * MS, 0, 1000)];
    let host = drive(&mut cell, &arrivals, 50 * MS);
    let dropped: Vec<_> = host.dropped().map(|(time, ..)| time).collect();
    assert_eq!(dropped, [5 * MS, 12 * MS], "reported at the time of decoding");
    audit(&cell, &host, &arrivals);
}

/// Bytes that left each of the cell's bearers within a second, all backlogged.
fn shares(setting: CellSetting) -> (Vec<u64>, CellUsage) {
    let mut cell = build(setting);
    let arrivals: Vec<Arrival> = (0..cell.bearers()).flat_map(|bearer| backlog(bearer, 6000, 1000)).collect();
    let host = drive(&mut cell, &arrivals, 1000 * MS);
    audit(&cell, &host, &arrivals);
    let sent = |bearer| host.served(bearer).map(|(_, served)| served.sent_bytes).sum();
    ((0..cell.bearers()).map(sent).collect(), cell.usage(host.now))
}
fn near(found: u64, expected: f64, relative: f64) {
    assert!((found as f64 / expected - 1.0).abs() < relative, "{found}, expected {expected}");
}

#[test]
fn schedulers_share_resource_blocks_or_time() {
    let (mcs, um) = ([4, 16, 28], RlcSetting::lte_um());
    let with = |scheduler| {
        let setting = lte(50).scheduler(scheduler);
        shares(mcs.iter().fold(setting, |setting, &mcs| setting.ue(one(mcs, um))))
    };
    let alone: Vec<f64> = mcs.iter().map(|&mcs| shares(lte(50).ue(one(mcs, um))).0[0] as f64).collect();
    // Round robin gives a third of the resource blocks each, proportional fair a third of the TTIs each.
    for scheduler in [Scheduler::from(RoundRobin), ProportionalFair { window: ms(50) }.into()] {
        let (sent, usage) = with(scheduler);
        for (sent, alone) in sent.iter().zip(&alone) {
            near(*sent, alone / 3.0, 0.06);
        }
        assert_eq!((usage.wasted_rbs, usage.unfit_rbs), (50, 0), "all but the first TTI");
        near(usage.offered_bytes, alone.iter().sum::<f64>() / 3.0, 0.06);
    }
    let (sent, _) = with(MaxThroughput.into());
    assert_eq!(sent[..2], [0, 0]);
    near(sent[2], alone[2], 1e-9);
}

#[test]
fn proportional_fair_gives_a_bursty_ue_its_turn() {
    // A UE that sends seldom has a small average: it waits for the next TTI only.
    let um = RlcSetting::lte_um();
    let setting = lte(25).scheduler(ProportionalFair { window: ms(100) });
    let mut cell = build(setting.ue(one(28, um)).ue(one(10, um)));
    let mut arrivals = backlog(0, 3000, 1500);
    arrivals.extend((1..41).map(|n| (n * 20 * MS + 500_000, 1, 200)));
    arrivals.sort();
    let host = drive(&mut cell, &arrivals, 900 * MS);
    for (time, bearer, handle, _) in host.delivered() {
        if bearer == 1 {
            assert_eq!(time - arrivals[handle as usize].0, 500_000 + 4 * MS);
        }
    }
    assert_eq!(host.delivered().filter(|found| found.1 == 1).count(), 40);
}

#[test]
fn bearers_of_a_ue_share_by_priority() {
    let um = RlcSetting::lte_um();
    let ue = |priorities: &[u8]| {
        priorities.iter().fold(UeSetting::new(Channel::Mcs(Mcs(28))), |ue, &priority| ue.bearer(um, priority))
    };
    let sent = |setting| shares(setting).0;
    let strict = sent(lte(25).ue(ue(&[3, 1, 2])));
    assert_eq!([strict[0], strict[2]], [0, 0], "the lowest number is first");
    let turns = sent(lte(25).ue(ue(&[2, 2])));
    near(turns[0], strict[1] as f64 / 2.0, 0.01);
    near(turns[1], strict[1] as f64 / 2.0, 0.01);
    let equal = sent(lte(25).ue(ue(&[1, 2, 3])).sharing(Sharing::EqualShare));
    equal.iter().for_each(|&sent| near(sent, strict[1] as f64 / 3.0, 0.02));
}

#[test]
fn equal_shares_waste_unused_bytes() {
    // 6 PRB at MCS 28 carry 549 bytes: 274 for each of two bearers. One has 100 bytes.
    let tm = RlcSetting::transparent();
    let ue = UeSetting::new(Channel::Mcs(Mcs(28))).bearer(tm, 1).bearer(tm, 1);
    let mut cell = build(lte(6).ue(ue).sharing(Sharing::EqualShare));
    let mut arrivals = backlog(0, 30, 137);
    arrivals.push((2, 1, 100));
    let host = drive(&mut cell, &arrivals, 20 * MS);
    let first: Vec<_> = host.log.iter().filter(|event| event.time == MS).collect();
    let left =
        |bearer| first.iter().filter(|e| e.bearer == bearer && matches!(e.what, Notice::Departed(_))).count();
    assert_eq!((left(0), left(1)), (2, 1), "274 bytes, not 449");
    assert_eq!(host.served(0).next().unwrap().1.capacity_bytes, 274);
    let later = host.log.iter().filter(|e| e.time == 2 * MS && matches!(e.what, Notice::Departed(_))).count();
    assert_eq!(later, 4, "alone again: 549 bytes");
}

#[test]
fn every_ue_progresses_on_the_worst_channel() {
    // At MCS 0 a resource block carries 2 bytes, less than any header.
    let setting = (0..20).fold(lte(6), |setting, _| setting.ue(one(0, RlcSetting::lte_um())));
    let mut cell = build(setting);
    let arrivals: Vec<Arrival> = (0..20).flat_map(|bearer| backlog(bearer, 200, 100)).collect();
    let host = drive(&mut cell, &arrivals, 4000 * MS);
    let sent: Vec<u64> =
        (0..20).map(|bearer| host.served(bearer).map(|(_, served)| served.sent_bytes).sum()).collect();
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    assert!(*least > 1000 && most - least <= 40, "{sent:?}");
}

#[test]
fn slots_of_125_us_have_their_timing() {
    let carrier = Carrier::nr(3, 66, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let slot = 125_000;
    assert_eq!(carrier.slot().as_nanos(), slot);
    let mut cell = build(CellSetting::new(carrier).ue(one(15, RlcSetting::nr_um())));
    let arrivals = [(slot / 2, 0, 300), (5 * slot, 0, 300), (9 * slot + 1, 0, 300)];
    let host = drive(&mut cell, &arrivals, 100 * slot);
    let times: Vec<u64> = host.delivered().map(|(time, ..)| time).collect();
    // The next slot, the slot itself, and two slots for decoding.
    assert_eq!(times, [4 * slot, 9 * slot, 13 * slot]);
    assert_eq!(cell.usage(host.now).offered_rbs, 101 * 66);
}

#[test]
fn the_capacity_is_that_of_the_testbed() {
    let um = RlcSetting::lte_um();
    let (sent, usage) = shares(lte(25).control(Control::TESTBED).ue(one(28, um)));
    assert_eq!(usage.offered_rbs, 1001 * 25 - 201 * 8);
    assert_eq!(usage.used_rbs, usage.offered_rbs - 17, "all but the first TTI, which has control");
    // The thesis measured 16.58 Mbit/s without headers of TCP; 1500-byte packets give 16.7.
    let mbit = sent[0] as f64 * 8.0 / 1e6;
    assert!((16.5..17.2).contains(&mbit), "{mbit}");
}

#[test]
fn ttis_of_10_ms_carry_the_bytes_of_ten_slots() {
    let um = RlcSetting::lte_um();
    let ((slots, _), (ttis, usage)) =
        (shares(lte(25).ue(one(28, um))), shares(lte(25).tti(ms(10)).ue(one(28, um))));
    near(ttis[0], slots[0] as f64, 0.003);
    assert_eq!(usage.offered_rbs, 101 * 250);
    assert_eq!(usage.used_rbs, 100 * 250);
}

#[test]
fn idle_ttis_cost_nothing_and_count() {
    let mut cell = build(lte(25).ue(one(28, RlcSetting::lte_um())).control(Control::TESTBED));
    let arrivals = [(3_600_000 * MS + 1, 0, 100)];
    let host = drive(&mut cell, &arrivals, 3_700_000 * MS);
    assert!(host.runs <= 3, "an hour without data: {} runs", host.runs);
    let usage = cell.usage(host.now);
    assert_eq!(usage.offered_rbs, 3_700_001 * 25 - 740_001 * 8);
    assert_eq!((usage.used_rbs, usage.unfit_rbs), (2, 0));
    let whole = Carrier::lte(25).unwrap();
    let (full, reduced) = (whole.block_bytes(28, 25), whole.block_bytes(28, 17));
    let offered = 740_001 * u64::from(reduced) + (3_700_001 - 740_001) * u64::from(full);
    assert_eq!(usage.offered_bytes, offered);
}

#[test]
fn runs_repeat_and_ues_have_streams_of_their_own() {
    let ue = || one(20, RlcSetting::lte_am());
    let run = |seed, ues: usize| {
        let setting = (0..ues).fold(lte(25).harq(loss(0.3, 3)), |setting, _| setting.ue(ue()));
        let mut cell = Cell::new(setting, seed, "cell").unwrap();
        // UE n has data in other TTIs than the others, repetitions included.
        let mut arrivals: Vec<Arrival> = (0..200)
            .flat_map(|k| (0..ues).map(move |ue| ((k * 200 + ue as u64 * 66) * MS, ue, 500)))
            .collect();
        arrivals.sort();
        let host = drive(&mut cell, &arrivals, 60_000 * MS);
        let first =
            host.log.iter().filter(|event| event.bearer == 0 && !matches!(event.what, Notice::Served(_)));
        first.map(|event| (event.time, core::mem::discriminant(&event.what))).collect::<Vec<_>>()
    };
    assert_eq!(run(1, 2), run(1, 2));
    assert_eq!(run(1, 1), run(1, 3), "more UEs do not change the losses of others");
    assert_ne!(run(1, 1), run(2, 1));
}

#[test]
fn invalid_settings_are_refused_with_a_reason() {
    let um = RlcSetting::lte_um();
    let message = |setting| Cell::new(setting, 1, "cell").unwrap_err().to_string();
    let cell = || lte(25).ue(one(28, um));
    assert!(message(lte(25)).contains("no UE"));
    assert!(
        message(lte(25).ue(UeSetting::new(Channel::Mcs(Mcs(3)))))
            .contains("UE 0 has 0 bearers; expected 1 to 30")
    );
    let many = (0..31).fold(UeSetting::new(Channel::Mcs(Mcs(3))), |ue, _| ue.bearer(um, 1));
    assert!(message(cell().ue(many)).contains("UE 1 has 31 bearers"));
    for tti in [Span::ZERO, Span::from_micros(1500), Span::from_micros(125), Span::from_secs(10)] {
        assert!(message(cell().tti(tti)).contains("expected 1 to 1000 whole slots of 1ms"));
    }
    let window = ProportionalFair { window: Span::from_micros(500) };
    assert!(message(cell().scheduler(window)).contains("at least the TTI, 1ms"));
    let rtt = HarqSetting { rtt: Some(ms(3)), ..HarqSetting::default() };
    assert!(message(cell().harq(rtt)).contains("after 3ms; expected at least the time on the air, 4ms"));
    assert!(message(cell().unit(SizeUnit::Packets)).contains("bearer 0 of UE 0 segments packets"));
    assert!(message(cell().ue(one(29, um))).contains("UE 1: "));
    let overhead = RlcSetting { sdu_overhead_bytes: 65, ..um };
    assert!(message(cell().ue(one(1, overhead))).contains("bearer 0 of UE 1: "));
}
