//! The capacity of a resource block: CQI to MCS to transport block size, for LTE (TS 36.213) and NR (TS 38.214).
//!
//! A [`Carrier`] is built once; its queries in every TTI are table look-ups. The quality of service of a bearer by its number
//! is in [`qos`].

mod carrier;
mod cqi;
mod error;
mod lte;
mod lte_sizes;
mod nr;
pub mod qos;
mod rung;

pub use carrier::Carrier;
pub use error::TableError;
pub use rung::Rung;

/// The mapping from a reported CQI to the MCS of a cell's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiToMcs {
    /// The mapping of the scheduler of OpenAirInterface's LTE base station: 0, 1, 2, 4, 6, 8, 11, 13, 16, 18,
    /// 20, 23, 25, 27, 28.
    Oai,
    /// The mapping of the program that made the thesis's capacity files, inferred from their values: 1, 3, 4,
    /// 6, 7, 9, 11, 13, 15, 18, 19, 21, 23, 25, 28. With 25 PRBs of LTE, ten blocks divided by 1460 bytes,
    /// rounded down and kept within 1 and 15, are the files' values.
    ThesisEmulator,
    /// The highest MCS whose spectral efficiency is not above that of the CQI (TS 36.213 7.2.3, TS 38.214 5.2.2.1); the
    /// lowest if all are above.
    Efficiency,
}

/// The MCS and CQI tables of TS 38.214 that an NR carrier uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McsTable {
    /// Up to 64QAM: Tables 5.1.3.1-1 and 5.2.2.1-2.
    #[default]
    Qam64,
    /// Up to 256QAM: Tables 5.1.3.1-2 and 5.2.2.1-3.
    Qam256,
}

/// The column of TS 38.214 Table 5.1.2.2.1-1 that defines the size of NR's resource block groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RbgConfig {
    /// Configuration 1: 2, 4, 8 or 16 PRBs.
    #[default]
    One,
    /// Configuration 2: 4, 8 or 16 PRBs.
    Two,
}

/// The part of an NR slot that carries no data. The default has a symbol of control and one of reference signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Symbols of the shared channel in a slot, 2 to 14; the others carry control.
    pub symbols: u8,
    /// Resource elements of a PRB used for demodulation reference signals in these symbols; 12 for a whole symbol.
    pub reference_elements: u8,
    /// Resource elements of a PRB reserved by higher layers (`xOverhead`): 0, 6, 12 or 18.
    pub other_elements: u8,
}

impl Default for Overhead {
    fn default() -> Overhead {
        Overhead { symbols: 13, reference_elements: 12, other_elements: 0 }
    }
}

impl Overhead {
    /// Resource elements of a PRB that carry data.
    fn elements(self) -> u64 {
        let all = 12 * u64::from(self.symbols);
        all.saturating_sub(u64::from(self.reference_elements) + u64::from(self.other_elements))
    }
}
