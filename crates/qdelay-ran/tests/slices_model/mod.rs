//! Elastic quantum partition in a cell, TTI by TTI, with every choice tried. One bearer a UE, transparent, no
//! losses, 25 RBs in groups of two, constant channels, and slots of a pattern. Among equal choices the model takes the one with the
//! most packets from the first bearer, slice by slice and in turn.

use qdelay_ran::tables::Carrier;
use std::collections::VecDeque;

const RBS: u32 = 25;
const RBG: u32 = 2;

#[derive(Clone)]
pub struct Slice {
    share: u32,
    pub quantum: i64,
    next: usize,
    pub granted: u64,
    pub used: u64,
    pub wasted: u64,
    pub unfit: u64,
    pub quanta: Vec<i64>,
}

pub struct Model {
    limit: i64,
    pub slices: Vec<Slice>,
    of_bearer: Vec<usize>,
    /// Bytes by number of groups, for each UE, in the present TTI; of a whole slot, and of a special one.
    tables: Vec<Vec<u64>>,
    of_slots: [Vec<Vec<u64>>; 2],
    /// Letters of the slots; empty where all are downlink.
    pattern: &'static [u8],
    /// RBs of the present TTI.
    rbs: u32,
    queues: Vec<VecDeque<(u64, u64)>>,
    /// Departures: TTI, bearer, handle.
    pub log: Vec<(u64, usize, u64)>,
}

/// The best choice so far: packets, sum of quanta, and packets of each queue.
type Best = (i64, i64, Vec<usize>);

impl Model {
    pub fn new(
        percents: &[u32],
        of_bearer: &[usize],
        limit: u32,
        mcs: &[u8],
        pattern: &'static str,
    ) -> Model {
        let carrier = Carrier::lte(25).unwrap();
        let slice = |&percent: &u32| Slice {
            share: percent,
            quantum: 0,
            next: 0,
            granted: 0,
            used: 0,
            wasted: 0,
            unfit: 0,
            quanta: Vec::new(),
        };
        // The size of a block in a special subframe is that of three quarters of its RBs (TS 36.213 clause 7.1.7).
        let table = |is_special: bool| {
            let bytes = |mcs: u8, rbs: u32| match (is_special, rbs) {
                (true, 1..) => carrier.block_bytes(mcs, (rbs * 3 / 4).max(1) as u16),
                _ => carrier.block_bytes(mcs, rbs as u16),
            };
            let of_ue = |&mcs: &u8| {
                // More RBs may carry less: fewer groups are then used.
                let mut most = 0;
                let all = (0..=RBS / RBG).map(|groups| u64::from(bytes(mcs, groups * RBG)));
                all.map(|bytes| {
                    most = bytes.max(most);
                    most
                })
                .collect()
            };
            mcs.iter().map(of_ue).collect()
        };
        Model {
            limit: limit.into(),
            slices: percents.iter().map(slice).collect(),
            of_bearer: of_bearer.to_vec(),
            tables: Vec::new(),
            of_slots: [table(false), table(true)],
            pattern: pattern.as_bytes(),
            rbs: RBS,
            queues: vec![VecDeque::new(); mcs.len()],
            log: Vec::new(),
        }
    }

    /// Runs TTI number `tti`, before which these packets have come to these bearers.
    pub fn tick(&mut self, tti: u64, arrivals: &[(usize, u64, u64)]) {
        for &(bearer, handle, bytes) in arrivals {
            self.queues[bearer].push_back((handle, bytes));
        }
        let slot = self.pattern.get((tti % self.pattern.len().max(1) as u64) as usize);
        self.tables = self.of_slots[usize::from(slot == Some(&b'S'))].clone();
        self.rbs = if slot == Some(&b'U') { 0 } else { RBS };
        if self.rbs == 0 {
            self.slices.iter_mut().for_each(|slice| slice.quanta.push(slice.quantum));
            return;
        }
        self.decide(tti);
    }

    fn groups(&self, bearer: usize, bytes: u64) -> Option<i64> {
        self.tables[bearer].iter().position(|&carried| carried >= bytes).map(|groups| groups as i64)
    }

    /// Queues with data, by slice and in turn.
    fn order(&self) -> Vec<usize> {
        let ues = self.queues.len();
        let mut order: Vec<usize> = (0..ues).filter(|&bearer| !self.queues[bearer].is_empty()).collect();
        order.sort_by_key(|&bearer| {
            let slice = self.of_bearer[bearer];
            (slice, (bearer + ues - self.slices[slice].next) % ues)
        });
        order
    }

    fn decide(&mut self, tti: u64) {
        let before: Vec<i64> = self.slices.iter().map(|slice| slice.quantum).collect();
        let grants: Vec<u32> = self.slices.iter().map(|slice| self.rbs * slice.share / 100).collect();
        for (slice, &grant) in self.slices.iter_mut().zip(&grants) {
            slice.quantum += i64::from(grant);
            slice.granted += u64::from(grant);
        }
        let total: u32 = grants.iter().sum();
        let order = self.order();
        let factors: Vec<u64> = self
            .slices
            .iter()
            .map(|slice| {
                let f = ((-slice.quantum) as f64 / self.limit as f64).clamp(0.0, 1.0);
                ((1.0 + 5.0 * f.powi(5)) * 65536.0).round() as u64
            })
            .collect();
        let mut best: Best = (0, 0, vec![0; order.len()]);
        self.search(&order, &factors, i64::from(total / RBG), &mut Vec::new(), &mut best);
        let after = self.after(&order, &best.2);
        if !self.is_lendable(&after) {
            // The others get fewer groups, so that no slice has lent more than the limit.
            let most: i64 = self.slices.iter().map(|slice| (slice.quantum - self.limit).max(0)).sum();
            let capacity = (i64::from(total) - most).max(0) / i64::from(RBG);
            best = (0, 0, vec![0; order.len()]);
            self.search(&order, &factors, capacity, &mut Vec::new(), &mut best);
        }
        self.hand_out(tti, &order, &best.2, &before, &grants);
    }

    /// Quanta after these numbers of packets of each queue.
    fn after(&self, order: &[usize], packets: &[usize]) -> Vec<i64> {
        let mut quanta: Vec<i64> = self.slices.iter().map(|slice| slice.quantum).collect();
        for (&bearer, &packets) in order.iter().zip(packets) {
            let bytes = self.queues[bearer].iter().take(packets).map(|packet| packet.1).sum();
            quanta[self.of_bearer[bearer]] -= self.groups(bearer, bytes).unwrap() * i64::from(RBG);
        }
        quanta
    }

    /// Returns true if all quanta are within the limit after they are charged the idle RBs, RB by RB and the
    /// highest first. The idle RBs are the sum of the quanta.
    fn is_lendable(&self, quanta: &[i64]) -> bool {
        let mut quanta = quanta.to_vec();
        for _ in 0..quanta.iter().sum::<i64>() {
            *quanta.iter_mut().max().unwrap() -= 1;
        }
        quanta.iter().all(|&quantum| quantum <= self.limit)
    }

    /// Continues with these numbers of packets of each queue.
    fn hand_out(&mut self, tti: u64, order: &[usize], packets: &[usize], before: &[i64], grants: &[u32]) {
        let total: u32 = grants.iter().sum();
        let mut groups = vec![0_i64; self.queues.len()];
        for (&bearer, &packets) in order.iter().zip(packets) {
            let bytes = self.queues[bearer].iter().take(packets).map(|packet| packet.1).sum();
            groups[bearer] = self.groups(bearer, bytes).unwrap();
            self.slices[self.of_bearer[bearer]].quantum -= groups[bearer] * i64::from(RBG);
        }
        let mut left = i64::from(total / RBG) - groups.iter().sum::<i64>();
        while left > 0 {
            let wants = |bearer: usize| {
                let bytes: u64 = self.queues[bearer].iter().map(|packet| packet.1).sum();
                let carried = self.tables[bearer].get(groups[bearer] as usize);
                bytes > carried.copied().unwrap_or(u64::MAX)
            };
            let mut chosen: Option<(i64, usize)> = None;
            for (number, slice) in self.slices.iter().enumerate() {
                let bearer = order.iter().copied().find(|&b| self.of_bearer[b] == number && wants(b));
                if let Some(bearer) = bearer
                    && chosen.is_none_or(|(quantum, _)| slice.quantum > quantum)
                {
                    chosen = Some((slice.quantum, bearer));
                }
            }
            let Some((quantum, bearer)) = chosen else { break };
            if quantum as f64 <= -0.75 * self.limit as f64 || quantum - i64::from(RBG) < -self.limit {
                break;
            }
            let mut then: Vec<i64> = self.slices.iter().map(|slice| slice.quantum).collect();
            then[self.of_bearer[bearer]] -= i64::from(RBG);
            if !self.is_lendable(&then) {
                break;
            }
            groups[bearer] += 1;
            self.slices[self.of_bearer[bearer]].quantum -= i64::from(RBG);
            left -= 1;
        }
        let mut unused = i64::from(total) - groups.iter().sum::<i64>() * i64::from(RBG);
        while unused > 0 {
            let highest = self.slices.iter().map(|slice| slice.quantum).max().unwrap();
            let slice = self.slices.iter_mut().find(|slice| slice.quantum == highest).unwrap();
            slice.quantum -= 1;
            unused -= 1;
        }
        let ues = self.queues.len();
        for number in 0..self.slices.len() {
            let own: Vec<usize> = order.iter().copied().filter(|&b| self.of_bearer[b] == number).collect();
            match own.iter().find(|&&bearer| groups[bearer] == 0) {
                Some(&bearer) => self.slices[number].next = bearer,
                None if !own.is_empty() => self.slices[number].next = (own[0] + 1) % ues,
                None => {}
            }
        }
        self.send(tti, order, &groups, before, grants);
    }

    fn send(&mut self, tti: u64, order: &[usize], groups: &[i64], before: &[i64], grants: &[u32]) {
        let mut used = vec![0; self.slices.len()];
        let mut is_content = vec![true; self.slices.len()];
        for &bearer in order {
            let slice = self.of_bearer[bearer];
            let carried = self.tables[bearer][groups[bearer] as usize];
            let wanted: u64 = self.queues[bearer].iter().map(|packet| packet.1).sum();
            let (mut left, mut any) = (carried, false);
            while let Some(&(handle, bytes)) = self.queues[bearer].front() {
                if bytes > left {
                    break;
                }
                left -= bytes;
                any = true;
                self.log.push((tti, bearer, handle));
                self.queues[bearer].pop_front();
            }
            if any {
                used[slice] += groups[bearer] * i64::from(RBG);
            }
            is_content[slice] &= any && carried >= wanted;
        }
        for (number, slice) in self.slices.iter_mut().enumerate() {
            let lent = slice.quantum - before[number];
            let idle = (i64::from(grants[number]) - lent - used[number]) as u64;
            slice.used += used[number] as u64;
            if is_content[number] {
                slice.wasted += idle
            } else {
                slice.unfit += idle
            }
            slice.quanta.push(slice.quantum);
        }
    }

    /// Tries every number of packets of the next queue.
    fn search(
        &self,
        order: &[usize],
        factors: &[u64],
        capacity: i64,
        taken: &mut Vec<usize>,
        best: &mut Best,
    ) {
        if taken.len() == order.len() {
            let mut charged = vec![0; self.slices.len()];
            let (mut packets, mut quanta) = (0, 0);
            for (&bearer, &count) in order.iter().zip(taken.iter()) {
                let slice = self.of_bearer[bearer];
                let bytes = self.queues[bearer].iter().take(count).map(|packet| packet.1).sum();
                charged[slice] += self.groups(bearer, bytes).unwrap() * i64::from(RBG);
                packets += count as i64;
                quanta += count as i64 * self.slices[slice].quantum;
            }
            let within = self.slices.iter().zip(charged).all(|(s, c)| c == 0 || s.quantum - c >= -self.limit);
            // Few packets of the first bearer are tried before many: the last of equal choices is taken.
            if within && (packets, quanta) >= (best.0, best.1) {
                *best = (packets, quanta, taken.clone());
            }
            return;
        }
        let bearer = order[taken.len()];
        let factor = factors[self.of_bearer[bearer]];
        let mut bytes = 0;
        for count in 0..=self.queues[bearer].len() {
            if count > 0 {
                bytes += self.queues[bearer][count - 1].1;
            }
            let Some(groups) = self.groups(bearer, (bytes * factor).div_ceil(65536)) else { return };
            if groups > capacity || self.groups(bearer, bytes).is_none() {
                return;
            }
            taken.push(count);
            self.search(order, factors, capacity - groups, taken, best);
            taken.pop();
        }
    }
}
