//! The logs of `mm-link --uplink-log`, `--downlink-log`, of mahimahi and of `qdelay link --log`: rates and delays.
//!
//! Source: mahimahi, `scripts/mm-throughput-graph` and `mm-delay-graph`. The first five figures follow these scripts:
//!
//! | figure | definition |
//! | --- | --- |
//! | capacity, ingress, throughput | bytes of `#`, `+` and `-` lines over the time from the first event to the last |
//! | 95th percentile per-packet queueing delay | DELAY of the `-` lines: the delay at place 0.95 n, from 0, in ascending order |
//! | 95th percentile signal delay | for each ms between the first and the last arrival of a packet that left, the smallest time that data sent then took: the smallest DELAY of the packets that arrived in that ms or, without any, one ms more than the value of the following ms |
//!
//! Differences from the reference:
//! * `d` lines, at which mahimahi's script stops, count as drops.
//! * Events with another letter, which forks of mahimahi write, are counted and left out.
//! * Times and delays may have decimals, of which thousandths of a ms are read: Pantheon's merged logs have them.
//! * Mean, median, 99th percentile and maximum of the delay are reported too; percentiles by nearest rank.
//! * A log in which all events fall into one ms has no rates and is an error; mahimahi's script divides by zero.

use crate::import::summary;
use qdelay_config::InputError;
use qdelay_record::DelaySummary;
use qdelay_record::entity::round;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// Largest length of a line in bytes; lines of a log are far shorter.
const LINE_MAX: u64 = 64 << 10;
/// Largest time or delay in ms, 30 years: a file beyond this bound is no log, and sums below it are exact.
const TIME_MAX: u64 = 1_000_000_000_000;
/// Microseconds of a ms, the unit of times and delays here.
const MS: u64 = 1000;
/// Largest count of bytes or packets of one event: sums of such counts fit 64 bits.
const SIZE_MAX: u64 = 1_000_000_000;

/// Figures of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogFigures {
    /// Time from the first event to the last, in seconds.
    pub duration_s: f64,
    /// Capacity of the link: bytes of all opportunities over the time.
    pub capacity_mbps: f64,
    /// Rate of arrivals.
    pub ingress_mbps: f64,
    /// Rate of departures.
    pub throughput_mbps: f64,
    /// Throughput over capacity; null where the log has no opportunities.
    pub utilization: Option<f64>,
    /// Number of packets that arrived.
    pub arrived: u64,
    /// Number of packets that left.
    pub departed: u64,
    /// Number of dropped packets; null where the log has no `d` lines.
    pub drops: u64,
    /// Delays of the packets that left.
    pub delay_ms: DelaySummary,
    /// 95th percentile of the delays, computed as in mm-throughput-graph.
    pub delay_p95_ms: f64,
    /// 95th percentile of the signal delay.
    pub signal_delay_p95_ms: f64,
    /// Number of events with other letters than those of mahimahi, by letter; they are in no figure.
    pub other_events: BTreeMap<char, u64>,
    /// Bins of time in ascending order.
    #[serde(skip)]
    pub bins: Vec<Bin>,
}

/// Bin of time; bin n covers one bin width from n times the width on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Start of the bin since the start of the trace.
    pub start_s: f64,
    /// Capacity of the link in the bin.
    pub capacity_mbps: f64,
    /// Rate of arrivals in the bin.
    pub ingress_mbps: f64,
    /// Rate of departures in the bin.
    pub throughput_mbps: f64,
    /// Mean delay of departures; `None` without departures.
    pub delay_mean_ms: Option<f64>,
    /// Largest delay of departures.
    pub delay_max_ms: Option<f64>,
}

/// Bits and the largest delay of a bin.
#[derive(Clone, Copy, Default)]
struct Sums {
    capacity: u64,
    arrived: u64,
    departed: u64,
    /// In microseconds.
    delay_max: Option<u64>,
    delay_sum: u128,
    departures: u64,
}

/// Sums of a log; times and delays in microseconds.
#[derive(Default)]
struct Events {
    base: Option<u64>,
    first: Option<u64>,
    last: u64,
    whole: Sums,
    counts: [u64; 3],
    delays: Vec<i64>,
    /// Smallest delay by the ms of arrival.
    signal: BTreeMap<u64, u64>,
    bins: BTreeMap<u64, Sums>,
    others: BTreeMap<char, u64>,
}

/// A time or delay in ms, as microseconds; further decimals are left out.
fn microseconds(word: &str) -> Option<u64> {
    let (whole, decimals) = word.split_once('.').unwrap_or((word, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) {
        return None;
    }
    let thousandths = decimals.bytes().chain(std::iter::repeat(b'0')).take(3);
    let part = thousandths.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    whole.parse::<u64>().ok().filter(|ms| *ms <= TIME_MAX).map(|ms| ms * MS + part)
}

/// The letter of an event of a fork of mahimahi.
fn other_letter(kind: &str) -> Option<char> {
    let letter = kind.chars().next().filter(|letter| kind.len() == 1 && letter.is_ascii_alphabetic());
    letter.filter(|letter| *letter != 'd')
}

/// Reads a log; `bin_ms` is the width of [`LogFigures::bins`], at least 1.
///
/// # Errors
/// A file that cannot be read, a line in another format, or a log in which no packet left.
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
        let text = text.map_err(|_| fail("is not text; expected a log of mm-link".to_string()))?.trim_end();
        events.take(text, bin_ms.max(1)).map_err(|message| {
            let shown: String = text.chars().take(40).collect();
            fail(format!("'{}': {message}", shown.escape_default()))
        })?;
    }
    events.finish(bin_ms.max(1)).map_err(|message| InputError::new(place, message))
}

impl Events {
    /// Adds a line of the log to the sums. Each kind of event has its own fields; the error names the expected form.
    fn take(&mut self, line: &str, bin_ms: u64) -> Result<(), String> {
        const EXPECTED: &str = "expected MS + BYTES, MS # BYTES, MS - BYTES DELAY or MS d PACKETS BYTES";
        if let Some(base) = line.strip_prefix("# base timestamp:") {
            let base = microseconds(base.trim());
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
        let time_of = |place: usize| words.get(place).and_then(|word| microseconds(word));
        let kind = words.get(1);
        if let (Some(_), Some(letter)) = (time_of(0), kind.and_then(|kind| other_letter(kind))) {
            *self.others.entry(letter).or_default() += 1;
            return Ok(());
        }
        let size = words.get(2).and_then(|word| word.parse::<u64>().ok()).filter(|size| *size <= SIZE_MAX);
        let (Some(time), Some(kind), Some(size)) = (time_of(0), kind, size) else {
            return Err(format!("no event; {EXPECTED}"));
        };
        let Some(base) = self.base else {
            return Err("an event before '# base timestamp:'; expected the head of a log first".to_string());
        };
        let time = time.checked_sub(base).ok_or("is before the base timestamp; expected a later time")?;
        self.first = self.first.or(Some(time));
        self.last = self.last.max(time);
        let bits = size * 8;
        let bin = self.bins.entry(time / (bin_ms * MS)).or_default();
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
                let delay = time_of(3).ok_or("a departure without a delay; expected MS - BYTES DELAY")?;
                let arrival = time
                    .checked_sub(delay)
                    .ok_or("arrived before the base timestamp; expected a delay of at most its time")?;
                self.counts[1] += 1;
                self.whole.departed += bits;
                bin.departed += bits;
                bin.delay_max = bin.delay_max.max(Some(delay));
                bin.delay_sum += u128::from(delay);
                bin.departures += 1;
                self.delays.push(delay as i64 * 1000);
                self.signal
                    .entry(arrival / MS)
                    .and_modify(|least| *least = delay.min(*least))
                    .or_insert(delay);
            }
            "d" => self.counts[2] += size,
            _ => return Err(format!("unknown kind of event;  {EXPECTED}")),
        }
        Ok(())
    }

    /// Figures of the log after its last line. A log without events, without departures or within a single ms has no rates, and is refused.
    fn finish(mut self, bin_ms: u64) -> Result<LogFigures, String> {
        let first = self.first.ok_or("no event; expected a log of mm-link")?;
        let delay_ms = summary(&mut self.delays)
            .ok_or("no packet has left; expected a log with departures (lines with '-')")?;
        if self.last <= first {
            return Err("all events fall into one ms;  expected a longer log".to_string());
        }
        let seconds = (self.last - first) as f64 / 1e6;
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
            delay_mean_ms: (sums.departures > 0)
                .then(|| sums.delay_sum as f64 / (sums.departures * MS) as f64),
            delay_max_ms: sums.delay_max.map(|delay| delay as f64 / MS as f64),
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
            signal_delay_p95_ms: signal_delay(&self.signal) as f64 / MS as f64,
            other_events: self.others,
            bins: bins.collect(),
        })
    }
}

/// 95th percentile of the signal delay over every ms from the first arrival to the last. The delay falls by one ms in each ms between two
/// arrivals, so runs of consecutive values are counted instead of single values. In microseconds, by the ms of arrival.
fn signal_delay(least: &BTreeMap<u64, u64>) -> u64 {
    // Runs of delays, each ascending by one ms: the first value and the number of values.
    let mut runs: Vec<(u64, u64)> = Vec::with_capacity(least.len());
    let mut before: Option<u64> = None;
    for (arrival, delay) in least {
        runs.push((*delay, before.map_or(1, |before| arrival - before)));
        before = Some(*arrival);
    }
    let count: u64 = runs.iter().map(|(_, length)| length).sum();
    let place = (0.95 * count as f64) as u64;
    let most = runs.iter().map(|(delay, length)| delay + length * MS).max().unwrap_or(0);
    // Smallest delay with more than `place` delays at or below it.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        let at_most: u64 =
            runs.iter().map(|(delay, length)| ((middle + MS).saturating_sub(*delay) / MS).min(*length)).sum();
        if at_most > place { high = middle } else { low = middle + 1 }
    }
    low
}
