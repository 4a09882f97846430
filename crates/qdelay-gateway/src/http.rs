//! A minimal HTTP server for `GET /metrics`.
//!
//! A connection carries one request and is closed. The resources of clients are limited: [`CLIENTS`] at once, [`HEAD_BYTES`]
//! per request, [`PATIENCE`] for reading and for writing. Slow clients are closed in favour of new ones
//! ([`ConnectionSlots`]).

use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_terminal::live::connection_slots::{ConnectionSlot, ConnectionSlots};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Maximum number of connections.
const CLIENTS: usize = 32;
/// Maximum length of a request's head, in bytes.
const HEAD_BYTES: usize = 8192;
/// Maximum number of header fields in a request.
const HEADERS: usize = 64;
/// Timeout for receiving a whole request, and for sending the answer.
const PATIENCE: Span = Span::from_secs(5);

/// Function that returns the page, or an error in one line.
pub type Page = dyn Fn() -> Result<String, String> + Send + Sync;

/// Serves `page` in threads of its own, for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub fn serve(listener: TcpListener, content_type: &'static str, page: Arc<Page>) -> io::Result<()> {
    let slots = ConnectionSlots::new(CLIENTS);
    let server = move || {
        for stream in listener.incoming() {
            // The client has closed the connection already, or too many files are open: neither ends the server.
            let Ok(stream) = stream else {
                thread::yield_now();
                continue;
            };
            let (Ok(address), Ok(other)) = (stream.peer_addr(), stream.try_clone()) else { continue };
            let slot = slots.acquire(address.ip(), move || {
                let _ = other.shutdown(Shutdown::Both);
            });
            let Some(slot) = slot else { continue };
            let page = Arc::clone(&page);
            // If no thread can be started, the connection is closed, and the server continues.
            let _ = thread::Builder::new().name("metrics-client".into()).spawn(move || {
                let _ = answer(stream, &slot, content_type, &*page);
            });
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(server).map(drop)
}

/// Status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Page,
    Welcome,
    Bad,
    NotFound,
    NotAllowed,
    TooLong,
}

/// The relevant parts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    status: Status,
    /// True for `HEAD`: the answer has no body.
    is_head: bool,
}

fn answer(
    mut stream: TcpStream,
    slot: &ConnectionSlot<IpAddr>,
    content_type: &str,
    page: &Page,
) -> io::Result<()> {
    let Some(request) = read(&mut stream)? else { return Ok(()) };
    slot.set_busy();
    let plain = "text/plain; charset=utf-8";
    let (status, content_type, body) = match request.status {
        Status::Page => match page() {
            Ok(body) => ("200 OK", content_type, body),
            Err(message) => ("503 Service Unavailable", plain, message + "\n"),
        },
        Status::Welcome => ("200 OK", plain, "qdelay gateway: /metrics\n".to_string()),
        Status::Bad => ("400 Bad Request", plain, "not HTTP/1.1\n".to_string()),
        Status::NotFound => ("404 Not Found", plain, "not found; expected /metrics\n".to_string()),
        Status::NotAllowed => {
            ("405 Method Not Allowed\r\nAllow: GET, HEAD", plain, "expected GET or HEAD\n".to_string())
        }
        Status::TooLong => {
            ("431 Request Header Fields Too Large", plain, "request header too long\n".to_string())
        }
    };
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if !request.is_head {
        text += &body;
    }
    // A client that does not read its answer counts as idle, too.
    slot.set_idle();
    stream.set_write_timeout(Some(duration(PATIENCE)))?;
    stream.write_all(text.as_bytes())?;
    // Closing the connection with bytes unread would reset it, and the answer might be lost.
    stream.shutdown(Shutdown::Write)?;
    let mut rest = [0; 512];
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let _ = stream.read(&mut rest);
    Ok(())
}

/// Reads the request; `None` if the client closed the connection or took too long.
fn read(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut clock = RealClock::start();
    let end = Time::ZERO + PATIENCE;
    let (mut head, mut length) = ([0; HEAD_BYTES], 0);
    loop {
        // The timeout covers the whole request, so that a client cannot extend it by sending single bytes.
        let left = end.since(clock.now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(duration(left)))?;
        let read = match stream.read(&mut head[length..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(None),
        };
        length += read;
        if let Some(request) = parse(&head[..length]) {
            return Ok(Some(request));
        }
        if length == HEAD_BYTES {
            return Ok(Some(Request { status: Status::TooLong, is_head: false }));
        }
        if read == 0 {
            return Ok(None);
        }
    }
}

/// Parses `head`; `None` while it is incomplete.
fn parse(head: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let status = match request.parse(head) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {
            let path = request.path.unwrap_or_default().split('?').next();
            match (request.method, path) {
                (Some("GET" | "HEAD"), Some("/metrics")) => Status::Page,
                (Some("GET" | "HEAD"), Some("/")) => Status::Welcome,
                (Some("GET" | "HEAD"), _) => Status::NotFound,
                _ => Status::NotAllowed,
            }
        }
        Err(httparse::Error::TooManyHeaders) => Status::TooLong,
        Err(_) => Status::Bad,
    };
    Some(Request { status, is_head: request.method == Some("HEAD") })
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        serve(listener, "text/x", Arc::new(|| Ok("page\n".to_string()))).unwrap();
        address
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_get_the_expected_status() {
        let address = server();
        let page = ask(address, b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(
            page,
            "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 5\r\nConnection: close\r\n\r\npage\n"
        );
        let head = ask(address, b"HEAD /metrics HTTP/1.0\r\n\r\n");
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.contains("Length: 5") && head.ends_with("\r\n\r\n")
        );
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(HEAD_BYTES));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "200"),
            ("GET /metric HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "405"),
            ("\0\r\n\r\n", "400"),
            ("GET /metrics SMTP\r\n\r\n", "400"),
            (&long, "431"),
            (&many, "431"),
        ] {
            // Each request uses a server of its own, because a slot is free again only a moment after its answer.
            let answer = ask(server(), request.as_bytes());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        }
    }

    #[test]
    fn silent_clients_do_not_block_others() {
        let address = server();
        let mut silent: Vec<TcpStream> = Vec::new();
        for _ in 0..8 {
            silent.extend((0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()));
            // Some clients send the beginning of a request, and no end.
            for stream in &mut silent {
                let _ = stream.write_all(b"GET ");
            }
            assert!(ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page\n"));
        }
    }

    #[test]
    fn a_request_may_arrive_in_pieces() {
        let mut stream = TcpStream::connect(server()).unwrap();
        b"GET /metrics HTTP/1.1\r\n\r\n".iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("page\n"));
    }

    #[test]
    fn errors_of_the_page_are_answered_with_503() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        serve(listener, "text/x", Arc::new(|| Err("stopping".to_string()))).unwrap();
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("stopping\n"));
    }
}
