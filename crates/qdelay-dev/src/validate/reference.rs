//! Reference tables, which are part of the program.

/// Table of tab-separated values with a header; lines that begin with `#` are comments.
pub struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

/// Linux 6.12 in virtual time.
pub const KERNEL: &str = include_str!("../../tests/reference/kernel.tsv");
/// Linux 6.12 in virtual time at other rates.
pub const KERNEL_RATES: &str = include_str!("../../tests/reference/kernel_rates.tsv");
/// The kernel's fq_codel.
pub const KERNEL_FQ: &str = include_str!("../../tests/reference/kernel_fq.tsv");
/// mahimahi with real kernel TCP.
pub const MAHIMAHI: &str = include_str!("../../tests/reference/mahimahi.tsv");
/// ns-3's dumbbell.
pub const NS3: &str = include_str!("../../tests/reference/ns3.tsv");
/// ns-3's LTE.
pub const NS3_RADIO: &str = include_str!("../../tests/reference/ns3_radio.tsv");
/// LeoReplayer on its example pair of files.
pub const LEO: &str = include_str!("../../tests/reference/leo.tsv");
/// CellReplay on our recording of two loads.
pub const CELLREPLAY: &str = include_str!("../../tests/reference/cellreplay.tsv");
/// Linux's netem.
pub const NETEM: &str = include_str!("../../tests/reference/netem.tsv");
/// Known reasons for cells outside their bounds.
pub const EXPLAINED: &str = include_str!("../../tests/reference/explained.tsv");

impl Table {
    /// Reads a table.
    pub fn parse(text: &'static str) -> Table {
        let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let header = lines.next().map_or_else(Vec::new, |line| line.split('\t').collect());
        Table { header, rows: lines.map(|line| line.split('\t').collect()).collect() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Text of a table cell; empty if the cell does not exist.
    pub fn text(&self, row: usize, column: &str) -> &'static str {
        let index = self.header.iter().position(|name| *name == column);
        index.and_then(|index| self.rows.get(row)?.get(index)).copied().unwrap_or("")
    }

    /// Number in a table cell; NaN if the cell does not exist.
    pub fn number(&self, row: usize, column: &str) -> f64 {
        self.text(row, column).parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one() {
        let kernel = Table::parse(KERNEL);
        assert_eq!(kernel.len(), 96);
        for row in 0..kernel.len() {
            for column in ["rate_mbps", "rtt_ms", "flows", "seed", "link_goodput_mbps", "drops"] {
                assert!(kernel.number(row, column).is_finite(), "row {row} {column}");
            }
        }
        assert_eq!(Table::parse(KERNEL_RATES).len(), 24);
        assert_eq!(Table::parse(KERNEL_FQ).len(), 24);
        assert_eq!((Table::parse(MAHIMAHI).len(), Table::parse(NS3).len()), (20, 8));
        for (table, rows) in [(LEO, 5), (CELLREPLAY, 8)] {
            let replayer = Table::parse(table);
            assert_eq!(replayer.len(), rows);
            for row in 0..rows {
                for column in ["low", "median", "high", "relative", "absolute"] {
                    assert!(replayer.number(row, column).is_finite(), "row {row} {column}");
                }
            }
        }
        assert_eq!(Table::parse(NETEM).len(), 247);
        let radio = Table::parse(NS3_RADIO);
        assert_eq!(radio.len(), 91);
        for row in 0..radio.len() {
            for column in ["low", "high", "shift", "relative", "absolute"] {
                assert!(radio.number(row, column).is_finite(), "row {row} {column}");
            }
        }
    }
}
