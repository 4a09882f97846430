//! Sequence numbers: 64-bit counters here, sent modulo a power of two, and interpreted relative to a window.

/// Start value of all counters: 0 in every length of sequence numbers, with room for a window below it.
pub(super) const START: u64 = 1 << 20;

/// The header's value for `number`.
#[inline]
pub(super) const fn on_the_air(number: u64, bits: u8) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

/// The number at or above `base` for a header's `sn`.
#[inline]
pub(super) const fn at_or_above(base: u64, sn: u32, bits: u8) -> u64 {
    base + ((sn as u64).wrapping_sub(base) & ((1 << bits) - 1))
}

/// Half of all numbers: every window in TS 36.322 and TS 38.322.
#[inline]
pub(super) const fn window(bits: u8) -> u64 {
    1 << (bits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_within_the_window() {
        for bits in [5, 6, 10, 12, 18] {
            for base in [START, START + 17, START - 3, START + (1 << bits) - 1] {
                for number in base..base + (1 << bits) {
                    let sn = on_the_air(number, bits);
                    assert!(u64::from(sn) < 1 << bits);
                    assert_eq!(at_or_above(base, sn, bits), number);
                }
            }
        }
        assert_eq!(window(5), 16);
        assert_eq!(window(10), 512);
        assert_eq!(window(18), 131_072);
    }
}
