//! A minimal HTTP server: one request for each connection, with limits on everything that a client sends.
//!
//! [`CLIENTS`] connections at once, [`HEAD_BYTES`] for the head of a request, [`BODY_BYTES`] for its body, `PATIENCE` for reading and for
//! writing. Slow clients are closed in favour of new ones ([`ConnectionSlots`]). Answers have no headers that let a page of another
//! origin read them.

use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use qdelay_core::{Span, Time};
use qdelay_emu::system_clock::SystemClock;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Maximum number of connections.
pub const CLIENTS: usize = 32;
/// Maximum length of a request's head, in bytes.
pub const HEAD_BYTES: usize = 8192;
/// Maximum length of a request's body, in bytes.
pub const BODY_BYTES: usize = 4096;
/// Maximum number of header fields in a request.
pub const HEADERS: usize = 64;
/// Timeout for receiving a whole request, and for sending the answer.
const PATIENCE: Span = Span::from_secs(5);

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method: `GET`, `POST`...
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// Header fields by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header field that is there once; `None` if it is missing or there several times.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let first = found.next().map(|(_, value)| value.as_str());
        if found.next().is_some() { None } else { first }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status line behind the version, such as `200 OK`, with further header lines behind a line break.
    pub status: &'static str,
    /// Type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

/// Content type of plain text.
pub const PLAIN: &str = "text/plain; charset=utf-8";

impl Answer {
    /// A line of plain text.
    pub fn plain(status: &'static str, text: &str) -> Answer {
        Answer { status, content_type: PLAIN, body: format!("{text}\n") }
    }
}

/// Function that answers requests.
pub type Service = dyn Fn(&Request) -> Answer + Send + Sync;

/// Serves `service` in threads of its own, called `name`, for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub fn serve(listener: TcpListener, name: &'static str, service: Arc<Service>) -> io::Result<()> {
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
            let service = Arc::clone(&service);
            // If no thread can be started, the connection is closed, and the server continues.
            let _ = thread::Builder::new().name(format!("{name}-client")).spawn(move || {
                let _ = answer(stream, &slot, &*service);
            });
        }
    };
    thread::Builder::new().name(name.into()).spawn(server).map(drop)
}

/// A request, or the answer to one that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request, for the service.
    Request(Request),
    /// The answer to one that cannot be read.
    Refused(Answer),
}

fn answer(mut stream: TcpStream, slot: &ConnectionSlot<IpAddr>, service: &Service) -> io::Result<()> {
    let Some(parsed) = read(&mut stream)? else { return Ok(()) };
    slot.set_busy();
    let (answer, is_head) = match &parsed {
        Parsed::Request(request) => (service(request), request.method == "HEAD"),
        Parsed::Refused(answer) => (answer.clone(), false),
    };
    let Answer { status, content_type, body } = answer;
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if !is_head {
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
fn read(stream: &mut TcpStream) -> io::Result<Option<Parsed>> {
    let clock = SystemClock::start();
    let end = Time::ZERO + PATIENCE;
    let mut bytes = Vec::with_capacity(1024);
    let mut block = [0; 1024];
    loop {
        // The timeout covers the whole request, so that a client cannot extend it by sending single bytes.
        let left = end.since(clock.now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(duration(left)))?;
        let read = match stream.read(&mut block) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(None),
        };
        bytes.extend_from_slice(&block[..read]);
        if let Some(parsed) = parse(&bytes) {
            return Ok(Some(parsed));
        }
        if read == 0 {
            return Ok(None);
        }
    }
}

/// Parses the bytes of a request so far; `None` while it is incomplete and within its limits.
pub fn parse(bytes: &[u8]) -> Option<Parsed> {
    let refused = |status, text| Some(Parsed::Refused(Answer::plain(status, text)));
    const LONG: &str = "431 Request Header Fields Too Large";
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(&bytes[..bytes.len().min(HEAD_BYTES)]) {
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES => {
            return refused(LONG, "request header too long");
        }
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(head)) => head,
        Err(httparse::Error::TooManyHeaders) => return refused(LONG, "request header too long"),
        Err(_) => return refused("400 Bad Request", "not HTTP/1.1"),
    };
    let headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|header| {
            (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_string())
        })
        .collect();
    let mut parsed = Request {
        method: request.method.unwrap_or_default().to_string(),
        path: request.path.unwrap_or_default().split('?').next().unwrap_or_default().to_string(),
        headers,
        body: Vec::new(),
    };
    let has = |name: &str| parsed.headers.iter().any(|(other, _)| other == name);
    if has("transfer-encoding") {
        return refused("411 Length Required", "expected a body with Content-Length");
    }
    let length = match (has("content-length"), parsed.header("content-length").map(str::parse::<usize>)) {
        (false, _) => 0,
        (true, Some(Ok(length))) => length,
        (true, _) => return refused("400 Bad Request", "Content-Length: expected one number"),
    };
    if length > BODY_BYTES {
        return refused("413 Content Too Large", &format!("expected a body of at most {BODY_BYTES} bytes"));
    }
    parsed.body = bytes.get(head..head + length)?.to_vec();
    Some(Parsed::Request(parsed))
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
        let service = |request: &Request| {
            let body = String::from_utf8_lossy(&request.body);
            Answer::plain("200 OK", &format!("{} {} {body}", request.method, request.path))
        };
        serve(listener, "test", Arc::new(service)).unwrap();
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
    fn requests_are_read_within_their_limits() {
        let page = ask(server(), b"POST /set?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcde");
        assert_eq!(
            page,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\nConnection: close\r\n\r\nPOST /set abc\n"
        );
        let head = ask(server(), b"HEAD /a HTTP/1.0\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(HEAD_BYTES));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        let large = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", BODY_BYTES + 1);
        for (request, status) in [
            ("\0\r\n\r\n", "400"),
            ("GET /metrics SMTP\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411"),
            (&large, "413"),
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
            assert!(ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("GET /metrics \n"));
        }
    }

    #[test]
    fn a_request_may_arrive_in_pieces() {
        let mut stream = TcpStream::connect(server()).unwrap();
        let request = b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi";
        request.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("POST /a hi\n"));
    }

    /// Any bytes give a request, a refusal or a wait for more, and a request has what its head says.
    #[test]
    fn arbitrary_bytes_are_read_or_refused() {
        let random = &mut qdelay_core::Random::derive(1, "http", "bytes");
        let pieces: [&[u8]; 14] = [
            b"GET",
            b"POST",
            b" ",
            b"/",
            b" HTTP/1.1",
            b"\r\n",
            b"\n",
            b":",
            b"Content-Length: ",
            b"7",
            b"Host: a",
            b"\0",
            b"\xff",
            b"Transfer-Encoding: x",
        ];
        for _ in 0..20_000 {
            let count = random.below(24);
            let bytes: Vec<u8> = (0..count)
                .flat_map(|_| pieces[random.below(pieces.len() as u64) as usize])
                .copied()
                .collect();
            if let Some(Parsed::Request(request)) = parse(&bytes) {
                assert!(
                    request.body.len() <= BODY_BYTES && bytes.ends_with(&request.body)
                        || !request.body.is_empty()
                );
            }
        }
    }
}
