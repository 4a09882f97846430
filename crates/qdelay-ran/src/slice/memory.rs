//! Memory of a law about queues from TTI to TTI: the slice of each queue, and its steepness.
//!
//! If the host reports the version of a queue ([`Queues::version`]), the queue is examined when its version
//! has changed, and otherwise only if it is cheap enough for the price of a group. For that, the *steepness*
//! of a queue is kept: the largest `(k + s) / c(k)` over its numbers `k` of packets, which take `c(k)`
//! groups, for a few values of a slack `s`. At a price of `p` packets for a group, `k` packets lose `p c(k) -
//! k` packets or more; if the steepness is below `p`, that is more than `s` for each `k`, and no packet of
//! the queue is in a choice that loses no more than `s`. Groups are those of the size without inflation:
//! inflated packets take no fewer.
//!
//! Queues without versions are examined in each TTI.

use super::{MOST_PACKETS, Queues, RbgCapacity, SliceError, Slices};
use alloc::vec::Vec;

/// The slacks, in packets, for which the steepness of a queue is kept.
const SLACKS: [f32; 8] = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];

/// Largest number of queues whose steepness is computed in a TTI: the rest may wait, and all of them in a
/// first TTI would take long.
const MOST_AT_ONCE: usize = if cfg!(test) { 4 } else { 256 };

/// State kept of all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    versions: Vec<Option<u64>>,
    /// The slice of each queue, and the queues of each slice.
    slices: Vec<u16>,
    lists: Vec<Vec<u32>>,
    /// Number of channels when the queues were last examined.
    channels: usize,
    /// Queues with a version whose steepness is not known.
    unknown: Vec<u32>,
    /// Number of queues that were examined in the last TTI.
    pub looks: u64,
}

impl Memory {
    /// Examines the queues that have changed, and lists the `members` of each slice: from queue `first` on.
    ///
    /// # Errors
    /// A queue with an unknown DRB or channel.
    pub fn collect<Q: Queues>(
        &mut self,
        (slices, first): (&Slices, usize),
        channels: &[RbgCapacity],
        queues: &Q,
        members: &mut [Vec<u32>],
        steepness: &mut Steepness,
    ) -> Result<(), SliceError> {
        let count = queues.count();
        let mut is_listed = self.versions.len() == count;
        if !is_listed || channels.len() < self.channels {
            self.forget(count);
        }
        self.channels = channels.len();
        self.looks = 0;
        for queue in 0..count {
            let version = queues.version(queue);
            if version.is_some() && version == self.versions[queue] {
                continue;
            }
            self.looks += 1;
            let slice = match examine(slices, channels, queues, queue) {
                Ok(slice) => slice,
                Err(error) => {
                    self.forget(0);
                    return Err(error);
                }
            };
            if self.slices[queue] != slice {
                (self.slices[queue], is_listed) = (slice, false);
            }
            self.versions[queue] = version;
            steepness.forget(queue);
            if version.is_some() {
                self.unknown.push(queue as u32);
            }
        }
        // The newest queues first: others wait for a later TTI, since a queue of unknown steepness is
        // examined anyway.
        for queue in self.unknown.drain(self.unknown.len().saturating_sub(MOST_AT_ONCE)..) {
            let queue = queue as usize;
            steepness.set(queue, count, &channels[queues.channel(queue)], queues);
        }
        if !is_listed {
            self.lists.iter_mut().for_each(Vec::clear);
            self.lists.resize_with(members.len(), Vec::new);
            for (queue, &slice) in self.slices.iter().enumerate() {
                self.lists[usize::from(slice)].push(queue as u32);
            }
        }
        let first = if count == 0 { 0 } else { first % count };
        for (members, list) in members.iter_mut().zip(&self.lists) {
            let (last, next) = list.split_at(list.partition_point(|&queue| (queue as usize) < first));
            members.clear();
            members.extend_from_slice(next);
            members.extend_from_slice(last);
        }
        Ok(())
    }
    /// Resets the memory to `count` unknown queues.
    fn forget(&mut self, count: usize) {
        self.unknown.clear();
        self.versions.clear();
        self.versions.resize(count, None);
        self.slices.clear();
        self.slices.resize(count, u16::MAX);
    }
}

/// Examines a queue: returns its slice.
fn examine<Q: Queues>(
    slices: &Slices,
    channels: &[RbgCapacity],
    queues: &Q,
    queue: usize,
) -> Result<u16, SliceError> {
    let (drb, channel) = (queues.drb(queue), queues.channel(queue));
    if channel >= channels.len() {
        return Err(SliceError::UnknownChannel { channel, channels: channels.len() });
    }
    let slice = slices.of_drb(drb).ok_or(SliceError::UnknownDrb { drb, drbs: slices.drbs() })?;
    Ok(slice as u16)
}

/// The steepness of queues, for each of a few slacks; infinite where it is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Steepness {
    by_slack: [Vec<f32>; SLACKS.len()],
    /// Number of packets whose groups were computed, since the last query.
    pub costs: u64,
}

impl Steepness {
    /// Sets the steepness of one of `count` queues.
    fn set<Q: Queues>(&mut self, queue: usize, count: usize, channel: &RbgCapacity, queues: &Q) {
        let mut steepest = [0.0_f32; SLACKS.len()];
        let head = queues.head(queue);
        for packets in 1..=head.ends.len().min(MOST_PACKETS) {
            self.costs += 1;
            let Some(groups) = channel.groups_for(head.bytes(packets).into()) else { break };
            let part = 1.0 / f32::from(groups.max(1));
            for (steepest, slack) in steepest.iter_mut().zip(SLACKS) {
                *steepest = steepest.max((packets as f32 + slack) * part);
            }
        }
        for (all, steepest) in self.by_slack.iter_mut().zip(steepest) {
            all.resize(count, f32::INFINITY);
            all[queue] = steepest;
        }
    }
    fn forget(&mut self, queue: usize) {
        for all in &mut self.by_slack {
            if let Some(steepest) = all.get_mut(queue) {
                *steepest = f32::INFINITY;
            }
        }
    }
    /// Steepness for a choice that loses at most `slack` packets, by queue; empty if none is known.
    pub fn with_slack(&self, slack: f32) -> &[f32] {
        SLACKS.iter().zip(&self.by_slack).find(|&(&here, _)| here >= slack).map_or(&[], |(_, all)| all)
    }
}
