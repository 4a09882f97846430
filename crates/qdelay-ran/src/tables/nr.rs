//! NR: transport block sizes by MCS, computed as in TS 38.214 5.1.3.2, and the groups of resource blocks.
//!
//! Exact: all quantities are in units of 1/2048 bit, because two code rates are odd multiples of 1/2048.

use super::{McsTable, Overhead, RbgConfig, TableError};

/// PRBs of the largest bandwidth part (TS 38.211 4.4.2). The bands allow a little less (TS 38.101).
const PRBS_MAX: u16 = 275;
/// Layers of one codeword, and of the two that a slot has at most (TS 38.211 7.3.1.3).
const CODEWORD_LAYERS_MAX: u8 = 4;
const LAYERS_MAX: u8 = 8;
/// Largest number of resource elements that a PRB counts.
const ELEMENTS_MAX: u64 = 156;

/// Table 5.1.3.1-1 (64QAM) as (bits a symbol, code rate in 1/2048).
#[rustfmt::skip]
static QAM64: [(u8, u16); 29] = [
    (2, 240), (2, 314), (2, 386), (2, 502), (2, 616), (2, 758), (2, 898), (2, 1052), (2, 1204), (2, 1358),
    (4, 680), (4, 756), (4, 868), (4, 980), (4, 1106), (4, 1232), (4, 1316), (6, 876), (6, 932), (6, 1034),
    (6, 1134), (6, 1232), (6, 1332), (6, 1438), (6, 1544), (6, 1644), (6, 1746), (6, 1820), (6, 1896),
];
/// Table 5.1.3.1-2 (256QAM), likewise.
#[rustfmt::skip]
static QAM256: [(u8, u16); 28] = [
    (2, 240), (2, 386), (2, 616), (2, 898), (2, 1204), (4, 756), (4, 868), (4, 980), (4, 1106), (4, 1232),
    (4, 1316), (6, 932), (6, 1034), (6, 1134), (6, 1232), (6, 1332), (6, 1438), (6, 1544), (6, 1644), (6, 1746),
    (8, 1365), (8, 1422), (8, 1508), (8, 1594), (8, 1682), (8, 1770), (8, 1833), (8, 1896),
];
/// Table 5.1.3.2-1: sizes of small blocks, in bits.
static SMALL_BITS: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];
/// Number of information bits above which sizes are computed.
const SMALL_MAX: u64 = 3824;

/// The rows of an MCS table.
pub(super) fn rows(table: McsTable) -> &'static [(u8, u16)] {
    match table {
        McsTable::Qam64 => &QAM64,
        McsTable::Qam256 => &QAM256,
    }
}

/// Bytes of the transport blocks of a slot, one for each codeword; both have the same MCS. With more than four layers the first codeword has half of
/// them, rounded down (TS 38.211 Table 7.3.1.3-1).
pub(super) fn block_bytes(table: McsTable, mcs: u8, prbs: u16, layers: u8, overhead: Overhead) -> u32 {
    let first = if layers > CODEWORD_LAYERS_MAX { layers / 2 } else { layers };
    let of_codeword = |layers| codeword_bytes(table, mcs, prbs, layers, overhead);
    of_codeword(first) + if layers > first { of_codeword(layers - first) } else { 0 }
}

/// Bytes of a transport block (TS 38.214 5.1.3.2); 0 on no PRBs or for an MCS that the table does not have.
fn codeword_bytes(table: McsTable, mcs: u8, prbs: u16, layers: u8, overhead: Overhead) -> u32 {
    let Some(&(bits, rate)) = rows(table).get(usize::from(mcs)) else { return 0 };
    let elements = overhead.elements().min(ELEMENTS_MAX) * u64::from(prbs);
    let scaled = elements * u64::from(rate) * u64::from(bits) * u64::from(layers);
    if scaled == 0 {
        return 0;
    }
    let bits = if scaled <= SMALL_MAX << 11 { small(scaled) } else { large(scaled, rate) };
    u32::try_from(bits / 8).unwrap_or(u32::MAX)
}

/// Step 3: rounded down to a power of two that grows with the size, then up to a size of the table. `scaled`
/// is in 1/2048 bit.
fn small(scaled: u64) -> u64 {
    let n = (scaled.ilog2().saturating_sub(11)).saturating_sub(6).max(3);
    let rounded = ((scaled >> (11 + n)) << n).max(24);
    let at = SMALL_BITS.partition_point(|&bits| u64::from(bits) < rounded);
    SMALL_BITS.get(at).map_or(SMALL_MAX, |&bits| u64::from(bits))
}

/// Step 4: rounded to a power of two, then up to whole bytes in each of its code blocks.
fn large(scaled: u64, rate: u16) -> u64 {
    const CRC: u64 = 24;
    let without = scaled - (CRC << 11);
    let n = without.ilog2() - 11 - 5;
    let rounded = (((without + (1 << (10 + n))) >> (11 + n)) << n).max(3840);
    let blocks = match rounded {
        _ if rate <= 512 => (rounded + CRC).div_ceil(3816),
        8425.. => (rounded + CRC).div_ceil(8424),
        _ => 1,
    };
    8 * blocks * (rounded + CRC).div_ceil(8 * blocks) - CRC
}

/// PRBs in a resource block group: TS 38.214 Table 5.1.2.2.1-1.
pub(super) fn rbg_prbs(prbs: u16, config: RbgConfig) -> u16 {
    let (one, two) = match prbs {
        0..=36 => (2, 4),
        37..=72 => (4, 8),
        73..=144 => (8, 16),
        _ => (16, 16),
    };
    match config {
        RbgConfig::One => one,
        RbgConfig::Two => two,
    }
}

/// Refuses values that no NR carrier has.
pub(super) fn check(numerology: u8, prbs: u16, layers: u8, overhead: Overhead) -> Result<(), TableError> {
    let refuse = |what, found: u16, expected| Err(TableError { what, found: u64::from(found), expected });
    if numerology > 3 {
        let expected = "0 to 3 (15, 30, 60 or 120 kHz); 240 kHz carries no data";
        return refuse("numerology of an NR carrier", u16::from(numerology), expected);
    }
    if !(1..=PRBS_MAX).contains(&prbs) {
        return refuse("number of PRBs of an NR carrier", prbs, "1 to 275");
    }
    if !(1..=LAYERS_MAX).contains(&layers) {
        return refuse("number of layers", u16::from(layers), "1 to 8");
    }
    if !(2..=14).contains(&overhead.symbols) {
        return refuse("number of data symbols of a slot", u16::from(overhead.symbols), "2 to 14");
    }
    if !matches!(overhead.other_elements, 0 | 6 | 12 | 18) {
        return refuse("xOverhead", u16::from(overhead.other_elements), "0, 6, 12 or 18 resource elements");
    }
    if overhead.elements() == 0 {
        let expected = "fewer than the symbols of the slot have";
        return refuse(
            "number of reference elements of a PRB",
            u16::from(overhead.reference_elements),
            expected,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(table: McsTable, mcs: u8, prbs: u16, layers: u8, slot: (u8, u8, u8)) -> u32 {
        let (symbols, reference_elements, other_elements) = slot;
        8 * block_bytes(table, mcs, prbs, layers, Overhead { symbols, reference_elements, other_elements })
    }

    /// Reference sizes from another public implementation of 5.1.3.2, in floating point.
    #[test]
    fn sizes_match_another_implementation() {
        let usual = (13, 12, 0);
        let cases = [
            (0, 1, 1, usual, 32),
            (28, 25, 1, usual, 19968),
            (27, 273, 4, usual, 835_976),
            (10, 52, 2, (12, 12, 6), 17424),
            (5, 106, 1, (14, 18, 0), 11784),
            (0, 273, 1, usual, 9216),
            (3, 275, 1, (2, 6, 0), 2408),
            (15, 11, 1, (13, 12, 18), 3368),
            (20, 106, 2, (12, 24, 0), 83976),
            (9, 24, 1, (11, 12, 12), 3496),
            (27, 100, 1, usual, 75792),
            (17, 66, 3, (9, 12, 0), 49176),
        ];
        for (mcs, prbs, layers, slot, expected) in cases {
            assert_eq!(bits(McsTable::Qam64, mcs, prbs, layers, slot), expected, "{mcs} {prbs}");
        }
        let cases = [
            (27, 273, 4, usual, 1_179_864),
            (10, 52, 2, (12, 12, 6), 33816),
            (5, 106, 1, (14, 18, 0), 23568),
            (3, 275, 1, (2, 6, 0), 4352),
            (15, 11, 1, (13, 12, 18), 5376),
            (20, 106, 2, (12, 24, 0), 135_296),
            (9, 24, 1, (11, 12, 12), 6272),
            (27, 100, 1, usual, 106_576),
            (17, 66, 3, (9, 12, 0), 86040),
        ];
        for (mcs, prbs, layers, slot, expected) in cases {
            assert_eq!(bits(McsTable::Qam256, mcs, prbs, layers, slot), expected, "{mcs} {prbs}");
        }
        assert_eq!(bits(McsTable::Qam64, 29, 25, 1, usual) + bits(McsTable::Qam64, 5, 0, 1, usual), 0);
    }

    /// The size by the text of 5.1.3.2, step by step, in floating point.
    fn literal(table: McsTable, mcs: u8, prbs: u16, layers: u8, overhead: Overhead) -> f64 {
        let (modulation, rate) = rows(table)[usize::from(mcs)];
        let rate = f64::from(rate) / 2048.0;
        let re_of_prb = 12.0 * f64::from(overhead.symbols)
            - f64::from(overhead.reference_elements)
            - f64::from(overhead.other_elements);
        let re = re_of_prb.min(156.0) * f64::from(prbs);
        let info = re * rate * f64::from(modulation) * f64::from(layers);
        let two = |n: f64| libm::pow(2.0, n);
        let whole_log = |x: f64| libm::floor(libm::log2(x));
        if info <= 3824.0 {
            let n = f64::max(3.0, whole_log(info) - 6.0);
            let quantised = f64::max(24.0, two(n) * libm::floor(info / two(n)));
            return SMALL_BITS.iter().map(|&bits| f64::from(bits)).find(|bits| *bits >= quantised).unwrap();
        }
        let n = whole_log(info - 24.0) - 5.0;
        let quantised = f64::max(3840.0, two(n) * libm::floor((info - 24.0) / two(n) + 0.5));
        let in_blocks = |blocks: f64| 8.0 * blocks * libm::ceil((quantised + 24.0) / (8.0 * blocks)) - 24.0;
        if rate <= 0.25 {
            in_blocks(libm::ceil((quantised + 24.0) / 3816.0))
        } else if quantised > 8424.0 {
            in_blocks(libm::ceil((quantised + 24.0) / 8424.0))
        } else {
            in_blocks(1.0)
        }
    }

    #[test]
    fn every_size_matches_the_text() {
        let overheads = [(13, 12, 0), (12, 24, 6), (14, 6, 0), (2, 6, 0), (9, 12, 18)];
        for (symbols, reference_elements, other_elements) in overheads {
            let overhead = Overhead { symbols, reference_elements, other_elements };
            for table in [McsTable::Qam64, McsTable::Qam256] {
                for mcs in 0..rows(table).len() as u8 {
                    for prbs in 1..=PRBS_MAX {
                        // Layers of the codewords: TS 38.211 Table 7.3.1.3-1.
                        let codewords: [&[u8]; 8] =
                            [&[1], &[2], &[3], &[4], &[2, 3], &[3, 3], &[3, 4], &[4, 4]];
                        for codewords in codewords {
                            let layers = codewords.iter().sum();
                            let of_codeword = |&layers| literal(table, mcs, prbs, layers, overhead) / 8.0;
                            let expected: f64 = codewords.iter().map(of_codeword).sum();
                            let found = block_bytes(table, mcs, prbs, layers, overhead);
                            assert_eq!(
                                f64::from(found),
                                expected,
                                "{table:?} {mcs} {prbs} {layers} {overhead:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn group_sizes_match_the_table() {
        let sizes = |prbs| (rbg_prbs(prbs, RbgConfig::One), rbg_prbs(prbs, RbgConfig::Two));
        assert_eq!([24, 36, 37, 72].map(sizes), [(2, 4), (2, 4), (4, 8), (4, 8)]);
        assert_eq!([73, 144, 145, 275].map(sizes), [(8, 16), (8, 16), (16, 16), (16, 16)]);
    }
}
