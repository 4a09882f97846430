//! Pacers over F1-U compared with the thesis's algorithms, polled, above a slow estimate of the RLC's buffer:
//! packets sent and reports received are kept as whole lists, and the estimate is computed from them anew for
//! each question.
//!
//! e5G-BDP is not among them: its model derives the bytes taken by RLC from the remainders, which a
//! correction of the estimate breaks. Its law is judged in one unit, and the estimate here.

use crate::models::pacers::{Bdp, Drql, DynRlc, Length, Polled, Tti};
use crate::pacing::{MS, Rlc, US, at};
use proptest::prelude::*;
use qdelay_core::pacer::{AnyPacer, Ddds, Eligible, Pacer, PacerSetting, Signal, SplitSetting};
use qdelay_core::{Random, Span};
use qdelay_testing::{for_each_seed, least};
use std::collections::VecDeque;

const SEQUENCES: u64 = 200;
const TTIS: u64 = 400;

/// The knowledge of the central unit.
struct History {
    tti: u64,
    round_trip: u64,
    /// Time and bytes of each packet.
    sent: Vec<(u64, u64)>,
    /// Time of each report, its number of transmitted packets, and its rate.
    heard: Vec<(u64, usize, u64)>,
}

impl History {
    /// The last report: the time to which it applies, packets transmitted, and the rate.
    fn last(&self) -> (u64, usize, u64) {
        self.heard
            .last()
            .map_or((0, 0, 0), |&(time, number, rate)| (time.saturating_sub(self.round_trip), number, rate))
    }
    /// Bytes and packets in RLC after the TTI at `now`, or the last one before.
    fn estimate(&self, now: u64) -> (u64, u64) {
        let (from, transmitted, rate) = self.last();
        let mut packets: Vec<(u64, u64)> = self.sent[transmitted..].to_vec();
        if let Some((sent, left)) = packets.first_mut()
            && *sent <= from
        {
            *left -= *left / 2;
        }
        let mut tick = (from / self.tti + 1) * self.tti;
        while tick <= now {
            let mut room = (u128::from(rate) * u128::from(self.tti) / 1_000_000_000) as u64;
            for (sent, left) in &mut packets {
                if *sent >= tick {
                    break;
                }
                let taken = room.min(*left);
                (*left, room) = (*left - taken, room - taken);
                if *left > 0 {
                    break;
                }
            }
            packets.retain(|packet| packet.1 > 0);
            tick += self.tti;
        }
        (packets.iter().map(|packet| packet.1).sum(), packets.len() as u64)
    }
    /// Estimated result of the TTI at `now`.
    fn tti(&self, now: u64) -> Tti {
        let (before, after) = (self.estimate(now - 1), self.estimate(now));
        if before.1 == 0 {
            return Tti::default();
        }
        let capacity = (u128::from(self.last().2) * u128::from(self.tti) / 1_000_000_000) as u64;
        let (sent, left) = (before.0.saturating_sub(after.0), before.1 - after.1);
        Tti { capacity, sent, remaining: after.0, sojourns: 0, left, busy: true, slot: None }
    }
    /// Result reported by the newest report since the one before.
    fn report(&self) -> Tti {
        let (until, transmitted, rate) = self.last();
        let before =
            History { heard: self.heard[..self.heard.len() - 1].to_vec(), sent: self.sent.clone(), ..*self };
        let (from, already, _) = before.last();
        let (elapsed, left) = (until - from, (transmitted - already) as u64);
        let times = self.sent[already..transmitted].iter().map(|packet| packet.0);
        let sojourns =
            (1..).zip(times).map(|(place, sent)| (from + elapsed / left * place).saturating_sub(sent)).sum();
        // RLC's last TTI before the report, and the packets that had come by then.
        let delay = self.round_trip / 2;
        let last_tti = (1..).take_while(|tti| tti * self.tti < until + delay).last().unwrap_or(0) * self.tti;
        let waits: Vec<u64> = self.sent[transmitted..]
            .iter()
            .filter(|packet| packet.0 + delay < last_tti)
            .map(|packet| packet.1)
            .collect();
        Tti {
            capacity: (u128::from(rate) * u128::from(elapsed) / 1_000_000_000) as u64,
            sent: self.sent[already..transmitted].iter().map(|packet| packet.1).sum(),
            remaining: if waits.is_empty() { 0 } else { waits[1..].iter().sum::<u64>() + 1 },
            sojourns,
            left,
            busy: true,
            slot: None,
        }
    }
}

fn within(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Runs a bearer on the other side of F1-U: random load, channel, delay, period, and loss of reports. The
/// arguments of `case` are the TTI and the round trip.
fn judge(name: &str, every_tti: bool, case: impl Fn(&mut Random, u64, u64) -> (String, Box<dyn Polled>)) {
    let (mut all, mut held, mut reports) = (0, 0, 0);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, name, "pacers over F1");
        let tti = [125 * US, MS][random.below(2) as usize];
        let polls = within(&mut random, 2, 8);
        let delay = within(&mut random, 0, 4 * tti);
        let (text, mut model) = case(&mut random, tti, 2 * delay);
        let period = within(&mut random, 1, 8);
        let loss = [0, 10, 50][random.below(3) as usize];
        let split = SplitSetting {
            delay: Span::from_nanos(delay),
            round_trip: Span::from_nanos(2 * delay),
            period: Span::from_nanos(period * tti),
        };
        let setting =
            PacerSetting { tti: Span::from_nanos(tti), split: Some(split), ..PacerSetting::default() };
        let mut pacer = AnyPacer::parse(&text, &setting).unwrap();
        let label = format!(
            "seed {seed}, {text}, TTI {tti}, delay {delay}, {period} TTIs from report to report, {loss}% lost"
        );
        let mut history = History { tti, round_trip: 2 * delay, sent: Vec::new(), heard: Vec::new() };
        let (mut rlc, mut transmitted, mut capacity) = (Rlc::default(), 0, 2289);
        let mut down: VecDeque<(u64, u64)> = VecDeque::new();
        let mut up: VecDeque<(u64, usize, u64)> = VecDeque::new();
        let (mut load, mut head) = (100, None);
        for number in 1..=TTIS {
            for step in 0..polls {
                let now = number * tti + step * tti / polls;
                while let Some(&(time, bytes)) = down.front()
                    && time < now
                {
                    rlc.push(time, bytes);
                    down.pop_front();
                }
                if step == 0 {
                    if random.below(10) == 0 {
                        capacity = [0, 1, 549, 2289, 9000][random.below(5) as usize];
                    }
                    // A law with `EVERY_TTI` ends TTIs without data when it is asked: in every TTI here.
                    if !every_tti && random.below(20) == 0 {
                        load = [0, 5, 100][random.below(3) as usize];
                    }
                    let served = rlc.serve(now, capacity);
                    transmitted += served.left_packets as usize;
                    let is_empty = served.left_packets > 0 && rlc.packets.is_empty();
                    if (number % period == 0 || is_empty) && random.below(100) >= loss {
                        up.push_back((now + delay, transmitted, capacity * 1_000_000_000 / tti));
                    }
                    if every_tti {
                        model.end_of_tti(now, history.tti(now));
                    }
                }
                while let Some(&(time, number, rate)) = up.front()
                    && time <= now
                {
                    up.pop_front();
                    history.heard.push((now, number, rate));
                    let ddds = Ddds {
                        transmitted: (number as u32).checked_sub(1),
                        desired_rate: Some(rate),
                        ..Ddds::default()
                    };
                    pacer.on_signal(at(now), Signal::Delivered(ddds));
                    if !every_tti {
                        model.end_of_tti(now, history.report());
                    }
                    reports += 1;
                }
                while head.is_some() || random.below(100) < load {
                    let size = head.unwrap_or([40, 200, 1500][random.below(3) as usize]);
                    let answer = pacer.next_eligible(at(now), size);
                    let may = model.may_go(now, size, history.estimate(now));
                    assert_eq!(answer == Eligible::Now, may, "{label} at {now}: {size} bytes, {answer:?}");
                    head = (!may).then_some(size);
                    if !may {
                        held += 1;
                        break;
                    }
                    pacer.forwarded(at(now), size);
                    model.went(size);
                    history.sent.push((now, size));
                    down.push_back((now + delay, size));
                    all += 1;
                }
            }
        }
    });
    println!("{name}: {all} packets went, {held} times one was held back, {reports} reports");
    assert!(
        all > least(10_000) && held > least(10_000) && reports > least(1000),
        "{name}: {all} went, {held} held back, {reports} reports"
    );
}

#[test]
fn drql_over_f1_uses_the_reported_remainder() {
    judge("drql", false, |random, tti, round_trip| {
        let (interval, max) = (within(random, 1, 12) * tti, within(random, 1500, 60_000));
        let begun = random.below(2) == 1;
        let fit = if begun { "begun" } else { "whole" };
        let model = Drql {
            interval,
            increase: 1.2,
            max: max as f64,
            mtu: 1500.0,
            begun,
            round_trip,
            limit: max as f64,
            min_val: f64::INFINITY,
            last_time: 0,
            limit_reached: false,
        };
        (format!("drql:interval={interval}ns:max={max}b:fit={fit}:silence=100s"), Box::new(model))
    });
}

#[test]
fn dynrlc_over_f1_uses_the_reported_sojourns() {
    judge("dynrlc", false, |random, tti, _| {
        let (interval, target) = (within(random, 1, 12) * tti, within(random, 1, 6) * tti);
        let (min, max) = (within(random, 1, 3), within(random, 4, 20));
        let model = DynRlc {
            interval,
            target,
            alpha: 0.1,
            bounds: (min as f64, max as f64),
            step: "distance",
            limit: max as f64,
            last_time: 0,
            sojourns: Vec::new(),
        };
        let text = format!(
            "dynrlc:interval={interval}ns:target={target}ns:alpha=0.1:min={min}:max={max}:start={max}:silence=100s"
        );
        (text, Box::new(model))
    });
}

#[test]
fn bdp_over_f1_uses_the_ttis_of_the_estimate() {
    judge("5g-bdp", true, |random, tti, _| {
        let offset = [0.01, 0.33, 1.0][random.below(3) as usize];
        let begun = random.below(2) == 1;
        let fit = if begun { "begun" } else { "whole" };
        let model = Bdp {
            length: Length::new(tti),
            offset,
            mtu: 1500,
            full_mtu: false,
            begun,
            used: false,
            capacity: 0,
            bytes_to_send: 1500,
            bytes_tx: 0,
            last_time: 0,
            refused: 0,
            due: 0,
        };
        (format!("5g-bdp:offset={offset}:fit={fit}:silence=100s"), Box::new(model))
    });
}

/// Calls of a gate to a pacer, and reports over F1-U of any number and rate.
#[derive(Clone, Debug)]
enum GateCall {
    Packet(u64),
    Wait(u64),
    Report(Option<u32>, u64, Option<u64>),
}

fn gate_call() -> impl Strategy<Value = GateCall> {
    let rate = prop_oneof![Just(0), Just(1), 1..10_000_000u64, Just(u64::MAX)];
    let number = prop_oneof![4 => 0..200u32, 1 => any::<u32>()];
    prop_oneof![
        4 => (1..9000u64).prop_map(GateCall::Packet),
        3 => prop_oneof![Just(0), 1..2 * MS, Just(MS), 1..200 * MS].prop_map(GateCall::Wait),
        3 => (proptest::option::of(number), 0..100_000u64, proptest::option::of(rate)).prop_map(|(number, buffer, rate)| {
            GateCall::Report(number, buffer, rate)
        }),
    ]
}

proptest! {
    /// After any reports a pacer asks to be called later, answers the same when it is asked twice, and sends
    /// every packet in the end, without any further report. A window and the desired buffer size hold.
    #[test]
    fn any_report_over_f1_is_accepted_and_every_packet_is_sent(
        law in proptest::sample::select(vec!["dynrlc", "drql", "5g-bdp", "e5g-bdp", "e5g-bdp:fill=0.9", "credit:6kb", "ddds"]),
        round_trip in 0..20 * MS,
        period in 0..20 * MS,
        history in proptest::collection::vec(gate_call(), 1..120),
    ) {
        let split = SplitSetting {
            delay: Span::from_nanos(round_trip / 2),
            round_trip: Span::from_nanos(round_trip),
            period: Span::from_nanos(period),
        };
        let setting = PacerSetting { split: Some(split), ..PacerSetting::default() };
        let mut pacer = AnyPacer::parse(law, &setting).unwrap();
        let mut now = 0;
        let mut desired = u64::MAX;
        for told in history {
            match told {
                GateCall::Packet(size) => {
                    let answer = pacer.next_eligible(at(now), size);
                    prop_assert_eq!(pacer.next_eligible(at(now), size), answer);
                    match answer {
                        Eligible::Now => pacer.forwarded(at(now), size),
                        Eligible::At(time) => prop_assert!(time > at(now), "{:?}", time),
                        Eligible::OnSignal => prop_assert!(false, "it waits for ever"),
                    }
                    match &pacer {
                        AnyPacer::Credit(law) if answer == Eligible::Now => prop_assert!(law.out_bytes() <= 6000.max(size)),
                        AnyPacer::DesiredBuffer(law) if answer == Eligible::Now => {
                            prop_assert!(law.outstanding_bytes() <= desired.max(size));
                        }
                        _ => {}
                    }
                }
                GateCall::Wait(span) => now += span,
                GateCall::Report(transmitted, desired_buffer_bytes, desired_rate) => {
                    desired = desired_buffer_bytes;
                    pacer.on_signal(at(now), Signal::Delivered(Ddds { transmitted, desired_buffer_bytes, desired_rate }));
                }
            }
        }
        let silent = now;
        loop {
            match pacer.next_eligible(at(now), 1500) {
                Eligible::Now => break,
                Eligible::At(time) => now = time.as_nanos(),
                Eligible::OnSignal => prop_assert!(false, "it waits for ever"),
            }
            prop_assert!(now < silent + 1_000 * MS, "since {}", silent);
        }
    }
}
