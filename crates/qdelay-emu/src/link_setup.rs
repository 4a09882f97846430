//! Two TUN devices, one in a namespace for the command and one outside, with addresses and routes.
//!
//! ```text
//! inside: lo, qdelay0 100.64.0.2/30, default route  -- fd --> [ ] <-- fd --  outside: qdelay<k> 100.64.0.1/30
//!                     fd71:de1a::2/64                                                  fd71:de1a::1/64
//! ```
//!
//! Outside, only the new device and its addresses and routes are added, which disappear when the device is closed: no other
//! route, firewall rule or setting is changed. A program inside therefore reaches this machine, but no hosts beyond it, unless
//! [`Options::nat`] asks for what [`nat`] does.
//!
//! Links nest: a link's addresses are the first of a [`Block`] that is routed to it, and a link that is created inside takes a
//! part of the rest, down to ten links within one another. Inside, packets are forwarded, so that the innermost program reaches
//! the outermost namespace through every link ([`Addresses::outermost`]).
//!
//! The setup keeps the kernel from sending packets of its own ([`netlink::Netlink::silence`]), and the devices have no offloads,
//! unless [`Options::offload`] asks for them.

mod block;
mod names;
pub mod nat;
pub mod netlink;
mod refusal;
mod survey;

pub use block::Block;
pub use refusal::{Beyond, Refusal};

use crate::device::tun::{OffloadMode, Tun, TunError};
use crate::dns::Relay;
use crate::netns::{Namespace, NamespaceError};
use nat::{Nat, NatError};
use netlink::{Netlink, Network};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

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
    /// Lets programs inside find the ends of the links by the names `outside`, `nearest` and `inside`.
    pub names: bool,
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
            names: true,
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
    /// The enclosing link has addresses for its own ends only.
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
                "no free network for the link: 100.64.0.0/12 and 198.18.0.0/15 are in use here (`ip route show table \
                 all`); end other links, or create this link in another network namespace",
            ),
            SetupError::NoFreeSubnet { is_nested: true } => f.write_str(
                "no free network for the link: every part of the enclosing link's addresses is taken by another link within it; end \
                 one of them",
            ),
            SetupError::TooDeep => write!(
                f,
                "a link within this one would reach nothing beyond it: links nest {} deep, fewer where several are within one; \
                 join some into one link, which takes --down, --up, --qdisc, --delay, --jitter and --loss together",
                block::DEPTH + 1
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

impl Addresses {
    /// Outer end of the outermost link, IPv4 and IPv6: packets to it cross every link around the command. The own outer end if
    /// this link is not nested.
    pub fn outermost(&self) -> (Ipv4Addr, Option<Ipv6Addr>) {
        let outermost = self.block.outermost();
        let ipv6 = self.ipv6.and_then(|_| outermost.ipv6_ends());
        (outermost.ipv4_ends().1, ipv6.map(|(_, outside)| outside))
    }
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
        if options.names {
            names::add_hosts(&namespace, &addresses, &mut notes);
        }
        let relay = match options.outside {
            Outside::Here if options.resolver => names::start_resolver(&namespace, &addresses, &mut notes),
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

    /// Runs `work` in the namespace of the outer end: that of the calling thread, or the private one. Threads that it starts stay
    /// there.
    pub fn run_outside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match &self.outside_namespace {
            Some(namespace) => namespace.run(work),
            None => work(),
        }
    }

    /// Refuses packets of the command to hosts beyond the namespace of the outer end, and calls `report` for the first of them.
    /// `None` with NAT, for a nested link, whose outermost link does so, and where packet sockets are not permitted: then such
    /// packets are lost without an answer.
    pub fn refuse_beyond(&self, report: impl FnOnce(Beyond) + Send + 'static) -> Option<Refusal> {
        let block = self.addresses.block;
        if self.nat.is_some() || block.is_nested() {
            return None;
        }
        let (name, index) = (self.outside.name().to_string(), self.outside.index());
        self.run_outside(move || Refusal::start((&name, index), block, report)).ok()
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> SetupError {
    move |error| SetupError::Failed { what, error }
}

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
    let block = survey::claim(&mut netlink, &outside)?;
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
        // A link within this one finds this route, and is refused because of it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
