//! Queue disciplines: they store packets, and decide which packet leaves next and which packets are dropped.
//!
//! The host passes the time in the [`Context`]; it is never earlier than in the previous call. Every packet of a discipline is in
//! exactly one place: returned by [`Qdisc::dequeue`], reported to the sink as dropped, or still in the backlog.

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
mod linux;
mod longest;
mod pdu_sets;
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
pub use linux::{KernelQdisc, kernel_qdisc};
pub use pdu_sets::SET_DISCARD;
pub use ring::{Limit, Ring};
pub use sfq::SfqParameters;

pub use crate::packet::Backlog;

use crate::component::{Arguments, Component, ComponentError};
use crate::{Context, DropReason, MarkReason, Packet, Rate, Sink, Time};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

// The registry: each line makes an entry of `COMPONENTS` and a variant of `AnyQdisc`. Disciplines are listed
// in this order.
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
    pdu_sets::PduSets in Fifo,
    dsd::Dsd in Box,
    fcfs_green::FcfsGreen in Fifo,
}

/// The key by which `arguments` of a discipline enable marks "congestion experienced"; `None` for a
/// discipline that only drops, and for one from outside.
pub fn marks_by(arguments: &Arguments) -> Option<&'static str> {
    let (ecn, threshold) = (&codel::ECN, &codel::CE_THRESHOLD);
    if arguments.declares(ecn) && arguments.get(ecn) {
        return Some(ecn.name());
    }
    (arguments.declares(threshold) && arguments.get(threshold).is_some()).then(|| threshold.name())
}

/// A queue discipline. The path sets [`Packet::arrival`] before it calls [`Qdisc::enqueue`].
pub trait Qdisc {
    /// Stores `packet`, or drops it or another packet and reports the drop to the sink.
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet);

    /// Returns the packet to send now. Packets that are dropped before it are reported to the sink; `None`
    /// means that the queue is empty.
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet>;

    /// Calls [`Qdisc::dequeue`] if a packet is queued; otherwise returns `None`, without a call of the discipline.
    #[inline]
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.head()?;
        self.dequeue(context)
    }

    /// The packet at the head, before any decision. A later [`Qdisc::dequeue`] may drop this packet and return another one.
    fn head(&self) -> Option<&Packet>;

    /// Writes the sizes of the next packets (IP bytes) into `sizes`, from packet number `from` on (the head
    /// is number 0), and returns the number of known sizes. Sizes do not reflect later decisions: if a
    /// dequeue drops packets, other packets leave. By default only the size of the head is known.
    fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        match (from, self.head(), sizes.first_mut()) {
            (0, Some(head), Some(size)) => {
                *size = head.bytes;
                1
            }
            _ => 0,
        }
    }

    /// Removes the packet at the head for a host that discards it by its own timer: not a decision of the
    /// discipline. The default is a dequeue, which may include decisions.
    fn expel<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.dequeue(context)
    }

    /// Removes the queued packets of PDU set `number` of `flow` for a host that discards the set, and reports each to the sink as dropped
    /// for `reason`. Returns false, and removes nothing, if the discipline cannot; this is the default.
    fn discard_set<S: Sink>(
        &mut self,
        context: &mut Context<'_, S>,
        flow: u32,
        number: u32,
        reason: DropReason,
    ) -> bool {
        let _ = (context, flow, number, reason);
        false
    }

    /// The queued packets and bytes.
    fn backlog(&self) -> Backlog;

    /// Time at which [`Qdisc::poll`] must be called next, for timers. It may be too early, but never too
    /// late.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// Returns true if [`Qdisc::next_deadline`] can ever be earlier than [`Time::NEVER`]. A path asks once,
    /// when it is built; without timers it does not ask for deadlines after each packet.
    fn has_timer(&self) -> bool {
        true
    }

    /// Runs timers that are due; a call at any other time does nothing.
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        let _ = context;
    }

    /// The green bias (g): the probability with which DSD sends green first if both colours can wait, set by its control loop or
    /// by the user. For `priority` it is the bias of the first class that has one; `None` for disciplines without colours.
    fn green_bias(&self) -> Option<f64> {
        None
    }

    /// The rate of the link on which the discipline relies: the link must never be slower. `None` if any link will do.
    fn promised_rate(&self) -> Option<Rate> {
        None
    }

    /// Takes over the parameters of `arguments`, which belong to the same component, and keeps packets and
    /// state. Returns false, and changes nothing, if the discipline cannot do so; this is the default.
    ///
    /// # Errors
    /// Errors of [`AnyQdisc::build`]; nothing is changed.
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let _ = arguments;
        Ok(false)
    }

    /// A violation of the contract of disciplines, in one line; `None` if there was none. Results of a run
    /// with a fault are invalid: the audit of a path reports it. Built-in disciplines have none.
    fn fault(&self) -> Option<String> {
        None
    }
}
