//! BoDe: a packet that has waited longer than a bound is dropped when it reaches the head, unless only a few packets
//! are behind it.
//!
//! Source: "BoDe: Bounding Queue Delay in Cellular Networks", section V-C.
//!
//! Parameters:
//! * `target`, the paper's *BoundedDelay* D: the longest sojourn that is served, in time (20 ms in the paper's tests,
//!   100 ms for its video calls).
//! * `min_keep`: a packet with at most this many packets behind it is served whatever its sojourn (default 2: the
//!   paper spares the last three packets, the one being judged included).
//! * `min_keep_bytes`: the same in bytes (default 0: disabled).
//!
//! The bound is soft by design. The last packets of a queue are never dropped, and a link that offers one opportunity
//! a second serves them seconds late.
//!
//! Differences from the reference:
//! * Step 3 spares a queue of fewer than three packets, that is two including the packet being judged. The published
//!   program serves a packet with two behind it, and so does this law.
//! * A sojourn of exactly the bound is served. The paper's prose says "smaller"; its published program serves the
//!   packet.
//! * The published program also serves a packet behind which at most 1504 bytes remain. The paper does not mention
//!   this rule, which spares 15 to 26 packets of a flow of small ones. Here it is off unless `min_keep_bytes` is set.
//! * The published program counts whole milliseconds; here time is in nanoseconds.

use super::Verdict;
use crate::packet::Backlog;
use crate::{DropReason, Span};

/// The law of BoDe. It has no state: the verdict depends on the packet's sojourn and on the backlog behind
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bode {
    /// The longest sojourn that is served (D).
    pub target: Span,
    /// A packet with at most this many packets behind it is served whatever its sojourn.
    pub min_keep: u64,
    /// A packet with at most this many bytes behind it is served whatever its sojourn; 0 disables this rule.
    pub min_keep_bytes: u64,
}

impl Bode {
    /// Drop reason: the packet had waited longer than the queue's bound when it reached the head.
    pub const SOJOURN_BOUND: DropReason = DropReason::new("sojourn_bound");

    /// The verdict on the packet just dequeued after `sojourn`, with `remaining` queued behind it.
    #[inline]
    pub fn decide(&self, sojourn: Span, remaining: Backlog) -> Verdict {
        let in_time = sojourn <= self.target;
        let among_last = remaining.packets <= self.min_keep
            || (self.min_keep_bytes > 0 && remaining.bytes <= self.min_keep_bytes);
        if in_time || among_last { Verdict::Forward } else { Verdict::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Bode = Bode { target: Span::from_millis(20), min_keep: 2, min_keep_bytes: 0 };

    fn decide(law: Bode, sojourn_us: u64, packets: u64, bytes: u64) -> Verdict {
        law.decide(Span::from_micros(sojourn_us), Backlog { packets, bytes })
    }

    #[test]
    fn the_bound_itself_is_served() {
        assert_eq!(decide(LAW, 20_000, 100, 150_000), Verdict::Forward);
        assert_eq!(decide(LAW, 20_001, 100, 150_000), Verdict::Drop);
    }

    #[test]
    fn the_last_three_are_served() {
        assert_eq!(decide(LAW, 1_000_000, 3, 4500), Verdict::Drop);
        for remaining in 0..=2 {
            assert_eq!(decide(LAW, 1_000_000, remaining, 1500 * remaining), Verdict::Forward);
        }
    }

    #[test]
    fn the_byte_rule_is_off_by_default() {
        assert_eq!(decide(LAW, 1_000_000, 20, 1200), Verdict::Drop);
        let law = Bode { min_keep_bytes: 1504, ..LAW };
        assert_eq!(decide(law, 1_000_000, 20, 1504), Verdict::Forward);
        assert_eq!(decide(law, 1_000_000, 20, 1505), Verdict::Drop);
    }

    #[test]
    fn without_kept_packets_every_late_packet_is_dropped() {
        let law = Bode { min_keep: 0, ..LAW };
        assert_eq!(decide(law, 20_001, 1, 1500), Verdict::Drop);
        assert_eq!(decide(law, 20_001, 0, 0), Verdict::Forward, "nothing remains: at most 0 remain");
    }
}
