//! Forwarding settings of devices: the first link that needs forwarding switches it on, and the last switches it off.
//!
//! Each device and family has a file in `/run/qdelay` while a link needs forwarding from it, and each of these links holds a lock
//! of the file (flock(2)). The file contains `on` if a link switched forwarding on, and the value of `net.ipv4.ip_forward` at that
//! time. The lock is part of the open file: the process that restores the settings after `kill -9` holds it, too. If that process
//! is killed as well, the file stays without a lock: the next link takes the file over, and restores the setting at its end. If
//! another program removes the file, its lock remains, and so do the settings to restore. Files are named by device index,
//! because device names may change.
#![allow(unsafe_code)] // getsockopt(2) of SO_NETNS_COOKIE, which no library offers.

use super::{NatError, failed};
use crate::link_setup::netlink::Netlink;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::net::netdevice::index_to_name_inlined;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Folder of the locked files.
const FOLDER: &str = "/run/qdelay";
/// Number of attempts to open a file: another link may remove the file, or the folder, right after it was opened.
const ATTEMPTS: usize = 100;

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    const fn name(self) -> &'static str {
        match self {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        }
    }

    /// Name of the setting that enables forwarding of packets from a device.
    const fn key(self) -> &'static str {
        match self {
            Family::Ipv4 => "forwarding",
            Family::Ipv6 => "force_forwarding",
        }
    }

    fn setting(self, device: &str) -> String {
        format!("/proc/sys/net/{}/conf/{device}/{}", self.name(), self.key())
    }

    /// True if packets of every device are forwarded, whatever its own setting. IPv4 has no such setting.
    fn is_on_for_all(self) -> bool {
        self == Family::Ipv6 && reads("/proc/sys/net/ipv6/conf/all/forwarding") == Some(true)
    }

    /// True if the kernel forwards packets that arrive at the device.
    pub(crate) fn is_forwarding(self, device: &str) -> bool {
        self.is_on_for_all() || reads(&self.setting(device)) == Some(true)
    }

    /// Switches forwarding on for the link's own device; the setting disappears with the device.
    pub(super) fn switch_on_own(self, device: &str) -> Result<(), NatError> {
        if self.is_on_for_all() {
            return Ok(());
        }
        let path = self.setting(device);
        std::fs::write(&path, "1").map_err(|error| failed(path)(error))
    }
}

fn reads(path: &str) -> Option<bool> {
    std::fs::read_to_string(path).ok().map(|text| text.trim() != "0")
}

/// Reason why forwarding IPv6 would change more of the machine than a link may.
pub(super) fn without_ipv6() -> Option<String> {
    let is_possible = Family::Ipv6.is_on_for_all() || reads(&Family::Ipv6.setting("lo")).is_some();
    (!is_possible).then(|| {
        "with IPv6 the link reaches this machine only: net.ipv6.conf.all.forwarding is 0, and this kernel (before 6.17) \
         cannot forward from single devices"
            .to_string()
    })
}

/// A device with forwarding switched on because of links.
#[derive(Debug)]
struct Held {
    family: Family,
    /// Index of the device, which stays when its name changes.
    index: u32,
    lock: OwnedFd,
    path: CString,
    is_undone: Cell<bool>,
}

/// The devices from which a link needs forwarding, and whose forwarding was off.
#[derive(Debug)]
pub(super) struct Forwarding {
    machine: Machine,
    held: Vec<Held>,
}

impl Forwarding {
    /// Locks the devices that have an address, except those of links and the loopback device, and whose forwarding is off, or was
    /// switched on by another link.
    pub(super) fn lock(netlink: &mut Netlink, own: u32, families: &[Family]) -> Result<Self, NatError> {
        let machine = Machine::open().map_err(failed("opening the network namespace"))?;
        let mut all = Self { machine, held: Vec::new() };
        for (family, index) in candidates(netlink, own, families)? {
            let Some(device) = netlink.name(index).map_err(failed("reading the name of a device"))? else {
                continue;
            };
            let path = family.setting(&device);
            let Some(is_on) = reads(&path) else { continue };
            let name = format!("{FOLDER}/{}.{index}.{}", namespace(), family.name());
            // Without other links no file is created for a device that forwards already.
            if is_on && !std::path::Path::new(&name).exists() {
                continue;
            }
            // Opening the setting first detects a read-only setting before anything is changed.
            let setting = openat(CWD, path.as_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            setting.map_err(|error| failed(path.as_str())(error.into()))?;
            let path = CString::new(name).map_err(|error| failed(FOLDER)(error.into()))?;
            let lock = locked(&path).map_err(|error| failed(FOLDER)(error.into()))?;
            let held = Held { family, index, lock, path, is_undone: Cell::new(false) };
            // The device forwards and the file is empty: another program switched forwarding on.
            if is_on && !held.says_on() {
                held.forget(&all.machine);
                continue;
            }
            all.held.push(held);
        }
        Ok(all)
    }

    /// The devices from which only answers may come.
    pub(super) fn devices(&self) -> impl Iterator<Item = (Family, u32)> {
        self.held.iter().map(|held| (held.family, held.index))
    }

    /// The files that [`Forwarding::undo`] needs.
    pub(super) fn files(&self) -> Vec<BorrowedFd<'_>> {
        let Machine { namespace, socket, ip_forward } = &self.machine;
        self.held
            .iter()
            .map(|held| &held.lock)
            .chain([namespace, socket, ip_forward])
            .map(AsFd::as_fd)
            .collect()
    }

    /// Switches forwarding on.
    ///
    /// # Errors
    /// The setting that cannot be written, and the error.
    pub(super) fn switch_on(&self) -> Result<(), (String, io::Error)> {
        self.held.iter().try_for_each(|held| {
            // The file is written first: a link that finds forwarding on and an empty file considers it the machine's own setting.
            held.write_on(&self.machine).map_err(|error| (FOLDER.to_string(), error.into()))?;
            let setting = || format!("forwarding of device {} ({})", held.index, held.family.name());
            self.machine.set(held.family, held.index, b"1").map_err(|error| (setting(), error.into()))
        })
    }

    /// Switches off forwarding that no other link needs. Makes only system calls, and may be called again.
    pub(super) fn undo(&self) {
        self.held.iter().for_each(|held| held.forget(&self.machine));
        if !self.held.is_empty() {
            // The folder stays if other links have files in it.
            let _ = unlinkat(CWD, FOLDER, AtFlags::REMOVEDIR);
        }
    }

    /// Performs [`Forwarding::undo`] from a process in another network namespace, which it leaves. Returns true if that was possible.
    pub(super) fn undo_from_outside(&self) -> bool {
        let kind = Some(LinkNameSpaceType::Network);
        let is_there = move_into_link_name_space(self.machine.namespace.as_fd(), kind).is_ok();
        if is_there {
            self.undo();
        }
        is_there
    }

    /// Records that another process has restored all settings.
    pub(super) fn is_undone(&self) {
        self.held.iter().for_each(|held| held.is_undone.set(true));
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Held {
    fn says_on(&self) -> bool {
        self.text().is_some()
    }

    /// `net.ipv4.ip_forward` at the time when forwarding was switched on, if it was.
    fn text(&self) -> Option<u8> {
        let mut text = [0; 3];
        match rustix::io::pread(&self.lock, &mut text, 0) {
            Ok(3) if text.starts_with(b"on") => Some(text[2]),
            _ => None,
        }
    }

    fn write_on(&self, machine: &Machine) -> rustix::io::Result<()> {
        if self.says_on() {
            return Ok(());
        }
        let all = if machine.forwards() { b'1' } else { b'0' };
        rustix::io::pwrite(&self.lock, &[b'o', b'n', all], 0).map(|_| ())
    }

    /// Releases the lock. If no other link holds it, restores the setting and removes the file.
    fn forget(&self, machine: &Machine) {
        if self.is_undone.get() || flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let is_removed = fstat(&self.lock).is_ok_and(|stat| stat.st_nlink == 0);
        // If the file was removed, a link that began afterwards has a file of its own, and restores the setting itself.
        let newer = if is_removed { openat(CWD, &self.path, FILE, Mode::empty()).ok() } else { None };
        let has_newer_link = newer
            .as_ref()
            .is_some_and(|newer| flock(newer, FlockOperation::NonBlockingLockExclusive).is_err());
        if let Some(forwarded) = self.text()
            && !has_newer_link
        {
            machine.set_back(self, forwarded == b'1');
        }
        if !has_newer_link && (!is_removed || newer.is_some()) {
            let _ = unlinkat(CWD, &self.path, AtFlags::empty());
        }
        self.is_undone.set(true);
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Settings of the machine, by device index: names may change while a link runs.
#[derive(Debug)]
struct Machine {
    namespace: OwnedFd,
    socket: OwnedFd,
    ip_forward: OwnedFd,
}

impl Machine {
    fn open() -> io::Result<Self> {
        let file = |path: &str| openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let flags = SocketFlags::CLOEXEC;
        Ok(Self {
            namespace: file("/proc/thread-self/ns/net")?,
            socket: socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?,
            ip_forward: file("/proc/sys/net/ipv4/ip_forward")?,
        })
    }

    /// True if packets of every device are forwarded unless the device's setting says otherwise (IPv4).
    fn forwards(&self) -> bool {
        let mut text = [0; 1];
        matches!(rustix::io::pread(&self.ip_forward, &mut text, 0), Ok(1)) && text != *b"0"
    }

    /// Writes the setting of a device. Makes only system calls.
    fn set(&self, family: Family, index: u32, value: &[u8]) -> rustix::io::Result<()> {
        let name = index_to_name_inlined(&self.socket, index)?;
        let mut path = [0; 128];
        let rest = {
            let mut rest = &mut path[..];
            let name: &str = name.as_ref();
            let (family, key) = (family.name(), family.key());
            write!(rest, "/proc/sys/net/{family}/conf/{name}/{key}").map_err(|_| Errno::NAMETOOLONG)?;
            rest.len()
        };
        let path = &path[..path.len() - rest];
        let setting = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::pwrite(&setting, value, 0).map(|_| ())
    }

    /// Switches off the forwarding of a device that links switched on. `forwarded` is the value of `ip_forward` at that time: if it was
    /// off, and is on now, another program has switched forwarding on for all devices meanwhile (Docker, libvirt and Kubernetes do
    /// so when they start), and the device keeps it.
    fn set_back(&self, held: &Held, forwarded: bool) {
        let is_for_all = held.family == Family::Ipv4 && !forwarded && self.forwards();
        if !is_for_all {
            // A failed write is harmless: the setting disappears with its device.
            let _ = self.set(held.family, held.index, b"0");
        }
    }
}

/// The devices with an address, each with its family.
fn candidates(netlink: &mut Netlink, own: u32, families: &[Family]) -> Result<Vec<(Family, u32)>, NatError> {
    let addresses = netlink.addresses().map_err(failed("reading the addresses"))?;
    let mut all = Vec::new();
    for (index, network) in addresses {
        let (family, is_local) = match network.address {
            IpAddr::V4(address) => (Family::Ipv4, address.is_loopback()),
            IpAddr::V6(address) => (Family::Ipv6, address.is_loopback() || address.is_unicast_link_local()),
        };
        let is_new = !all.contains(&(family, index));
        let is_wanted = families.contains(&family) && !family.is_on_for_all();
        // Other links send no answers to this link. Besides, a later link may get the name of their device.
        if index != own
            && !is_local
            && is_new
            && is_wanted
            && !netlink.is_of_link(index).map_err(failed("reading the alias of a device"))?
        {
            all.push((family, index));
        }
    }
    Ok(all)
}

/// Flags for opening a file of the folder.
const FILE: OFlags = OFlags::RDWR.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens and locks a file of the folder, and creates both if they do not exist.
fn locked(path: &CStr) -> rustix::io::Result<OwnedFd> {
    for _ in 0..ATTEMPTS {
        match mkdirat(CWD, FOLDER, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let file = match openat(CWD, path, FILE | OFlags::CREATE, Mode::from_raw_mode(0o600)) {
            Err(Errno::NOENT) => continue,
            file => file?,
        };
        flock(&file, FlockOperation::LockShared)?;
        if fstat(&file)?.st_nlink > 0 {
            return Ok(file);
        }
    }
    Err(Errno::AGAIN)
}

/// Identifies the calling thread's network namespace by a number that is never reused; 0 before Linux 5.14.
fn namespace() -> u64 {
    const SO_NETNS_COOKIE: i32 = 71;
    let flags = SocketFlags::CLOEXEC;
    let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None) else { return 0 };
    let mut cookie = 0_u64;
    let mut length = 8;
    // SAFETY: the kernel writes at most `length` bytes to `cookie`; both live through the call.
    unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        );
    }
    cookie
}
