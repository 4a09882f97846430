//! Headers and reports as the contents of packets.

use super::{DataHeader, Report, TICKS};
use crate::ends::Contents;
use crate::segment::Segment;
use qdelay_core::{Span, Time};

impl DataHeader {
    /// As the contents of a packet that is sent at `now`.
    pub(super) fn contents(&self, now: Time) -> Contents {
        let segment = Segment {
            ts_value: self.time_to_next.as_micros() as u32,
            ts_echo: u32::try_from(self.seq - self.throwaway).unwrap_or(u32::MAX),
            ..Segment::default()
        };
        Contents { segment, created: now, number: self.seq }
    }

    /// Of the contents of a packet.
    pub(super) fn of(contents: &Contents) -> DataHeader {
        let Contents { segment, number, .. } = contents;
        DataHeader {
            seq: *number,
            throwaway: number.saturating_sub(u64::from(segment.ts_echo)),
            time_to_next: Span::from_micros(u64::from(segment.ts_value)),
        }
    }
}

impl Report {
    /// As the contents of a packet.
    pub(super) fn contents(&self) -> Contents {
        let mut segment = Segment::default();
        for (tick, &count) in self.forecast.iter().enumerate() {
            let (low, high) = &mut segment.sack[tick / 4];
            let half = if tick % 4 < 2 { low } else { high };
            *half |= u32::from(count) << (16 * (tick % 2));
        }
        Contents { segment, created: self.time, number: self.received_or_lost }
    }

    /// Of the contents of a packet.
    pub(super) fn of(contents: &Contents) -> Report {
        let mut forecast = [0; TICKS];
        for (tick, count) in forecast.iter_mut().enumerate() {
            let (low, high) = contents.segment.sack[tick / 4];
            let half = if tick % 4 < 2 { low } else { high };
            *count = (half >> (16 * (tick % 2))) as u16;
        }
        Report { time: contents.created, received_or_lost: contents.number, forecast }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read() {
        let header =
            DataHeader { seq: 1 << 40, throwaway: (1 << 40) - 9000, time_to_next: Span::from_millis(50) };
        assert_eq!(DataHeader::of(&header.contents(Time::from_nanos(7))), header);
        let forecast = [0, 1, 300, 65_535, 5, 65_535, 7, 8];
        let report = Report { time: Time::from_nanos(9), received_or_lost: u64::MAX, forecast };
        assert_eq!(Report::of(&report.contents()), report);
    }
}
