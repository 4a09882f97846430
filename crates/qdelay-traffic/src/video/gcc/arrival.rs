//! Groups of packets, and the differences between their times, from which the delay gradient is computed.
//!
//! A frame leaves as a burst, so that single packets show little. Packets sent within 5 ms form a group. For two consecutive groups the interval
//! between their last packets at the sender is compared with that at the receiver; a growing queue makes the latter longer.
//! A group also includes packets that arrive in a burst right behind it, as after a blocked channel.
//!
//! Source: draft-ietf-rmcat-gcc-02, sections 5.2 and 5.3.
//!
//! # Differences from the reference
//! * A burst ends 100 ms after its first packet, as in libwebrtc, so that a draining queue is not one group.

use qdelay_core::{Span, Time};

/// Length of a group: packets sent within this time form one group.
const GROUP: Span = Span::from_millis(5);
/// Largest gap between the arrivals of a burst, whose packets also arrive faster than they were sent.
const BURST: Span = Span::from_millis(5);
/// Longest burst, from its first arrival.
const BURST_MAX: Span = Span::from_millis(100);

/// Intervals between two groups, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Interval between the send times of their last packets, ms.
    pub sent_ms: f64,
    /// Interval between the arrival times of their last packets, ms.
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
    fn starting_with(sent: Time, arrived: Time) -> Group {
        Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived }
    }

    /// Whether a packet arrives in a burst behind the group.
    fn is_burst(&self, sent: Time, arrived: Time) -> bool {
        let apart = arrived.since(self.last_arrived);
        let sent_apart = sent.since(self.last_sent);
        sent_apart.is_zero()
            || (apart < sent_apart && apart <= BURST && arrived.since(self.first_arrived) < BURST_MAX)
    }
}

/// Groups of a flow.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    current: Option<Group>,
    previous: Option<Group>,
}

impl Groups {
    /// Records the arrival of a packet. If the packet begins a new group, returns the intervals between the two latest complete groups.
    pub fn add(&mut self, sent: Time, arrived: Time) -> Option<Delta> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::starting_with(sent, arrived));
            return None;
        };
        if sent < current.first_sent {
            // A whole group has overtaken the packet: it is ignored.
            return None;
        }
        if current.is_burst(sent, arrived) || sent.since(current.first_sent) <= GROUP {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrived = current.last_arrived.max(arrived);
            return None;
        }
        let complete = *current;
        *current = Group::starting_with(sent, arrived);
        let previous = self.previous.replace(complete)?;
        let arrived = signed_ms(complete.last_arrived, previous.last_arrived);
        // Reordered groups give no interval.
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

    fn time_us(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Frames of three packets each 20 ms, over a queue that grows by 2 ms per frame.
    #[test]
    fn each_frame_is_a_group() {
        let mut groups = Groups::default();
        let mut deltas = alloc::vec::Vec::new();
        for frame in 0..6_u64 {
            for packet in 0..3 {
                let sent = 20_000 * frame + 1000 * packet;
                let delta = groups.add(time_us(sent), time_us(50_000 + 22_000 * frame + 6000 * packet));
                deltas.extend(delta);
            }
        }
        assert_eq!(deltas.len(), 4);
        assert!(deltas.iter().all(|delta| *delta == Delta { sent_ms: 20.0, arrived_ms: 22.0 }), "{deltas:?}");
    }

    #[test]
    fn packets_that_arrive_at_once_after_a_blocked_channel_are_one_group() {
        let mut groups = Groups::default();
        let blocked = |n: u64| groups.add(time_us(20_000 * n), time_us(500_000 + 1000 * n));
        assert!((0..20).map(blocked).all(|delta| delta.is_none()));
    }
}
