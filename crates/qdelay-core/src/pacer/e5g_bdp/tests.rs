//! Tests of e5G-BDP: the law in small histories, and the example of the thesis's Figure 3.4.

use super::super::testing::{Asked, in_slot, ms, parse, refused, served, us};
use super::super::{AnyPacer, OverBearer, Pacer};
use super::*;
use alloc::string::ToString;

fn law(text: &str) -> OverBearer<EnhancedBdp> {
    match parse(text) {
        AnyPacer::EnhancedBdp(law) => law,
        other => panic!("{other:?}"),
    }
}
/// The state of Figure 3.4: 1000 bytes a TTI, 600 left, at 5 ms.
fn figure() -> OverBearer<EnhancedBdp> {
    let mut law = law("e5g-bdp");
    law.last = ms(4);
    law.bandwidth = 1000.0;
    law.below.forwarded(ms(4), 1600);
    law.on_signal(ms(5), served(2289, 1000, 600));
    assert_eq!((law.left_bytes, law.sent_bytes, law.last), (600, 0, ms(5)));
    assert!((law.bandwidth - 1000.0).abs() < 1e-9);
    law.bandwidth = 1000.0;
    law
}

#[test]
fn the_example_of_figure_3_4() {
    let mut law = figure();
    let quarters = [5250, 5500, 5750, 6000].map(us);
    let paced = quarters.map(|time| law.paced_bytes(time));
    for (paced, expected) in paced.into_iter().zip([514.0, 814.0, 1211.5, 1544.0]) {
        assert!((paced - expected).abs() < 1e-9, "{paced} is not {expected}");
    }
    // Required: 600 bytes left and a fifth of the packet, 900 in total.
    assert_ne!(law.ask(quarters[0], 1500), Eligible::Now);
    assert_ne!(law.ask(quarters[1], 1500), Eligible::Now);
    // The small packet needs 640 bytes.
    assert_eq!(law.ask(quarters[2], 200), Eligible::Now);
    law.forwarded(quarters[2], 200);
    // The large packet again: 200 + 600 + 500 = 1300 bytes, which the paced bytes reach at 0.8165 of the TTI.
    assert_eq!(law.ask(quarters[2], 1500), Eligible::At(Time::from_nanos(5_816_542)));
    assert_eq!(law.ask(quarters[3] - Span::from_nanos(1), 1500), Eligible::Now);
}

#[test]
fn the_time_is_found_in_either_half_and_at_the_jump_between_them() {
    let mut law = figure();
    law.parameters.reduce = 0.0;
    // 600 + 20 bytes: 406 / 1200 of the TTI.
    assert_eq!(law.ask(ms(5), 100), Eligible::At(Time::from_nanos(5_338_334)));
    // 600 + 200 bytes: 586 / 1200; 600 + 240: at half there are 814, right behind 879.
    assert_eq!(law.ask(ms(5), 1000), Eligible::At(Time::from_nanos(5_488_334)));
    assert_eq!(law.ask(ms(5), 1200), Eligible::At(Time::from_nanos(5_500_001)));
    // 600 + 300 bytes: 686 / 1330.
    assert_eq!(law.ask(ms(5), 1500), Eligible::At(Time::from_nanos(5_515_790)));
}

#[test]
fn what_is_left_does_not_hold_back_what_the_reduced_pace_covers() {
    let mut law = figure();
    law.left_bytes = 2000;
    // More than 100 of 0.65 x paced at once: 139; more than 200: 307.69 paced, 93.69 / 1200.
    assert_eq!(law.ask(ms(5), 100), Eligible::Now);
    assert_eq!(law.ask(ms(5), 200), Eligible::At(Time::from_nanos(5_078_077)));
    law.parameters.reduce = 0.0;
    assert_eq!(law.ask(ms(5), 100), Eligible::At(Time::from_nanos(6_357_895)), "if the report is late");
}

/// A TTI with control channels, of 1569 bytes, leaves 2000: more than it carried, but less than the TTI
/// before, which counts up to the tenth after it.
#[test]
fn the_best_of_ten_ttis_is_what_may_be_below() {
    let left = |text: &str, others: u64| {
        let mut law = law(text);
        law.below.forwarded(ms(0), 50_000);
        law.on_signal(ms(1), served(2289, 2289, 2000));
        (2..2 + others).for_each(|at| law.on_signal(ms(at), served(1569, 1569, 2000)));
        law.bandwidth = 2000.0;
        law.ask(ms(1 + others) + Span::from_micros(900), 100)
    };
    assert_ne!(left("e5g-bdp", 1), Eligible::Now);
    assert_eq!(left("e5g-bdp:capacity=best", 1), Eligible::Now);
    assert_eq!(left("e5g-bdp:capacity=best", 9), Eligible::Now);
    assert_ne!(left("e5g-bdp:capacity=best", 10), Eligible::Now);
}

#[test]
fn more_than_a_tti_carries_is_held_back() {
    let mut law = figure();
    law.max_bytes = Some(800);
    law.bandwidth = 5000.0;
    assert_eq!(law.ask(us(5900), 201), Eligible::Now);
    law.forwarded(us(5900), 201);
    assert_eq!(law.ask(us(5900), 40), Eligible::At(ms(25)), "its silence");
    law.on_signal(ms(6), served(0, 0, 0));
    assert_eq!(law.max_bytes, Some(0));
    assert_eq!(law.ask(ms(6), 40), Eligible::Now, "nothing was sent and nothing is left");
}

#[test]
fn the_most_that_is_below_may_be_given() {
    for (text, most) in [("e5g-bdp", 700), ("e5g-bdp:most=2289b", 2289)] {
        let mut law = law(text);
        law.forwarded(us(500), 1500);
        law.on_signal(ms(1), served(700, 700, 800));
        assert_eq!(law.max_bytes, Some(most), "{text}");
        assert_eq!(law.carried.best(), Some(700), "the carried bytes are independent of `most`");
    }
}

#[test]
fn the_bandwidth_is_an_average() {
    let mut law = law("e5g-bdp:alpha=0.25");
    law.forwarded(us(500), 1500);
    law.on_signal(ms(1), served(2289, 1000, 500));
    assert_eq!((law.bandwidth, law.left_bytes), (250.0, 500));
    law.on_signal(ms(2), served(2289, 500, 0));
    assert_eq!(law.bandwidth, 312.5);
    // Two TTIs without a report, then one with a report, of 400 bytes.
    law.forwarded(us(4500), 400);
    assert!((law.bandwidth - 312.5 * 0.5625).abs() < 1e-9 && law.last == ms(4));
    law.on_signal(ms(5), served(2289, 400, 0));
    assert!((law.bandwidth - (312.5 * 0.421_875 + 100.0)).abs() < 1e-9);
    // A report that is a TTI late covers two TTIs.
    law.forwarded(us(5500), 400);
    law.on_signal(ms(7), served(2289, 400, 0));
    let expected = (312.5 * 0.421_875 + 100.0) * 0.5625 + 0.4375 * 200.0;
    assert!((law.bandwidth - expected).abs() < 1e-9);
}

#[test]
fn without_a_bandwidth_an_empty_buffer_takes_a_packet_in_the_second_half() {
    let mut law = law("e5g-bdp");
    assert_eq!(law.ask(us(7200), 1500), Eligible::At(Time::from_nanos(7_500_001)));
    assert_eq!(law.ask(Time::from_nanos(7_500_001), 1500), Eligible::Now);
    law.forwarded(us(7600), 1500);
    assert_eq!(law.ask(us(7700), 40), Eligible::At(us(27_600)), "1500 of 375 went");
    // A bandwidth of 99 bytes a TTI counts as none, 100 bytes do not; the buffer is not empty.
    law.on_signal(ms(8), served(2289, 1, 1499));
    law.bandwidth = 99.9;
    assert_eq!((law.paced_bytes(us(8900)), law.ask(us(8900), 40)), (0.0, Eligible::At(ms(28))));
    law.bandwidth = 100.0;
    assert!((law.paced_bytes(us(9000)) - 347.0).abs() < 1e-9);
}

#[test]
fn a_small_bandwidth_starves_nobody() {
    for bandwidth in [0.0, 20.0, 64.0, 99.0, 100.0, 120.0] {
        for size in [40, 1500, 60_000] {
            let mut law = law("e5g-bdp");
            law.bandwidth = bandwidth;
            law.last = ms(10);
            let mut now = ms(10);
            while let Eligible::At(time) = law.ask(now, size) {
                now = time;
            }
            assert!(now <= ms(11), "{size} bytes at {bandwidth} bytes a TTI went at {now}");
        }
    }
}

#[test]
fn whoever_looks_once_in_a_period_sends_at_the_second_look() {
    // Polling periods that divide a TTI, multiples of it, and others; from 5.4 ms on the odd ones poll at
    // almost the same phase of each TTI.
    for polling in [50, 100, 200, 250, 500, 1000, 2000, 3000, 10_000, 370, 999, 1001, 7_777] {
        for phase in [0, 400, 500, 501] {
            for bandwidth in [0.0, 100.0, 2289.0] {
                let mut law = law("e5g-bdp");
                (law.bandwidth, law.last) = (bandwidth, ms(5));
                let mut look = ms(5) + Span::from_micros(phase);
                while law.ask(look, 1500) != Eligible::Now {
                    look += Span::from_micros(polling);
                }
                let most = ms(5) + Span::from_micros(phase + 1000 + polling);
                assert!(look < most, "{polling} us, {phase} us in, {bandwidth} bytes: {look}");
                law.forwarded(look, 1500);
            }
        }
    }
}

#[test]
fn a_promise_is_for_no_larger_packet_and_ends_with_a_report() {
    let mut law = law("e5g-bdp:reduce=0");
    (law.bandwidth, law.last) = (100.0, ms(5));
    // 500 bytes need more than 100 paced bytes, a fifth of the packet; the 214 at the beginning suffice. 1500
    // bytes need 300, at 86 / 133.
    assert_eq!(law.ask(us(5100), 500), Eligible::Now);
    assert_eq!(law.ask(us(5100), 1400), Eligible::At(Time::from_nanos(5_500_001)));
    assert_ne!(law.clone().ask(us(6100), 1500), Eligible::Now);
    assert_eq!(law.clone().ask(us(6100), 1400), Eligible::Now);
    law.on_signal(ms(6), served(2289, 0, 0));
    assert_ne!(law.ask(us(6100), 1400), Eligible::Now);
}

#[test]
fn periods_longer_than_a_tti_gather_its_reports() {
    let setting = PacerSetting { tti: Span::from_micros(250), ..PacerSetting::default() };
    let Ok(AnyPacer::EnhancedBdp(mut law)) = AnyPacer::parse("e5g-bdp:period=1ms", &setting) else {
        panic!()
    };
    law.forwarded(us(100), 3000);
    for (at, left) in [(250, 2400), (500, 1800), (750, 1200)] {
        law.on_signal(us(at), served(700, 600, left));
        assert_eq!((law.bandwidth, law.left_bytes, law.last), (0.0, 0, Time::ZERO));
    }
    law.on_signal(us(1000), served(700, 600, 600));
    assert!((law.bandwidth - 0.7 * 2400.0).abs() < 1e-9);
    assert_eq!((law.left_bytes, law.max_bytes, law.last), (600, Some(2800), ms(1)));
    // Bytes taken before the bearer became idle count in the period in which they were taken.
    law.on_signal(us(1250), served(700, 600, 0));
    law.ask(us(3100), 1500);
    assert_eq!(law.last, ms(3));
    assert!((law.bandwidth - (0.7 * 600.0 + 0.3 * 1680.0) * 0.3).abs() < 1e-9);
    let error = AnyPacer::parse("e5g-bdp:period=100us", &setting).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("period 100us is shorter than the TTI of 250us"));
}

fn in_slots(text: &str) -> OverBearer<EnhancedBdp> {
    let setting = PacerSetting {
        tti: Span::from_micros(500),
        tdd_opportunity: Some(Span::from_micros(625)),
        ..PacerSetting::default()
    };
    let Ok(AnyPacer::EnhancedBdp(law)) = AnyPacer::parse(text, &setting) else { panic!() };
    law
}

/// The last slots of `DDDSU` in slots of 0.5 ms; the special slot carries 0.7 of a whole one. Each slot is a
/// period, and the one behind the special slot lasts until the next whole slot.
#[test]
fn a_period_lasts_until_the_next_slot() {
    let mut law = in_slots("e5g-bdp:alpha=1");
    law.forwarded(us(900), 5000);
    law.on_signal(us(1000), in_slot(served(1000, 1000, 4000), 10, 7, 500));
    assert_eq!((law.max_bytes, law.bandwidth, law.length.as_micros()), (Some(700), 700.0, 500));
    law.on_signal(us(1500), in_slot(served(700, 700, 3300), 7, 10, 1000));
    assert_eq!((law.max_bytes, law.length.as_micros()), (Some(1000), 1000));
    assert!((law.bandwidth - 1000.0).abs() < 1e-9);
    let before = (law.max_bytes, law.last, law.length, law.left_bytes);
    law.on_signal(us(2000), in_slot(served(0, 0, 3300), 0, 10, 500));
    assert_eq!(
        (law.max_bytes, law.last, law.length, law.left_bytes),
        before,
        "an uplink slot ends no period"
    );
    law.on_signal(us(2500), in_slot(served(1000, 1000, 2300), 10, 10, 500));
    assert_eq!((law.last, law.left_bytes, law.length.as_micros()), (us(2500), 2300, 500));
    // Without data every slot counts as a period, because no report says that one is uplink.
    law.on_signal(us(3000), in_slot(served(3000, 2300, 0), 10, 10, 500));
    law.ask(us(4700), 1500);
    assert_eq!((law.last, law.length.as_micros()), (us(4500), 500));
}

/// A pattern with two uplink slots in a row has a period of 1 ms without a slot for the bearer.
#[test]
fn a_period_without_a_slot_keeps_the_capacity() {
    let mut law = in_slots("e5g-bdp:period=1ms");
    law.forwarded(us(100), 9000);
    law.on_signal(us(500), in_slot(served(1000, 1000, 8000), 10, 7, 500));
    law.on_signal(us(1000), in_slot(served(700, 700, 7300), 7, 10, 1500));
    assert_eq!((law.max_bytes, law.last), (Some(2000), ms(1)), "two slots, as if both were whole");
    law.on_signal(us(1500), in_slot(served(0, 0, 7300), 0, 10, 1000));
    law.on_signal(us(2000), in_slot(served(0, 0, 7300), 0, 10, 500));
    assert_eq!((law.max_bytes, law.last), (Some(2000), ms(2)));
    law.on_signal(us(2500), in_slot(served(1000, 1000, 6300), 10, 10, 500));
    law.on_signal(us(3000), in_slot(served(0, 0, 6300), 10, 10, 500));
    assert_eq!(law.max_bytes, Some(0), "other bearers had the last slot");
}

#[test]
fn fill_tops_up_late_what_the_best_of_ten_periods_would_carry() {
    let mut law = law("e5g-bdp:fill=0.9");
    law.forwarded(ms(0), 60_000);
    law.on_signal(ms(1), served(2289, 2289, 57_711));
    assert_eq!(law.filling(2289), None);
    assert_eq!(law.filling(2288), Some(us(1900)));
    // A TTI with less capacity: 2288 bytes are too much for the average, and more than the last TTI carried.
    law.on_signal(ms(2), served(1569, 1569, 2288));
    assert_eq!(law.ask(us(2800), 1500), Eligible::At(us(2900)));
    assert_eq!(law.ask(us(2900), 1500), Eligible::Now);
    law.forwarded(us(2900), 1);
    assert_eq!(law.ask(us(2900), 1500), Eligible::At(ms(22)), "its silence");
    // Ten such TTIs later the larger one has left the maximum.
    for tti in 3..=10 {
        law.on_signal(ms(tti), served(1569, 1569, 1569));
    }
    assert_eq!(law.filling(1569), Some(us(10_900)));
    law.on_signal(ms(11), served(1569, 1569, 1569));
    assert_eq!((law.filling(1569), law.filling(1568)), (None, Some(us(11_900))));
}

/// A special slot of 0.7 is filled to 0.7 of the best period, which was a whole slot.
#[test]
fn a_special_slot_is_filled_up_by_its_part() {
    let mut law = in_slots("e5g-bdp:fill=0.9");
    law.forwarded(us(400), 60_000);
    law.on_signal(us(500), in_slot(served(1000, 1000, 0), 10, 10, 500));
    assert_eq!(law.best_bytes(), 1000);
    law.on_signal(us(1000), in_slot(served(1000, 1000, 0), 10, 7, 500));
    assert_eq!((law.best_bytes(), law.filling(699), law.filling(700)), (700, Some(us(1450)), None));
    law.on_signal(us(1500), in_slot(served(700, 700, 0), 7, 10, 1000));
    assert_eq!((law.best_bytes(), law.filling(999)), (1000, Some(us(2400))));
}

#[test]
fn wide_carriers_are_filled_up() {
    let fill = |text: &str, tti_us: u64, peak_bytes| {
        let tti = Span::from_micros(tti_us);
        let setting = PacerSetting { tti, peak_bytes, ..PacerSetting::default() };
        let Ok(AnyPacer::EnhancedBdp(law)) = AnyPacer::parse(text, &setting) else { panic!() };
        law.parameters.fill
    };
    assert_eq!([None, Some(2292), Some(15_000)].map(|peak| fill("e5g-bdp", 1000, peak)), [None; 3]);
    assert_eq!(fill("e5g-bdp", 1000, Some(15_001)), Some(0.9));
    assert_eq!(fill("e5g-bdp:period=1ms", 500, Some(7501)), Some(0.9), "two TTIs are a period");
    assert_eq!(fill("e5g-bdp", 500, Some(7501)), None);
    assert_eq!(fill("e5g-bdp:fill=1", 1000, Some(100_000)), Some(1.0));
}

#[test]
fn contradictions_are_refused() {
    assert!(refused("e5g-bdp:fill=1.01").contains("0 to 1"));
    assert!(refused("e5g-bdp:reduce=1.5").contains("0 to 1"));
}

/// With weights of 0.7, 0.3, 0.09 and 0.027 a constant bandwidth is estimated at 0.7 / (1 - 0.417) of it.
#[test]
fn the_programs_average_exceeds_a_constant_bandwidth() {
    let mut law = law("e5g-bdp:average=program");
    for tti in 1..100 {
        law.below.forwarded(ms(tti - 1), 1000);
        law.on_signal(ms(tti), served(2289, 1000, 0));
    }
    assert!((law.bandwidth - 1000.0 * 0.7 / 0.583).abs() < 1e-6, "{}", law.bandwidth);
    law.earlier = [100.0, 10.0];
    law.bandwidth = 1.0;
    law.average_of_four(2000.0);
    // The average of three periods ago has the square, that of two the cube.
    assert!((law.bandwidth - (1400.0 + 0.3 + 9.0 + 0.27)).abs() < 1e-9, "{}", law.bandwidth);
    assert_eq!(law.earlier, [10.0, 1.0]);
}
