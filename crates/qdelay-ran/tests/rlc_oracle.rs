//! RLC compared with models that carry real bytes with real headers (`rlc_models`), under random packets,
//! grants, delays and losses: the same number of bytes filled in every grant, the same packets partly taken,
//! the same packets delivered at the same time.

use crate::rlc_models::am_lte::{AmLte, AmTimes};
use crate::rlc_models::am_nr::AmNr;
use crate::rlc_models::um_lte::UmLte;
use crate::rlc_models::um_nr::UmNr;
use crate::rlc_models::{Model, Queue};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Span, Time};
use qdelay_ran::rlc::*;
use qdelay_testing::for_each_seed;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// Contents of a packet: its bytes begin with the handle, so that both sides can be compared.
fn contents(handle: u64, bytes: u32) -> Vec<u8> {
    let filler = (0..bytes as usize).map(|place| (handle as usize * 31 + place * 7) as u8);
    let mut contents: Vec<u8> = filler.collect();
    contents[..8].copy_from_slice(&handle.to_be_bytes());
    contents
}

#[derive(Default)]
struct Host {
    queue: VecDeque<Packet>,
    departed: Vec<u64>,
    delivered: Vec<u64>,
    dropped: Vec<(u64, DropReason)>,
    ended: Vec<bool>,
    now: Time,
    first_taken: Vec<Time>,
}
impl Supply for Host {
    fn pull(&mut self) -> Option<Packet> {
        let packet = self.queue.pop_front()?;
        self.first_taken[packet.handle as usize] = self.now;
        Some(packet)
    }
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    fn departed(&mut self, packet: &Packet) {
        assert!(!self.ended[packet.handle as usize]);
        self.departed.push(packet.handle);
    }
}
impl Host {
    fn end(&mut self, handle: u64) {
        let ended = &mut self.ended[handle as usize];
        assert!(!*ended, "packet {handle} ended twice");
        *ended = true;
    }
}
impl Receiver for Host {
    fn delivered(&mut self, packet: Packet, split: Split) {
        self.end(packet.handle);
        assert_eq!(split.air + split.reassembly, self.now.since(self.first_taken[packet.handle as usize]));
        self.delivered.push(packet.handle);
    }
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.end(packet.handle);
        self.dropped.push((packet.handle, reason));
    }
}

/// Conditions on the air.
#[derive(Clone, Copy)]
struct Air {
    /// Lost blocks, in 1000.
    lost: u64,
    /// Blocks that take another round of 8 ms, in 1000 for each round.
    repeated: u64,
    rounds: u64,
    /// Largest packet, in bytes; `grant`: largest grant, in bytes.
    packet: u64,
    grant: u64,
    /// Longest busy or idle interval, in TTIs.
    stretch: u64,
    ttis: u64,
}

struct Flying {
    due: u64,
    lost: bool,
    id: BlockId,
    bytes: Vec<u8>,
    epoch: u64,
}

/// Result of a run.
#[derive(Debug, Default)]
struct Outcome {
    offered: usize,
    delivered: usize,
    dropped: usize,
    inside: u64,
    air: usize,
    counts: AmCounts,
}

fn run(setting: RlcSetting, mut model: impl Model, air: Air, seed: u64) -> Outcome {
    let mut random = Random::derive(seed, "rlc", "oracle");
    let mut bearer = Bearer::new(setting).unwrap();
    let mut host = Host::default();
    let mut queue = Queue { header_bytes: setting.sdu_overhead_bytes as usize, ..Queue::default() };
    let mut flying: Vec<Flying> = Vec::new();
    let mut busy = true;
    for tti in 0..air.ttis + 60_000 {
        // The end of a run is quiet, until all remaining blocks have arrived.
        let done = flying.is_empty() && host.queue.is_empty() && bearer.inside().packets == 0;
        if tti > air.ttis && done && bearer.next_deadline() == Time::NEVER {
            break;
        }
        let now = Time::from_nanos(tti * MS);
        host.now = now;
        if tti % air.stretch == 0 {
            busy = random.below(3) > 0;
        }
        if busy && tti < air.ttis {
            for _ in 0..random.below(4) {
                let handle = host.ended.len() as u64;
                let most = if random.below(4) == 0 { air.packet } else { air.packet / 10 };
                let bytes = 8 + random.below(most);
                bearer.announce(bytes as u32);
                host.queue.push_back(Packet { handle, bytes: bytes as u32, ..Packet::default() });
                queue.packets.push_back(contents(handle, bytes as u32));
                host.ended.push(false);
                host.first_taken.push(Time::NEVER);
            }
        }
        let poll = |bearer: &mut Bearer, model: &mut dyn Model, host: &mut Host, queue: &mut Queue| {
            bearer.poll(now, host);
            model.poll(now.as_nanos(), queue);
            assert!(bearer.next_deadline() > now);
        };
        let (due, rest): (Vec<Flying>, Vec<Flying>) = flying.into_iter().partition(|block| block.due <= tti);
        flying = rest;
        for block in due {
            if block.lost {
                bearer.lost(now, block.id, &mut host);
            } else {
                bearer.received(now, block.id, &mut host);
                if block.epoch == model.epoch() {
                    model.receive(now.as_nanos(), &block.bytes);
                }
            }
            bearer.received(now, block.id, &mut host);
        }
        poll(&mut bearer, &mut model, &mut host, &mut queue);
        if random.below(5) > 0 {
            let backlog = Backlog {
                packets: host.queue.len() as u64,
                bytes: host.queue.iter().map(|packet| u64::from(packet.bytes)).sum(),
            };
            let wanted = bearer.wanted_bytes(backlog);
            let grant = match random.below(4) {
                0 => random.below(40),
                1 => wanted,
                _ => random.below(air.grant),
            };
            let done = bearer.transmit(now, grant, &mut host);
            let block = model.transmit(now.as_nanos(), grant, &mut queue);
            assert_eq!(done.used_bytes, block.len() as u64, "tti {tti}, grant {grant}");
            assert_eq!(done.sdu_bytes, std::mem::take(&mut queue.taken), "tti {tti}");
            let departed: Vec<Vec<u8>> = queue.departed.drain(..).collect();
            assert_eq!(host.departed.len(), departed.len());
            for (handle, packet) in host.departed.drain(..).zip(departed) {
                assert_eq!(contents(handle, packet.len() as u32), packet);
            }
            assert_eq!(bearer.remaining().bytes, queue.remaining() as u64);
            assert_eq!(bearer.remaining().packets, u64::from(queue.open.is_some()));
            assert!(wanted > 0 || done.block.is_none(), "tti {tti}: nothing wanted, but sent");
            // A full window, or a sender that gives up, takes fewer bytes than wanted.
            let unhindered = bearer.next_deadline() > now && !model.is_full();
            if grant >= wanted && wanted < 30_000 && unhindered {
                assert!(
                    host.queue.is_empty() && queue.open.is_none(),
                    "tti {tti}: {wanted} wanted of {grant}, used {done:?}"
                );
                let spare = backlog.packets + 16 + backlog.bytes / 2048 * 6;
                assert!(wanted <= done.used_bytes + spare, "wanted {wanted} of {backlog:?}, used {done:?}");
            }
            if let Some(id) = done.block {
                let mut due = tti + 4;
                for _ in 0..air.rounds {
                    due += 8 * u64::from(random.below(1000) < air.repeated);
                }
                let lost = random.below(1000) < air.lost;
                flying.push(Flying { due, lost, id, bytes: block, epoch: model.epoch() });
            } else {
                assert!(block.is_empty());
            }
            if bearer.next_deadline() <= now {
                poll(&mut bearer, &mut model, &mut host, &mut queue);
            }
        }
        let delivered = model.delivered();
        assert_eq!(host.delivered.len(), delivered.len(), "tti {tti}");
        for (handle, packet) in host.delivered.iter().zip(&delivered) {
            assert!(contents(*handle, packet.len() as u32) == *packet, "tti {tti}: another than {handle}");
        }
        host.delivered.clear();
        let counts = bearer.counts();
        assert_eq!((counts.reports, counts.report_bytes), model.reports());
        let ended = host.ended.iter().filter(|&&ended| ended).count();
        assert_eq!(bearer.inside().packets as usize + ended + host.queue.len(), host.ended.len());
    }
    let dropped = host.dropped.len();
    let ended = host.ended.iter().filter(|&&ended| ended).count();
    let air = host.dropped.iter().filter(|drop| drop.1 == qdelay_ran::rlc::AIR).count();
    Outcome {
        offered: host.ended.len(),
        delivered: ended - dropped,
        dropped,
        inside: bearer.inside().packets,
        air,
        counts: bearer.counts(),
    }
}

const AIR: Air =
    Air { lost: 30, repeated: 100, rounds: 3, packet: 1500, grant: 4000, stretch: 200, ttis: 2500 };
const CLEAN: Air = Air { lost: 0, repeated: 0, ..AIR };

#[test]
fn lte_unacknowledged_mode_matches_its_model() {
    for_each_seed(4, |seed| {
        for sn_bits in [5, 10] {
            // Numbers of 5 bits would wrap around within three rounds of HARQ.
            let rounds = if sn_bits == 5 { 1 } else { 3 };
            let large = Air { packet: 5000, grant: 60_000, ..AIR };
            let tiny = Air { packet: 100, grant: 60, ..AIR };
            for (air, overhead) in [(AIR, 2), (CLEAN, 0), (large, 2), (tiny, 1)] {
                let air = Air { rounds, ..air };
                let mut setting = RlcSetting::lte_um();
                let t_reordering = Span::from_millis(if seed % 2 == 0 { 50 } else { 15 });
                setting.mode = Mode::LteUm(LteUm { sn_bits, t_reordering });
                setting.sdu_overhead_bytes = overhead;
                let model = UmLte::new(sn_bits.into(), t_reordering.as_nanos(), overhead as usize);
                let outcome = run(setting, model, air, seed);
                assert_eq!(outcome.inside, 0, "{outcome:?}");
                assert_eq!(outcome.dropped == 0, air.lost == 0, "{outcome:?}");
                assert!(outcome.delivered * 10 > outcome.offered * 7, "{outcome:?}");
            }
        }
    });
}

#[test]
fn nr_unacknowledged_mode_matches_its_model() {
    for_each_seed(4, |seed| {
        for sn_bits in [6, 12] {
            let rounds = if sn_bits == 6 { 1 } else { 3 };
            let large = Air { packet: 9000, grant: 80_000, ..AIR };
            let tiny = Air { packet: 300, grant: 60, ..AIR };
            for (air, overhead) in [(AIR, 3), (CLEAN, 2), (large, 3), (tiny, 3)] {
                for pdcp in [None, Some(100), Some(20)] {
                    let air = Air { rounds, ..air };
                    let mut setting = RlcSetting::nr_um();
                    let t_reassembly = Span::from_millis(if seed % 2 == 0 { 50 } else { 15 });
                    let reordering = |ms| PdcpReordering { t_reordering: Span::from_millis(ms) };
                    setting.mode = Mode::NrUm(NrUm { sn_bits, t_reassembly, pdcp: pdcp.map(reordering) });
                    setting.sdu_overhead_bytes = overhead;
                    let (t, pdcp) = (t_reassembly.as_nanos(), pdcp.map(|ms| ms * MS));
                    let model = UmNr::new(sn_bits.into(), t, overhead as usize, pdcp);
                    let outcome = run(setting, model, air, seed);
                    assert_eq!(outcome.inside, 0, "{outcome:?}");
                    assert!(outcome.delivered * 10 > outcome.offered * 7, "{outcome:?}");
                }
            }
        }
    });
}

fn am(seed: u64, sn_bits: u8, max_retransmissions: u32) -> (Am, AmTimes) {
    let ms = Span::from_millis;
    let am = Am {
        sn_bits,
        max_retransmissions,
        t_reassembly: ms([50, 15, 35][seed as usize % 3]),
        t_status_prohibit: ms([20, 5, 1, 35][seed as usize % 4]),
        t_poll_retransmit: ms([80, 45][seed as usize % 2]),
        poll_pdu: [Some(32), None, Some(4)][seed as usize % 3],
        poll_bytes: [None, Some(25_000)][seed as usize / 3 % 2],
        uplink: StatusUplink {
            grant: ms([8, 0][seed as usize / 2 % 2]),
            air: ms([4, 0][seed as usize / 4 % 2]),
            limit_bytes: [1024, 16][seed as usize / 3 % 2],
        },
    };
    let times = AmTimes {
        t_reassembly: am.t_reassembly.as_nanos(),
        t_status_prohibit: am.t_status_prohibit.as_nanos(),
        t_poll_retransmit: am.t_poll_retransmit.as_nanos(),
        poll_pdu: am.poll_pdu.map(u64::from),
        poll_bytes: am.poll_bytes,
        max_retx: max_retransmissions.into(),
        grant: am.uplink.grant.as_nanos(),
        air: am.uplink.air.as_nanos(),
        status_limit: am.uplink.limit_bytes as usize,
    };
    (am, times)
}

#[test]
fn lte_acknowledged_mode_matches_its_model() {
    for_each_seed(6, |seed| {
        let large = Air { packet: 5000, grant: 60_000, ..AIR };
        let tiny = Air { packet: 100, grant: 60, ..AIR };
        let rough = Air { lost: 300, ..AIR };
        for (air, overhead) in [(AIR, 2), (CLEAN, 0), (large, 2), (tiny, 1), (rough, 2)] {
            let (am, times) = am(seed, 10, 1000);
            let mut setting = RlcSetting::lte_am();
            setting.mode = Mode::LteAm(am);
            setting.sdu_overhead_bytes = overhead;
            let outcome = run(setting, AmLte::new(times, overhead as usize), air, seed);
            assert_eq!(outcome.delivered, outcome.offered, "{outcome:?}");
        }
    });
}

#[test]
fn nr_acknowledged_mode_matches_its_model() {
    for_each_seed(6, |seed| {
        let large = Air { packet: 9000, grant: 80_000, ..AIR };
        let tiny = Air { packet: 300, grant: 60, ..AIR };
        let rough = Air { lost: 300, ..AIR };
        for (air, overhead) in [(AIR, 3), (CLEAN, 2), (large, 3), (tiny, 3), (rough, 3)] {
            for (sn_bits, pdcp) in [(12, None), (18, Some(60_000)), (18, Some(60))] {
                let (am, times) = am(seed, sn_bits, 1000);
                let mut setting = RlcSetting::nr_am();
                let reordering = |ms| PdcpReordering { t_reordering: Span::from_millis(ms) };
                setting.mode = Mode::NrAm(NrAm { am, pdcp: pdcp.map(reordering) });
                setting.sdu_overhead_bytes = overhead;
                let model = AmNr::new(times, sn_bits.into(), overhead as usize, pdcp.map(|ms| ms * MS));
                let outcome = run(setting, model, air, seed);
                assert_eq!(outcome.inside, 0, "{outcome:?}");
                if pdcp != Some(60) {
                    assert_eq!(outcome.delivered, outcome.offered, "{outcome:?}");
                }
            }
        }
    });
}

#[test]
fn acknowledged_modes_begin_anew_after_too_many_retransmissions() {
    for_each_seed(6, |seed| {
        let air = Air { lost: 400, ..AIR };
        let (am, times) = am(seed, 10, 2);
        let mut setting = RlcSetting::lte_am();
        setting.mode = Mode::LteAm(am);
        let outcome = run(setting, AmLte::new(times, 2), air, seed);
        assert!(outcome.counts.reestablished > 0 && outcome.inside == 0 && outcome.air == 0, "{outcome:?}");

        let (am, times) = self::am(seed, 12, 2);
        let mut setting = RlcSetting::nr_am();
        let t_reordering = Span::from_millis(100);
        setting.mode = Mode::NrAm(NrAm { am, pdcp: Some(PdcpReordering { t_reordering }) });
        let outcome = run(setting, AmNr::new(times, 12, 3, Some(100 * MS)), air, seed);
        assert!(outcome.counts.reestablished > 0 && outcome.inside == 0 && outcome.air == 0, "{outcome:?}");
    });
}
