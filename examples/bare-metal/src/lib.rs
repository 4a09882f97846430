//! A queue of packets in a fixed piece of memory, which CoDel keeps short. It needs neither an operating system nor an allocator.
#![no_std]

use qdelay_core::aqm::{Codel, CodelParameters, Verdict};
use qdelay_core::{Ecn, Time};

/// What the queue keeps of a packet: the radio has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When it came.
    pub arrival: Time,
    /// The radio's name for it.
    pub handle: u32,
    /// Its size.
    pub bytes: u16,
    /// Whether its sender understands marks.
    pub ecn: Ecn,
}

/// What becomes of a packet, which the queue forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// To be sent.
    Send,
    /// To be sent, marked "congestion experienced".
    SendMarked,
    /// To be freed.
    Drop,
}

/// A ring of at most `N` packets and the law that manages it.
pub struct Queue<const N: usize> {
    ring: [Stamp; N],
    first: usize,
    length: usize,
    bytes: u64,
    law: Codel,
}

impl<const N: usize> Queue<N> {
    /// An empty queue.
    pub const fn new(parameters: CodelParameters) -> Queue<N> {
        let nothing = Stamp { arrival: Time::ZERO, handle: 0, bytes: 0, ecn: Ecn::NotEct };
        Queue { ring: [nothing; N], first: 0, length: 0, bytes: 0, law: Codel::new(parameters) }
    }

    /// Takes a packet; `false` where there is no room for it.
    pub fn push(&mut self, stamp: Stamp) -> bool {
        if self.length == N {
            return false;
        }
        self.ring[(self.first + self.length) % N] = stamp;
        self.length += 1;
        self.bytes += u64::from(stamp.bytes);
        true
    }

    /// Takes packets from the head until there is one to send, and says of each what becomes of it; `false` where none was left to send.
    pub fn pull(&mut self, now: Time, mut tell: impl FnMut(Stamp, Fate)) -> bool {
        while let Some(stamp) = self.pop() {
            let sojourn = now.since(stamp.arrival);
            let fate = match self.law.decide(sojourn, now, self.bytes, stamp.ecn) {
                Verdict::Forward => Fate::Send,
                Verdict::Mark(_) => Fate::SendMarked,
                Verdict::Drop => Fate::Drop,
            };
            tell(stamp, fate);
            if fate != Fate::Drop {
                return true;
            }
        }
        self.law.emptied();
        false
    }

    fn pop(&mut self) -> Option<Stamp> {
        if self.length == 0 {
            return None;
        }
        let stamp = self.ring[self.first];
        self.first = (self.first + 1) % N;
        self.length -= 1;
        self.bytes -= u64::from(stamp.bytes);
        Some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Span;

    fn stamp(handle: u32, arrival: Time) -> Stamp {
        Stamp { arrival, handle, bytes: 1500, ecn: Ecn::NotEct }
    }

    /// Packets come twice as fast as they go for a second.
    fn overloaded(parameters: CodelParameters, ecn: Ecn) -> [usize; 3] {
        let mut queue = Queue::<1024>::new(parameters);
        let (mut now, mut fates) = (Time::ZERO, [0; 3]);
        for handle in 0..1000 {
            now += Span::from_millis(1);
            assert!(queue.push(Stamp { ecn, ..stamp(handle, now) }));
            if handle % 2 == 1 {
                queue.pull(now, |_, fate| fates[fate as usize] += 1);
            }
        }
        assert_eq!(fates.iter().sum::<usize>() + queue.length, 1000, "none is lost or made up");
        assert_eq!(queue.bytes, 1500 * queue.length as u64);
        fates
    }

    #[test]
    fn packets_leave_in_order_and_the_ring_goes_round() {
        let mut queue = Queue::<3>::new(CodelParameters::RFC);
        for round in 0..5 {
            for handle in 0..3 {
                assert!(queue.push(stamp(3 * round + handle, Time::ZERO)));
            }
            assert!(!queue.push(stamp(99, Time::ZERO)), "it is full");
            for handle in 0..3 {
                assert!(queue.pull(Time::ZERO, |left, fate| {
                    assert_eq!((left.handle, fate), (3 * round + handle, Fate::Send));
                }));
            }
            assert!(!queue.pull(Time::ZERO, |_, _| panic!("nothing is left")));
        }
    }

    #[test]
    fn a_queue_that_stands_is_shortened() {
        let [sent, marked, dropped] = overloaded(CodelParameters::RFC, Ecn::Ect0);
        assert!(sent == 500 && marked == 0 && dropped > 10, "{dropped}");
        let with_marks = CodelParameters { ecn: true, ..CodelParameters::RFC };
        let [sent, marked, dropped] = overloaded(with_marks, Ecn::Ect0);
        assert!(sent + marked == 500 && marked > 10 && dropped == 0, "{marked}");
    }
}
