//! Queue disciplines: they own packets, and decide which leaves next and which never does.
//!
//! The host brings the time in the [`Context`]; it is never earlier than at the call before. A discipline ends every
//! packet in exactly one place: returned by [`Qdisc::dequeue`], told to the sink as dropped, or still in the backlog.

mod bode;
mod codel;
mod colour;
mod custom;
mod dispatch;
mod drr;
mod dsd;
mod fcfs_green;
mod fifo;
mod flow_hash;
mod flow_queues;
mod fq_codel;
mod head_drop;
mod limits;
mod longest;
mod pie;
mod priority;
mod red;
mod ring;
mod service_rate;
mod sfq;
mod tail_drop;
#[cfg(test)]
mod testing;

pub use colour::WOULD_BE_LATE;
pub use custom::{CustomQdisc, custom};
pub use drr::DrrBy;
pub use dsd::{DsdParameters, GreenTest};
pub use fifo::{Fifo, FifoLaw};
pub use flow_queues::LONGEST_FLOW;
pub use fq_codel::FqCodelParameters;
pub use limits::{LIMIT, LIMIT_BYTES, limit};
pub use ring::{Limit, Ring};
pub use sfq::SfqParameters;

pub use crate::packet::Backlog;

use crate::component::{Arguments, Component, ComponentError};
use crate::{Context, DropReason, MarkReason, Packet, Rate, Sink, Time};
use alloc::boxed::Box;
use alloc::format;

// The registry: a line makes of a discipline an entry of `COMPONENTS` and a variant of `AnyQdisc`. They are listed in this order.
dispatch::disciplines! {
    tail_drop::TailDrop in Fifo,
    head_drop::HeadDrop in Fifo,
    codel::Codel in Fifo,
    pie::Pie in Fifo,
    bode::Bode in Fifo,
    fq_codel::FqCodel,
    drr::Drr,
    sfq::Sfq,
    red::Red in Fifo,
    priority::Priority in Box,
    dsd::Dsd in Box,
    fcfs_green::FcfsGreen in Fifo,
}

/// A discipline that owns packets. The path stamps [`Packet::arrival`] before [`Qdisc::enqueue`].
pub trait Qdisc {
    /// Takes `packet`, or drops it or another one to the sink.
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet);

    /// The packet to send now. Packets that the discipline gives up on the way are told to the sink; `None` means
    /// that nothing is left.
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet>;

    /// As [`Qdisc::dequeue`] where something is queued; otherwise `None`, of which the discipline learns nothing.
    #[inline]
    fn take<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.head()?;
        self.dequeue(context)
    }

    /// The packet at the head, before any decision about it. A later [`Qdisc::dequeue`] may drop it and return
    /// another.
    fn head(&self) -> Option<&Packet>;

    /// Writes the IP bytes of the packets from number `from` on, the head being number 0, into `sizes`, and returns how many
    /// it knows: a host may ask before it takes any. It is before any decision about them, so that where a dequeue may drop,
    /// others may leave. Without more said, no more than the head.
    fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        match (from, self.head(), sizes.first_mut()) {
            (0, Some(head), Some(size)) => {
                *size = head.bytes;
                1
            }
            _ => 0,
        }
    }

    /// What is queued.
    fn backlog(&self) -> Backlog;

    /// When [`Qdisc::poll`] wants to be called next, for timers. May be early, never late.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// Whether [`Qdisc::next_deadline`] may ever be earlier than [`Time::NEVER`]: asked once, when a path is built, which
    /// then does without the question after every packet.
    fn has_timer(&self) -> bool {
        true
    }

    /// Runs timers that are due; a call at any other time does nothing.
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        let _ = context;
    }

    /// Of DSD the probability that green goes first where both colours can wait, g, as its control loop has it or as it is
    /// given; of priorities that of the first class that has one. `None` for what knows no colours. Costs nothing but
    /// where it is asked for.
    fn green_bias(&self) -> Option<f64> {
        None
    }

    /// The rate of the link that it counts on: the link below must be no slower at any time. `None` where any link will do.
    fn promised_rate(&self) -> Option<Rate> {
        None
    }
}
