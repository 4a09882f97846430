//! Properties of uplinks with any UEs, modes, channels, losses, requests and grants: nothing is lost or
//! counted twice, all packets are sent in the end, and the result does not depend on the number of calls by
//! the host.

use crate::cell_common::{Host, MS, ms};
use crate::uplink_common::*;
use proptest::prelude::*;
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_ran::mac::COMPONENTS;
use qdelay_ran::radio::{Bler, Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::uplink::{Configured, Prioritised, Reports, Requests};
use qdelay_ran::{CellSetting, HarqSetting, Scheduler, UeSetting, UplinkCell, UplinkSetting};

fn rlc() -> impl Strategy<Value = RlcSetting> {
    prop::sample::select(vec![
        RlcSetting::lte_um(),
        RlcSetting::nr_um(),
        RlcSetting::lte_am(),
        RlcSetting::nr_am(),
    ])
}

fn channel() -> impl Strategy<Value = Channel> {
    let fading = (5_i32..25, 1_u32..50).prop_map(|(snr, block)| {
        Channel::parse(&format!("fading:snr={snr}:block={block}ms:deviation=0")).unwrap()
    });
    prop_oneof![(2_u8..28).prop_map(|mcs| Channel::Mcs(Mcs(mcs))), fading]
}

fn ue() -> impl Strategy<Value = UeSetting> {
    (channel(), prop::collection::vec((rlc(), 0_u8..3), 1..4)).prop_map(|(channel, bearers)| {
        bearers.into_iter().fold(UeSetting::new(channel), |ue, (rlc, priority)| ue.bearer(rlc, priority))
    })
}

/// A setting with all features of an uplink, on a carrier whose slots are TTIs.
fn setting() -> impl Strategy<Value = UplinkSetting> {
    let nr =
        |numerology, prbs| Carrier::nr(numerology, prbs, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let carrier =
        prop::sample::select(vec![Carrier::lte(6).unwrap(), Carrier::lte(25).unwrap(), nr(1, 51), nr(3, 66)]);
    let schedulers: Vec<Scheduler> = COMPONENTS
        .iter()
        .filter(|component| ["round_robin", "proportional_fair", "max_throughput"].contains(&component.name))
        .map(|component| Scheduler::build(&qdelay_core::component::Arguments::defaults(component)).unwrap())
        .collect();
    let harq = (prop::sample::select(vec![0.0, 0.1, 0.5]), 0_u8..4);
    let patterns = vec!["DDDSU", "DU", "SUD", "DSUUUDSUUU", "2", "5", "DDDDDDDSUU"];
    let tdd = prop::option::of(prop::sample::select(patterns));
    // These periods, in slots, are valid in LTE and in NR.
    let requests = prop::option::of((prop::sample::select(vec![1_u64, 2, 5, 10, 20]), 0_u64..20));
    let configured = prop::option::of((1_u64..20, 32_u32..600));
    let timers = (1_u64..30, 5_u64..400, 32_u32..2000);
    let rates = prop::collection::vec(prop::option::of(1_000_u64..5_000_000), 1..12);
    let ues = prop::collection::vec(ue(), 1..6);
    let all = (
        carrier,
        0..2 * MS,
        prop::sample::select(schedulers),
        (harq, tdd),
        requests,
        configured,
        timers,
        rates,
        ues,
    );
    all.prop_map(
        |(
            carrier,
            phase,
            law,
            ((loss, retransmissions), tdd),
            requests,
            configured,
            (periodic, retx, first),
            rates,
            ues,
        )| {
            let slot = carrier.slot();
            let bler = Bler::new(loss, Bler::SLOPE).unwrap();
            let harq = HarqSetting { bler, retransmissions, ..HarqSetting::default() };
            let tdd = tdd.map(|pattern| Tdd::new(pattern, 10).unwrap());
            let cell =
                CellSetting::new(carrier).phase(Span::from_nanos(phase)).scheduler(law).harq(harq).tdd(tdd);
            let requests = requests.map(|(slots, prohibit)| Requests {
                period: slot * slots,
                offset: slot * (slots / 2),
                prohibit: ms(prohibit),
            });
            let configured = configured.map(|(slots, bytes)| Configured { period: slot * slots, bytes });
            // At least one of the two is required.
            let requests = requests.or_else(|| {
                let usual = Requests { period: slot * 10, offset: Span::ZERO, prohibit: Span::ZERO };
                configured.is_none().then_some(usual)
            });
            let setting = UplinkSetting::new(cell)
                .requests(requests)
                .configured(configured)
                .reports(Reports { periodic: ms(periodic), retransmission: ms(retx) })
                .first_bytes(first);
            let setting = ues.into_iter().fold(setting, UplinkSetting::ue);
            let bucket = ms(50);
            rates.into_iter().enumerate().fold(setting, |setting, (bearer, bps)| {
                let rate = bps.map(|bps| Prioritised { rate: Rate::from_bps(bps), bucket });
                setting.prioritised(bearer, rate)
            })
        },
    )
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, usize, u32)>> {
    prop::collection::vec((0..200 * MS, 0..100_usize, 20..1500_u32), 0..200).prop_map(|mut all| {
        all.sort();
        all
    })
}

fn bearers(setting: &UplinkSetting) -> usize {
    UplinkCell::new(setting.clone(), 0, "uplink").unwrap().bearers()
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice(setting in setting(), mut arrivals in arrivals(), seed in any::<u64>()) {
        let count = bearers(&setting);
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= count);
        let (uplink, host) = drive(setting.clone(), seed, &arrivals, 250 * MS);
        audit(&uplink, &host, &arrivals);
    }

    /// After any losses all waiting packets are sent in the end: no report or request is missed for ever.
    #[test]
    fn no_ue_is_forgotten(setting in setting(), mut arrivals in arrivals(), seed in any::<u64>()) {
        let count = bearers(&setting);
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= count);
        // The slowest carrier, 32 bytes in 10 ms of which every second block is lost, needs 2 ms for a byte.
        let bytes: u64 = arrivals.iter().map(|&(_, _, bytes)| u64::from(bytes)).sum();
        let (uplink, host) = drive(setting.clone(), seed, &arrivals, (60_000 + 4 * bytes) * MS);
        audit(&uplink, &host, &arrivals);
        let left: usize = host.queues.iter().map(|queue| queue.len()).sum();
        prop_assert_eq!(left, 0, "{:?}", setting);
    }

    /// A host that calls at every time gets the same results as one that calls when required.
    #[test]
    fn early_calls_change_nothing(setting in setting(), mut arrivals in arrivals(), seed in any::<u64>()) {
        let count = bearers(&setting);
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= count);
        let (_, expected) = drive(setting.clone(), seed, &arrivals, 250 * MS);
        let mut uplink = UplinkCell::new(setting.clone(), seed, "uplink").unwrap();
        let mut host = Host::new(count);
        let mut tick = 0;
        for (handle, &(time, bearer, bytes)) in arrivals.iter().enumerate() {
            while tick < time {
                advance(&mut uplink, &mut host, Time::from_nanos(tick));
                uplink.run(Time::from_nanos(tick), &mut host);
                tick += 170_000;
            }
            advance(&mut uplink, &mut host, Time::from_nanos(time));
            arrive(&mut uplink, &mut host, bearer, Packet { handle: handle as u64, bytes, ..Packet::default() });
        }
        advance(&mut uplink, &mut host, Time::from_nanos(250 * MS));
        prop_assert_eq!(host.log, expected.log);
    }
}
