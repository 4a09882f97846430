//! Pacers: laws that decide when a packet may go from one queue to the next.
//!
//! A pacer stores no packets, so it can be used in a gate of a path or in a RAN stack with buffers of its
//! own. The host asks the law when the packet at the head of the upper queue may be sent, and reports the
//! packets that were sent and the signals of the nodes below. The answer is a time, or to wait for the next
//! signal. No polling is needed.

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
mod opportunities;
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

// The registry: each line makes an entry of `COMPONENTS` and a variant of `AnyPacer`. Pacers are listed in
// this order.
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

/// The earliest time at which a packet may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eligible {
    /// The packet may be sent at once.
    Now,
    /// The packet may not be sent before this time. The host asks again then, or earlier.
    At(Time),
    /// The packet may not be sent before another signal has come.
    OnSignal,
}

/// Report of one transmission time interval (TTI) for one bearer, as seen by its radio link control (RLC)
/// entity. A TTI in which the bearer had nothing to send has no report: the next report may come many TTIs
/// later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Bytes that the bearer could have sent in this TTI with enough data: its grant, and the neighbouring resource blocks that
    /// no other bearer used.
    pub capacity_bytes: u64,
    /// Bytes of packets that were taken from the bearer's buffer.
    pub sent_bytes: u64,
    /// Bytes that are left in the bearer's buffer, including the unsent rest of a packet that is partly sent.
    pub remaining_bytes: u64,
    /// Packets that are left in the bearer's buffer, including one that is partly sent.
    pub remaining_packets: u64,
    /// Packets whose last byte was taken in this TTI.
    pub left_packets: u32,
    /// Sum of the sojourns of these packets in the buffer.
    pub left_sojourn: Span,
    /// The slot, on a carrier with time division duplex; `None` without, where every TTI carries downlink
    /// data.
    pub tdd: Option<TddSlot>,
}

/// A downlink data delivery status (DDDS): the report about a bearer from the distributed unit (DU) of a
/// split base station to the central unit (CU), over F1-U (TS 38.425 clause 5.5.2.2). Numbers are PDCP COUNT
/// values; a frame carries their lower bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ddds {
    /// Highest PDCP number that RLC has transmitted; `None` before the first.
    pub transmitted: Option<u32>,
    /// Bytes that the DU desires beyond that number.
    pub desired_buffer_bytes: u64,
    /// Bytes a second that the DU desires; `None` if the frame does not carry the field.
    pub desired_rate: Option<u64>,
}

/// A message to a pacer. It arrives after the delay of its feedback, in order of arrival time; a message
/// without delay arrives right after the operation that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `bytes` have left the node: sent on, or dropped there.
    Dequeued {
        /// Size in IP bytes.
        bytes: u64,
    },
    /// A packet was taken from the queue, and `bytes` are left in it.
    Remaining {
        /// Backlog in IP bytes.
        bytes: u64,
    },
    /// The link had an opportunity to send `bytes`. Reported at each opportunity at which the link had data.
    Capacity {
        /// Bytes on the link, overhead included.
        bytes: u64,
    },
    /// The reporting gate has held a packet back, because the node below takes no more packets now. Reported
    /// once for each packet.
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
    /// No signals.
    pub const NONE: Signals = Signals {
        dequeued: false,
        remaining: false,
        capacity: false,
        refused: false,
        served: false,
        delivered: false,
    };

    /// Returns true if `signal` is one of these.
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
    /// Earliest time at which the packet at the head, of `size_bytes` IP bytes, may be sent. The host asks
    /// any number of times for the same packet: when it arrives, when a signal has come, and at the time of
    /// the previous answer. A discipline may drop the head when it is taken and send another packet, so
    /// pacers count by [`Pacer::forwarded`] and not by this size.
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible;
    /// Tells the law that a packet of `bytes` IP bytes has passed the gate.
    fn forwarded(&mut self, now: Time, bytes: u64);
    /// Tells the law that a signal has arrived. The host asks for the head again right after.
    fn on_signal(&mut self, now: Time, signal: Signal);
    /// The signals for which the law listens.
    fn listens(&self) -> Signals;
    /// Returns true if reports such as `waited` may be delayed and passed together by [`Pacer::waited`], any
    /// number of them, before any other call of the law. This is allowed if the head of `head_bytes`, which
    /// is refused now, would stay refused from each report to the next; without a refused head, if no
    /// question depends on the reports. The number of reports in `waited` has no meaning.
    fn may_wait(&self, waited: &Waited, head_bytes: Option<u64>) -> bool {
        let _ = (waited, head_bytes);
        false
    }
    /// Handles the reports of `waited`, one after the other, each at its time, and after each of them the
    /// question for the head of `head_bytes`, if one is refused.
    fn waited(&mut self, waited: &Waited, head_bytes: Option<u64>) {
        for time in waited.times() {
            self.on_signal(time, Signal::Served(waited.report()));
            if let Some(bytes) = head_bytes {
                self.next_eligible(time, bytes);
            }
        }
    }
}
