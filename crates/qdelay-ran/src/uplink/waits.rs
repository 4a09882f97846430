//! Waiting times of a UE for scheduling requests and grants: the parts of a packet's delay.

use qdelay_core::{Span, Time};

/// Number of waits that are kept: packets are handed up a round trip or two after they were sent, in which
/// there are few.
const KEPT: usize = 16;

/// One wait, from the report that was due to the first block after it.
#[derive(Clone, Copy, Debug)]
struct Wait {
    begun: Time,
    /// Time at which the request was sent; [`Time::NEVER`] where a grant came without one.
    requested: Time,
    /// Time at which the block of the grant was sent; [`Time::NEVER`] until then.
    granted: Time,
}

impl Wait {
    const NONE: Wait = Wait { begun: Time::NEVER, requested: Time::NEVER, granted: Time::NEVER };
}

/// The last waits of a UE.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    waits: [Wait; KEPT],
    last: usize,
}

impl Waits {
    pub fn new() -> Waits {
        Waits { waits: [Wait::NONE; KEPT], last: 0 }
    }
    fn is_open(&self) -> bool {
        let last = &self.waits[self.last];
        last.begun < Time::NEVER && last.granted == Time::NEVER
    }
    /// Begins a wait: the UE has no grant to send with.
    pub fn begin(&mut self, now: Time) {
        if !self.is_open() {
            self.last = (self.last + 1) % KEPT;
            self.waits[self.last] = Wait { begun: now, ..Wait::NONE };
        }
    }
    /// Records that a scheduling request is sent.
    pub fn request(&mut self, now: Time) {
        if self.is_open() {
            let last = &mut self.waits[self.last];
            last.requested = last.requested.min(now);
        }
    }
    /// Records that a block is sent.
    #[inline]
    pub fn grant(&mut self, now: Time) {
        if self.is_open() {
            self.waits[self.last].granted = now;
        }
    }
    /// Splits the wait of a packet from `arrival` until `taken`: the time until a request was sent, and the
    /// time from then until the grant. Without a request all of it counts as waiting for the grant.
    pub fn split(&self, arrival: Time, taken: Time) -> (Span, Span) {
        let (mut request, mut grant) = (Span::ZERO, Span::ZERO);
        for wait in &self.waits {
            let (from, to) = (wait.begun.max(arrival), wait.granted.min(taken));
            if wait.begun < Time::NEVER && from < to {
                let asked =
                    if wait.requested == Time::NEVER { from } else { wait.requested.max(from).min(to) };
                request += asked.since(from);
                grant += to.since(asked);
            }
        }
        (request, grant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_gets_its_part_of_each_wait() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut waits = Waits::new();
        let of = |waits: &Waits, from, to| {
            let (request, grant) = waits.split(at(from), at(to));
            (request.as_nanos() / 1_000_000, grant.as_nanos() / 1_000_000)
        };
        waits.begin(at(10));
        waits.begin(at(12));
        waits.request(at(15));
        waits.request(at(20));
        waits.grant(at(23));
        waits.grant(at(24));
        assert_eq!(of(&waits, 10, 23), (5, 8));
        assert_eq!(of(&waits, 12, 40), (3, 8));
        assert_eq!(of(&waits, 18, 23), (0, 5));
        assert_eq!(of(&waits, 23, 30), (0, 0));
        waits.begin(at(30));
        waits.grant(at(35));
        assert_eq!(of(&waits, 12, 40), (3, 13), "the second without a request");
    }
}
