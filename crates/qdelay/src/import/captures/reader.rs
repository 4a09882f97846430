//! Reader of captures: pcap (microseconds and nanoseconds, both byte orders) and pcapng (draft-ietf-opsawg-pcapng, both byte orders).
//!
//! Packets come from the enhanced and the obsolete packet blocks of pcapng, with the time resolution and offset of their
//! interface; simple packet blocks have no time and are counted. A file that ends within a record is read up to that record, because
//! a killed capture program leaves such a file. Any other inconsistency is an error with its byte offset.

use qdelay_record::is_drop_comment;
use std::io::{self, Read};

/// Largest length of a record in bytes; longer records are damage, because captures keep at most 256 KiB of a packet.
const RECORD_MAX: u32 = 16 << 20;
/// Largest number of interfaces of one section.
const INTERFACES_MAX: usize = 1 << 16;

/// Packet as stored in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Time of capture, in nanoseconds since 1970.
    pub nanos: i64,
    /// Length on the wire in bytes, which may exceed the captured length.
    pub length: u32,
    /// Link layer of the interface (LINKTYPE number).
    pub link_type: u32,
    /// Number of the interface in its section of the file; 0 in pcap.
    pub interface: u32,
    /// Captured bytes.
    pub bytes: Vec<u8>,
    /// Drop record of `qdelay link`: the same packet was recorded before, on arrival.
    pub is_drop: bool,
}

/// Properties of a file besides its packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The file ends within a record.
    pub is_cut: bool,
    /// Packets without a time.
    pub without_time: u64,
    /// `qdelay` wrote the file (the application of a section of pcapng).
    pub is_of_link: bool,
}

/// Reason why a file cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// I/O error of the system.
    Io(io::Error),
    /// Byte offset and description of the damage.
    Damage(u64, String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}

/// Time format of an interface.
#[derive(Clone, Copy)]
struct Interface {
    link_type: u32,
    /// Units per second: a power of ten or of two.
    per_second: u64,
    offset_s: i64,
}

struct Input<R> {
    file: R,
    offset: u64,
    is_big: bool,
}

/// Calls `packet` with each packet of a capture.
///
/// # Errors
/// A file that cannot be read, is no capture, or is damaged.
pub fn read(file: impl Read, mut packet: impl FnMut(Captured)) -> Result<Notes, ReadError> {
    let mut input = Input { file: io::BufReader::new(file), offset: 0, is_big: false };
    let Some(magic) = input.bytes(4)? else {
        return Err(ReadError::Damage(0, "an empty file; expected a capture (pcap or pcapng)".to_string()));
    };
    match magic.as_slice() {
        [0x0a, 0x0d, 0x0d, 0x0a] => sections(&mut input, &mut packet),
        [0xd4, 0xc3, 0xb2, 0xa1] => records(&mut input, false, 1_000_000, &mut packet),
        [0xa1, 0xb2, 0xc3, 0xd4] => records(&mut input, true, 1_000_000, &mut packet),
        [0x4d, 0x3c, 0xb2, 0xa1] => records(&mut input, false, 1_000_000_000, &mut packet),
        [0xa1, 0xb2, 0x3c, 0x4d] => records(&mut input, true, 1_000_000_000, &mut packet),
        _ => Err(ReadError::Damage(0, "no capture; expected pcap or pcapng, not compressed".to_string())),
    }
}

impl<R: Read> Input<R> {
    /// The next `count` bytes; `None` if the file ends earlier.
    fn bytes(&mut self, count: u32) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(u64::from(count)).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        Ok((bytes.len() == count as usize).then_some(bytes))
    }
    /// Number at `at` in the file's byte order; 0 beyond the end.
    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let two = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()).copied().unwrap_or_default();
        if self.is_big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
    }
    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
        if self.is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }
    fn damage<T>(&self, what: &str) -> Result<T, ReadError> {
        Err(ReadError::Damage(self.offset, what.to_string()))
    }
}

/// Reads a pcap file after its magic number.
fn records<R: Read>(
    input: &mut Input<R>,
    is_big: bool,
    per_second: u64,
    packet: &mut impl FnMut(Captured),
) -> Result<Notes, ReadError> {
    input.is_big = is_big;
    let cut = Notes { is_cut: true, ..Notes::default() };
    let Some(head) = input.bytes(20)? else { return Ok(cut) };
    // The upper bits hold the length of the frame check sequence.
    let link_type = input.u32(&head, 16) & 0x0fff_ffff;
    loop {
        let before = input.offset;
        let Some(head) = input.bytes(16)? else {
            return Ok(Notes { is_cut: input.offset > before, ..Notes::default() });
        };
        let kept = input.u32(&head, 8);
        if kept > RECORD_MAX {
            return input.damage("a packet of more than 16 MiB; expected a capture");
        }
        let fraction = u64::from(input.u32(&head, 4)) * (1_000_000_000 / per_second);
        let nanos = i64::from(input.u32(&head, 0)) * 1_000_000_000 + fraction as i64;
        let length = input.u32(&head, 12);
        let Some(bytes) = input.bytes(kept)? else { return Ok(cut) };
        packet(Captured { nanos, length, link_type, interface: 0, bytes, is_drop: false });
    }
}

/// Reads a pcapng file after the type of its first block.
fn sections<R: Read>(input: &mut Input<R>, packet: &mut impl FnMut(Captured)) -> Result<Notes, ReadError> {
    const SECTION: u32 = 0x0a0d_0d0a;
    let mut notes = Notes::default();
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut kind = SECTION;
    while let Some(length) = input.bytes(4)? {
        let mut head = 12;
        if kind == SECTION {
            // The byte-order magic follows the length, which is already in that order.
            let Some(order) = input.bytes(4)? else { break };
            input.is_big = match order.as_slice() {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return input.damage("no byte order of a section; expected a capture (pcapng)"),
            };
            head += 4;
            interfaces.clear();
        }
        let length = input.u32(&length, 0);
        if length < head || !length.is_multiple_of(4) || length > RECORD_MAX {
            return input.damage("a block of an impossible length; expected a capture (pcapng)");
        }
        let Some(body) = input.bytes(length - head)? else {
            notes.is_cut = true;
            return Ok(notes);
        };
        // The block ends with a second copy of its length.
        let Some(end) = input.bytes(4)? else { break };
        if input.u32(&end, 0) != length {
            return input.damage("a block with two lengths; expected a capture (pcapng)");
        }
        match kind {
            SECTION => notes.is_of_link |= is_of_link(input, &body),
            1 if interfaces.len() >= INTERFACES_MAX => {
                return input.damage("more than 65536 interfaces; expected a capture (pcapng)");
            }
            1 => interfaces.push(interface(input, &body)),
            2 | 6 => match enhanced(input, kind, &body, &interfaces) {
                Some(found) => packet(found),
                None => {
                    return input
                        .damage("a packet longer than its block, or of no interface; expected a capture");
                }
            },
            3 => notes.without_time += 1,
            _ => {}
        }
        let before = input.offset;
        match input.bytes(4)? {
            Some(next) => kind = if next == [0x0a, 0x0d, 0x0d, 0x0a] { SECTION } else { input.u32(&next, 0) },
            None => {
                notes.is_cut = input.offset > before;
                return Ok(notes);
            }
        }
    }
    notes.is_cut = true;
    Ok(notes)
}

/// Interface description: link type, and the options resolution (9) and offset (14) of times.
fn interface<R>(input: &Input<R>, body: &[u8]) -> Interface
where
    R: Read,
{
    let mut found =
        Interface { link_type: u32::from(input.u16(body, 0)), per_second: 1_000_000, offset_s: 0 };
    for (code, value) in options(input, body.get(8..).unwrap_or_default()) {
        match (code, value) {
            (9, [resolution, ..]) => {
                let exponent = u32::from(resolution & 0x7f);
                let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
                found.per_second = base.checked_pow(exponent).unwrap_or(u64::MAX);
            }
            (14, [_, _, _, _, _, _, _, _]) => {
                let [low, high] = [input.u32(value, 0), input.u32(value, 4)].map(u64::from);
                let [low, high] = if input.is_big { [high, low] } else { [low, high] };
                found.offset_s = (high << 32 | low) as i64;
            }
            _ => {}
        }
    }
    found
}

/// Options of a block: code and value.
fn options<'a, R: Read>(input: &Input<R>, mut rest: &'a [u8]) -> Vec<(u16, &'a [u8])> {
    let mut found = Vec::new();
    while rest.len() >= 4 {
        let (code, length) = (input.u16(rest, 0), usize::from(input.u16(rest, 2)));
        let Some(value) = rest.get(4..4 + length).filter(|_| code != 0) else { break };
        found.push((code, value));
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Enhanced packet block, or the obsolete packet block (type 2).
fn enhanced<R: Read>(input: &Input<R>, kind: u32, body: &[u8], interfaces: &[Interface]) -> Option<Captured> {
    let number = if kind == 2 { u32::from(input.u16(body, 0)) } else { input.u32(body, 0) };
    let interface = interfaces.get(number as usize)?;
    let units = u64::from(input.u32(body, 4)) << 32 | u64::from(input.u32(body, 8));
    let per_second = i128::from(interface.per_second);
    let nanos =
        i128::from(units) * 1_000_000_000 / per_second + i128::from(interface.offset_s) * 1_000_000_000;
    let kept = input.u32(body, 12) as usize;
    let bytes = body.get(20..)?.get(..kept)?.to_vec();
    let rest = body.get(20 + kept.next_multiple_of(4)..).unwrap_or_default();
    Some(Captured {
        nanos: i64::try_from(nanos).unwrap_or(i64::MAX),
        length: input.u32(body, 16),
        link_type: interface.link_type,
        interface: number,
        bytes,
        is_drop: is_drop(input, rest),
    })
}

/// Recognises a drop in a capture of `qdelay link` by the options of the packet: a comment, and flags (2) without a direction. A
/// packet with a user's comment has flags with a direction, or no flags.
fn is_drop<R: Read>(input: &Input<R>, rest: &[u8]) -> bool {
    let options = options(input, rest);
    let is_without_direction = options.iter().any(|(code, value)| *code == 2 && input.u32(value, 0) & 3 == 0);
    let has_comment = options
        .iter()
        .filter(|(code, _)| *code == 1)
        .any(|(_, value)| std::str::from_utf8(value).is_ok_and(is_drop_comment));
    is_without_direction && has_comment
}

/// Recognises `qdelay` as the writer of a section by the application option (4) of the section header.
fn is_of_link<R: Read>(input: &Input<R>, body: &[u8]) -> bool {
    let options = options(input, body.get(12..).unwrap_or_default());
    options.iter().any(|(code, value)| *code == 4 && value.starts_with(b"qdelay "))
}
