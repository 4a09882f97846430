//! The errors of a cell's settings.

use super::MAX_BEARERS;
use crate::radio::RadioError;
use crate::rlc::RlcError;
use crate::slice::{Share, SliceError};
use core::fmt;
use qdelay_core::Span;

/// An invalid setting. UEs and their bearers are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CellError {
    /// The cell has no UE.
    NoUe,
    /// A UE has no bearer, or more than [`MAX_BEARERS`].
    Bearers {
        /// Index of the UE.
        ue: usize,
        /// Number of bearers.
        found: usize,
    },
    /// The TTI is not a whole number of slots, or longer than 1000 slots.
    Tti {
        /// TTI of the cell.
        tti: Span,
        /// Slot of the carrier.
        slot: Span,
    },
    /// The averaging window of a scheduler is shorter than a TTI.
    Window {
        /// Averaging window of the scheduler.
        window: Span,
        /// TTI of the cell.
        tti: Span,
    },
    /// Slices in a cell whose TTIs have several slots of which some carry less data.
    Partition {
        /// TTI of the cell.
        tti: Span,
    },
    /// The scheduler `eqp`, which makes slices itself, in a cell with slices or for a slice.
    SchedulerOfSlice,
    /// Time division duplex in a cell whose TTIs have several slots.
    TddOfSlots {
        /// TTI of the cell.
        tti: Span,
        /// Slot of the carrier.
        slot: Span,
    },
    /// Special slots that the carrier does not have.
    Tdd {
        /// The error of the pattern.
        error: RadioError,
    },
    /// Loss by steps of the MCS on a carrier with rank adaptation, whose ranks have no common steps.
    RankBySteps,
    /// A scheduler that decides by delay, or a guaranteed bit rate, in a cell with slices.
    DelayOfSlice,
    /// The guaranteed bit rates up to that of a bearer need more than the cell has.
    Guaranteed {
        /// Index of the UE.
        ue: usize,
        /// Index of the bearer.
        bearer: usize,
        /// Needed capacity, as a fraction of the cell's.
        load: f64,
    },
    /// Invalid slices. Bearers are numbered over all UEs.
    Slices(SliceError),
    /// A share that is rounded down to no resource block in each TTI.
    ShareOfNothing {
        /// Index of the slice.
        slice: usize,
        /// Agreed share of the slice.
        share: Share,
        /// Resource blocks in a TTI.
        rbs: u32,
        /// Smallest share in resource blocks.
        least_rbs: u32,
    },
    /// The averaging window of a partition is shorter than a TTI.
    WindowOfSlices {
        /// Averaging window of the partition.
        window: Span,
        /// TTI of the cell.
        tti: Span,
    },
    /// A policy ratio of less than a group of resource blocks in an averaging window.
    RatioOfNothing {
        /// Index of the slice.
        slice: usize,
        /// The ratio: `dedicated`, `min` or `max`.
        key: &'static str,
        /// Given ratio, in millionths.
        millionths: u32,
        /// Resource blocks in whole groups of the window that has the fewest.
        window_rbs: u64,
        /// Resource blocks in a group.
        rbg_rbs: u32,
    },
    /// A block would be repeated before its decoding can have failed.
    HarqRtt {
        /// Time from a block to its repetition.
        rtt: Span,
        /// Time from a block to its decoding.
        air: Span,
    },
    /// Packets are the unit, but a bearer segments them.
    Unit {
        /// Index of the UE.
        ue: usize,
        /// Index of the bearer.
        bearer: usize,
    },
    /// A channel that does not fit the carrier.
    Radio {
        /// Index of the UE.
        ue: usize,
        /// Error of the channel.
        error: RadioError,
    },
    /// A channel in another cell that does not fit the carrier.
    Target {
        /// Index of the UE.
        ue: usize,
        /// Error of the channel.
        error: RadioError,
    },
    /// A secondary cell with other slots than those of the primary cell. Secondary cells are numbered from 0.
    SlotOfScell {
        /// Index of the secondary cell.
        scell: usize,
        /// Slot of its carrier.
        found: Span,
        /// Slot of the primary cell.
        slot: Span,
    },
    /// Special slots that the carrier of a secondary cell does not have.
    TddOfScell {
        /// Index of the secondary cell.
        scell: usize,
        /// The error of the pattern.
        error: RadioError,
    },
    /// A channel that does not fit the carrier of a secondary cell.
    RadioOfScell {
        /// Index of the secondary cell.
        scell: usize,
        /// Index of the UE.
        ue: usize,
        /// Error of the channel.
        error: RadioError,
    },
    /// Secondary cells together with slices or guaranteed bit rates.
    ScellOfSlices,
    /// Secondary cells together with a channel in bytes, or with packets as the unit.
    ScellInBytes,
    /// A bearer with invalid settings.
    Rlc {
        /// Index of the UE.
        ue: usize,
        /// Index of the bearer.
        bearer: usize,
        /// Error of the bearer settings.
        error: RlcError,
    },
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellError::NoUe => f.write_str("the cell has no UE; expected at least one"),
            CellError::Bearers { ue, found } => {
                write!(f, "UE {ue} has {found} bearers; expected 1 to {MAX_BEARERS}")
            }
            CellError::Tti { tti, slot } => {
                write!(f, "a TTI of {tti}; expected 1 to 1000 whole slots of {slot}")
            }
            CellError::Window { window, tti } => {
                write!(f, "a window of {window}; expected at least the TTI, {tti}")
            }
            CellError::Partition { tti } => {
                write!(
                    f,
                    "a TTI of {tti} has several slots, some with control, in a cell with slices; expected TTIs of one slot, or no control"
                )
            }
            CellError::SchedulerOfSlice => f.write_str(
                "eqp makes each UE a slice; expected another scheduler in a cell with a partition",
            ),
            CellError::TddOfSlots { tti, slot } => write!(
                f,
                "time division duplex needs TTIs of one slot, {slot}; found a TTI of {tti}"
            ),
            CellError::Tdd { error } => write!(f, "{error}"),
            CellError::RankBySteps => f.write_str(
                "with rank adaptation steps of the MCS do not say how far a block is above its channel: ranks differ; expected the decoding snr, which decides by SNR",
            ),
            CellError::DelayOfSlice => f.write_str(
                "a cell with slices supports neither schedulers by delay (mlwdf, exp_pf, edf) nor guaranteed bit rates; expected another scheduler, and no gbr",
            ),
            CellError::Guaranteed { load, .. } => write!(
                f,
                "the guaranteed bit rates up to this one need {:.0}% of the cell, each at the MCS of its channel or, where that changes, at the highest; expected at most 100% together",
                load * 100.0
            ),
            CellError::Slices(error) => write!(f, "{error}"),
            CellError::ShareOfNothing { share, rbs, least_rbs, .. } => {
                let least = (u64::from(*least_rbs) * 1_000_000).div_ceil(u64::from(*rbs).max(1));
                write!(
                    f,
                    "{}% of {rbs} resource blocks is rounded down to {}, below the smallest share of {least_rbs}; expected at least {}%",
                    f64::from(share.millionths()) / 10_000.0,
                    share.rounded_down(*rbs),
                    least.div_ceil(100) as f64 / 100.0
                )
            }
            CellError::WindowOfSlices { window, tti } => {
                write!(f, "an averaging window of {window}; expected at least the TTI, {tti}")
            }
            CellError::RatioOfNothing { window_rbs: 0, .. } => f.write_str(
                "an averaging window without a slot that carries downlink data; expected a longer window",
            ),
            CellError::RatioOfNothing { key, millionths, window_rbs, rbg_rbs, .. } => {
                let least = (u64::from(*rbg_rbs) * 1_000_000).div_ceil(*window_rbs).div_ceil(100);
                let or_zero = if *key == "max" { "" } else { ", or 0%" };
                write!(
                    f,
                    "{}% of the {window_rbs} resource blocks of an averaging window is less than a group of {rbg_rbs}; expected at least {}%{or_zero}, or a longer window",
                    f64::from(*millionths) / 10_000.0,
                    least as f64 / 100.0
                )
            }
            CellError::HarqRtt { rtt, air } => {
                write!(f, "a block is repeated after {rtt}; expected at least the time on the air, {air}")
            }
            CellError::Unit { ue, bearer } => {
                write!(
                    f,
                    "bearer {bearer} of UE {ue} segments packets; expected whole packets where packets are the unit"
                )
            }
            CellError::Target { ue, error } => write!(f, "UE {ue}, in the other cell: {error}"),
            CellError::Radio { ue, error } => write!(f, "UE {ue}: {error}"),
            CellError::SlotOfScell { found, slot, .. } => write!(
                f,
                "slots of {found}; expected the technology and the slots of the primary cell, {slot}"
            ),
            CellError::TddOfScell { error, .. } => write!(f, "{error}"),
            CellError::RadioOfScell { ue, error, .. } => write!(f, "UE {ue}: {error}"),
            CellError::ScellOfSlices => f.write_str(
                "carrier aggregation supports neither slices (a partition, eqp) nor guaranteed bit rates; expected one carrier, or none of these",
            ),
            CellError::ScellInBytes => f.write_str(
                "carrier aggregation needs channels with an MCS, since a channel in bytes or packets is that of all carriers together; expected one carrier, or another channel",
            ),
            CellError::Rlc { ue, bearer, error } => write!(f, "bearer {bearer} of UE {ue}: {error}"),
        }
    }
}
impl core::error::Error for CellError {}
