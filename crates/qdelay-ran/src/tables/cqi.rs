//! The mapping from the CQI that a UE reports to the MCS of its blocks.
//!
//! The standards define a CQI as the spectral efficiency that is received with at most one block in ten lost. The MCS for it
//! is the cell's own decision; here are three mappings.

use super::{CqiToMcs, McsTable, nr};

/// Table 7.2.3-1 of TS 36.213, equal to 5.2.2.1-2 of TS 38.214, as (bits a symbol, code rate in 1/1024) for CQI 1 to 15.
#[rustfmt::skip]
static QAM64: [(u8, u16); 15] = [
    (2, 78), (2, 120), (2, 193), (2, 308), (2, 449), (2, 602), (4, 378), (4, 490), (4, 616), (6, 466), (6, 567),
    (6, 666), (6, 772), (6, 873), (6, 948),
];
/// Table 5.2.2.1-3 of TS 38.214, for carriers with 256QAM.
#[rustfmt::skip]
static QAM256: [(u8, u16); 15] = [
    (2, 78), (2, 193), (2, 449), (4, 378), (4, 490), (4, 616), (6, 466), (6, 567), (6, 666), (6, 772), (6, 873),
    (8, 711), (8, 797), (8, 885), (8, 948),
];
/// The MCS of OpenAirInterface's LTE scheduler for CQI 1 to 15.
static OAI: [u8; 15] = [0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28];
/// An MCS for CQI 1 to 15 whose blocks on 25 PRBs give the values of the thesis's capacity files. A few other
/// sequences do too; the one that the program used is unknown.
static THESIS: [u8; 15] = [1, 3, 4, 6, 7, 9, 11, 13, 15, 18, 19, 21, 23, 25, 28];

/// Bits that a resource element carries at CQI 1 to 15; none at 0.
pub(super) fn efficiency(table: McsTable, cqi: u8) -> f64 {
    let rows = match table {
        McsTable::Qam64 => &QAM64,
        McsTable::Qam256 => &QAM256,
    };
    let row = usize::from(cqi).checked_sub(1).and_then(|at| rows.get(at));
    row.map_or(0.0, |&(bits, rate)| f64::from(bits) * f64::from(rate) / 1024.0)
}

/// Bits that a resource element carries at an MCS. LTE's standard does not list them; they are spaced as in
/// NR's table of 64QAM, which took over the same 29 steps.
pub(super) fn mcs_efficiency(table: McsTable, mcs: u8) -> f64 {
    let row = nr::rows(table).get(usize::from(mcs));
    row.map_or(0.0, |&(bits, rate)| f64::from(bits) * f64::from(rate) / 2048.0)
}

/// The MCS for CQI 1 to 15; `None` for 0 and above 15.
pub(super) fn mcs(mapping: CqiToMcs, table: McsTable, cqi: u8) -> Option<u8> {
    let at = usize::from(cqi).checked_sub(1).filter(|at| *at < QAM64.len())?;
    match mapping {
        CqiToMcs::Oai => OAI.get(at).copied(),
        CqiToMcs::ThesisEmulator => THESIS.get(at).copied(),
        CqiToMcs::Efficiency => {
            let limit = efficiency(table, cqi);
            let count = nr::rows(table).len() as u8;
            // The lowest MCS is used if all are above the CQI: the block depends on retransmissions.
            Some((0..count).rev().find(|&mcs| mcs_efficiency(table, mcs) <= limit).unwrap_or(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lte;
    use super::*;

    fn all(mapping: CqiToMcs, table: McsTable) -> [u8; 15] {
        core::array::from_fn(|at| mcs(mapping, table, at as u8 + 1).unwrap())
    }

    /// The column of efficiencies that both standards list, to four digits.
    #[test]
    fn efficiencies_as_printed() {
        let printed = [
            0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
            4.5234, 5.1152, 5.5547,
        ];
        for (cqi, printed) in (1..).zip(printed) {
            assert!((efficiency(McsTable::Qam64, cqi) - printed).abs() <= 0.00005, "{cqi}");
        }
        let printed = [
            0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
            6.2266, 6.9141, 7.4063,
        ];
        for (cqi, printed) in (1..).zip(printed) {
            assert!((efficiency(McsTable::Qam256, cqi) - printed).abs() <= 0.00005, "{cqi}");
        }
        assert_eq!(efficiency(McsTable::Qam64, 0) + efficiency(McsTable::Qam64, 16), 0.0);
    }

    #[test]
    fn mcs_efficiencies_as_printed() {
        let printed = [
            0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.6953, 1.9141, 2.1602, 2.4063, 2.5703, 2.7305,
            3.0293, 3.3223, 3.6094, 3.9023, 4.2129, 4.5234, 4.8164, 5.1152, 5.3320, 5.5547, 5.8906, 6.2266,
            6.5703, 6.9141, 7.1602, 7.4063,
        ];
        for (mcs, printed) in (0..).zip(printed) {
            assert!((mcs_efficiency(McsTable::Qam256, mcs) - printed).abs() <= 0.00005, "{mcs}");
        }
        assert!((mcs_efficiency(McsTable::Qam64, 28) - 5.5547).abs() < 0.0001);
    }

    /// Every CQI but the first has exactly the efficiency of an MCS, in both tables.
    #[test]
    fn efficiency_finds_the_same_modulation_and_rate() {
        let expected = [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28];
        assert_eq!(all(CqiToMcs::Efficiency, McsTable::Qam64), expected);
        let expected = [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27];
        assert_eq!(all(CqiToMcs::Efficiency, McsTable::Qam256), expected);
        for table in [McsTable::Qam64, McsTable::Qam256] {
            for (cqi, mcs) in (2..).zip(&all(CqiToMcs::Efficiency, table)[1..]) {
                assert_eq!(mcs_efficiency(table, *mcs), efficiency(table, cqi));
            }
        }
    }

    /// Ten blocks, rounded down to packets with 1460 bytes of payload and kept within 1 and 15.
    #[test]
    fn the_mapping_gives_the_values_of_the_capacity_files() {
        let values = all(CqiToMcs::ThesisEmulator, McsTable::Qam64)
            .map(|mcs| (lte::block_bytes(mcs, 25) * 10 / 1460).clamp(1, 15));
        assert_eq!(values, [1, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 9, 10, 12, 15]);
        // OpenAirInterface's steps, and packets of 1500 bytes, do not give these values.
        let values = all(CqiToMcs::Oai, McsTable::Qam64).map(|mcs| lte::block_bytes(mcs, 25) * 10 / 1460);
        assert_eq!((values[3], values[10]), (1, 8));
        assert_eq!(lte::block_bytes(25, 25) * 10 / 1500, 11);
    }

    #[test]
    fn cqi_0_and_above_15_have_no_mcs() {
        for mapping in [CqiToMcs::Oai, CqiToMcs::ThesisEmulator, CqiToMcs::Efficiency] {
            assert_eq!((mcs(mapping, McsTable::Qam64, 0), mcs(mapping, McsTable::Qam64, 16)), (None, None));
            assert!(all(mapping, McsTable::Qam64).is_sorted());
        }
    }
}
