//! Queue management laws: each decides about a packet from numbers and stores no packet.
//!
//! A law is notified of the events at a queue (a packet's sojourn, the bytes left behind it, the time) and
//! answers with a [`Verdict`]. It has no access to the queue, so it fits a discipline of [`crate::qdisc`], a
//! radio stack that keeps its own buffers, and a kernel alike.
//!
//! Laws need no heap, except [`Duplicates`], which stores the virtual packets.

mod bode;
mod codel;
mod codel_mahimahi;
mod codel_thesis;
#[cfg(feature = "alloc")]
mod duplicates;
mod greedy;
mod green_bias;
mod green_loss;
mod pie;
mod pie_linux;
mod pie_mahimahi;
mod red;

pub use bode::Bode;
pub use codel::{Codel, CodelFlavour, CodelParameters};
pub use codel_mahimahi::MahimahiCodel;
pub use codel_thesis::ThesisCodel;
#[cfg(feature = "alloc")]
pub use duplicates::{Arrival, Duplicate, Duplicates, Pace};
pub use greedy::{Colour, loss_throughput};
pub use green_bias::{GreenBias, GreenBiasParameters};
pub use green_loss::{GreenLoss, GreenLossParameters};
pub use pie::{Pie, PieEstimator, PieParameters};
pub use pie_linux::LinuxPie;
pub use pie_mahimahi::MahimahiPie;
pub use red::{Red, RedDraw, RedMode, RedParameters, RedVerdict};

use crate::{MarkReason, Time};

/// The decision of a law about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward the packet unchanged.
    Forward,
    /// Forward the packet with the codepoint "congestion experienced".
    Mark(MarkReason),
    /// Drop the packet.
    Drop,
}

/// The time on mahimahi's clock: whole milliseconds, rounded down.
#[inline]
fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
