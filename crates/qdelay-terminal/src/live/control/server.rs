//! Server of the control socket: a thread for each connection, up to a limit. An idle connection is closed in favour of a new one
//! ([`ConnectionSlots`]).

use super::protocol::{self, LINE_BYTES, Request};
use super::socket::{Socket, SocketFile};
use crate::live::adjust::Adjuster;
use crate::live::connection_slots::{ConnectionSlot, ConnectionSlots};
use qdelay_emu::control::{Control, Sampler};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of connections.
const CONNECTIONS: usize = 16;
/// Timeout for a connection without requests, and for a client that does not read its answer.
const IDLE: Duration = Duration::from_secs(300);
const STUCK: Duration = Duration::from_secs(5);

/// Function that reloads the configuration and applies it: returns a message, or the error for which the previous configuration stays in use.
pub type Reload = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// A socket that is being served. Dropping it stops accepting connections and removes its file; open connections end with the data
/// thread.
#[derive(Debug)]
pub struct Server {
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
    _file: SocketFile,
}

/// State shared by connections.
#[derive(Clone)]
struct Service {
    control: Control,
    reload: Option<Reload>,
    adjuster: Option<Adjuster>,
}

impl Socket {
    /// Serves the socket: `control` refers to the data thread, `reload` reloads the configuration if there is one, `adjuster` changes the
    /// link if it can be changed.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(
        self,
        control: Control,
        reload: Option<Reload>,
        adjuster: Option<Adjuster>,
    ) -> io::Result<Server> {
        let (listener, file) = self.into_parts();
        let listener = Arc::new(listener);
        let (accepting, service) = (listener.clone(), Service { control, reload, adjuster });
        let thread =
            thread::Builder::new().name("control".into()).spawn(move || accept(&accepting, &service))?;
        Ok(Server { listener, thread: Some(thread), _file: file })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The shutdown ends the pending accept.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &UnixListener, service: &Service) {
    let slots = ConnectionSlots::new(CONNECTIONS);
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // With too many open files, the thread waits for connections to close.
            Err(_) => {
                wait(None, Duration::from_millis(100));
                continue;
            }
        };
        let stream = Arc::new(stream);
        let refuse = |stream: &UnixStream, why: &str| {
            let _ = stream.set_write_timeout(Some(STUCK));
            let _ = send(stream, &protocol::error(why));
        };
        let other = Arc::clone(&stream);
        let slot = slots.acquire((), move || {
            let _ = other.shutdown(Shutdown::Both);
        });
        let Some(slot) = slot else {
            refuse(&stream, "too many connections are served; expected one of them to close first");
            continue;
        };
        let (service, served) = (service.clone(), Arc::clone(&stream));
        let serve = move || {
            // A client that has disconnected is not an error.
            let _ = connection(&served, &slot, &service);
            // The accepting thread may still hold the stream.
            let _ = served.shutdown(Shutdown::Both);
        };
        if let Err(error) = thread::Builder::new().name("control".into()).spawn(serve) {
            refuse(
                &stream,
                &format!("no thread can be started: {error}; expected fewer threads on this machine"),
            );
        }
    }
}

fn connection(stream: &UnixStream, slot: &ConnectionSlot<()>, service: &Service) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(STUCK))?;
    let mut reader = BufReader::new(stream);
    let mut sampler = Sampler::new(service.control.clone());
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte more than permitted reveals a line that is too long.
        reader.by_ref().take(LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        slot.set_busy();
        if line.len() > LINE_BYTES {
            let message = format!("the line is longer than {LINE_BYTES} bytes; expected a shorter request");
            return send(stream, &protocol::error(&message));
        }
        let answer = match Request::parse(&line) {
            Ok(Request::Watch { interval_ms }) => {
                return watch(stream, &mut sampler, Duration::from_millis(interval_ms));
            }
            Ok(request) => answer(request, &mut sampler, service),
            Err(message) => protocol::error(&message),
        };
        send(stream, &answer)?;
        slot.set_idle();
    }
}

fn answer(request: Request, sampler: &mut Sampler, service: &Service) -> String {
    let result = match request {
        Request::Status | Request::Watch { .. } => match sampler.snapshot() {
            Ok(snapshot) => return protocol::line(&snapshot),
            Err(gone) => Err(gone.to_string()),
        },
        Request::Reload => match &service.reload {
            Some(reload) => reload(),
            None => Err("a link has no configuration to reload; expected a gateway".to_string()),
        },
        Request::Set { .. }
        | Request::Cut { .. }
        | Request::Pause { .. }
        | Request::Restore { .. }
        | Request::Reset { .. }
        | Request::Changes => {
            return protocol::adjust(&request, service.adjuster.as_ref())
                .unwrap_or_else(|message| protocol::error(&message));
        }
        Request::Stop => {
            service.control.stop().map(|()| "stopping".to_string()).map_err(|gone| gone.to_string())
        }
    };
    result.map_or_else(|message| protocol::error(&message), |message| protocol::done(&message))
}

/// Sends snapshots until the client closes the connection, or the data thread ends.
fn watch(stream: &UnixStream, sampler: &mut Sampler, interval: Duration) -> io::Result<()> {
    while let Ok(snapshot) = sampler.snapshot() {
        send(stream, &protocol::line(&snapshot))?;
        if wait(Some(stream), interval) {
            return Ok(());
        }
    }
    Ok(())
}

fn send(mut stream: &UnixStream, line: &str) -> io::Result<()> {
    // A single write lets a reader see whole lines.
    stream.write_all(format!("{line}\n").as_bytes())
}

/// Waits for `time`; returns true if the other end of `stream` was closed meanwhile.
fn wait(stream: Option<&UnixStream>, time: Duration) -> bool {
    let Ok(time) = Timespec::try_from(time) else { return true };
    match stream {
        // Without requested events, poll still reports a hang-up.
        Some(stream) => {
            let mut fds = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::empty())];
            poll(&mut fds, Some(&time)).is_ok_and(|ready| ready > 0)
        }
        None => poll(&mut [], Some(&time)).is_err(),
    }
}
