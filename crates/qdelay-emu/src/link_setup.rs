//! Two TUN devices, one in a namespace for the command and one outside, with addresses and routes.
//!
//! ```text
//! inside: lo, qdelay0 100.64.n.2/30, default route  -- fd --> [ ] <-- fd --  outside: qdelay<k> 100.64.n.1/30
//!                     fd71:de1a:n::2/64                                                fd71:de1a:n::1/64
//! ```
//!
//! Outside, only the new device and its addresses and routes are added, which disappear when the device is closed: no other
//! route, firewall rule or setting is changed. A program inside therefore reaches this machine, but no hosts beyond it, unless
//! [`Options::nat`] asks for what [`nat`] does.
//!
//! Links nest three deep: a link's addresses are the first of a [`Block`] that is routed to it, and a link that is created
//! inside takes a part of the rest. Inside, packets are forwarded, so that the innermost program reaches the outermost
//! namespace through every link.
//!
//! The setup keeps the kernel from sending packets of its own ([`netlink::Netlink::silence`]), and the devices have no offloads,
//! unless [`Options::offload`] asks for them.

mod block;
pub mod nat;
pub mod netlink;

pub use block::Block;

use crate::device::tun::{OffloadMode, Tun, TunError};
use crate::dns::{self, Relay};
use crate::netns::{Namespace, NamespaceError};
use nat::{Nat, NatError};
use netlink::{Netlink, Network};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Minimum MTU of IPv6 in bytes (RFC 8200, section 5).
const IPV6_MTU: u32 = 1280;

/// The name of the device in the command's namespace.
pub const INSIDE_NAME: &str = "qdelay0";

/// The namespace of the link's outer end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// The network namespace of the calling thread.
    #[default]
    Here,
    /// A second, private namespace, from which nothing else is reachable. The only choice for a user who is not root.
    Private,
}

/// Options of a link.
#[derive(Clone, Debug)]
pub struct Options {
    /// The MTU in bytes: 68 to 65521. Below 1280 the link carries IPv4 only.
    pub mtu: u32,
    /// The name of the outer device; `%d` becomes the first free number.
    pub name: String,
    /// The namespace of the outer end.
    pub outside: Outside,
    /// Resolves names through the link, by a relay to the host's resolver. Never with [`Outside::Private`].
    pub resolver: bool,
    /// Lets programs inside reach hosts beyond the namespace of the outer end ([`nat`]). No effect with
    /// [`Outside::Private`].
    pub nat: bool,
    /// Super-packets on both devices: on, off or automatic.
    pub offload: OffloadMode,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mtu: 1500,
            name: "qdelay%d".into(),
            outside: Outside::Here,
            resolver: true,
            nat: false,
            offload: OffloadMode::Off,
        }
    }
}

/// Reason why the link could not be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// A device could not be created.
    Tun(TunError),
    /// A namespace could not be created.
    Namespace(NamespaceError),
    /// All networks reserved for links are in use.
    NoFreeSubnet {
        /// True for a link within a link.
        is_nested: bool,
    },
    /// There are three links around this link already.
    TooDeep,
    /// Hosts beyond the machine cannot be reached.
    Nat(NatError),
    /// Any other failure.
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Tun(error) => error.fmt(f),
            SetupError::Namespace(error) => error.fmt(f),
            SetupError::Nat(error) => error.fmt(f),
            SetupError::NoFreeSubnet { is_nested: false } => f.write_str(
                "no free network for the link: 100.64.0.0/16 and 198.18.0.0/16 are in use here (`ip route show table \
                 all`); end other links, or create this link in another network namespace",
            ),
            SetupError::NoFreeSubnet { is_nested: true } => f.write_str(
                "no free network for the link: seven links can be within one link at the same time; end one of them",
            ),
            SetupError::TooDeep => f.write_str(
                "a link within three others would reach nothing beyond them: links nest three deep; join some into one \
                 link, which takes --down, --up, --qdisc, --delay, --jitter and --loss together",
            ),
            SetupError::Failed { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for SetupError {}

impl From<TunError> for SetupError {
    fn from(error: TunError) -> Self {
        SetupError::Tun(error)
    }
}

impl From<NatError> for SetupError {
    fn from(error: NatError) -> Self {
        SetupError::Nat(error)
    }
}

impl From<NamespaceError> for SetupError {
    fn from(error: NamespaceError) -> Self {
        SetupError::Namespace(error)
    }
}

/// The addresses of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// IPv4 address of the command's end, /30.
    pub inside: Ipv4Addr,
    /// IPv4 address of the outer end, /30: the host's address as seen by the command.
    pub outside: Ipv4Addr,
    /// IPv6 addresses, /64: inside, outside. `None` if the MTU is too small, or IPv6 is disabled on the host.
    pub ipv6: Option<(Ipv6Addr, Ipv6Addr)>,
    /// The addresses that are routed to this link: its own, and those of nested links.
    pub block: Block,
}

/// A link whose devices are up; forwarding packets between them is left to the caller.
#[derive(Debug)]
pub struct LinkSetup {
    /// The command's device.
    pub inside: Tun,
    /// The device of the outer end.
    pub outside: Tun,
    /// The addresses.
    pub addresses: Addresses,
    /// The DNS relay for the command.
    pub relay: Option<Relay>,
    /// Restrictions of the link, one sentence each; none of them affects a measurement.
    pub notes: Vec<String>,
    /// The command's namespace.
    pub namespace: Namespace,
    /// The outer end's namespace, for [`Outside::Private`].
    pub outside_namespace: Option<Namespace>,
    /// NAT and forwarding to hosts beyond the machine, if requested. Undone when dropped.
    pub nat: Option<Nat>,
}

impl LinkSetup {
    /// Sets up a link. With [`Outside::Here`], the calling thread has to be in the namespace of the outer end.
    ///
    /// # Errors
    /// A [`SetupError`], which names the cause. After an error nothing remains of the link.
    pub fn new(options: &Options) -> Result<Self, SetupError> {
        let (mtu, offload) = (options.mtu, options.offload);
        // The step that fails most often comes first, before anything is created.
        let namespace = Namespace::new()?;
        let inside = namespace.run(move || Tun::open(INSIDE_NAME, mtu, offload))?;
        let mut notes = Vec::new();
        let (outside_namespace, outside, addresses) = match options.outside {
            Outside::Here => {
                let (outside, addresses) = set_up_outside(&options.name, mtu, offload, &mut notes)?;
                (None, outside, addresses)
            }
            Outside::Private => {
                let outer = Namespace::new()?;
                let name = options.name.clone();
                let (made, more) = outer.run(move || {
                    let mut notes = Vec::new();
                    (set_up_outside(&name, mtu, offload, &mut notes), notes)
                });
                notes.extend(more);
                let (outside, addresses) = made?;
                (Some(outer), outside, addresses)
            }
        };
        let index = inside.index();
        notes.extend(namespace.run(move || set_up_inside(index, &addresses))?);
        let relay = match options.outside {
            Outside::Here if options.resolver => start_resolver(&namespace, &addresses, &mut notes),
            _ => None,
        };
        let nat = match options.outside {
            Outside::Here if options.nat => {
                let mut netlink = Netlink::open().map_err(failed("opening rtnetlink"))?;
                Some(Nat::new(&mut netlink, &outside, &addresses, &mut notes)?)
            }
            _ => None,
        };
        Ok(Self { inside, outside, addresses, relay, notes, namespace, outside_namespace, nat })
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> SetupError {
    move |error| SetupError::Failed { what, error }
}

/// Number of attempts to find a free network when another program takes the same network at the same time.
const ATTEMPTS: usize = 8;

/// Creates the outer device with an unused network, in the namespace of the calling thread.
fn set_up_outside(
    name: &str,
    mtu: u32,
    offload: OffloadMode,
    notes: &mut Vec<String>,
) -> Result<(Tun, Addresses), SetupError> {
    let mut netlink = Netlink::open().map_err(failed("opening rtnetlink"))?;
    let outside = Tun::open(name, mtu, offload)?;
    let index = outside.index();
    netlink.mark_as_link(index).map_err(failed("marking the network device"))?;
    let block = claim(&mut netlink, &outside)?;
    netlink.silence(index).or_else(without_ipv6).map_err(failed("silencing the network device"))?;
    netlink.set_up(index).map_err(failed("switching the network device on"))?;
    let (inside4, outside4) = block.ipv4_ends();
    let ipv6 = match block.ipv6_ends().filter(|_| mtu >= IPV6_MTU) {
        Some(ends) => add_if_possible(&mut netlink, index, ends.1, notes)?.then_some(ends),
        None => None,
    };
    let addresses = Addresses { inside: inside4, outside: outside4, ipv6, block };
    route_block(&mut netlink, index, &addresses)?;
    Ok((outside, addresses))
}

/// Finds a free block and gives the device its first address.
fn claim(netlink: &mut Netlink, outside: &Tun) -> Result<Block, SetupError> {
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
        let Some(block) = Block::choose(survey.within, survey.pools, &survey.taken, first) else { break };
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

fn add(netlink: &mut Netlink, index: u32, network: Network) -> Result<(), SetupError> {
    netlink.add_address(index, network).map_err(failed("giving the network device its address"))
}

/// Accepts the error of a kernel without IPv6, where [`Netlink::silence`] has nothing to do.
fn without_ipv6(error: io::Error) -> io::Result<()> {
    if is_without_ipv6(&error) { Ok(()) } else { Err(error) }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    let codes =
        [libc::EAFNOSUPPORT, libc::EOPNOTSUPP, libc::EACCES, libc::EPFNOSUPPORT, libc::ENODEV, libc::EPERM];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn add_if_possible(
    netlink: &mut Netlink,
    index: u32,
    address: Ipv6Addr,
    notes: &mut Vec<String>,
) -> Result<bool, SetupError> {
    match netlink.add_address(index, Network::new(address.into(), 64)) {
        Ok(()) => Ok(true),
        Err(error) if is_without_ipv6(&error) => {
            notes.push("IPv6 is switched off here: the link carries IPv4 only".into());
            Ok(false)
        }
        Err(error) => Err(failed("giving the network device its IPv6 address")(error)),
    }
}

/// Routes the addresses of nested links to the link's inner end.
fn route_block(netlink: &mut Netlink, index: u32, addresses: &Addresses) -> Result<(), SetupError> {
    if !addresses.block.has_parts() {
        return Ok(());
    }
    netlink
        .add_route(index, addresses.block.ipv4, addresses.inside.into())
        .map_err(failed("adding the route to the link"))?;
    match (addresses.block.ipv6, addresses.ipv6) {
        (Some(block), Some((inside, _))) => netlink
            .add_route(index, block, inside.into())
            .map_err(failed("adding the IPv6 route to the link")),
        _ => Ok(()),
    }
}

/// Sets addresses and routes of the command's namespace. Returns notes for the user.
fn set_up_inside(index: u32, addresses: &Addresses) -> Result<Vec<String>, SetupError> {
    let mut netlink = Netlink::open().map_err(failed("opening rtnetlink"))?;
    netlink.silence(index).or_else(without_ipv6).map_err(failed("silencing the network device inside"))?;
    add(&mut netlink, index, Network::new(addresses.inside.into(), 30))?;
    netlink.set_up(index).map_err(failed("switching the network device inside on"))?;
    let any4 = Network::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    netlink
        .add_route(index, any4, addresses.outside.into())
        .map_err(failed("adding the default route inside"))?;
    if let Some((inside, outside)) = addresses.ipv6 {
        add(&mut netlink, index, Network::new(inside.into(), 64))?;
        let any6 = Network::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        netlink
            .add_route(index, any6, outside.into())
            .map_err(failed("adding the IPv6 default route inside"))?;
    }
    if !addresses.block.has_parts() {
        // A fourth nested link finds this route, and is refused because of it.
        netlink.reserve(addresses.block.first()).map_err(failed("marking the innermost link"))?;
        return Ok(Vec::new());
    }
    reserve(&mut netlink, addresses)
}

/// Reserves the rest of the block for nested links, and enables forwarding for them; these settings are the namespace's own.
fn reserve(netlink: &mut Netlink, addresses: &Addresses) -> Result<Vec<String>, SetupError> {
    netlink.reserve(addresses.block.ipv4).map_err(failed("keeping addresses for links within the link"))?;
    let mut settings = vec!["/proc/sys/net/ipv4/ip_forward"];
    if let (Some(block), Some(_)) = (addresses.block.ipv6, addresses.ipv6) {
        netlink.reserve(block).map_err(failed("keeping addresses for links within the link"))?;
        settings.push("/proc/sys/net/ipv6/conf/all/forwarding");
    }
    // These files are read-only in some containers: then nested links reach no further than this link's inner end.
    let refused = |path: &&str| std::fs::write(path, "1").is_err();
    let note =
        |path: &str| format!("{path} cannot be written: links within this one will not reach beyond it");
    Ok(settings.into_iter().filter(|path| refused(path)).map(note).collect())
}

/// The host's resolver configuration.
const RESOLVER_FILE: &str = "/etc/resolv.conf";

/// Starts a DNS relay outside and points the command's namespace at it. If that fails, the link works without name resolution.
fn start_resolver(namespace: &Namespace, addresses: &Addresses, notes: &mut Vec<String>) -> Option<Relay> {
    if !namespace.has_own_mounts() {
        notes.push("names are not looked up through the link: mounting is not permitted".into());
        return None;
    }
    let configuration = match std::fs::read_to_string(RESOLVER_FILE) {
        Ok(text) => dns::Configuration::parse(&text),
        Err(error) => {
            notes.push(format!("names are not looked up: {RESOLVER_FILE}: {error}"));
            return None;
        }
    };
    let mut own: Vec<IpAddr> = vec![addresses.outside.into()];
    let mut clients = vec![addresses.block.ipv4];
    if let (Some(block), Some((_, outside))) = (addresses.block.ipv6, addresses.ipv6) {
        own.push(outside.into());
        clients.push(block);
    }
    let relay = match Relay::start(&own, clients, &configuration.servers) {
        Ok(relay) => Some(relay),
        // A resolver of the host that listens on every address also serves this one.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => None,
        Err(error) => {
            notes.push(format!("names are not looked up through the link: {error}"));
            return None;
        }
    };
    if let Err(error) = namespace.replace_file(RESOLVER_FILE, configuration.pointing_at(addresses.outside)) {
        notes.push(format!("names are not looked up through the link: {RESOLVER_FILE}: {error}"));
        return None;
    }
    relay
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

    #[test]
    fn errors_suggest_a_remedy() {
        let errors = [
            SetupError::NoFreeSubnet { is_nested: false },
            SetupError::NoFreeSubnet { is_nested: true },
            SetupError::TooDeep,
            SetupError::Tun(TunError::NoDriver),
            SetupError::Tun(TunError::NoAccess),
            SetupError::Tun(TunError::NameTaken { name: "eth0".into() }),
            SetupError::Tun(TunError::NotPermitted { name: "qdelay0".into() }),
            SetupError::Namespace(NamespaceError::TooMany { limit: "/proc/sys/user/max_net_namespaces" }),
            SetupError::Namespace(NamespaceError::Unsupported { what: "network" }),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(text.contains([';', ',']) && !text.contains('\n') && text.len() > 40, "{text}");
        }
    }
}
