//! Queue disciplines: they own packets, and decide which leaves next and which never does.
//!
//! The host brings the time in the [`Context`]; it is never earlier than at the call before. A discipline ends every
//! packet in exactly one place: returned by [`Qdisc::dequeue`], told to the sink as dropped, or still in the backlog.

mod any;
mod bode;
mod codel;
mod colour;
mod drr;
mod dsd;
mod fcfs_green;
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

pub use any::AnyQdisc;
pub use bode::Bode;
pub use codel::Codel;
pub use drr::{Drr, DrrBy};
pub use dsd::{Dsd, DsdParameters, GreenTest};
pub use fcfs_green::FcfsGreen;
pub use fq_codel::{FqCodel, FqCodelParameters};
pub use head_drop::HeadDrop;
pub use pie::Pie;
pub use priority::Priority;
pub use red::Red;
pub use ring::{Limit, Ring};
pub use sfq::{Sfq, SfqParameters};
pub use tail_drop::TailDrop;

use crate::component::Component;
use crate::{Context, Packet, Sink, Time};

/// Every discipline, in the order they are listed.
pub static COMPONENTS: &[&Component] = &[
    &tail_drop::COMPONENT,
    &head_drop::COMPONENT,
    &codel::COMPONENT,
    &pie::COMPONENT,
    &bode::COMPONENT,
    &fq_codel::COMPONENT,
    &drr::COMPONENT,
    &sfq::COMPONENT,
    &red::COMPONENT,
    &priority::COMPONENT,
    &dsd::COMPONENT,
    &fcfs_green::COMPONENT,
];

/// What a discipline holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets queued.
    pub packets: u64,
    /// Bytes queued (IP bytes).
    pub bytes: u64,
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
}
