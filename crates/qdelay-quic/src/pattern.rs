//! The contents of streams: each byte follows from its offset, so that a reader detects missing, repeated and reordered bytes.

use bytes::Bytes;
use std::sync::OnceLock;

/// Period of the pattern, bytes: a prime, so that a loss of a power of two of bytes shifts the pattern and is detected.
const PERIOD: usize = 65_521;
/// Largest piece that [`piece`] returns, bytes.
pub const PIECE: usize = 65_536;

static BYTES: OnceLock<Bytes> = OnceLock::new();

fn bytes() -> &'static Bytes {
    BYTES.get_or_init(|| {
        let byte = |offset: usize| ((offset % PERIOD) as u32).wrapping_mul(0x9e37_79b9).to_be_bytes()[0];
        Bytes::from((0..PERIOD + PIECE).map(byte).collect::<Vec<u8>>())
    })
}

/// The bytes of a stream from `offset` on: `len` bytes, but at most [`PIECE`].
pub fn piece(offset: u64, len: u64) -> Bytes {
    let start = (offset % PERIOD as u64) as usize;
    bytes().slice(start..start + len.min(PIECE as u64) as usize)
}

/// Whether `data` equals the bytes of a stream at `offset`.
pub fn matches(offset: u64, data: &[u8]) -> bool {
    let mut offset = offset;
    data.chunks(PIECE).all(|chunk| {
        let is_same = piece(offset, chunk.len() as u64) == chunk;
        offset += chunk.len() as u64;
        is_same
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_match_at_their_own_offset_only() {
        let short = piece(100_000, 1_000);
        assert!(matches(100_000, &short));
        assert!(!matches(100_001, &short) && !matches(100_000, &short[1..]));
        let long: Vec<u8> = [piece(7, PIECE as u64), piece(7 + PIECE as u64, 10)].concat();
        assert!(matches(7, &long));
    }
}
