//! Direction of flows: from the end of the first capture to that of the second, or back.
//!
//! All packets from one address to another travel in one direction. Time differences (second capture minus first) tell the direction by
//! their order, for any clock offset: forth, a difference is offset plus delay; back, it is offset minus delay, so all differences forth
//! exceed all
//! differences back. Traffic in both directions is decided by this order. For one-way traffic the hop limit decides, which routers between
//! the
//! ends decrease. Without routers the sign of the differences decides, which is correct if the clocks differ by less than a delay. Traffic
//! between two addresses never goes one way in both directions.

use super::matching::Flow;
use super::{Ends, Way};
use crate::import::clocks::Clocks;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Evidence of a direction, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Traffic between the same addresses in the other direction.
    Reverse,
    /// The hop limit, lower at the receiving end.
    HopLimit,
    /// The sign of the delays.
    Sign,
}

/// All traffic from one address to another.
#[derive(Default)]
struct Between {
    /// Time in the second capture minus time in the first minus the offset, sorted.
    differences: Vec<i64>,
    hops: i64,
    only: [usize; 2],
}

impl Between {
    fn median(&self) -> Option<i64> {
        self.differences.get(self.differences.len() / 2).copied()
    }
    /// Rank of the differences, greater forth than back: the median, which outliers do not move, or the middle of the extremes where most
    /// delays are 0.
    fn rank(&self) -> Option<(i64, i128)> {
        let extremes = (self.differences.first()?, self.differences.last()?);
        Some((self.median()?, i128::from(*extremes.0) + i128::from(*extremes.1)))
    }
}

/// Source and destination: an address, and a port where both addresses are the same.
type Addresses = ((IpAddr, u16), (IpAddr, u16));

fn addresses(ends: &Ends) -> Addresses {
    let is_one = ends.source == ends.destination;
    let end = |address: IpAddr, port: u16| (address, if is_one { port } else { 0 });
    (end(ends.source, ends.source_port), end(ends.destination, ends.destination_port))
}

/// Directions by addresses.
pub struct Directions(BTreeMap<Addresses, (Way, Evidence)>);

impl Directions {
    /// Directions of all flows by these clocks.
    pub fn new(flows: &BTreeMap<Ends, Flow>, clocks: &Clocks) -> Directions {
        let mut between: BTreeMap<Addresses, Between> = BTreeMap::new();
        for (ends, flow) in flows {
            let sum = between.entry(addresses(ends)).or_default();
            let difference = |(one, other, _): &(i64, i64, u32)| clocks.to_first(*other).saturating_sub(*one);
            sum.differences.extend(flow.both.iter().map(difference));
            sum.hops += flow.hops;
            (0..2).for_each(|side| sum.only[side] += flow.only[side].len());
        }
        between.values_mut().for_each(|sum| sum.differences.sort_unstable());
        let mut known: BTreeMap<Addresses, (Way, Evidence)> = between
            .iter()
            .filter_map(|(addresses, sum)| Some((*addresses, evident(*addresses, sum, &between)?)))
            .collect();
        let clocks = clock_difference(&known, &between);
        for (addresses, sum) in &between {
            let mirror = known.get(&(addresses.1, addresses.0)).copied();
            known.entry(*addresses).or_insert_with(|| {
                if let Some((way, evidence)) = mirror {
                    return (way.opposite(), evidence);
                }
                let is_back = match sum.median() {
                    Some(median) => median < clocks,
                    None => sum.only[0] < sum.only[1],
                };
                (if is_back { Way::Back } else { Way::Forth }, Evidence::Sign)
            });
        }
        Directions(known)
    }

    /// Direction of a flow, and its evidence.
    pub fn of_flow(&self, ends: &Ends) -> (Way, Evidence) {
        self.0.get(&addresses(ends)).copied().unwrap_or((Way::Forth, Evidence::Sign))
    }
}

/// Direction by the traffic back, or by hop limits without such traffic.
fn evident(
    (source, destination): Addresses,
    sum: &Between,
    between: &BTreeMap<Addresses, Between>,
) -> Option<(Way, Evidence)> {
    let way = |is_forth: bool| if is_forth { Way::Forth } else { Way::Back };
    let mirror = between.get(&(destination, source));
    // Hops of the mirror count against those of this direction, so that both get opposite ways.
    let hops = sum.hops - mirror.map_or(0, |mirror| mirror.hops);
    match (sum.rank()?, mirror.and_then(Between::rank)) {
        (rank, Some(reverse)) if rank != reverse => Some((way(rank > reverse), Evidence::Reverse)),
        _ if hops != 0 => Some((way(hops > 0), Evidence::HopLimit)),
        _ => None,
    }
}

/// Remaining clock offset of the second capture, as far as flows of known direction show it: 0 if 0 is possible, otherwise the middle
/// between the smallest difference forth and the greatest back, or the only one of the two that exists.
fn clock_difference(
    known: &BTreeMap<Addresses, (Way, Evidence)>,
    between: &BTreeMap<Addresses, Between>,
) -> i64 {
    let of_way = |wanted: Way| {
        let is_wanted = move |(addresses, (way, _)): (&Addresses, &(Way, Evidence))| {
            (*way == wanted).then(|| between.get(addresses)).flatten()
        };
        known.iter().filter_map(is_wanted)
    };
    let forth = of_way(Way::Forth).filter_map(|sum| sum.differences.first()).min();
    let back = of_way(Way::Back).filter_map(|sum| sum.differences.last()).max();
    match (forth.copied(), back.copied()) {
        (Some(forth), Some(back)) if back <= 0 && 0 <= forth => 0,
        (Some(forth), Some(back)) => forth / 2 + back / 2,
        (Some(forth), None) => forth.min(0),
        (None, Some(back)) => back.max(0),
        (None, None) => 0,
    }
}
