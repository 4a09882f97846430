//! The sender's socket buffer: how much the application may have written that is not acknowledged.
//!
//! The application writes until the buffer is full, and again when a third of it is free (Linux `sk_stream_write_space`). What counts is
//! memory: the data, and the bookkeeping of each piece it is kept in (`sk_wmem_queued`). Data that waits is in pieces of up to 64 kB; data that
//! was sent is in the bursts that it was sent in. So a paced flow, whose bursts are small, holds less than one that sends large ones. Pieces
//! that retransmissions cut out of bursts are not counted.

use super::sender::Sender;
use super::transmit::MAX_BURST;

/// Bytes of bookkeeping for each piece (Linux `tcp_stream_alloc_skb`: 6.12 on x86-64).
const PIECE_BYTES: u64 = 896;

/// The buffer's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// One past the last byte that the application has to write.
    end: u64,
    /// The application cannot write again before this number is acknowledged; [`u64::MAX`] where it has written everything.
    writes_at: u64,
    /// Whether the application will close when it has written everything.
    closes: bool,
}

impl SendBuffer {
    /// Of an application that has written nothing yet; `end` is the first byte's number.
    pub fn new(end: u64) -> SendBuffer {
        SendBuffer { end, writes_at: u64::MAX, closes: false }
    }
}

impl Sender {
    /// The application has `bytes` more to write.
    pub(super) fn offer(&mut self, bytes: u64) {
        self.buffer.end = self.buffer.end.saturating_add(bytes);
        self.fill_buffer();
    }

    /// A FIN follows the last byte.
    pub fn close(&mut self) {
        self.buffer.closes = true;
        self.closed = self.has_written_all();
    }

    /// Whether the application waits for nothing to write.
    pub(super) fn has_written_all(&self) -> bool {
        self.write_end == self.buffer.end
    }

    /// Has the application write again if there is room.
    #[inline]
    pub(super) fn write_again(&mut self) {
        if self.una >= self.buffer.writes_at {
            self.check_app_limit();
            self.fill_buffer();
        }
    }

    fn fill_buffer(&mut self) {
        let max = self.profile.send_buffer_max;
        if max == u64::MAX {
            self.write_end = self.buffer.end;
        } else {
            self.fill_bounded(max);
        }
        self.closed = self.buffer.closes && self.has_written_all();
    }

    fn fill_bounded(&mut self, max: u64) {
        let mss = u64::from(self.profile.mss);
        let piece = MAX_BURST / mss * mss;
        let waiting = self.write_end.saturating_sub(self.nxt).div_ceil(piece);
        let pieces = u64::from(self.board.bursts()) + waiting;
        let held = self.write_end.saturating_sub(self.una) + pieces * PIECE_BYTES;
        if held <= max / 3 * 2 {
            // A piece may be begun while there is any room.
            let more = (max - held).div_ceil(piece + PIECE_BYTES) * piece;
            self.write_end = self.buffer.end.min(self.write_end + more);
        }
        // The bookkeeping of what was sent is not known in advance: this may be too early, and is then tried again.
        self.buffer.writes_at = if self.has_written_all() {
            u64::MAX
        } else {
            self.write_end.saturating_sub(max / 3 * 2).max(self.una + 1)
        };
    }
}
