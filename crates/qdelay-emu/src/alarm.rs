//! An alarm that wakes a thread which waits for file descriptors: an eventfd.

use crate::control::Wake;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;

/// Alarm of a data thread, for [`Waiter`](crate::wait::Waiter).
#[derive(Debug)]
pub struct Alarm {
    event: OwnedFd,
}

impl Alarm {
    /// Creates an alarm.
    ///
    /// # Errors
    /// The process is out of file descriptors.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm { event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    /// A descriptor that is readable while the alarm is raised.
    ///
    /// # Errors
    /// The process is out of file descriptors.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.event.try_clone()
    }
}

impl Wake for Alarm {
    fn wake(&self) {
        // A full counter means that the alarm is raised already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
    fn clear(&self) {
        let _ = rustix::io::read(&self.event, &mut [0_u8; 8]);
    }
}
