//! Allocation of addresses to links.
//!
//! A block contains a link's own network, its first /30 and /64, and space for nested links:
//!
//! | enclosing links | IPv4 | IPv6 | parts |
//! | --- | --- | --- | --- |
//! | none | 100.64.n.0/24 | fd71:de1a:n::/48 | 7 |
//! | one | a /27 of the enclosing link's /24 | a /52 of its /48 | 7 |
//! | two | a /30 of the enclosing link's /27 | a /56 of its /52 | none |
//!
//! 100.64.0.0/10 is shared address space (RFC 6598), 198.18.0.0/15 is for benchmarking (RFC 2544), fd00::/8 is for local
//! addresses with a random prefix (RFC 4193).

use super::netlink::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that are routed to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// IPv4 network: /24, /27 or /30.
    pub ipv4: Network,
    /// IPv6 network: /48, /52 or /56; `None` within a link that has no IPv6.
    pub ipv6: Option<Network>,
}

/// True if a route is so general that networks within it count as free: a default route, or a half of one.
pub(super) fn is_general(to: Network) -> bool {
    to.prefix < 8
}

/// Number of the first block of each pool for outermost links, in order of preference.
pub(super) type Pools = [u32; 2];
/// Usual order: 100.64.0.0/16 before 198.18.0.0/16.
pub(super) const USUAL: Pools = [0, 256];
/// Reverse order: a VPN with addresses in 100.64.0.0/10 may have a firewall rule against other sources in that range.
pub(super) const BESIDE_VPN: Pools = [256, 0];

/// True if `address` is a single host's address in 100.64.0.0/10, as overlay VPNs assign them.
pub(super) fn is_of_vpn(address: Network) -> bool {
    let shared = Network::new(IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10);
    address.prefix == 32 && address.overlaps(shared)
}

impl Block {
    /// The block with this number, 0 to 511, for a link that is not nested.
    fn outermost(number: u32) -> Self {
        let [_, _, high, low] = number.to_be_bytes();
        let ipv4 = if high == 0 { Ipv4Addr::new(100, 64, low, 0) } else { Ipv4Addr::new(198, 18, low, 0) };
        let ipv6 = Ipv6Addr::new(0xfd71, 0xde1a, u16::from_be_bytes([high, low]), 0, 0, 0, 0, 0);
        Self { ipv4: Network::new(ipv4.into(), 24), ipv6: Some(Network::new(ipv6.into(), 48)) }
    }

    /// Block of these reserved networks, if their prefixes are those of blocks.
    pub(super) fn from_networks(ipv4: Option<Network>, ipv6: Option<Network>) -> Option<Self> {
        let ipv4 = ipv4.filter(|network| [24, 27].contains(&network.prefix))?;
        let length = if ipv4.prefix == 24 { 48 } else { 52 };
        Some(Self { ipv4, ipv6: ipv6.filter(|network| network.prefix == length) })
    }

    /// The first address of the block, which no device has.
    pub(super) fn first(&self) -> Network {
        Network::new(self.ipv4.address, 32)
    }

    /// True if the block has space for nested links.
    pub(super) fn has_parts(&self) -> bool {
        self.ipv4.prefix < 30
    }

    /// The part with number `part`, 1 to 7, for a nested link. Part 0 belongs to the link itself.
    fn part(&self, part: u32) -> Self {
        let cut = |network: Network, bits: u8| {
            let prefix = network.prefix + bits;
            let address = match network.address {
                IpAddr::V4(four) => {
                    Ipv4Addr::from(u32::from(four) | (part << (32 - u32::from(prefix)))).into()
                }
                IpAddr::V6(six) => {
                    Ipv6Addr::from(u128::from(six) | (u128::from(part) << (128 - u32::from(prefix)))).into()
                }
            };
            Network::new(address, prefix)
        };
        Self { ipv4: cut(self.ipv4, 3), ipv6: self.ipv6.map(|network| cut(network, 4)) }
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
            Some(around) => (0..7).map(|step| around.part(1 + (first % 7 + step) % 7)).find(is_free),
            None => pools
                .into_iter()
                .flat_map(|pool| {
                    (0..256).map(move |step| Block::outermost(pool + (first % 256 + step) % 256))
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
        assert_eq!(Block::choose(None, USUAL, &[], 7), block("100.64.7.0/24", "fd71:de1a:7::/48"));
        assert_eq!(
            Block::choose(None, USUAL, &[network("100.64.7.9/32")], 7),
            block("100.64.8.0/24", "fd71:de1a:8::/48")
        );
        assert_eq!(
            Block::choose(None, USUAL, &[network("fd71:de1a:ff::1/128")], 255),
            block("100.64.0.0/24", "fd71:de1a::/48")
        );
        assert_eq!(Block::choose(None, USUAL, &[], 255), block("100.64.255.0/24", "fd71:de1a:ff::/48"));
    }

    #[test]
    fn other_pool_is_used_if_a_network_covers_the_first() {
        let carrier = network("100.64.0.0/10");
        assert_eq!(Block::choose(None, USUAL, &[carrier], 0), block("198.18.0.0/24", "fd71:de1a:100::/48"));
        assert_eq!(Block::choose(None, USUAL, &[carrier, network("198.18.0.0/15")], 0), None);
        assert_eq!(Block::choose(None, BESIDE_VPN, &[], 3), block("198.18.3.0/24", "fd71:de1a:103::/48"));
        assert!(is_of_vpn(network("100.101.102.103/32")));
        assert!(!is_of_vpn(network("100.64.0.1/30")) && !is_of_vpn(network("10.0.0.1/32")));
    }

    #[test]
    fn parts_nest_twice_and_never_overlap() {
        let outermost = Block::outermost(5);
        let mut all: Vec<Block> = Vec::new();
        for part in 1..8 {
            let middle = outermost.part(part);
            assert_eq!(Block::from_networks(Some(middle.ipv4), middle.ipv6), Some(middle));
            assert!(middle.has_parts() && outermost.overlaps(middle.ipv4));
            all.push(middle);
            for inner in 1..8 {
                let innermost = middle.part(inner);
                assert!(!innermost.has_parts() && middle.overlaps(innermost.ipv4));
                assert_eq!(Block::from_networks(Some(innermost.ipv4), innermost.ipv6), None);
                all.push(innermost);
            }
        }
        // The list also contains the own networks of all parts, and that of the outermost link.
        all.push(outermost);
        let own: Vec<[Network; 2]> = all
            .iter()
            .map(|block| {
                let (four, six) = (block.ipv4_ends().0, block.ipv6_ends().expect("IPv6").0);
                [Network::new(four.into(), 30), Network::new(six.into(), 64)]
            })
            .collect();
        for (index, one) in own.iter().enumerate() {
            for two in &own[..index] {
                assert!(!one[0].overlaps(two[0]) && !one[1].overlaps(two[1]), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn link_holds_seven_nested_links() {
        let around = Block::outermost(0);
        let mut taken = Vec::new();
        for first in 0..7 {
            let part = Block::choose(Some(around), USUAL, &taken, first * 3).expect("a free part");
            taken.push(part.ipv4);
        }
        assert_eq!(Block::choose(Some(around), USUAL, &taken, 0), None);
    }

    #[test]
    fn link_nested_in_one_without_ipv6_has_no_ipv6() {
        let around = Block::from_networks(Some(network("100.64.3.0/24")), None).expect("a block");
        let part = Block::choose(Some(around), USUAL, &[], 0).expect("a part");
        assert_eq!(part.ipv4, network("100.64.3.32/27"));
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
