//! Slices of a cell: the division of the resource blocks (RBs) of a transmission time interval (TTI) among
//! radio bearers whose tenants have agreed on shares of the spectrum (5G QoS thesis, chapter 4).
//!
//! * [`FixedPartition`]: each slice gets its share in each TTI, at any backlog.
//! * [`Eqp`]: slices lend and borrow, so that in each TTI as many whole packets as possible are sent, and the
//!   share holds over time. A segmented packet waits in the receiver for its second half.
//! * [`RrmPolicy`]: each slice has a dedicated, a minimum and a maximum ratio (3GPP TS 28.541); what is not dedicated
//!   goes to others while the slice is idle.
//!
//! RBs are assigned in groups (RBGs) of [`Eqp::rbg_rbs`] RBs. A [`RbgCapacity`] holds the bytes that a number
//! of groups carries for a UE; the waiting packets are read through [`Queues`]. Nothing here stores a packet.
//!
//! | file of EQP | contents |
//! | --- | --- |
//! | `eqp` | the law: quanta, whole packets, the remainder |
//! | `knapsack` | the choice of packets to be sent whole, by attempts until one is certain to be best |
//! | `price` | the upper bound on the number of packets, by linear programming |
//! | `pool`, `contenders` | the queues that can matter to that choice |
//! | `problem`, `solved` | one slice: the costs of its packets, and its dynamic programme |
//! | `memory` | the state kept about queues from TTI to TTI |
//! | `work` | a count of the work of a decision |

mod contenders;
mod eqp;
mod fp;
mod grants;
mod knapsack;
mod memory;
mod pool;
mod price;
mod problem;
mod ratios;
mod rrm;
mod solved;
mod work;

pub use eqp::{Eqp, Grant, Tti, WholePackets};
pub use fp::FixedPartition;
pub use grants::Rounding;
pub use ratios::Ratios;
pub use rrm::{PolicyAccount, RrmPolicy, SliceDemand};
pub use work::Work;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The most RBGs of a TTI: a carrier of 5G has at most 275 RBs (3GPP TS 38.211, clause 4.4.2).
pub const MOST_GROUPS: u16 = 275;
/// The most packets at the head of a queue that one decision considers.
pub const MOST_PACKETS: usize = 100;
/// The most slices of a cell.
pub const MOST_SLICES: usize = 1024;

/// A part of all RBs, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// All resource blocks.
    pub const ALL: Share = Share(1_000_000);

    /// A share of `millionths`, above 0 and up to 1,000,000.
    ///
    /// # Errors
    /// A share of zero, or of more than all.
    pub const fn from_millionths(millionths: u32) -> Result<Share, SliceError> {
        match millionths {
            1..=1_000_000 => Ok(Share(millionths)),
            _ => Err(SliceError::Share { millionths }),
        }
    }
    /// A share of `percent`, above 0 and up to 100.
    ///
    /// # Errors
    /// Errors of [`Share::from_millionths`].
    pub const fn from_percent(percent: u32) -> Result<Share, SliceError> {
        Share::from_millionths(percent.saturating_mul(10_000))
    }
    /// The share in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }
    /// The share of `rbs` RBs, rounded down.
    pub const fn rounded_down(self, rbs: u32) -> u32 {
        (rbs as u64 * self.0 as u64 / 1_000_000) as u32
    }
}

/// The agreed settings of one slice.
#[derive(Clone, Copy, Debug)]
pub struct SliceSetting<'a> {
    /// Share of the RBs that carry data, without control and repetitions (5G QoS thesis, section 4.5.1).
    pub share: Share,
    /// Data radio bearers (DRBs) of the slice, by number.
    pub drbs: &'a [usize],
}

/// The slice of each of the DRBs 0 to `drbs` - 1; `slices` are the DRBs of each slice, at most [`MOST_SLICES`].
pub(crate) fn slices_of_drbs<'a>(
    slices: impl Iterator<Item = &'a [usize]>,
    drbs: usize,
) -> Result<Vec<u16>, SliceError> {
    const NONE: u16 = u16::MAX;
    let mut of_drb = vec![NONE; drbs];
    for (slice, of_slice) in slices.enumerate() {
        if of_slice.is_empty() {
            return Err(SliceError::NoDrb { slice });
        }
        for &drb in of_slice {
            match of_drb.get_mut(drb) {
                None => return Err(SliceError::UnknownDrb { drb, drbs }),
                Some(of) if *of == NONE => *of = slice as u16,
                Some(of) => return Err(SliceError::TwoSlices { drb, slices: [usize::from(*of), slice] }),
            }
        }
    }
    match of_drb.iter().position(|&slice| slice == NONE) {
        Some(drb) => Err(SliceError::NoSlice { drb }),
        None => Ok(of_drb),
    }
}

/// The slices of a cell.
#[derive(Clone, Debug)]
pub struct Slices {
    shares: Vec<Share>,
    /// The slice of each DRB.
    of_drb: Vec<u16>,
}

impl Slices {
    /// Slices of a cell with DRBs 0 to `drbs` - 1.
    ///
    /// # Errors
    /// No slice, shares over 100%, a slice without DRBs, an unknown DRB, a DRB in two slices or in none.
    pub fn new(settings: &[SliceSetting<'_>], drbs: usize) -> Result<Slices, SliceError> {
        if settings.is_empty() || settings.len() > MOST_SLICES {
            return Err(SliceError::Count { slices: settings.len() });
        }
        let total = settings.iter().map(|slice| u64::from(slice.share.0)).sum();
        if total > u64::from(Share::ALL.0) {
            return Err(SliceError::Shares { millionths: total });
        }
        let of_drb = slices_of_drbs(settings.iter().map(|slice| slice.drbs), drbs)?;
        Ok(Slices { shares: settings.iter().map(|slice| slice.share).collect(), of_drb })
    }

    /// Number of slices.
    pub fn count(&self) -> usize {
        self.shares.len()
    }
    /// The slice of a DRB; `None` if there is no such DRB.
    pub fn of_drb(&self, drb: usize) -> Option<usize> {
        self.of_drb.get(drb).map(|&slice| usize::from(slice))
    }
    /// Number of DRBs.
    pub fn drbs(&self) -> usize {
        self.of_drb.len()
    }
    /// The shares, by slice.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }
}

/// The capacity of a TTI for one UE: bytes by number of RBGs. Transport block sizes come from tables and are not exactly
/// linear.
#[derive(Clone, Debug, Default)]
pub struct RbgCapacity {
    /// The most bytes that at most 0, 1, 2 … groups carry.
    bytes: Vec<u32>,
    /// Groups per byte, times 2^32, in a linear approximation.
    groups_per_byte: u64,
}

impl RbgCapacity {
    /// A channel on which `bytes(groups)` bytes fit into that many groups, called for 1 to `groups`, at most [`MOST_GROUPS`].
    pub fn new(groups: u16, bytes: impl FnMut(u16) -> u32) -> RbgCapacity {
        let mut channel = RbgCapacity::default();
        channel.set(groups, bytes);
        channel
    }

    /// Replaces the table, without new memory if the present one suffices.
    pub fn set(&mut self, groups: u16, mut bytes: impl FnMut(u16) -> u32) {
        self.bytes.clear();
        self.bytes.push(0);
        let mut most = 0;
        for groups in 1..=groups.min(MOST_GROUPS) {
            most = bytes(groups).max(most);
            self.bytes.push(most);
        }
        let groups = self.bytes.len() as u64 - 1;
        self.groups_per_byte = (groups << 32) / u64::from(most.max(1));
    }

    /// The fewest groups that carry `bytes`; `None` if all groups carry less.
    #[inline]
    pub fn groups_for(&self, bytes: u64) -> Option<u16> {
        let last = self.bytes.len().checked_sub(1)?;
        if bytes > u64::from(self.bytes[last]) {
            return None;
        }
        // Starts from the linear approximation, which is rounded down, and proceeds step by step.
        let mut groups = (((bytes * self.groups_per_byte) >> 32) as usize).min(last);
        groups += usize::from(u64::from(self.bytes[groups]) < bytes);
        while u64::from(self.bytes[groups]) < bytes {
            groups += 1;
        }
        while groups > 0 && u64::from(self.bytes[groups - 1]) >= bytes {
            groups -= 1;
        }
        Some(groups as u16)
    }

    /// The bytes that `groups` groups carry, or all groups if there are fewer.
    #[inline]
    pub fn bytes_in(&self, groups: u16) -> u32 {
        let last = self.bytes.len().saturating_sub(1);
        self.bytes.get(usize::from(groups).min(last)).copied().unwrap_or(0)
    }
}

/// The packets at the head of a queue, as positions in its byte stream. Positions may wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// The end of each packet, from the head on, headers on the air included. Each end is after the previous one, and the
    /// first is after `sent`. At most [`MOST_PACKETS`] are considered.
    pub ends: &'a [u32],
    /// The position up to which the stream is sent. It is within the first packet if that is partly sent.
    pub sent: u32,
}

impl Head<'_> {
    /// Bytes of the first `packets` packets, 1 to all; only the remainder of a partly sent packet counts.
    #[inline]
    pub fn bytes(&self, packets: usize) -> u32 {
        let end = packets.checked_sub(1).and_then(|last| self.ends.get(last));
        end.map_or(0, |end| end.wrapping_sub(self.sent)).max(1)
    }
}

/// The queues with data in a TTI, as seen by a MAC. Among equal choices, queues with lower indices come first, slice by
/// slice; see [`Tti::first`].
pub trait Queues {
    /// Number of queues.
    fn count(&self) -> usize;
    /// The DRB of `queue`.
    fn drb(&self, queue: usize) -> usize;
    /// Index of the queue's channel among the channels passed to the decision.
    fn channel(&self, queue: usize) -> usize;
    /// Packets with known sizes at the head of the queue.
    fn head(&self, queue: usize) -> Head<'_>;
    /// Bytes of the whole queue, packets of unknown size included.
    fn backlog_bytes(&self, queue: usize) -> u64;
    /// A number that changes with every property that a decision reads of the queue with this index except
    /// its backlog: its bearer, its channel, the capacity of that, and its packets at the head. A law
    /// compares it with that of its last decision, and does not examine an unchanged queue again. `None`, by
    /// default, if the host does not know.
    fn version(&self, queue: usize) -> Option<u64> {
        let _ = queue;
        None
    }
}

/// Invalid slices, or an invalid input of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceError {
    /// A share of zero, or of more than 100%.
    Share {
        /// Given share, in millionths.
        millionths: u32,
    },
    /// No slice, or too many.
    Count {
        /// Given number of slices.
        slices: usize,
    },
    /// Shares of more than 100% in total.
    Shares {
        /// Sum of the shares.
        millionths: u64,
    },
    /// A slice without DRBs.
    NoDrb {
        /// Index of the slice.
        slice: usize,
    },
    /// An unknown DRB.
    UnknownDrb {
        /// Number of the DRB.
        drb: usize,
        /// Number of DRBs.
        drbs: usize,
    },
    /// A DRB in two slices, or twice in one.
    TwoSlices {
        /// Number of the DRB.
        drb: usize,
        /// Both slices of the DRB.
        slices: [usize; 2],
    },
    /// A DRB in no slice.
    NoSlice {
        /// Number of the DRB.
        drb: usize,
    },
    /// RBGs of zero RBs.
    Group,
    /// A quantum limit below an RBG, or too large for the number of slices.
    Limit {
        /// Given limit, in resource blocks.
        limit_rbs: u32,
        /// RBs of an RBG, which is the smallest limit.
        least_rbs: u32,
        /// Largest limit, in resource blocks.
        most_rbs: u32,
    },
    /// More RBs in a TTI than quanta are exact for.
    Rbs {
        /// Number of RBs.
        rbs: u32,
        /// Largest number of resource blocks.
        most_rbs: u32,
    },
    /// More groups in a TTI than a carrier has.
    Groups {
        /// Number of groups.
        groups: u32,
    },
    /// A queue with an unknown channel.
    UnknownChannel {
        /// The channel's number.
        channel: usize,
        /// Number of channels.
        channels: usize,
    },
    /// Invalid quanta: not one for each slice, below minus the limit, or with a sum other than 0.
    Quanta,
    /// Policy ratios that are not in their order, above 100%, or with a maximum of zero.
    Ratios {
        /// Given dedicated ratio, in millionths.
        dedicated: u32,
        /// Given minimum, in millionths.
        min: u32,
        /// Given maximum, in millionths.
        max: u32,
    },
    /// Minima of more than 100% in total.
    Minima {
        /// Sum of the minima.
        millionths: u64,
    },
    /// A slice with policy ratios in a partition by shares.
    NoShare {
        /// Index of the slice.
        slice: usize,
    },
    /// A slice with a share in a partition by policy ratios.
    NoRatios {
        /// Index of the slice.
        slice: usize,
    },
}

impl fmt::Display for SliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |millionths: u64| millionths as f64 / 10_000.0;
        match *self {
            SliceError::Share { millionths } => {
                write!(f, "a share of {}%; expected above 0 and up to 100", percent(millionths.into()))
            }
            SliceError::Count { slices } => write!(f, "{slices} slices; expected 1 to {MOST_SLICES}"),
            SliceError::Shares { millionths } => {
                write!(f, "shares of {}% in all; expected at most 100", percent(millionths))
            }
            SliceError::NoDrb { slice } => {
                write!(f, "slice {slice} has no bearer; expected at least one")
            }
            SliceError::UnknownDrb { drb, drbs } => {
                write!(f, "bearer {drb} of {drbs} is in a slice; expected numbers below {drbs}")
            }
            SliceError::TwoSlices { drb, slices: [one, other] } => {
                write!(f, "bearer {drb} is in slices {one} and {other}; expected one")
            }
            SliceError::NoSlice { drb } => write!(f, "bearer {drb} is in no slice; expected one"),
            SliceError::Group => write!(f, "resource block groups of 0; expected at least 1"),
            SliceError::Limit { limit_rbs, least_rbs, most_rbs } => write!(
                f,
                "a quantum limit of {limit_rbs} resource blocks; expected {least_rbs}, which is a group, to {most_rbs}"
            ),
            SliceError::Rbs { rbs, most_rbs } => {
                write!(f, "{rbs} resource blocks in a TTI; expected at most {most_rbs}")
            }
            SliceError::Groups { groups } => {
                write!(f, "{groups} resource block groups in a TTI; expected at most {MOST_GROUPS}")
            }
            SliceError::UnknownChannel { channel, channels } => {
                write!(f, "channel {channel} of {channels}; expected numbers below {channels}")
            }
            SliceError::Quanta => {
                write!(
                    f,
                    "invalid quanta; expected one per slice, none below minus the limit, and a sum of 0"
                )
            }
            SliceError::Ratios { dedicated, min, max } => {
                let [dedicated, min, max] = [dedicated, min, max].map(|ratio| percent(ratio.into()));
                write!(
                    f,
                    "a dedicated ratio of {dedicated}%, a minimum of {min}% and a maximum of {max}%; expected dedicated <= min <= max <= 100%, and max above 0%"
                )
            }
            SliceError::Minima { millionths } => {
                write!(f, "minima of {}% in all; expected at most 100", percent(millionths))
            }
            SliceError::NoShare { slice } => {
                write!(
                    f,
                    "slice {slice} has policy ratios and no share; expected a share, or the partition rrm"
                )
            }
            SliceError::NoRatios { slice } => {
                write!(
                    f,
                    "slice {slice} has a share and no policy ratios; expected ratios, or another partition"
                )
            }
        }
    }
}

impl core::error::Error for SliceError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn slices(settings: &[(u32, &[usize])], drbs: usize) -> Result<Slices, SliceError> {
        let setting = |&(percent, drbs): &(u32, &'static [usize])| {
            Share::from_percent(percent).map(|share| SliceSetting { share, drbs })
        };
        // The lists are leaked, so that they live as long as the test.
        let settings: Vec<(u32, &'static [usize])> =
            settings.iter().map(|&(percent, drbs)| (percent, &*drbs.to_vec().leak())).collect();
        let settings: Result<Vec<_>, _> = settings.iter().map(setting).collect();
        Slices::new(&settings?, drbs)
    }

    #[test]
    fn errors_name_the_expected_values() {
        let message = |result: Result<Slices, SliceError>| result.unwrap_err().to_string();
        assert_eq!(message(slices(&[], 0)), "0 slices; expected 1 to 1024");
        assert_eq!(message(slices(&[(0, &[0])], 1)), "a share of 0%; expected above 0 and up to 100");
        assert_eq!(
            message(slices(&[(50, &[0]), (51, &[1])], 2)),
            "shares of 101% in all; expected at most 100"
        );
        assert_eq!(
            message(slices(&[(50, &[0]), (50, &[])], 1)),
            "slice 1 has no bearer; expected at least one"
        );
        assert_eq!(
            message(slices(&[(50, &[0, 2])], 2)),
            "bearer 2 of 2 is in a slice; expected numbers below 2"
        );
        assert_eq!(
            message(slices(&[(50, &[0]), (50, &[1, 0])], 2)),
            "bearer 0 is in slices 0 and 1; expected one"
        );
        assert_eq!(message(slices(&[(50, &[0])], 2)), "bearer 1 is in no slice; expected one");
        let slices = slices(&[(25, &[1]), (75, &[0, 2])], 3).unwrap();
        assert_eq!((slices.count(), slices.of_drb(1), slices.of_drb(2)), (2, Some(0), Some(1)));
        assert_eq!(slices.of_drb(3), None);
    }

    #[test]
    fn the_thesis_rounds_shares_down() {
        let rbs = |percent| Share::from_percent(percent).unwrap().rounded_down(25);
        assert_eq!([rbs(25), rbs(50), rbs(75), rbs(100)], [6, 12, 18, 25], "section 4.5.2");
    }

    #[test]
    fn groups_follow_the_table_and_not_a_line() {
        let channel = RbgCapacity::new(275, |groups| 88 * u32::from(groups));
        assert_eq!(channel.groups_for(1500), Some(18), "section 4.4");
        assert_eq!(channel.groups_for(2000), Some(23), "not 18 + 6");
        assert_eq!((channel.groups_for(0), channel.groups_for(24_201)), (Some(0), None));
        let channel = RbgCapacity::new(2, |groups| 89 * u32::from(groups));
        assert_eq!((channel.groups_for(100), channel.groups_for(150)), (Some(2), Some(2)), "note 6");
        assert_eq!((channel.bytes_in(1), channel.bytes_in(9)), (89, 178));
        let outage = RbgCapacity::new(9, |_| 0);
        assert_eq!((outage.groups_for(1), RbgCapacity::default().groups_for(1)), (None, None));
        assert_eq!(RbgCapacity::default().bytes_in(3), 0);
    }

    proptest! {
        #[test]
        fn groups_for_is_the_smallest_sufficient_number(sizes in prop::collection::vec(0_u32..3000, 1..40), bytes in 0_u64..4000) {
            let channel = RbgCapacity::new(sizes.len() as u16, |groups| sizes[usize::from(groups) - 1]);
            let found = (0..=sizes.len()).find(|&n| bytes == 0 || n > 0 && u64::from(sizes[n - 1]) >= bytes);
            prop_assert_eq!(channel.groups_for(bytes).map(usize::from), found);
        }
    }
}
