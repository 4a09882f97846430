//! Matching of packets in both captures, by flow.

use super::Side;
use super::headers::{Ends, Identity, Seen};
use std::collections::BTreeMap;

/// Matched flow: packets in both captures with both times, and packets in only one capture.
#[derive(Default)]
pub struct Flow {
    /// Time in the first capture, time in the second, IP bytes.
    pub both: Vec<(i64, i64, u32)>,
    /// Time and IP bytes of packets missing in the other capture.
    pub only: [Vec<(i64, u32)>; 2],
    /// Number of packets that one capture has more often than the other.
    pub more: [u64; 2],
    /// Number of indistinguishable copies.
    pub alike: u64,
    /// Pairs with a greater hop limit in the first capture minus pairs with a greater one in the second.
    pub hops: i64,
}

/// Matches the packets of both captures by their identity.
pub fn matched(first: &Side, second: &Side) -> BTreeMap<Ends, Flow> {
    let kept = kept_least(first, second);
    let sorted = |side: &Side| {
        let cut = |seen: &Seen| match kept.get(&seen.identity.ends) {
            Some(kept) => Seen { identity: seen.identity.cut(*kept), ..*seen },
            None => *seen,
        };
        let mut packets: Vec<Seen> = side.packets.iter().map(cut).collect();
        packets.sort_unstable();
        packets
    };
    let (first, second) = (sorted(first), sorted(second));
    let (mut first, mut second) = (first.as_slice(), second.as_slice());
    let mut flows: BTreeMap<Ends, Flow> = BTreeMap::new();
    while let Some(identity) = least(first.first(), second.first()) {
        let run = |packets: &[Seen]| packets.iter().take_while(|other| other.identity == identity).count();
        let (sent, came) = (run(first), run(second));
        let flow = flows.entry(identity.ends).or_default();
        let both = if sent == came || sent.min(came) == 1 { sent.min(came) } else { 0 };
        for (one, other) in first.iter().zip(second).take(both) {
            flow.both.push((one.nanos, other.nanos, identity.bytes));
            flow.hops += (i64::from(one.hop_limit) - i64::from(other.hop_limit)).signum();
        }
        let pairs = sent.min(came);
        flow.alike += (pairs - both) as u64;
        for (side, (packets, count)) in [(first, sent), (second, came)].into_iter().enumerate() {
            // If the numbers of copies differ, the last copies are those without a partner.
            flow.only[side].extend(packets[pairs..count].iter().map(|seen| (seen.nanos, identity.bytes)));
            if pairs > 0 {
                flow.more[side] += (count - pairs) as u64;
            }
        }
        (first, second) = (&first[sent..], &second[came..]);
    }
    flows
}

/// Bytes of the transport fields that both captures have of every packet of a flow, where one capture cut some of them. Otherwise a packet
/// that is complete in one capture and cut in the other would have no match.
fn kept_least(first: &Side, second: &Side) -> BTreeMap<Ends, u8> {
    let mut least = BTreeMap::new();
    for seen in first.packets.iter().chain(&second.packets).filter(|seen| seen.kept < Seen::WHOLE) {
        let kept = least.entry(seen.identity.ends).or_insert(seen.kept);
        *kept = seen.kept.min(*kept);
    }
    least
}

fn least(one: Option<&Seen>, other: Option<&Seen>) -> Option<Identity> {
    let identity = |seen: Option<&Seen>| seen.map(|seen| seen.identity);
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
