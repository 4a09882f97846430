//! Counts at each node, and the audit that holds a path to them.

use crate::NodeId;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::{DropReason, MarkReason, Packet, qdisc};

/// Packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl Count {
    /// One packet.
    #[inline]
    pub const fn one(packet: &Packet) -> Count {
        Count { packets: 1, bytes: packet.bytes as u64 }
    }
    /// Counts one more packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

impl core::ops::Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl core::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(all: I) -> Count {
        all.fold(Count::default(), core::ops::Add::add)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets of {} bytes", self.packets, self.bytes)
    }
}

/// Why nodes of a path drop packets, as far as it is declared: the path's own reasons, those of disciplines and of radio bearers.
pub fn drop_reasons() -> impl Iterator<Item = DropReason> {
    let bearers = qdelay_ran::rlc::DROPS;
    qdisc::DROPS.iter().copied().chain([DropReason::OF_ANY_PATH, bearers]).flatten().copied()
}

/// Why nodes of a path mark packets, as far as it is declared.
pub fn mark_reasons() -> impl Iterator<Item = MarkReason> {
    qdisc::MARKS.iter().copied().flatten().copied()
}

/// Counts by reason, for the reasons that have occurred, in the order of their names. Counting compares with the reasons before
/// it; only the first count of a reason may allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByReason<R>(Vec<(R, Count)>);

impl<R> Default for ByReason<R> {
    fn default() -> ByReason<R> {
        ByReason(Vec::new())
    }
}

impl<R: Copy + Ord> ByReason<R> {
    /// Counts one more packet.
    #[inline]
    pub fn add(&mut self, reason: R, packet: &Packet) {
        self.count(reason).add(packet);
    }
    /// Adds the counts of another value.
    pub fn add_all(&mut self, other: &ByReason<R>) {
        for &(reason, count) in &other.0 {
            let mine = self.count(reason);
            *mine = *mine + count;
        }
    }
    /// The count of `reason`.
    pub fn count_of(&self, reason: R) -> Count {
        self.iter().find(|(known, _)| *known == reason).map_or(Count::default(), |(_, count)| count)
    }
    /// The count of all reasons.
    pub fn total(&self) -> Count {
        self.iter().map(|(_, count)| count).sum()
    }
    /// Each reason and its count.
    pub fn iter(&self) -> impl Iterator<Item = (R, Count)> + '_ {
        self.0.iter().copied()
    }

    #[inline]
    fn count(&mut self, reason: R) -> &mut Count {
        let place = self.0.iter().position(|(known, _)| *known == reason);
        let place = place.unwrap_or_else(|| self.first_of(reason));
        &mut self.0[place].1
    }
    #[cold]
    fn first_of(&mut self, reason: R) -> usize {
        let place = self.0.partition_point(|(known, _)| *known < reason);
        self.0.insert(place, (reason, Count::default()));
        place
    }
}

/// Counts at one node since the path was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came from another node or from the host.
    pub received: Count,
    /// Went on: to the next node, or at an exit to the host.
    pub forwarded: Count,
    /// Came from the host (a part of `received`).
    pub ingress: Count,
    /// Copies made here, in addition to `received`.
    pub copies: Count,
    /// Dropped here.
    pub dropped: ByReason<DropReason>,
    /// Marked here.
    pub marked: ByReason<MarkReason>,
}

impl Counters {
    /// Dropped here for `reason`.
    pub fn dropped(&self, reason: DropReason) -> Count {
        self.dropped.count_of(reason)
    }
    /// Dropped here for any reason.
    pub fn dropped_total(&self) -> Count {
        self.dropped.total()
    }
    /// Marked here for `reason`.
    pub fn marked(&self, reason: MarkReason) -> Count {
        self.marked.count_of(reason)
    }
    /// Marked here for any reason.
    pub fn marked_total(&self) -> Count {
        self.marked.total()
    }
}

/// The used and offered capacity of a link or cell. At a link both counts are of bytes on the link: IP bytes and the link's
/// overhead. At a cell they are [`CellUsage::sent_bytes`](crate::CellUsage::sent_bytes) and `offered_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkUsage {
    /// Sent: for packets that have left; on a trace link also the part of a packet that is already through.
    pub sent_bytes: u64,
    /// The capacity since the run began, with or without data to send.
    pub offered_bytes: u64,
}

impl LinkUsage {
    /// The difference to `earlier`, a previous value of this usage.
    #[must_use]
    pub const fn since(self, earlier: LinkUsage) -> LinkUsage {
        LinkUsage {
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
            offered_bytes: self.offered_bytes.saturating_sub(earlier.offered_bytes),
        }
    }
    /// The used part of the capacity, 0 to 1; 0 without capacity. The burst of a shaper, by which it may exceed its rate, does
    /// not count.
    pub fn utilization(self) -> f64 {
        let used = self.sent_bytes as f64 / self.offered_bytes as f64;
        if self.offered_bytes == 0 { 0.0 } else { used.min(1.0) }
    }
}

/// Packets were lost or made up, or a discipline was at fault: a defect of the path or of a discipline in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditError {
    /// At one node, received, with copies made here, is not forwarded + dropped + inside.
    Node {
        /// The node.
        node: NodeId,
        /// Name of the node.
        name: String,
        /// Came in.
        received: Count,
        /// Went on.
        forwarded: Count,
        /// Was dropped.
        dropped: Count,
        /// Is inside.
        inside: Count,
    },
    /// A discipline did what none may do: [`Qdisc::fault`](qdelay_core::qdisc::Qdisc::fault).
    Discipline {
        /// Node of the discipline.
        node: NodeId,
        /// The node's name.
        name: String,
        /// Description of the fault.
        fault: String,
    },
    /// The sums over all nodes differ: forwarded packets are not the packets that the next nodes received.
    Handover {
        /// Sent on by nodes that are not exits.
        forwarded: Count,
        /// Received from other nodes.
        received: Count,
    },
    /// Over the whole path, ingress, with copies made on it, is not delivered + dropped + inside.
    Path {
        /// Came from the host.
        ingress: Count,
        /// Reached an exit.
        delivered: Count,
        /// Was dropped.
        dropped: Count,
        /// Is inside.
        inside: Count,
    },
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Node { name, received, forwarded, dropped, inside, .. } => write!(
                f,
                "node '{name}': received {received}, but forwarded {forwarded} + dropped {dropped} + inside {inside}"
            ),
            AuditError::Discipline { name, fault, .. } => write!(f, "node '{name}': {fault}"),
            AuditError::Handover { forwarded, received } => {
                write!(f, "nodes forwarded {forwarded} to each other, but received {received}")
            }
            AuditError::Path { ingress, delivered, dropped, inside } => write!(
                f,
                "path: ingress {ingress}, but delivered {delivered} + dropped {dropped} + inside {inside}"
            ),
        }
    }
}
impl core::error::Error for AuditError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_reason_is_counted_and_names_are_in_order() {
        let [late, early] = ["late", "early"].map(DropReason::new);
        let packet = |bytes| Packet { bytes, ..Packet::default() };
        let mut counts = ByReason::default();
        for (reason, bytes) in [(late, 100), (early, 40), (DropReason::new("late"), 60)] {
            counts.add(reason, &packet(bytes));
        }
        let counted: Vec<_> = counts.iter().collect();
        assert_eq!(
            counted,
            [(early, Count { packets: 1, bytes: 40 }), (late, Count { packets: 2, bytes: 160 })]
        );
        assert_eq!(counts.count_of(DropReason::LOSS), Count::default());
        let mut sum = ByReason::default();
        sum.add(DropReason::LOSS, &packet(1));
        sum.add_all(&counts);
        sum.add_all(&counts);
        assert_eq!(sum.total(), Count { packets: 7, bytes: 401 });
        assert_eq!(sum.count_of(late), Count { packets: 4, bytes: 320 });
    }
}
