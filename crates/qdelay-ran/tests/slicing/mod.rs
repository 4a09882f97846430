//! Cases for slices, and their sampling.

pub mod oracle;

use qdelay_core::Random;
use qdelay_ran::slice::{Eqp, Head, Queues, RbgCapacity, Share, SliceSetting, Slices, Tti};

/// Size of cases.
pub struct Size {
    pub queues: u64,
    pub packets: u64,
    pub groups: u64,
    pub slices: u64,
}

impl Size {
    /// A size small enough for exhaustive search.
    pub const SMALL: Size = Size { queues: 6, packets: 4, groups: 10, slices: 3 };
    /// A size with so many queues that most cannot matter.
    pub const CROWD: Size = Size { queues: 200, packets: 8, groups: 24, slices: 3 };
    /// A size with so many queues that few of them are examined.
    pub const MULTITUDE: Size = Size { queues: 1500, packets: 8, groups: 24, slices: 3 };
    /// A size with many known packets in each queue, of which many fit.
    pub const DEEP: Size = Size { queues: 600, packets: 20, groups: 80, slices: 3 };
}

#[derive(Clone, Debug)]
pub struct OneQueue {
    pub drb: usize,
    pub channel: usize,
    /// Cumulative sums of bytes, from the head on.
    pub prefix_bytes: Vec<u32>,
    pub backlog_bytes: u64,
    /// The same sums as positions in a stream.
    pub sent: u32,
    pub ends: Vec<u32>,
}

impl OneQueue {
    fn new(drb: usize, channel: usize, prefix_bytes: Vec<u32>, backlog_bytes: u64) -> OneQueue {
        // Some of the streams wrap around.
        let sent = 0_u32.wrapping_sub(500 * (drb as u32 % 3));
        let ends = prefix_bytes.iter().map(|&bytes| sent.wrapping_add(bytes)).collect();
        OneQueue { drb, channel, prefix_bytes, backlog_bytes, sent, ends }
    }
}

/// A TTI to be decided.
#[derive(Clone, Debug)]
pub struct Case {
    pub rbs: u32,
    pub rbg_rbs: u32,
    pub first: usize,
    pub limit_rbs: u32,
    pub quanta: Vec<i64>,
    /// Shares in millionths.
    pub shares: Vec<u32>,
    /// The slice of each DRB.
    pub slice_of_drb: Vec<usize>,
    /// Bytes of 1, 2 … groups, by channel.
    pub tables: Vec<Vec<u32>>,
    pub queues: Vec<OneQueue>,
}

fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(bound.max(1))
}

impl Queues for Case {
    fn count(&self) -> usize {
        self.queues.len()
    }
    fn drb(&self, queue: usize) -> usize {
        self.queues[queue].drb
    }
    fn channel(&self, queue: usize) -> usize {
        self.queues[queue].channel
    }
    fn head(&self, queue: usize) -> Head<'_> {
        let queue = &self.queues[queue];
        Head { ends: &queue.ends, sent: queue.sent }
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        self.queues[queue].backlog_bytes
    }
}

impl Case {
    pub fn random(random: &mut Random, size: &Size) -> Case {
        let slices = 1 + below(random, size.slices) as usize;
        let rbg_rbs = [1, 1, 2, 3, 16][below(random, 5) as usize];
        let groups = 1 + below(random, size.groups) as u32;
        let limit_rbs = rbg_rbs + below(random, u64::from(groups * rbg_rbs) * 3) as u32;
        let mut case = Case {
            rbs: 0,
            rbg_rbs,
            first: below(random, 250) as usize,
            limit_rbs,
            quanta: vec![0; slices],
            shares: Vec::new(),
            slice_of_drb: Vec::new(),
            tables: Vec::new(),
            queues: Vec::new(),
        };
        case.share(random, slices);
        let total: u64 = case.shares.iter().map(|&share| u64::from(share)).sum();
        // The number of RBs grants about `groups` groups.
        case.rbs = (u64::from(groups * rbg_rbs) * 1_000_000 / total) as u32 + slices as u32;
        // A law accepts no more RBs than these.
        case.rbs = case.rbs.min(1_000_000);
        while case.shares.iter().map(|&share| oracle::granted(case.rbs, share)).sum::<u32>() / rbg_rbs
            > groups
        {
            case.rbs -= 1;
        }
        // Quanta sum to zero, by loans between two slices each.
        for _ in 0..below(random, 4) * u64::from(slices > 1) {
            let (from, to) = (below(random, slices as u64) as usize, below(random, slices as u64) as usize);
            let room = case.quanta[from] + i64::from(limit_rbs);
            let loan = below(random, room as u64 + 1) as i64;
            case.quanta[from] -= loan;
            case.quanta[to] += loan;
        }
        for _ in 0..1 + below(random, 3) {
            let per_group = [30, 88, 300, 1408][below(random, 4) as usize];
            let mut bytes = 0;
            let table = (0..groups).map(|_| {
                // Bytes are not linear in groups, and not always increasing.
                bytes += per_group / 2 + below(random, per_group) as u32 as u64;
                (bytes as u32).saturating_sub(below(random, 20) as u32)
            });
            case.tables.push(table.collect());
        }
        if below(random, 20) == 0 {
            case.tables[0].fill(0);
        }
        let queues = slices.max(1 + below(random, size.queues) as usize);
        case.slice_of_drb = (0..queues)
            .map(|drb| if drb < slices { drb } else { below(random, slices as u64) as usize })
            .collect();
        for drb in 0..queues {
            let queue = case.queue(random, drb, size.packets);
            case.queues.push(queue);
        }
        case
    }

    /// Gives each queue `packets` packets of two sizes, on channels of which the best carries five times as
    /// much as the worst: leaving out by price leaves few packets of most queues, and many of some.
    pub fn lengthen(&mut self, random: &mut Random, packets: usize) {
        let groups = self.tables[0].len() as u32;
        self.tables = (0..29)
            .map(|mcs| (1..=groups).map(|groups| groups * self.rbg_rbs * (16 + 72 * mcs / 28)).collect())
            .collect();
        for queue in 0..self.queues.len() {
            let sizes = (0..packets).map(|_| if below(random, 2) == 0 { 200 } else { 1500 });
            let sums: Vec<u32> = sizes
                .scan(0, |sum, bytes| {
                    *sum += bytes;
                    Some(*sum)
                })
                .collect();
            let channel = below(random, 29) as usize;
            self.queues[queue] = OneQueue::new(self.queues[queue].drb, channel, sums, 2500 * packets as u64);
        }
    }

    /// Brings the first slice close to its limit, and gives it small packets: it may be charged for less than
    /// it could take.
    pub fn indebt(&mut self, random: &mut Random) {
        // The other slices have most of the TTI.
        let rest = self.shares[0] - self.shares[0].min(100_000);
        if let Some(last) = self.shares[1..].last_mut() {
            *last += rest;
            self.shares[0] -= rest;
        }
        let grant = oracle::granted(self.rbs, self.shares[0]);
        self.limit_rbs = 2 * grant + self.rbs + below(random, u64::from(self.rbs)) as u32;
        let debt = (i64::from(self.limit_rbs) - below(random, u64::from(10 * self.rbg_rbs)) as i64).max(0);
        self.quanta.fill(0);
        self.quanta[0] = -debt;
        if let Some(last) = self.quanta[1..].last_mut() {
            *last = debt;
        } else {
            self.quanta[0] = 0;
        }
        for queue in 0..self.queues.len() {
            let (drb, channel) = (self.queues[queue].drb, self.queues[queue].channel);
            if self.slice_of(queue) != 0 {
                // Most of them have no packet to complete.
                if below(random, 10) > 0 {
                    self.queues[queue] = OneQueue::new(drb, channel, vec![1_000_000], 1_000_000);
                }
            } else {
                let sizes: Vec<u32> = (0..6).map(|_| 20 + 40 * below(random, 12) as u32).collect();
                let sums: Vec<u32> = (1..=6).map(|packets| sizes[..packets].iter().sum()).collect();
                self.queues[queue] = OneQueue::new(drb, channel, sums, 2000);
            }
        }
    }

    fn queue(&self, random: &mut Random, drb: usize, packets: u64) -> OneQueue {
        let (mut sum, mut prefix_bytes) = (0, Vec::new());
        for packet in 0..below(random, packets + 1) {
            let bytes = [40, 200, 200, 600, 1500][below(random, 5) as usize];
            // A part of the first packet may have been sent.
            let sent = if packet == 0 && below(random, 4) == 0 { below(random, bytes) } else { 0 };
            sum += (bytes - sent) as u32;
            prefix_bytes.push(sum);
        }
        let more = if below(random, 3) == 0 { below(random, 3000) } else { 0 };
        let channel = below(random, self.tables.len() as u64) as usize;
        OneQueue::new(drb, channel, prefix_bytes, u64::from(sum) + more)
    }

    fn share(&mut self, random: &mut Random, slices: usize) {
        let mut left = 1_000_000;
        self.shares.clear();
        for slice in 0..slices {
            let most = left - (slices - slice - 1) as u64;
            let even = 1_000_000 / slices as u64;
            let share = [even.min(most), 1 + below(random, most)][below(random, 2) as usize];
            self.shares.push(share as u32);
            left -= share;
        }
    }

    /// Makes `slices` slices with other shares, and distributes the queues among them.
    pub fn share_evenly(&mut self, slices: usize, random: &mut Random) {
        self.share(random, slices);
        self.quanta = vec![0; slices];
        self.rbs = self.rbs.min(self.tables[0].len() as u32 * self.rbg_rbs);
        let queues = self.queues.len().max(slices);
        while self.queues.len() < queues {
            let queue = self.queue(random, self.queues.len(), 4);
            self.queues.push(queue);
        }
        self.slice_of_drb = (0..queues).map(|drb| drb % slices).collect();
    }

    /// Replaces the packets in the queues; some slices are busy and others are not.
    pub fn refresh(&mut self, random: &mut Random) {
        self.first += 1;
        for index in 0..self.queues.len() {
            let drb = self.queues[index].drb;
            self.queues[index] = self.queue(random, drb, 4);
            if self.slice_of_drb[drb] == 0 {
                self.queues[index].backlog_bytes += 100_000;
            }
        }
    }

    /// Makes many queues alike.
    pub fn repeat_queues(&mut self, random: &mut Random) {
        for index in 1..self.queues.len() {
            if below(random, 2) == 0 {
                let from = below(random, index as u64) as usize;
                let drb = self.queues[index].drb;
                self.queues[index] = OneQueue { drb, ..self.queues[from].clone() };
            }
        }
    }

    /// A case of `slices` slices of `percent`, with one queue each.
    pub fn even(slices: usize, percent: u32) -> Case {
        let mut case = Case {
            rbs: 24,
            rbg_rbs: 2,
            first: 0,
            limit_rbs: 100,
            quanta: vec![0; slices],
            shares: vec![percent * 10_000; slices],
            slice_of_drb: (0..slices).collect(),
            tables: vec![(1..=12).map(|groups| groups * 176).collect()],
            queues: Vec::new(),
        };
        case.set_queues(&vec![&[100][..]; slices]);
        case
    }

    pub fn set_queues(&mut self, sizes: &[&[u32]]) {
        self.queues.clear();
        for (drb, sizes) in sizes.iter().enumerate() {
            let sum = |sum: &mut u32, size: &u32| {
                *sum += size;
                Some(*sum)
            };
            let prefix_bytes: Vec<u32> = sizes.iter().scan(0, sum).collect();
            let backlog_bytes = prefix_bytes.last().copied().unwrap_or(0).into();
            self.queues.push(OneQueue::new(drb, 0, prefix_bytes, backlog_bytes));
        }
    }

    pub fn slice_of(&self, queue: usize) -> usize {
        self.slice_of_drb[self.queues[queue].drb]
    }
    pub fn look_alike(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.queues[one], &self.queues[other]);
        self.slice_of(one) == self.slice_of(other)
            && a.channel == b.channel
            && a.prefix_bytes == b.prefix_bytes
    }

    pub fn slices(&self) -> Slices {
        let drbs: Vec<Vec<usize>> = (0..self.shares.len())
            .map(|slice| {
                (0..self.slice_of_drb.len()).filter(|&drb| self.slice_of_drb[drb] == slice).collect()
            })
            .collect();
        let settings: Vec<SliceSetting<'_>> = (self.shares.iter().zip(&drbs))
            .map(|(&share, drbs)| SliceSetting { share: Share::from_millionths(share).unwrap(), drbs })
            .collect();
        Slices::new(&settings, self.slice_of_drb.len()).unwrap()
    }
    pub fn eqp(&self) -> Eqp {
        let mut eqp = Eqp::new(self.slices(), self.limit_rbs, self.rbg_rbs).unwrap();
        eqp.set_quanta(&self.quanta).unwrap();
        eqp
    }
    pub fn channels(&self) -> Vec<RbgCapacity> {
        let channel =
            |table: &Vec<u32>| RbgCapacity::new(table.len() as u16, |groups| table[usize::from(groups) - 1]);
        self.tables.iter().map(channel).collect()
    }
    pub fn tti(&self) -> Tti {
        Tti { rbs: self.rbs, first: self.first }
    }
}
