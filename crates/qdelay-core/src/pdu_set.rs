//! PDU sets: the packets (PDUs) of one unit of an application, such as a frame or a slice of video (3GPP Release 18).
//!
//! A packet carries no mark of its set. The host that has put it on a path knows its contents, and answers by
//! [`Sink::pdu_set`](crate::Sink::pdu_set), as the PDU Set Information of a GTP-U header stands beside the packet
//! in a base station (TS 38.415). Packets of flows without sets thus cost and hold nothing.
//!
//! Source: TS 23.501 clauses 5.7.7 and 5.37.5 (PDU sets and their quality of service); TS 26.522 clause 4.2 (the RTP header
//! extension by which a sender marks them); TS 38.323 clause 5.3 (discard of a set).
//!
//! # Differences from the reference
//! * Sets are numbered by 32 bits: the PDU set sequence number of the header extension is a part of them.
//! * The end of a data burst is not marked.
//! * A packet that the application sends again belongs to no set.

use crate::Time;

/// Importance of the most important sets (TS 26.522 clause 4.2).
pub const IMPORTANCE_MIN: u8 = 1;
/// Importance of the least important sets.
pub const IMPORTANCE_MAX: u8 = 15;

/// The PDU set of a packet, and the place of the packet in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduSet {
    /// Number of the set within its flow, from 0.
    pub number: u32,
    /// Number of the packet within the set, from 0.
    pub pdu: u16,
    /// Packets of the set.
    pub pdus: u16,
    /// IP bytes of the set.
    pub bytes: u32,
    /// Importance, 1 (the most important) to 15.
    pub importance: u8,
    /// Whether the application needs all packets of the set (PSIHI): without one of them the others are of no use.
    pub is_integrated: bool,
    /// Time at which the delay budget of the set is over; [`Time::NEVER`] without a budget.
    pub deadline: Time,
}

impl PduSet {
    /// Whether the packet is the last of its set.
    pub const fn is_last(&self) -> bool {
        self.pdu + 1 == self.pdus
    }
}

/// Number of sets that [`DiscardedSets`] remembers.
const REMEMBERED: usize = 32;

/// The sets of which a queue has discarded packets, so that those which come later are discarded too: the latest 32.
#[derive(Clone, Copy, Debug)]
pub struct DiscardedSets {
    /// Flow and number of each set, a ring; [`u32::MAX`] for both where there is none.
    sets: [(u32, u32); REMEMBERED],
    next: usize,
}

impl Default for DiscardedSets {
    fn default() -> DiscardedSets {
        DiscardedSets { sets: [(u32::MAX, u32::MAX); REMEMBERED], next: 0 }
    }
}

impl DiscardedSets {
    /// Adds set `number` of `flow`, in place of the oldest.
    pub fn add(&mut self, flow: u32, number: u32) {
        if !self.contains(flow, number) {
            self.sets[self.next] = (flow, number);
            self.next = (self.next + 1) % REMEMBERED;
        }
    }
    /// Whether set `number` of `flow` was discarded.
    pub fn contains(&self, flow: u32, number: u32) -> bool {
        self.sets.contains(&(flow, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_sets_are_remembered_each_once() {
        let mut sets = DiscardedSets::default();
        for number in 0..40 {
            sets.add(7, number);
            sets.add(7, number);
        }
        assert!((8..40).all(|number| sets.contains(7, number)));
        assert!(!(0..8).any(|number| sets.contains(7, number)) && !sets.contains(8, 39));
    }

    #[test]
    fn the_last_packet_of_a_set_has_the_highest_number() {
        let of = |pdu, pdus| PduSet {
            number: 0,
            pdu,
            pdus,
            bytes: 0,
            importance: 1,
            is_integrated: true,
            deadline: Time::NEVER,
        };
        assert!(of(0, 1).is_last() && of(4, 5).is_last() && !of(0, 2).is_last());
    }
}
