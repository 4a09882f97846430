//! Groups of packets, and the differences between their times: what the delay gradient is made of.
//!
//! A frame leaves as a burst, so that single packets say little. Packets sent within 5 ms are a group. Of two groups the difference of
//! the times of their last packets at the sender is compared with that at the receiver: a queue that grows lets the second be larger.
//! A group also takes up packets that arrive as a burst right behind it, as behind a channel that was blocked.
//!
//! Source: draft-ietf-rmcat-gcc-02, sections 5.2 and 5.3.
//!
//! # Differences from the reference
//! * A burst has an end: 100 ms after its first packet a new group begins, as in libwebrtc, lest a queue that only drains is one group.

use qdelay_core::{Span, Time};

/// Packets sent within this time are a group.
const GROUP: Span = Span::from_millis(5);
/// Packets that arrive closer than this, and faster than they were sent, are a burst.
const BURST: Span = Span::from_millis(5);
/// The longest burst, from its first arrival.
const BURST_MAX: Span = Span::from_millis(100);

/// Differences between two groups, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Between the times at which their last packets were sent.
    pub sent_ms: f64,
    /// Between the times at which they arrived.
    pub arrived_ms: f64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    last_arrived: Time,
}

impl Group {
    fn of(sent: Time, arrived: Time) -> Group {
        Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived }
    }

    /// Whether the packet arrives in a burst behind the group.
    fn is_burst(&self, sent: Time, arrived: Time) -> bool {
        let apart = arrived.since(self.last_arrived);
        let sent_apart = sent.since(self.last_sent);
        sent_apart.is_zero()
            || (apart < sent_apart && apart <= BURST && arrived.since(self.first_arrived) < BURST_MAX)
    }
}

/// The groups of a flow.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    current: Option<Group>,
    previous: Option<Group>,
}

impl Groups {
    /// A packet has arrived; the differences between the two latest groups that are complete, if it begins a new one.
    pub fn add(&mut self, sent: Time, arrived: Time) -> Option<Delta> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::of(sent, arrived));
            return None;
        };
        if sent < current.first_sent {
            // It was overtaken by a whole group.
            return None;
        }
        if current.is_burst(sent, arrived) || sent.since(current.first_sent) <= GROUP {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrived = current.last_arrived.max(arrived);
            return None;
        }
        let complete = *current;
        *current = Group::of(sent, arrived);
        let previous = self.previous.replace(complete)?;
        let arrived = signed_ms(complete.last_arrived, previous.last_arrived);
        // Groups in the wrong order say nothing.
        (arrived >= 0.0).then(|| Delta {
            sent_ms: signed_ms(complete.last_sent, previous.last_sent),
            arrived_ms: arrived,
        })
    }
}

/// `a - b` in milliseconds.
fn signed_ms(a: Time, b: Time) -> f64 {
    if a >= b { a.since(b).as_millis_f64() } else { -b.since(a).as_millis_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Frames of three packets each 20 ms over a queue that grows by 2 ms with each.
    #[test]
    fn groups_are_frames() {
        let mut groups = Groups::default();
        let mut deltas = alloc::vec::Vec::new();
        for frame in 0..6_u64 {
            for packet in 0..3 {
                let sent = 20_000 * frame + 1000 * packet;
                let delta = groups.add(at(sent), at(50_000 + 22_000 * frame + 6000 * packet));
                deltas.extend(delta);
            }
        }
        assert_eq!(deltas.len(), 4);
        assert!(deltas.iter().all(|delta| *delta == Delta { sent_ms: 20.0, arrived_ms: 22.0 }), "{deltas:?}");
    }

    /// What waits behind a blocked channel and comes at once is a single group.
    #[test]
    fn bursts_are_one_group() {
        let mut groups = Groups::default();
        let blocked = |n: u64| groups.add(at(20_000 * n), at(500_000 + 1000 * n));
        assert!((0..20).map(blocked).all(|delta| delta.is_none()));
    }
}
