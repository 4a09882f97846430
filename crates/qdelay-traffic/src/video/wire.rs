//! Packets of video as the contents of packets of the path.
//!
//! A packet is RTP with the extension for transport-wide numbers, encrypted; see [`HEADER_BYTES`].

use crate::ends::Contents;
use crate::segment::Segment;
use qdelay_core::{Span, Time};

/// Bytes of a packet that are no picture: IPv4 and UDP (28), RTP (12), its extension (8), and the tag of SRTP (10).
pub const HEADER_BYTES: u32 = 58;

const KEY: u8 = 1;
const RESENT: u8 = 2;
const PADDING: u8 = 4;

/// A packet of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoPacket {
    /// Its number among the packets of the video, from 0; the same when it is sent again.
    pub seq: u32,
    /// Number of its frame.
    pub frame: u32,
    /// Packets of the frame.
    pub count: u16,
    /// Bytes of the frame in it.
    pub payload: u16,
    /// When the picture was taken.
    pub captured: Time,
    /// Index of the size of the picture.
    pub size: u8,
    /// Whether the frame can be decoded without others.
    pub is_key: bool,
    /// Whether it was sent before.
    pub is_resent: bool,
    /// Whether there is no video in it: what makes a probe long enough.
    pub is_padding: bool,
    /// The sender's round trip, so that the receiver knows how long an answer takes; WebRTC has reports for that (RFC 3611).
    pub rtt: Span,
}

impl VideoPacket {
    /// IP packet size.
    pub fn bytes(&self) -> u32 {
        HEADER_BYTES + u32::from(self.payload)
    }

    /// As the contents of packet `number` of the flow, sent at `now`.
    pub(crate) fn contents(&self, now: Time, number: u64) -> Contents {
        let captured = self.captured.as_nanos();
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let mut segment = Segment {
            seq: self.seq,
            ack: self.frame,
            window: u32::from(self.count) | u32::from(self.size) << 16,
            ts_value: captured as u32,
            ts_echo: (captured >> 32) as u32,
            len: self.payload,
            flags: flag(self.is_key, KEY) | flag(self.is_resent, RESENT) | flag(self.is_padding, PADDING),
            ..Segment::default()
        };
        segment.sack[0].0 = u32::try_from(self.rtt.as_micros()).unwrap_or(u32::MAX);
        Contents { segment, created: now, number }
    }

    /// Of the contents of a packet.
    pub(crate) fn of(contents: &Contents) -> VideoPacket {
        let segment = &contents.segment;
        VideoPacket {
            seq: segment.seq,
            frame: segment.ack,
            count: segment.window as u16,
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
    fn what_is_sent_is_read() {
        let packet = VideoPacket {
            seq: 7,
            frame: u32::MAX,
            count: 300,
            payload: 1200,
            captured: Time::from_nanos(0x1_2345_6789),
            size: 5,
            is_key: true,
            is_resent: false,
            is_padding: true,
            rtt: Span::from_millis(80),
        };
        assert_eq!(VideoPacket::of(&packet.contents(Time::from_nanos(9), 3)), packet);
    }
}
