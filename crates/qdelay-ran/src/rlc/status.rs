//! Status reports: what the receiver of acknowledged mode tells the sender (TS 36.322 clause 6.2.1.6, TS 38.322 clause
//! 6.2.2.5).

use super::header::{gap_bits, status_bits};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::Time;

/// Something that has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// NACK_SN.
    pub sn: u32,
    /// PDUs in a row from `sn` on that are missing as a whole; more than 1 in NR only.
    pub count: u32,
    /// First byte that is missing.
    pub from: u32,
    /// The byte after the last; `None`: all that follow, or the PDU as a whole where `from` is 0.
    pub to: Option<u32>,
}

impl Gap {
    /// Without offsets: as a whole.
    pub fn is_whole(&self) -> bool {
        self.from == 0 && self.to.is_none()
    }
}

/// A report, as it is written or read.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    /// ACK_SN: everything before it has come, but for the gaps.
    pub ack_sn: u32,
    /// In the order of their numbers.
    pub gaps: Vec<Gap>,
    bits: u64,
    lte: bool,
    sn_bits: u8,
}

/// NR counts up to so many PDUs in one gap.
const COUNT_MAX: u32 = 255;

impl Status {
    /// Begins a new one.
    pub fn clear(&mut self, lte: bool, sn_bits: u8) {
        self.gaps.clear();
        (self.lte, self.sn_bits, self.bits) = (lte, sn_bits, status_bits(lte));
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// Adds a gap, where the report does not grow above `limit_bytes` with it.
    pub fn add(&mut self, gap: Gap, limit_bytes: u32) -> bool {
        let limit_bits = u64::from(limit_bytes) * 8;
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

/// Reports on their way up, in the order they were written, reused with what they have allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct StatusMail {
    flying: VecDeque<(Time, Status)>,
    spare: Vec<Status>,
}

impl StatusMail {
    /// A report to write on.
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
    /// Done with `status`.
    pub fn discard(&mut self, status: Status) {
        self.spare.push(status);
    }
    /// When the next one arrives.
    pub fn next_arrival(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |&(arrival, _)| arrival)
    }
    /// Whatever is on its way means nothing any more.
    pub fn clear(&mut self) {
        self.spare.extend(self.flying.drain(..).map(|(_, status)| status));
    }
}
