//! Requests and answers as lines of JSON.

use crate::live::adjust::{Adjuster, Cut, Directions};
use qdelay_emu::control::Changed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum length of a request in bytes, its line end included.
pub const LINE_BYTES: usize = 4096;
/// Default interval of a watch in ms.
const INTERVAL_MS: u64 = 250;
/// Permitted intervals of a watch in ms. Each snapshot takes the data thread some dozen microseconds; shorter intervals would show in its lateness.
const INTERVALS_MS: std::ops::RangeInclusive<u64> = 50..=60_000;
/// The expected requests, for error messages.
const EXPECTED: &str = r#"expected {"command":"status"}, "watch" (with "interval_ms" or without), "set" (with "values"), "cut", "pause" or "restore" (with "direction": "both", "down" or "up"), "reset" (with "port" or without), "changes", "reload" or "stop""#;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Requests one snapshot.
    Status,
    /// Requests snapshots at an interval.
    Watch {
        /// Interval in ms.
        #[serde(default = "interval")]
        interval_ms: u64,
    },
    /// Sets keys of the path.
    Set {
        /// Words such as `down` with their values.
        values: BTreeMap<String, String>,
    },
    /// Drops every packet.
    Cut {
        /// The directions.
        #[serde(default)]
        direction: Directions,
    },
    /// Lets packets wait in the queue.
    Pause {
        /// The directions.
        #[serde(default)]
        direction: Directions,
    },
    /// Ends a cut or a pause.
    Restore {
        /// The directions.
        #[serde(default)]
        direction: Directions,
    },
    /// Resets TCP connections.
    Reset {
        /// The port at either end; `None` for all connections.
        #[serde(default)]
        port: Option<u16>,
    },
    /// Requests the changes so far.
    Changes,
    /// Requests a reload of the configuration.
    Reload,
    /// Requests the end of the link, gateway, proxy or case.
    Stop,
}

fn interval() -> u64 {
    INTERVAL_MS
}

impl Request {
    /// Parses a line.
    ///
    /// # Errors
    /// Returns the error, and the expected requests.
    pub fn parse(line: &[u8]) -> Result<Request, String> {
        match serde_json::from_slice(line) {
            Ok(Request::Watch { interval_ms }) if !INTERVALS_MS.contains(&interval_ms) => Err(format!(
                "interval_ms: {interval_ms} is out of range; expected {} to {}",
                INTERVALS_MS.start(),
                INTERVALS_MS.end()
            )),
            Ok(request) => Ok(request),
            Err(error) => Err(format!("{error}; {EXPECTED}")),
        }
    }
}

/// Carries out a request that changes the link, or asks for its changes; returns the answer.
///
/// # Errors
/// The mistake, and the expected input.
pub fn adjust(request: &Request, adjuster: Option<&Adjuster>) -> Result<String, String> {
    let adjuster = adjuster
        .ok_or("this path cannot be changed; expected a link, gateway, proxy or case in real time")?;
    let (done, connections) = match request {
        Request::Set { values } => {
            let words: Vec<(String, String)> =
                values.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            (adjuster.set(&words)?, None)
        }
        Request::Cut { direction } => (adjuster.cut(*direction, Cut::Drop)?, None),
        Request::Pause { direction } => (adjuster.cut(*direction, Cut::Hold)?, None),
        Request::Restore { direction } => (adjuster.cut(*direction, Cut::Off)?, None),
        Request::Reset { port } => {
            let (done, count) = adjuster.reset(*port)?;
            (done, Some(count))
        }
        Request::Changes => {
            return Ok(line(&serde_json::json!({ "changes": changes(&adjuster.changes()?) })));
        }
        _ => return Err(format!("not a change; {EXPECTED}")),
    };
    let message = format!("{} at {:.6} s", done.what, done.time_s);
    let mut answer = serde_json::json!({ "ok": true, "message": message, "time_s": done.time_s });
    if let Some(count) = connections {
        answer["connections"] = count.into();
    }
    Ok(answer.to_string())
}

/// Changes as JSON.
pub fn changes(changes: &[Changed]) -> Vec<serde_json::Value> {
    let entry =
        |Changed { time, what }: &Changed| serde_json::json!({ "time_s": time.as_secs_f64(), "what": what });
    changes.iter().map(entry).collect()
}

/// Answer to a request that was carried out and returns no data.
pub fn done(message: &str) -> String {
    serde_json::json!({ "ok": true, "message": message }).to_string()
}

/// Answer to a request that failed.
pub fn error(message: &str) -> String {
    serde_json::json!({ "error": message }).to_string()
}

/// Encodes `value` as one line of JSON.
pub fn line<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|problem| error(&problem.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_or_refused() {
        let parse = |text: &str| Request::parse(text.as_bytes());
        assert_eq!(parse(r#"{"command":"status"}"#), Ok(Request::Status));
        assert_eq!(parse("{\"command\":\"stop\"}\r\n"), Ok(Request::Stop));
        assert_eq!(parse(r#"{"command":"watch"}"#), Ok(Request::Watch { interval_ms: 250 }));
        assert_eq!(parse(r#"{"interval_ms":50,"command":"watch"}"#), Ok(Request::Watch { interval_ms: 50 }));
        for wrong in [
            "",
            "status",
            "{}",
            "[]",
            r#"{"command":"fly"}"#,
            r#"{"command":"watch","interval_ms":1}"#,
            r#"{"command":"watch","interval_ms":-5}"#,
            r#"{"command":"watch","every":5}"#,
            r#"{"command":"status"} {"command":"status"}"#,
        ] {
            assert!(parse(wrong).unwrap_err().contains("expected"), "{wrong}: {:?}", parse(wrong));
        }
        assert!(Request::parse(&[0xff, 0xfe]).is_err());
    }
}
