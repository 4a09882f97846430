//! LTE's PDUs: TS 36.322 clauses 6.2.1.3 to 6.2.1.5.

use super::Queue;
use super::bits::{Reader, Writer};

/// A data field: its elements, and the framing info (FI).
#[derive(Clone, Debug)]
pub struct Field {
    pub elements: Vec<Vec<u8>>,
    /// True if the first byte is not the first of an SDU.
    pub continues: bool,
    /// True if the last byte is not the last of an SDU.
    pub to_be_continued: bool,
}

impl Field {
    pub fn fi(&self) -> u64 {
        u64::from(self.continues) << 1 | u64::from(self.to_be_continued)
    }
    pub fn len(&self) -> usize {
        self.elements.iter().map(Vec::len).sum()
    }
    pub fn bytes(&self) -> Vec<u8> {
        self.elements.concat()
    }
}

fn indicators(count: usize) -> usize {
    (12 * count).div_ceil(8)
}

/// Fills a data field with as many elements as fit a PDU of `limit` bytes with a fixed header of `fixed`.
pub fn fill(queue: &mut Queue, fixed: usize, limit: usize) -> Option<Field> {
    let lengths = queue.lengths(limit);
    if limit < fixed + 1 || lengths.is_empty() {
        return None;
    }
    let fits = |count: usize| {
        let before = &lengths[..count - 1];
        count == 1
            || before.iter().all(|&length| length <= 2047)
                && fixed + indicators(count - 1) + before.iter().sum::<usize>() < limit
    };
    let count = (1..=lengths.len()).take_while(|&count| fits(count)).last()?;
    let mut room = limit - fixed - indicators(count - 1);
    let mut field = Field { elements: Vec::new(), continues: false, to_be_continued: false };
    for place in 0..count {
        let (piece, from, last) = queue.take_bytes(room);
        room -= piece.len();
        if place == 0 {
            field.continues = from > 0;
        }
        field.to_be_continued = !last;
        field.elements.push(piece);
    }
    Some(field)
}

/// Writes extension bits and length indicators of all elements but the last, and the bit before them.
pub fn write_indicators(bits: &mut Writer, between: impl FnOnce(&mut Writer), elements: &[Vec<u8>]) {
    let count = elements.len() - 1;
    bits.put(u64::from(count > 0), 1);
    between(bits);
    for (place, element) in elements[..count].iter().enumerate() {
        bits.put(u64::from(place + 1 < count), 1).put(element.len() as u64, 11);
    }
}

/// Reads extension bits and length indicators, then splits the data that follows.
pub fn read_elements(bits: &mut Reader<'_>, mut extended: bool) -> Vec<Vec<u8>> {
    let mut lengths = Vec::new();
    while extended {
        extended = bits.get(1) == 1;
        lengths.push(bits.get(11) as usize);
    }
    let mut rest = bits.rest();
    let mut elements = Vec::new();
    for length in lengths {
        let (element, after) = rest.split_at(length);
        elements.push(element.to_vec());
        rest = after;
    }
    assert!(!rest.is_empty() && elements.iter().all(|element| !element.is_empty()));
    elements.push(rest.to_vec());
    elements
}
