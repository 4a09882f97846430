//! Waiting for sockets until a time.

use mio::{Events, Poll};
use qdelay_core::Span;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Longest sleep, so that a stall is noticed although nothing is due.
pub(crate) const LONGEST: Span = Span::from_millis(100);

/// Waits until a socket is ready, or for `span`. Linux waits to the microsecond; elsewhere the granularity is that of the system's timers,
/// at most a millisecond on macOS and 16 ms on Windows.
pub(crate) fn wait(poll: &mut Poll, events: &mut Events, span: Span) -> io::Result<()> {
    let span = span.min(LONGEST);
    #[cfg(target_os = "linux")]
    let span = match span.is_zero() {
        true => span,
        // The sockets' own poll has a granularity of a millisecond.
        false => {
            use rustix::event::{PollFd, PollFlags, Timespec};
            use std::os::fd::AsFd as _;
            let sockets = poll.registry().as_fd();
            let timeout = Timespec { tv_sec: 0, tv_nsec: span.as_nanos() as i64 };
            match rustix::event::poll(&mut [PollFd::new(&sockets, PollFlags::IN)], Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {
                    events.clear();
                    return Ok(());
                }
                Ok(_) => Span::ZERO,
                Err(error) => return Err(error.into()),
            }
        }
    };
    match poll.poll(events, Some(Duration::from_nanos(span.as_nanos()))) {
        Err(error) if error.kind() == ErrorKind::Interrupted => {
            events.clear();
            Ok(())
        }
        done => done,
    }
}
