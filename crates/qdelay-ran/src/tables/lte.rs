//! LTE: transport block sizes by MCS, and the groups of resource blocks.

use super::TableError;
use super::lte_sizes::SIZES_BITS;

/// The highest MCS that carries a new block; 29 to 31 only repeat one.
pub(super) const MCS_MAX: u8 = 28;

/// The index of the transport block size (I_TBS) for an MCS of 0 to 28: TS 36.213 Table 7.1.7.1-1. Two pairs share an index,
/// because the modulation changes between them.
fn size_index(mcs: u8) -> u8 {
    match mcs {
        0..=9 => mcs,
        10..=16 => mcs - 1,
        _ => mcs.min(MCS_MAX) - 2,
    }
}

/// The index of the transport block size for an MCS of the uplink: TS 36.213 Table 8.6.1-1. The modulation
/// changes elsewhere, so that the index is one higher for MCS 10 and for 17 to 20.
fn uplink_size_index(mcs: u8) -> u8 {
    match mcs {
        0..=10 => mcs,
        11..=20 => mcs - 1,
        _ => mcs.min(MCS_MAX) - 2,
    }
}

/// Bytes of a transport block of the downlink on one layer; 0 for no PRBs or more than 110.
pub(super) fn block_bytes(mcs: u8, prbs: u16) -> u32 {
    bytes_of(size_index(mcs), prbs)
}

/// Bytes of a transport block of the uplink on one layer; 0 for no PRBs or more than 110.
pub(super) fn uplink_block_bytes(mcs: u8, prbs: u16) -> u32 {
    bytes_of(uplink_size_index(mcs), prbs)
}

/// Bytes of a transport block with this index of sizes.
fn bytes_of(index: u8, prbs: u16) -> u32 {
    let row = SIZES_BITS.get(usize::from(index));
    let bits = usize::from(prbs).checked_sub(1).and_then(|column| row?.get(column));
    bits.map_or(0, |bits| bits / 8)
}

/// PRBs in a resource block group for downlink allocations of type 0: TS 36.213 Table 7.1.6.1-1.
pub(super) fn rbg_prbs(prbs: u16) -> u16 {
    match prbs {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// Refuses numbers of PRBs that are not an LTE bandwidth: 1.4, 3, 5, 10, 15 and 20 MHz have these numbers (TS 36.101 Table
/// 5.6-1).
pub(super) fn check(prbs: u16) -> Result<(), TableError> {
    if matches!(prbs, 6 | 15 | 25 | 50 | 75 | 100) {
        return Ok(());
    }
    Err(TableError {
        what: "number of PRBs of an LTE carrier",
        found: u64::from(prbs),
        expected: "6, 15, 25, 50, 75 or 100 (1.4, 3, 5, 10, 15 or 20 MHz)",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcs_to_size_index() {
        let expected = [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
            25, 26,
        ];
        for (mcs, index) in (0..).zip(expected) {
            assert_eq!(size_index(mcs), index);
        }
        assert_eq!(size_index(u8::MAX), 26);
    }

    /// Table 8.6.1-1, row after row; and the blocks of an ns-3 uplink with 25 PRBs, taken from its traces.
    #[test]
    fn uplink_mcs_to_size_index() {
        let expected = [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24,
            25, 26,
        ];
        for (mcs, index) in (0..).zip(expected) {
            assert_eq!(uplink_size_index(mcs), index);
        }
        assert_eq!(uplink_size_index(u8::MAX), 26);
        let sizes = [0, 4, 10, 16, 18, 20, 28].map(|mcs| uplink_block_bytes(mcs, 25));
        assert_eq!(sizes, [85, 225, 549, 967, 1143, 1335, 2292]);
    }

    /// Values measured or published elsewhere: the blocks of a testbed with 25 PRBs less its MAC header of 3 bytes, in
    /// subframes with and without control, one of 18 PRBs, and that of an ns-3 cell with 6.
    #[test]
    fn sizes_match_measured_and_published_ones() {
        assert_eq!(block_bytes(28, 25) - 3, 2289);
        assert_eq!(block_bytes(28, 17) - 3, 1569);
        assert_eq!(block_bytes(28, 18), 1692);
        assert_eq!(block_bytes(28, 6), 549);
        assert_eq!(block_bytes(28, 100), 75_376 / 8);
        assert_eq!(block_bytes(0, 1), 2);
        assert_eq!(block_bytes(6, 1), 41);
        assert_eq!((block_bytes(5, 0), block_bytes(5, 111)), (0, 0));
    }

    /// Three of the six bandwidths, to detect an error in the table.
    #[test]
    fn sizes_of_three_bandwidths_match_the_table() {
        let column = |prbs: usize| SIZES_BITS.map(|row| row[prbs - 1]);
        assert_eq!(
            column(6),
            [
                152, 208, 256, 328, 408, 504, 600, 712, 808, 936, 1032, 1192, 1352, 1544, 1736, 1800, 1928,
                2152, 2344, 2600, 2792, 2984, 3240, 3496, 3624, 3752, 4392
            ]
        );
        assert_eq!(
            column(25),
            [
                680, 904, 1096, 1416, 1800, 2216, 2600, 3112, 3496, 4008, 4392, 4968, 5736, 6456, 7224, 7736,
                7992, 9144, 9912, 10680, 11448, 12576, 13536, 14112, 15264, 15840, 18336
            ]
        );
        assert_eq!(
            column(100),
            [
                2792, 3624, 4584, 5736, 7224, 8760, 10296, 12216, 14112, 15840, 17568, 19848, 22920, 25456,
                28336, 30576, 32856, 36696, 39232, 43816, 46888, 51024, 55056, 57336, 61664, 63776, 75376
            ]
        );
    }

    /// Sizes come from one list of whole bytes, grow with PRBs and index (with one exception), and stay within 8% of
    /// proportional to the PRBs: a mistyped digit would be detected.
    #[test]
    fn sizes_are_regular() {
        for (index, row) in SIZES_BITS.iter().enumerate() {
            for (column, &bits) in row.iter().enumerate() {
                assert_eq!(bits % 8, 0);
                let odd = |row: usize, column: usize| row == 6 && column == 0;
                if column > 0 && !odd(index, column - 1) {
                    assert!(bits >= row[column - 1], "{index} {column}");
                }
                if index > 0 && !odd(index, column) && !odd(index - 1, column) {
                    assert!(bits > SIZES_BITS[index - 1][column], "{index} {column}");
                }
                // The largest size limits the last row from 100 PRBs on.
                if (10..100).contains(&column) {
                    let share = f64::from(bits) / (column + 1) as f64 / (f64::from(row[99]) / 100.0);
                    assert!((share - 1.0).abs() < 0.08, "{index} {column}: {share}");
                }
            }
        }
    }

    /// From 1544 bits on, every size is one that the table for two layers (7.1.7.2.2-1) starts from; below, sizes follow the
    /// block sizes of the turbo code (steps of 8 bits up to 512, then 16, then 32, with the CRC of 24).
    #[test]
    fn sizes_are_those_that_the_turbo_code_accepts() {
        for &bits in SIZES_BITS.iter().flatten() {
            let coded = bits + 24;
            match coded {
                0..=512 => assert_eq!(coded % 8, 0),
                513..=1024 => assert_eq!(coded % 16, 0, "{bits}"),
                1025..=2048 => assert_eq!(coded % 32, 0, "{bits}"),
                2049..=6144 => assert_eq!(coded % 64, 0, "{bits}"),
                _ => {
                    // Segments of equal size, each a size of the code with a CRC of its own (TS 36.212 5.1.2).
                    let segments = coded.div_ceil(6120);
                    let total = coded + 24 * segments;
                    assert_eq!(total % segments, 0, "{bits}");
                    let step = if total / segments > 2048 { 64 } else { 32 };
                    assert_eq!(total / segments % step, 0, "{bits}");
                }
            }
        }
    }

    #[test]
    fn group_sizes_match_the_table() {
        let groups = [6, 15, 25, 50, 75, 100].map(rbg_prbs);
        assert_eq!(groups, [1, 2, 2, 3, 4, 4]);
        assert!(check(24).unwrap_err().to_string().contains("expected 6, 15, 25"));
    }

    use alloc::string::ToString;
}
