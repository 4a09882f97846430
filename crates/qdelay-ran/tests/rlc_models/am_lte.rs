//! LTE's acknowledged mode: TS 36.322 clauses 5.1.3 and 5.2, variables of clause 7.1. Numbers are counted
//! without end, and sent modulo 1024.

use super::bits::{Reader, Writer};
use super::lte_pdu::{fill, read_elements, write_indicators};
use super::{Mac, Model, NEVER, Pdcp, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// Timers and limits, in nanoseconds.
#[derive(Clone, Copy)]
pub struct AmTimes {
    pub t_reassembly: u64,
    pub t_status_prohibit: u64,
    pub t_poll_retransmit: u64,
    pub poll_pdu: Option<u64>,
    pub poll_bytes: Option<u64>,
    pub max_retx: u64,
    pub grant: u64,
    pub air: u64,
    pub status_limit: usize,
}

const WINDOW: u64 = 512;
const NUMBERS: u64 = 1024;

struct Pdu {
    data: Vec<u8>,
    /// Lengths of the elements.
    lengths: Vec<usize>,
    fi: u64,
    acknowledged: bool,
    pending: Vec<bool>,
    retx_count: Option<u64>,
}

/// A PDU that is being received: its bytes, and the ends of SDUs in it.
#[derive(Default)]
struct Incoming {
    there: Vec<Option<u8>>,
    size: Option<usize>,
    ends: BTreeSet<usize>,
    starts: BTreeSet<usize>,
    used: usize,
}
impl Incoming {
    fn is_whole(&self) -> bool {
        self.size == Some(self.there.len()) && self.there.iter().all(Option::is_some)
    }
}

pub struct AmLte {
    times: AmTimes,
    vt_a: u64,
    vt_s: u64,
    pdus: BTreeMap<u64, Pdu>,
    pending_bytes: usize,
    pdu_without_poll: u64,
    byte_without_poll: u64,
    poll_sn: u64,
    t_poll_retransmit: u64,
    poll_expired: bool,
    failed: bool,

    vr_r: u64,
    vr_x: u64,
    vr_ms: u64,
    vr_h: u64,
    t_reordering: u64,
    incoming: BTreeMap<u64, Incoming>,
    partial: Vec<u8>,
    polled: BTreeSet<u64>,
    status_at: u64,
    prohibited_until: u64,
    reports: Vec<(u64, Vec<u8>)>,
    written: (u64, u64),
    epoch: u64,
    pdcp: Pdcp,
}

impl AmLte {
    pub fn new(times: AmTimes, header_bytes: usize) -> AmLte {
        AmLte {
            times,
            vt_a: 0,
            vt_s: 0,
            pdus: BTreeMap::new(),
            pending_bytes: 0,
            pdu_without_poll: 0,
            byte_without_poll: 0,
            poll_sn: 0,
            t_poll_retransmit: NEVER,
            poll_expired: false,
            failed: false,
            vr_r: 0,
            vr_x: 0,
            vr_ms: 0,
            vr_h: 0,
            t_reordering: NEVER,
            incoming: BTreeMap::new(),
            partial: Vec::new(),
            polled: BTreeSet::new(),
            status_at: NEVER,
            prohibited_until: 0,
            reports: Vec::new(),
            written: (0, 0),
            epoch: 0,
            pdcp: Pdcp::new(header_bytes, None),
        }
    }

    fn is_stalled(&self) -> bool {
        self.vt_s >= self.vt_a + WINDOW
    }
    fn has_pending(&self) -> bool {
        self.pending_bytes > 0
    }
    fn set_poll(&mut self, now: u64) {
        self.pdu_without_poll = 0;
        self.byte_without_poll = 0;
        self.poll_expired = false;
        self.poll_sn = self.vt_s - 1;
        self.t_poll_retransmit = now + self.times.t_poll_retransmit;
    }
    /// Clause 5.2.1: considers `from..to` of a PDU for retransmission.
    fn consider(&mut self, sn: u64, from: usize, to: usize, counted: &mut BTreeSet<u64>) {
        let Some(pdu) = self.pdus.get_mut(&sn).filter(|pdu| !pdu.acknowledged) else { return };
        let to = to.min(pdu.data.len());
        if from >= to || pdu.pending[from..to].iter().all(|&pending| pending) {
            return;
        }
        let new = pdu.pending[from..to].iter().filter(|&&pending| !pending).count();
        self.pending_bytes += new;
        pdu.pending[from..to].fill(true);
        if counted.insert(sn) {
            let count = pdu.retx_count.map_or(0, |count| count + 1);
            pdu.retx_count = Some(count);
            self.failed |= count == self.times.max_retx;
        }
    }
    /// The PDU, or a segment of it, with its header; the poll bit is left open.
    fn encode(&self, sn: u64, from: usize, to: usize) -> Vec<u8> {
        let pdu = &self.pdus[&sn];
        let whole = from == 0 && to == pdu.data.len();
        let (mut at, mut elements, mut ends_in_sdu, mut starts_in_sdu) = (0, Vec::new(), false, false);
        for (place, &length) in pdu.lengths.iter().enumerate() {
            let (start, stop) = (at, at + length);
            at = stop;
            let (first, end) = (start.max(from), stop.min(to));
            if first >= end {
                continue;
            }
            if elements.is_empty() {
                starts_in_sdu = if first > start { true } else { place == 0 && pdu.fi >> 1 == 1 };
            }
            let last_element = place + 1 == pdu.lengths.len();
            ends_in_sdu = if end < stop { true } else { last_element && pdu.fi & 1 == 1 };
            elements.push(pdu.data[first..end].to_vec());
        }
        let fi = u64::from(starts_in_sdu) << 1 | u64::from(ends_in_sdu);
        let mut bits = Writer::default();
        // D/C, RF, P, FI.
        bits.put(1, 1).put(u64::from(!whole), 1).put(0, 1).put(fi, 2);
        let number = |bits: &mut Writer| {
            bits.put(sn % NUMBERS, 10);
            if !whole {
                bits.put(u64::from(to == pdu.data.len()), 1).put(from as u64, 15);
            }
        };
        write_indicators(&mut bits, number, &elements);
        [bits.bytes(), elements.concat()].concat()
    }
    fn first_pending(&self) -> Option<(u64, usize, usize)> {
        if self.pending_bytes == 0 {
            return None;
        }
        let (&sn, pdu) = self.pdus.iter().find(|(_, pdu)| pdu.pending.contains(&true))?;
        let from = pdu.pending.iter().position(|&pending| pending)?;
        let run = pdu.pending[from..].iter().take_while(|&&pending| pending).count();
        Some((sn, from, from + run))
    }
    fn on_status(&mut self, report: &[u8]) {
        let mut bits = Reader::new(report);
        assert_eq!((bits.get(1), bits.get(3)), (0, 0));
        let absolute = |sn: u64| self.vt_a + (sn + NUMBERS - self.vt_a % NUMBERS) % NUMBERS;
        let ack = absolute(bits.get(10));
        let mut more = bits.get(1) == 1;
        let mut nacks = Vec::new();
        while more {
            let sn = absolute(bits.get(10));
            more = bits.get(1) == 1;
            let offsets = bits.get(1) == 1;
            let (from, to) = if offsets { (bits.get(15), bits.get(15)) } else { (0, 0x7fff) };
            nacks.push((sn, from as usize, if to == 0x7fff { usize::MAX } else { to as usize + 1 }));
        }
        for sn in self.vt_a..ack {
            if !nacks.iter().any(|&(nack, ..)| nack == sn)
                && let Some(pdu) = self.pdus.get_mut(&sn)
            {
                if !pdu.acknowledged {
                    self.pending_bytes -= pdu.pending.iter().filter(|&&pending| pending).count();
                    pdu.pending.fill(false);
                }
                pdu.acknowledged = true;
            }
        }
        let mut counted = BTreeSet::new();
        for &(sn, from, to) in &nacks {
            self.consider(sn, from, to, &mut counted);
        }
        if self.poll_sn < ack || nacks.iter().any(|&(sn, ..)| sn == self.poll_sn) {
            self.t_poll_retransmit = NEVER;
        }
        while self.pdus.get(&self.vt_a).is_some_and(|pdu| pdu.acknowledged) {
            self.pdus.remove(&self.vt_a);
            self.vt_a += 1;
        }
    }

    fn want_status(&mut self, now: u64) {
        if self.status_at == NEVER {
            self.status_at = now.max(self.prohibited_until) + self.times.grant;
        }
    }
    fn is_whole(&self, sn: u64) -> bool {
        sn < self.vr_r || self.incoming.get(&sn).is_some_and(Incoming::is_whole)
    }
    fn first_not_whole(&self, mut sn: u64) -> u64 {
        while self.is_whole(sn) {
            sn += 1;
        }
        sn
    }
    fn receive_pdu(&mut self, now: u64, pdu: &[u8]) {
        let mut bits = Reader::new(pdu);
        assert_eq!(bits.get(1), 1);
        let (segment, poll) = (bits.get(1) == 1, bits.get(1) == 1);
        let (continues, to_be_continued) = (bits.get(1) == 1, bits.get(1) == 1);
        let extended = bits.get(1) == 1;
        let sn = bits.get(10);
        let x = self.vr_r + (sn + NUMBERS - self.vr_r % NUMBERS) % NUMBERS;
        let (last, so) = if segment { (bits.get(1) == 1, bits.get(15) as usize) } else { (true, 0) };
        let elements = read_elements(&mut bits, extended);
        // Clause 5.1.3.2.2.
        if x >= self.vr_r + WINDOW {
            if poll {
                self.want_status(now);
            }
            return;
        }
        let incoming = self.incoming.entry(x).or_default();
        let mut at = so;
        let mut new = false;
        for (place, element) in elements.iter().enumerate() {
            if place > 0 || !continues {
                incoming.starts.insert(at);
            }
            for byte in element {
                if incoming.there.len() <= at {
                    incoming.there.resize(at + 1, None);
                }
                new |= incoming.there[at].is_none();
                incoming.there[at] = Some(*byte);
                at += 1;
            }
            if place + 1 < elements.len() || !to_be_continued {
                incoming.ends.insert(at);
            }
        }
        if last {
            incoming.size = Some(at);
        }
        if !new {
            if poll {
                self.want_status(now);
            }
            return;
        }
        // Clause 5.1.3.2.3.
        if x >= self.vr_h {
            self.vr_h = x + 1;
        }
        if x == self.vr_ms {
            self.vr_ms = self.first_not_whole(self.vr_ms);
        }
        if x == self.vr_r {
            self.put_together(now);
        }
        if self.t_reordering != NEVER && (self.vr_x <= self.vr_r || self.vr_x > self.vr_r + WINDOW) {
            self.t_reordering = NEVER;
        }
        if self.t_reordering == NEVER && self.vr_h > self.vr_r {
            self.t_reordering = now + self.times.t_reassembly;
            self.vr_x = self.vr_h;
        }
        if poll {
            self.polled.insert(x);
        }
        self.answer_polls(now);
    }
    /// Clause 5.2.3: a poll is answered once its number is below VR(MS).
    fn answer_polls(&mut self, now: u64) {
        let due: Vec<u64> = self.polled.range(..self.vr_ms).copied().collect();
        for sn in due {
            self.polled.remove(&sn);
            self.want_status(now);
        }
    }
    /// Passes on bytes in sequence; VR(R) advances past complete PDUs.
    fn put_together(&mut self, now: u64) {
        while let Some(incoming) = self.incoming.get_mut(&self.vr_r) {
            let mut ready = Vec::new();
            while let Some(&Some(byte)) = incoming.there.get(incoming.used) {
                if incoming.starts.contains(&incoming.used) {
                    self.partial.clear();
                }
                self.partial.push(byte);
                incoming.used += 1;
                if incoming.ends.contains(&incoming.used) {
                    ready.push(std::mem::take(&mut self.partial));
                }
            }
            ready.into_iter().for_each(|sdu| self.pdcp.receive(now, sdu));
            if !self.is_whole(self.vr_r) {
                break;
            }
            self.incoming.remove(&self.vr_r);
            self.vr_r += 1;
        }
    }
    fn write_status(&mut self) -> Vec<u8> {
        // Gaps as (number, offsets), as many as fit.
        let mut nacks: Vec<(u64, Option<(usize, usize)>)> = Vec::new();
        let mut ack = self.vr_ms;
        let size = |nacks: &[(u64, Option<(usize, usize)>)]| {
            (15 + nacks.iter().map(|nack| if nack.1.is_some() { 42 } else { 12 }).sum::<usize>()).div_ceil(8)
        };
        'all: for sn in self.vr_r..self.vr_ms {
            if self.is_whole(sn) {
                continue;
            }
            let mut gaps = Vec::new();
            match self.incoming.get(&sn) {
                None => gaps.push(None),
                Some(incoming) => {
                    let mut from = None;
                    for (at, byte) in incoming.there.iter().enumerate() {
                        match (byte, from) {
                            (None, None) => from = Some(at),
                            (Some(_), Some(start)) => {
                                gaps.push(Some((start, at - 1)));
                                from = None;
                            }
                            _ => {}
                        }
                    }
                    if incoming.size.is_none() {
                        gaps.push(Some((incoming.there.len(), 0x7fff)));
                    }
                }
            }
            for (place, gap) in gaps.into_iter().enumerate() {
                nacks.push((sn, gap));
                if size(&nacks) > self.times.status_limit {
                    nacks.pop();
                    ack = if place > 0 { sn + 1 } else { sn };
                    break 'all;
                }
            }
        }
        let mut bits = Writer::default();
        bits.put(0, 1).put(0, 3).put(ack % NUMBERS, 10).put(u64::from(!nacks.is_empty()), 1);
        for (place, (sn, gap)) in nacks.iter().enumerate() {
            bits.put(sn % NUMBERS, 10).put(u64::from(place + 1 < nacks.len()), 1);
            bits.put(u64::from(gap.is_some()), 1);
            if let Some((from, to)) = gap {
                bits.put(*from as u64, 15).put(*to as u64, 15);
            }
        }
        bits.bytes()
    }
    fn reestablish(&mut self, now: u64) {
        // Clause 5.4: the received bytes are reassembled, with or without gaps.
        let whole: Vec<u64> = self.incoming.keys().copied().collect();
        let mut next = self.vr_r;
        for sn in whole {
            if sn != next {
                self.partial.clear();
            }
            let incoming = self.incoming.remove(&sn).unwrap();
            if !incoming.is_whole() {
                self.partial.clear();
                next = sn + 1;
                continue;
            }
            // An SDU whose beginning is missing is left out up to the next beginning.
            let mut begun = !self.partial.is_empty();
            for at in incoming.used..incoming.there.len() {
                if incoming.starts.contains(&at) {
                    begun = true;
                    self.partial.clear();
                }
                if begun {
                    self.partial.push(incoming.there[at].unwrap());
                    if incoming.ends.contains(&(at + 1)) {
                        begun = false;
                        let sdu = std::mem::take(&mut self.partial);
                        self.pdcp.receive(now, sdu);
                    }
                }
            }
            next = sn + 1;
        }
        let delivered = std::mem::take(&mut self.pdcp.delivered);
        let (epoch, written) = (self.epoch + 1, self.written);
        *self = AmLte::new(self.times, self.pdcp.header_bytes);
        (self.epoch, self.written, self.pdcp.delivered) = (epoch, written, delivered);
        self.prohibited_until = now;
    }
}

impl Model for AmLte {
    fn transmit(&mut self, now: u64, grant: u64, queue: &mut Queue) -> Vec<u8> {
        let nothing_new = |this: &AmLte, queue: &Queue| queue.is_empty() || this.is_stalled();
        if self.poll_expired && !self.has_pending() && nothing_new(self, queue) {
            // Clause 5.2.2.3.
            let sn = self.pdus.iter().rev().find(|(_, pdu)| !pdu.acknowledged).map(|(&sn, _)| sn);
            if let Some(sn) = sn {
                self.consider(sn, 0, usize::MAX, &mut BTreeSet::new());
            }
        }
        let (mut out, mut used) = (Vec::<Vec<u8>>::new(), 0);
        if self.failed {
            return Vec::new();
        }
        while let Some((sn, from, to)) = self.first_pending() {
            let limit = Mac::Lte.largest(grant - used);
            // The longest prefix that fits.
            let end = (from + 1..=to).rev().find(|&end| self.encode(sn, from, end).len() <= limit);
            let Some(end) = end else { break };
            let pdu = self.encode(sn, from, end);
            self.pdus.get_mut(&sn).unwrap().pending[from..end].fill(false);
            self.pending_bytes -= end - from;
            used += (pdu.len() + Mac::Lte.subheader(pdu.len()).len()) as u64;
            out.push(pdu);
        }
        while !self.has_pending() && !self.is_stalled() {
            let Some(field) = fill(queue, 2, Mac::Lte.largest(grant - used)) else { break };
            let sn = self.vt_s;
            self.vt_s += 1;
            self.pdus.insert(
                sn,
                Pdu {
                    data: field.bytes(),
                    lengths: field.elements.iter().map(Vec::len).collect(),
                    fi: field.fi(),
                    acknowledged: false,
                    pending: vec![false; field.len()],
                    retx_count: None,
                },
            );
            let mut pdu = self.encode(sn, 0, field.len());
            self.pdu_without_poll += 1;
            self.byte_without_poll += field.len() as u64;
            if self.times.poll_pdu.is_some_and(|limit| self.pdu_without_poll >= limit)
                || self.times.poll_bytes.is_some_and(|limit| self.byte_without_poll >= limit)
            {
                pdu[0] |= 0x20;
                self.set_poll(now);
            }
            used += (pdu.len() + Mac::Lte.subheader(pdu.len()).len()) as u64;
            out.push(pdu);
        }
        let nothing_left = !self.has_pending() && nothing_new(self, queue);
        if let Some(pdu) = out.last_mut()
            && pdu[0] & 0x20 == 0
            && (nothing_left || self.poll_expired)
        {
            pdu[0] |= 0x20;
            self.set_poll(now);
        }
        Mac::Lte.block(&out)
    }
    fn receive(&mut self, now: u64, block: &[u8]) {
        for pdu in Mac::Lte.pdus(block) {
            self.receive_pdu(now, &pdu);
        }
    }
    fn poll(&mut self, now: u64, queue: &mut Queue) {
        if now >= self.t_reordering {
            // Clause 5.1.3.2.4.
            self.t_reordering = NEVER;
            self.vr_ms = self.first_not_whole(self.vr_x);
            if self.vr_h > self.vr_ms {
                self.t_reordering = now + self.times.t_reassembly;
                self.vr_x = self.vr_h;
            }
            self.want_status(now);
            self.answer_polls(now);
        }
        if now >= self.status_at {
            self.status_at = NEVER;
            self.prohibited_until = now + self.times.t_status_prohibit;
            let report = self.write_status();
            self.written.0 += 1;
            self.written.1 += report.len() as u64;
            self.reports.push((now + self.times.air, report));
        }
        while self.reports.first().is_some_and(|&(arrival, _)| arrival <= now) {
            let (_, report) = self.reports.remove(0);
            self.on_status(&report);
        }
        if now >= self.t_poll_retransmit {
            self.t_poll_retransmit = NEVER;
            self.poll_expired = true;
        }
        if self.failed {
            self.reestablish(now);
            queue.open = None;
        }
    }
    fn delivered(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.pdcp.delivered)
    }
    fn epoch(&self) -> u64 {
        self.epoch
    }
    fn is_full(&self) -> bool {
        self.is_stalled()
    }
    fn reports(&self) -> (u64, u64) {
        self.written
    }
}
