//! Conversion of headers and reports to the contents of packets and back.

use super::{DataHeader, Report, TICKS};
use crate::ends::Contents;
use crate::segment::Segment;
use qdelay_core::{Span, Time};

impl DataHeader {
    /// Contents of a packet with this header that is sent at `now`.
    pub(super) fn contents(&self, now: Time) -> Contents {
        let segment = Segment {
            ts_value: self.time_to_next.as_micros() as u32,
            ts_echo: u32::try_from(self.seq - self.throwaway).unwrap_or(u32::MAX),
            ..Segment::default()
        };
        Contents { segment, created: now, number: self.seq }
    }

    /// Header of a packet with these contents.
    pub(super) fn from_contents(contents: &Contents) -> DataHeader {
        let Contents { segment, number, .. } = contents;
        DataHeader {
            seq: *number,
            throwaway: number.saturating_sub(u64::from(segment.ts_echo)),
            time_to_next: Span::from_micros(u64::from(segment.ts_value)),
        }
    }
}

impl Report {
    /// Contents of a packet with this report.
    pub(super) fn contents(&self) -> Contents {
        let mut segment = Segment::default();
        for (tick, &count) in self.forecast.iter().enumerate() {
            let (low, high) = &mut segment.sack[tick / 4];
            let half = if tick % 4 < 2 { low } else { high };
            *half |= u32::from(count) << (16 * (tick % 2));
        }
        Contents { segment, created: self.time, number: self.received_or_lost }
    }

    /// Report of a packet with these contents.
    pub(super) fn from_contents(contents: &Contents) -> Report {
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
    fn headers_and_reports_survive_the_conversion() {
        let header =
            DataHeader { seq: 1 << 40, throwaway: (1 << 40) - 9000, time_to_next: Span::from_millis(50) };
        assert_eq!(DataHeader::from_contents(&header.contents(Time::from_nanos(7))), header);
        let forecast = [0, 1, 300, 65_535, 5, 65_535, 7, 8];
        let report = Report { time: Time::from_nanos(9), received_or_lost: u64::MAX, forecast };
        assert_eq!(Report::from_contents(&report.contents()), report);
    }
}
