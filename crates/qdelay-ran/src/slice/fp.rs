//! Fixed partition: each slice gets the groups of its share in every TTI; unused groups are lost.
//!
//! Source: 5G QoS thesis, sections 4.4 and 4.5 (the baseline, as in OpenAirInterface with FlexRAN). A slice's share of the
//! RBs is rounded down, and again to whole RBGs; RBs left over by rounding are not assigned: of 25 RBs, shares of 25% and 75%
//! get 6 and 18, and one is discarded. Each slice has its own scheduler for its UEs.

use super::{SliceError, Slices};

/// The fixed partition.
#[derive(Clone, Debug)]
pub struct FixedPartition {
    slices: Slices,
    rbg_rbs: u32,
}

impl FixedPartition {
    /// A partition into `slices`, in groups of `rbg_rbs` RBs.
    ///
    /// # Errors
    /// Groups of no RBs.
    pub fn new(slices: Slices, rbg_rbs: u32) -> Result<FixedPartition, SliceError> {
        if rbg_rbs == 0 {
            return Err(SliceError::Group);
        }
        Ok(FixedPartition { slices, rbg_rbs })
    }

    /// The slices.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// RBGs of `slice` in a TTI with `rbs` RBs for new data; 0 for an unknown slice.
    pub fn groups(&self, slice: usize, rbs: u32) -> u32 {
        self.slices.shares().get(slice).map_or(0, |share| share.rounded_down(rbs) / self.rbg_rbs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Share, SliceSetting};
    use super::*;
    use alloc::vec::Vec;

    fn groups(percents: [u32; 2], rbs: u32, rbg_rbs: u32) -> Vec<u32> {
        let setting =
            |slice: usize, drbs| SliceSetting { share: Share::from_percent(percents[slice]).unwrap(), drbs };
        let slices = Slices::new(&[setting(0, &[0]), setting(1, &[1])], 2).unwrap();
        let partition = FixedPartition::new(slices, rbg_rbs).unwrap();
        assert_eq!(partition.groups(2, rbs), 0);
        (0..partition.slices().count()).map(|slice| partition.groups(slice, rbs)).collect()
    }

    #[test]
    fn shares_are_rounded_down_as_in_the_testbed() {
        assert_eq!(groups([25, 75], 25, 2), [3, 9], "6 and 18 of 25 RBs");
        assert_eq!(groups([50, 50], 25, 2), [6, 6], "12 each");
        assert_eq!(groups([25, 75], 25, 1), [6, 18]);
        assert_eq!(groups([50, 50], 275, 16), [8, 8], "137 RBs are 8 groups and 9 RBs");
        assert_eq!(groups([25, 75], 0, 2), [0, 0]);
    }

    #[test]
    fn groups_of_no_resource_blocks_are_refused() {
        let slices = Slices::new(&[SliceSetting { share: Share::ALL, drbs: &[0] }], 1).unwrap();
        assert_eq!(FixedPartition::new(slices, 0).unwrap_err(), SliceError::Group);
    }
}
