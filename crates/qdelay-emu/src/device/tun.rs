//! A TUN device: the kernel hands over whole IP packets, without a header of its own (Linux,
//! `Documentation/networking/tuntap.rst`).
//!
//! The device belongs to the network namespace of the thread that opened it, and is removed when its file is closed: nothing
//! remains when the process ends, however it ends.
//!
//! Parameter: `offload` ([`OffloadMode`]). Without offload each packet is a packet of the wire, at most `mtu` bytes long, with
//! complete checksums. With offload (`IFF_VNET_HDR`, `TUNSETOFFLOAD`) the kernel sends and accepts
//! [super-packets](crate::gso), which this module splits into packets for the reader.
//!
//! Where the user may open packet sockets, packets have a time stamp ([`Device::next_stamp`]): all but those behind the first 256 of a backlog.
//!
//! The kernel silently drops packets when the device's queue is full. Therefore the queue is long ([`QUEUE`]), and
//! [`Device::kernel_drops`] counts drops.
#![allow(unsafe_code)] // TUNSETIFF and TUNSETOFFLOAD, which no small safe library offers.

use super::packet::arrivals::Arrivals;
use super::{Device, Received, Sent};
use crate::gso::{HEADER_BYTES, Intake, Offload, VirtioHeader};
use crate::link_setup::netlink::Netlink;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::str::FromStr;

/// Packets that the kernel stores until they are read: 100 ms of 1500 bytes at 1.2 Gbit/s.
pub const QUEUE: u32 = 10_000;

/// MTU range in bytes: the smallest of IPv4 (RFC 791) to the largest that Linux accepts for a TUN device.
pub const MTU_RANGE: std::ops::RangeInclusive<u32> = 68..=65_521;

const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
/// Flag: fail if the device exists already.
const IFF_TUN_EXCL: u16 = 0x8000;
/// Flag: each packet begins with a [`VirtioHeader`].
const IFF_VNET_HDR: u16 = 0x4000;
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<i32>(b'T', 202);
const TUNSETOFFLOAD: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<u32>(b'T', 208);
/// Offload flags: checksums may be left out; super-packets of TCP over IPv4 and IPv6.
const TUN_F_TCP: usize = 0x01 | 0x02 | 0x04;
/// Offload flags: super-packets of UDP over IPv4 and IPv6, since Linux 6.2.
const TUN_F_UDP: usize = 0x20 | 0x40;

/// Use of super-packets by a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OffloadMode {
    /// Uses super-packets if the kernel supports them.
    Auto,
    /// Uses super-packets; opening fails if the kernel does not support them.
    On,
    /// Uses no super-packets.
    #[default]
    Off,
}

/// `struct ifreq` with the fields that TUNSETIFF uses.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    /// The rest of the union, which is 24 bytes long with 64-bit pointers.
    rest: [u8; 22],
}

impl OffloadMode {
    /// All modes.
    pub const ALL: [OffloadMode; 3] = [OffloadMode::Auto, OffloadMode::On, OffloadMode::Off];

    /// The name of the mode: `auto`, `on`, `off`.
    pub const fn name(self) -> &'static str {
        match self {
            OffloadMode::Auto => "auto",
            OffloadMode::On => "on",
            OffloadMode::Off => "off",
        }
    }
}

impl FromStr for OffloadMode {
    type Err = String;

    fn from_str(text: &str) -> Result<OffloadMode, String> {
        let named = OffloadMode::ALL.into_iter().find(|mode| mode.name() == text);
        named.ok_or_else(|| format!("expected one of {}", OffloadMode::ALL.map(OffloadMode::name).join(", ")))
    }
}

/// Reason why a TUN device could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum TunError {
    /// `/dev/net/tun` does not exist.
    NoDriver,
    /// `/dev/net/tun` may not be opened by this user.
    NoAccess,
    /// This user may not create devices in this network namespace.
    NotPermitted {
        /// The device that was to be created.
        name: String,
    },
    /// A device of that name exists.
    NameTaken {
        /// The name.
        name: String,
    },
    /// The name is not valid for a device.
    BadName {
        /// The name.
        name: String,
    },
    /// The MTU is outside [`MTU_RANGE`].
    BadMtu {
        /// The MTU in bytes.
        mtu: u32,
    },
    /// The kernel does not support super-packets.
    NoOffload {
        /// The kernel's error.
        error: io::Error,
    },
    /// Any other failure.
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl fmt::Display for TunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TunError::NoDriver => f.write_str(
                "/dev/net/tun is missing; load the driver with `modprobe tun`, or start the container with \
                 `--device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN`",
            ),
            TunError::NoAccess => f.write_str(
                "/dev/net/tun may not be opened by this user; run as root, or have it made accessible with \
                 `chmod 666 /dev/net/tun`",
            ),
            TunError::NotPermitted { name } => write!(
                f,
                "the network device {name} could not be created; run as root, or start the container with `--device /dev/net/tun \
                 --cap-add NET_ADMIN --cap-add SYS_ADMIN`"
            ),
            TunError::NameTaken { name } => {
                write!(f, "there is a network device called {name} already; choose another name")
            }
            TunError::BadName { name } => write!(
                f,
                "`{name}` is not a valid name for a network device; expected 1 to 15 letters, digits, - and _ (%d for a number)"
            ),
            TunError::BadMtu { mtu } => write!(
                f,
                "an MTU of {mtu} bytes is not possible; expected {} to {}",
                MTU_RANGE.start(),
                MTU_RANGE.end()
            ),
            TunError::NoOffload { error } => write!(
                f,
                "this kernel's TUN devices have no offload ({error}); expected Linux 2.6.27 or later, or offload off"
            ),
            TunError::Failed { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl TunError {
    /// True if this user or container lacks the driver or the right to use it.
    pub const fn is_of_permission(&self) -> bool {
        matches!(self, TunError::NoDriver | TunError::NoAccess | TunError::NotPermitted { .. })
    }
}

impl std::error::Error for TunError {}

/// An open TUN device.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
    index: u32,
    mtu: u32,
    /// Netlink socket opened in the device's namespace, so that counters can be read from any thread.
    netlink: Netlink,
    /// The last drop count that could be read.
    drops: u64,
    offload: Option<(Offload, Intake)>,
    /// `None` where packet sockets are missing or not permitted.
    arrivals: Option<Arrivals>,
}

impl Tun {
    /// Creates a device in the network namespace of the calling thread: down, without addresses, with an MTU of `mtu` bytes. A
    /// `%d` in the name becomes the first free number.
    ///
    /// # Errors
    /// A [`TunError`], which names the cause.
    pub fn open(name: &str, mtu: u32, offload: OffloadMode) -> Result<Self, TunError> {
        if !MTU_RANGE.contains(&mtu) {
            return Err(TunError::BadMtu { mtu });
        }
        let (file, request, offload) = match offload {
            OffloadMode::Off => create(name, 0).map(|(file, request)| (file, request, None))?,
            OffloadMode::On => offloading(name)?,
            OffloadMode::Auto => match offloading(name) {
                Err(TunError::NoOffload { .. }) => {
                    create(name, 0).map(|(file, request)| (file, request, None))?
                }
                opened => opened?,
            },
        };
        let failed = |what| move |error| TunError::Failed { what, error };
        // The kernel has replaced a `%d` in the name by the first free number.
        let end = request.name.iter().position(|byte| *byte == 0).unwrap_or(request.name.len());
        let name = String::from_utf8_lossy(&request.name[..end]).into_owned();
        let mut netlink = Netlink::open().map_err(failed("opening rtnetlink"))?;
        let index = netlink
            .index(&name)
            .and_then(|index| index.ok_or_else(|| Errno::NODEV.into()))
            .map_err(failed("finding the new network device"))?;
        netlink.set_sizes(index, mtu, QUEUE).map_err(failed("setting the MTU of the network device"))?;
        let offload = offload.map(|offload| (offload, Intake::new(mtu as usize)));
        let arrivals = Arrivals::open(index).ok();
        Ok(Self { file, name, index, mtu, netlink, drops: 0, offload, arrivals })
    }

    /// The device's name in its namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The device's index in its namespace.
    pub const fn index(&self) -> u32 {
        self.index
    }
    /// The MTU in bytes.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }
}

/// Creates a device that passes super-packets.
fn offloading(name: &str) -> Result<(OwnedFd, InterfaceRequest, Option<Offload>), TunError> {
    let (file, request) = create(name, IFF_VNET_HDR).map_err(|error| match error {
        TunError::BadName { .. } if name_bytes(name).is_ok() => {
            TunError::NoOffload { error: Errno::INVAL.into() }
        }
        error => error,
    })?;
    let set = |features| -> rustix::io::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes a number in place of a pointer; the number of the request is that of `linux/if_tun.h`.
        unsafe {
            rustix::ioctl::ioctl(&file, rustix::ioctl::IntegerSetter::<TUNSETOFFLOAD>::new_usize(features))
        }
    };
    let udp = set(TUN_F_TCP | TUN_F_UDP).is_ok();
    if !udp {
        set(TUN_F_TCP).map_err(|error| TunError::NoOffload { error: error.into() })?;
    }
    Ok((file, request, Some(Offload { udp })))
}

/// Creates a device with these flags, in addition to those of every TUN device.
fn create(name: &str, flags: u16) -> Result<(OwnedFd, InterfaceRequest), TunError> {
    let mut request = InterfaceRequest {
        name: name_bytes(name)?,
        flags: IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL | flags,
        rest: [0; 22],
    };
    let file = open_driver()?;
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`; ours has its layout and size (40 bytes), and the number
    // is that of `linux/if_tun.h`.
    let result = unsafe {
        rustix::ioctl::ioctl(&file, rustix::ioctl::Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request))
    };
    result.map_err(|error| refused(name, error))?;
    Ok((file, request))
}

fn name_bytes(name: &str) -> Result<[u8; 16], TunError> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_good = (1..16).contains(&name.len()) && name.replacen("%d", "", 1).bytes().all(is_usual);
    if !is_good {
        return Err(TunError::BadName { name: name.to_string() });
    }
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

fn open_driver() -> Result<OwnedFd, TunError> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open("/dev/net/tun", flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::NOTDIR => TunError::NoDriver,
        Errno::ACCESS | Errno::PERM => TunError::NoAccess,
        error => TunError::Failed { what: "opening /dev/net/tun", error: error.into() },
    })
}

fn refused(name: &str, error: Errno) -> TunError {
    let name = name.to_string();
    match error {
        Errno::PERM | Errno::ACCESS => TunError::NotPermitted { name },
        // The error depends on the type of the existing device.
        Errno::BUSY | Errno::EXIST => TunError::NameTaken { name },
        Errno::INVAL => {
            let is_taken = Netlink::open().and_then(|mut netlink| netlink.index(&name));
            if matches!(is_taken, Ok(Some(_))) {
                TunError::NameTaken { name }
            } else {
                TunError::BadName { name }
            }
        }
        error => TunError::Failed { what: "creating the network device", error: error.into() },
    }
}

/// Performs a read, again after a signal; `None` if no packet is waiting.
#[inline]
fn taken(mut read: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match read() {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Performs a write, again after a signal.
#[inline]
fn given(mut write: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<Sent> {
    loop {
        match write() {
            Ok(_) => return Ok(Sent::Done),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(Sent::Full),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Tun {
    /// Reads the next packet, or the next of a super-packet.
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let file = &self.file;
        match &mut self.offload {
            None => Ok(taken(|| rustix::io::read(file, &mut *buffer))?.map(Received::ip)),
            Some((_, intake)) => {
                intake.receive(buffer, |buffers| taken(|| rustix::io::readv(file, &mut *buffers)))
            }
        }
    }
}

impl Device for Tun {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let received = self.read(buffer)?;
        let Some(arrivals) = &mut self.arrivals else { return Ok(received) };
        match received {
            // The packets of a super-packet have one time stamp.
            Some(Received { has_more, .. }) if !has_more => arrivals.read(),
            None if arrivals.clear() => {
                let received = self.read(buffer)?;
                if received.is_some()
                    && let Some(arrivals) = &mut self.arrivals
                {
                    arrivals.forget();
                }
                return Ok(received);
            }
            _ => {}
        }
        Ok(received)
    }

    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        self.arrivals.as_ref()?.stamp()
    }

    fn is_stamped(&self) -> bool {
        self.arrivals.is_some()
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        match self.offload {
            None => given(|| rustix::io::write(&self.file, bytes)),
            Some(_) => self.send_joined(&[IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(bytes)]),
        }
    }

    #[inline]
    fn offload(&self) -> Option<Offload> {
        self.offload.as_ref().map(|(offload, _)| *offload)
    }

    #[inline]
    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        given(|| rustix::io::writev(&self.file, parts))
    }

    fn split(&self) -> (u64, u64) {
        self.offload.as_ref().map_or((0, 0), |(_, intake)| (intake.supers(), intake.parts()))
    }

    fn kernel_drops(&mut self) -> u64 {
        // A deleted device has no counters: the last known count stays.
        if let Ok(drops) = self.netlink.drops(self.index) {
            self.drops = drops;
        }
        self.drops
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

/// A device that passes super-packets unsplit, with their [`VirtioHeader`] if the device has offload, for
/// [`copy`](super::copy).
#[derive(Debug)]
pub struct Whole<'a> {
    tun: &'a mut Tun,
    /// Packets read so far, including those in super-packets.
    pub packets: u64,
}

impl<'a> Whole<'a> {
    /// Minimum length of a read buffer in bytes.
    pub const LONGEST: usize = HEADER_BYTES + 65_535 + 40;

    /// Wraps `tun`.
    pub fn new(tun: &'a mut Tun) -> Whole<'a> {
        Whole { tun, packets: 0 }
    }
}

impl Device for Whole<'_> {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let file = &self.tun.file;
        let Some(bytes) = taken(|| rustix::io::read(file, &mut *buffer))? else { return Ok(None) };
        self.packets += match (&self.tun.offload, buffer.first_chunk()) {
            (Some(_), Some(header)) => VirtioHeader::parse(header).packets(bytes),
            _ => 1,
        };
        Ok(Some(Received::ip(bytes)))
    }
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        given(|| rustix::io::write(&self.tun.file, bytes))
    }
    fn kernel_drops(&mut self) -> u64 {
        self.tun.kernel_drops()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.tun.fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_size_that_the_kernel_copies() {
        assert_eq!(size_of::<InterfaceRequest>(), size_of::<libc::ifreq>());
        assert_eq!((TUNSETIFF, TUNSETOFFLOAD), (0x4004_54ca, 0x4004_54d0));
    }

    #[test]
    fn names_are_checked_before_the_kernel_sees_them() {
        for good in ["qdelay0", "qdelay%d", "a", "fifteen-letters"] {
            assert!(name_bytes(good).is_ok(), "{good}");
        }
        for bad in ["", "sixteen-letters-", "a b", "a/b", "%d%d", "%s", "."] {
            assert!(matches!(name_bytes(bad), Err(TunError::BadName { .. })), "{bad}");
        }
    }

    #[test]
    fn mtu_outside_the_range_is_refused() {
        for mtu in [0, 67, 65_522] {
            let error = Tun::open("qdelay%d", mtu, OffloadMode::Off).expect_err("refused");
            assert!(error.to_string().contains("68 to 65521"), "{error}");
        }
    }
}
