//! Signals: `SIGTERM` and `SIGINT` stop the gateway, `SIGHUP` reloads its configuration.
//!
//! The handlers write a byte to a socket, and a separate thread reacts, because reacting may block and the data thread must not.
//! Reloads have a thread of their own, because files may keep them waiting, and signals that stop the gateway must not wait for that.

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Signals with installed handlers.
#[derive(Debug)]
pub struct Signals {
    stop: UnixStream,
    reload: UnixStream,
}

impl Signals {
    /// Installs the handlers: signals between this call and [`Signals::serve`] are kept.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn install() -> io::Result<Signals> {
        let (stop, ring_stop) = UnixStream::pair()?;
        let (reload, ring_reload) = UnixStream::pair()?;
        pipe::register(SIGTERM, ring_stop.try_clone()?)?;
        pipe::register(SIGINT, ring_stop)?;
        pipe::register(SIGHUP, ring_reload)?;
        // A non-blocking socket lets several signals received meanwhile be read as one.
        reload.set_nonblocking(true)?;
        Ok(Signals { stop, reload })
    }

    /// Serves signals in threads of its own until the first one that stops the gateway.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(
        self,
        stop: impl FnOnce() + Send + 'static,
        reload: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let mut signals = self;
        let (request, requests) = sync_channel(1);
        let reloads = move || requests.iter().for_each(|()| reload());
        thread::Builder::new().name("reloads".into()).spawn(reloads)?;
        let work = move || {
            while signals.wait() {
                while signals.reload.read(&mut [0; 64]).is_ok() {}
                // A signal during the reload causes another reload; one pending request is enough.
                let _ = request.try_send(());
            }
            stop();
        };
        thread::Builder::new().name("signals".into()).spawn(work).map(drop)
    }

    /// Waits for a signal; returns true if it requests a reload.
    fn wait(&self) -> bool {
        loop {
            let mut fds =
                [&self.stop, &self.reload].map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            // The signal itself may interrupt the poll.
            let _ = poll(&mut fds, None);
            let [stop, reload] = fds.map(|fd| !fd.revents().is_empty());
            if stop || reload {
                return !stop;
            }
        }
    }
}
