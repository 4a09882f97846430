//! The best choice of a TTI, computed slowly from the text.

use super::Case;

/// Value of a choice: number of packets, and sum of their quanta.
pub type Value = (i64, i64);

/// The required choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    pub value: Value,
    /// Number of packets by queue.
    pub packets: Vec<usize>,
}

impl Best {
    pub fn new(case: &Case, value: Value, chosen: &[(usize, usize)]) -> Best {
        let mut packets = vec![0; case.queues.len()];
        for &(queue, count) in chosen {
            packets[queue] = count;
        }
        Best { value, packets }
    }
}

/// The queues in the order that decides among equal choices: slice by slice, and in a slice by their turn.
pub fn order(case: &Case) -> Vec<usize> {
    let count = case.queues.len();
    let turns = (0..count).map(|place| (case.first + place) % count);
    (0..case.shares.len())
        .flat_map(|slice| turns.clone().filter(move |&queue| case.slice_of(queue) == slice))
        .collect()
}

/// Bounds of a choice.
#[derive(Debug)]
pub struct Bounds {
    pub total_rbs: u32,
    /// Capacity in groups.
    pub capacity: u32,
    /// For each slice: the quantum after its grant, and the inflation factor of its packets in 1/65536.
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

/// Value of a choice; `None` if it violates a bound.
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

/// The best choice among all numbers of packets of every queue.
pub fn exhaustive(case: &Case, bounds: &Bounds) -> Best {
    fn search(
        case: &Case,
        bounds: &Bounds,
        order: &[usize],
        chosen: &mut Vec<(usize, usize)>,
        best: &mut Best,
    ) {
        // A choice that is not possible remains so with more packets.
        let Some(value) = value(case, bounds, chosen) else { return };
        let Some((&queue, behind)) = order.split_first() else {
            // Few packets of the first queue are tried before many: the last of equal choices is taken.
            if value >= best.value {
                *best = Best::new(case, value, chosen);
            }
            return;
        };
        search(case, bounds, behind, chosen, best);
        for packets in 1..=case.queues[queue].prefix_bytes.len() {
            chosen.push((queue, packets));
            search(case, bounds, behind, chosen, best);
            chosen.pop();
        }
    }
    let mut best = Best::new(case, (0, 0), &[]);
    search(case, bounds, &order(case), &mut Vec::new(), &mut best);
    best
}

/// The textbook's dynamic programme over all queues: the best value of a queue and those behind it, for each
/// number of groups that may be taken and of groups that its slice may be charged for.
pub fn textbook(case: &Case, bounds: &Bounds) -> Best {
    let order = order(case);
    let takes_most = bounds.capacity as usize;
    let room = |slice: usize| {
        let room = (bounds.slices[slice].0 + i64::from(case.limit_rbs)) / i64::from(case.rbg_rbs);
        room.min(takes_most as i64) as usize
    };
    let mut best: Vec<Vec<Vec<Value>>> = vec![Vec::new(); order.len()];
    // Best value behind a position, with the remaining groups.
    let behind = |best: &[Vec<Vec<Value>>], place: usize, left: usize, charges: usize| match order
        .get(place + 1)
    {
        None => (0, 0),
        Some(&next) if case.slice_of(next) == case.slice_of(order[place]) => best[place + 1][left][charges],
        Some(&next) => best[place + 1][left][room(case.slice_of(next))],
    };
    let costs = |place: usize| -> Vec<(usize, usize)> {
        let queue = order[place];
        let cost = |packets| Some((inflated(case, bounds, queue, packets)?, groups(case, queue, packets)?));
        let all = (1..=case.queues[queue].prefix_bytes.len()).map_while(cost);
        std::iter::once((0, 0))
            .chain(all.map(|(takes, charged)| (takes as usize, charged as usize)))
            .collect()
    };
    let costs: Vec<Vec<(usize, usize)>> = (0..order.len()).map(costs).collect();
    // Value of `packets` packets of the queue at a position, with the best value behind it.
    let with = |best: &[Vec<Vec<Value>>], place: usize, left: usize, charges: usize, packets: usize| {
        let quantum = bounds.slices[case.slice_of(order[place])].0;
        let (takes, charged) = costs[place][packets];
        let (left, charges) = left.checked_sub(takes).zip(charges.checked_sub(charged))?;
        let (count, sum) = behind(best, place, left, charges);
        Some((count + packets as i64, sum + packets as i64 * quantum))
    };
    for place in (0..order.len()).rev() {
        let charges_most = room(case.slice_of(order[place]));
        let most = |left, charges| {
            let values =
                (0..costs[place].len()).map_while(|packets| with(&best, place, left, charges, packets));
            values.max().unwrap()
        };
        let of_place =
            (0..=takes_most).map(|left| (0..=charges_most).map(|charges| most(left, charges)).collect());
        best[place] = of_place.collect();
    }
    let (mut left, mut slice, mut charges) = (takes_most, usize::MAX, 0);
    let (mut value, mut chosen) = ((0, 0), Vec::new());
    for (place, &queue) in order.iter().enumerate() {
        if case.slice_of(queue) != slice {
            slice = case.slice_of(queue);
            charges = room(slice);
        }
        let here = Some(best[place][left][charges]);
        let is_best = |&packets: &usize| with(&best, place, left, charges, packets) == here;
        let packets = (0..costs[place].len()).rev().find(is_best).unwrap();
        if packets > 0 {
            chosen.push((queue, packets));
            (left, charges) = (left - costs[place][packets].0, charges - costs[place][packets].1);
            let packets = packets as i64;
            value = (value.0 + packets, value.1 + packets * bounds.slices[slice].0);
        }
    }
    Best::new(case, value, &chosen)
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
