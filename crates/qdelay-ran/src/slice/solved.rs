//! One slice, solved for each number of groups: the dynamic programme of the knapsack (`knapsack.rs`).

use super::Queues;
use super::contenders::{Contenders, Cut, Sieve};
use super::price::Market;
use super::problem::{Prefix, Problem};
use alloc::vec::Vec;

/// Number of group counts that are computed at once, in registers.
pub(super) const LANES: usize = 32;
/// Number of packets for a negative number of groups: never the maximum.
const NEVER: i16 = i16::MIN / 2;

/// A state of a slice in an optimal total.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The most groups, without those of the bases.
    pub groups: u16,
    /// The most packets with these groups, without those of the bases.
    pub packets: i16,
}

/// One slice, solved for each number of groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Solved {
    contenders: Contenders,
    /// Queues of which every best choice takes the same number of packets, and that number.
    fixed: Vec<(u32, u16)>,
    /// Groups that every best choice takes, at both sizes.
    pub base: (u32, u32),
    pub is_limited: bool,
    /// Number of group counts, from none to the capacity; `depth`: number of distinct charged groups.
    pub width: usize,
    depth: usize,
    /// The most packets of the contenders from one on: by contender, charged groups, groups. Each row is
    /// preceded by [`NEVER`]s, as many as groups, and ends with a whole number of [`LANES`].
    rows: Vec<i16>,
    stride: usize,
    /// The fewest groups for each number of packets, wherever more groups allow more packets. Begins with no
    /// group for no packet.
    pub steps: Vec<(u16, u16)>,
}

impl Solved {
    /// Records the packets that every best choice takes.
    pub fn begin(&mut self, market: &Market, slice: usize, cut: Cut) {
        self.fixed.clear();
        let fixed = &mut self.fixed;
        self.base =
            self.contenders.begin(&market.pool, slice, cut, |queue, packets| fixed.push((queue, packets)));
    }

    /// Solves the remainder beside the packets of every best choice.
    pub fn solve<Q: Queues>(
        &mut self,
        problem: &Problem<'_, Q>,
        market: &Market,
        slice: usize,
        cut: Cut,
        sieve: &mut Sieve,
    ) {
        sieve.find(problem, market, slice, cut, &mut self.contenders);
        self.is_limited = problem.is_limited;
        self.width = usize::from(problem.capacity) + 1;
        self.depth = problem.depth();
        let width = self.width;
        self.stride = width + width.next_multiple_of(LANES);
        let (stride, size, count) = (self.stride, self.stride * self.depth, self.contenders.list.len());
        if self.rows.len() < (count + 1) * size {
            self.rows.resize((count + 1) * size, 0);
        }
        for row in self.rows[count * size..(count + 1) * size].chunks_exact_mut(stride) {
            row[..width].fill(NEVER);
            row[width..].fill(0);
        }
        for (number, &contender) in self.contenders.list.iter().enumerate().rev() {
            let (front, back) = self.rows.split_at_mut((number + 1) * size);
            let (rows, next) = (&mut front[number * size..], &back[..size]);
            let prefixes = self.contenders.prefixes(contender);
            sieve.work.blocks += blocks(width, prefixes) * self.depth as u64;
            for (charged, row) in rows.chunks_exact_mut(stride).enumerate() {
                row[..width].fill(NEVER);
                fill(row, width, prefixes, next, charged * stride, charged);
            }
        }
        // The rows are also emptied first, and the first one is searched.
        sieve.work.blocks += ((count + 1) * size / LANES) as u64;
        self.steps.clear();
        self.steps.push((0, 0));
        let mut most = 0;
        for (groups, &packets) in
            self.rows[size - stride + width..size - stride + 2 * width].iter().enumerate()
        {
            if packets > most {
                most = packets;
                self.steps.push((groups as u16, packets as u16));
            }
        }
    }

    /// Reads, among the choices that one of the `ways` leads to, the one that takes the most from the first
    /// queue, then from the second, and so on. Returns its groups, without those of the bases.
    pub fn read(&self, ways: &mut Vec<Way>, mut take: impl FnMut(u32, u16)) -> u16 {
        let (width, stride) = (self.width, self.stride);
        let size = stride * self.depth;
        let (mut taken, mut charged) = (0, self.depth - 1);
        self.fixed.iter().for_each(|&(queue, packets)| take(queue, packets));
        for (number, &contender) in self.contenders.list.iter().enumerate() {
            let mut packets = contender.base;
            if ways.iter().any(|way| way.packets > 0) {
                let next = &self.rows[(number + 1) * size..(number + 2) * size];
                // Most packets first: among equal choices the one with the most from the earliest queue is
                // required.
                for prefix in self.contenders.prefixes(contender).iter().rev() {
                    let charges = usize::from(prefix.charged);
                    if charges > charged {
                        continue;
                    }
                    let row = &next[(charged - charges) * stride + width..];
                    let rest = |way: &Way| Some(row[usize::from(way.groups.checked_sub(prefix.groups)?)]);
                    let leads = |way: &Way| rest(way) == Some(way.packets - prefix.packets as i16);
                    if !ways.iter().any(leads) {
                        continue;
                    }
                    ways.retain(leads);
                    for way in ways.iter_mut() {
                        way.groups -= prefix.groups;
                        way.packets -= prefix.packets as i16;
                    }
                    (taken, charged) = (taken + prefix.groups, charged - charges);
                    packets += prefix.packets;
                    break;
                }
            }
            if packets > 0 {
                take(contender.queue, packets);
            }
        }
        taken
    }
}

/// Number of blocks of a row: those of the next one, and for each prefix those that its groups fit into.
fn blocks(width: usize, prefixes: &[Prefix]) -> u64 {
    let all = width.div_ceil(LANES);
    let fits = |prefix: &Prefix| all.saturating_sub(usize::from(prefix.groups) / LANES);
    (all + prefixes.iter().map(fits).sum::<usize>()) as u64
}

/// Fills the row of a contender with `charged` charged groups from the rows of the next contender, where the row with equally
/// many begins at `beside`.
fn fill(row: &mut [i16], width: usize, prefixes: &[Prefix], next: &[i16], beside: usize, charged: usize) {
    let stride = row.len();
    for (chunk, to) in row[width..].chunks_exact_mut(LANES).enumerate() {
        let at = beside + width + chunk * LANES;
        let mut best = [0; LANES];
        best.copy_from_slice(&next[at..at + LANES]);
        for prefix in prefixes {
            let (groups, charges) = (usize::from(prefix.groups), usize::from(prefix.charged));
            // Groups and charged groups only increase along the prefixes.
            if groups >= (chunk + 1) * LANES || charges > charged {
                break;
            }
            let from = at - charges * stride - groups;
            let packets = prefix.packets as i16;
            for (best, from) in best.iter_mut().zip(&next[from..from + LANES]) {
                *best = (*best).max(*from + packets);
            }
        }
        to.copy_from_slice(&best);
    }
}
