//! Pacers: laws that decide when a packet may go from one queue to the next.
//!
//! A pacer stores no packets, so it can be used in a gate of a path or in a RAN stack with buffers of its own. The host asks it
//! when the packet at the head of the upper queue may go, and reports the packets that went and the signals of the nodes below.
//! The answer is a time, or to wait for the next signal. No polling is needed.

mod bdp;
mod bearer;
mod below;
mod credit;
mod custom;
mod ddds;
mod dispatch;
mod drql;
mod dynrlc;
mod e5g_bdp;
mod parameters;
mod pass_through;
mod sent;
mod size;
mod slot;
mod split;
#[cfg(test)]
mod testing;
mod usp;
mod waited;

pub use bdp::{BdpParameters, Capacity, WhenFull};
pub use bearer::OverBearer;
pub use custom::{CustomPacer, custom};
pub use ddds::COMPONENT as DESIRED_BUFFER;
pub use drql::DrqlParameters;
pub use dynrlc::{DynRlcParameters, Step};
pub use e5g_bdp::EnhancedBdpParameters;
pub use parameters::{Fit, PacerSetting};
pub use size::{PACKET_BYTES, SizeUnit};
pub use slot::TddSlot;
pub use split::SplitSetting;
pub use usp::UspParameters;
pub use waited::Waited;

use crate::component::{Arguments, Component, ComponentError};
use crate::{Span, Time};
use alloc::format;

// The registry: a line makes of a pacer an entry of `COMPONENTS` and a variant of `AnyPacer`. They are listed in this order.
dispatch::pacers! {
    pass_through::PassThrough,
    dynrlc::DynRlc in OverBearer,
    drql::Drql in OverBearer,
    bdp::Bdp in OverBearer,
    e5g_bdp::EnhancedBdp in OverBearer,
    usp::Usp,
    credit::Credit,
    ddds::DesiredBuffer,
}

/// When a packet may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eligible {
    /// At once.
    Now,
    /// Not before this time. The law is asked again then, or earlier.
    At(Time),
    /// Not before another signal has come.
    OnSignal,
}

/// What one transmission time interval (TTI) did for one bearer, as its radio link control (RLC) entity saw it. There is no
/// report of a TTI in which the bearer had nothing to send: the next report may come many TTIs later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Bytes that the bearer could have sent in this TTI with enough data: its grant, and the neighbouring resource blocks that
    /// no other bearer used.
    pub capacity_bytes: u64,
    /// Bytes of packets that were taken from its buffer.
    pub sent_bytes: u64,
    /// Bytes that are left in its buffer, the unsent rest of a packet that is partly sent included.
    pub remaining_bytes: u64,
    /// Packets that are left in its buffer, one that is partly sent included.
    pub remaining_packets: u64,
    /// Packets whose last byte was taken in this TTI.
    pub left_packets: u32,
    /// The sum of the times that these packets were in the buffer.
    pub left_sojourn: Span,
    /// The slot, on a carrier with time division duplex; `None` without, where every TTI carries data downwards.
    pub tdd: Option<TddSlot>,
}

/// A downlink data delivery status (DDDS): what the distributed unit (DU) of a split base station tells the central unit (CU) of a
/// bearer over F1-U (TS 38.425 clause 5.5.2.2). Numbers are COUNT, of which a frame has the lower bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ddds {
    /// The highest PDCP number that RLC has transmitted; none before the first.
    pub transmitted: Option<u32>,
    /// Bytes that the DU desires beyond that number.
    pub desired_buffer_bytes: u64,
    /// Bytes that it desires in a second; the frame may be without.
    pub desired_rate: Option<u64>,
}

/// A message to a pacer. It arrives after the delay of its feedback, in order of arrival time; one without delay arrives
/// right after the operation that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `bytes` have left the node: sent on, or dropped there.
    Dequeued {
        /// IP bytes.
        bytes: u64,
    },
    /// A packet was taken from the queue, and `bytes` are left in it.
    Remaining {
        /// IP bytes.
        bytes: u64,
    },
    /// The link had an opportunity to send `bytes`. Reported at each opportunity at which the link had data.
    Capacity {
        /// Bytes on the link, overhead included.
        bytes: u64,
    },
    /// The gate that reports it has held a packet back, because the node below takes no more packets now. Reported once for each
    /// packet.
    Refused,
    /// A radio bearer was served.
    Served(Served),
    /// A delivery status has come over F1-U.
    Delivered(Ddds),
}

/// The signals for which a law listens; other signals are not generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Listens for [`Signal::Dequeued`].
    pub dequeued: bool,
    /// Listens for [`Signal::Remaining`].
    pub remaining: bool,
    /// Listens for [`Signal::Capacity`].
    pub capacity: bool,
    /// Listens for [`Signal::Refused`].
    pub refused: bool,
    /// Listens for [`Signal::Served`].
    pub served: bool,
    /// Listens for [`Signal::Delivered`].
    pub delivered: bool,
}

impl Signals {
    /// None of them.
    pub const NONE: Signals = Signals {
        dequeued: false,
        remaining: false,
        capacity: false,
        refused: false,
        served: false,
        delivered: false,
    };

    /// Whether `signal` is one of them.
    pub const fn includes(self, signal: Signal) -> bool {
        match signal {
            Signal::Dequeued { .. } => self.dequeued,
            Signal::Remaining { .. } => self.remaining,
            Signal::Capacity { .. } => self.capacity,
            Signal::Refused => self.refused,
            Signal::Served(_) => self.served,
            Signal::Delivered(_) => self.delivered,
        }
    }
}

/// The law of a pacer.
pub trait Pacer {
    /// When the packet at the head, of `size_bytes` IP bytes, may go. The host asks any number of times for the same packet: when
    /// it arrives, when a signal has come, and at the time of the previous answer. A discipline may drop the head when it is taken
    /// and send another packet, so pacers count by [`Pacer::forwarded`] and not by this size.
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible;
    /// A packet of `bytes` IP bytes has passed the gate.
    fn forwarded(&mut self, now: Time, bytes: u64);
    /// A signal has arrived. The host asks for the head again right after.
    fn on_signal(&mut self, now: Time, signal: Signal);
    /// Which signals the law listens for.
    fn listens(&self) -> Signals;
    /// Whether reports such as `waited` may come late: any number of them at once by [`Pacer::waited`], before anything else
    /// that the law is told or asked. They may where the head, of `head_bytes`, which is refused now, would stay refused from each
    /// of them to the next; without a refused head, where nothing is asked. The number of reports in `waited` has no meaning.
    fn may_wait(&self, waited: &Waited, head_bytes: Option<u64>) -> bool {
        let _ = (waited, head_bytes);
        false
    }
    /// The reports of `waited`, one after the other, each at its time, and after each of them the question for the head of
    /// `head_bytes`, if one is refused.
    fn waited(&mut self, waited: &Waited, head_bytes: Option<u64>) {
        for time in waited.times() {
            self.on_signal(time, Signal::Served(waited.report()));
            if let Some(bytes) = head_bytes {
                self.next_eligible(time, bytes);
            }
        }
    }
}
