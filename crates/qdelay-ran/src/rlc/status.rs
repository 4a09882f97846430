//! Status reports from the receiver of acknowledged mode to the sender (TS 36.322 clause 6.2.1.6, TS 38.322 clause 6.2.2.5).

use super::header::{gap_bits, status_bits};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::Time;

/// A gap: missing data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// NACK_SN: the missing sequence number.
    pub sn: u32,
    /// Number of consecutive PDUs from `sn` on that are missing as a whole; more than 1 in NR only.
    pub count: u32,
    /// First missing byte.
    pub from: u32,
    /// The byte after the last; `None`: all following bytes, or the whole PDU if `from` is 0.
    pub to: Option<u32>,
}

impl Gap {
    /// Returns true if the gap has no offsets: the whole PDU is missing.
    pub fn is_whole(&self) -> bool {
        self.from == 0 && self.to.is_none()
    }
}

/// A report, as it is written or read.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    /// ACK_SN: all data before it has arrived, except the gaps.
    pub ack_sn: u32,
    /// Gaps, in the order of their sequence numbers.
    pub gaps: Vec<Gap>,
    bits: u64,
    lte: bool,
    sn_bits: u8,
}

/// NR's largest number of PDUs in one gap.
const COUNT_MAX: u32 = 255;

impl Status {
    /// Starts a new report.
    pub fn clear(&mut self, lte: bool, sn_bits: u8) {
        self.gaps.clear();
        (self.lte, self.sn_bits, self.bits) = (lte, sn_bits, status_bits(lte));
    }

    /// Size of the report in bytes.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// Adds a gap, unless the report would exceed `limit_bytes`. Returns true if it was added.
    pub fn add(&mut self, gap: Gap, limit_bytes: u32) -> bool {
        debug_assert!(gap.count > 0, "a gap has at least one PDU");
        let limit_bits = u64::from(limit_bytes) * 8;
        // NR reports a row of whole PDUs as one gap with a count (NACK range), which saves bytes.
        if let Some(last) = self.gaps.last_mut()
            && !self.lte
            && gap.is_whole()
            && last.is_whole()
            && last.count < COUNT_MAX
            && (last.sn + last.count) & ((1 << self.sn_bits) - 1) == gap.sn
        {
            let more = if last.count == 1 {
                gap_bits(false, self.sn_bits, false, true) - gap_bits(false, self.sn_bits, false, false)
            } else {
                0
            };
            if self.bits + more > limit_bits {
                return false;
            }
            last.count += 1;
            self.bits += more;
            return true;
        }
        let more = gap_bits(self.lte, self.sn_bits, !gap.is_whole(), false);
        let fits = self.bits + more <= limit_bits;
        if fits {
            self.gaps.push(gap);
            self.bits += more;
        }
        fits
    }
}

/// Reports in transit on the uplink, in the order in which they were written, reused with their allocations.
#[derive(Clone, Debug, Default)]
pub(super) struct StatusQueue {
    flying: VecDeque<(Time, Status)>,
    spare: Vec<Status>,
}

impl StatusQueue {
    /// An empty report to write to.
    pub fn blank(&mut self) -> Status {
        self.spare.pop().unwrap_or_default()
    }
    /// Sends `status`, to arrive at `arrival`.
    pub fn send(&mut self, arrival: Time, status: Status) {
        self.flying.push_back((arrival, status));
    }
    /// The next report that has arrived by `now`.
    pub fn receive(&mut self, now: Time) -> Option<Status> {
        if self.next_arrival() > now {
            return None;
        }
        self.flying.pop_front().map(|(_, status)| status)
    }
    /// Returns `status` for reuse.
    pub fn discard(&mut self, status: Status) {
        self.spare.push(status);
    }
    /// The arrival time of the next report.
    pub fn next_arrival(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |&(arrival, _)| arrival)
    }
    /// Discards all reports in transit.
    pub fn clear(&mut self) {
        self.spare.extend(self.flying.drain(..).map(|(_, status)| status));
    }
}
