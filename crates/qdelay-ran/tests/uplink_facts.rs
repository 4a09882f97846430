//! An uplink compared with closed forms and published figures.

use crate::cell_common::{MS, Notice, ms};
use crate::uplink_common::*;
use qdelay_core::{Rate, Span};
use qdelay_ran::radio::{Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::uplink::{Configured, Prioritised, Requests, UplinkError};
use qdelay_ran::{CellSetting, UeSetting, UplinkCell, UplinkSetting};

fn ue(mcs: u8, rlc: RlcSetting) -> UeSetting {
    UeSetting::new(Channel::Mcs(Mcs(mcs))).bearer(rlc, 1)
}

fn lte(rlc: RlcSetting) -> UplinkSetting {
    UplinkSetting::new(CellSetting::new(Carrier::lte(25).unwrap())).ue(ue(20, rlc))
}

fn every(period: Span) -> Option<Requests> {
    Some(Requests { period, offset: Span::ZERO, prohibit: Span::ZERO })
}

/// Delays (ns) of single packets of 200 bytes that come to an idle uplink at `phases` (ns), each in a
/// separate run.
fn idle_delays(setting: &UplinkSetting, phases: impl Iterator<Item = u64>) -> Vec<u64> {
    phases
        .map(|at| {
            let arrivals = [(at, 0, 200)];
            let (uplink, host) = drive(setting.clone(), 1, &arrivals, at + 200 * MS);
            audit(&uplink, &host, &arrivals);
            let delivered: Vec<u64> = host.delivered().map(|(time, ..)| time - at).collect();
            assert_eq!(delivered.len(), 1);
            delivered[0]
        })
        .collect()
}

fn mean_ms(delays: &[u64]) -> f64 {
    delays.iter().sum::<u64>() as f64 / delays.len() as f64 / MS as f64
}

/// Delay from uniform arrivals to delivery: the wait for the occasion, uniform within the period; 4 ms until
/// the request is decoded, 4 ms from the grant to the block, 4 ms until that is decoded. TR 36.881 Table
/// 5.2.1-1 sums up the same components to 17 ms with requests every 10 ms, and 12.5 ms with requests every 1
/// ms.
#[test]
fn the_delay_of_an_idle_uplink_matches_tr_36_881() {
    for (period, published) in [(10, 17.0), (1, 12.5)] {
        let setting = lte(RlcSetting::lte_um()).requests(every(ms(period)));
        // The phases are the middles of 1000 equal parts of 10 ms.
        let delays = idle_delays(&setting, (0..1000).map(|n| 50 * MS + n * 10_000 + 5000));
        assert!((mean_ms(&delays) - published).abs() < 1e-6, "{}", mean_ms(&delays));
        // Uniform waits: the k-th smallest is the k-th part of the period.
        let mut waits: Vec<u64> = delays.iter().map(|delay| delay - 12 * MS).collect();
        waits.sort_unstable();
        let uniform = |n: usize| (2 * n as u64 + 1) * period * MS / 2000;
        for (n, &wait) in waits.iter().enumerate() {
            assert!(wait.abs_diff(uniform(n)) <= 5000, "{n}: {wait}");
        }
    }
}

/// In NR with slots of 0.5 ms: half a period, then two slots each for request, grant and block.
#[test]
fn an_idle_uplink_of_nr_takes_six_slots_less() {
    let carrier = Carrier::nr(1, 51, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let slot = Span::from_micros(500);
    let setting = UplinkSetting::new(CellSetting::new(carrier))
        .ue(ue(20, RlcSetting::nr_um()))
        .requests(every(slot * 10));
    let delays = idle_delays(&setting, (0..1000).map(|n| 50 * MS + n * 5000 + 2500));
    assert!((mean_ms(&delays) - 5.5).abs() < 1e-6, "{}", mean_ms(&delays));
}

/// With configured grants alone the wait is uniform within their period, and only the time on the air is
/// added.
#[test]
fn a_configured_grant_is_half_a_period_away() {
    let configured = Some(Configured { period: ms(8), bytes: 300 });
    let setting = lte(RlcSetting::lte_um()).requests(None).configured(configured);
    let delays = idle_delays(&setting, (0..800).map(|n| 48 * MS + n * 10_000 + 5000));
    assert!((mean_ms(&delays) - (8.0 / 2.0 + 4.0)).abs() < 1e-6, "{}", mean_ms(&delays));
}

/// Parts of the delay: arrivals 3 ms after an occasion wait 7 ms for the next, and 8 ms for the grant.
#[test]
fn the_wait_is_split_into_request_and_grant() {
    let (_, host) = drive(lte(RlcSetting::lte_um()), 1, &[(53 * MS, 0, 200)], 200 * MS);
    let (time, _, _, split) = host.delivered().next().unwrap();
    assert_eq!((time, split.request, split.grant, split.air), (72 * MS, ms(7), ms(8), ms(4)));
    assert_eq!((split.reassembly, split.reordering), (Span::ZERO, Span::ZERO));
}

/// A busy UE has a grant in every TTI, and the bytes of the whole carrier except headers and reports.
#[test]
fn a_busy_ue_has_the_whole_carrier() {
    for rlc in [RlcSetting::lte_um(), RlcSetting::lte_am()] {
        let arrivals: Vec<_> = (0..4000).map(|_| (MS, 0, 1500)).collect();
        let (uplink, host) = drive(lte(rlc), 1, &arrivals, 2000 * MS);
        audit(&uplink, &host, &arrivals);
        let carrier = Carrier::lte(25).unwrap().of_uplink();
        let (from, to) = (500 * MS, 1500 * MS);
        let bytes = host.delivered().filter(|(time, ..)| (from..to).contains(time)).count() as f64 * 1500.0;
        let capacity = 1000.0 * f64::from(carrier.block_bytes(20, 25));
        assert!((0.97..=1.0).contains(&(bytes / capacity)), "{}", bytes / capacity);
        let usage = uplink.usage(host.now);
        // Allowed waste: the 20 TTIs before the first large grant are not used.
        assert!(usage.wasted_rbs <= 25 * 30, "{usage:?}");
    }
}

/// Busy UEs of equal channels get equal shares, also with priorities within each.
#[test]
fn busy_ues_share_the_carrier() {
    let two = |ue: UeSetting| ue.bearer(RlcSetting::lte_um(), 2);
    let cell = CellSetting::new(Carrier::lte(25).unwrap());
    let setting =
        (0..3).fold(UplinkSetting::new(cell), |setting, _| setting.ue(two(ue(20, RlcSetting::lte_um()))));
    let arrivals: Vec<_> = (0..12_000).map(|n| (MS, n % 6, 1000)).collect();
    let (uplink, host) = drive(setting, 1, &arrivals, 1500 * MS);
    audit(&uplink, &host, &arrivals);
    let mut bytes = [0_u64; 6];
    host.delivered().for_each(|(_, bearer, ..)| bytes[bearer] += 1000);
    for ue in 0..3 {
        assert_eq!(bytes[2 * ue + 1], 0, "the first bearer has more than the UE can send");
        let fair = bytes.iter().sum::<u64>() as f64 / 3.0;
        assert!((bytes[2 * ue] as f64 / fair - 1.0).abs() < 0.02, "{bytes:?}");
    }
}

/// A prioritised bit rate keeps a bearer of lower priority alive: it gets its rate, and the other bearer the
/// rest.
#[test]
fn a_prioritised_bit_rate_is_kept() {
    let cell = CellSetting::new(Carrier::lte(25).unwrap());
    let rates = [2_000_000, 1_000_000];
    let of = |bps| Some(Prioritised { rate: Rate::from_bps(bps), bucket: ms(50) });
    let setting = UplinkSetting::new(cell)
        .ue(ue(20, RlcSetting::lte_um()).bearer(RlcSetting::lte_um(), 2))
        .prioritised(0, of(rates[0]))
        .prioritised(1, of(rates[1]));
    let arrivals: Vec<_> = (0..8000).map(|n| (MS, n % 2, 1000)).collect();
    let (_, host) = drive(setting, 1, &arrivals, 2000 * MS);
    let second = |bearer| {
        let within =
            host.delivered().filter(|(time, of, ..)| *of == bearer && (MS * 500..MS * 1500).contains(time));
        within.count() as f64 * 8000.0
    };
    // Of 125 bytes in each TTI, headers of PDCP, RLC and MAC are 3 to 7.
    assert!((0.94..0.98).contains(&(second(1) / 1e6)), "{}", second(1));
    assert!(second(0) > 5e6, "{}", second(0));
}

/// sr-ProhibitTimer spaces requests; a first grant too small for the packet needs a second one, a round
/// later.
#[test]
fn a_small_first_grant_costs_a_round() {
    for (first, delay) in [(512, 72), (40, 80)] {
        let setting = lte(RlcSetting::lte_um()).first_bytes(first);
        let (_, host) = drive(setting, 1, &[(53 * MS, 0, 200)], 200 * MS);
        assert_eq!(host.delivered().next().unwrap().0, delay * MS, "{first}");
    }
}

/// Data that comes while the last grant is on its way is found by a poll, without another request.
#[test]
fn data_after_a_report_is_found_by_a_poll() {
    let arrivals: Vec<_> = (0..20).map(|n| (53 * MS + n * 700_000, 0, 300)).collect();
    let (uplink, host) = drive(lte(RlcSetting::lte_um()), 1, &arrivals, 400 * MS);
    audit(&uplink, &host, &arrivals);
    let last = host.delivered().map(|(time, ..)| time).max().unwrap();
    assert_eq!(host.delivered().count(), 20);
    assert!(last < 100 * MS, "{last}");
    assert!(host.log.iter().all(|event| !matches!(event.what, Notice::Served(_))));
}

#[test]
fn impossible_settings_are_refused() {
    let fail = |setting: UplinkSetting| UplinkCell::new(setting, 1, "").unwrap_err();
    let good = || lte(RlcSetting::lte_um());
    assert_eq!(fail(good().requests(None)), UplinkError::NoGrants);
    for period in [ms(3), Span::from_micros(1500), ms(160)] {
        assert!(
            matches!(fail(good().requests(every(period))), UplinkError::RequestPeriod { .. }),
            "{period}"
        );
    }
    let error = fail(good().requests(every(ms(3)))).to_string();
    assert!(error.contains("requests every 3ms; expected one of 1ms, 2ms, 5ms, 10ms"), "{error}");
    let configured = |period, bytes| good().configured(Some(Configured { period, bytes }));
    assert_eq!(fail(configured(ms(10), 8)), UplinkError::ConfiguredBytes(8));
    assert!(matches!(fail(configured(Span::from_micros(2500), 300)), UplinkError::ConfiguredPeriod { .. }));
    assert_eq!(fail(good().first_bytes(3)), UplinkError::FirstBytes(3));
    assert!(matches!(fail(good().grant_delay(Some(ms(5)))), UplinkError::HarqRtt { .. }));
    let offset = Requests { period: ms(10), offset: ms(10), prohibit: Span::ZERO };
    assert!(matches!(fail(good().requests(Some(offset))), UplinkError::RequestOffset { .. }));
}
