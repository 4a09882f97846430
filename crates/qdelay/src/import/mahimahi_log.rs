//! The logs of `mm-link --uplink-log`, `--downlink-log`, of mahimahi and of `qdelay link --log`: rates and delays.
//!
//! Source: mahimahi, `scripts/mm-throughput-graph` and `mm-delay-graph`. The first five of its figures are made as there:
//!
//! | figure | what |
//! | --- | --- |
//! | capacity, ingress, throughput | bytes of `#`, `+` and `-` lines over the time from the first event to the last |
//! | 95th percentile per-packet queueing delay | of the DELAY of `-` lines: the delay at place 0.95 n, from 0, in ascending order |
//! | 95th percentile signal delay | for each ms between the first and the last arrival of a packet that left, how long something that was sent then took at least: the least DELAY of the packets that arrived then, or, where there is none, one ms more than that of the ms after |
//!
//! Differences from the reference:
//! * `d` lines, at which the program stops, count as drops.
//! * Mean, median, 99th percentile and maximum of the delay are there too, percentiles by nearest rank.
//! * A log in which all events are of one ms has no rates: an error, there a division by zero.

use crate::import::summary;
use qdelay_config::InputError;
use qdelay_record::DelaySummary;
use qdelay_record::entity::round;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// A line of a log is far shorter.
const LINE_MAX: u64 = 64 << 10;
/// Times and delays, in ms, above which a log is none: 30 years, so that sums of them are exact.
const TIME_MAX: u64 = 1_000_000_000_000;
/// The same of bytes and packets of one event: sums of them fit 64 bits.
const SIZE_MAX: u64 = 1_000_000_000;

/// What a log says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogFigures {
    /// From the first event to the last.
    pub duration_s: f64,
    /// What the link could have carried.
    pub capacity_mbps: f64,
    /// What arrived.
    pub ingress_mbps: f64,
    /// What left.
    pub throughput_mbps: f64,
    /// The last over the first; null where the log has no opportunities.
    pub utilization: Option<f64>,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that left.
    pub departed: u64,
    /// Packets that were dropped, where the log says.
    pub drops: u64,
    /// Delays of the packets that left.
    pub delay_ms: DelaySummary,
    /// Their 95th percentile as mm-throughput-graph has it.
    pub delay_p95_ms: f64,
    /// The 95th percentile of the signal delay.
    pub signal_delay_p95_ms: f64,
    /// Each bin of time.
    #[serde(skip)]
    pub bins: Vec<Bin>,
}

/// A bin of time, from its number times the width on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// When it begins, since the trace did.
    pub start_s: f64,
    /// What the link could have carried.
    pub capacity_mbps: f64,
    /// What arrived.
    pub ingress_mbps: f64,
    /// What left.
    pub throughput_mbps: f64,
    /// Mean delay of what left; `None` where nothing did.
    pub delay_mean_ms: Option<f64>,
    /// Largest delay of what left.
    pub delay_max_ms: Option<f64>,
}

/// Bits and the largest delay of a bin.
#[derive(Clone, Copy, Default)]
struct Sums {
    capacity: u64,
    arrived: u64,
    departed: u64,
    delay_max: Option<u64>,
    delay_sum: u128,
    departures: u64,
}

#[derive(Default)]
struct Events {
    base: Option<u64>,
    first: Option<u64>,
    last: u64,
    whole: Sums,
    counts: [u64; 3],
    delays: Vec<i64>,
    /// By the ms of their arrival, the least delay.
    signal: BTreeMap<u64, u64>,
    bins: BTreeMap<u64, Sums>,
}

/// Reads a log; `bin_ms` is the width of [`LogFigures::bins`], at least 1.
///
/// # Errors
/// The file cannot be read, a line is none of a log, or there is no packet that left.
pub fn read(place: &str, file: impl Read, bin_ms: u64) -> Result<LogFigures, InputError> {
    let mut file = std::io::BufReader::new(file);
    let (mut events, mut line, mut number) = (Events::default(), Vec::new(), 0_u64);
    loop {
        line.clear();
        let read = file.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        let read =
            read.map_err(|error| InputError::new(place, format!("{error}; expected to be able to read it")))?;
        if read == 0 {
            break;
        }
        number += 1;
        let fail = |message: String| InputError::new(format!("{place}:{number}"), message);
        if line.len() as u64 == LINE_MAX {
            return Err(fail(format!("a line of more than {LINE_MAX} bytes; expected a log of mm-link")));
        }
        let text = std::str::from_utf8(&line);
        let text = text.map_err(|_| fail("is no text; expected a log of mm-link".to_string()))?.trim_end();
        events.take(text, bin_ms.max(1)).map_err(|message| {
            let shown: String = text.chars().take(40).collect();
            fail(format!("'{}': {message}", shown.escape_default()))
        })?;
    }
    events.finish(bin_ms.max(1)).map_err(|message| InputError::new(place, message))
}

impl Events {
    fn take(&mut self, line: &str, bin_ms: u64) -> Result<(), String> {
        const EXPECTED: &str = "expected MS + BYTES, MS # BYTES, MS - BYTES DELAY or MS d PACKETS BYTES";
        if let Some(base) = line.strip_prefix("# base timestamp:") {
            let base = base.trim().parse::<u64>().ok().filter(|base| *base <= TIME_MAX);
            return match (base, self.base) {
                (None, _) => Err("no base timestamp; expected a number of ms".to_string()),
                (_, Some(_)) => Err("a second base timestamp; expected one".to_string()),
                (base, None) => {
                    self.base = base;
                    Ok(())
                }
            };
        }
        if line.starts_with('#') || line.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |place: usize| {
            words.get(place).and_then(|word| word.parse::<u64>().ok()).filter(|number| *number <= TIME_MAX)
        };
        let size = number(2).filter(|size| *size <= SIZE_MAX);
        let (Some(time), Some(kind), Some(size)) = (number(0), words.get(1), size) else {
            return Err(format!("no event; {EXPECTED}"));
        };
        let Some(base) = self.base else {
            return Err("an event before '# base timestamp:'; expected the head of a log first".to_string());
        };
        let time = time.checked_sub(base).ok_or("is before the base timestamp; expected a later time")?;
        self.first = self.first.or(Some(time));
        self.last = self.last.max(time);
        let bits = size * 8;
        let bin = self.bins.entry(time / bin_ms).or_default();
        match *kind {
            "#" => {
                self.whole.capacity += bits;
                bin.capacity += bits;
            }
            "+" => {
                self.counts[0] += 1;
                self.whole.arrived += bits;
                bin.arrived += bits;
            }
            "-" => {
                let delay = number(3).ok_or("a departure without a delay; expected MS - BYTES DELAY")?;
                let arrival = time
                    .checked_sub(delay)
                    .ok_or("arrived before the base timestamp; expected a delay of at most its time")?;
                self.counts[1] += 1;
                self.whole.departed += bits;
                bin.departed += bits;
                bin.delay_max = bin.delay_max.max(Some(delay));
                bin.delay_sum += u128::from(delay);
                bin.departures += 1;
                self.delays.push(delay as i64 * 1_000_000);
                self.signal.entry(arrival).and_modify(|least| *least = delay.min(*least)).or_insert(delay);
            }
            "d" => self.counts[2] += size,
            _ => return Err(format!("no kind of event; {EXPECTED}")),
        }
        Ok(())
    }

    fn finish(mut self, bin_ms: u64) -> Result<LogFigures, String> {
        let first = self.first.ok_or("no event; expected a log of mm-link")?;
        let delay_ms = summary(&mut self.delays)
            .ok_or("no packet has left; expected a log with departures (lines with '-')")?;
        if self.last <= first {
            return Err("all events are of one ms; expected a longer log".to_string());
        }
        let seconds = (self.last - first) as f64 / 1e3;
        let mbps = |bits: u64| bits as f64 / seconds / 1e6;
        let place = (0.95 * self.delays.len() as f64) as usize;
        let delay_p95_ms = self.delays[place.min(self.delays.len() - 1)] as f64 / 1e6;
        let capacity = self.whole.capacity;
        let utilization = (capacity > 0).then(|| round(self.whole.departed as f64 / capacity as f64));
        let width = bin_ms as f64 / 1e3;
        let bins = self.bins.iter().map(|(number, sums)| Bin {
            start_s: *number as f64 * width,
            capacity_mbps: sums.capacity as f64 / width / 1e6,
            ingress_mbps: sums.arrived as f64 / width / 1e6,
            throughput_mbps: sums.departed as f64 / width / 1e6,
            delay_mean_ms: (sums.departures > 0).then(|| sums.delay_sum as f64 / sums.departures as f64),
            delay_max_ms: sums.delay_max.map(|delay| delay as f64),
        });
        Ok(LogFigures {
            duration_s: seconds,
            capacity_mbps: round(mbps(capacity)),
            ingress_mbps: round(mbps(self.whole.arrived)),
            throughput_mbps: round(mbps(self.whole.departed)),
            utilization,
            arrived: self.counts[0],
            departed: self.counts[1],
            drops: self.counts[2],
            delay_ms,
            delay_p95_ms,
            signal_delay_p95_ms: signal_delay(&self.signal) as f64,
            bins: bins.collect(),
        })
    }
}

/// The 95th percentile of the signal delay over every ms from the first arrival to the last, without a step for each ms: between two
/// arrivals it falls by one ms in each.
fn signal_delay(least: &BTreeMap<u64, u64>) -> u64 {
    // How many delays from the first number on there are, and how many of them: ascending by one.
    let mut runs: Vec<(u64, u64)> = Vec::with_capacity(least.len());
    let mut before: Option<u64> = None;
    for (arrival, delay) in least {
        runs.push((*delay, before.map_or(1, |before| arrival - before)));
        before = Some(*arrival);
    }
    let count: u64 = runs.iter().map(|(_, length)| length).sum();
    let place = (0.95 * count as f64) as u64;
    let most = runs.iter().map(|(delay, length)| delay + length).max().unwrap_or(0);
    // The least delay of which, or of less, there are more than `place`.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        let at_most: u64 =
            runs.iter().map(|(delay, length)| (middle + 1).saturating_sub(*delay).min(*length)).sum();
        if at_most > place { high = middle } else { low = middle + 1 }
    }
    low
}
