//! Random cases of DSD: an implementation and its model, called alike.

use crate::drive::{Subject, packet, within};
use crate::models::dsd::{Dsd, Loop, Refusals, Test};
use crate::models::fifo::TailDrop;
use crate::models::red::Red;
use crate::models::{Fate, MS, Model, Ns, Pkt, Room};
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Packet, Random};
use std::collections::VecDeque;

/// The implementation and its model, called alike.
pub struct Pair {
    pub what: String,
    pub subject: Subject,
    pub model: Dsd,
    pub step: usize,
    pub marked: Vec<u64>,
    pub fates: Vec<(Ns, Fate)>,
}

impl Pair {
    pub fn new(what: String, text: &str, model: Dsd, seed: u64) -> Pair {
        let subject = Subject::new(text, seed);
        Pair { what, subject, model, step: 0, marked: Vec::new(), fates: Vec::new() }
    }

    pub fn enqueue(&mut self, now: Ns, pkt: Pkt) {
        let mut copy = self.subject.random.clone();
        let mut log = Vec::new();
        let arrival =
            Packet { dscp: pkt.dscp, class: pkt.class, ..packet(pkt.id, pkt.bytes, pkt.capable, pkt.flow) };
        self.subject.enqueue(now, arrival);
        self.model.enqueue(now, pkt, &mut || copy.unit(), &mut log);
        self.check(now, &log, None, None);
    }

    pub fn dequeue(&mut self, now: Ns) -> Option<Pkt> {
        let mut copy = self.subject.random.clone();
        let mut log = Vec::new();
        let ours = self.subject.dequeue(now);
        let theirs = self.model.dequeue(now, &mut || copy.unit(), &mut log);
        self.check(now, &log, ours, theirs);
        theirs
    }

    fn check(&mut self, now: Ns, log: &[Fate], ours: Option<Packet>, theirs: Option<Pkt>) {
        let backlog = self.subject.qdisc.backlog();
        let head = self.subject.qdisc.head().map(|p| p.handle);
        assert!(
            self.subject.ear.0 == log
                && ours.map(|p| p.handle) == theirs.map(|p| p.id)
                && (backlog.packets, backlog.bytes) == self.model.holds()
                && head == self.model.head().map(|p| p.id),
            "{}: step {} at {now} ns:\nimplementation: {:?} returned {ours:?} {backlog:?} head {head:?}\n\
             model:          {log:?} returned {theirs:?} backlog {:?} head {:?}",
            self.what,
            self.step,
            self.subject.ear.0,
            self.model.holds(),
            self.model.head(),
        );
        let g = self.subject.qdisc.green_bias().expect("DSD has one");
        assert!((g - self.model.g).abs() < 1e-9 && (0.0..=1.0).contains(&g), "{}: g {g}", self.what);
        let (q, slack) = self.model.refusals.as_ref().map_or((0.0, 0.0), |law| (law.q, law.slack));
        let refused = green_loss(&self.subject.qdisc);
        assert!((refused - q).abs() <= slack, "{}: refused {refused}, not {q} within {slack:e}", self.what);
        self.marked.extend(log.iter().filter(|fate| fate.is_mark()).map(|fate| fate.id()));
        if let Some(p) = ours {
            assert_eq!(p.ecn == qdelay_core::Ecn::Ce, self.marked.contains(&p.handle), "{}", self.what);
        }
        self.fates.extend(self.subject.ear.0.drain(..).map(|fate| (now, fate)));
        self.step += 1;
    }
}

pub fn green_loss(qdisc: &AnyQdisc) -> f64 {
    match qdisc {
        AnyQdisc::Dsd(dsd) => dsd.green_loss(),
        other => panic!("{other:?}"),
    }
}

/// Requirements on a random case.
#[derive(Clone, Copy, Default)]
pub struct Wish {
    pub rate: Option<u64>,
    /// True for a link without a known rate.
    pub by_service: bool,
    pub plain: bool,
}

pub struct Case {
    pub text: String,
    pub model: Dsd,
    pub room: Room,
    pub d: Ns,
}

pub fn case(random: &mut Random, wish: Wish) -> Case {
    let rate = match wish.rate {
        None if !wish.by_service && random.below(2) == 0 => {
            Some(within(random, 200, 20_000) * 1_000 + random.below(3))
        }
        rate => rate,
    };
    let mut packets = within(random, 5, 80);
    let mut bytes = if random.below(3) == 0 { within(random, 6_000, 60_000) } else { 0 };
    let d = within(random, 100, 60_000) * 1_000;
    let mut text = format!("dsd:bound={}us", d / 1_000);
    if let Some(rate) = rate {
        text += &format!(":rate={rate}bit");
        // A bound longer than the buffer lasts is refused.
        let least = (u128::from(d) * u128::from(rate) / 8_000_000_000) as u64 + 1500;
        packets = packets.max(least.div_ceil(1500));
        bytes = if bytes > 0 { bytes.max(least) } else { 0 };
    }
    let room = Room { packets: packets as usize, bytes };
    text += &format!(":limit={packets}:limit_bytes={bytes}b");
    let mut marks = false;
    let virtual_queue: Box<dyn Model> = if !wish.plain && random.below(3) == 0 {
        let (min, max) = (within(random, 1, 10) as f64, within(random, 11, 40) as f64);
        let mut red = Red::new(room, min, max);
        (red.weight, red.max_p) =
            (within(random, 1, 500) as f64 / 1000.0, within(random, 1, 1000) as f64 / 1000.0);
        red.ecn = random.below(2) == 0;
        red.rate = rate.unwrap_or(10_000_000) as f64;
        marks = red.ecn;
        let ecn = if red.ecn { "on" } else { "off" };
        text += &format!(
            ":virtual=[red:min={min}:max={max}:weight={}:probability={}:ecn={ecn}]",
            red.weight, red.max_p
        );
        Box::new(red)
    } else {
        Box::new(TailDrop { room, queue: VecDeque::new() })
    };
    let mut model = Dsd::new(room, rate, d, virtual_queue);
    model.ecn = marks;
    (model.test, text) = match random.below(4) {
        0 => (Test::Off, text + ":test=off"),
        1 => (Test::Printed, text + ":test=printed"),
        2 => (Test::Exact, text + ":test=exact"),
        _ => (Test::Residual, text),
    };
    if !wish.plain && random.below(3) == 0 {
        model.overhead = within(random, 0, 40);
        text += &format!(":overhead={}b", model.overhead);
    }
    if rate.is_none() && random.below(2) == 0 {
        model.window = within(random, 1, 500) * MS;
        text += &format!(":window={}ms", model.window / MS);
    }
    if random.below(2) == 0 {
        text += ":green=ef/va/nqb/8-10/48";
        model.is_green = Box::new(|packet| matches!(packet.dscp, 8..=10 | 44..=46 | 48));
    }
    match random.below(6) {
        4 | 5 => {
            let mut refusals = Refusals::new(within(random, 5, 300) * MS);
            refusals.alpha = within(random, 1, 20) as f64 / 10.0;
            refusals.gamma = within(random, 8, 40) as f64 / 10.0;
            refusals.base_rtt_s = within(random, 1, 50) as f64 / 1e3;
            refusals.weight = within(random, 1, 10) as f64 / 10.0;
            text += &format!(
                ":control=loss:period={}ms:alpha={}:gamma={}:base_rtt={}us:weight={}",
                refusals.period / MS,
                refusals.alpha,
                refusals.gamma,
                refusals.base_rtt_s * 1e6,
                refusals.weight
            );
            if rate.is_none() {
                refusals.full = within(random, 100, 3000) as f64;
                text += &format!(":mtu={}b", refusals.full);
            }
            model.refusals = Some(refusals);
        }
        0 => text += ":g=1",
        1 => {
            model.g = within(random, 0, 10) as f64 / 10.0;
            text += &format!(":g={}", model.g);
        }
        _ => {
            let mut control = Loop::new(within(random, 5, 300) * MS);
            control.alpha = within(random, 1, 20) as f64 / 10.0;
            control.k = within(random, 1, 100) as f64 / 10.0;
            control.gamma = within(random, 8, 20) as f64 / 10.0;
            control.base_rtt_s = within(random, 1, 50) as f64 / 1e3;
            control.weight = within(random, 1, 10) as f64 / 10.0;
            text += &format!(
                ":period={}ms:alpha={}:k={}:gamma={}:base_rtt={}us:weight={}",
                control.period / MS,
                control.alpha,
                control.k,
                control.gamma,
                control.base_rtt_s * 1e6,
                control.weight
            );
            model.control = Some(control);
        }
    }
    Case { text, model, room, d }
}
