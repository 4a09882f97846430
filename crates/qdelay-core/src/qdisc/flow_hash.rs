//! The hash that assigns the packets of a flow to a bucket.
//!
//! [`Packet::flow`](crate::Packet::flow) represents the 5-tuple: a hash of it, or a host's index. Hosts
//! number flows from 0, so the number is mixed before it is scaled down to the buckets; flows then collide as
//! often as those of a kernel (RFC 8290 section 5.3), and the same flows collide in every run.

use crate::component::{Typed, Unit};

/// `flows`: number of buckets.
pub(super) const FLOWS: Typed<u32> = Typed::new(
    "flows",
    "1024",
    "number of buckets that flows are hashed to; flows of one bucket are treated as one",
)
.unit(Unit::Count("buckets"))
.within("1", "65536")
.source("RFC 8290 section 5.2.5; Linux sfq (divisor 1024)");

/// The bucket, below `buckets`, of `flow`.
///
/// The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, figure 16) over the flow and `perturbation`, without
/// the generator's step, so that flow 0 under perturbation 0 goes to bucket 0. Its upper half is scaled by multiplication, as
/// in Linux's `reciprocal_scale`: there is no division, and every number of buckets works equally well.
#[inline]
pub(super) fn bucket(flow: u32, perturbation: u64, buckets: u32) -> u32 {
    let mut x = u64::from(flow) ^ perturbation;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    (((x >> 32) * u64::from(buckets)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn flows_spread_evenly_and_stay_below_the_count() {
        for buckets in [1, 7, 64, 1000, 65_536] {
            let mut counts = vec![0u32; buckets as usize];
            (0..100 * buckets).for_each(|flow| counts[bucket(flow, 0, buckets) as usize] += 1);
            assert!(counts.iter().all(|count| (40..=170).contains(count)), "{buckets}");
        }
    }

    #[test]
    fn a_perturbation_separates_flows_that_collided() {
        let together = |perturbation, a, b| bucket(a, perturbation, 64) == bucket(b, perturbation, 64);
        let pairs = || (0..200u32).flat_map(|a| (0..a).map(move |b| (a, b)));
        let collided = pairs().filter(|&(a, b)| together(0, a, b)).count();
        let still = pairs().filter(|&(a, b)| together(0, a, b) && together(12_345, a, b)).count();
        assert!((200..450).contains(&collided), "{collided} of 19900 in 64 buckets");
        assert!(still < 20, "{still}");
    }
}
