//! Side of the gateway: an interface, which may be removed and return.
//!
//! While the interface is usable, a [`Side`] is a plain [`PacketSocket`]. When the interface goes down or is removed, a timer is polled
//! instead of the socket: every [`LOOKUP_INTERVAL`] an interface of the same name is looked up, opened and set up. Packets to be
//! written meanwhile are refused, which the audit counts.

use super::privileges;
use qdelay_emu::device::offload::{Keeper, Offloads};
use qdelay_emu::device::packet::{PacketError, PacketOptions, PacketSocket};
use qdelay_emu::device::{Device, Received, Sent};
use qdelay_emu::link_setup::netlink::Netlink;
use qdelay_terminal::error::one_line;
use qdelay_terminal::output::eprintln_line;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Interval between lookups of a missing interface.
const LOOKUP_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// An interface that may be removed and return.
#[derive(Debug)]
pub struct Side {
    name: String,
    /// The open interface; `None` while no interface has this name.
    open: Option<Open>,
    is_away: bool,
    timer: OwnedFd,
    /// Socket for looking up the interface, in the namespace of the thread that opened it.
    netlink: Netlink,
    /// Number of kernel drops at interfaces that were removed.
    drops: u64,
    /// Super-packets of interfaces that were removed, and the packets that they were split into.
    split: (u64, u64),
    /// Process that restores offloads after `kill -9`, and the number of this side there.
    keeper: Option<(Rc<Keeper>, usize)>,
}

/// An open interface. Field order matters: the socket is closed before the offloads are restored.
#[derive(Debug)]
struct Open {
    socket: PacketSocket,
    offloads: Offloads,
}

impl Open {
    fn new(name: &str, netlink: &mut Netlink) -> Result<Open, PacketError> {
        let failed = |what| {
            move |error: io::Error| match error.raw_os_error() {
                Some(code) if code == Errno::NODEV.raw_os_error() => {
                    PacketError::NoInterface { name: name.to_string() }
                }
                _ if error.kind() == io::ErrorKind::PermissionDenied => PacketError::NotPermitted,
                _ => PacketError::Failed { what, error },
            }
        };
        // Offloads are disabled before the socket is opened, because some drivers reset the interface when offloads change.
        let offloads = Offloads::switch_off(name).map_err(failed("disabling offloads"))?;
        let on = "setting the network interface up";
        let index = netlink.index(name).map_err(failed(on))?;
        let index = index.ok_or_else(|| PacketError::NoInterface { name: name.to_string() })?;
        netlink.set_up(index).map_err(failed(on))?;
        let socket =
            PacketSocket::open_with(name, PacketOptions { splits: true, ..PacketOptions::default() })?;
        Ok(Open { socket, offloads })
    }
}

impl Side {
    /// Opens the interface `name`, in the network namespace of the calling thread, and sets it up.
    ///
    /// # Errors
    /// A [`PacketError`], which names the cause.
    pub fn open(name: &str) -> Result<Side, PacketError> {
        let failed = |what| move |error: io::Error| PacketError::Failed { what, error };
        let mut netlink = Netlink::open().map_err(failed("opening rtnetlink"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(|error| failed("making a timer")(error.into()))?;
        let open = Open::new(name, &mut netlink)?;
        let name = name.to_string();
        Ok(Side {
            name,
            open: Some(open),
            is_away: false,
            timer,
            netlink,
            drops: 0,
            split: (0, 0),
            keeper: None,
        })
    }

    /// Registers this side as number `number` with `keeper`, which restores its offloads if this process is killed.
    pub fn keep(&mut self, keeper: &Rc<Keeper>, number: usize) {
        self.keeper = Some((Rc::clone(keeper), number));
        self.note();
    }

    /// Tells the keeper which offloads are disabled.
    fn note(&self) {
        if let Some((keeper, number)) = &self.keeper {
            keeper.note(*number, self.open.as_ref().map_or(&[], |open| open.offloads.switched_off()));
        }
    }

    /// MTU of the interface in bytes at the time it was opened.
    pub fn mtu(&self) -> Option<u32> {
        self.open.as_ref().map(|open| open.socket.mtu())
    }

    /// Names of the offloads that were disabled, and of those that could not be disabled: `tso, gso`.
    pub fn offloads(&self) -> [String; 2] {
        let Some(open) = &self.open else { return Default::default() };
        let names = |offloads: &[qdelay_emu::device::offload::Offload]| {
            offloads.iter().map(|offload| offload.name()).collect::<Vec<_>>().join(", ")
        };
        [names(open.offloads.switched_off()), names(&open.offloads.left_on())]
    }

    /// Enables the offloads that were enabled before.
    ///
    /// # Errors
    /// An error in one line.
    pub fn restore(&mut self) -> Result<(), String> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let restored = privileges::with(|| open.offloads.restore());
        self.note();
        restored.map_err(|error| format!("{}: offloads cannot be restored: {error}", one_line(&self.name)))
    }

    /// Closes the interface after it has become unusable.
    #[cold]
    fn leave(&mut self, error: &io::Error) {
        eprintln_line(&format!("{}: {error}; waiting for the interface to return", one_line(&self.name)));
        self.is_away = true;
        self.set_timer(LOOKUP_INTERVAL);
    }

    #[cold]
    fn come_back(&mut self) {
        eprintln_line(&format!("{} is back", one_line(&self.name)));
        self.is_away = false;
        self.set_timer(Timespec { tv_sec: 0, tv_nsec: 0 });
    }

    fn set_timer(&self, every: Timespec) {
        let times = Itimerspec { it_interval: every, it_value: every };
        // The call cannot fail with these values.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times);
    }

    /// Looks up a missing interface when the timer has expired, and reads a packet if the interface is back.
    #[cold]
    fn look_up(&mut self, buffer: &mut [u8]) -> Option<Received> {
        // A failed read means that the timer has not expired.
        if rustix::io::read(&self.timer, &mut [0_u8; 8]).is_err() {
            return None;
        }
        let index = self.netlink.index(&self.name).ok().flatten();
        if let Some(open) = &mut self.open
            && index != Some(open.socket.index())
        {
            self.drops = self.drops.saturating_add(open.socket.kernel_drops());
            self.split = added(self.split, open.socket.split());
            privileges::with(|| self.open = None);
            self.note();
        }
        index?;
        if self.open.is_none() {
            // If opening fails, the next lookup tries again.
            self.open = privileges::with(|| Open::new(&self.name, &mut self.netlink)).ok();
            self.note();
        }
        let received = self.open.as_mut().and_then(|open| open.socket.receive(buffer).ok().flatten());
        if received.is_some() {
            self.come_back();
        }
        received
    }
}

/// Sums of two pairs of counts.
fn added(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}

impl Device for Side {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if self.is_away {
            return Ok(self.look_up(buffer));
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        match open.socket.receive(buffer) {
            Err(error) => {
                self.leave(&error);
                Ok(None)
            }
            received => received,
        }
    }

    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        match &mut self.open {
            Some(open) if !self.is_away => open.socket.next_stamp(),
            _ => None,
        }
    }

    fn is_stamped(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        match &mut self.open {
            Some(open) => open.socket.send(bytes),
            None => Err(Errno::NODEV.into()),
        }
    }

    fn split(&self) -> (u64, u64) {
        added(self.split, self.open.as_ref().map_or((0, 0), |open| open.socket.split()))
    }

    fn kernel_drops(&mut self) -> u64 {
        self.drops + self.open.as_mut().map_or(0, |open| open.socket.kernel_drops())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.open {
            Some(open) if !self.is_away => open.socket.fd(),
            _ => Some(self.timer.as_fd()),
        }
    }
}
