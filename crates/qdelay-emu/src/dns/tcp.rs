//! Queries over TCP: a length of two bytes precedes each message (RFC 1035, section 4.2.2).

use super::{HEADER, MAX_CONNECTIONS, Shared, answers, is_question, to_failure};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Timeout for reading from a client or a server.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout for connecting to a server.
const CONNECT: Duration = Duration::from_secs(2);

/// Serves until the other end of `stopped` is closed. Connections that are open then run to their end.
pub(super) fn serve(listeners: &[TcpListener], shared: &Arc<Shared>, stopped: &OwnedFd) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let mut fds = vec![PollFd::new(stopped, PollFlags::IN)];
        fds.extend(listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().is_empty() => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => return,
        }
        for (listener, fd) in listeners.iter().zip(&fds[1..]) {
            if fd.revents().is_empty() {
                continue;
            }
            let Ok((client, address)) = listener.accept() else { continue };
            if !shared.serves(address) || open.load(Ordering::SeqCst) >= MAX_CONNECTIONS {
                continue;
            }
            let place = Place::occupy(&open);
            let shared = Arc::clone(shared);
            // If no thread can be started, the connection is closed, and the client tries another server.
            let _ = std::thread::Builder::new().name("dns-tcp".into()).spawn(move || {
                let _place = place;
                let _ = converse(client, &shared);
            });
        }
    }
}

/// One of the [`MAX_CONNECTIONS`](super::MAX_CONNECTIONS) connections.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn occupy(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers one query after another until the client closes the connection or times out.
fn converse(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    prepare(&client)?;
    let mut server: Option<TcpStream> = None;
    loop {
        let mut question = read(&mut client)?;
        if !is_question(&question) {
            return Ok(());
        }
        let answer = ask(&question, &mut server, shared).unwrap_or_else(|| {
            to_failure(&mut question);
            question
        });
        write(&mut client, &answer)?;
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// Queries the server of the previous query first, then each server in turn.
fn ask(question: &[u8], open: &mut Option<TcpStream>, shared: &Shared) -> Option<Vec<u8>> {
    if let Some(mut server) = open.take()
        && let Ok(answer) = exchange(&mut server, question)
    {
        *open = Some(server);
        return Some(answer);
    }
    let first = shared.preferred.load(Ordering::Relaxed);
    (0..shared.servers.len()).find_map(|step| {
        let index = (first + step) % shared.servers.len();
        let mut server = connect(shared.servers[index]).ok()?;
        let answer = exchange(&mut server, question).ok()?;
        shared.preferred.store(index, Ordering::Relaxed);
        *open = Some(server);
        Some(answer)
    })
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, CONNECT)?;
    prepare(&stream)?;
    Ok(stream)
}

fn exchange(server: &mut TcpStream, question: &[u8]) -> io::Result<Vec<u8>> {
    write(server, question)?;
    let answer = read(server)?;
    if answers(&answer, question) {
        Ok(answer)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "not an answer to the query"))
    }
}

fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length < HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "shorter than any message"));
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// Writes length and message in one call: two small segments would cost a round trip.
fn write(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = Vec::with_capacity(2 + message.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(message);
    stream.write_all(&bytes)
}
