//! The rtnetlink requests that a link needs (rtnetlink(7)).
//!
//! A [`Netlink`] belongs to the network namespace of the thread that opened it, and stays there: any thread may use it
//! afterwards. The kernel answers requests at once, so no call waits.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::IpAddr;

/// An IP network: an address and a prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Any address of the network.
    pub address: IpAddr,
    /// Prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6.
    pub prefix: u8,
}

impl Network {
    /// Creates the network of `address`.
    pub const fn new(address: IpAddr, prefix: u8) -> Self {
        Self { address, prefix }
    }

    /// True if `address` belongs to the network.
    pub fn contains(self, address: IpAddr) -> bool {
        self.overlaps(Network::new(address, if address.is_ipv4() { 32 } else { 128 }))
    }

    /// True if the two have an address in common; never across address families.
    pub fn overlaps(self, other: Network) -> bool {
        let prefix = self.prefix.min(other.prefix);
        match (self.address, other.address) {
            (IpAddr::V4(one), IpAddr::V4(two)) => {
                let apart = u32::from(one) ^ u32::from(two);
                apart.checked_shr(32u32.saturating_sub(prefix.into())).unwrap_or(0) == 0
            }
            (IpAddr::V6(one), IpAddr::V6(two)) => {
                let apart = u128::from(one) ^ u128::from(two);
                apart.checked_shr(128u32.saturating_sub(prefix.into())).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// A route of any table, with the fields needed here.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The destination; prefix 0 is a default route.
    pub to: Network,
    /// The index of the output device, if the route has one.
    pub device: Option<u32>,
    /// True if [`Netlink::reserve`] created the route, which reserves these addresses for nested links.
    pub is_reserved: bool,
}

/// The alias of a link's outer device.
const ALIAS: &str = "qdelay link";

/// Value of `rtm_protocol` that marks routes as created by qdelay, unregistered in `/etc/iproute2/rt_protos`.
const OUR_PROTOCOL: RouteProtocol = RouteProtocol::Other(113);

/// An rtnetlink socket in one network namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends one request and collects the answers up to the end of a dump, the acknowledgement or, if the request has neither
    /// flag, the first answer.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let is_single = flags & (NLM_F_ACK | NLM_F_DUMP) == 0;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = datagram.as_slice();
            // Every message begins with its own length; the next one is at a multiple of four.
            while let Some(length) = rest.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes) as usize)
            {
                if length < 16 || length > rest.len() {
                    return Err(io::Error::other("the kernel's netlink answer is truncated"));
                }
                let parsed = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&rest[..length]);
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
                // Messages of newer kernels that this library cannot parse are skipped: if a conflict is overlooked because of
                // that, the kernel still refuses the address.
                let Ok(message) = parsed else { continue };
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(answer) => {
                        answers.push(answer);
                        if is_single {
                            return Ok(answers);
                        }
                    }
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(answers),
                    NetlinkPayload::Error(error) => {
                        return Err(io::Error::from_raw_os_error(error.raw_code().saturating_neg()));
                    }
                    _ => {}
                }
            }
        }
    }

    fn order(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, flags | NLM_F_ACK).map(|_| ())
    }

    /// The index of the device called `name`, if it exists.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn index(&mut self, name: &str) -> io::Result<Option<u32>> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        match self.request(RouteNetlinkMessage::GetLink(message), 0) {
            Ok(answers) => Ok(answers.into_iter().find_map(|answer| match answer {
                RouteNetlinkMessage::NewLink(link) => Some(link.header.index),
                _ => None,
            })),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The attributes of the device with this index; none if it does not exist.
    fn attributes(&mut self, index: u32) -> io::Result<impl Iterator<Item = LinkAttribute>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let answers = match self.request(RouteNetlinkMessage::GetLink(message), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Vec::new(),
            answers => answers?,
        };
        let attributes = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(link.attributes),
            _ => None,
        });
        Ok(attributes.flatten())
    }

    /// The name of the device with this index, if it exists.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn name(&mut self, index: u32) -> io::Result<Option<String>> {
        Ok(self.attributes(index)?.find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name),
            _ => None,
        }))
    }

    /// Marks a device as belonging to a link, by its alias (`ip link` shows it). The address alone is not sufficient: carriers that
    /// translate addresses assign addresses of the same range to modems.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn mark_as_link(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::IfAlias(ALIAS.to_string())];
        self.set_link(message)
    }

    /// True if [`Netlink::mark_as_link`] marked the device.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn is_of_link(&mut self, index: u32) -> io::Result<bool> {
        Ok(self
            .attributes(index)?
            .any(|attribute| matches!(attribute, LinkAttribute::IfAlias(alias) if alias == ALIAS)))
    }

    /// Number of packets that the kernel has dropped at a device in both directions since it was created.
    ///
    /// # Errors
    /// The kernel's error; the device may no longer exist.
    pub fn drops(&mut self, index: u32) -> io::Result<u64> {
        self.attributes(index)?
            .find_map(|attribute| match attribute {
                LinkAttribute::Stats64(stats) => Some(stats.tx_dropped.saturating_add(stats.rx_dropped)),
                _ => None,
            })
            .ok_or_else(|| io::Error::other("the kernel returned no statistics of the device"))
    }

    fn set_link(&mut self, message: LinkMessage) -> io::Result<()> {
        self.order(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets the MTU (bytes) and the length of the device's transmit queue (packets).
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_sizes(&mut self, index: u32, mtu: u32, queue: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue)];
        self.set_link(message)
    }

    /// Keeps the kernel from sending packets of its own on the device: no link-local address, hence no router solicitations,
    /// and no multicast, hence no listener reports. Otherwise a link would carry packets that no program has sent.
    ///
    /// # Errors
    /// The kernel's error; `EAFNOSUPPORT` or the like if the device has no IPv6.
    pub fn silence(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Multicast;
        self.set_link(message)?;
        let mut message = LinkMessage::default();
        message.header.index = index;
        let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        message.attributes = vec![LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])])];
        self.set_link(message)
    }

    /// Sets a device up.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_up(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.set_link(message)
    }

    /// Adds an address to a device, and with it the route to its network. The address is usable at once, without duplicate
    /// address detection.
    ///
    /// # Errors
    /// The kernel's error: `EEXIST` if the device has the address already, `EACCES` if IPv6 is disabled.
    pub fn add_address(&mut self, index: u32, network: Network) -> io::Result<()> {
        let mut message = address(index, network);
        if network.address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        self.order(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes an address from a device.
    ///
    /// # Errors
    /// The kernel's error: `EADDRNOTAVAIL` if the device does not have the address.
    pub fn remove_address(&mut self, index: u32, network: Network) -> io::Result<()> {
        self.order(RouteNetlinkMessage::DelAddress(address(index, network)), 0)
    }

    /// Adds a route to `to` via `gateway` on a device, in the main table.
    ///
    /// # Errors
    /// The kernel's error: `EEXIST` if the route exists.
    pub fn add_route(&mut self, index: u32, to: Network, gateway: IpAddr) -> io::Result<()> {
        let mut message = route(to, RouteType::Unicast);
        message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(gateway)));
        message.attributes.push(RouteAttribute::Oif(index));
        self.order(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Reserves `network` for nested links of this namespace, with an unreachable route, until one of them takes a part.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn reserve(&mut self, network: Network) -> io::Result<()> {
        let message = route(network, RouteType::Unreachable);
        self.order(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Reads every route of every table, of both families.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn routes(&mut self) -> io::Result<Vec<Route>> {
        let answers = self.dump(|family| {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            RouteNetlinkMessage::GetRoute(message)
        })?;
        Ok(answers.into_iter().filter_map(found_route).collect())
    }

    /// Reads every address of every device, as its connected network, with the index of the device.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn addresses(&mut self) -> io::Result<Vec<(u32, Network)>> {
        let answers = self.dump(|family| {
            let mut message = AddressMessage::default();
            message.header.family = family;
            RouteNetlinkMessage::GetAddress(message)
        })?;
        Ok(answers.into_iter().flat_map(found_addresses).collect())
    }

    fn dump(
        &mut self,
        question: impl Fn(AddressFamily) -> RouteNetlinkMessage,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut answers = self.request(question(AddressFamily::Inet), NLM_F_DUMP)?;
        // A kernel without IPv6 answers for another family, or refuses; neither is a failure.
        match self.request(question(AddressFamily::Inet6), NLM_F_DUMP) {
            Ok(more) => answers.extend(more),
            Err(error)
                if [libc::EOPNOTSUPP, libc::EAFNOSUPPORT].contains(&error.raw_os_error().unwrap_or(0)) => {}
            Err(error) => return Err(error),
        }
        Ok(answers)
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn address(index: u32, network: Network) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(network.address);
    message.header.prefix_len = network.prefix;
    message.header.index = index;
    message.attributes =
        vec![AddressAttribute::Local(network.address), AddressAttribute::Address(network.address)];
    message
}

fn route(to: Network, kind: RouteType) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(to.address);
    message.header.destination_prefix_length = to.prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = OUR_PROTOCOL;
    message.header.scope = RouteScope::Universe;
    message.header.kind = kind;
    if to.prefix > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::from(to.address)));
    }
    message
}

fn found_route(answer: RouteNetlinkMessage) -> Option<Route> {
    let RouteNetlinkMessage::NewRoute(message) = answer else { return None };
    let to = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
        RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    });
    let any: IpAddr = match message.header.address_family {
        AddressFamily::Inet => [0u8; 4].into(),
        AddressFamily::Inet6 => [0u8; 16].into(),
        _ => return None,
    };
    let is_reserved =
        message.header.protocol == OUR_PROTOCOL && message.header.kind == RouteType::Unreachable;
    let prefix = message.header.destination_prefix_length;
    let device = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(device) => Some(*device),
        _ => None,
    });
    Some(Route { to: Network::new(to.unwrap_or(any), prefix), device, is_reserved })
}

fn found_addresses(answer: RouteNetlinkMessage) -> Vec<(u32, Network)> {
    let RouteNetlinkMessage::NewAddress(message) = answer else { return Vec::new() };
    let prefix = message.header.prefix_len;
    // A point-to-point device has a local address and the peer's: both are in use.
    let address = |attribute: &AddressAttribute| match attribute {
        AddressAttribute::Local(address) | AddressAttribute::Address(address) => {
            Some((message.header.index, Network::new(*address, prefix)))
        }
        _ => None,
    };
    message.attributes.iter().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str, prefix: u8) -> Network {
        Network::new(address.parse().expect("an address"), prefix)
    }

    #[test]
    fn networks_overlap_if_they_agree_in_the_shorter_prefix() {
        let one = network("100.64.3.0", 24);
        assert!(one.overlaps(network("100.64.3.77", 32)));
        assert!(one.overlaps(network("100.64.0.0", 10)));
        assert!(one.overlaps(network("0.0.0.0", 0)));
        assert!(!one.overlaps(network("100.64.4.0", 24)));
        assert!(!one.overlaps(network("::", 0)));
        let six = network("fd71:de1a:3::", 48);
        assert!(six.overlaps(network("fd71:de1a:3:1000::", 52)));
        assert!(six.overlaps(network("::", 0)));
        assert!(!six.overlaps(network("fd71:de1a:4::", 48)));
        assert!(network("::1", 128).overlaps(network("::1", 128)));
        assert!(one.contains([100, 64, 3, 1].into()) && !one.contains([100, 64, 4, 1].into()));
    }

    #[test]
    fn only_existing_devices_are_found() {
        let mut netlink = Netlink::open().expect("rtnetlink");
        let index = netlink.index("lo").expect("an answer").expect("a device");
        assert_eq!(netlink.name(index).expect("an answer").as_deref(), Some("lo"));
        assert_eq!(netlink.name(u32::MAX >> 2).expect("an answer"), None);
        assert_eq!(netlink.index("no-such-device").expect("an answer"), None);
        netlink.routes().expect("an answer");
        netlink.addresses().expect("an answer");
    }
}
