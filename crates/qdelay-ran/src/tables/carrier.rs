//! A carrier: the duration of a slot, the number of resource blocks and their transport block sizes.

use super::{CqiToMcs, McsTable, Overhead, RbgConfig, Rung, TableError, cqi, lte, nr};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use qdelay_core::Span;

/// A carrier with precomputed transport block sizes. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Carrier {
    slot: Span,
    prbs: u16,
    rbg_prbs: u16,
    mcs_max: u8,
    /// The NR table; `None` for LTE.
    table: Option<McsTable>,
    /// Number of layers, with rank adaptation the most; NR only.
    layers: u8,
    /// True if each block has its own number of layers.
    adapts_rank: bool,
    overhead: Overhead,
    /// The last row of `blocks`.
    row_max: u8,
    /// Block sizes in bytes, by rung, then by PRBs from 0 on.
    blocks: Arc<Vec<u32>>,
}

impl Carrier {
    /// An LTE carrier of `prbs` resource blocks (6, 15, 25, 50, 75 or 100), one layer; slots (here: subframes) of 1 ms.
    ///
    /// # Errors
    /// Another number of resource blocks.
    pub fn lte(prbs: u16) -> Result<Carrier, TableError> {
        lte::check(prbs)?;
        Ok(Carrier {
            slot: Span::from_millis(1),
            prbs,
            rbg_prbs: lte::rbg_prbs(prbs),
            mcs_max: lte::MCS_MAX,
            table: None,
            layers: 1,
            adapts_rank: false,
            overhead: Overhead::default(),
            row_max: lte::MCS_MAX,
            blocks: blocks(1..=1, lte::MCS_MAX, prbs, |_, mcs, n| lte::block_bytes(mcs, n)),
        })
    }

    /// An NR carrier of `prbs` resource blocks (1 to 275) of numerology 0 to 3, with slots of 1 ms / 2^numerology, 1 to 8
    /// layers, and groups of resource blocks by configuration 1.
    ///
    /// # Errors
    /// A numerology, a number of PRBs or layers, or an overhead that the standard does not have.
    pub fn nr(
        numerology: u8,
        prbs: u16,
        table: McsTable,
        layers: u8,
        overhead: Overhead,
    ) -> Result<Carrier, TableError> {
        nr::check(numerology, prbs, layers, overhead)?;
        let mcs_max = (nr::rows(table).len() - 1) as u8;
        Ok(Carrier {
            slot: Span::from_millis(1) / (1 << numerology),
            prbs,
            rbg_prbs: nr::rbg_prbs(prbs, RbgConfig::One),
            mcs_max,
            table: Some(table),
            layers,
            adapts_rank: false,
            overhead,
            row_max: mcs_max,
            blocks: nr_blocks(layers..=layers, table, prbs, overhead),
        })
    }

    /// The same carrier with rank adaptation: a block has 1 layer to as many as the carrier has. Without effect on LTE.
    #[must_use]
    pub fn adapt_rank(self) -> Carrier {
        let Some(table) = self.table else { return self };
        let blocks = nr_blocks(1..=self.layers, table, self.prbs, self.overhead);
        // At most 8 layers of 29 MCS: 232 rows.
        let row_max = self.layers * (self.mcs_max + 1) - 1;
        Carrier { adapts_rank: true, row_max, blocks, ..self }
    }

    /// The same carrier with this configuration of NR's resource block groups; LTE has only one.
    #[must_use]
    pub fn rbg_config(mut self, config: RbgConfig) -> Carrier {
        if self.table.is_some() {
            self.rbg_prbs = nr::rbg_prbs(self.prbs, config);
        }
        self
    }

    /// The carrier of the uplink, with the block sizes of that direction: in LTE those of TS 36.213 Table
    /// 8.6.1-1, in NR the same, always with all layers: the uplink has no rank adaptation.
    #[must_use]
    pub fn of_uplink(self) -> Carrier {
        let bytes = |_, mcs, n| lte::uplink_block_bytes(mcs, n);
        match self.table {
            None => Carrier { blocks: blocks(1..=1, self.mcs_max, self.prbs, bytes), ..self },
            Some(table) if self.adapts_rank => {
                let blocks = nr_blocks(self.layers..=self.layers, table, self.prbs, self.overhead);
                Carrier { adapts_rank: false, row_max: self.mcs_max, blocks, ..self }
            }
            Some(_) => self,
        }
    }

    /// The same carrier in special slots of time division duplex, with `symbols` downlink symbols; `None` if
    /// they carry no data. In NR the first symbol carries control, and two more are needed (TS 38.214 clause
    /// 5.1.2.1); for LTE see TS 36.213 clause 7.1.7.
    pub(crate) fn special(&self, symbols: u8) -> Option<Carrier> {
        let blocks = match self.table {
            None => {
                // The share of the resource blocks is in eighths.
                let eighths = match symbols {
                    0..=3 => return None,
                    4..=6 => 3,
                    _ => 6,
                };
                blocks(1..=1, lte::MCS_MAX, self.prbs, |_, mcs, n| {
                    if n == 0 { 0 } else { lte::block_bytes(mcs, (n * eighths / 8).max(1)) }
                })
            }
            Some(table) => {
                let unused = Overhead::default().symbols.abs_diff(14);
                let overhead = Overhead { symbols: symbols.saturating_sub(unused), ..self.overhead };
                if overhead.symbols < 2 || overhead.elements() == 0 {
                    return None;
                }
                nr_blocks(self.ranks(), table, self.prbs, overhead)
            }
        };
        Some(Carrier { blocks, ..self.clone() })
    }

    /// The duration of a slot: 1 ms in LTE, 1 ms to 125 us in NR.
    pub const fn slot(&self) -> Span {
        self.slot
    }
    /// Resource blocks (PRBs) in a slot.
    pub const fn prbs(&self) -> u16 {
        self.prbs
    }
    /// PRBs in a resource block group (RBG); the last group may have fewer.
    pub const fn rbg_prbs(&self) -> u16 {
        self.rbg_prbs
    }
    /// Resource block groups in a slot.
    pub const fn rbgs(&self) -> u16 {
        self.prbs.div_ceil(self.rbg_prbs)
    }
    /// The highest MCS that carries a new block.
    pub const fn mcs_max(&self) -> u8 {
        self.mcs_max
    }
    /// Returns true if the carrier is LTE rather than NR.
    pub const fn is_lte(&self) -> bool {
        self.table.is_none()
    }

    /// Layers of a block; with rank adaptation the most.
    pub const fn layers(&self) -> u8 {
        self.layers
    }
    /// Returns true if the carrier has [rank adaptation](Carrier::adapt_rank).
    pub const fn adapts_rank(&self) -> bool {
        self.adapts_rank
    }
    /// The numbers of layers that a block can have.
    pub(crate) fn ranks(&self) -> RangeInclusive<u8> {
        if self.adapts_rank { 1..=self.layers } else { self.layers..=self.layers }
    }
    /// Number of rungs.
    pub(crate) fn rungs(&self) -> usize {
        usize::from(self.row_max) + 1
    }
    /// The rung with this number of layers and this MCS; each counts as the nearest one that the carrier has.
    pub fn rung(&self, rank: u8, mcs: u8) -> Rung {
        let rank = rank.clamp(*self.ranks().start(), self.layers);
        Rung::of_row((rank - self.ranks().start()) * (self.mcs_max + 1) + mcs.min(self.mcs_max))
    }
    /// Layers of a rung.
    pub fn rank_of(&self, rung: Rung) -> u8 {
        self.ranks().start() + rung.row().min(self.row_max) / (self.mcs_max + 1)
    }
    /// MCS of a rung.
    pub fn mcs_of(&self, rung: Rung) -> u8 {
        rung.row().min(self.row_max) % (self.mcs_max + 1)
    }

    /// Bytes of a transport block at `mcs`, with all layers, on `prbs` PRBs of one slot: MAC headers included, its CRC not. An
    /// MCS or a number of PRBs above the largest counts as the largest.
    pub fn block_bytes(&self, mcs: u8, prbs: u16) -> u32 {
        self.rung_bytes(Rung::of_row(self.row_max - self.mcs_max + mcs.min(self.mcs_max)), prbs)
    }

    /// Bytes of a transport block at `rung`, as in [`Carrier::block_bytes`].
    pub fn rung_bytes(&self, rung: Rung, prbs: u16) -> u32 {
        let (row, prbs) = (rung.row().min(self.row_max), prbs.min(self.prbs));
        let index = usize::from(row) * (usize::from(self.prbs) + 1) + usize::from(prbs);
        self.blocks.get(index).copied().unwrap_or(0)
    }

    /// The row of [`Carrier::rung_bytes`] at `rung`, for numbers of PRBs from 0 on.
    #[inline]
    pub(crate) fn blocks_bytes(&self, rung: Rung) -> &[u32] {
        let width = usize::from(self.prbs) + 1;
        let from = usize::from(rung.row().min(self.row_max)) * width;
        self.blocks.get(from..from + width).unwrap_or_default()
    }

    /// The default mapping from CQI to MCS on such a carrier: OpenAirInterface's in LTE, by efficiency in NR.
    pub const fn usual_mapping(&self) -> CqiToMcs {
        if self.is_lte() { CqiToMcs::Oai } else { CqiToMcs::Efficiency }
    }
    /// The MCS for a CQI of 1 to 15; `None` for 0 and above 15. On NR, mappings made for LTE are limited to the highest MCS.
    pub fn mcs(&self, mapping: CqiToMcs, cqi: u8) -> Option<u8> {
        cqi::mcs(mapping, self.table.unwrap_or_default(), cqi).map(|mcs| mcs.min(self.mcs_max))
    }
    /// Bits that a resource element of one layer carries at this MCS; 0 above the highest.
    pub fn mcs_efficiency(&self, mcs: u8) -> f64 {
        cqi::mcs_efficiency(self.table.unwrap_or_default(), mcs)
    }
    /// Bits that a resource element of one layer carries at this CQI; 0 at 0 and above 15.
    pub fn cqi_efficiency(&self, cqi: u8) -> f64 {
        cqi::efficiency(self.table.unwrap_or_default(), cqi)
    }
}

/// Block sizes by rank, then by MCS, then by PRBs from 0 on.
fn blocks(
    ranks: RangeInclusive<u8>,
    mcs_max: u8,
    prbs: u16,
    bytes: impl Fn(u8, u8, u16) -> u32,
) -> Arc<Vec<u32>> {
    let mut blocks = Vec::with_capacity(ranks.len() * (usize::from(mcs_max) + 1) * (usize::from(prbs) + 1));
    for rank in ranks {
        for mcs in 0..=mcs_max {
            blocks.extend((0..=prbs).map(|n| bytes(rank, mcs, n)));
        }
    }
    Arc::new(blocks)
}

/// Block sizes of NR.
fn nr_blocks(ranks: RangeInclusive<u8>, table: McsTable, prbs: u16, overhead: Overhead) -> Arc<Vec<u32>> {
    let mcs_max = (nr::rows(table).len() - 1) as u8;
    blocks(ranks, mcs_max, prbs, |rank, mcs, n| nr::block_bytes(table, mcs, n, rank, overhead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn lte_bandwidths() {
        let rbgs = [6, 15, 25, 50, 75, 100].map(|prbs| Carrier::lte(prbs).unwrap().rbgs());
        assert_eq!(rbgs, [6, 8, 13, 17, 19, 25]);
        let carrier = Carrier::lte(25).unwrap();
        assert_eq!((carrier.slot(), carrier.mcs_max()), (Span::from_millis(1), 28));
        assert_eq!((carrier.block_bytes(28, 25), carrier.block_bytes(28, 17)), (2292, 1572));
        assert_eq!((carrier.block_bytes(28, 0), carrier.block_bytes(0, 0)), (0, 0));
        assert_eq!(carrier.block_bytes(200, 200), 2292);
        for prbs in [0, 7, 26, 110, u16::MAX] {
            assert!(Carrier::lte(prbs).is_err());
        }
    }

    #[test]
    fn nr_slots_and_groups() {
        let nr = |numerology, prbs| Carrier::nr(numerology, prbs, McsTable::Qam256, 1, Overhead::default());
        let slots = [0, 1, 2, 3].map(|n| nr(n, 51).unwrap().slot().as_micros());
        assert_eq!(slots, [1000, 500, 250, 125]);
        let carrier = nr(1, 273).unwrap();
        assert_eq!((carrier.rbg_prbs(), carrier.rbgs(), carrier.mcs_max()), (16, 18, 27));
        let carrier = nr(1, 51).unwrap();
        assert_eq!((carrier.rbg_prbs(), carrier.rbgs()), (4, 13));
        assert_eq!(carrier.rbg_config(RbgConfig::Two).rbgs(), 7);
        assert_eq!(Carrier::lte(25).unwrap().rbg_config(RbgConfig::Two).rbg_prbs(), 2);
    }

    #[test]
    fn values_outside_nr_are_refused() {
        let message = |numerology, prbs, layers, overhead| {
            Carrier::nr(numerology, prbs, McsTable::Qam64, layers, overhead).unwrap_err().to_string()
        };
        let usual = Overhead::default();
        assert!(message(4, 51, 1, usual).contains("240 kHz carries no data"));
        assert!(
            message(1, 0, 1, usual)
                .contains("0 is not a valid number of PRBs of an NR carrier; expected 1 to 275")
        );
        assert!(message(1, 276, 1, usual).contains("1 to 275"));
        assert!(message(1, 51, 9, usual).contains("1 to 8"));
        assert!(message(1, 51, 1, Overhead { symbols: 15, ..usual }).contains("2 to 14"));
        assert!(message(1, 51, 1, Overhead { other_elements: 5, ..usual }).contains("0, 6, 12 or 18"));
        let full = Overhead { symbols: 2, reference_elements: 24, other_elements: 0 };
        assert!(message(1, 51, 1, full).contains("reference elements"));
    }

    #[test]
    fn blocks_grow_with_mcs_and_prbs() {
        let carriers = [
            Carrier::lte(100).unwrap(),
            Carrier::nr(3, 66, McsTable::Qam256, 2, Overhead::default()).unwrap(),
            Carrier::nr(0, 106, McsTable::Qam64, 1, Overhead::default()).unwrap(),
        ];
        for carrier in carriers {
            for prbs in 1..=carrier.prbs() {
                for mcs in 0..=carrier.mcs_max() {
                    let bytes = carrier.block_bytes(mcs, prbs);
                    let voice = |n: u16| carrier.is_lte() && mcs == 6 && n == 1;
                    assert!(bytes >= carrier.block_bytes(mcs, prbs - 1) || voice(prbs - 1), "{mcs} {prbs}");
                    // The 64QAM tables decrease slightly where 16QAM ends (MCS 16 to 17).
                    let before = carrier.block_bytes(mcs.saturating_sub(1), prbs);
                    assert!(bytes >= before || mcs == 17 || (mcs == 7 && prbs == 1), "{mcs} {prbs}");
                }
            }
        }
    }

    #[test]
    fn mappings_give_their_mcs() {
        let lte = Carrier::lte(25).unwrap();
        let nr = Carrier::nr(1, 51, McsTable::Qam256, 1, Overhead::default()).unwrap();
        assert_eq!((lte.usual_mapping(), nr.usual_mapping()), (CqiToMcs::Oai, CqiToMcs::Efficiency));
        assert_eq!((lte.mcs(CqiToMcs::Oai, 15), nr.mcs(CqiToMcs::Oai, 15)), (Some(28), Some(27)));
        assert_eq!((nr.mcs(CqiToMcs::Efficiency, 15), nr.mcs(CqiToMcs::Efficiency, 0)), (Some(27), None));
        assert!(nr.cqi_efficiency(15) > lte.cqi_efficiency(15));
    }
}
