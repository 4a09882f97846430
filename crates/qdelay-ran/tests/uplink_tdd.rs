//! An uplink in time division duplex compared with closed forms.

use crate::cell_common::{Arrival, MS, Notice};
use crate::uplink_common::*;
use qdelay_core::Span;
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::radio::{Bler, Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::uplink::{Configured, Requests};
use qdelay_ran::{CellSetting, UeSetting, UplinkSetting};

/// Duration of a slot: half a millisecond.
const SLOT: u64 = MS / 2;

/// NR with DDDSU: slots of 0.5 ms, of which numbers 4, 9, 14 and so on are uplink slots.
fn nr(tdd: bool, harq: HarqSetting) -> UplinkSetting {
    let carrier = Carrier::nr(1, 51, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let pattern = tdd.then(|| Tdd::new("DDDSU", 10).unwrap());
    let ue = UeSetting::new(Channel::Mcs(Mcs(20))).bearer(RlcSetting::nr_um(), 1);
    UplinkSetting::new(CellSetting::new(carrier).tdd(pattern).harq(harq)).ue(ue)
}

fn slots(count: u64) -> Span {
    Span::from_nanos(count * SLOT)
}

/// Delay, in slots, of a packet that comes to an idle uplink at `at`.
fn idle_delay(setting: &UplinkSetting, at: u64) -> f64 {
    let arrivals = [(at, 0, 200)];
    let (uplink, host) = drive(setting.clone(), 1, &arrivals, at + 200 * MS);
    audit(&uplink, &host, &arrivals);
    let delivered: Vec<u64> = host.delivered().map(|(time, ..)| time - at).collect();
    assert_eq!(delivered.len(), 1);
    delivered[0] as f64 / SLOT as f64
}

/// Requests every 10 slots from slot 0 on are postponed to slot 4 and decoded as slot 6 begins. Slot 6 is too
/// early for a grant of slot 9; slot 7, two slots before it, grants it, and its block is decoded two slots
/// after it begins: 7 slots from the request on.
#[test]
fn an_idle_ue_waits_twice_for_an_uplink_slot() {
    let requests = Requests { period: slots(10), offset: Span::ZERO, prohibit: Span::ZERO };
    let setting = nr(true, HarqSetting::default()).requests(Some(requests));
    for n in 0..200 {
        let phase = (n as f64 + 0.5) / 20.0;
        let at = 100 * MS + n * SLOT / 20 + SLOT / 40;
        let wait = (4.0 - phase).rem_euclid(10.0);
        let delay = idle_delay(&setting, at);
        assert!((delay - wait - 7.0).abs() < 1e-6, "{phase}: {delay}");
    }
}

/// With requests in each slot only those of the uplink count.
#[test]
fn requests_in_every_slot_count_in_uplink_slots_only() {
    let requests = Requests { period: slots(1), offset: Span::ZERO, prohibit: Span::ZERO };
    let setting = nr(true, HarqSetting::default()).requests(Some(requests));
    for n in 0..100 {
        let phase = (n as f64 + 0.5) / 20.0;
        let wait = (4.0 - phase).rem_euclid(5.0);
        let delay = idle_delay(&setting, 100 * MS + n * SLOT / 20 + SLOT / 40);
        assert!((delay - wait - 7.0).abs() < 1e-6, "{phase}: {delay}");
    }
}

/// Configured grants every 4 slots are each postponed to the next uplink slot: one in each.
#[test]
fn a_configured_grant_is_postponed_to_an_uplink_slot() {
    let configured = Some(Configured { period: slots(4), bytes: 300 });
    let setting = nr(true, HarqSetting::default()).requests(None).configured(configured);
    for n in 0..100 {
        let phase = (n as f64 + 0.5) / 20.0;
        let wait = (4.0 - phase).rem_euclid(5.0);
        let delay = idle_delay(&setting, 100 * MS + n * SLOT / 20 + SLOT / 40);
        assert!((delay - wait - 2.0).abs() < 1e-6, "{phase}: {delay}");
    }
}

/// Bytes delivered within `end` to a UE that always has data.
fn carried(setting: UplinkSetting, end: u64) -> u64 {
    let arrivals: Vec<Arrival> = (0..20_000).map(|_| (0, 0, 1000)).collect();
    let (uplink, host) = drive(setting, 7, &arrivals, end);
    audit(&uplink, &host, &arrivals);
    host.delivered().map(|_| 1000).sum()
}

/// One slot of five carries a fifth, and each slot is used once.
#[test]
fn a_busy_ue_has_the_share_of_the_uplink() {
    let harq = HarqSetting::default();
    let (all, fifth) = (carried(nr(false, harq), 500 * MS), carried(nr(true, harq), 500 * MS));
    let share = fifth as f64 / all as f64;
    assert!((share - 0.2).abs() < 0.01, "{share}");
}

/// A tenth of the blocks is lost and repeated in an uplink slot: nine tenths remain, and only packets of
/// blocks that were lost four times are lost.
#[test]
fn repetitions_are_sent_in_the_uplink() {
    let lossy = HarqSetting { bler: Bler::new(0.1, 1.0).unwrap(), ..HarqSetting::default() };
    let (whole, less) =
        (carried(nr(true, HarqSetting::default()), 2000 * MS), carried(nr(true, lossy), 2000 * MS));
    let share = less as f64 / whole as f64;
    assert!((share - 0.9).abs() < 0.03, "{share}");
}

/// Nothing is sent in a slot that is not an uplink slot.
#[test]
fn only_slots_of_the_uplink_carry() {
    let lossy = HarqSetting { bler: Bler::new(0.2, 1.0).unwrap(), ..HarqSetting::default() };
    let arrivals: Vec<Arrival> = (0..2000).map(|n| (n * 700_001, 0, 40 + (n as u32 * 37) % 1400)).collect();
    let (uplink, host) = drive(nr(true, lossy), 3, &arrivals, 4000 * MS);
    audit(&uplink, &host, &arrivals);
    let departures = host.log.iter().filter(|event| matches!(event.what, Notice::Departed(..)));
    let mut count = 0;
    for event in departures {
        count += 1;
        assert_eq!(event.time / SLOT % 5, 4, "{}", event.time);
    }
    assert_eq!(count, 2000);
}
