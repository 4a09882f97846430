//! Conversion of video packets to the contents of packets on the path and back.
//!
//! A frame is a PDU set (3GPP release 18), and a packet has the marks of the RTP header extension for these (TS 26.522 clause 4.2).
//!
//! A video packet is SRTP with the header extension for transport-wide sequence numbers; see [`HEADER_BYTES`].

use crate::ends::Contents;
use crate::segment::Segment;
use qdelay_core::{PduSet, Span, Time};

/// Bytes of headers in a packet: IPv4 and UDP (28), RTP (12), the header extension (8), and the tag of SRTP (10).
pub const HEADER_BYTES: u32 = 58;

const KEY: u8 = 1;
const RESENT: u8 = 2;
const PADDING: u8 = 4;

/// A packet of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoPacket {
    /// Number of the packet within the video, from 0; a retransmission has the same number.
    pub seq: u32,
    /// Number of the frame.
    pub frame: u32,
    /// Number of packets of the frame.
    pub count: u16,
    /// Number of the packet within the frame, from 0.
    pub index: u16,
    /// IP bytes of all packets of the frame.
    pub frame_bytes: u32,
    /// Importance of the frame as a PDU set, 1 (the most important) to 15.
    pub importance: u8,
    /// Payload: bytes of the frame in this packet.
    pub payload: u16,
    /// Capture time of the frame.
    pub captured: Time,
    /// Index of the picture size in [`super::ladder::SIZES`].
    pub size: u8,
    /// Whether the frame is a key frame.
    pub is_key: bool,
    /// Whether the packet is a retransmission.
    pub is_resent: bool,
    /// Whether the packet is padding, which fills up a probe.
    pub is_padding: bool,
    /// The sender's round trip, from which the receiver times its requests; WebRTC has extended reports for this (RFC 3611).
    pub rtt: Span,
}

impl VideoPacket {
    /// Size of the IP packet, bytes.
    pub fn bytes(&self) -> u32 {
        HEADER_BYTES + u32::from(self.payload)
    }

    /// Contents of packet `number` of the flow, sent at `now`.
    pub(crate) fn contents(&self, now: Time, number: u64) -> Contents {
        let captured = self.captured.as_nanos();
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let mut segment = Segment {
            seq: self.seq,
            ack: self.frame,
            window: u32::from(self.count) | u32::from(self.size) << 16 | u32::from(self.importance) << 24,
            ts_value: captured as u32,
            ts_echo: (captured >> 32) as u32,
            len: self.payload,
            flags: flag(self.is_key, KEY) | flag(self.is_resent, RESENT) | flag(self.is_padding, PADDING),
            ..Segment::default()
        };
        segment.sack[0].0 = u32::try_from(self.rtt.as_micros()).unwrap_or(u32::MAX);
        segment.sack[1] = (u32::from(self.index), self.frame_bytes);
        Contents { segment, created: now, number }
    }

    /// The PDU set of a packet with these contents, without what is of its QoS flow: a deadline, and whether all packets are needed. `None`
    /// for padding and retransmissions.
    pub fn pdu_set(contents: &Contents) -> Option<PduSet> {
        let packet = VideoPacket::from_contents(contents);
        (!packet.is_resent && !packet.is_padding && packet.count > 0).then_some(PduSet {
            number: packet.frame,
            pdu: packet.index,
            pdus: packet.count,
            bytes: packet.frame_bytes,
            importance: packet.importance,
            is_integrated: false,
            deadline: Time::NEVER,
        })
    }

    /// Video packet with these contents.
    pub(crate) fn from_contents(contents: &Contents) -> VideoPacket {
        let segment = &contents.segment;
        VideoPacket {
            seq: segment.seq,
            frame: segment.ack,
            count: segment.window as u16,
            index: segment.sack[1].0 as u16,
            frame_bytes: segment.sack[1].1,
            importance: (segment.window >> 24) as u8,
            size: (segment.window >> 16) as u8,
            payload: segment.len,
            captured: Time::from_nanos(u64::from(segment.ts_value) | u64::from(segment.ts_echo) << 32),
            is_key: segment.flags & KEY != 0,
            is_resent: segment.flags & RESENT != 0,
            is_padding: segment.flags & PADDING != 0,
            rtt: Span::from_micros(u64::from(segment.sack[0].0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_survives_the_conversion() {
        let packet = VideoPacket {
            seq: 7,
            frame: u32::MAX,
            count: 300,
            index: 299,
            frame_bytes: 377_400,
            importance: 15,
            payload: 1200,
            captured: Time::from_nanos(0x1_2345_6789),
            size: 5,
            is_key: true,
            is_resent: false,
            is_padding: true,
            rtt: Span::from_millis(80),
        };
        assert_eq!(VideoPacket::from_contents(&packet.contents(Time::from_nanos(9), 3)), packet);
    }

    #[test]
    fn a_packet_that_is_sent_for_the_first_time_belongs_to_the_set_of_its_frame() {
        let packet = VideoPacket {
            frame: 9,
            count: 3,
            index: 2,
            frame_bytes: 3774,
            importance: 8,
            ..VideoPacket::default()
        };
        let of = |packet: &VideoPacket| VideoPacket::pdu_set(&packet.contents(Time::ZERO, 0));
        let set = of(&packet).unwrap();
        assert_eq!((set.number, set.pdu, set.pdus, set.bytes, set.importance), (9, 2, 3, 3774, 8));
        assert!(set.is_last() && !set.is_integrated && set.deadline == Time::NEVER);
        assert_eq!(of(&VideoPacket { is_resent: true, ..packet }), None);
        assert_eq!(of(&VideoPacket { is_padding: true, ..packet }), None);
    }
}
