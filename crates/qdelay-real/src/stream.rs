//! Bytes of a TCP flow that were sent, retransmitted and received in order, derived from the headers of its segments.

/// Bytes of one direction of a connection, numbered from 0; numbers do not wrap.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The sequence number of byte 0, once a SYN was seen.
    first: Option<u32>,
    /// Number after the highest byte that was sent.
    sent: u64,
    /// Number of bytes received in order.
    arrived: u64,
    /// Ranges received beyond a gap: ascending and disjoint.
    beyond: Vec<(u64, u64)>,
    /// Number of segments with data.
    pub segments: u64,
    /// Number of segments whose bytes had all been sent before.
    pub retransmits: u64,
}

impl Stream {
    /// Records that a segment of `bytes` bytes is sent.
    pub fn send(&mut self, sequence: u32, bytes: u32, is_syn: bool) {
        if is_syn {
            self.first.get_or_insert(sequence.wrapping_add(1));
        }
        let Some(end) = self.sent_to(sequence, bytes) else { return };
        self.segments += 1;
        self.retransmits += u64::from(end <= self.sent);
        self.sent = self.sent.max(end);
    }

    /// Number of bytes of the connection up to the end of a segment of `bytes`; `None` if the segment has none.
    pub fn sent_to(&self, sequence: u32, bytes: u32) -> Option<u64> {
        if bytes == 0 { None } else { Some(self.number(sequence)? + u64::from(bytes)) }
    }

    /// Records that a segment of `bytes` bytes arrives. Returns the number of bytes that have arrived in order.
    pub fn arrive(&mut self, sequence: u32, bytes: u32) -> u64 {
        if let Some(end) = self.sent_to(sequence, bytes) {
            self.insert(end - u64::from(bytes), end);
        }
        self.arrived
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start > self.arrived {
            // The new range merges with all ranges that it touches.
            let from = self.beyond.partition_point(|range| range.1 < start);
            let to = self.beyond.partition_point(|range| range.0 <= end);
            let mut whole = (start, end);
            if let (Some(first), Some(last)) = (self.beyond.get(from), self.beyond[..to].last())
                && from < to
            {
                whole = (start.min(first.0), end.max(last.1));
            }
            self.beyond.splice(from..to, [whole]);
            return;
        }
        self.arrived = self.arrived.max(end);
        let reached = self.beyond.partition_point(|range| range.0 <= self.arrived);
        if let Some(last) = self.beyond.drain(..reached).next_back() {
            self.arrived = self.arrived.max(last.1);
        }
    }

    /// Number of the byte with this sequence number: the candidate nearest to the last byte sent.
    fn number(&self, sequence: u32) -> Option<u64> {
        let ahead = sequence.wrapping_sub(self.first?).wrapping_sub(self.sent as u32).cast_signed();
        self.sent.checked_add_signed(i64::from(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_a_gap_count_once_it_is_filled() {
        let mut stream = Stream::default();
        // The sequence numbers wrap within the test.
        let first = u32::MAX - 150;
        stream.send(first.wrapping_sub(1), 0, true);
        for at in [0, 100, 200, 300, 400, 100] {
            stream.send(first.wrapping_add(at), 100, false);
        }
        assert_eq!((stream.segments, stream.retransmits), (6, 1));
        let mut arrive = |at: u32| stream.arrive(first.wrapping_add(at), 100);
        assert_eq!([0, 200, 400, 300, 0, 100].map(&mut arrive), [100, 100, 100, 100, 100, 500]);
        assert!(stream.beyond.is_empty());
    }

    #[test]
    fn stream_agrees_with_a_set_of_bytes() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut stream = Stream { first: Some(5), sent: 200, ..Stream::default() };
            let mut has = [false; 200];
            for _ in 0..40 {
                let start = next(180);
                let bytes = 1 + next(20);
                has[start as usize..(start + bytes) as usize].fill(true);
                let arrived = stream.arrive(5 + start as u32, bytes as u32);
                let expected = has.iter().position(|has| !has).unwrap_or(200);
                assert_eq!(arrived, expected as u64);
            }
        }
    }
}
