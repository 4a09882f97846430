//! The networks in use in a namespace, and a free one for a link.

use super::block::{self, Block};
use super::netlink::{Netlink, Network};
use super::{SetupError, add, failed};
use crate::device::tun::Tun;

/// Number of attempts to find a free network when another program takes the same network at the same time.
const ATTEMPTS: usize = 8;

/// Finds a free block and gives the device its first address.
pub(super) fn claim(netlink: &mut Netlink, outside: &Tun) -> Result<Block, SetupError> {
    let index = outside.index();
    let mut refused = Vec::new();
    let mut is_nested = false;
    let mut first = number_in(outside.name()).unwrap_or(index);
    for _ in 0..ATTEMPTS {
        let mut survey = Survey::excluding(netlink, index)?;
        if survey.is_innermost {
            return Err(SetupError::TooDeep);
        }
        is_nested = survey.within.is_some();
        survey.taken.extend(&refused);
        // In an enclosing link the number 0 is that of its own device.
        let number = first.saturating_sub(u32::from(is_nested));
        let Some(block) = Block::choose(survey.within, survey.pools, &survey.taken, number) else { break };
        let address = Network::new(block.ipv4_ends().1.into(), 30);
        add(netlink, index, address)?;
        // A link that finds another with the same network gives up that network; of two links created at once, at least one
        // finds the other.
        if !Survey::excluding(netlink, index)?.taken.iter().any(|other| block.overlaps(*other)) {
            return Ok(block);
        }
        netlink
            .remove_address(index, address)
            .map_err(failed("removing an address from the network device"))?;
        refused.push(block.ipv4);
        // No other device has this index, so two links that collided choose different networks next.
        first = index;
    }
    Err(SetupError::NoFreeSubnet { is_nested })
}

/// The networks in use in a namespace.
struct Survey {
    taken: Vec<Network>,
    /// The block that nested links share, if this namespace is inside a link.
    within: Option<Block>,
    /// True if this namespace is inside a link whose block has no space for another.
    is_innermost: bool,
    pools: block::Pools,
}

impl Survey {
    /// Surveys the calling thread's namespace, without the networks of the device `own`.
    fn excluding(netlink: &mut Netlink, own: u32) -> Result<Self, SetupError> {
        let routes = netlink.routes().map_err(failed("reading the routes"))?;
        let addresses = netlink.addresses().map_err(failed("reading the addresses"))?;
        let addresses = || addresses.iter().filter(|(device, _)| *device != own).map(|(_, network)| *network);
        let reserved = || routes.iter().filter(|route| route.is_reserved).map(|route| route.to);
        let within = Block::from_networks(
            reserved().find(|to| to.address.is_ipv4()),
            reserved().find(|to| to.address.is_ipv6()),
        );
        let taken = routes
            .iter()
            .filter(|route| !route.is_reserved && !block::is_general(route.to) && route.device != Some(own))
            .map(|route| route.to)
            .chain(addresses())
            .collect();
        let pools = if addresses().any(block::is_of_vpn) { block::BESIDE_VPN } else { block::USUAL };
        let is_innermost = within.is_none() && reserved().any(|to| to.address.is_ipv4());
        Ok(Self { taken, within, is_innermost, pools })
    }
}

/// The number at the end of a device's name.
fn number_in(name: &str) -> Option<u32> {
    let digits = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    name[digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_number_is_read_at_the_end_of_the_name() {
        assert_eq!(number_in("qdelay12"), Some(12));
        assert_eq!(number_in("link"), None);
        assert_eq!(number_in("q7d"), None);
        assert_eq!(number_in("q99999999999"), None);
    }
}
