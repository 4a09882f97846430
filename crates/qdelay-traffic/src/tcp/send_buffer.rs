//! The sender's socket buffer: the bound on data written and not acknowledged.
//!
//! The application writes until the buffer is full, and again when a third of it is free (Linux `sk_stream_write_space`). The buffer counts
//! memory: the data, and the bookkeeping of each piece (`sk_wmem_queued`). Unsent data is in pieces of up to 64 kB, sent data in the bursts in
//! which it was sent. A paced flow with small bursts therefore holds less data than one with large bursts. Pieces
//! that retransmissions split from bursts are not counted.

use super::MAX_BURST;

/// Bookkeeping of each piece, bytes (Linux 6.12 `tcp_stream_alloc_skb` on x86-64).
const PIECE_BYTES: u64 = 896;

/// State of the socket buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// One past the last byte that the application has to write.
    end: u64,
    /// Sequence number whose acknowledgement lets the application write again; [`u64::MAX`] once it has written everything.
    writes_at: u64,
    /// Whether the application closes once it has written everything.
    closes: bool,
}

/// The data in the buffer, as the sender counts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// First sequence number not acknowledged.
    pub una: u64,
    /// Next sequence number to send.
    pub nxt: u64,
    /// One past the last byte written.
    pub write_end: u64,
    /// Bursts sent and not completely acknowledged.
    pub bursts: u32,
    /// Application bytes of a full segment.
    pub mss: u64,
    /// Size of the buffer, bytes; [`u64::MAX`] for no bound.
    pub max: u64,
}

impl SendBuffer {
    /// The buffer of an application that has written nothing; `end` is the first byte's number.
    pub fn new(end: u64) -> SendBuffer {
        SendBuffer { end, writes_at: u64::MAX, closes: false }
    }

    /// The application has `bytes` more bytes to write.
    pub fn offer(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
    }

    /// The application closes once it has written everything.
    pub fn close(&mut self) {
        self.closes = true;
    }

    /// Whether the application closes once it has written everything.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// One past the last byte that the application has to write.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether an acknowledgement up to `una` lets the application write again.
    #[inline]
    pub fn is_due(&self, una: u64) -> bool {
        una >= self.writes_at
    }

    /// The application writes until the buffer is full. Returns one past the last byte written.
    pub fn fill(&mut self, held: &Held) -> u64 {
        if held.max == u64::MAX { self.end } else { self.fill_bounded(held) }
    }

    fn fill_bounded(&mut self, held: &Held) -> u64 {
        let Held { una, nxt, mut write_end, max, .. } = *held;
        let piece = MAX_BURST / held.mss * held.mss;
        let waiting = write_end.saturating_sub(nxt).div_ceil(piece);
        let pieces = u64::from(held.bursts) + waiting;
        let used = write_end.saturating_sub(una) + pieces * PIECE_BYTES;
        if used <= max / 3 * 2 {
            // A new piece may begin while there is any room.
            let more = (max - used).div_ceil(piece + PIECE_BYTES) * piece;
            write_end = self.end.min(write_end + more);
        }
        // The bookkeeping of future bursts is unknown, so this time may be too early: the application then tries again.
        self.writes_at =
            if write_end == self.end { u64::MAX } else { write_end.saturating_sub(max / 3 * 2).max(una + 1) };
        debug_assert!(
            held.write_end <= write_end && write_end <= self.end,
            "written beyond the application's data"
        );
        write_end
    }
}
