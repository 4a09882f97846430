//! The contents of streams: bytes that depend on their place, so that a reader sees whether all are there and in order.

use bytes::Bytes;
use std::sync::OnceLock;

/// After so many bytes they begin again: a prime, so that no power of two of bytes can be lost unseen.
const PERIOD: usize = 65_521;
/// The largest piece.
pub const PIECE: usize = 65_536;

static BYTES: OnceLock<Bytes> = OnceLock::new();

fn bytes() -> &'static Bytes {
    BYTES.get_or_init(|| {
        let byte = |at: usize| ((at % PERIOD) as u32).wrapping_mul(0x9e37_79b9).to_be_bytes()[0];
        Bytes::from((0..PERIOD + PIECE).map(byte).collect::<Vec<u8>>())
    })
}

/// The bytes of a stream from `offset` on, at most `len` and at most [`PIECE`] of them.
pub fn at(offset: u64, len: u64) -> Bytes {
    let start = (offset % PERIOD as u64) as usize;
    bytes().slice(start..start + len.min(PIECE as u64) as usize)
}

/// Whether `data` is what stands at `offset`.
pub fn is_at(offset: u64, data: &[u8]) -> bool {
    let mut offset = offset;
    data.chunks(PIECE).all(|piece| {
        let is_same = at(offset, piece.len() as u64) == piece;
        offset += piece.len() as u64;
        is_same
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_is_seen() {
        let piece = at(100_000, 1_000);
        assert!(is_at(100_000, &piece));
        assert!(!is_at(100_001, &piece) && !is_at(100_000, &piece[1..]));
        let long: Vec<u8> = [at(7, PIECE as u64), at(7 + PIECE as u64, 10)].concat();
        assert!(is_at(7, &long));
    }
}
