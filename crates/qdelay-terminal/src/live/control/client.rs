//! Client side of the control socket.

use super::connect::connect;
use super::protocol;
use crate::error::{Failure, one_line};
use qdelay_emu::snapshot::Snapshot;
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum length of an answer in bytes: a snapshot of thousands of flows has a megabyte.
const LINE_BYTES: u64 = 16 << 20;

/// Error message if the process does not answer.
const SILENT: &str = "its process does not answer; expected the socket of a running link, gateway, proxy or case that is not stopped (SIGSTOP)";

/// Maximum wait for a connection or an answer: a reload may take ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection to a control socket.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    reader: BufReader<UnixStream>,
}

impl Client {
    /// Connects to a socket.
    ///
    /// # Errors
    /// No process serves the socket, or its permissions exclude this user.
    pub fn connect(path: &Path) -> Result<Client, Failure> {
        let stream = connect(path, PATIENCE).map_err(|error| {
            let message = match error.kind() {
                ErrorKind::WouldBlock => SILENT.to_string(),
                ErrorKind::NotFound => {
                    "the socket does not exist; expected the socket of a running link, gateway, proxy or case".to_string()
                }
                ErrorKind::ConnectionRefused => {
                    "no process serves it any more; expected the socket of a running link, gateway, proxy or case"
                        .to_string()
                }
                _ => format!("{error}; expected the socket of a running link, gateway, proxy or case"),
            };
            Failure::input(path.display(), message)
        })?;
        let client = Client { path: path.to_path_buf(), reader: BufReader::new(stream) };
        client.wait_for(PATIENCE)?;
        Ok(client)
    }

    /// Sends a command such as `reload` or `stop`, and waits for the answer.
    ///
    /// # Errors
    /// The server has ended, or answers with an error.
    pub fn ask(&mut self, command: &str) -> Result<Value, Failure> {
        self.request(&serde_json::json!({ "command": command }))
    }

    /// Sends a request, and waits for the answer.
    ///
    /// # Errors
    /// The server has ended, or answers with an error.
    pub fn request(&mut self, request: &Value) -> Result<Value, Failure> {
        self.send(request)?;
        self.answer()?.ok_or_else(|| self.gone())
    }

    /// Requests snapshots, one now and one after each interval; [`Client::next_snapshot`] returns them.
    ///
    /// # Errors
    /// The server has ended.
    pub fn watch(&mut self, interval_ms: u64) -> Result<(), Failure> {
        self.wait_for(PATIENCE + Duration::from_millis(interval_ms))?;
        self.send(&serde_json::json!({ "command": "watch", "interval_ms": interval_ms }))
    }

    /// Sets the maximum wait for an answer.
    fn wait_for(&self, time: Duration) -> Result<(), Failure> {
        let is_set = self.reader.get_ref().set_read_timeout(Some(time));
        is_set.map_err(|error| Failure::input(self.path.display(), error))
    }

    /// Waits for the next snapshot of a watch; `None` when the link has ended.
    ///
    /// # Errors
    /// The server answers with an error.
    pub fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Failure> {
        match self.answer()? {
            Some(value) => self.read(value).map(Some),
            None => Ok(None),
        }
    }

    fn send(&mut self, request: &Value) -> Result<(), Failure> {
        let line = format!("{}\n", protocol::line(request));
        if self.reader.get_mut().write_all(line.as_bytes()).is_ok() {
            return Ok(());
        }
        // A server that closes the connection may have sent the reason before, so the answer is read first.
        self.answer().and_then(|_| Err(self.gone()))
    }

    fn answer(&mut self) -> Result<Option<Value>, Failure> {
        let mut line = Vec::new();
        match self.reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => return Ok(None),
            Ok(_) if line.len() as u64 == LINE_BYTES => return Err(self.strange()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(Failure::input(self.path.display(), SILENT));
            }
            Err(error) => return Err(Failure::input(self.path.display(), error)),
        }
        let value: Value = serde_json::from_slice(&line).map_err(|_| self.strange())?;
        match value.get("error").and_then(Value::as_str) {
            Some(error) => Err(Failure::Check(format!("{}: {}", self.path.display(), one_line(error)))),
            None => Ok(Some(value)),
        }
    }

    fn read(&self, value: Value) -> Result<Snapshot, Failure> {
        serde_json::from_value(value).map_err(|_| self.strange())
    }

    fn gone(&self) -> Failure {
        Failure::Check(format!("{}: the link has ended", self.path.display()))
    }
    fn strange(&self) -> Failure {
        Failure::input(
            self.path.display(),
            "the answer is not from a link, gateway, proxy or case; expected the socket of one",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Creates a client of a socket whose server sends `line` and closes.
    fn client(name: &str, line: &[u8]) -> Client {
        let path = std::env::temp_dir().join(format!("qdelay-client-{name}-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let client = Client::connect(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let (line, is_short) = (line.to_vec(), line.len() < 1000);
        let write = move || {
            let _ = stream.write_all(&line);
        };
        let writer = std::thread::spawn(write);
        if is_short {
            // The join ensures that the line is sent, and the connection closed, before the first request.
            writer.join().unwrap();
        }
        client
    }

    #[test]
    fn reason_for_a_closed_connection_is_reported() {
        let line = b"{\"error\":\"too many connections are served; expected fewer\"}\n";
        let error = client("full", line).ask("reload").unwrap_err();
        assert!(matches!(&error, Failure::Check(text) if text.contains("too many connections")), "{error:?}");
        let error = client("gone", b"").ask("reload").unwrap_err();
        assert!(matches!(&error, Failure::Check(text) if text.contains("has ended")), "{error:?}");
    }

    #[test]
    fn answers_longer_than_the_limit_are_refused() {
        // The JSON would be an error message if the client read it to its end.
        let endless = [&vec![b' '; LINE_BYTES as usize][..], b"{\"error\":\"late\"}\n"].concat();
        let error = client("endless", &endless).next_snapshot().unwrap_err();
        assert!(matches!(error, Failure::Input { message, .. } if message.contains("is not from a link")));
    }
}
