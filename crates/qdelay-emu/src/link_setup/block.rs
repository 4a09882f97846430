//! Allocation of addresses to links.
//!
//! A block contains a link's own network, its first /30 and /64, and space for nested links. The rest is halved again and again:
//! the first nested link takes a half of the block, the next a quarter, and so on, so that the first is the one that nests deepest.
//!
//! | enclosing links | IPv4 | IPv6 | parts for nested links |
//! | --- | --- | --- | --- |
//! | none | a /20 of 100.64.0.0/12 or 198.18.0.0/15 | a /48 of fd71:de1a::/32 | 10: /21 to /30 |
//! | one | a /21 to /30 of the enclosing link's block | a /49 to /58 | 9 to 0 |
//! | ten | a /30 | a /58 | none |
//!
//! The bits of a nested link's address below those of its outermost link are all of the nesting: the outermost link's addresses
//! follow from those of any link within ([`Block::outermost`]).
//!
//! 100.64.0.0/10 is shared address space (RFC 6598), 198.18.0.0/15 is for benchmarking (RFC 2544), fd00::/8 is for local
//! addresses with a random prefix (RFC 4193).

use super::netlink::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that are routed to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// IPv4 network: /20 to /30.
    pub ipv4: Network,
    /// IPv6 network: /48 to /58; `None` within a link that has no IPv6.
    pub ipv6: Option<Network>,
}

/// True if a route is so general that networks within it count as free: a default route, or a half of one.
pub(super) fn is_general(to: Network) -> bool {
    to.prefix < 8
}

/// Prefix lengths of an outermost link's block.
const OUTERMOST_V4: u8 = 20;
const OUTERMOST_V6: u8 = 48;
/// Prefix length of a link's own IPv4 network, and of a block without space for nested links.
const OWN_V4: u8 = 30;
/// Number of links around the innermost one.
pub(super) const DEPTH: u8 = OWN_V4 - OUTERMOST_V4;

/// Blocks for outermost links: the first address, the number of blocks, and the number of the first in the IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    first: Ipv4Addr,
    blocks: u32,
    number: u32,
}

/// Pools for outermost links, in order of preference.
pub(super) type Pools = [Pool; 2];
const SHARED: Pool = Pool { first: Ipv4Addr::new(100, 64, 0, 0), blocks: 256, number: 0 };
const BENCHMARK: Pool = Pool { first: Ipv4Addr::new(198, 18, 0, 0), blocks: 32, number: 256 };
/// Usual order: 100.64.0.0/12 before 198.18.0.0/15.
pub(super) const USUAL: Pools = [SHARED, BENCHMARK];
/// Reverse order: a VPN with addresses in 100.64.0.0/10 may have a firewall rule against other sources in that range.
pub(super) const BESIDE_VPN: Pools = [BENCHMARK, SHARED];

/// True if `address` is a single host's address in 100.64.0.0/10, as overlay VPNs assign them.
pub(super) fn is_of_vpn(address: Network) -> bool {
    let shared = Network::new(IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10);
    address.prefix == 32 && address.overlaps(shared)
}

impl Block {
    /// The block of a pool with this number, from 0, for a link that is not nested.
    fn of_pool(pool: Pool, number: u32) -> Self {
        let ipv4 = u32::from(pool.first) + (number << (32 - OUTERMOST_V4));
        let [_, _, high, low] = (pool.number + number).to_be_bytes();
        let ipv6 = Ipv6Addr::new(0xfd71, 0xde1a, u16::from_be_bytes([high, low]), 0, 0, 0, 0, 0);
        Self {
            ipv4: Network::new(Ipv4Addr::from(ipv4).into(), OUTERMOST_V4),
            ipv6: Some(Network::new(ipv6.into(), OUTERMOST_V6)),
        }
    }

    /// Block of these reserved networks, if their prefixes are those of blocks with space for nested links.
    pub(super) fn from_networks(ipv4: Option<Network>, ipv6: Option<Network>) -> Option<Self> {
        let ipv4 = ipv4.filter(|network| (OUTERMOST_V4..OWN_V4).contains(&network.prefix))?;
        let length = ipv4.prefix - OUTERMOST_V4 + OUTERMOST_V6;
        Some(Self { ipv4, ipv6: ipv6.filter(|network| network.prefix == length) })
    }

    /// The block of the outermost link around this one; itself if it is not nested.
    #[must_use]
    pub fn outermost(&self) -> Self {
        let cut = |network: Network, prefix: u8| {
            let address = match network.address {
                IpAddr::V4(four) => {
                    Ipv4Addr::from(u32::from(four) & (u32::MAX << (32 - u32::from(prefix)))).into()
                }
                IpAddr::V6(six) => {
                    Ipv6Addr::from(u128::from(six) & (u128::MAX << (128 - u32::from(prefix)))).into()
                }
            };
            Network::new(address, prefix)
        };
        Self { ipv4: cut(self.ipv4, OUTERMOST_V4), ipv6: self.ipv6.map(|network| cut(network, OUTERMOST_V6)) }
    }

    /// True if the block belongs to a link within another.
    pub fn is_nested(&self) -> bool {
        self.ipv4.prefix > OUTERMOST_V4
    }

    /// The first address of the block, which no device has.
    pub(super) fn first(&self) -> Network {
        Network::new(self.ipv4.address, 32)
    }

    /// True if the block has space for nested links.
    pub(super) fn has_parts(&self) -> bool {
        self.parts() > 0
    }

    /// Number of parts for nested links.
    fn parts(&self) -> u32 {
        u32::from(OWN_V4.saturating_sub(self.ipv4.prefix))
    }

    /// The part with number `part` for a nested link, from 1: the upper half of the block, or the upper half of the part that is left by
    /// those with lower numbers.
    fn part(&self, part: u32) -> Self {
        let cut = |network: Network| {
            let prefix = network.prefix + part as u8;
            let address = match network.address {
                IpAddr::V4(four) => Ipv4Addr::from(u32::from(four) | (1 << (32 - u32::from(prefix)))).into(),
                IpAddr::V6(six) => Ipv6Addr::from(u128::from(six) | (1 << (128 - u32::from(prefix)))).into(),
            };
            Network::new(address, prefix)
        };
        Self { ipv4: cut(self.ipv4), ipv6: self.ipv6.map(cut) }
    }

    /// True if `network` overlaps the block.
    pub(super) fn overlaps(&self, network: Network) -> bool {
        network.overlaps(self.ipv4) || self.ipv6.is_some_and(|ipv6| network.overlaps(ipv6))
    }

    /// Chooses a block that overlaps none of the `taken` networks: a part of `within`, or an outermost one of `pools`. The search
    /// begins at the number `first`, so that links created at the same time rarely collide.
    pub(super) fn choose(within: Option<Block>, pools: Pools, taken: &[Network], first: u32) -> Option<Self> {
        let is_free = |block: &Block| !taken.iter().any(|network| block.overlaps(*network));
        match within {
            Some(around) => {
                let parts = around.parts();
                (0..parts).map(|step| around.part(1 + (first % parts + step) % parts)).find(is_free)
            }
            None => pools
                .into_iter()
                .flat_map(|pool| {
                    (0..pool.blocks)
                        .map(move |step| Block::of_pool(pool, (first % pool.blocks + step) % pool.blocks))
                })
                .find(is_free),
        }
    }

    /// The two IPv4 addresses of the link, /30: inside, outside.
    pub fn ipv4_ends(&self) -> (Ipv4Addr, Ipv4Addr) {
        let base = match self.ipv4.address {
            IpAddr::V4(address) => u32::from(address),
            IpAddr::V6(_) => 0,
        };
        (Ipv4Addr::from(base | 2), Ipv4Addr::from(base | 1))
    }

    /// The two IPv6 addresses of the link, /64: inside, outside.
    pub fn ipv6_ends(&self) -> Option<(Ipv6Addr, Ipv6Addr)> {
        match self.ipv6?.address {
            IpAddr::V6(address) => {
                let base = u128::from(address);
                Some((Ipv6Addr::from(base | 2), Ipv6Addr::from(base | 1)))
            }
            IpAddr::V4(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        let (address, prefix) = text.split_once('/').expect("address/prefix");
        Network::new(address.parse().expect("an address"), prefix.parse().expect("a prefix"))
    }

    fn block(ipv4: &str, ipv6: &str) -> Option<Block> {
        Some(Block { ipv4: network(ipv4), ipv6: Some(network(ipv6)) })
    }

    #[test]
    fn first_number_is_chosen_if_it_is_free() {
        assert_eq!(Block::choose(None, USUAL, &[], 7), block("100.64.112.0/20", "fd71:de1a:7::/48"));
        assert_eq!(
            Block::choose(None, USUAL, &[network("100.64.112.9/32")], 7),
            block("100.64.128.0/20", "fd71:de1a:8::/48")
        );
        assert_eq!(
            Block::choose(None, USUAL, &[network("fd71:de1a:ff::1/128")], 255),
            block("100.64.0.0/20", "fd71:de1a::/48")
        );
        assert_eq!(Block::choose(None, USUAL, &[], 255), block("100.79.240.0/20", "fd71:de1a:ff::/48"));
    }

    #[test]
    fn other_pool_is_used_if_a_network_covers_the_first() {
        let carrier = network("100.64.0.0/10");
        assert_eq!(Block::choose(None, USUAL, &[carrier], 0), block("198.18.0.0/20", "fd71:de1a:100::/48"));
        assert_eq!(Block::choose(None, USUAL, &[carrier, network("198.18.0.0/15")], 0), None);
        assert_eq!(Block::choose(None, BESIDE_VPN, &[], 35), block("198.18.48.0/20", "fd71:de1a:103::/48"));
        assert!(is_of_vpn(network("100.101.102.103/32")));
        assert!(!is_of_vpn(network("100.64.0.1/30")) && !is_of_vpn(network("10.0.0.1/32")));
    }

    /// The block and every block within it.
    fn all_within(block: Block, all: &mut Vec<Block>) {
        all.push(block);
        for part in 1..=block.parts() {
            all_within(block.part(part), all);
        }
    }

    #[test]
    fn parts_never_overlap_and_lead_to_the_outermost_link() {
        let outermost = Block::of_pool(USUAL[0], 5);
        let mut all = Vec::new();
        all_within(outermost, &mut all);
        assert_eq!(all.len(), 1024, "each /30 of a /20 is the own network of one block");
        let mut own: Vec<(Ipv4Addr, Ipv6Addr)> = Vec::new();
        for block in &all {
            assert!(outermost.overlaps(block.ipv4));
            assert_eq!((block.outermost(), block.is_nested()), (outermost, *block != outermost));
            let read = Block::from_networks(Some(block.ipv4), block.ipv6);
            assert_eq!(read, block.has_parts().then_some(*block));
            let (four, six) = (block.ipv4_ends().0, block.ipv6_ends().expect("IPv6").0);
            own.push((
                Ipv4Addr::from(u32::from(four) >> 2 << 2),
                Ipv6Addr::from(u128::from(six) >> 64 << 64),
            ));
        }
        let count = |mut all: Vec<IpAddr>| {
            all.sort();
            all.dedup();
            all.len()
        };
        assert_eq!(count(own.iter().map(|own| own.0.into()).collect()), all.len());
        assert_eq!(count(own.iter().map(|own| own.1.into()).collect()), all.len());
    }

    #[test]
    fn links_nest_ten_deep() {
        let mut around = Block::of_pool(USUAL[0], 0);
        for depth in 1..=DEPTH {
            let within = Block::choose(Some(around), USUAL, &[], 0).expect("a part");
            assert_eq!(within.has_parts(), depth < DEPTH);
            around = within;
        }
    }

    #[test]
    fn link_holds_ten_nested_links() {
        let around = Block::of_pool(USUAL[0], 0);
        let mut taken = Vec::new();
        for first in 0..10 {
            let part = Block::choose(Some(around), USUAL, &taken, first * 3).expect("a free part");
            taken.push(part.ipv4);
        }
        assert_eq!(Block::choose(Some(around), USUAL, &taken, 0), None);
    }

    #[test]
    fn link_nested_in_one_without_ipv6_has_no_ipv6() {
        let around = Block::from_networks(Some(network("100.64.48.0/20")), None).expect("a block");
        let part = Block::choose(Some(around), USUAL, &[], 0).expect("a part");
        assert_eq!(part.ipv4, network("100.64.56.0/21"));
        assert_eq!(part.ipv6_ends(), None);
    }

    #[test]
    fn default_route_halves_do_not_block_a_network() {
        assert!(
            is_general(network("0.0.0.0/1"))
                && is_general(network("::/0"))
                && is_general(network("2000::/3"))
        );
        assert!(!is_general(network("100.64.0.0/10")));
    }
}
