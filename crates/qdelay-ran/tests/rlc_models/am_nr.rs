//! NR's acknowledged mode: TS 38.322 clauses 5.2.3 and 5.3, variables of clause 7.1. Numbers are counted without end, and
//! sent modulo a power of two.

use super::am_lte::AmTimes;
use super::bits::{Reader, Writer};
use super::um_nr::Bytes;
use super::{Mac, Model, NEVER, Pdcp, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// A gap of a report: first number, count of numbers, offsets.
type Nack = (u64, u64, Option<(usize, usize)>);

#[derive(Default)]
struct Sdu {
    /// Bytes sent so far, and the size once all were.
    data: Vec<u8>,
    size: Option<usize>,
    acknowledged: bool,
    pending: Vec<bool>,
    retx_count: Option<u64>,
}

pub struct AmNr {
    times: AmTimes,
    sn_bits: u32,
    tx_next_ack: u64,
    tx_next: u64,
    sdus: BTreeMap<u64, Sdu>,
    pending_bytes: usize,
    pdu_without_poll: u64,
    byte_without_poll: u64,
    poll_sn: u64,
    t_poll_retransmit: u64,
    poll_expired: bool,
    failed: bool,

    rx_next: u64,
    rx_next_status_trigger: u64,
    rx_highest_status: u64,
    rx_next_highest: u64,
    t_reassembly: u64,
    incoming: BTreeMap<u64, Bytes>,
    polled: BTreeSet<u64>,
    status_at: u64,
    prohibited_until: u64,
    reports: Vec<(u64, Vec<u8>)>,
    written: (u64, u64),
    epoch: u64,
    pdcp: Pdcp,
}

impl AmNr {
    pub fn new(times: AmTimes, sn_bits: u32, header_bytes: usize, t_reordering: Option<u64>) -> AmNr {
        AmNr {
            times,
            sn_bits,
            tx_next_ack: 0,
            tx_next: 0,
            sdus: BTreeMap::new(),
            pending_bytes: 0,
            pdu_without_poll: 0,
            byte_without_poll: 0,
            poll_sn: 0,
            t_poll_retransmit: NEVER,
            poll_expired: false,
            failed: false,
            rx_next: 0,
            rx_next_status_trigger: 0,
            rx_highest_status: 0,
            rx_next_highest: 0,
            t_reassembly: NEVER,
            incoming: BTreeMap::new(),
            polled: BTreeSet::new(),
            status_at: NEVER,
            prohibited_until: 0,
            reports: Vec::new(),
            written: (0, 0),
            epoch: 0,
            pdcp: Pdcp::new(header_bytes, t_reordering),
        }
    }
    fn window(&self) -> u64 {
        1 << (self.sn_bits - 1)
    }
    fn numbers(&self) -> u64 {
        1 << self.sn_bits
    }
    fn is_stalled(&self) -> bool {
        self.tx_next >= self.tx_next_ack + self.window()
    }
    fn has_pending(&self) -> bool {
        self.pending_bytes > 0
    }
    fn set_poll(&mut self, now: u64) {
        self.pdu_without_poll = 0;
        self.byte_without_poll = 0;
        self.poll_expired = false;
        self.poll_sn = self.tx_next - 1;
        self.t_poll_retransmit = now + self.times.t_poll_retransmit;
    }
    /// Clause 5.3.2: considers bytes for retransmission.
    fn consider(&mut self, sn: u64, from: usize, to: usize, counted: &mut BTreeSet<u64>) {
        let Some(sdu) = self.sdus.get_mut(&sn).filter(|sdu| !sdu.acknowledged) else { return };
        let to = to.min(sdu.data.len());
        if from >= to || sdu.pending[from..to].iter().all(|&pending| pending) {
            return;
        }
        let new = sdu.pending[from..to].iter().filter(|&&pending| !pending).count();
        self.pending_bytes += new;
        sdu.pending[from..to].fill(true);
        if counted.insert(sn) {
            let count = sdu.retx_count.map_or(0, |count| count + 1);
            sdu.retx_count = Some(count);
            self.failed |= count == self.times.max_retx;
        }
    }
    fn encode(&self, sn: u64, so: usize, data: &[u8], last: bool) -> Vec<u8> {
        let si = match (so == 0, last) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        let mut bits = Writer::default();
        bits.put(1, 1).put(0, 1).put(si, 2);
        if self.sn_bits == 18 {
            bits.put(0, 2);
        }
        bits.put(sn % self.numbers(), self.sn_bits);
        if so > 0 {
            bits.put(so as u64, 16);
        }
        [bits.bytes(), data.to_vec()].concat()
    }
    fn header(&self, so: usize) -> usize {
        (if self.sn_bits == 18 { 3 } else { 2 }) + if so > 0 { 2 } else { 0 }
    }
    fn on_status(&mut self, report: &[u8]) {
        let mut bits = Reader::new(report);
        assert_eq!((bits.get(1), bits.get(3)), (0, 0));
        let (base, numbers) = (self.tx_next_ack, self.numbers());
        let absolute = |sn: u64| base + (sn + numbers - base % numbers) % numbers;
        let ack = absolute(bits.get(self.sn_bits));
        let mut more = bits.get(1) == 1;
        bits.get(if self.sn_bits == 18 { 1 } else { 7 });
        let mut nacks = Vec::new();
        while more {
            let sn = absolute(bits.get(self.sn_bits));
            more = bits.get(1) == 1;
            let (offsets, range) = (bits.get(1) == 1, bits.get(1) == 1);
            bits.get(if self.sn_bits == 18 { 3 } else { 1 });
            let (from, to) = if offsets { (bits.get(16), bits.get(16)) } else { (0, 0xffff) };
            let to = if to == 0xffff { usize::MAX } else { to as usize + 1 };
            let count = if range { bits.get(8) } else { 1 };
            for sn in sn..sn + count {
                nacks.push((sn, from as usize, to));
            }
        }
        for sn in self.tx_next_ack..ack {
            if !nacks.iter().any(|&(nack, ..)| nack == sn)
                && let Some(sdu) = self.sdus.get_mut(&sn)
            {
                assert_eq!(sdu.size, Some(sdu.data.len()));
                if !sdu.acknowledged {
                    self.pending_bytes -= sdu.pending.iter().filter(|&&pending| pending).count();
                    sdu.pending.fill(false);
                }
                sdu.acknowledged = true;
            }
        }
        let mut counted = BTreeSet::new();
        for &(sn, from, to) in &nacks {
            self.consider(sn, from, to, &mut counted);
        }
        if self.poll_sn < ack || nacks.iter().any(|&(sn, ..)| sn == self.poll_sn) {
            self.t_poll_retransmit = NEVER;
        }
        while self.sdus.get(&self.tx_next_ack).is_some_and(|sdu| sdu.acknowledged) {
            self.sdus.remove(&self.tx_next_ack);
            self.tx_next_ack += 1;
        }
    }
    fn want_status(&mut self, now: u64) {
        if self.status_at == NEVER {
            self.status_at = now.max(self.prohibited_until) + self.times.grant;
        }
    }
    fn is_whole(&self, sn: u64) -> bool {
        sn < self.rx_next || self.incoming.get(&sn).is_some_and(Bytes::is_whole)
    }
    fn first_not_whole(&self, mut sn: u64) -> u64 {
        while self.is_whole(sn) {
            sn += 1;
        }
        sn
    }
    fn is_missing_in(&self, sn: u64) -> bool {
        self.incoming.get(&sn).is_some_and(Bytes::is_missing_before_last)
    }
    fn receive_pdu(&mut self, now: u64, pdu: &[u8]) {
        let mut bits = Reader::new(pdu);
        assert_eq!(bits.get(1), 1);
        let (poll, si) = (bits.get(1) == 1, bits.get(2));
        if self.sn_bits == 18 {
            assert_eq!(bits.get(2), 0);
        }
        let (sn, numbers) = (bits.get(self.sn_bits), self.numbers());
        let x = self.rx_next + (sn + numbers - self.rx_next % numbers) % numbers;
        let so = if si < 2 { 0 } else { bits.get(16) as usize };
        // Clause 5.2.3.2.2.
        let outside = x >= self.rx_next + self.window();
        if outside || !self.incoming.entry(x).or_default().add(so, bits.rest(), si == 0 || si == 2) {
            if poll {
                self.want_status(now);
            }
            return;
        }
        // Clause 5.2.3.2.3.
        if x >= self.rx_next_highest {
            self.rx_next_highest = x + 1;
        }
        if self.is_whole(x) {
            let packet = self.incoming[&x].packet();
            self.pdcp.receive(now, packet);
            if x == self.rx_highest_status {
                self.rx_highest_status = self.first_not_whole(x);
            }
            if x == self.rx_next {
                self.rx_next = self.first_not_whole(x);
                self.incoming = self.incoming.split_off(&self.rx_next);
            }
        }
        let trigger = self.rx_next_status_trigger;
        if self.t_reassembly != NEVER
            && (trigger == self.rx_next
                || trigger == self.rx_next + 1 && !self.is_missing_in(self.rx_next)
                || trigger < self.rx_next
                || trigger > self.rx_next + self.window())
        {
            self.t_reassembly = NEVER;
        }
        self.start(now, self.rx_next);
        if poll {
            self.polled.insert(x);
        }
        self.answer_polls(now);
    }
    fn start(&mut self, now: u64, from: u64) {
        let missing =
            self.rx_next_highest > from + 1 || self.rx_next_highest == from + 1 && self.is_missing_in(from);
        if self.t_reassembly == NEVER && missing {
            self.t_reassembly = now + self.times.t_reassembly;
            self.rx_next_status_trigger = self.rx_next_highest;
        }
    }
    fn answer_polls(&mut self, now: u64) {
        let due: Vec<u64> = self.polled.range(..self.rx_highest_status).copied().collect();
        for sn in due {
            self.polled.remove(&sn);
            self.want_status(now);
        }
    }
    fn write_status(&mut self) -> Vec<u8> {
        // Gaps as (number, count, offsets), as many as fit.
        let mut nacks: Vec<Nack> = Vec::new();
        let nack_bytes = if self.sn_bits == 18 { 3 } else { 2 };
        let size = |nacks: &[Nack]| {
            let of =
                |nack: &Nack| nack_bytes + if nack.2.is_some() { 4 } else { 0 } + usize::from(nack.1 > 1);
            3 + nacks.iter().map(of).sum::<usize>()
        };
        let mut ack = self.rx_highest_status;
        'all: for sn in self.rx_next..self.rx_highest_status {
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
                        gaps.push(Some((incoming.there.len(), 0xffff)));
                    }
                }
            }
            for (place, gap) in gaps.into_iter().enumerate() {
                let before = nacks.clone();
                match nacks.last_mut() {
                    Some((first, count, None)) if gap.is_none() && *first + *count == sn && *count < 255 => {
                        *count += 1;
                    }
                    _ => nacks.push((sn, 1, gap)),
                }
                if size(&nacks) > self.times.status_limit {
                    nacks = before;
                    ack = if place > 0 { sn + 1 } else { sn };
                    break 'all;
                }
            }
        }
        let mut bits = Writer::default();
        bits.put(0, 1).put(0, 3).put(ack % self.numbers(), self.sn_bits);
        bits.put(u64::from(!nacks.is_empty()), 1).put(0, if self.sn_bits == 18 { 1 } else { 7 });
        for (place, (sn, count, gap)) in nacks.iter().enumerate() {
            bits.put(sn % self.numbers(), self.sn_bits).put(u64::from(place + 1 < nacks.len()), 1);
            bits.put(u64::from(gap.is_some()), 1).put(u64::from(*count > 1), 1);
            bits.put(0, if self.sn_bits == 18 { 3 } else { 1 });
            if let Some((from, to)) = gap {
                bits.put(*from as u64, 16).put(*to as u64, 16);
            }
            if *count > 1 {
                bits.put(*count, 8);
            }
        }
        bits.bytes()
    }
    fn reestablish(&mut self, now: u64, queue: &mut Queue) {
        let fresh = AmNr::new(self.times, self.sn_bits, self.pdcp.header_bytes, None);
        let old = std::mem::replace(self, fresh);
        (self.epoch, self.written, self.pdcp) = (old.epoch + 1, old.written, old.pdcp);
        self.prohibited_until = now;
        queue.open = None;
    }
}

impl Model for AmNr {
    fn transmit(&mut self, now: u64, grant: u64, queue: &mut Queue) -> Vec<u8> {
        let nothing_new = |this: &AmNr, queue: &Queue| {
            queue.open.is_none() && (queue.packets.is_empty() || this.is_stalled())
        };
        if self.poll_expired && !self.has_pending() && nothing_new(self, queue) {
            // Clause 5.3.3.4.
            let sn = self.sdus.iter().rev().find(|(_, sdu)| !sdu.acknowledged).map(|(&sn, _)| sn);
            if let Some(sn) = sn {
                self.consider(sn, 0, usize::MAX, &mut BTreeSet::new());
            }
        }
        let (mut out, mut used) = (Vec::<Vec<u8>>::new(), 0);
        if self.failed {
            return Vec::new();
        }
        let size = |pdu: &[u8]| (pdu.len() + Mac::Nr.subheader(pdu.len()).len()) as u64;
        while self.has_pending() {
            let (&sn, sdu) = self.sdus.iter().find(|(_, sdu)| sdu.pending.contains(&true)).unwrap();
            let from = sdu.pending.iter().position(|&pending| pending).unwrap();
            let run = sdu.pending[from..].iter().take_while(|&&pending| pending).count();
            let limit = Mac::Nr.largest(grant - used);
            if limit <= self.header(from) {
                break;
            }
            let end = from + run.min(limit - self.header(from));
            let pdu = self.encode(sn, from, &sdu.data[from..end], sdu.size == Some(end));
            self.sdus.get_mut(&sn).unwrap().pending[from..end].fill(false);
            self.pending_bytes -= end - from;
            used += size(&pdu);
            out.push(pdu);
        }
        while !self.has_pending() {
            let Some(&length) = queue.lengths(1).first() else { break };
            let so = queue.open.as_ref().map_or(0, |open| open.1);
            let limit = Mac::Nr.largest(grant - used);
            if limit <= self.header(so) || so == 0 && self.is_stalled() {
                break;
            }
            let (piece, so, last) = queue.take_bytes(length.min(limit - self.header(so)));
            if so == 0 {
                self.tx_next += 1;
            }
            let sn = self.tx_next - 1;
            let mut pdu = self.encode(sn, so, &piece, last);
            let sdu = self.sdus.entry(sn).or_default();
            sdu.data.extend(&piece);
            sdu.pending.resize(sdu.data.len(), false);
            if last {
                sdu.size = Some(sdu.data.len());
            }
            self.pdu_without_poll += 1;
            self.byte_without_poll += piece.len() as u64;
            if self.times.poll_pdu.is_some_and(|limit| self.pdu_without_poll >= limit)
                || self.times.poll_bytes.is_some_and(|limit| self.byte_without_poll >= limit)
            {
                pdu[0] |= 0x40;
                self.set_poll(now);
            }
            used += size(&pdu);
            out.push(pdu);
        }
        let nothing_left = !self.has_pending() && nothing_new(self, queue);
        if let Some(pdu) = out.last_mut()
            && pdu[0] & 0x40 == 0
            && (nothing_left || self.poll_expired)
        {
            pdu[0] |= 0x40;
            self.set_poll(now);
        }
        Mac::Nr.block(&out)
    }
    fn receive(&mut self, now: u64, block: &[u8]) {
        for pdu in Mac::Nr.pdus(block) {
            self.receive_pdu(now, &pdu);
        }
    }
    fn poll(&mut self, now: u64, queue: &mut Queue) {
        if now >= self.t_reassembly {
            // Clause 5.2.3.2.4.
            self.t_reassembly = NEVER;
            self.rx_highest_status = self.first_not_whole(self.rx_next_status_trigger);
            self.start(now, self.rx_highest_status);
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
            self.reestablish(now, queue);
        }
        self.pdcp.poll(now);
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
