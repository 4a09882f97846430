//! NR's unacknowledged mode: TS 38.322 clause 5.2.2, variables of clause 7.1.

use super::bits::{Reader, Writer};
use super::{Mac, Model, NEVER, Pdcp, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// The received bytes of a packet, and its size once known.
#[derive(Default, Clone)]
pub struct Bytes {
    pub there: Vec<Option<u8>>,
    pub size: Option<usize>,
}
impl Bytes {
    pub fn add(&mut self, so: usize, data: &[u8], last: bool) -> bool {
        if self.there.len() < so + data.len() {
            self.there.resize(so + data.len(), None);
        }
        let mut new = false;
        for (place, byte) in data.iter().enumerate() {
            let cell = &mut self.there[so + place];
            new |= cell.is_none();
            *cell = Some(*byte);
        }
        if last {
            self.size = Some(so + data.len());
        }
        new
    }
    pub fn is_whole(&self) -> bool {
        self.size == Some(self.there.len()) && self.there.iter().all(Option::is_some)
    }
    pub fn is_missing_before_last(&self) -> bool {
        self.there.iter().any(Option::is_none)
    }
    pub fn packet(&self) -> Vec<u8> {
        self.there.iter().map(|byte| byte.unwrap()).collect()
    }
}

pub struct UmNr {
    sn_bits: u32,
    t_reassembly: u64,
    tx_next: u64,
    rx_next_reassembly: i64,
    rx_next_highest: i64,
    rx_timer_trigger: i64,
    timer: u64,
    buffer: BTreeMap<i64, Bytes>,
    /// Numbers of the window that were reassembled.
    done: BTreeSet<i64>,
    pdcp: Pdcp,
}

impl UmNr {
    pub fn new(sn_bits: u32, t_reassembly: u64, header_bytes: usize, t_reordering: Option<u64>) -> UmNr {
        UmNr {
            sn_bits,
            t_reassembly,
            tx_next: 0,
            rx_next_reassembly: 0,
            rx_next_highest: 0,
            rx_timer_trigger: 0,
            timer: NEVER,
            buffer: BTreeMap::new(),
            done: BTreeSet::new(),
            pdcp: Pdcp::new(header_bytes, t_reordering),
        }
    }
    fn numbers(&self) -> i64 {
        1 << self.sn_bits
    }
    fn window(&self) -> i64 {
        1 << (self.sn_bits - 1)
    }
    fn rank(&self, number: i64) -> i64 {
        (number - (self.rx_next_highest - self.window())).rem_euclid(self.numbers())
    }
    fn is_in_window(&self, number: i64) -> bool {
        self.rank(number) < self.window()
    }
    fn not_done_from(&self, mut number: i64) -> i64 {
        while self.done.contains(&number) {
            number = (number + 1).rem_euclid(self.numbers());
        }
        number
    }
    fn is_missing(&self) -> bool {
        let ahead = self.rank(self.rx_next_highest) - self.rank(self.rx_next_reassembly);
        let first = self.buffer.get(&self.rx_next_reassembly);
        ahead > 1 || ahead == 1 && first.is_some_and(Bytes::is_missing_before_last)
    }
    fn start(&mut self, now: u64) {
        if self.timer == NEVER && self.is_missing() {
            self.timer = now + self.t_reassembly;
            self.rx_timer_trigger = self.rx_next_highest;
        }
    }
    fn receive_pdu(&mut self, now: u64, pdu: &[u8]) {
        let mut bits = Reader::new(pdu);
        let si = bits.get(2);
        if si == 0 {
            assert_eq!(bits.get(6), 0);
            self.pdcp.receive(now, bits.rest().to_vec());
            return;
        }
        if self.sn_bits == 12 {
            assert_eq!(bits.get(2), 0);
        }
        let x = bits.get(self.sn_bits) as i64;
        let so = if si == 1 { 0 } else { bits.get(16) as usize };
        // Clause 5.2.2.2.2.
        if self.rank(x) < self.rank(self.rx_next_reassembly) || self.done.contains(&x) {
            return;
        }
        self.buffer.entry(x).or_default().add(so, bits.rest(), si == 2);
        // Clause 5.2.2.2.3.
        if self.buffer[&x].is_whole() {
            let packet = self.buffer.remove(&x).unwrap().packet();
            self.done.insert(x);
            self.pdcp.receive(now, packet);
            if x == self.rx_next_reassembly {
                self.rx_next_reassembly = self.not_done_from(x);
            }
        } else if !self.is_in_window(x) {
            // Numbers below the window are forgotten before they wrap around.
            self.rx_next_highest = (x + 1).rem_euclid(self.numbers());
            let outside = |number: &i64| !self.is_in_window(*number);
            let gone: Vec<i64> = self.buffer.keys().copied().filter(outside).collect();
            let old: Vec<i64> = self.done.iter().copied().filter(outside).collect();
            self.buffer.retain(|number, _| !gone.contains(number));
            if !self.is_in_window(self.rx_next_reassembly) && self.rx_next_reassembly != self.rx_next_highest
            {
                let edge = (self.rx_next_highest - self.window()).rem_euclid(self.numbers());
                self.rx_next_reassembly = self.not_done_from(edge);
            }
            self.done.retain(|number| !old.contains(number));
        }
        if self.timer != NEVER
            && (self.rank(self.rx_timer_trigger) <= self.rank(self.rx_next_reassembly)
                || !self.is_in_window(self.rx_timer_trigger) && self.rx_timer_trigger != self.rx_next_highest
                || !self.is_missing())
        {
            self.timer = NEVER;
        }
        self.start(now);
    }
}

impl Model for UmNr {
    fn transmit(&mut self, _: u64, grant: u64, queue: &mut Queue) -> Vec<u8> {
        let mut block = Vec::new();
        while let Some(&length) = queue.lengths(1).first() {
            let limit = Mac::Nr.largest(grant - block.len() as u64);
            let first = queue.open.is_none();
            let numbered = |first: bool| (if self.sn_bits == 6 { 1 } else { 2 }) + if first { 0 } else { 2 };
            // A packet is begun only if at least one byte fits as a segment.
            if limit < numbered(first) + 1 {
                break;
            }
            let all = if first { 1 + length } else { numbered(false) + length };
            let bytes = if all <= limit { length } else { limit - numbered(first) };
            let (piece, so, last) = queue.take_bytes(bytes);
            let mut bits = Writer::default();
            let si = match (so == 0, last) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            bits.put(si, 2);
            match (si, self.sn_bits) {
                (0, _) => bits.put(0, 6),
                (_, 6) => bits.put(self.tx_next, 6),
                _ => bits.put(0, 2).put(self.tx_next, 12),
            };
            if so > 0 {
                bits.put(so as u64, 16);
            }
            if si == 2 {
                self.tx_next = (self.tx_next + 1) % (1 << self.sn_bits);
            }
            block.extend(Mac::Nr.block(&[[bits.bytes(), piece].concat()]));
        }
        block
    }
    fn receive(&mut self, now: u64, block: &[u8]) {
        for pdu in Mac::Nr.pdus(block) {
            self.receive_pdu(now, &pdu);
        }
    }
    fn poll(&mut self, now: u64, _: &mut Queue) {
        if now >= self.timer {
            // Clause 5.2.2.2.4.
            self.timer = NEVER;
            self.rx_next_reassembly = self.not_done_from(self.rx_timer_trigger);
            let below = |number: &i64| self.rank(*number) < self.rank(self.rx_next_reassembly);
            let gone: Vec<i64> = self.buffer.keys().copied().filter(below).collect();
            self.buffer.retain(|number, _| !gone.contains(number));
            self.start(now);
        }
        self.pdcp.poll(now);
    }
    fn delivered(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.pdcp.delivered)
    }
}
