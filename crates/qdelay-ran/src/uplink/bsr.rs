//! Buffer status reports (BSR): the levels by which a UE reports its backlog to the base station.
//!
//! A level is a range of bytes, of which the base station assumes the upper end. The highest level covers all
//! backlogs above 150000 bytes; the base station assumes 150000 bytes. A report is a control element of one
//! byte with a subheader of one byte.
//!
//! Source: TS 36.321 Table 6.1.3.1-1, TS 38.321 Table 6.1.3.1-1; clause 6.1.3.1 of both.
//!
//! # Differences from the reference
//! * All bearers of a UE are one logical channel group, so that every report is a short one.

/// Bytes of a short report with its subheader.
pub(super) const REPORT_BYTES: u64 = 2;

/// Upper ends of LTE's levels, from the first above 0 on. 63 is the level above all.
static LTE: [u32; 62] = [
    10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234, 274, 321, 376,
    440, 515, 603, 706, 826, 967, 1132, 1326, 1552, 1817, 2127, 2490, 2915, 3413, 3995, 4677, 5476, 6411,
    7505, 8787, 10287, 12043, 14099, 16507, 19325, 22624, 26487, 31009, 36304, 42502, 49759, 58255, 68201,
    79846, 93479, 109_439, 128_125, 150_000,
];
/// Upper ends of the levels of NR's short report. 31 is the level above all.
static NR: [u32; 30] = [
    10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909, 5446, 7587,
    10570, 14726, 20516, 28581, 39818, 55474, 77284, 107_669, 150_000,
];

/// The table of levels of a technology.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels(&'static [u32]);

impl Levels {
    pub fn for_technology(is_lte: bool) -> Levels {
        Levels(if is_lte { &LTE } else { &NR })
    }
    /// Level of a backlog of `bytes`.
    pub fn level(self, bytes: u64) -> u8 {
        match bytes {
            0 => 0,
            _ => self.0.partition_point(|&end| u64::from(end) < bytes) as u8 + 1,
        }
    }
    /// Bytes that the base station assumes for a level.
    pub fn bytes(self, level: u8) -> u64 {
        let Some(place) = usize::from(level).checked_sub(1) else { return 0 };
        u64::from(self.0[place.min(self.0.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both tables are geometric series from 10 to 150000 bytes, rounded up.
    #[test]
    fn levels_are_a_geometric_series() {
        for levels in [Levels::for_technology(true), Levels::for_technology(false)] {
            let steps = levels.0.len() as f64 - 1.0;
            for (place, &end) in levels.0.iter().enumerate() {
                let exact = 10.0 * libm::pow(15_000.0, place as f64 / steps);
                assert_eq!(f64::from(end), libm::ceil(exact - 1e-6), "{place}");
            }
        }
    }

    #[test]
    fn a_level_is_the_lowest_range_that_contains_the_bytes() {
        let (lte, nr) = (Levels::for_technology(true), Levels::for_technology(false));
        for (bytes, of_lte, of_nr) in
            [(0, 0, 0), (1, 1, 1), (10, 1, 1), (11, 2, 2), (200, 20, 11), (201, 21, 11), (150_000, 62, 30)]
        {
            assert_eq!((lte.level(bytes), nr.level(bytes)), (of_lte, of_nr), "{bytes}");
        }
        assert_eq!((lte.level(150_001), nr.level(u64::MAX)), (63, 31));
        assert_eq!((lte.bytes(63), nr.bytes(31), lte.bytes(0)), (150_000, 150_000, 0));
        for bytes in 1..150_000 {
            let taken = lte.bytes(lte.level(bytes));
            assert!(bytes <= taken && (taken as f64) < bytes as f64 * 1.21 + 10.0, "{bytes}: {taken}");
        }
    }
}
