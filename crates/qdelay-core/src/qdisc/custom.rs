//! A discipline from outside, behind a vtable.

use super::{Backlog, Qdisc};
use crate::component::{Arguments, Component, ComponentError, Custom};
use crate::{Context, DropReason, Packet, Random, Rate, Sink, Time};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Debug;

/// The function that builds a discipline from outside.
pub(super) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomQdisc, ComponentError> + Send + Sync>;

/// A discipline for a [`Registry`](crate::component::Registry): `build` makes it from the arguments of
/// `component`.
pub fn custom<Q: Qdisc + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<Q, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| build(arguments).map(CustomQdisc::new));
    Custom::new(component, maker)
}

/// Any discipline that is not built in. Each call goes through a vtable.
#[derive(Debug)]
pub struct CustomQdisc(Box<dyn Erased>);

impl CustomQdisc {
    /// `qdisc` behind a vtable.
    pub fn new(qdisc: impl Qdisc + Clone + Debug + Send + Sync + 'static) -> CustomQdisc {
        CustomQdisc(Box::new(qdisc))
    }
}

impl Clone for CustomQdisc {
    fn clone(&self) -> Self {
        self.0.boxed_clone()
    }
}

/// [`Qdisc`] without its type parameters. Its methods have names of their own, because every discipline has both traits.
trait Erased: Debug + Send + Sync {
    fn erased_enqueue(&mut self, now: Time, random: &mut Random, sink: &mut dyn Sink, packet: Packet);
    fn erased_dequeue(&mut self, now: Time, random: &mut Random, sink: &mut dyn Sink) -> Option<Packet>;
    fn erased_dequeue_if_queued(
        &mut self,
        now: Time,
        random: &mut Random,
        sink: &mut dyn Sink,
    ) -> Option<Packet>;
    fn erased_expel(&mut self, now: Time, random: &mut Random, sink: &mut dyn Sink) -> Option<Packet>;
    fn erased_discard_set(
        &mut self,
        now: Time,
        random: &mut Random,
        sink: &mut dyn Sink,
        set: (u32, u32),
        reason: DropReason,
    ) -> bool;
    fn erased_poll(&mut self, now: Time, random: &mut Random, sink: &mut dyn Sink);
    fn erased_head(&self) -> Option<&Packet>;
    fn erased_sizes(&self, from: usize, sizes: &mut [u32]) -> usize;
    fn erased_backlog(&self) -> Backlog;
    fn erased_next_deadline(&self) -> Time;
    fn erased_has_timer(&self) -> bool;
    fn erased_green_bias(&self) -> Option<f64>;
    fn erased_promised_rate(&self) -> Option<Rate>;
    fn erased_adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError>;
    fn erased_fault(&self) -> Option<String>;
    fn boxed_clone(&self) -> CustomQdisc;
}

impl<Q: Qdisc + Clone + Debug + Send + Sync + 'static> Erased for Q {
    fn erased_enqueue(&mut self, now: Time, random: &mut Random, mut sink: &mut dyn Sink, packet: Packet) {
        self.enqueue(&mut Context { now, random, sink: &mut sink }, packet);
    }
    fn erased_dequeue(&mut self, now: Time, random: &mut Random, mut sink: &mut dyn Sink) -> Option<Packet> {
        self.dequeue(&mut Context { now, random, sink: &mut sink })
    }
    fn erased_dequeue_if_queued(
        &mut self,
        now: Time,
        random: &mut Random,
        mut sink: &mut dyn Sink,
    ) -> Option<Packet> {
        self.dequeue_if_queued(&mut Context { now, random, sink: &mut sink })
    }
    fn erased_expel(&mut self, now: Time, random: &mut Random, mut sink: &mut dyn Sink) -> Option<Packet> {
        self.expel(&mut Context { now, random, sink: &mut sink })
    }
    fn erased_discard_set(
        &mut self,
        now: Time,
        random: &mut Random,
        mut sink: &mut dyn Sink,
        (flow, number): (u32, u32),
        reason: DropReason,
    ) -> bool {
        self.discard_set(&mut Context { now, random, sink: &mut sink }, flow, number, reason)
    }
    fn erased_poll(&mut self, now: Time, random: &mut Random, mut sink: &mut dyn Sink) {
        self.poll(&mut Context { now, random, sink: &mut sink });
    }
    fn erased_head(&self) -> Option<&Packet> {
        self.head()
    }
    fn erased_sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        self.sizes(from, sizes)
    }
    fn erased_backlog(&self) -> Backlog {
        self.backlog()
    }
    fn erased_next_deadline(&self) -> Time {
        self.next_deadline()
    }
    fn erased_has_timer(&self) -> bool {
        self.has_timer()
    }
    fn erased_green_bias(&self) -> Option<f64> {
        self.green_bias()
    }
    fn erased_promised_rate(&self) -> Option<Rate> {
        self.promised_rate()
    }
    fn erased_adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        self.adjust(arguments)
    }
    fn erased_fault(&self) -> Option<String> {
        self.fault()
    }
    fn boxed_clone(&self) -> CustomQdisc {
        CustomQdisc::new(self.clone())
    }
}

#[deny(clippy::missing_trait_methods)]
impl Qdisc for CustomQdisc {
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        self.0.erased_enqueue(context.now, context.random, context.sink, packet);
    }
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.0.erased_dequeue(context.now, context.random, context.sink)
    }
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.0.erased_dequeue_if_queued(context.now, context.random, context.sink)
    }
    fn expel<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.0.erased_expel(context.now, context.random, context.sink)
    }
    fn discard_set<S: Sink>(
        &mut self,
        context: &mut Context<'_, S>,
        flow: u32,
        number: u32,
        reason: DropReason,
    ) -> bool {
        self.0.erased_discard_set(context.now, context.random, context.sink, (flow, number), reason)
    }
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        self.0.erased_poll(context.now, context.random, context.sink);
    }
    fn head(&self) -> Option<&Packet> {
        self.0.erased_head()
    }
    fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        self.0.erased_sizes(from, sizes)
    }
    fn backlog(&self) -> Backlog {
        self.0.erased_backlog()
    }
    fn next_deadline(&self) -> Time {
        self.0.erased_next_deadline()
    }
    fn has_timer(&self) -> bool {
        self.0.erased_has_timer()
    }
    fn green_bias(&self) -> Option<f64> {
        self.0.erased_green_bias()
    }
    fn promised_rate(&self) -> Option<Rate> {
        self.0.erased_promised_rate()
    }
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        self.0.erased_adjust(arguments)
    }
    fn fault(&self) -> Option<String> {
        self.0.erased_fault()
    }
}
