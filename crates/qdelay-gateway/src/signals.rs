//! `SIGTERM` and `SIGINT` stop the gateway, `SIGHUP` has it read its configuration again.
//!
//! The handlers write a byte to a socket, and a thread does what is to be done: it may wait, and the data thread may not.

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

/// Signals that are taken, and wait to be served.
#[derive(Debug)]
pub struct Signals {
    stop: UnixStream,
    reload: UnixStream,
}

impl Signals {
    /// Takes them from now on: what comes before [`Signals::serve`] is kept.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take() -> io::Result<Signals> {
        let (stop, ring_stop) = UnixStream::pair()?;
        let (reload, ring_reload) = UnixStream::pair()?;
        pipe::register(SIGTERM, ring_stop.try_clone()?)?;
        pipe::register(SIGINT, ring_stop)?;
        pipe::register(SIGHUP, ring_reload)?;
        // Several signals that have come meanwhile are read as one.
        reload.set_nonblocking(true)?;
        Ok(Signals { stop, reload })
    }

    /// Serves them in a thread of its own until the first one that stops.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(
        self,
        stop: impl FnOnce() + Send + 'static,
        reload: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let mut signals = self;
        let work = move || {
            while signals.wait() {
                // A ringing that comes while this reloads is for the next time.
                while signals.reload.read(&mut [0; 64]).is_ok() {}
                reload();
            }
            stop();
        };
        thread::Builder::new().name("signals".into()).spawn(work).map(drop)
    }

    /// Whether the next signal is to reload.
    fn wait(&self) -> bool {
        loop {
            let mut fds =
                [&self.stop, &self.reload].map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            // Interrupted by the very signal, perhaps.
            let _ = poll(&mut fds, None);
            let [stop, reload] = fds.map(|fd| !fd.revents().is_empty());
            if stop || reload {
                return !stop;
            }
        }
    }
}
