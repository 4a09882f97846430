//! Timestamps at the bottleneck of the packets in flight, for recorders.

use qdelay_core::Time;

/// Timestamps of a packet at the bottleneck; [`Time::NEVER`] for an event that has not happened.
#[derive(Clone, Copy, Debug)]
pub struct PacketTimestamps {
    pub arrival: Time,
    pub dequeued: Time,
    pub departed: Time,
}

impl PacketTimestamps {
    const NONE: PacketTimestamps =
        PacketTimestamps { arrival: Time::NEVER, dequeued: Time::NEVER, departed: Time::NEVER };
}

/// The timestamps of the packets that are on the path, by handle; used only where something is recorded.
#[derive(Clone, Debug, Default)]
pub struct PacketTimestampStore(Vec<PacketTimestamps>);

impl PacketTimestampStore {
    /// A packet enters the path.
    #[inline]
    pub fn begin(&mut self, slot: usize) {
        if slot >= self.0.len() {
            self.0.resize(slot + 1, PacketTimestamps::NONE);
        }
        self.0[slot] = PacketTimestamps::NONE;
    }
    /// The timestamps of a packet that has begun.
    #[inline]
    pub fn get_mut(&mut self, slot: usize) -> &mut PacketTimestamps {
        &mut self.0[slot]
    }
}

/// `None` for [`Time::NEVER`].
#[inline]
pub fn happened(time: Time) -> Option<Time> {
    (time != Time::NEVER).then_some(time)
}
