//! Properties of cells with any UEs, modes, channels and losses: nothing is lost or counted twice, idle TTIs
//! are counted as if each were run, and the result does not depend on the number of calls by the host.

use crate::cell_common::*;
use proptest::prelude::*;
use qdelay_core::component::Arguments;
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_ran::cell::{DrxSetting, HandoverSetting, MOVES, SLEEPS};
use qdelay_ran::mac::{ProportionalFair, Service};
use qdelay_ran::radio::{
    Bler, CHANNELS, Channel, Combining, Control, Decoding, Mcs, OllaSetting, Reported, Tdd,
};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{Cell, CellSetting, HarqSetting, ScellSetting, Scheduler, Sharing, UeSetting};

fn rlc() -> impl Strategy<Value = RlcSetting> {
    prop::sample::select(vec![
        RlcSetting::transparent(),
        RlcSetting::lte_um(),
        RlcSetting::nr_um(),
        RlcSetting::lte_am(),
        RlcSetting::nr_am(),
    ])
}

fn channel() -> impl Strategy<Value = Channel> {
    let fading = (-5_i32..25, 1_u32..50).prop_map(|(snr, block)| {
        let text = format!("fading:snr={snr}:block={block}ms");
        Channel::parse(&text).unwrap_or_else(|e| panic!("{e}; known: {CHANNELS:?}"))
    });
    prop_oneof![(0_u8..28).prop_map(|mcs| Channel::Mcs(Mcs(mcs))), fading]
}

fn ue() -> impl Strategy<Value = UeSetting> {
    let reported =
        (0_u64..30, 0_u64..20).prop_map(|(delay, period)| Reported { delay: ms(delay), period: ms(period) });
    let olla = prop::option::of((0.01_f64..0.7, 0.05_f64..3.0))
        .prop_map(|olla| olla.map(|(target, step_db)| OllaSetting { target, step_db, limit_db: 9.0 }));
    let drx = prop::option::of((10_u64..60, 1_u64..9, 0_u64..40)).prop_map(|drx| {
        drx.map(|(cycle, on, inactivity)| {
            let text = format!("drx:cycle={cycle}ms:on={on}ms:inactivity={inactivity}ms");
            DrxSetting::build(&Arguments::parse(SLEEPS, &text).unwrap()).unwrap()
        })
    });
    let guaranteed = prop::option::weighted(0.3, 1_000_u64..40_000);
    let handover = prop::option::weighted(0.4, (30_u64..400, 0_u64..60, prop::option::of(channel())));
    let bearers = prop::collection::vec((rlc(), 0_u8..3, guaranteed), 1..4);
    (channel(), reported, olla, drx, handover, bearers).prop_map(
        |(channel, reported, olla, drx, handover, bearers)| {
            let (handover, target) = match handover {
                Some((every, interruption, target)) => (Some(handover_every(every, interruption)), target),
                None => (None, None),
            };
            let ue =
                UeSetting::new(channel).reported(reported).olla(olla).drx(drx).handover(handover, target);
            bearers.into_iter().fold(ue, |ue, (rlc, priority, guaranteed)| {
                let guaranteed = guaranteed.map(Rate::from_bps);
                ue.serving(rlc, Service { guaranteed, ..Service::usual(priority) })
            })
        },
    )
}

fn handover_every(every_ms: u64, interruption_ms: u64) -> HandoverSetting {
    let text = format!("handover:every={every_ms}ms:interruption={interruption_ms}ms");
    HandoverSetting::build(&Arguments::parse(MOVES, &text).unwrap()).unwrap()
}

/// A secondary cell with the slots of the cell; with a pattern of time division duplex if it is wanted and fits.
fn secondary(
    cell: &CellSetting,
    slots: u64,
    (size, is_tdd, channel): (usize, bool, Option<Channel>),
) -> ScellSetting {
    let first = cell.carrier();
    let numerology = if first.slot() == Span::from_micros(125) { 3 } else { 1 };
    let carrier = match first.is_lte() {
        true => Carrier::lte([6, 15, 50, 100][size]).unwrap(),
        false => {
            Carrier::nr(numerology, [11, 24, 51, 66][size], McsTable::Qam64, 2, Overhead::default()).unwrap()
        }
    };
    let tdd = (is_tdd && slots == 1).then(|| Tdd::new("DDSU", 10).unwrap());
    let scell = ScellSetting::new(carrier).tdd(tdd);
    match channel {
        Some(channel) => scell.channel(channel, Span::ZERO),
        None => scell,
    }
}

fn setting() -> impl Strategy<Value = CellSetting> {
    let nr =
        |numerology, prbs| Carrier::nr(numerology, prbs, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let carrier = prop::sample::select(vec![
        Carrier::lte(6).unwrap(),
        Carrier::lte(25).unwrap(),
        Carrier::lte(100).unwrap(),
        nr(1, 51),
        nr(3, 66),
    ]);
    let law = prop_oneof![
        3 => prop::sample::select(schedulers().collect::<Vec<_>>()),
        // The window is at least the longest TTI below.
        1 => (11_u64..200).prop_map(|n| ProportionalFair { window: ms(n) }.into()),
    ];
    let sharing = prop::sample::select(vec![Sharing::Priority, Sharing::EqualShare]);
    let combining =
        prop::sample::select(vec![Combining::Chase, Combining::IncrementalRedundancy, Combining::None]);
    let decoding = prop_oneof![
        Just(Decoding::Steps),
        combining.prop_map(|combining| Decoding::Snr { slope_db: 2.2, combining })
    ];
    let harq = (
        prop::sample::select(vec![0.0, 0.1, 0.6]),
        0_u8..4,
        0_u8..4,
        decoding,
        prop::option::weighted(0.3, 1_u8..9),
    );
    let control = prop::sample::select(vec![Control::NONE, Control::TESTBED]);
    let tdd = prop::option::weighted(0.3, prop::sample::select(vec!["DDDSU", "1", "UUUUD"]));
    let scells = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((0_usize..4, any::<bool>(), prop::option::of((0_u8..28).prop_map(|mcs| Channel::Mcs(Mcs(mcs))))), 1..3),
    ];
    let control = (control, tdd, scells);
    (carrier, 1_u64..12, 0..2 * MS, law, sharing, harq, control, prop::collection::vec(ue(), 1..6)).prop_map(
        |(
            carrier,
            slots,
            phase,
            law,
            sharing,
            (loss, retransmissions, combining_mcs, decoding, processes),
            (control, tdd, scells),
            ues,
        )| {
            let bler = Bler::new(loss, Bler::SLOPE).unwrap();
            let tti = carrier.slot() * slots;
            // Slices need TTIs whose slots are alike.
            let is_sliced = matches!(law, Scheduler::Eqp(_));
            let control = if is_sliced && slots > 1 { Control::NONE } else { control };
            let setting = CellSetting::new(carrier)
                .tti(tti)
                .phase(Span::from_nanos(phase))
                .scheduler(law)
                .sharing(sharing)
                .control(control)
                .tdd(tdd.filter(|_| slots == 1 && !is_sliced).map(|text| Tdd::new(text, 10).unwrap()))
                .harq(HarqSetting { bler, rtt: None, retransmissions, combining_mcs, decoding, processes });
            let scells = if is_sliced { Vec::new() } else { scells };
            // Slices and carriers together have no guarantees.
            let has_none = is_sliced || !scells.is_empty();
            let plain = |ue: UeSetting| if has_none { ue.without_guarantees() } else { ue };
            let setting = scells.into_iter().fold(setting, |setting, scell| {
                let scell = secondary(&setting, slots, scell);
                setting.scell(scell)
            });
            // Each UE has one secondary cell less than the one before it.
            let ues = ues
                .into_iter()
                .map(plain)
                .enumerate()
                .map(|(number, ue)| ue.scells(2_usize.saturating_sub(number)));
            ues.fold(setting, CellSetting::ue)
        },
    )
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, usize, u32)>> {
    prop::collection::vec((0..200 * MS, 0..100_usize, 20..1500_u32), 0..200).prop_map(|mut all| {
        all.sort();
        all
    })
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice(setting in setting(), mut arrivals in arrivals(), seed in any::<u64>()) {
        let mut cell = Cell::new(setting.clone(), seed, "cell").unwrap();
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= cell.bearers());
        let host = drive(&mut cell, &arrivals, 150 * MS);
        audit(&cell, &host, &arrivals[..]);
        // The rest of the run, and a pause: packets not delivered by then never are.
        let mut cell = Cell::new(setting, seed, "cell").unwrap();
        let host = drive(&mut cell, &arrivals, 120_000 * MS);
        audit(&cell, &host, &arrivals);
        let usage = cell.usage(host.now);
        let sent: u64 = (0..cell.bearers()).flat_map(|b| host.served(b)).map(|(_, served)| served.sent_bytes).sum();
        prop_assert_eq!(usage.sent_bytes, sent);
        for bearer in 0..cell.bearers() {
            for (_, served) in host.served(bearer) {
                prop_assert_eq!(served.remaining_bytes == 0, served.remaining_packets == 0);
                prop_assert!(served.left_packets > 0 || served.left_sojourn.is_zero());
            }
        }
    }

    /// A host that wakes bearers with and without data, queries the usage, and calls when nothing is due,
    /// gets the same results.
    #[test]
    fn unneeded_calls_change_nothing(
        setting in setting(), mut arrivals in arrivals(),
        calls in prop::collection::vec((0..200 * MS, 0..100_usize), 0..100),
    ) {
        let quiet = Cell::new(setting, 1, "cell").unwrap();
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= quiet.bearers());
        let (mut plain, mut busy) = (quiet.clone(), quiet);
        let expected = drive(&mut plain, &arrivals, 400 * MS);
        let mut host = Host::new(busy.bearers());
        let mut events: Vec<(u64, usize, Option<usize>)> =
            arrivals.iter().enumerate().map(|(n, arrival)| (arrival.0, arrival.1, Some(n))).collect();
        events.extend(calls.iter().map(|&(time, bearer)| (time, bearer % busy.bearers(), None)));
        events.sort_by_key(|event| (event.0, event.2.is_none(), event.2));
        for (time, bearer, number) in events {
            advance(&mut busy, &mut host, Time::from_nanos(time));
            if let Some(n) = number {
                let packet = Packet { handle: n as u64, bytes: arrivals[n].2, ..Packet::default() };
                arrive(&mut busy, &mut host, bearer, packet);
            } else {
                busy.wake(host.now, bearer);
                busy.run(host.now, &mut host);
                busy.usage(host.now);
            }
        }
        advance(&mut busy, &mut host, Time::from_nanos(400 * MS));
        prop_assert_eq!(&host.log, &expected.log);
        prop_assert_eq!(busy.usage(host.now), plain.usage(host.now));
    }

    /// One UE with sparse packets: counting idle TTIs at once equals waking the cell in every TTI.
    #[test]
    fn idle_ttis_are_counted_as_if_each_were_run(
        setting in setting(), mut times in prop::collection::vec(0..900 * MS, 0..4),
    ) {
        times.sort_unstable();
        let lazy = Cell::new(setting, 1, "cell").unwrap();
        let (mut lazy, mut ticked) = (lazy.clone(), lazy);
        let arrivals: Vec<Arrival> = times.iter().map(|&time| (time, 0, 400)).collect();
        let end = 1000 * MS;
        let expected = drive(&mut lazy, &arrivals, end);
        let mut host = Host::new(ticked.bearers());
        let mut next = 0;
        for now in (0..end).step_by(50_000) {
            while next < arrivals.len() && arrivals[next].0 < now {
                advance(&mut ticked, &mut host, Time::from_nanos(arrivals[next].0));
                let packet = Packet { handle: next as u64, bytes: 400, ..Packet::default() };
                arrive(&mut ticked, &mut host, 0, packet);
                next += 1;
            }
            advance(&mut ticked, &mut host, Time::from_nanos(now));
            ticked.wake(host.now, ticked.bearers() - 1);
        }
        advance(&mut ticked, &mut host, Time::from_nanos(end));
        prop_assert_eq!(&host.log, &expected.log);
        prop_assert_eq!(ticked.usage(host.now), lazy.usage(host.now));
    }
}
