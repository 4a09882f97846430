//! A law of a shared object over a queue: its state, its calls, and what it does wrong.
#![allow(unsafe_code, reason = "calls of a shared object, with state that it fills in")]

use crate::abi::{Calls, DROP, Decide, Emptied, Init, MARK, PASS, RawCall, RawValue};
use crate::declaration::{Leaked, one_line};
use crate::object::text;
use crate::watch::{Context, Watch};
use core::ffi::c_void;
use core::fmt;
use core::ptr::NonNull;
use qdelay_core::component::{Arguments, ComponentError, Custom, Parameter, Unit, Value};
use qdelay_core::qdisc::{self, Backlog, Fifo, FifoLaw, LIMIT, LIMIT_BYTES, Ring, limit};
use qdelay_core::{Context as CallContext, DropReason, MarkReason, Packet, Sink};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Most bytes of a state.
const STATE_MAX: u64 = 1 << 28;
/// Largest alignment of a state.
const ALIGN_MAX: u64 = 4096;
/// Alignment of a state that says none.
const ALIGN: u64 = 16;

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
        check_state(&calls)?;
        Ok(calls)
    }
}

/// Checks size and alignment of the state.
pub fn check_state(calls: &Calls) -> Result<(), String> {
    if calls.state_size > STATE_MAX {
        return Err(format!("its state has {} bytes; expected at most {STATE_MAX}", calls.state_size));
    }
    if calls.state_align != 0 && (!calls.state_align.is_power_of_two() || calls.state_align > ALIGN_MAX) {
        return Err(format!(
            "its state is aligned to {}; expected a power of two up to {ALIGN_MAX}",
            calls.state_align
        ));
    }
    if calls.admit.is_none() && calls.dequeue.is_none() {
        return Err("has neither admit nor dequeue; expected at least one of them".to_string());
    }
    Ok(())
}

/// The discipline for a registry.
pub fn custom(leaked: Leaked, calls: Calls, context: Context) -> Custom {
    qdisc::custom(leaked.component, move |arguments| {
        NativeLaw::new(leaked, calls, context, arguments).map(|law| Fifo::new(limit(arguments), law))
    })
}

/// Memory that a law keeps its state in.
struct State {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: bytes without an owner or a thread, by the contract of the header; they are only touched through `&mut`, or copied.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    fn new(calls: &Calls) -> State {
        let align = if calls.state_align == 0 { ALIGN } else { calls.state_align };
        // Both were checked; a state is never of no bytes, so that it has an address.
        let layout = Layout::from_size_align(calls.state_size.max(1) as usize, align as usize)
            .unwrap_or(Layout::new::<u128>());
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(layout) };
        State { memory: NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
    /// Writes doubles at its beginning, as many as it has room for.
    fn write(&mut self, values: impl Iterator<Item = f64>) {
        let room = self.layout.size() / size_of::<f64>();
        for (index, value) in values.take(room).enumerate() {
            // SAFETY: within the memory, which is aligned to 16 or more.
            unsafe { self.memory.cast::<f64>().add(index).write(value) };
        }
    }
    fn address(&mut self) -> *mut c_void {
        self.memory.as_ptr().cast()
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        // SAFETY: the layout has a size; both have it, and are different.
        let memory = unsafe { alloc_zeroed(self.layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(self.layout));
        // SAFETY: as above.
        unsafe { memory.copy_from_nonoverlapping(self.memory, self.layout.size()) };
        State { memory, layout: self.layout }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
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
        leaked: Leaked,
        calls: Calls,
        context: Context,
        arguments: &Arguments,
    ) -> Result<NativeLaw, ComponentError> {
        let name = leaked.component.name;
        let mut state = State::new(&calls);
        let watch = Watch::new(name, context);
        if calls.begins_with_values {
            state.write(own_values(arguments).map(as_double));
        }
        if let Some(init) = calls.init {
            let values: Vec<RawValue> = own_values(arguments).collect();
            // Not watched: a program that is about to enter a namespace must not have a second thread.
            // SAFETY: a function of the header, with state of its size and all the values.
            let message = unsafe { init(state.address(), values.as_ptr()) };
            if !message.is_null() {
                // SAFETY: the header says that it is a text.
                let message = unsafe { text(message, "message of init") }.unwrap_or_else(|error| error);
                return Err(arguments.fail(one_line(&message)));
            }
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

/// The values of the law's own parameters, without those of the queue.
fn own_values(arguments: &Arguments) -> impl Iterator<Item = RawValue> {
    let is_own = |(parameter, _): &(&Parameter, &Value)| {
        parameter.name != LIMIT.name() && parameter.name != LIMIT_BYTES.name()
    };
    arguments.values().filter(is_own).map(|(parameter, value)| raw(parameter, value))
}

/// A value as a double: whole numbers up to 2^53 are exact.
fn as_double(value: RawValue) -> f64 {
    match value {
        RawValue { is_set: 0, .. } => f64::NAN,
        RawValue { whole: 0, number, .. } => number,
        RawValue { whole, .. } => whole as f64,
    }
}

/// A value as the header has it.
fn raw(parameter: &Parameter, value: &Value) -> RawValue {
    let whole = |whole| RawValue { whole, number: 0.0, is_set: 1, reserved: 0 };
    match (value, parameter.unit) {
        (Value::Span(span), _) => whole(span.as_nanos()),
        (Value::Rate(rate), _) => whole(rate.as_bps()),
        (Value::Whole(number), _) => whole(*number),
        (Value::Number(number), _) => RawValue { number: *number, ..whole(0) },
        (Value::Switch(is_on), _) => whole(u64::from(*is_on)),
        (Value::Text(word), Unit::Choice(words)) => {
            whole(words.iter().position(|known| known == word).unwrap_or(0) as u64)
        }
        (Value::Text(_) | Value::Unset, _) => RawValue::default(),
    }
}
