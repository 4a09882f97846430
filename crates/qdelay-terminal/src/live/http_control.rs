//! The control of a link by HTTP, so that a test in any language changes the link by one request.
//!
//! Every request needs the token, as `Authorization: Bearer TOKEN`, and the address of the server or `localhost` as its host, so that
//! neither another user of the machine nor a page in a browser can make it (DNS rebinding). The server listens at a loopback address only.
//!
//! | request | body | effect |
//! | --- | --- | --- |
//! | `POST /set` | `{"down":"2mbit","loss":"3%"}` | sets keys |
//! | `POST /cut`, `/pause`, `/restore` | `{"direction":"down"}` or none | both directions without a body |
//! | `POST /reset` | `{"port":443}` or none | resets TCP connections |
//! | `GET /status` | | a snapshot |
//! | `GET /changes` | | the changes so far |

use super::adjust::Adjuster;
use super::control::protocol::{self, Request as Command};
use super::http::{self, Answer, Request};
use crate::error::Failure;
use qdelay_emu::control::{Control, Sampler};
use serde_json::{Map, Value};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

/// Length of a token in hexadecimal digits.
const TOKEN_DIGITS: usize = 32;

/// Address and token of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpControl {
    /// The address, such as `127.0.0.1:8474`.
    pub address: SocketAddr,
    /// The token of every request.
    pub token: String,
}

/// Listens at `address`, port 0 for any.
///
/// # Errors
/// An address that is not a loopback address, or a port that is in use.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, HttpControl), Failure> {
    let place = "--http";
    if !address.ip().is_loopback() {
        let message = format!("'{address}': expected a loopback address, such as 127.0.0.1:8474 or [::1]:0");
        return Err(Failure::input(place, message));
    }
    let failed = |error: std::io::Error| {
        Failure::input(place, format!("cannot listen at {address}: {error}; expected a free port"))
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, HttpControl { address, token: token().map_err(failed)? }))
}

/// A random token.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_DIGITS / 2];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The control of one path, without sockets.
#[derive(Debug)]
pub struct Service {
    server: HttpControl,
    adjuster: Adjuster,
    sampler: Mutex<Sampler>,
}

impl Service {
    /// The control of the path that `control` and `adjuster` refer to.
    pub fn new(server: HttpControl, control: Control, adjuster: Adjuster) -> Service {
        Service { server, adjuster, sampler: Mutex::new(Sampler::new(control)) }
    }

    /// Answers a request, after what it asks for is done.
    pub fn answer(&self, request: &Request) -> Answer {
        match check(request, &self.server) {
            Some(refused) => refused,
            None => answer(request, &self.adjuster, &self.sampler),
        }
    }
}

/// Serves the control of a path at all `listeners`, which have the same address, in namespaces of their own.
///
/// # Errors
/// No thread can be started.
pub fn serve(listeners: Vec<TcpListener>, service: Service) -> std::io::Result<()> {
    let service: Arc<http::Service> = Arc::new(move |request: &Request| service.answer(request));
    listeners.into_iter().try_for_each(|listener| http::serve(listener, "http-control", Arc::clone(&service)))
}

/// The refusal of a request that may not be made; `None` for others.
fn check(request: &Request, server: &HttpControl) -> Option<Answer> {
    let host = request.header("host").unwrap_or_default();
    let port = server.address.port();
    let is_own = host == server.address.to_string() || host == format!("localhost:{port}");
    if !is_own {
        return Some(Answer::plain("421 Misdirected Request", &format!("expected Host: {}", server.address)));
    }
    let given = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    if !given.is_some_and(|given| is_same(given.as_bytes(), server.token.as_bytes())) {
        let status = "401 Unauthorized\r\nWWW-Authenticate: Bearer";
        return Some(Answer::plain(
            status,
            "expected Authorization: Bearer TOKEN, with the token that the link printed",
        ));
    }
    None
}

/// Compares without a hint of where two texts differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn answer(request: &Request, adjuster: &Adjuster, sampler: &Mutex<Sampler>) -> Answer {
    let command = request.path.trim_start_matches('/');
    let expected_method = match command {
        "status" | "changes" => "GET",
        "set" | "cut" | "pause" | "restore" | "reset" => "POST",
        _ => {
            let known = "expected /set, /cut, /pause, /restore, /reset, /status or /changes";
            return json("404 Not Found", &protocol::error(known));
        }
    };
    if request.method != expected_method {
        let status = match expected_method {
            "GET" => "405 Method Not Allowed\r\nAllow: GET",
            _ => "405 Method Not Allowed\r\nAllow: POST",
        };
        return json(status, &protocol::error(&format!("expected {expected_method}")));
    }
    let parsed = body(&request.body).and_then(|fields| to_command(command, fields));
    let command = match parsed {
        Ok(command) => command,
        Err(message) => return json("400 Bad Request", &protocol::error(&message)),
    };
    if command == Command::Status {
        let mut sampler = sampler.lock().unwrap_or_else(PoisonError::into_inner);
        return match sampler.snapshot() {
            Ok(snapshot) => json("200 OK", &protocol::line(&snapshot)),
            Err(gone) => json("503 Service Unavailable", &protocol::error(&gone.to_string())),
        };
    }
    match protocol::adjust(&command, Some(adjuster)) {
        Ok(done) => json("200 OK", &done),
        Err(message) => json("400 Bad Request", &protocol::error(&message)),
    }
}

fn json(status: &'static str, body: &str) -> Answer {
    Answer { status, content_type: "application/json", body: format!("{body}\n") }
}

/// The fields of a body; none of an empty one.
fn body(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    serde_json::from_slice(bytes).map_err(|error| format!("{error}; expected a JSON object, or no body"))
}

/// The command of the control socket with the same effect.
fn to_command(command: &str, fields: Map<String, Value>) -> Result<Command, String> {
    if let Some((key, value)) = fields.iter().find(|(_, value)| command == "set" && !value.is_string()) {
        return Err(format!("{key}: {value} is no text; expected one, such as {{\"up-loss\":\"3%\"}}"));
    }
    let mut line = Map::new();
    line.insert("command".to_string(), command.into());
    match command {
        "set" => drop(line.insert("values".to_string(), Value::Object(fields))),
        _ => line.extend(fields.into_iter().filter(|(name, _)| name != "command")),
    }
    Command::parse(Value::Object(line).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_texts() {
        let fields = |text: &str| body(text.as_bytes()).unwrap();
        assert!(to_command("set", fields(r#"{"up-loss":"10%"}"#)).is_ok());
        let error = to_command("set", fields(r#"{"up-loss":10}"#)).unwrap_err();
        assert_eq!(error, r#"up-loss: 10 is no text; expected one, such as {"up-loss":"3%"}"#);
        assert!(to_command("reset", fields(r#"{"port":443}"#)).is_ok());
    }

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Request { method: "POST".into(), path: "/cut".into(), headers, body: Vec::new() }
    }

    #[test]
    fn only_requests_with_host_and_token_are_served() {
        let server = HttpControl { address: "127.0.0.1:99".parse().unwrap(), token: token().unwrap() };
        assert_eq!(server.token.len(), TOKEN_DIGITS);
        assert_ne!(server.token, token().unwrap());
        let bearer = format!("Bearer {}", server.token);
        let status = |headers: &[(&str, &str)]| {
            check(&request(headers), &server).map(|answer| answer.status[..3].to_string())
        };
        for host in ["127.0.0.1:99", "localhost:99"] {
            assert_eq!(status(&[("host", host), ("authorization", &bearer)]), None);
        }
        for host in ["127.0.0.1", "evil.example:99", "127.0.0.1:98", ""] {
            assert_eq!(
                status(&[("host", host), ("authorization", &bearer)]).as_deref(),
                Some("421"),
                "{host}"
            );
        }
        assert_eq!(status(&[("authorization", &bearer)]).as_deref(), Some("421"));
        let host = ("host", "localhost:99");
        for token in
            ["", "Bearer ", "Bearer 00", &bearer[..20], &format!("{bearer}0"), &bearer.to_uppercase()]
        {
            assert_eq!(status(&[host, ("authorization", token)]).as_deref(), Some("401"), "{token}");
        }
        assert_eq!(status(&[host]).as_deref(), Some("401"));
        let twice = [host, ("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
        assert_eq!(status(&twice).as_deref(), Some("401"));
    }

    #[test]
    fn bodies_become_commands() {
        let command =
            |name: &str, text: &str| body(text.as_bytes()).and_then(|fields| to_command(name, fields));
        assert!(matches!(command("set", r#"{"down":"2mbit"}"#), Ok(Command::Set { .. })));
        assert!(matches!(command("cut", ""), Ok(Command::Cut { .. })));
        assert!(matches!(command("reset", r#"{"port":443}"#), Ok(Command::Reset { port: Some(443) })));
        // The path decides, whatever the body says.
        assert!(matches!(command("cut", r#"{"command":"stop"}"#), Ok(Command::Cut { .. })));
        for (name, text) in
            [("set", "[1]"), ("set", "{"), ("cut", r#"{"direction":"left"}"#), ("reset", r#"{"port":-1}"#)]
        {
            assert!(command(name, text).unwrap_err().contains("expected"), "{name} {text}");
        }
    }
}
