//! What the best choice of a TTI is, worked out slowly from the text.

use super::Case;

/// Packets, and the sum of their quanta.
pub type Value = (i64, i64);

/// What a choice may take.
#[derive(Debug)]
pub struct Bounds {
    pub total_rbs: u32,
    /// Groups.
    pub capacity: u32,
    /// Of each slice: the quantum after its grant, and by what its packets are made larger, in 1/65536.
    pub slices: Vec<(i64, u64)>,
}

pub fn granted(rbs: u32, share: u32) -> u32 {
    (f64::from(rbs) * f64::from(share) / 1e6).floor() as u32
}

pub fn bounds(case: &Case) -> Bounds {
    let grants: Vec<u32> = case.shares.iter().map(|&share| granted(case.rbs, share)).collect();
    let total_rbs = grants.iter().sum();
    let slice = |(&quantum, &grant): (&i64, &u32)| {
        let quantum = quantum + i64::from(grant);
        let fraction = (-quantum as f64 / f64::from(case.limit_rbs)).clamp(0.0, 1.0);
        let factor = 1.0 + 5.0 * fraction.powi(5);
        (quantum, (factor * 65536.0).round() as u64)
    };
    let slices = case.quanta.iter().zip(&grants).map(slice).collect();
    Bounds { total_rbs, capacity: total_rbs / case.rbg_rbs, slices }
}

/// The fewest groups that carry `bytes`.
fn groups_for(case: &Case, queue: usize, bytes: u64) -> Option<u32> {
    let table = &case.tables[case.queues[queue].channel];
    table.iter().position(|&carried| u64::from(carried) >= bytes).map(|index| index as u32 + 1)
}

/// Groups of the first `packets` packets.
pub fn groups(case: &Case, queue: usize, packets: usize) -> Option<u32> {
    groups_for(case, queue, case.queues[queue].prefix_bytes[packets - 1].into())
}

fn inflated(case: &Case, bounds: &Bounds, queue: usize, packets: usize) -> Option<u32> {
    let bytes =
        u64::from(case.queues[queue].prefix_bytes[packets - 1]) * bounds.slices[case.slice_of(queue)].1;
    groups_for(case, queue, bytes.div_ceil(65536))
}

/// What a choice is worth; `None` if it may not be.
pub fn value(case: &Case, bounds: &Bounds, chosen: &[(usize, usize)]) -> Option<Value> {
    let (mut value, mut taken, mut charged) = ((0, 0), 0, vec![0; case.shares.len()]);
    let mut seen = vec![false; case.queues.len()];
    for &(queue, packets) in chosen {
        if packets == 0 || packets > case.queues[queue].prefix_bytes.len() || seen[queue] {
            return None;
        }
        seen[queue] = true;
        let slice = case.slice_of(queue);
        taken += inflated(case, bounds, queue, packets)?;
        charged[slice] += groups(case, queue, packets)?;
        value = (value.0 + packets as i64, value.1 + packets as i64 * bounds.slices[slice].0);
    }
    let within = charged.iter().zip(&bounds.slices).all(|(&charged, &(quantum, _))| {
        quantum - i64::from(charged * case.rbg_rbs) >= -i64::from(case.limit_rbs) || charged == 0
    });
    (taken <= bounds.capacity && within).then_some(value)
}

/// Every number of packets of every queue.
pub fn exhaustive(case: &Case, bounds: &Bounds) -> Value {
    fn search(
        case: &Case,
        bounds: &Bounds,
        chosen: &mut Vec<(usize, usize)>,
        queue: usize,
        best: &mut Value,
    ) {
        match value(case, bounds, chosen) {
            // More packets make it no better.
            None => return,
            Some(value) if queue == case.queues.len() => {
                *best = (*best).max(value);
                return;
            }
            Some(_) => {}
        }
        search(case, bounds, chosen, queue + 1, best);
        for packets in 1..=case.queues[queue].prefix_bytes.len() {
            chosen.push((queue, packets));
            search(case, bounds, chosen, queue + 1, best);
            chosen.pop();
        }
    }
    let mut best = (0, 0);
    search(case, bounds, &mut Vec::new(), 0, &mut best);
    best
}

/// The textbook's dynamic programme over all queues, slice by slice: the best value for each number of groups taken, and of groups
/// charged within the slice in hand.
pub fn textbook(case: &Case, bounds: &Bounds) -> Value {
    const NEVER: Value = (i64::MIN / 2, 0);
    let takes_most = bounds.capacity as usize;
    let mut best = vec![NEVER; takes_most + 1];
    best[0] = (0, 0);
    for (slice, &(quantum, _)) in bounds.slices.iter().enumerate() {
        let room = (quantum + i64::from(case.limit_rbs)) / i64::from(case.rbg_rbs);
        let charges_most = room.min(takes_most as i64) as usize;
        let mut states = vec![vec![NEVER; charges_most + 1]; takes_most + 1];
        (0..=takes_most).for_each(|taken| states[taken][0] = best[taken]);
        for queue in (0..case.queues.len()).filter(|&queue| case.slice_of(queue) == slice) {
            let before = states.clone();
            for packets in 1..=case.queues[queue].prefix_bytes.len() {
                let costs = inflated(case, bounds, queue, packets).zip(groups(case, queue, packets));
                let Some((takes, charges)) = costs else { break };
                for taken in takes as usize..=takes_most {
                    for charged in charges as usize..=charges_most {
                        let (count, sum) = before[taken - takes as usize][charged - charges as usize];
                        let value = (count + packets as i64, sum + packets as i64 * quantum);
                        states[taken][charged] = states[taken][charged].max(value);
                    }
                }
            }
        }
        for (best, states) in best.iter_mut().zip(&states) {
            *best = states.iter().copied().max().unwrap_or(NEVER);
        }
    }
    best.into_iter().max().unwrap_or((0, 0))
}

/// The most packets that `groups` groups can complete in one slice, at their real size.
pub fn most_packets_of(case: &Case, slice: usize, groups_left: u32) -> u64 {
    fn search(case: &Case, slice: usize, left: u32, queue: usize) -> u64 {
        if queue == case.queues.len() {
            return 0;
        }
        let mut best = search(case, slice, left, queue + 1);
        if case.slice_of(queue) == slice {
            for packets in 1..=case.queues[queue].prefix_bytes.len() {
                if let Some(takes) = groups(case, queue, packets).filter(|&takes| takes <= left) {
                    best = best.max(packets as u64 + search(case, slice, left - takes, queue + 1));
                }
            }
        }
        best
    }
    search(case, slice, groups_left, 0)
}
