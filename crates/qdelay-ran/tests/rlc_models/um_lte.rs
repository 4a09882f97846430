//! LTE's unacknowledged mode: TS 36.322 clause 5.1.2, variables of clause 7.1.

use super::bits::{Reader, Writer};
use super::lte_pdu::{Field, fill, read_elements, write_indicators};
use super::{Mac, Model, NEVER, Pdcp, Queue};
use std::collections::BTreeMap;

pub struct UmLte {
    sn_bits: u32,
    t_reordering: u64,
    vt_us: i64,
    vr_ur: i64,
    vr_ux: i64,
    vr_uh: i64,
    timer: u64,
    buffer: BTreeMap<i64, Field>,
    /// The PDU that was reassembled last, and the incomplete SDU after it.
    last: i64,
    partial: Option<Vec<u8>>,
    pdcp: Pdcp,
}

impl UmLte {
    pub fn new(sn_bits: u32, t_reordering: u64, header_bytes: usize) -> UmLte {
        UmLte {
            sn_bits,
            t_reordering,
            vt_us: 0,
            vr_ur: 0,
            vr_ux: 0,
            vr_uh: 0,
            timer: NEVER,
            buffer: BTreeMap::new(),
            last: -1,
            partial: None,
            pdcp: Pdcp::new(header_bytes, None),
        }
    }
    fn numbers(&self) -> i64 {
        1 << self.sn_bits
    }
    fn window(&self) -> i64 {
        1 << (self.sn_bits - 1)
    }
    /// Comparisons are relative to the lower edge of the window (clause 7.1).
    fn rank(&self, number: i64) -> i64 {
        (number - (self.vr_uh - self.window())).rem_euclid(self.numbers())
    }
    fn is_in_window(&self, number: i64) -> bool {
        self.rank(number) < self.window()
    }
    fn put_together(&mut self, now: u64, numbers: Vec<i64>) {
        for number in numbers {
            let field = self.buffer.remove(&number).unwrap();
            if number != (self.last + 1).rem_euclid(self.numbers()) {
                self.partial = None;
            }
            self.last = number;
            let count = field.elements.len();
            for (place, element) in field.elements.into_iter().enumerate() {
                let sdu = if place == 0 && field.continues {
                    match self.partial.take() {
                        Some(begun) => [begun, element].concat(),
                        None => continue,
                    }
                } else {
                    element
                };
                if place + 1 == count && field.to_be_continued {
                    self.partial = Some(sdu);
                } else {
                    self.partial = None;
                    self.pdcp.receive(now, sdu);
                }
            }
        }
    }
    fn received_from(&self, mut number: i64) -> i64 {
        while self.buffer.contains_key(&number) {
            number = (number + 1).rem_euclid(self.numbers());
        }
        number
    }
    fn in_order(&self, keep: impl Fn(i64) -> bool, base: i64) -> Vec<i64> {
        let mut numbers: Vec<i64> = self.buffer.keys().copied().filter(|&number| keep(number)).collect();
        numbers.sort_by_key(|number| (number - base).rem_euclid(self.numbers()));
        numbers
    }
    fn receive_pdu(&mut self, now: u64, pdu: &[u8]) {
        let mut bits = Reader::new(pdu);
        if self.sn_bits == 10 {
            assert_eq!(bits.get(3), 0);
        }
        let (continues, to_be_continued) = (bits.get(1) == 1, bits.get(1) == 1);
        let extended = bits.get(1) == 1;
        let x = bits.get(self.sn_bits) as i64;
        let elements = read_elements(&mut bits, extended);
        // Clause 5.1.2.2.2.
        let received_before = self.buffer.contains_key(&x);
        let between = self.rank(self.vr_ur) < self.rank(x) && self.rank(x) < self.rank(self.vr_uh);
        if between && received_before || self.rank(x) < self.rank(self.vr_ur) {
            return;
        }
        self.buffer.insert(x, Field { elements, continues, to_be_continued });
        // Clause 5.1.2.2.3.
        if !self.is_in_window(x) {
            let base = self.vr_uh - self.window();
            self.vr_uh = (x + 1).rem_euclid(self.numbers());
            let outside = self.in_order(|number| !self.is_in_window(number), base);
            self.put_together(now, outside);
            if !self.is_in_window(self.vr_ur) && self.vr_ur != self.vr_uh {
                self.vr_ur = (self.vr_uh - self.window()).rem_euclid(self.numbers());
            }
        }
        if self.buffer.contains_key(&self.vr_ur) {
            self.vr_ur = self.received_from(self.vr_ur);
            let below =
                self.in_order(|number| self.rank(number) < self.rank(self.vr_ur), self.vr_uh - self.window());
            self.put_together(now, below);
        }
        if self.timer != NEVER
            && (self.rank(self.vr_ux) <= self.rank(self.vr_ur)
                || !self.is_in_window(self.vr_ux) && self.vr_ux != self.vr_uh)
        {
            self.timer = NEVER;
        }
        if self.timer == NEVER && self.rank(self.vr_uh) > self.rank(self.vr_ur) {
            self.timer = now + self.t_reordering;
            self.vr_ux = self.vr_uh;
        }
    }
}

impl Model for UmLte {
    fn transmit(&mut self, _: u64, grant: u64, queue: &mut Queue) -> Vec<u8> {
        let fixed = if self.sn_bits == 5 { 1 } else { 2 };
        let (mut pdus, mut used) = (Vec::new(), 0);
        while let Some(field) = fill(queue, fixed, Mac::Lte.largest(grant - used)) {
            let mut bits = Writer::default();
            bits.put(0, if self.sn_bits == 5 { 0 } else { 3 }).put(field.fi(), 2);
            let sn = self.vt_us as u64;
            let number = |bits: &mut Writer| {
                bits.put(sn, self.sn_bits);
            };
            write_indicators(&mut bits, number, &field.elements);
            self.vt_us = (self.vt_us + 1) % self.numbers();
            let pdu = [bits.bytes(), field.bytes()].concat();
            used += (pdu.len() + Mac::Lte.subheader(pdu.len()).len()) as u64;
            pdus.push(pdu);
        }
        Mac::Lte.block(&pdus)
    }
    fn receive(&mut self, now: u64, block: &[u8]) {
        for pdu in Mac::Lte.pdus(block) {
            self.receive_pdu(now, &pdu);
        }
    }
    fn poll(&mut self, now: u64, _: &mut Queue) {
        if now >= self.timer {
            // Clause 5.1.2.2.4.
            self.timer = NEVER;
            let base = self.vr_uh - self.window();
            self.vr_ur = self.received_from(self.vr_ux);
            let rank = |number: i64| (number - base).rem_euclid(self.numbers());
            let below = self.in_order(|number| rank(number) < rank(self.vr_ur), base);
            self.put_together(now, below);
            if self.rank(self.vr_uh) > self.rank(self.vr_ur) {
                self.timer = now + self.t_reordering;
                self.vr_ux = self.vr_uh;
            }
        }
    }
    fn delivered(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.pdcp.delivered)
    }
}
