//! Queries over UDP.

use super::{MAX_QUESTIONS, PATIENCE_MS, Shared, answers, is_question, to_failure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

/// Length of the longest query that is forwarded, in bytes; usual queries are below 512.
const MAX_QUESTION: usize = 4096;
/// Length of the longest message in bytes.
const MAX_MESSAGE: usize = 65_535;

/// A query that waits for an answer.
struct Waiting {
    client: SocketAddr,
    /// Index of the socket that the query arrived at.
    socket: usize,
    question: Vec<u8>,
    /// Socket connected to the server that was queried.
    upstream: UdpSocket,
    server: usize,
    /// Number of servers that have been queried.
    asked: usize,
    deadline_ms: u64,
}

/// Serves until the other end of `stopped` is closed.
pub(super) fn serve(sockets: &[UdpSocket], shared: &Shared, stopped: &OwnedFd) {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut buffer = vec![0; MAX_MESSAGE];
    loop {
        let Ok(ready) = wait(sockets, &waiting, stopped) else { return };
        if ready[0] {
            return;
        }
        // Answers are handled first, since they free places for queries; backwards, because answered queries are removed.
        for index in (0..waiting.len()).rev() {
            if ready[1 + sockets.len() + index] {
                take_answer(&mut waiting, index, sockets, shared, &mut buffer);
            }
        }
        for index in 0..sockets.len() {
            if ready[1 + index] {
                take_questions(index, &sockets[index], &mut waiting, shared, &mut buffer);
            }
        }
        let now = now_ms();
        for index in (0..waiting.len()).rev() {
            if waiting[index].deadline_ms <= now {
                try_next(&mut waiting, index, sockets, shared);
            }
        }
    }
}

/// Waits for an event; returns the readiness of each descriptor: the stop descriptor, the listening sockets, the sockets of waiting queries.
fn wait(sockets: &[UdpSocket], waiting: &[Waiting], stopped: &OwnedFd) -> io::Result<Vec<bool>> {
    let mut fds = vec![PollFd::new(stopped, PollFlags::IN)];
    fds.extend(sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)));
    fds.extend(waiting.iter().map(|question| PollFd::new(&question.upstream, PollFlags::IN)));
    let deadline = waiting.iter().map(|question| question.deadline_ms).min();
    let span = deadline.map(|deadline| span_of_ms(deadline.saturating_sub(now_ms())));
    match poll(&mut fds, span.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}

fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1000).saturating_add(now.tv_nsec as u64 / 1_000_000)
}

fn span_of_ms(span: u64) -> Timespec {
    Timespec { tv_sec: (span / 1000) as i64, tv_nsec: ((span % 1000) * 1_000_000) as _ }
}

/// Takes queries from one of the listening sockets, up to the limit.
fn take_questions(
    index: usize,
    socket: &UdpSocket,
    waiting: &mut Vec<Waiting>,
    shared: &Shared,
    buffer: &mut [u8],
) {
    for _ in 0..MAX_QUESTIONS {
        let Ok((length, client)) = socket.recv_from(buffer) else { return };
        let message = &buffer[..length];
        let is_taken = is_question(message) && length <= MAX_QUESTION && shared.serves(client);
        if !is_taken || waiting.len() >= MAX_QUESTIONS {
            continue;
        }
        let first = shared.preferred.load(Ordering::Relaxed);
        if let Some(question) = ask(message.to_vec(), client, index, first, 0, shared) {
            waiting.push(question);
        } else {
            refuse(socket, message.to_vec(), client);
        }
    }
}

/// Sends the query to the first server from `server` on that accepts it; `None` when all have been tried.
fn ask(
    question: Vec<u8>,
    client: SocketAddr,
    socket: usize,
    mut server: usize,
    mut asked: usize,
    shared: &Shared,
) -> Option<Waiting> {
    while asked < shared.servers.len() {
        server %= shared.servers.len();
        asked += 1;
        if let Ok(upstream) = send(&question, shared.servers[server]) {
            let deadline_ms = now_ms().saturating_add(PATIENCE_MS);
            return Some(Waiting { client, socket, question, upstream, server, asked, deadline_ms });
        }
        server += 1;
    }
    None
}

fn send(question: &[u8], server: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let upstream = UdpSocket::bind(any)?;
    upstream.set_nonblocking(true)?;
    upstream.connect(server)?;
    upstream.send(question)?;
    Ok(upstream)
}

/// Reads a message from a queried server, and forwards it if it is the answer.
fn take_answer(
    waiting: &mut Vec<Waiting>,
    index: usize,
    sockets: &[UdpSocket],
    shared: &Shared,
    buffer: &mut [u8],
) {
    let question = &waiting[index];
    match question.upstream.recv(buffer) {
        Ok(length) if answers(&buffer[..length], &question.question) => {
            shared.preferred.store(question.server, Ordering::Relaxed);
            // A failed send is harmless: a client that is gone, or whose receive buffer is full, repeats its query.
            let _ = sockets[question.socket].send_to(&buffer[..length], question.client);
            waiting.swap_remove(index);
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        // No server listens at that address, or it is unreachable.
        Err(_) => try_next(waiting, index, sockets, shared),
    }
}

/// Queries the next server, or answers with a server failure.
fn try_next(waiting: &mut Vec<Waiting>, index: usize, sockets: &[UdpSocket], shared: &Shared) {
    let old = waiting.swap_remove(index);
    let question = old.question.clone();
    match ask(old.question, old.client, old.socket, old.server + 1, old.asked, shared) {
        Some(again) => waiting.push(again),
        None => refuse(&sockets[old.socket], question, old.client),
    }
}

fn refuse(socket: &UdpSocket, mut question: Vec<u8>, client: SocketAddr) {
    to_failure(&mut question);
    let _ = socket.send_to(&question, client);
}
