//! A law of a shared object over a queue: its state, its calls, and what it does wrong.
#![allow(unsafe_code, reason = "calls of a shared object, with state that it fills in")]

use crate::abi::{Calls, DROP, Decide, Emptied, Init, MARK, PASS, RawCall};
use crate::declaration::StaticComponent;
use crate::state::{self, State, as_double, values};
use crate::watch::{Context, Watch};
use core::fmt;
use qdelay_core::component::{Arguments, ComponentError, Custom};
use qdelay_core::qdisc::{self, Backlog, Fifo, FifoLaw, LIMIT, LIMIT_BYTES, Ring, limit};
use qdelay_core::{Context as CallContext, DropReason, MarkReason, Packet, Sink};

/// Parameters that are the queue's.
const QUEUES: [&str; 2] = [LIMIT.name(), LIMIT_BYTES.name()];

/// Functions in this process, by their addresses; 0 for none. They are those of `qdelay_component.h`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// Fills in the state.
    pub init: usize,
    /// Decides about arrivals.
    pub admit: usize,
    /// Decides about the head.
    pub dequeue: usize,
    /// Hears that the queue is empty.
    pub emptied: usize,
    /// Bytes of the state.
    pub state_size: u64,
    /// Whether calls have random bits.
    pub is_random: bool,
    /// Whether the state begins with the values of the declared parameters, each as a double: nanoseconds, bit/s, bytes, a number, 1 or 0,
    /// or the place of a word; NaN where it is not set. The size includes them.
    pub begins_with_values: bool,
}

impl Addresses {
    pub(crate) fn calls(self) -> Result<Calls, String> {
        let pointer = |address: usize| (address != 0).then_some(address as *const ());
        // SAFETY: whoever made this vouches that these are addresses of such functions (`law`).
        let calls = unsafe {
            Calls {
                init: pointer(self.init).map(|it| core::mem::transmute::<*const (), Init>(it)),
                admit: pointer(self.admit).map(|it| core::mem::transmute::<*const (), Decide>(it)),
                dequeue: pointer(self.dequeue).map(|it| core::mem::transmute::<*const (), Decide>(it)),
                emptied: pointer(self.emptied).map(|it| core::mem::transmute::<*const (), Emptied>(it)),
                state_size: self.state_size,
                state_align: 0,
                is_random: self.is_random,
                begins_with_values: self.begins_with_values,
            }
        };
        check(&calls)?;
        Ok(calls)
    }
}

/// Checks that the law decides something, and its state.
pub fn check(calls: &Calls) -> Result<(), String> {
    state::check(calls.state_size, calls.state_align)?;
    if calls.admit.is_none() && calls.dequeue.is_none() {
        return Err("has neither admit nor dequeue; expected at least one of them".to_string());
    }
    Ok(())
}

/// The discipline for a registry.
pub fn custom(leaked: StaticComponent, calls: Calls, context: Context) -> Custom {
    qdisc::custom(leaked.component, move |arguments| {
        NativeLaw::new(leaked, calls, context, arguments).map(|law| Fifo::new(limit(arguments), law))
    })
}

/// A law of a shared object.
#[derive(Clone)]
pub struct NativeLaw {
    calls: Calls,
    state: State,
    drops: DropReason,
    marks: MarkReason,
    name: &'static str,
    fault: Option<String>,
    watch: Watch,
}

impl fmt::Debug for NativeLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeLaw({})", self.name)
    }
}

impl NativeLaw {
    fn new(
        leaked: StaticComponent,
        calls: Calls,
        context: Context,
        arguments: &Arguments,
    ) -> Result<NativeLaw, ComponentError> {
        let name = leaked.component.name;
        let mut state = State::new(calls.state_size, calls.state_align);
        let watch = Watch::new(name, context);
        if calls.begins_with_values {
            state.write(values(arguments, &QUEUES).map(as_double));
        }
        if let Some(init) = calls.init {
            state.init(init, arguments, &QUEUES)?;
        }
        let (drops, marks) = (DropReason::new(leaked.law), MarkReason::new(leaked.law));
        Ok(NativeLaw { calls, state, drops, marks, name, fault: None, watch })
    }

    /// The verdict about `packet`, with `backlog` beside it. An invalid one lets the packet pass; the law is not called any more.
    #[inline]
    fn verdict<S: Sink>(
        &mut self,
        call: &'static str,
        decide: Decide,
        (backlog, limit): (Backlog, u64),
        context: &mut CallContext<'_, S>,
        packet: &Packet,
    ) -> u32 {
        let told = RawCall {
            now: context.now.as_nanos(),
            arrival: packet.arrival.as_nanos(),
            packets: backlog.packets,
            bytes: backlog.bytes,
            limit,
            random: if self.calls.is_random { context.random.bits() } else { 0 },
            size: packet.bytes,
            flow: packet.flow,
            traffic_class: packet.class,
            dscp: packet.dscp,
            ecn: packet.ecn as u8,
            reserved: 0,
        };
        self.watch.begin();
        // SAFETY: a function of the header, with this law's state.
        let verdict = unsafe { decide(self.state.address(), &raw const told) };
        self.watch.end();
        match verdict {
            PASS | DROP => verdict,
            MARK if packet.ecn.is_capable() => MARK,
            MARK => DROP,
            other => {
                self.fail(call, other);
                PASS
            }
        }
    }

    #[cold]
    fn fail(&mut self, call: &str, verdict: u32) {
        let expected = "expected QDELAY_PASS (0), QDELAY_DROP (1) or QDELAY_MARK (2)";
        let message = format!("{}: {call} returned {verdict}; {expected}", self.name);
        self.watch.report(&message);
        self.fault = Some(message);
        self.calls = Calls { admit: None, dequeue: None, emptied: None, ..self.calls };
    }
}

impl FifoLaw for NativeLaw {
    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut CallContext<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let verdict = match self.calls.admit {
            Some(admit) => {
                self.verdict("admit", admit, (ring.backlog(), ring.limit().packets), context, packet)
            }
            None => PASS,
        };
        if verdict == DROP {
            return Err(self.drops);
        }
        ring.check_room(packet)?;
        if verdict == MARK {
            context.mark(packet, self.marks);
        }
        Ok(())
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut CallContext<'_, S>) -> Option<Packet> {
        while let Some(mut packet) = ring.pop() {
            let Some(dequeue) = self.calls.dequeue else { return Some(packet) };
            match self.verdict("dequeue", dequeue, (ring.backlog(), ring.limit().packets), context, &packet) {
                DROP => context.sink.dropped(&packet, self.drops),
                MARK => {
                    context.mark(&mut packet, self.marks);
                    return Some(packet);
                }
                _ => return Some(packet),
            }
        }
        if let Some(emptied) = self.calls.emptied {
            self.watch.begin();
            // SAFETY: a function of the header, with this law's state.
            unsafe { emptied(self.state.address(), context.now.as_nanos()) };
            self.watch.end();
        }
        None
    }

    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}
