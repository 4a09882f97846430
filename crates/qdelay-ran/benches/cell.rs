//! Simulated seconds per CPU-second of a cell alone: `cargo bench -p qdelay-ran --bench cell`. A number gives
//! the seconds, a word selects cells.
//!
//! 100 UEs with 4 bearers each on 100 PRB of LTE, TTIs of 1 ms. Every UE has one bearer with a backlog of
//! full packets and one with 200 bytes every 20 ms; two are silent.
#![allow(clippy::disallowed_methods, reason = "measures its own cost")]

use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_ran::mac::{MaxThroughput, ProportionalFair};
use qdelay_ran::radio::{Bler, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{Cell, CellSetting, HarqSetting, Source, Split, UeSetting};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

const UES: usize = 100;
const BEARERS: usize = 4;

#[derive(Default)]
struct Host {
    queues: Vec<(VecDeque<Packet>, Backlog)>,
    now: Time,
    delivered: u64,
    dropped: u64,
    told: u64,
}

impl Host {
    fn push(&mut self, bearer: usize, bytes: u32) -> bool {
        let (queue, backlog) = &mut self.queues[bearer];
        queue.push_back(Packet { bytes, arrival: self.now, ..Packet::default() });
        backlog.packets += 1;
        backlog.bytes += u64::from(bytes);
        backlog.packets == 1
    }
}

impl Source for Host {
    #[inline]
    fn backlog(&self, bearer: usize) -> Backlog {
        self.queues[bearer].1
    }
    #[inline]
    fn pull(&mut self, bearer: usize) -> Option<Packet> {
        let (queue, backlog) = &mut self.queues[bearer];
        let packet = queue.pop_front()?;
        backlog.packets -= 1;
        backlog.bytes -= u64::from(packet.bytes);
        if bearer.is_multiple_of(BEARERS) {
            // The bulk flow sends its next packet.
            self.push(bearer, 1500);
        }
        Some(packet)
    }
    fn departed(&mut self, _: usize, packet: &Packet) {
        black_box(packet);
    }
    fn delivered(&mut self, _: usize, packet: Packet, split: Split) {
        black_box((packet, split));
        self.delivered += 1;
    }
    fn dropped(&mut self, _: usize, _: &Packet, _: DropReason) {
        self.dropped += 1;
    }
    #[inline]
    fn served(&mut self, _: usize, served: Served) {
        self.told += black_box(served).sent_bytes;
    }
}

/// Seconds that this program was on a CPU, if Linux reports them.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

fn measure(name: &str, setting: CellSetting, ue: impl Fn(usize) -> UeSetting, seconds: u64) {
    let words =
        || std::env::args().skip(1).filter(|word| word.parse::<u64>().is_err() && !word.starts_with('-'));
    if words().next().is_some() && !words().any(|word| name.contains(&word)) {
        return;
    }
    let setting = (0..UES).fold(setting, |setting, n| setting.ue(ue(n)));
    let mut cell = Cell::new(setting, 1, "cell").expect("a cell");
    let mut host =
        Host { queues: vec![(VecDeque::new(), Backlog::default()); cell.bearers()], ..Host::default() };
    for ue in 0..UES {
        for _ in 0..100 {
            if host.push(ue * BEARERS, 1500) {
                cell.wake(Time::ZERO, ue * BEARERS);
            }
        }
    }
    let (start, cpu) = (Instant::now(), cpu_seconds());
    // A voice packet of some UE arrives every 200 us: one of each UE every 20 ms.
    for n in 0..seconds * 5000 {
        let now = Time::from_nanos(n * 200_000 + 77);
        while cell.next_deadline() <= now {
            host.now = cell.next_deadline();
            cell.run(host.now, &mut host);
        }
        host.now = now;
        let bearer = (n as usize % UES) * BEARERS + 1;
        if host.push(bearer, 200) {
            cell.wake(now, bearer);
        }
    }
    let spent = match (cpu, cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    };
    let usage = cell.usage(host.now);
    println!(
        "{name:<34} {:>7.1} s/CPU-s {:>6.2} us/TTI  ({} delivered, {} dropped, {:.1} Mbit/s, {:.1}% of blocks used)",
        seconds as f64 / spent,
        spent * 1e6 / (seconds * 1000) as f64,
        host.delivered,
        host.dropped,
        usage.sent_bytes as f64 * 8e-6 / seconds as f64,
        usage.used_rbs as f64 * 100.0 / usage.offered_rbs as f64,
    );
}

fn ue(channel: Channel, rlc: RlcSetting) -> UeSetting {
    (0..BEARERS).fold(UeSetting::new(channel), |ue, n| ue.bearer(rlc, (BEARERS - n) as u8))
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(20);
    let lte = || CellSetting::new(Carrier::lte(100).expect("a carrier"));
    let nr =
        CellSetting::new(Carrier::nr(1, 106, McsTable::Qam64, 1, Overhead::default()).expect("a carrier"));
    let mcs = |n: usize| Channel::Mcs(Mcs(10 + (n % 19) as u8));
    let fair = ProportionalFair { window: Span::from_millis(100) };
    let harq = HarqSetting { bler: Bler::new(0.1, Bler::SLOPE).expect("a rate"), ..HarqSetting::default() };
    let fading = |n: usize| Channel::parse(&format!("fading:snr={}", 5 + n % 20)).expect("a channel");
    let (um, am) = (RlcSetting::lte_um(), RlcSetting::lte_am());
    measure("round robin, UM", lte(), |n| ue(mcs(n), um), seconds);
    measure("round robin, AM", lte(), |n| ue(mcs(n), am), seconds);
    measure("round robin, UM, 10% lost", lte().harq(harq), |n| ue(mcs(n), um), seconds);
    measure("round robin, UM, fading", lte(), |n| ue(fading(n), um), seconds);
    measure("proportional fair, UM", lte().scheduler(fair), |n| ue(mcs(n), um), seconds);
    measure("proportional fair, UM, fading", lte().scheduler(fair), |n| ue(fading(n), um), seconds);
    measure("max throughput, UM", lte().scheduler(MaxThroughput), |n| ue(mcs(n), um), seconds);
    measure("NR 0.5 ms, round robin, UM", nr, |n| ue(mcs(n), RlcSetting::nr_um()), seconds);
}
