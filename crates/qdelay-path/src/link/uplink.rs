//! The uplink of one UE, which may send only with a grant (TS 36.321 sections 5.4.3 to 5.4.5, TS 36.213 sections 8
//! and 10.1.5).
//!
//! A UE that has nothing to send has no grant. A packet that comes then waits for the next occasion of a scheduling request
//! (SR), and what follows takes time: the base station hears the request, answers with a grant, and the UE prepares the
//! transmission. It is sent in the first slot after that. Every transmission carries a buffer status report (BSR) of what
//! is still waiting, and grants for that begin as long after it as the first one after its request; they come slot by slot,
//! until the base station has granted all that it has heard of. So an idle packet waits `sr` / 2 + `grant` + alignment on
//! average, and a busy bearer goes on without another request.
//!
//! A packet leaves in the slot that carries its last byte. What its transmission takes from then on (the slot, and
//! decoding) is a constant delay: that of a delay node behind.
//!
//! | parameter | meaning | default | source |
//! | --- | --- | --- | --- |
//! | `sr` | time between occasions of scheduling requests; the first is at 0 | 10 ms | TS 36.213 table 10.1.5-1: 1 to 80 ms |
//! | `grant` | from a request or report to the first transmission it causes | 8 ms | TS 36.213 section 8.0: 4 ms from grant to transmission, and as much for the base station to answer |
//! | `slot` | time between slots; the first is at 0 | 1 ms | a subframe |
//! | `bytes` | what a slot carries | 1000 b | none: about 10 MHz at a middling MCS |
//! | `overhead` | bytes added to each packet | 0 | |
//!
//! With these an idle packet leaves 8 to 18 ms after it came. With 12 ms for the rest of the way there and back (4 ms of
//! transmission in each direction and what lies behind), round trips are 20 to 30 ms: the floor of 20 ms that the 5G QoS
//! thesis measured on its testbed (section 3.7).
//!
//! Differences from the reference:
//! * A request at the very time of an arrival is too early for it, as an opportunity of a trace is.
//! * A request or report is never lost, and a transmission never fails.
//! * A first grant is as large as the others; many base stations grant little on a request, because they do not know more.
//! * Reports are of bytes; real ones name one of 64 ranges (TS 36.321 table 6.1.3.1-1).
//! * A packet that came while others wait is reported with the next transmission, whatever its priority.

use super::parameters::{OVERHEAD, fail, overhead};
use super::{LinkModel, Slotted};
use alloc::collections::VecDeque;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Span, Time};

const REQUEST: Typed<Span> =
    Typed::new("sr", "10ms", "Time between occasions of scheduling requests; the first is at 0.")
        .within("125us", "1s")
        .source("TS 36.213 table 10.1.5-1");
const GRANT: Typed<Span> = Typed::new(
    "grant",
    "8ms",
    "From a scheduling request or buffer status report to the first transmission it causes.",
)
.within("0s", "100ms")
.source("TS 36.213 section 8.0");
const SLOT: Typed<Span> = Typed::new("slot", "1ms", "Time between slots; the first is at 0.")
    .within("62500ns", "1s")
    .source("TS 36.211 section 4.1");
const SLOT_BYTES: Typed<u64> =
    Typed::new("bytes", "1000b", "What a slot carries.").unit(Unit::Bytes).within("1b", "1000000b");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Link,
    "uplink",
    "The uplink of a UE: a packet that finds it idle waits for a scheduling request and a grant.",
)
.source("TS 36.321 sections 5.4.3 to 5.4.5")
.with(&[
    REQUEST.parameter(),
    GRANT.parameter(),
    SLOT.parameter(),
    SLOT_BYTES.parameter(),
    OVERHEAD.parameter(),
]);

pub(super) const EXAMPLE: &str = "uplink:sr=20ms";

/// The uplink of a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    request: Span,
    grant: Span,
    slot: Span,
    slot_bytes: u64,
    overhead_bytes: u32,
    /// Bytes sent since the run began, and how many the base station knew there would be when it last looked.
    sent: u64,
    known: u64,
    /// Reports on their way: the time from which the base station acts by each, and the bytes sent before and still waiting
    /// then. In order of time.
    reports: VecDeque<(Time, u64)>,
}

impl Uplink {
    /// An idle uplink: occasions of requests every `request`, `grant` from a request or report to the first slot that it
    /// causes, slots of `slot_bytes` every `slot`. `None` where `request`, `slot` or `slot_bytes` is zero, or `grant` is more
    /// than 10000 slots.
    pub fn new(
        request: Span,
        grant: Span,
        slot: Span,
        slot_bytes: u32,
        overhead_bytes: u32,
    ) -> Option<Uplink> {
        let slots = grant.as_nanos().checked_div(slot.as_nanos())?;
        if request.is_zero() || slot_bytes == 0 || slots > 10_000 {
            return None;
        }
        let (slot_bytes, reports) = (u64::from(slot_bytes), VecDeque::new());
        Some(Uplink { request, grant, slot, slot_bytes, overhead_bytes, sent: 0, known: 0, reports })
    }
    pub(super) fn build(arguments: &Arguments) -> Result<Uplink, ComponentError> {
        let [request, grant, slot] = [&REQUEST, &GRANT, &SLOT].map(|key| arguments.get(key));
        // The declared range keeps it within 20 bits.
        let bytes = arguments.get(&SLOT_BYTES) as u32;
        let uplink = Uplink::new(request, grant, slot, bytes, overhead(arguments));
        let expected = "no slots; expected sr, slot and bytes above zero, and grant up to 10000 slots";
        uplink.ok_or_else(|| fail(arguments, expected))
    }

    /// The base station acts by the reports that it has by `slot`.
    fn hear(&mut self, slot: Time) {
        while let Some(&(time, demand)) = self.reports.front()
            && time <= slot
        {
            self.known = demand;
            self.reports.pop_front();
        }
    }
    /// The first slot from `time` on.
    fn slot_from(&self, time: Time) -> Time {
        let slot = self.slot.as_nanos().max(1);
        if time == Time::NEVER {
            return time;
        }
        time.as_nanos().div_ceil(slot).checked_mul(slot).map_or(Time::NEVER, Time::from_nanos)
    }
}

impl Slotted for Uplink {
    /// There is no grant and no report on its way.
    fn wake(&mut self, now: Time) -> Time {
        let period = self.request.as_nanos();
        let occasion = Time::from_nanos((now.as_nanos() / period).saturating_add(1).saturating_mul(period));
        self.reports.clear();
        self.slot_from(occasion + self.grant)
    }
    #[inline]
    fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }
    fn sent(&mut self, now: Time, sent: u64, waiting: u64) -> Time {
        self.sent += sent;
        if sent < self.slot_bytes {
            // Padding: the base station sees that it has granted too much.
            self.known = self.known.min(self.sent);
        }
        self.reports.push_back((now + self.grant, self.sent + waiting));
        let next = self.slot_from(now + Span::from_nanos(1));
        self.hear(next);
        if self.known > self.sent {
            return next;
        }
        // The next report that requests more. Earlier reports are obsolete.
        while let Some(&(time, demand)) = self.reports.front() {
            if demand > self.sent {
                return self.slot_from(time);
            }
            self.reports.pop_front();
        }
        Time::NEVER
    }
    /// In each transmission.
    fn reports(&self) -> bool {
        true
    }
}

impl LinkModel for Uplink {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    fn offered_bytes(&self, now: Time) -> u64 {
        (now.as_nanos() / self.slot.as_nanos().max(1)).saturating_mul(self.slot_bytes)
    }
}
