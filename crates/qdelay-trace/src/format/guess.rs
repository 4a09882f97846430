//! A guess at the format of a file from its beginning: the format with its keys, and each assumption behind it.
//!
//! The header of a table is searched for a column that looks like a rate and one that looks like a time. Names decide
//! first, the size of the numbers where a name says nothing. The user judges the guess; no reader uses it.

mod table;

use super::{BYTE_ORDER_MARK, detect, fields};
use crate::error::shown;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str;

/// Number of lines that are looked at.
const LINES_MAX: usize = 1000;

/// A format and its assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The format with its keys, as [`super::parse`] takes it.
    pub format: String,
    /// A line for each assumption.
    pub assumed: Vec<String>,
}

/// The format of a file that begins with `beginning`; `is_whole` if that is all of it.
///
/// # Errors
/// Nothing looks like a rate.
pub fn guess(beginning: &[u8], is_whole: bool) -> Result<Guess, String> {
    let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning);
    let end = if is_whole {
        text.len()
    } else {
        text.iter().rposition(|&byte| byte == b'\n').unwrap_or(text.len())
    };
    let text = text.get(..end).unwrap_or_default();
    let name = detect(text).component.name;
    if name == "csv" {
        return table::guess(text);
    }
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<&[u8]> =
        lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(LINES_MAX).collect();
    let Some(first) = lines.first() else { return Err("no line of data; expected a trace".to_string()) };
    let (count, numbers, _) = fields(first);
    if count == 0 || numbers < count {
        return Err(format!("line '{}' has no numbers; expected a trace", shown(first)));
    }
    match count {
        1 if is_schedule(&lines) => Ok(Guess {
            format: "mahimahi".to_string(),
            assumed: alloc::vec!["each line is the time in ms of an opportunity of 1504 bytes".to_string()],
        }),
        1 => Ok(list("each line is a rate in Mbit/s, one a second")),
        2 => Ok(two_columns(&lines)),
        _ if lines.len() > 1 && increases(&lines) => Ok(several_columns(count)),
        _ => Ok(list("each number is a rate in Mbit/s, one a second")),
    }
}

fn list(assumed: &str) -> Guess {
    let assumed = alloc::vec![format!("{assumed}; every= gives another time, unit= another unit")];
    Guess { format: "mbps:every=1s".to_string(), assumed }
}

fn several_columns(count: usize) -> Guess {
    let others: Vec<String> = (3..=count).map(|column| format!("column={column}")).collect();
    let assumed = alloc::vec![
        "column 1 is the time in seconds, column 2 a rate in Mbit/s".to_string(),
        format!("other columns that may be a rate: {}", others.join(", ")),
    ];
    Guess { format: "mbps:column=2".to_string(), assumed }
}

/// The number in column `index` of a line, from 0.
fn number(line: &[u8], index: usize) -> Option<f64> {
    let text = str::from_utf8(line).ok()?;
    let mut fields = text.split([' ', '\t', ',']).filter(|field| !field.is_empty());
    fields.nth(index)?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Returns true if the lines are whole numbers that do not decrease.
fn is_schedule(lines: &[&[u8]]) -> bool {
    let is_whole = |line: &&[u8]| line.iter().all(u8::is_ascii_digit);
    let numbers = || lines.iter().filter_map(|line| number(line, 0));
    lines.iter().all(is_whole) && numbers().zip(numbers().skip(1)).all(|(before, after)| before <= after)
}

/// Returns true if the first column does not decrease.
fn increases(lines: &[&[u8]]) -> bool {
    let numbers = || lines.iter().filter_map(|line| number(line, 0));
    numbers().zip(numbers().skip(1)).all(|(before, after)| before <= after)
}

/// Seconds and Mbit/s, unless the numbers are too large for them.
fn two_columns(lines: &[&[u8]]) -> Guess {
    /// Seconds between samples above which they are more likely milliseconds, if the rates are in kbit/s.
    const APART_MAX: f64 = 20.0;
    let times = || lines.iter().filter_map(|line| number(line, 0));
    let mut rates: Vec<f64> = lines.iter().filter_map(|line| number(line, 1)).collect();
    rates.sort_by(f64::total_cmp);
    let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
    let first = times().next().unwrap_or(0.0);
    let apart = (times().next_back().unwrap_or(0.0) - first) / lines.len().max(2).saturating_sub(1) as f64;
    let unit = unit_of_size(median);
    let time = match unit_of_time(first) {
        "s" if apart > APART_MAX && unit != "mbit" => "ms",
        time => time,
    };
    let (mut format, mut assumed) = ("mbps".to_string(), Vec::new());
    match time {
        "s" => assumed.push("times are in seconds".to_string()),
        _ => {
            format += &format!(":time={time}");
            assumed.push(format!("times are in {time}, because they are {apart:.0} apart"));
        }
    }
    if unit == "mbit" {
        assumed.push("rates are in Mbit/s".to_string());
    } else {
        format += &format!(":unit={unit}");
        assumed.push(format!("rates are in {unit}/s, because half of them are above {median:.0}"));
    }
    Guess { format, assumed }
}

/// The unit in which a rate of this size is a usual one.
fn unit_of_size(rate: f64) -> &'static str {
    match rate {
        _ if rate > 1e6 => "bit",
        _ if rate > 2e3 => "kbit",
        _ => "mbit",
    }
}

/// The unit in which a time of this size is one since 1970, or seconds.
fn unit_of_time(time: f64) -> &'static str {
    match time {
        _ if time > 1e17 => "ns",
        _ if time > 1e14 => "us",
        _ if time > 1e11 => "ms",
        _ => "s",
    }
}

#[cfg(test)]
mod tests;
