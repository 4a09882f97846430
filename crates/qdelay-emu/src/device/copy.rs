//! Copies packets between two devices without a path: every packet is forwarded at once.
//!
//! The copy is the baseline for measuring the emulator's own cost, and sufficient to test a link's addresses and routes.

use super::{Device, Kind, Received, Sent};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Packets that were copied and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Packets copied, both directions together.
    pub packets: u64,
    /// Packets that the other device refused, or had no space for in its queue.
    pub lost: u64,
}

/// Maximum number of packets read from one device before the other is served.
const BATCH: usize = 64;

/// Copies packets both ways until `stop` is readable or closed at its other end. `mtu` is the length of the longest packet in
/// bytes, including the link-layer header.
///
/// # Errors
/// A device cannot be used any more, or cannot be polled.
pub fn copy<D: Device>(mut one: D, mut two: D, mtu: usize, stop: &OwnedFd) -> io::Result<Copied> {
    let mut buffer = vec![0; mtu];
    let mut copied = Copied::default();
    for turns in (0u64..).map(|turn| turn % 64) {
        let moved = turn(&mut one, &mut two, &mut buffer, &mut copied)?
            + turn(&mut two, &mut one, &mut buffer, &mut copied)?;
        // A busy link also polls the stop descriptor from time to time.
        if (moved == 0 || turns == 63) && wait(&one, &two, stop, moved == 0)? {
            break;
        }
    }
    Ok(copied)
}

/// Copies the packets waiting at `from`, up to a batch; returns their number.
fn turn<D: Device>(from: &mut D, to: &mut D, buffer: &mut [u8], copied: &mut Copied) -> io::Result<usize> {
    for moved in 0..BATCH {
        let Some(Received { bytes, kind, .. }) = from.receive(buffer)? else { return Ok(moved) };
        let frame = buffer.get(..bytes).unwrap_or(buffer);
        match if kind == Kind::Oversized { Ok(Sent::Full) } else { to.send(frame) } {
            Ok(Sent::Done) => copied.packets += 1,
            Ok(Sent::Full) | Err(_) => copied.lost += 1,
        }
    }
    Ok(BATCH)
}

/// Waits for a packet if the link is idle; returns true if the copy should stop.
fn wait<D: Device>(one: &D, two: &D, stop: &OwnedFd, is_idle: bool) -> io::Result<bool> {
    let unpolled = || io::Error::other("a device that cannot be polled");
    let mut fds = [
        PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(one.fd().ok_or_else(unpolled)?, PollFlags::IN),
        PollFd::from_borrowed_fd(two.fd().ok_or_else(unpolled)?, PollFlags::IN),
    ];
    let at_once = rustix::event::Timespec::default();
    match poll(&mut fds, if is_idle { None } else { Some(&at_once) }) {
        Ok(_) => Ok(!fds[0].revents().is_empty()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
