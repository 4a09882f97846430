//! What a resource block carries: CQI to MCS to transport block size, for LTE (TS 36.213) and NR (TS 38.214).
//!
//! A [`Carrier`] is made once; what it is asked every TTI is a look-up. What quality of service a bearer is promised by its number
//! is in [`qos`].

mod carrier;
mod cqi;
mod error;
mod lte;
mod lte_sizes;
mod nr;
pub mod qos;

pub use carrier::Carrier;
pub use error::TableError;

/// From a reported CQI to the MCS that a cell sends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiToMcs {
    /// As the scheduler of OpenAirInterface's LTE base station: 0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28.
    Oai,
    /// As the program that made the thesis's capacity files, as far as their values tell: 1, 3, 4, 6, 7, 9, 11, 13, 15, 18,
    /// 19, 21, 23, 25, 28. With 25 PRBs of LTE, ten blocks divided by 1460 bytes, rounded down and kept within 1 and 15, are
    /// the files' values.
    ThesisEmulator,
    /// The highest MCS whose spectral efficiency is not above that of the CQI (TS 36.213 7.2.3, TS 38.214 5.2.2.1); the
    /// lowest where each is above.
    Efficiency,
}

/// Which MCS and CQI tables of TS 38.214 an NR carrier uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McsTable {
    /// Up to 64QAM: Tables 5.1.3.1-1 and 5.2.2.1-2.
    #[default]
    Qam64,
    /// Up to 256QAM: Tables 5.1.3.1-2 and 5.2.2.1-3.
    Qam256,
}

/// Which column of TS 38.214 Table 5.1.2.2.1-1 sets the size of NR's resource block groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RbgConfig {
    /// Configuration 1: 2, 4, 8 or 16 PRBs.
    #[default]
    One,
    /// Configuration 2: 4, 8 or 16 PRBs.
    Two,
}

/// What of an NR slot does not carry data. The default has a symbol of control and one of reference signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Symbols of the slot that the shared channel has, 2 to 14; the others carry control.
    pub symbols: u8,
    /// Resource elements that a PRB gives to demodulation reference signals in these symbols; 12 for a whole symbol.
    pub reference_elements: u8,
    /// Resource elements that a PRB gives to what higher layers configure (`xOverhead`): 0, 6, 12 or 18.
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
