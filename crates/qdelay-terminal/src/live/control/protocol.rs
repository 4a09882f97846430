//! Requests and answers as lines of JSON.

use serde::{Deserialize, Serialize};

/// Maximum length of a request in bytes, its line end included.
pub const LINE_BYTES: usize = 4096;
/// Default interval of a watch in ms.
const INTERVAL_MS: u64 = 250;
/// Permitted intervals of a watch in ms. Each snapshot takes the data thread some dozen microseconds; shorter intervals would show in its lateness.
const INTERVALS_MS: std::ops::RangeInclusive<u64> = 50..=60_000;
/// The expected requests, for error messages.
const EXPECTED: &str =
    r#"expected {"command":"status"}, "watch" (with "interval_ms" or without), "reload" or "stop""#;

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
    /// Requests a reload of the configuration.
    Reload,
    /// Requests the end of the link or gateway.
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
