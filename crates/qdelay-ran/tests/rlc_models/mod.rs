//! Slow models of both ends of a bearer, written from the clauses step by step: PDUs are real bytes, with real headers in
//! real transport blocks, and every byte of a packet is carried. They share no code with the crate.

pub mod am_lte;
pub mod am_nr;
pub mod bits;
pub mod lte_pdu;
pub mod um_lte;
pub mod um_nr;

use bits::{Reader, Writer};
use std::collections::{BTreeMap, VecDeque};

pub const NEVER: u64 = u64::MAX;

/// A model of both ends, on bytes.
pub trait Model {
    /// The bearer's part of a transport block, at most `grant` bytes.
    fn transmit(&mut self, now: u64, grant: u64, queue: &mut Queue) -> Vec<u8>;
    fn receive(&mut self, now: u64, block: &[u8]);
    /// Runs timers, and reports that have arrived. A sender that begins anew forgets the open packet.
    fn poll(&mut self, now: u64, queue: &mut Queue);
    /// Packets handed up since the last call.
    fn delivered(&mut self) -> Vec<Vec<u8>>;
    /// Number of re-establishments: blocks sent before have no meaning.
    fn epoch(&self) -> u64 {
        0
    }
    /// Returns true if the window of an acknowledged mode is full: no new unit gets a number.
    fn is_full(&self) -> bool {
        false
    }
    /// Number of reports written, and their bytes.
    fn reports(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// The queue above RLC, and PDCP's sender: SDUs with PDCP's header.
#[derive(Default)]
pub struct Queue {
    pub packets: VecDeque<Vec<u8>>,
    pub header_bytes: usize,
    pub count: u64,
    /// The SDU that is partly taken, and the number of its bytes taken.
    pub open: Option<(Vec<u8>, usize)>,
    /// Payload bytes taken in this opportunity.
    pub taken: u64,
    /// Packets whose last byte was taken in this opportunity.
    pub departed: Vec<Vec<u8>>,
}

impl Queue {
    /// Lengths of the waiting SDUs: the rest of the open one first.
    pub fn lengths(&self, limit: usize) -> Vec<usize> {
        let open = self.open.iter().map(|(sdu, taken)| sdu.len() - taken);
        open.chain(self.packets.iter().map(|packet| packet.len() + self.header_bytes)).take(limit).collect()
    }
    pub fn is_empty(&self) -> bool {
        self.open.is_none() && self.packets.is_empty()
    }
    /// Payload bytes of the open SDU that are not taken.
    pub fn remaining(&self) -> usize {
        self.open.as_ref().map_or(0, |(sdu, taken)| sdu.len() - (*taken).max(self.header_bytes))
    }
    /// Takes the next bytes of one SDU: the bytes, their offset, and true if they end the SDU.
    pub fn take_bytes(&mut self, bytes: usize) -> (Vec<u8>, usize, bool) {
        if self.open.is_none() {
            let packet = self.packets.pop_front().unwrap();
            let bits = self.header_bytes as u32 * 8;
            let mut sdu = Writer::default();
            // The header: D/C and reserved bits, then the number.
            let (reserved, sn_bits) = match self.header_bytes {
                0 => (0, 0),
                1 => (0, 7),
                2 => (3, 12),
                _ => (bits - 19, 18),
            };
            if bits > 0 {
                sdu.put(1, 1).put(0, reserved).put(self.count % (1 << sn_bits), sn_bits);
            }
            self.count += 1;
            let mut sdu = sdu.bytes();
            sdu.extend(packet);
            self.open = Some((sdu, 0));
        }
        let (sdu, taken) = self.open.as_mut().unwrap();
        let from = *taken;
        let to = (from + bytes).min(sdu.len());
        let piece = sdu[from..to].to_vec();
        let payload = |at: usize| at.max(self.header_bytes) - self.header_bytes;
        self.taken += (payload(to) - payload(from)) as u64;
        *taken = to;
        let last = to == sdu.len();
        if last {
            let (sdu, _) = self.open.take().unwrap();
            self.departed.push(sdu[self.header_bytes..].to_vec());
        }
        (piece, from, last)
    }
}

/// MAC subheaders, each in front of its PDU or all in front of the block.
#[derive(Clone, Copy, PartialEq)]
pub enum Mac {
    /// TS 36.321 figures 6.1.2-1 and 6.1.2-2: R F2 E LCID F L.
    Lte,
    /// TS 38.321 figures 6.1.2-1 and 6.1.2-2: R F LCID L.
    Nr,
}

impl Mac {
    pub fn subheader(self, length: usize) -> Vec<u8> {
        let mut bits = Writer::default();
        let length = length as u64;
        match self {
            Mac::Lte if length < 128 => bits.put(0b001, 3).put(3, 5).put(0, 1).put(length, 7),
            Mac::Lte => bits.put(0b001, 3).put(3, 5).put(1, 1).put(length, 15),
            Mac::Nr if length < 256 => bits.put(0b00, 2).put(4, 6).put(length, 8),
            Mac::Nr => bits.put(0b01, 2).put(4, 6).put(length, 16),
        };
        bits.bytes()
    }
    /// The largest PDU that fits.
    pub fn largest(self, room: u64) -> usize {
        let most = if self == Mac::Lte { 32_767 } else { 65_535 };
        (1..=room.min(most) as usize)
            .rev()
            .find(|&length| (length + self.subheader(length).len()) as u64 <= room)
            .unwrap_or(0)
    }
    /// LTE puts all subheaders in front, NR each before its PDU.
    pub fn block(self, pdus: &[Vec<u8>]) -> Vec<u8> {
        let mut block = Vec::new();
        for pdu in pdus {
            block.extend(self.subheader(pdu.len()));
            if self == Mac::Nr {
                block.extend(pdu);
            }
        }
        if self == Mac::Lte {
            pdus.iter().for_each(|pdu| block.extend(pdu));
        }
        block
    }
    pub fn pdus(self, block: &[u8]) -> Vec<Vec<u8>> {
        // The remainder of the block, here padding, has a subheader without length, which ends LTE's row of
        // subheaders. Its beginning is not known here, so the lengths determine it.
        let (mut lengths, mut at, mut pdus, mut total) = (Vec::new(), 0, Vec::new(), 0);
        while at + total < block.len() {
            let mut bits = Reader::new(&block[at..]);
            match self {
                Mac::Lte => {
                    assert_eq!((bits.get(3), bits.get(5)), (1, 3));
                    let long = bits.get(1) == 1;
                    let length = bits.get(if long { 15 } else { 7 }) as usize;
                    lengths.push(length);
                    at += if long { 3 } else { 2 };
                    total += length;
                }
                Mac::Nr => {
                    assert_eq!(bits.get(1), 0);
                    let long = bits.get(1) == 1;
                    assert_eq!(bits.get(6), 4);
                    let length = bits.get(if long { 16 } else { 8 }) as usize;
                    at += if long { 3 } else { 2 };
                    pdus.push(block[at..at + length].to_vec());
                    at += length;
                }
            }
        }
        for length in lengths {
            pdus.push(block[at..at + length].to_vec());
            at += length;
        }
        assert_eq!(at, block.len());
        pdus
    }
}

/// PDCP's receiver: TS 38.323 clause 5.2.2, or none (LTE), which only removes the header.
pub struct Pdcp {
    pub header_bytes: usize,
    pub t_reordering: Option<u64>,
    rx_next: u64,
    rx_deliv: u64,
    rx_reord: u64,
    timer: u64,
    stored: BTreeMap<u64, Vec<u8>>,
    pub delivered: Vec<Vec<u8>>,
}

impl Pdcp {
    pub fn new(header_bytes: usize, t_reordering: Option<u64>) -> Pdcp {
        let (rx_next, rx_deliv, rx_reord) = (0, 0, 0);
        let (stored, delivered) = (BTreeMap::new(), Vec::new());
        Pdcp { header_bytes, t_reordering, rx_next, rx_deliv, rx_reord, timer: NEVER, stored, delivered }
    }
    pub fn receive(&mut self, now: u64, sdu: Vec<u8>) {
        let packet = sdu[self.header_bytes..].to_vec();
        let Some(t_reordering) = self.t_reordering else {
            self.delivered.push(packet);
            return;
        };
        let sn_bits = if self.header_bytes == 2 { 12 } else { 18 };
        let mut bits = Reader::new(&sdu);
        bits.get(self.header_bytes as u32 * 8 - sn_bits);
        let sn = bits.get(sn_bits) as i64;
        let (numbers, window) = (1i64 << sn_bits, 1i64 << (sn_bits - 1));
        let (hfn, deliv_sn) = (self.rx_deliv as i64 / numbers, self.rx_deliv as i64 % numbers);
        let hfn = if sn < deliv_sn - window {
            hfn + 1
        } else if sn >= deliv_sn + window {
            hfn - 1
        } else {
            hfn
        };
        let count = hfn * numbers + sn;
        if count < self.rx_deliv as i64 || self.stored.contains_key(&(count as u64)) {
            return;
        }
        let count = count as u64;
        self.stored.insert(count, packet);
        if count >= self.rx_next {
            self.rx_next = count + 1;
        }
        if count == self.rx_deliv {
            self.deliver_in_row();
        }
        if self.timer != NEVER && self.rx_deliv >= self.rx_reord {
            self.timer = NEVER;
        }
        if self.timer == NEVER && self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.timer = now + t_reordering;
        }
    }
    fn deliver_in_row(&mut self) {
        while let Some(packet) = self.stored.remove(&self.rx_deliv) {
            self.delivered.push(packet);
            self.rx_deliv += 1;
        }
    }
    pub fn poll(&mut self, now: u64) {
        if now >= self.timer {
            self.timer = NEVER;
            let below: Vec<u64> = self.stored.range(..self.rx_reord).map(|(&count, _)| count).collect();
            for count in below {
                self.delivered.extend(self.stored.remove(&count));
            }
            self.rx_deliv = self.rx_reord;
            self.deliver_in_row();
            if self.rx_deliv < self.rx_next {
                self.rx_reord = self.rx_next;
                self.timer = now + self.t_reordering.unwrap();
            }
        }
    }
}
