//! Contents of the packets on the path, by [`Packet::handle`](qdelay_core::Packet::handle).

use super::Key;
use qdelay_traffic::segment::Segment;
use std::collections::VecDeque;

/// Contents of a packet.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A segment of a connection. Its bytes are in the buffer of its stream.
    Segment(Key, Segment),
    /// The reset of a connection.
    Reset(Key),
    /// A datagram of a flow.
    Datagram(u32, Vec<u8>),
    /// Nothing: the slot is free.
    Free,
}

/// Slots with contents. Slots and buffers are used again, so that nothing is allocated once the path has held its most packets.
#[derive(Debug, Default)]
pub(super) struct Store {
    slots: Vec<Content>,
    /// Free slots. The one that was freed first is taken first: packets leave a path nearly in the order in which they entered, so that slots are
    /// read one after the other, which caches favour.
    free: VecDeque<u32>,
    /// Buffers of earlier datagrams.
    spare: Vec<Vec<u8>>,
    /// Bytes of datagrams held.
    datagram_bytes: u64,
}

/// Most buffers kept for later datagrams.
const SPARE_MAX: usize = 4096;

impl Store {
    /// Stores contents and returns their handle.
    pub fn add(&mut self, content: Content) -> u64 {
        if let Content::Datagram(_, data) = &content {
            self.datagram_bytes += data.len() as u64;
        }
        match self.free.pop_front() {
            Some(slot) => {
                self.slots[slot as usize] = content;
                u64::from(slot)
            }
            None => {
                self.slots.push(content);
                self.slots.len() as u64 - 1
            }
        }
    }

    /// Stores a copy of the contents of `handle`.
    pub fn copy(&mut self, handle: u64) -> u64 {
        let copy = match &self.slots[handle as usize] {
            Content::Datagram(flow, data) => {
                let (flow, mut copy) = (*flow, self.spare.pop().unwrap_or_default());
                copy.extend_from_slice(data);
                Content::Datagram(flow, copy)
            }
            other => other.clone(),
        };
        self.add(copy)
    }

    /// Takes the contents out; the slot is free.
    pub fn take(&mut self, handle: u64) -> Content {
        let content = std::mem::replace(&mut self.slots[handle as usize], Content::Free);
        debug_assert!(!matches!(content, Content::Free), "contents that were taken before");
        self.free.push_back(handle as u32);
        if let Content::Datagram(_, data) = &content {
            self.datagram_bytes -= data.len() as u64;
        }
        content
    }

    /// An empty buffer for a datagram.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back the buffer of a datagram that is gone.
    pub fn give_back(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Packets whose contents are stored.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes of the datagrams on the path.
    pub fn datagram_bytes(&self) -> u64 {
        self.datagram_bytes
    }
}
