//! Offloads of a network interface, disabled while the packet socket is open (ethtool(8), `linux/ethtool.h`).
//!
//! With TSO, GSO, GRO or LRO an interface delivers several packets of the wire as one; with transmit checksum offload it
//! delivers packets without a checksum. The offloads are disabled one after the other. [`Offloads::restore`], or dropping the
//! value, enables the previously enabled offloads again, in reverse order (an interface does not do TSO without checksums). If
//! the process is killed, a [`Keeper`] enables them.
//!
//! The peer of a veth pair has offloads of its own: its TSO sends packets of up to 64 KiB whatever is set here.
#![allow(unsafe_code)] // SIOCETHTOOL, which no safe library offers.

use crate::netns::afterwards::Afterwards;
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::ffi::c_void;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// An offload that can be disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Large receive offload: the interface joins received packets.
    Lro,
    /// Generic receive offload: the kernel joins received packets.
    Gro,
    /// Generic segmentation offload: the kernel segments outgoing packets as late as possible.
    Gso,
    /// TCP segmentation offload: the interface segments outgoing packets.
    Tso,
    /// The interface computes checksums of outgoing packets.
    TransmitChecksum,
}

impl Offload {
    /// All offloads, in the order in which they are disabled.
    pub const ALL: [Offload; 5] =
        [Offload::Lro, Offload::Gro, Offload::Gso, Offload::Tso, Offload::TransmitChecksum];

    /// The name used by ethtool: `lro`, `gro`, `gso`, `tso`, `tx`.
    pub const fn name(self) -> &'static str {
        match self {
            Offload::Lro => "lro",
            Offload::Gro => "gro",
            Offload::Gso => "gso",
            Offload::Tso => "tso",
            Offload::TransmitChecksum => "tx",
        }
    }

    /// The ethtool commands that get and set this offload.
    const fn commands(self) -> (u32, u32) {
        match self {
            Offload::Lro => (ETHTOOL_GFLAGS, ETHTOOL_GFLAGS + 1),
            Offload::Gro => (0x2b, 0x2c),
            Offload::Gso => (0x23, 0x24),
            Offload::Tso => (0x1e, 0x1f),
            Offload::TransmitChecksum => (0x16, 0x17),
        }
    }

    /// Returns `data`, as received from the kernel, with this offload on or off.
    const fn with(self, data: u32, on: bool) -> u32 {
        match (self, on) {
            (Offload::Lro, true) => data | ETH_FLAG_LRO,
            (Offload::Lro, false) => data & !ETH_FLAG_LRO,
            (_, on) => on as u32,
        }
    }

    const fn is_on(self, data: u32) -> bool {
        match self {
            Offload::Lro => data & ETH_FLAG_LRO != 0,
            _ => data != 0,
        }
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const ETHTOOL_GFLAGS: u32 = 0x25;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` with a pointer in its union, padded to the length of the union.
#[repr(C)]
struct PointerRequest {
    name: [u8; libc::IFNAMSIZ],
    data: *mut c_void,
    rest: [u8; REST],
}

/// `struct ifreq` with an integer in its union.
#[repr(C)]
struct NumberRequest {
    name: [u8; libc::IFNAMSIZ],
    number: i32,
    rest: [u8; size_of::<libc::ifreq>() - libc::IFNAMSIZ - 4],
}

const REST: usize = size_of::<libc::ifreq>() - libc::IFNAMSIZ - size_of::<*mut c_void>();

/// The offloads of one interface, in the network namespace of the thread that created this value.
#[derive(Debug)]
pub struct Offloads {
    socket: OwnedFd,
    interface: String,
    /// Offloads that were on before, in the order in which they were disabled.
    switched_off: Vec<Offload>,
}

impl Offloads {
    /// Disables all enabled offloads of `interface`, in the network namespace of the calling thread. Offloads that the
    /// interface does not have count as off; those that it refuses to disable are reported by [`Offloads::left_on`].
    ///
    /// # Errors
    /// No such interface, or no permission (`CAP_NET_ADMIN`); nothing has changed.
    pub fn switch_off(interface: &str) -> io::Result<Offloads> {
        let socket = control_socket()?;
        // Distinguishes a missing interface from one without offloads.
        number(&socket, interface, libc::SIOCGIFMTU)?;
        let mut offloads = Offloads { socket, interface: interface.to_string(), switched_off: Vec::new() };
        for offload in offloads.left_on() {
            match offloads.set(offload, false) {
                Ok(()) => offloads.switched_off.push(offload),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    offloads.restore()?;
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        Ok(offloads)
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Offloads that were disabled and have not been restored.
    pub fn switched_off(&self) -> &[Offload] {
        &self.switched_off
    }

    /// Offloads that are on now.
    pub fn left_on(&self) -> Vec<Offload> {
        Offload::ALL.into_iter().filter(|&offload| self.get(offload).is_ok_and(|on| on)).collect()
    }

    /// Enables the disabled offloads again, which needs the same permission. If the interface no longer exists, nothing is
    /// restored.
    ///
    /// # Errors
    /// The first refusal; the remaining offloads have been tried.
    pub fn restore(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        while let Some(offload) = self.switched_off.pop() {
            match self.set(offload, true) {
                Err(error) if error.raw_os_error() != Some(libc::ENODEV) && result.is_ok() => {
                    result = Err(error);
                }
                _ => {}
            }
        }
        result
    }

    fn get(&self, offload: Offload) -> io::Result<bool> {
        self.ask(offload.commands().0, 0).map(|data| offload.is_on(data))
    }

    fn set(&self, offload: Offload, on: bool) -> io::Result<()> {
        let (get, set) = offload.commands();
        let data = self.ask(get, 0)?;
        self.ask(set, offload.with(data, on)).map(|_| ())
    }

    fn ask(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = Value { command, data };
        let mut request = PointerRequest {
            name: name_bytes(&self.interface)?,
            data: (&raw mut value).cast(),
            rest: [0; REST],
        };
        // SAFETY: the request has the layout and size of `struct ifreq`, and its pointer is to a `struct ethtool_value`, which
        // is what these commands read and write; both live through the call.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if result == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
    }
}

/// A helper process that enables the disabled offloads of two interfaces again if this process is killed. A process with
/// `CAP_NET_ADMIN` forks it; the helper drops all other capabilities, and receives a message for each change.
#[derive(Debug)]
pub struct Keeper(Afterwards);

/// Bit of a message that holds the number of the interface; the other bits are offloads, in the order of [`Offload::ALL`].
const SECOND: u8 = 0x80;

impl Keeper {
    /// Starts the process for these interfaces, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn start(interfaces: [&str; 2]) -> io::Result<Keeper> {
        let idle = |interface: &str| -> io::Result<Offloads> {
            let socket = control_socket()?;
            Ok(Offloads { socket, interface: interface.to_string(), switched_off: Vec::new() })
        };
        let both = [idle(interfaces[0])?, idle(interfaces[1])?];
        let files = both.each_ref().map(|offloads| offloads.socket.as_fd());
        let on_message = |off: &mut [u8; 2], message: Option<u8>| match message {
            Some(message) => off[usize::from(message & SECOND != 0)] = message & !SECOND,
            None => {
                let right = CapabilitySet::NET_ADMIN;
                let sets = CapabilitySets {
                    effective: right,
                    permitted: right,
                    inheritable: CapabilitySet::empty(),
                };
                // Without this capability the kernel refuses the calls below, which then report it.
                let _ = rustix::thread::set_capabilities(None, sets);
            }
        };
        let work = |off: [u8; 2]| {
            let mut is_done = true;
            for (offloads, off) in both.iter().zip(off) {
                for (bit, offload) in Offload::ALL.into_iter().enumerate().rev() {
                    if off & 1 << bit != 0 && offloads.set(offload, true).is_err() {
                        is_done = false;
                    }
                }
            }
            is_done
        };
        Ok(Keeper(Afterwards::start(c"qdelay-offloads", &files, [0; 2], on_message, work)?))
    }

    /// Tells the helper which offloads are disabled now at the interface with this number, 0 or 1.
    pub fn note(&self, interface: usize, switched_off: &[Offload]) {
        let bits = Offload::ALL.iter().enumerate().filter(|(_, offload)| switched_off.contains(offload));
        let bits = bits.fold(0, |sum, (bit, _)| sum | 1 << bit);
        self.0.tell(if interface == 0 { bits } else { bits | SECOND });
    }
}

impl Drop for Offloads {
    fn drop(&mut self) {
        // `drop` cannot report an error.
        let _ = self.restore();
    }
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// A socket for requests about interfaces of the calling thread's namespace; it stays in that namespace.
pub(super) fn control_socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?)
}

/// The result of a request such as SIOCGIFMTU for an interface: the first integer of the union.
pub(super) fn number(socket: &OwnedFd, interface: &str, request: libc::Ioctl) -> io::Result<i32> {
    let mut asked = NumberRequest {
        name: name_bytes(interface)?,
        number: 0,
        rest: [0; size_of::<libc::ifreq>() - libc::IFNAMSIZ - 4],
    };
    // SAFETY: the request has the layout and size of `struct ifreq`, lives through the call and holds no pointers.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut asked) };
    if result == 0 { Ok(asked.number) } else { Err(io::Error::last_os_error()) }
}

fn name_bytes(name: &str) -> io::Result<[u8; libc::IFNAMSIZ]> {
    let mut bytes = [0; libc::IFNAMSIZ];
    if !(1..libc::IFNAMSIZ).contains(&name.len()) || name.bytes().any(|byte| byte == 0 || byte == b'/') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_size_that_the_kernel_copies() {
        assert_eq!(size_of::<PointerRequest>(), size_of::<libc::ifreq>());
        assert_eq!(size_of::<NumberRequest>(), size_of::<libc::ifreq>());
    }

    #[test]
    fn setting_one_offload_keeps_other_flags() {
        assert_eq!(Offload::Lro.with(0xffff_ffff, false), 0xffff_7fff);
        assert_eq!(Offload::Lro.with(1, true), 0x8001);
        assert!(Offload::Lro.is_on(0x8000) && !Offload::Lro.is_on(0x7fff));
        assert_eq!((Offload::Gro.with(1, false), Offload::Gro.is_on(1)), (0, true));
    }

    #[test]
    fn missing_interface_is_an_error() {
        for name in ["no-such-one", "", "a-name-of-more-than-15", "a/b", "nul\0"] {
            let error = Offloads::switch_off(name).expect_err("no interface");
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{name}");
        }
        let socket = control_socket().expect("a socket");
        assert!(number(&socket, "lo", libc::SIOCGIFMTU).expect("an answer") > 0);
    }
}
