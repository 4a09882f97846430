//! Independent state of a connection, computed from the segments on the wire only.

use super::Net;
use qdelay_core::Time;
use qdelay_traffic::segment::{Segment, flag};
use std::collections::BTreeMap;

/// State of one direction of data.
#[derive(Default)]
pub struct Stream {
    /// Bytes written, and whether a FIN follows.
    pub written: u64,
    pub closed: bool,
    /// One past the highest number sent.
    pub nxt: u64,
    /// Number of transmissions of each unacknowledged segment, by its first sequence number.
    pub attempts: BTreeMap<u64, u32>,
    pub data_segments: u64,
    pub again: u64,
    /// Ranges that have arrived, merged.
    pub arrived: BTreeMap<u64, u64>,
    pub fin_arrived: bool,
    /// Highest acknowledgement that has reached the sender.
    pub una: u64,
    pub edge: u64,
    /// Highest acknowledgement that the receiver has sent.
    pub acked: u64,
    pub last_block: Option<(u64, u64)>,
    /// Range that arrived before the latest one.
    pub block_before: Option<(u64, u64)>,
}

impl Stream {
    pub fn prefix(&self) -> u64 {
        self.arrived.get(&1).copied().unwrap_or(1)
    }
    pub fn covered(&self, start: u64, end: u64) -> bool {
        self.arrived.range(..=start).next_back().is_some_and(|(_, &high)| high >= end)
    }
    pub fn arrive(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        while let Some((&low, &high)) = self.arrived.range(..=end).next_back() {
            if high < start {
                break;
            }
            start = start.min(low);
            end = end.max(high);
            self.arrived.remove(&low);
        }
        self.arrived.insert(start, end);
    }
}

/// The 64-bit number nearest to `near` whose low half is `wire`.
pub fn widen(wire: u32, near: u64) -> u64 {
    let base = near & !0xffff_ffff | u64::from(wire);
    let candidates = [base.wrapping_sub(1 << 32), base, base.wrapping_add(1 << 32)];
    *candidates.iter().min_by_key(|c| c.abs_diff(near)).unwrap()
}

impl Net {
    pub fn check_sent(&self, side: usize, segment: &Segment) {
        assert_eq!(segment.ts_value, (self.now.as_nanos() / 1000) as u32);
        if segment.has(flag::SYN) {
            return;
        }
        let (own, other) = (&self.streams[side], &self.streams[1 - side]);
        let seq = widen(segment.seq, own.nxt);
        let end = seq + u64::from(segment.len);
        let fin = segment.has(flag::FIN);
        assert!(u32::from(segment.len) <= self.profile.mss);
        let limit = 1 + own.written + u64::from(own.closed && segment.len == 0);
        assert!(end <= limit, "bytes that were never written: {segment:?}");
        assert!(!fin || (own.closed && end == 1 + own.written), "a FIN too early: {segment:?}");
        if segment.len > 0 || fin {
            assert!(seq <= own.nxt, "a hole in what is sent: {segment:?}");
            // A retransmission has the boundaries of the original.
            assert!(seq == own.nxt || own.attempts.contains_key(&seq), "cut anew: {segment:?}");
            assert!(
                self.edge_may_be_passed || end <= own.edge,
                "beyond the receive window, whose right edge is {}: {segment:?}",
                own.edge
            );
            assert!(seq + 1 > own.una || end + u64::from(fin) > own.una, "acknowledged already: {segment:?}");
        }
        // Acknowledgement: what the oracle has seen arrive in order.
        if segment.has(flag::ACK) {
            let ack = widen(segment.ack, other.acked);
            assert!(ack <= other.prefix(), "{ack} acknowledged, {} arrived: {segment:?}", other.prefix());
            assert!(ack >= other.acked, "an acknowledgement moved back: {segment:?}");
            // The first block contains the latest arrival (RFC 2018 section 4), but may follow the block of a duplicate
            // (RFC 2883). Since Linux 5.8 a held-back acknowledgement may leave without the latest arrival.
            let blocks =
                || segment.sack_blocks().iter().map(|block| (widen(block.0, ack), widen(block.1, ack)));
            let holds = |part: (u64, u64)| move |block: (u64, u64)| block.0 <= part.0 && part.1 <= block.1;
            let is_in = other.last_block.is_some_and(|last| blocks().any(holds(last)));
            let newest = if is_in { other.last_block } else { other.block_before };
            if let Some(newest) = newest.filter(|newest| newest.0 > ack && segment.sack_count > 0) {
                assert!(blocks().take(2).any(holds(newest)), "{newest:?} arrived last: {segment:?}");
            }
            for (i, &(start, end)) in segment.sack_blocks().iter().enumerate() {
                let (start, end) = (widen(start, ack), widen(end, ack));
                assert!(start < end && other.covered(start, end), "block {i} never arrived: {segment:?}");
                assert!(i == 0 || start > ack, "block {i} is not above the acknowledgement: {segment:?}");
            }
        }
    }

    pub fn check_state(&mut self) {
        for side in 0..2 {
            let (own, end) = (&self.streams[side], &self.ends[side]);
            let sender = end.sender();
            let counts = sender.counts();
            assert_eq!(counts.segments_sent, own.data_segments, "{counts:?}");
            assert_eq!(counts.retransmits, own.again, "{counts:?}");
            assert!(counts.retransmits <= counts.segments_sent);
            assert_eq!(sender.next_sequence(), own.nxt);
            assert!(sender.window().cwnd >= 1, "{:?}", sender.window());
            assert!(sender.window().ssthresh >= 2, "{:?}", sender.window());
            let outstanding = own.attempts.len() as u64;
            assert!(u64::from(sender.in_flight()) <= 2 * outstanding, "{}", self.describe());
            if own.una >= own.nxt {
                assert_eq!(sender.in_flight(), 0, "{}", self.describe());
            }
            let prefix = self.streams[1 - side].prefix();
            assert_eq!(end.receiver().next(), prefix, "side {side} has another count of what arrived");
            let fin = u64::from(end.receiver().is_finished());
            assert_eq!(end.bytes_received(), prefix - 1 - fin);
        }
    }

    pub fn check_end(&mut self) {
        for side in 0..2 {
            let stream = &self.streams[side];
            assert_eq!(self.ends[1 - side].bytes_received(), stream.written);
            assert_eq!(self.ends[1 - side].receiver().is_finished(), stream.closed);
            assert_eq!(self.ends[side].sender().in_flight(), 0);
        }
        // Late segments have no effect, and finally all timers are off.
        let mut left = 100_000;
        while self.next_event() != Time::NEVER && left > 0 {
            self.step();
            left -= 1;
        }
        assert_eq!(self.next_event(), Time::NEVER, "timers never end: {}", self.describe());
        for side in 0..2 {
            assert_eq!(self.ends[1 - side].bytes_received(), self.streams[side].written);
        }
    }
}
