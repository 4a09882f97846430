//! Values of a column out of its pages: the encodings plain, dictionary, run lengths and delta, without a panic on damaged ones, which the
//! decoders of the crate `parquet` have.

use crate::traces::packed::zstd::Frames;
use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use std::io::Read;

/// Most bytes of a page compressed by zstd.
const PAGE_BYTES_MAX: u64 = 256 << 20;

/// A value as a file has it.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bool(bool),
    Int32(i32),
    Int64(i64),
    Int96([u32; 3]),
    Float(f32),
    Double(f64),
    Bytes(Bytes),
}

fn wrong<T>(what: &str) -> Result<T> {
    Err(ParquetError::General(what.to_string()))
}

/// Values of a column of a row group, one after the other.
pub(super) struct Values {
    pages: Box<dyn PageReader>,
    kind: Type,
    /// Bytes of a value of the type `FIXED_LEN_BYTE_ARRAY`.
    length: usize,
    /// Definition level of a value; 0 if there are no nulls.
    level: i16,
    /// True if the pages are compressed by zstd.
    is_zstd: bool,
    dictionary: Vec<Value>,
    page: Option<PageValues>,
}

/// The rest of a page.
struct PageValues {
    left: u32,
    levels: Option<Runs>,
    values: Encoded,
}

enum Encoded {
    Plain(Plain),
    Dictionary(Runs),
    Runs(Runs),
    Delta(Box<Delta>),
}

impl Values {
    pub fn new(pages: Box<dyn PageReader>, kind: Type, length: i32, level: i16, is_zstd: bool) -> Values {
        let length = usize::try_from(length).unwrap_or(0);
        Values { pages, kind, length, level, is_zstd, dictionary: Vec::new(), page: None }
    }

    /// The next value, where null is `Some(None)`; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Option<Value>>> {
        loop {
            if let Some(page) = self.page.as_mut().filter(|page| page.left > 0) {
                page.left -= 1;
                if let Some(levels) = &mut page.levels
                    && i64::from(levels.next()?) != i64::from(self.level)
                {
                    return Ok(Some(None));
                }
                let value = match &mut page.values {
                    Encoded::Plain(plain) => plain.next(self.kind, self.length)?,
                    Encoded::Runs(runs) => Value::Bool(runs.next()? != 0),
                    Encoded::Delta(delta) => match self.kind {
                        // Deltas wrap around as the type does.
                        Type::INT32 => Value::Int32(delta.next()? as i32),
                        _ => Value::Int64(delta.next()?),
                    },
                    Encoded::Dictionary(runs) => match self.dictionary.get(runs.next()? as usize) {
                        Some(value) => value.clone(),
                        None => return wrong("a value beyond its dictionary"),
                    },
                };
                return Ok(Some(Some(value)));
            }
            match self.pages.get_next_page()? {
                None => return Ok(None),
                Some(page) => self.begin(page)?,
            }
        }
    }

    fn begin(&mut self, page: Page) -> Result<()> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                let mut plain = Plain { bytes: self.unpacked(buf)?, bit: 0 };
                self.dictionary.clear();
                for _ in 0..num_values {
                    self.dictionary.push(plain.next(self.kind, self.length)?);
                }
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let mut buf = self.unpacked(buf)?;
                let levels = match self.level {
                    0 => None,
                    _ if def_level_encoding != Encoding::RLE => return wrong("levels without run lengths"),
                    level => {
                        let length = u32::from_le_bytes(take(&mut buf)?);
                        Some(Runs::of_levels(split(&mut buf, length as usize)?, level))
                    }
                };
                self.page =
                    Some(PageValues { left: num_values, levels, values: self.encoded(encoding, buf)? });
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                ..
            } => {
                split(&mut buf, rep_levels_byte_len as usize)?;
                let levels = split(&mut buf, def_levels_byte_len as usize)?;
                let levels = (self.level > 0).then(|| Runs::of_levels(levels, self.level));
                let buf = if is_compressed { self.unpacked(buf)? } else { buf };
                self.page =
                    Some(PageValues { left: num_values, levels, values: self.encoded(encoding, buf)? });
            }
        }
        Ok(())
    }

    /// The bytes of a page, unpacked if the crate did not.
    fn unpacked(&self, bytes: Bytes) -> Result<Bytes> {
        if !self.is_zstd || bytes.is_empty() {
            return Ok(bytes);
        }
        let mut page = Vec::new();
        let read = Frames::new(&bytes[..]).take(PAGE_BYTES_MAX + 1).read_to_end(&mut page);
        match read {
            Ok(_) if page.len() as u64 > PAGE_BYTES_MAX => wrong("a page of more than 256 MB"),
            Ok(_) => Ok(page.into()),
            Err(error) => wrong(&error.to_string()),
        }
    }

    fn encoded(&self, encoding: Encoding, mut bytes: Bytes) -> Result<Encoded> {
        Ok(match (encoding, self.kind) {
            (Encoding::PLAIN, _) => Encoded::Plain(Plain { bytes, bit: 0 }),
            // A page of nulls may have no bytes at all.
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) if bytes.is_empty() => {
                Encoded::Dictionary(Runs::new(bytes, 0))
            }
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) => {
                let [width] = take(&mut bytes)?;
                if width > 32 {
                    return wrong("places in a dictionary of more than 32 bits");
                }
                Encoded::Dictionary(Runs::new(bytes, width.into()))
            }
            (Encoding::RLE, Type::BOOLEAN) => {
                let length = u32::from_le_bytes(take(&mut bytes)?);
                Encoded::Runs(Runs::new(split(&mut bytes, length as usize)?, 1))
            }
            (Encoding::DELTA_BINARY_PACKED, Type::INT32 | Type::INT64) => {
                Encoded::Delta(Box::new(Delta::new(bytes)?))
            }
            (encoding, kind) => {
                return wrong(&format!(
                    "encoding {encoding} of {kind}, which is not read; expected plain, dictionary, run lengths or delta of whole numbers"
                ));
            }
        })
    }
}

/// Takes the first bytes.
fn take<const N: usize>(bytes: &mut Bytes) -> Result<[u8; N]> {
    let taken = split(bytes, N)?;
    taken.as_ref().try_into().or_else(|_| wrong("a page that ends early"))
}

fn split(bytes: &mut Bytes, length: usize) -> Result<Bytes> {
    if length > bytes.len() { wrong("a page that ends early") } else { Ok(bytes.split_to(length)) }
}

fn varint(bytes: &mut Bytes) -> Result<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let [byte] = take(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    wrong("a number of more than 64 bits")
}

fn zigzag(bytes: &mut Bytes) -> Result<i64> {
    let value = varint(bytes)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// `width` bits of `bytes` from bit `at` on, the lowest first.
fn bits(bytes: &[u8], at: u64, width: u32) -> Result<u64> {
    let mut value = 0_u128;
    let (first, offset) = ((at / 8) as usize, at % 8);
    let count = (offset + u64::from(width)).div_ceil(8) as usize;
    for place in 0..count {
        let Some(byte) = bytes.get(first.saturating_add(place)) else {
            return wrong("a page that ends early");
        };
        value |= u128::from(*byte) << (8 * place);
    }
    Ok(((value >> offset) & ((1_u128 << width) - 1)) as u64)
}

/// Values one behind the other.
struct Plain {
    bytes: Bytes,
    /// Bits of the first byte that have been read, of a column of switches.
    bit: u64,
}

impl Plain {
    fn next(&mut self, kind: Type, length: usize) -> Result<Value> {
        let bytes = &mut self.bytes;
        Ok(match kind {
            Type::BOOLEAN => {
                let value = bits(bytes, self.bit, 1)?;
                self.bit += 1;
                Value::Bool(value != 0)
            }
            Type::INT32 => Value::Int32(i32::from_le_bytes(take(bytes)?)),
            Type::INT64 => Value::Int64(i64::from_le_bytes(take(bytes)?)),
            Type::INT96 => Value::Int96([
                u32::from_le_bytes(take(bytes)?),
                u32::from_le_bytes(take(bytes)?),
                u32::from_le_bytes(take(bytes)?),
            ]),
            Type::FLOAT => Value::Float(f32::from_le_bytes(take(bytes)?)),
            Type::DOUBLE => Value::Double(f64::from_le_bytes(take(bytes)?)),
            Type::BYTE_ARRAY => {
                let length = u32::from_le_bytes(take(bytes)?);
                Value::Bytes(split(bytes, length as usize)?)
            }
            Type::FIXED_LEN_BYTE_ARRAY if length == 0 => return wrong("values without bytes"),
            Type::FIXED_LEN_BYTE_ARRAY => Value::Bytes(split(bytes, length)?),
        })
    }
}

/// Small numbers in runs: one repeated, or a group of eight and more packed into bits.
struct Runs {
    bytes: Bytes,
    width: u32,
    left: u64,
    /// The repeated number; `None` in a packed run, whose next bit is `bit`.
    repeated: Option<u32>,
    packed: Bytes,
    bit: u64,
}

impl Runs {
    fn new(bytes: Bytes, width: u32) -> Runs {
        Runs { bytes, width, left: 0, repeated: None, packed: Bytes::new(), bit: 0 }
    }
    fn of_levels(bytes: Bytes, level: i16) -> Runs {
        Runs::new(bytes, 16 - (level as u16).leading_zeros())
    }

    fn next(&mut self) -> Result<u32> {
        while self.left == 0 {
            let header = varint(&mut self.bytes)?;
            if header & 1 == 1 {
                self.left = (header >> 1).saturating_mul(8);
                let length = (header >> 1).saturating_mul(self.width.into());
                // The last run may lack the bytes of numbers that nothing reads.
                let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.bytes.len());
                (self.repeated, self.packed, self.bit) = (None, split(&mut self.bytes, length)?, 0);
            } else {
                self.left = header >> 1;
                let bytes = split(&mut self.bytes, self.width.div_ceil(8) as usize)?;
                self.repeated = Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)));
            }
        }
        self.left -= 1;
        if let Some(value) = self.repeated {
            return Ok(value);
        }
        let value = bits(&self.packed, self.bit, self.width)?;
        self.bit += u64::from(self.width);
        Ok(value as u32)
    }
}

/// Whole numbers as differences in blocks, each of several parts of equal width.
struct Delta {
    bytes: Bytes,
    /// Parts of a block, and numbers in each.
    parts: u64,
    in_part: u64,
    value: i64,
    is_first: bool,
    least: i64,
    /// Widths of the parts of the block that are to come.
    widths: Bytes,
    width: u32,
    part: Bytes,
    left: u64,
    bit: u64,
}

impl Delta {
    fn new(mut bytes: Bytes) -> Result<Delta> {
        let (block, parts) = (varint(&mut bytes)?, varint(&mut bytes)?);
        let _count = varint(&mut bytes)?;
        let value = zigzag(&mut bytes)?;
        if parts == 0 || block == 0 || block > 1 << 24 || !block.is_multiple_of(parts) {
            return wrong("blocks of differences that do not divide into parts");
        }
        let empty = Bytes::new();
        let (widths, part) = (empty.clone(), empty);
        Ok(Delta {
            bytes,
            parts,
            in_part: block / parts,
            value,
            is_first: true,
            least: 0,
            widths,
            width: 0,
            part,
            left: 0,
            bit: 0,
        })
    }

    fn next(&mut self) -> Result<i64> {
        if std::mem::take(&mut self.is_first) {
            return Ok(self.value);
        }
        if self.left == 0 {
            if self.widths.is_empty() {
                self.least = zigzag(&mut self.bytes)?;
                self.widths = split(&mut self.bytes, usize::try_from(self.parts).unwrap_or(usize::MAX))?;
            }
            let [width] = take(&mut self.widths)?;
            if width > 64 {
                return wrong("differences of more than 64 bits");
            }
            self.width = width.into();
            let length = (self.in_part * u64::from(self.width)).div_ceil(8) as usize;
            let length = length.min(self.bytes.len());
            self.part = split(&mut self.bytes, length)?;
            (self.left, self.bit) = (self.in_part, 0);
        }
        self.left -= 1;
        let difference = bits(&self.part, self.bit, self.width)?;
        self.bit += u64::from(self.width);
        self.value = self.value.wrapping_add(self.least).wrapping_add(difference as i64);
        Ok(self.value)
    }
}
