//! RRM policy ratios of a slice (3GPP TS 28.541, clauses 4.3.36 and 4.4.1).

use super::SliceError;

/// The policy ratios of a slice, in millionths of the resource blocks (RBs) of an averaging window: the attributes
/// `rRMPolicyDedicatedRatio`, `rRMPolicyMinRatio` and `rRMPolicyMaxRatio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratios {
    dedicated: u32,
    min: u32,
    max: u32,
}

impl Ratios {
    /// All RBs, in millionths.
    const ALL: u32 = 1_000_000;

    /// Ratios in millionths.
    ///
    /// # Errors
    /// Not `dedicated <= min <= max <= 100%`, or a maximum of zero.
    pub const fn from_millionths(dedicated: u32, min: u32, max: u32) -> Result<Ratios, SliceError> {
        if dedicated > min || min > max || max > Ratios::ALL || max == 0 {
            return Err(SliceError::Ratios { dedicated, min, max });
        }
        Ok(Ratios { dedicated, min, max })
    }
    /// Ratios in percent.
    ///
    /// # Errors
    /// Errors of [`Ratios::from_millionths`].
    pub const fn from_percent(dedicated: u32, min: u32, max: u32) -> Result<Ratios, SliceError> {
        const ONE: u32 = 10_000;
        let (dedicated, min) = (dedicated.saturating_mul(ONE), min.saturating_mul(ONE));
        Ratios::from_millionths(dedicated, min, max.saturating_mul(ONE))
    }
    /// The dedicated ratio, in millionths: the slice's alone, even while it is idle.
    pub const fn dedicated(self) -> u32 {
        self.dedicated
    }
    /// The minimum, in millionths: the slice's before all others while it has data. It includes the dedicated ratio.
    pub const fn min(self) -> u32 {
        self.min
    }
    /// The maximum, in millionths.
    pub const fn max(self) -> u32 {
        self.max
    }
}

/// The defaults of TS 28.541, clause 4.4.1: neither a dedicated ratio nor a minimum, and a maximum of all resource blocks.
impl Default for Ratios {
    fn default() -> Ratios {
        Ratios { dedicated: 0, min: 0, max: Ratios::ALL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_in_order() {
        let ratios = Ratios::from_percent(5, 10, 100).unwrap();
        assert_eq!((ratios.dedicated(), ratios.min(), ratios.max()), (50_000, 100_000, 1_000_000));
        assert!(Ratios::from_percent(0, 0, 1).is_ok() && Ratios::from_percent(100, 100, 100).is_ok());
        for (dedicated, min, max) in
            [(11, 10, 100), (0, 20, 10), (0, 0, 101), (0, 0, 0), (u32::MAX, u32::MAX, u32::MAX)]
        {
            assert!(Ratios::from_percent(dedicated, min, max).is_err(), "{dedicated} {min} {max}");
        }
    }
}
