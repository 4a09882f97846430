//! The columns of a table that look like a rate and like a time.

use super::{Guess, LINES_MAX, unit_of_size, unit_of_time};
use crate::csv::{SEPARATORS, records};
use crate::format::time::is_date;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str;

/// Parts of names of rates with their weights, in lower case.
const RATES: [(&str, u32); 14] = [
    ("throughput", 4),
    ("bitrate", 4),
    ("brate", 4),
    ("bits_per_second", 4),
    ("goodput", 4),
    ("bandwidth", 3),
    ("bps", 3),
    ("mbit", 3),
    ("kbit", 3),
    ("tput", 3),
    ("thrpt", 3),
    ("rate", 2),
    ("capacity", 2),
    ("bytes", 1),
];
/// Parts of names of downlinks, which are preferred.
const DOWN: [&str; 4] = ["dl", "down", "rx", "recv"];
/// Parts of names of times, in lower case.
const TIMES: [&str; 6] = ["time", "date", "stamp", "epoch", "second", "clock"];
/// Names of times that are too short to be a part.
const TIME_NAMES: [&str; 5] = ["t", "ts", "s", "sec", "seq"];

/// Units that a name may have, the longest first.
const UNITS: [(&str, &str); 12] = [
    ("gbps", "gbit"),
    ("gbit", "gbit"),
    ("mbps", "mbit"),
    ("mbit", "mbit"),
    ("kbps", "kbit"),
    ("kbit", "kbit"),
    ("bits_per_second", "bit"),
    ("bit/s", "bit"),
    ("bps", "bit"),
    ("bytes/s", "byte"),
    ("bytes_per_s", "byte"),
    ("bytes", "bytes_per_row"),
];

/// A header and the first rows.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
    separator: u8,
}

impl Table {
    /// Fields of a column.
    fn column(&self, index: usize) -> impl Iterator<Item = &str> + Clone {
        self.rows.iter().map(move |row| row.get(index).map_or("", |field| field.trim()))
    }

    /// The number in a field; a comma separates decimals if it does not separate fields.
    fn number(&self, field: &str) -> Option<f64> {
        let text = if self.separator == b',' { field.to_string() } else { field.replace(',', ".") };
        text.parse::<f64>().ok().filter(|number| number.is_finite())
    }

    fn numbers(&self, index: usize) -> impl Iterator<Item = f64> + Clone {
        self.column(index).filter_map(|field| self.number(field))
    }
}

/// The format of a table that begins with `text`.
pub(super) fn guess(text: &[u8]) -> Result<Guess, String> {
    let table = read(text);
    let mut rates: Vec<(u32, usize)> =
        (0..table.names.len()).filter_map(|index| Some((rate_weight(&table, index)?, index))).collect();
    rates.sort_by_key(|(weight, index)| (u32::MAX - weight, *index));
    let named = rates.first().map(|(_, index)| (*index, "by its name"));
    let only = || only_numbers(&table).map(|index| (index, "the only other column of numbers"));
    let (rate, reason) = named.or_else(only).ok_or_else(|| no_rate(&table))?;
    let name = table.names.get(rate).map_or("", String::as_str);
    let mut guess = Guess { format: format!("csv:column={}", bracketed(name)), assumed: Vec::new() };
    guess.assumed.push(format!("column '{name}' is the rate, {reason}"));
    add_unit(&table, rate, name, &mut guess);
    add_time(&table, rate, &mut guess);
    add_missing(&table, rate, &mut guess);
    let others: Vec<&str> =
        rates.iter().skip(1).filter_map(|(_, index)| Some(table.names.get(*index)?.as_str())).collect();
    if !others.is_empty() {
        guess.assumed.push(format!("other columns that look like a rate: {}", others.join(", ")));
    }
    Ok(guess)
}

fn is_cqi(name: &str) -> bool {
    name.to_lowercase().contains("cqi")
}

/// The only column of numbers beside the time.
fn only_numbers(table: &Table) -> Option<usize> {
    let (time, _) = time_column(table, usize::MAX)?;
    let is_it = |index: &usize| {
        let name = table.names.get(*index).map_or("", String::as_str);
        *index != time && !is_cqi(name) && table.numbers(*index).next().is_some()
    };
    let mut found = (0..table.names.len()).filter(is_it);
    found.next().filter(|_| found.next().is_none())
}

/// The error of a table without a rate; a table of CQIs is for the channel of a cell.
fn no_rate(table: &Table) -> String {
    if let Some(name) = table.names.iter().find(|name| is_cqi(name)) {
        let column = bracketed(name);
        return format!(
            "column '{name}' is no rate; expected a channel of a cell to read it, cqi-trace:FILE:column={column}"
        );
    }
    let names = table.names.join(", ");
    format!("no column looks like a rate; expected csv:column=NAME with one of {names}")
}

/// The table, by the separator that gives the most columns.
fn read(text: &[u8]) -> Table {
    let begin = text.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(0);
    let text = text.get(begin..).unwrap_or_default();
    let by = |separator: u8| {
        let mut rows = records(text, separator, LINES_MAX).into_iter();
        let mut names = rows.next().unwrap_or_default();
        // Comments before the header have fewer columns than it.
        let mut rows: Vec<Vec<String>> = rows.collect();
        while names.first().is_some_and(|name| name.starts_with('#'))
            && rows.first().is_some_and(|row| row.len() > names.len())
        {
            names = rows.remove(0);
        }
        rows.retain(|row| !row.first().is_some_and(|field| field.starts_with('#')));
        Table { names: names.iter().map(|name| name.trim().to_string()).collect(), rows, separator }
    };
    let mut best = by(b',');
    for (separator, _) in SEPARATORS.iter().skip(1) {
        let table = by(*separator);
        if table.names.len() > best.names.len() {
            best = table;
        }
    }
    best
}

/// A name as a value of a key.
fn bracketed(name: &str) -> String {
    if name.contains([':', '=', '[', ']']) { format!("[{name}]") } else { name.to_string() }
}

/// The weight of a column of numbers with the name of a rate.
fn rate_weight(table: &Table, index: usize) -> Option<u32> {
    let name = table.names.get(index)?.to_lowercase();
    let weight = RATES.iter().filter(|(part, _)| name.contains(part)).map(|(_, weight)| *weight).max()?;
    table.numbers(index).next()?;
    let is_down = DOWN.iter().any(|part| name.contains(part));
    Some(2 * weight + u32::from(is_down))
}

fn add_unit(table: &Table, rate: usize, name: &str, guess: &mut Guess) {
    let lower = name.to_lowercase();
    let largest = table.numbers(rate).fold(0.0, f64::max);
    let (unit, reason) = match UNITS.iter().find(|(part, _)| lower.contains(part)) {
        Some((_, unit)) => (*unit, "by its name".to_string()),
        None => (unit_of_size(largest), format!("because it goes up to {largest}; unit= gives another")),
    };
    if unit != "mbit" {
        guess.format += &format!(":unit={unit}");
    }
    guess.assumed.push(format!("its unit is {unit}, {reason}"));
}

/// The column of times: the first one with dates, or else the first with the name of a time and numbers.
fn time_column(table: &Table, rate: usize) -> Option<(usize, bool)> {
    let indices = || (0..table.names.len()).filter(|index| *index != rate);
    let is_dated = |index: &usize| {
        let mut fields = table.column(*index).filter(|field| !field.is_empty()).peekable();
        fields.peek().is_some() && fields.all(|field| is_date(field.as_bytes()) || field.contains(':'))
    };
    let is_named = |index: &usize| {
        let name = table.names.get(*index).map(|name| name.to_lowercase()).unwrap_or_default();
        TIMES.iter().any(|part| name.contains(part)) || TIME_NAMES.contains(&name.as_str())
    };
    let is_number = |index: &usize| table.column(*index).all(|field| table.number(field).is_some());
    let in_order = |index: &usize| {
        table.numbers(*index).zip(table.numbers(*index).skip(1)).all(|(before, after)| before <= after)
    };
    let dated = indices().find(is_dated).map(|index| (index, true));
    let named = || indices().filter(is_named).filter(is_number);
    dated.or_else(|| named().find(in_order).or_else(|| named().next()).map(|index| (index, false)))
}

fn add_time(table: &Table, rate: usize, guess: &mut Guess) {
    let Some((index, is_dated)) = time_column(table, rate) else {
        guess
            .assumed
            .push("no column looks like a time: rows are 1 s apart; every= gives another time".to_string());
        return;
    };
    let name = table.names.get(index).map_or("", String::as_str);
    guess.format += &format!(":time={}", bracketed(name));
    if is_dated {
        guess.assumed.push(format!("column '{name}' is the time, because it has dates or times of day"));
        return;
    }
    let unit = unit_of_time(table.numbers(index).next().unwrap_or(0.0));
    if unit != "s" {
        guess.format += &format!(":time_unit={unit}");
    }
    guess.assumed.push(format!("column '{name}' is the time in {unit}, by its name and size"));
    let pairs = || table.numbers(index).zip(table.numbers(index).skip(1));
    if let Some((before, after)) = pairs().find(|(before, after)| before > after) {
        guess.assumed.push(format!(
            "times go back from {before} to {after}: of several runs where=COLUMN=VALUE reads one; order=sort sorts all rows"
        ));
    }
}

/// Holds rows without a rate, and says how many of the first rows have none.
fn add_missing(table: &Table, rate: usize, guess: &mut Guess) {
    let has_none = |field: &&str| table.number(field).is_none_or(|number| number < 0.0);
    let missing = table.column(rate).filter(has_none).count();
    if missing > 0 {
        guess.format += ":missing=hold";
        let rows = table.rows.len();
        guess.assumed.push(format!(
            "{missing} of the first {rows} rows have no rate, and hold the one before; missing=zero or skip gives another meaning"
        ));
    }
}
