//! Parsers for the values of options. Each error says what was expected; the caller adds the option's name.

use qdelay_core::Span;
use qdelay_core::units::{parse_bytes, parse_span};
use qdelay_study::scenario::Starts;
use qdelay_study::traces::delay::Delay;

/// Parses a duration of zero or more.
pub fn span(text: &str) -> Result<Span, String> {
    parse_span(text).map_err(|error| error.to_string())
}

/// Parses the start positions of runs on traces.
pub fn starts(text: &str) -> Result<Starts, String> {
    let words: Vec<&str> = Starts::ALL.iter().map(|(word, _)| *word).collect();
    Starts::named(text).ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

/// Parses a duration above zero.
pub fn positive_span(text: &str) -> Result<Span, String> {
    match span(text)? {
        Span::ZERO => Err("out of range; expected a duration above 0, such as 60s".to_string()),
        span => Ok(span),
    }
}

/// Parses a round-trip time, 1 us to 60 s: above zero, so that every exchange takes time.
pub fn constant_round_trip(text: &str) -> Result<Span, String> {
    let span = span(text)?;
    let allowed = Span::from_micros(1)..=Span::from_secs(60);
    if allowed.contains(&span) { Ok(span) } else { Err("out of range; expected 1us to 60s".to_string()) }
}

/// Parses a round-trip time, or one over time.
pub fn round_trip(text: &str) -> Result<Delay, String> {
    match Delay::parse(text)? {
        Delay::Constant(_) => constant_round_trip(text).map(Delay::Constant),
        delay => Ok(delay),
    }
}

/// Parses the interval between two snapshots of a link, 50 ms to 60 s.
pub fn watch_interval(text: &str) -> Result<Span, String> {
    let span = span(text)?;
    let allowed = Span::from_millis(50)..=Span::from_secs(60);
    if allowed.contains(&span) { Ok(span) } else { Err("out of range; expected 50ms to 60s".to_string()) }
}

/// Parses a packet size in bytes, 0 to 65535, with or without the unit `b`.
pub fn packet_bytes(text: &str) -> Result<u32, String> {
    let bytes = text.parse().or_else(|_| parse_bytes(text)).map_err(|error| error.to_string())?;
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes <= 65_535)
        .ok_or("out of range; expected 0 to 65535b".to_string())
}

/// Parses an MTU in bytes, from IPv6's minimum (1280) to jumbo frames (9000).
pub fn mtu(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(bytes) if (1280..=9000).contains(&bytes) => Ok(bytes),
        _ => Err("expected a whole number of bytes, 1280 to 9000".to_string()),
    }
}

/// Parses a queue limit in packets, in the range that disciplines accept.
pub fn limit(text: &str) -> Result<u64, String> {
    count(text, "packets", 10_000_000)
}

/// Parses a number of flows.
pub fn flows(text: &str) -> Result<usize, String> {
    count(text, "flows", 100_000).map(|n| n as usize)
}

/// Parses a number of queues for a benchmark of scheduling decisions.
pub fn bench_queues(text: &str) -> Result<usize, String> {
    count(text, "queues", 100_000).map(|n| n as usize)
}

/// Parses a number of TTIs.
pub fn bench_ttis(text: &str) -> Result<u64, String> {
    count(text, "TTIs", 100_000_000)
}

/// Parses a number of UEs of a cell.
pub fn cell_ues(text: &str) -> Result<u64, String> {
    count(text, "UEs", 10_000)
}

/// Parses the duration of a measurement in seconds, 5 to 3600.
pub fn bench_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (5.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, 5 to 3600".to_string()),
    }
}

/// Parses the duration of a cell in real time in seconds, 2 to 3600.
pub fn cell_seconds(text: &str) -> Result<u64, String> {
    match count(text, "seconds", 3600)? {
        seconds if seconds >= 2 => Ok(seconds),
        _ => Err("out of range; expected 2 to 3600 seconds".to_string()),
    }
}

/// Parses a number of repetitions of a measurement.
pub fn bench_runs(text: &str) -> Result<u32, String> {
    count(text, "runs", 1_000).map(|n| n as u32)
}

/// Parses a number of retries, 0 to 100.
pub fn retries(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(n) if n <= 100 => Ok(n),
        _ => Err("expected a whole number, 0 to 100".to_string()),
    }
}

/// Parses a number of machines, of which a mean and its interval are taken.
pub fn machines(text: &str) -> Result<u64, String> {
    count(text, "machines", 16)
}

/// Parses a number of threads.
pub fn jobs(text: &str) -> Result<usize, String> {
    count(text, "threads", 1_024).map(|n| n as usize)
}

/// Parses a number of cells.
///
/// # Errors
/// The text is not a whole number, or out of range.
pub fn cells(text: &str) -> Result<usize, String> {
    count(text, "cells", 1_024).map(|n| n as usize)
}

fn count(text: &str, what: &str, max: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(n) if (1..=max).contains(&n) => Ok(n),
        Ok(_) => Err(format!("out of range; expected 1 to {max} {what}")),
        Err(_) => Err(format!("expected a whole number of {what}, 1 to {max}")),
    }
}

/// Seeds as users write them: `1`, `1,7`, `1..5` (both ends included), or any of them separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// Parses [`Seeds`].
pub fn seeds(text: &str) -> Result<Seeds, String> {
    qdelay_study::scenario::parse_seeds(text).map(Seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(positive_span("0s").unwrap_err().contains("above 0"));
        assert!(round_trip("10").unwrap_err().contains("such as 20ms"));
        assert!(round_trip("0").unwrap_err().contains("1us to 60s"));
        assert_eq!((packet_bytes("200"), packet_bytes("200b")), (Ok(200), Ok(200)));
        assert!(packet_bytes("70000").is_err() && packet_bytes("x").is_err());
        assert!(flows("0").is_err() && flows("-1").is_err() && flows("1.5").is_err());
    }
}
