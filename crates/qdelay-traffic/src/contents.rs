//! The contents of packets: TCP segments, datagrams, and the data and reports of TFRC.

use crate::audio::AudioHeader;
use crate::segment::Segment;
use crate::tfrc::DataHeader;
use qdelay_core::{Span, Time};

/// The contents of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents {
    /// The TCP segment; empty for datagrams. Data packets of TFRC store their header here: see [`Contents::of_data`].
    pub segment: Segment,
    /// Time at which the packet entered the path; for a datagram that the far end echoes, that of the forward path.
    pub created: Time,
    /// Number of the datagram or TFRC report within its flow, from 0.
    pub number: u64,
}

const _: () = assert!(core::mem::size_of::<Contents>() == 64);

impl Contents {
    /// Contents of a TFRC data packet. The header takes the place of the TCP segment's fields, so that all contents have 64 bytes.
    pub fn of_data(header: &AudioHeader) -> Contents {
        let rtt = header.data.rtt.as_nanos();
        let segment = Segment {
            seq: header.data.seq,
            ack: header.data.lane_seq,
            ts_value: rtt as u32,
            ts_echo: (rtt >> 32) as u32,
            len: u16::from(header.call),
            flags: header.data.lane,
            ..Segment::default()
        };
        Contents { segment, created: header.data.sent, number: 0 }
    }

    /// The header that [`Contents::of_data`] stored.
    pub fn data(&self) -> AudioHeader {
        let Contents { segment, created, .. } = self;
        let rtt = Span::from_nanos(u64::from(segment.ts_value) | u64::from(segment.ts_echo) << 32);
        AudioHeader {
            call: segment.len as u8,
            data: DataHeader {
                seq: segment.seq,
                lane: segment.flags,
                lane_seq: segment.ack,
                sent: *created,
                rtt,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_header_is_read_back_unchanged() {
        for lane in 0..2 {
            let (sent, rtt) = (Time::from_nanos(8), Span::from_nanos(0x1_2345_6789));
            let data = DataHeader { seq: 7, lane, lane_seq: u32::MAX, sent, rtt };
            let header = AudioHeader { call: 255, data };
            assert_eq!(Contents::of_data(&header).data(), header);
        }
    }
}
