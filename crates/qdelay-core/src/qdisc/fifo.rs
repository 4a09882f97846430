//! One first-in first-out queue under a law: the common part of all disciplines with a single queue.

use super::{Backlog, Limit, Qdisc, Ring, limit};
use crate::component::{Arguments, ComponentError};
use crate::{Context, DropReason, Packet, Rate, Sink, Time};
use alloc::string::String;

/// The decisions of a discipline with one queue. By default the law accepts every packet for which there is
/// room, and forwards all of them.
pub trait FifoLaw {
    /// Decides if `packet` may join the tail of `ring`. The law may mark the packet, or make room by dropping
    /// others.
    ///
    /// # Errors
    /// The reason for which `packet` is dropped.
    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let _ = context;
        ring.check_room(packet)
    }

    /// Returns the packet to send now, as [`Qdisc::dequeue`].
    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        let _ = context;
        ring.pop()
    }

    /// Returns true if the law has timers, as [`Qdisc::has_timer`].
    fn has_timer(&self) -> bool {
        false
    }

    /// Time of the next timer, as [`Qdisc::next_deadline`], with `backlog` queued.
    #[inline]
    fn next_deadline(&self, backlog: Backlog) -> Time {
        let _ = backlog;
        Time::NEVER
    }

    /// Runs timers that are due, as [`Qdisc::poll`], with `backlog` queued.
    #[inline]
    fn poll(&mut self, now: Time, backlog: Backlog) {
        let _ = (now, backlog);
    }

    /// Rate on which the law relies, as [`Qdisc::promised_rate`].
    fn promised_rate(&self) -> Option<Rate> {
        None
    }

    /// Takes over parameters, as [`Qdisc::adjust`], without the limits.
    ///
    /// # Errors
    /// Errors of [`Qdisc::adjust`].
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let _ = arguments;
        Ok(false)
    }

    /// Violation of the contract of disciplines, as [`Qdisc::fault`].
    fn fault(&self) -> Option<String> {
        None
    }
}

/// The discipline that applies `L` to one first-in first-out queue.
#[derive(Clone, Debug)]
pub struct Fifo<L> {
    ring: Ring,
    law: L,
}

impl<L> Fifo<L> {
    /// An empty queue under `law`.
    pub fn new(limit: Limit, law: L) -> Fifo<L> {
        Fifo { ring: Ring::new(limit), law }
    }
    /// The law that decides.
    pub fn law(&self) -> &L {
        &self.law
    }
}

impl<L: FifoLaw> Qdisc for Fifo<L> {
    #[inline]
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, mut packet: Packet) {
        match self.law.admit(&mut self.ring, context, &mut packet) {
            Ok(()) => self.ring.push(packet),
            Err(reason) => context.sink.dropped(&packet, reason),
        }
    }
    #[inline]
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.law.dequeue(&mut self.ring, context)
    }
    #[inline]
    fn head(&self) -> Option<&Packet> {
        self.ring.head()
    }
    fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        self.ring.sizes(from, sizes)
    }
    fn expel<S: Sink>(&mut self, _: &mut Context<'_, S>) -> Option<Packet> {
        self.ring.pop()
    }
    fn discard_set<S: Sink>(
        &mut self,
        context: &mut Context<'_, S>,
        flow: u32,
        number: u32,
        reason: DropReason,
    ) -> bool {
        self.ring.discard_set(context.sink, flow, number, reason);
        true
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }
    #[inline]
    fn next_deadline(&self) -> Time {
        self.law.next_deadline(self.ring.backlog())
    }
    fn has_timer(&self) -> bool {
        self.law.has_timer()
    }
    #[inline]
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        self.law.poll(context.now, self.ring.backlog());
    }
    fn promised_rate(&self) -> Option<Rate> {
        self.law.promised_rate()
    }
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let can = self.law.adjust(arguments)?;
        if can {
            self.ring.set_limit(limit(arguments));
        }
        Ok(can)
    }
    fn fault(&self) -> Option<String> {
        self.law.fault()
    }
}
