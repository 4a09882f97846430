//! Forwarding of devices, where it is off: switched on by the first link that needs it, and off again by the last.
//!
//! For each device and family there is a file in `/run/qdelay` while a link needs it, which each of these links has locked
//! (flock(2)); it says `on` if a link switched forwarding on. The lock is part of the open file: the process that undoes things
//! after `kill -9` holds it too. Should that one be killed as well, the file stays without a lock: the next link takes it over,
//! and sets forwarding back at its end.
#![allow(unsafe_code)] // getsockopt(2) of SO_NETNS_COOKIE, which no library offers.

use super::{NatError, failed};
use crate::link_setup::block;
use crate::link_setup::netlink::Netlink;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Where the locked files are.
const FOLDER: &str = "/run/qdelay";
/// Another link may remove a file, or the folder, right after it was opened.
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

    /// The setting by which packets that come from a device are forwarded.
    fn setting(self, device: &str) -> String {
        let key = if self == Family::Ipv4 { "forwarding" } else { "force_forwarding" };
        format!("/proc/sys/net/{}/conf/{device}/{key}", self.name())
    }

    /// Whether packets of every device are forwarded, whatever its own setting. For IPv4 there is no such setting.
    fn is_on_for_all(self) -> bool {
        self == Family::Ipv6 && reads("/proc/sys/net/ipv6/conf/all/forwarding") == Some(true)
    }

    /// Switches it on for the link's own device, with which it goes.
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

/// Why IPv6 cannot be forwarded without changing more of the machine than a link may.
pub(super) fn without_ipv6() -> Option<String> {
    let is_possible = Family::Ipv6.is_on_for_all() || reads(&Family::Ipv6.setting("lo")).is_some();
    (!is_possible).then(|| {
        "with IPv6 the link reaches this machine only: net.ipv6.conf.all.forwarding is 0, and this kernel (before 6.17) \
         cannot forward from single devices"
            .to_string()
    })
}

/// A device whose forwarding is on because of links.
#[derive(Debug)]
struct Held {
    family: Family,
    device: String,
    setting: OwnedFd,
    lock: OwnedFd,
    name: CString,
}

/// The devices that a link needs forwarding from, and that had it off.
#[derive(Debug)]
pub(super) struct Forwarding {
    folder: Option<OwnedFd>,
    held: Vec<Held>,
}

impl Forwarding {
    /// Locks the devices that have an address, except those of links and the loopback device, and whose forwarding is off, or was
    /// switched on by another link.
    pub(super) fn take(netlink: &mut Netlink, own: u32, families: &[Family]) -> Result<Self, NatError> {
        let mut all = Self { folder: None, held: Vec::new() };
        for (family, index) in candidates(netlink, own, families)? {
            let Some(device) = netlink.name(index).map_err(failed("reading the name of a device"))? else {
                continue;
            };
            let path = family.setting(&device);
            let Some(is_on) = reads(&path) else { continue };
            let name = format!("{}.{index}.{}", namespace(), family.name());
            // Without other links nothing is created for a device that is on already.
            if is_on && !std::path::Path::new(FOLDER).join(&name).exists() {
                continue;
            }
            let setting = openat(CWD, path.as_str(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
            let setting = setting.map_err(|error| failed(path.as_str())(error.into()))?;
            let name = CString::new(name).map_err(|error| failed(FOLDER)(error.into()))?;
            let (folder, lock) = locked(&name).map_err(|error| failed(FOLDER)(error.into()))?;
            all.folder = Some(folder);
            let held = Held { family, device, setting, lock, name };
            // A file that says nothing, and forwarding is on: it was switched on by others.
            if is_on && !held.says_on() {
                held.forget(all.folder.as_ref());
                continue;
            }
            all.held.push(held);
        }
        Ok(all)
    }

    /// The devices that only answers may come from.
    pub(super) fn devices(&self) -> impl Iterator<Item = (Family, &str)> {
        self.held.iter().map(|held| (held.family, held.device.as_str()))
    }

    /// The files that [`Forwarding::undo`] needs.
    pub(super) fn files(&self) -> Vec<BorrowedFd<'_>> {
        let held = self.held.iter().flat_map(|held| [held.setting.as_fd(), held.lock.as_fd()]);
        held.chain(self.folder.as_ref().map(AsFd::as_fd)).collect()
    }

    /// Switches forwarding on.
    ///
    /// # Errors
    /// The setting, and why it cannot be written.
    pub(super) fn switch_on(&self) -> Result<(), (String, io::Error)> {
        self.held.iter().try_for_each(|held| {
            // First the file: whoever finds forwarding on and no word of it takes it for the machine's own.
            held.write_on().map_err(|error| (FOLDER.to_string(), error.into()))?;
            let written = rustix::io::pwrite(&held.setting, b"1", 0);
            written.map(|_| ()).map_err(|error| (held.family.setting(&held.device), error.into()))
        })
    }

    /// Switches off what no other link needs. Makes only system calls, and may be called again.
    pub(super) fn undo(&self) {
        self.held.iter().for_each(|held| held.forget(self.folder.as_ref()));
        if self.folder.is_some() {
            // Unless others have files there.
            let _ = unlinkat(CWD, FOLDER_NAME, AtFlags::REMOVEDIR);
        }
    }
}

const FOLDER_NAME: &std::ffi::CStr = c"/run/qdelay";

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Held {
    fn says_on(&self) -> bool {
        let mut text = [0; 2];
        matches!(rustix::io::pread(&self.lock, &mut text, 0), Ok(2)) && &text == b"on"
    }

    fn write_on(&self) -> rustix::io::Result<()> {
        rustix::io::pwrite(&self.lock, b"on", 0).map(|_| ())
    }

    /// Gives the lock up. If no other link has it, sets forwarding back and removes the file.
    fn forget(&self, folder: Option<&OwnedFd>) {
        // After the first call the file is gone, and nothing is done.
        let is_there = fstat(&self.lock).is_ok_and(|stat| stat.st_nlink > 0);
        if !is_there || flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if self.says_on() {
            // If the device is gone, so is its setting.
            let _ = rustix::io::pwrite(&self.setting, b"0", 0);
        }
        if let Some(folder) = folder {
            let _ = unlinkat(folder, self.name.as_c_str(), AtFlags::empty());
        }
        let _ = flock(&self.lock, FlockOperation::Unlock);
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
        // No answers to a link come from another link. And its device's name may soon be that of a third one.
        let is_local = is_local || block::is_of_link(network);
        let is_new = !all.contains(&(family, index));
        if index != own && !is_local && is_new && families.contains(&family) && !family.is_on_for_all() {
            all.push((family, index));
        }
    }
    Ok(all)
}

/// Opens and locks a file of the folder, both created if they are not there.
fn locked(name: &CString) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    for _ in 0..ATTEMPTS {
        match mkdirat(CWD, FOLDER, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(CWD, FOLDER, flags, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            folder => folder?,
        };
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&folder, name, flags, Mode::from_raw_mode(0o600)) {
            Err(Errno::NOENT) => continue,
            file => file?,
        };
        flock(&file, FlockOperation::LockShared)?;
        if fstat(&file)?.st_nlink > 0 {
            return Ok((folder, file));
        }
    }
    Err(Errno::AGAIN)
}

/// A number of the calling thread's network namespace that is never used again, or, before Linux 5.14, 0.
fn namespace() -> u64 {
    const SO_NETNS_COOKIE: i32 = 71;
    let kind = rustix::net::SocketType::DGRAM;
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let Ok(socket) = rustix::net::socket_with(rustix::net::AddressFamily::UNIX, kind, flags, None) else {
        return 0;
    };
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
