//! What is inside the packets that are on the path, found by their handles.

use qdelay_core::{Span, Time};
use qdelay_traffic::audio::AudioHeader;
use qdelay_traffic::segment::Segment;
use qdelay_traffic::tfrc::DataHeader;

/// Inside one packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents {
    /// The TCP segment; empty for datagrams. Of data that TFRC controls, see [`Contents::of_data`].
    pub segment: Segment,
    /// When the packet entered the path; of a datagram that is sent back, when it did on its way there.
    pub created: Time,
    /// Which datagram, or report of TFRC, of its flow it is, from 0.
    pub number: u64,
}

const _: () = assert!(core::mem::size_of::<Contents>() == 64);

impl Contents {
    /// Of a data packet that TFRC controls. Its header takes the place of TCP's numbers, so that nobody's contents are larger
    /// for it.
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

    /// What [`Contents::of_data`] was given.
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

/// A store that reuses the place of what was taken out last, which is likely to be in the cache still.
#[derive(Clone, Debug, Default)]
pub struct ContentsStore {
    slots: Vec<Contents>,
    free: Vec<u32>,
}

impl ContentsStore {
    /// Puts contents in; the handle finds them again.
    #[inline]
    pub fn put(&mut self, contents: Contents) -> u64 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = contents;
            return u64::from(slot);
        }
        self.slots.push(contents);
        (self.slots.len() - 1) as u64
    }

    /// The place that `handle` names; its upper half is the host's to use.
    #[inline]
    pub const fn slot(handle: u64) -> usize {
        handle as u32 as usize
    }

    /// The contents that `handle` stands for.
    #[inline]
    pub fn get(&self, handle: u64) -> &Contents {
        &self.slots[Self::slot(handle)]
    }

    /// Forgets contents; their handle is free for others.
    #[inline]
    pub fn free(&mut self, handle: u64) {
        self.free.push(handle as u32);
    }

    /// How many are in.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        for lane in 0..2 {
            let (sent, rtt) = (Time::from_nanos(8), Span::from_nanos(0x1_2345_6789));
            let data = DataHeader { seq: 7, lane, lane_seq: u32::MAX, sent, rtt };
            let header = AudioHeader { call: 255, data };
            assert_eq!(Contents::of_data(&header).data(), header);
        }
    }
}
