//! Dates and times of day: reading of their forms.

use super::NANOS;
use alloc::string::String;
use core::str;
use qdelay_core::Span;

/// Names of zones with their distance from UTC in minutes; the usual meaning where a name has several.
const ZONES: [(&str, i64); 29] = [
    ("Z", 0),
    ("UTC", 0),
    ("GMT", 0),
    ("WET", 0),
    ("WEST", 60),
    ("BST", 60),
    ("CET", 60),
    ("CEST", 120),
    ("EET", 120),
    ("EEST", 180),
    ("MSK", 180),
    ("IST", 330),
    ("HKT", 480),
    ("SGT", 480),
    ("AWST", 480),
    ("JST", 540),
    ("KST", 540),
    ("AEST", 600),
    ("AEDT", 660),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
    ("AKST", -540),
    ("HST", -600),
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Returns true if `field` is a date.
pub(crate) fn is_date(field: &[u8]) -> bool {
    matches!(read_date(field), Moment::Since1970(_) | Moment::UnknownZone)
}

/// A field that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Nanoseconds since 1970.
    Since1970(u64),
    /// Time since midnight.
    OfDay(Span),
    /// A date or time with a zone that has no known name.
    UnknownZone,
    None,
}

pub(super) fn read_date(field: &[u8]) -> Moment {
    let Ok(text) = str::from_utf8(field) else { return Moment::None };
    let text = text.trim();
    if let Some((date, clock, rest)) = year_first(text) {
        return moment(Some(date), clock, rest);
    }
    if let Some((clock, rest)) = Clockface::read(text) {
        return moment(None, clock, rest);
    }
    month_by_name(text).unwrap_or(Moment::None)
}

/// A calendar day: year, month, day.
type Date = (u64, u64, u64);

/// Hour, minute, second, and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Clockface {
    hour: u64,
    minute: u64,
    second: u64,
    nanos: u64,
}

impl Clockface {
    /// Reads `hh:mm:ss[.fff]`; returns the rest of the text too.
    fn read(text: &str) -> Option<(Clockface, &str)> {
        let (hour, rest) = number(text, 1..=2)?;
        let (minute, rest) = number(rest.strip_prefix(':')?, 2..=2)?;
        let (second, rest) = number(rest.strip_prefix(':')?, 2..=2)?;
        Clockface::of(hour, minute, second, rest)
    }

    fn of(hour: u64, minute: u64, second: u64, rest: &str) -> Option<(Clockface, &str)> {
        let (nanos, rest) = fraction(rest);
        // A second of 60 is a leap second.
        let valid = hour <= 23 && minute <= 59 && second <= 60;
        valid.then_some((Clockface { hour, minute, second, nanos }, rest))
    }

    /// Time since midnight; `is_afternoon` comes from AM or PM.
    fn since_midnight(self, is_afternoon: Option<bool>) -> Option<Span> {
        let hour = match is_afternoon {
            None => self.hour,
            Some(_) if !(1..=12).contains(&self.hour) => return None,
            Some(is_afternoon) => self.hour % 12 + if is_afternoon { 12 } else { 0 },
        };
        let seconds = (hour * 60 + self.minute) * 60 + self.second;
        Some(Span::from_nanos(seconds * NANOS + self.nanos))
    }
}

/// A number of `digits` digits at the beginning of `text`, and the rest.
fn number(text: &str, digits: core::ops::RangeInclusive<usize>) -> Option<(u64, &str)> {
    let length = text.bytes().take(*digits.end()).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(length).filter(|_| digits.contains(&length))?;
    Some((number.parse().ok()?, rest))
}

/// The fraction of a second after a point or comma, in ns; 0 without one.
fn fraction(text: &str) -> (u64, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(length);
    if digits.is_empty() {
        return (0, text);
    }
    let nanos = digits.bytes().chain(core::iter::repeat(b'0')).take(9);
    (nanos.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')), after)
}

/// A date that begins with the year, and a time; returns the rest of the text too.
fn year_first(text: &str) -> Option<(Date, Clockface, &str)> {
    let (year, rest) = number(text, 4..=4)?;
    let ((month, day), clock, rest) = match number(rest, 4..=4) {
        Some((day, rest)) => compact(day, rest),
        None => separated(rest),
    }?;
    Some(((year, month, day), clock, rest))
}

/// `0501T100000`, of which `day` is the first number.
fn compact(day: u64, rest: &str) -> Option<((u64, u64), Clockface, &str)> {
    let (clock, rest) = number(rest.strip_prefix(['T', '_', ' ', '-'])?, 6..=6)?;
    let (clock, rest) = Clockface::of(clock / 10_000, clock / 100 % 100, clock % 100, rest)?;
    Some(((day / 100, day % 100), clock, rest))
}

/// `-05-01 10:00:00`: numbers, each after one character. A spreadsheet may leave the seconds out.
fn separated(rest: &str) -> Option<((u64, u64), Clockface, &str)> {
    const SEPARATORS: [char; 7] = ['.', '-', '/', '_', ' ', 'T', ':'];
    fn part(text: &str) -> Option<(u64, &str)> {
        number(text.strip_prefix(SEPARATORS)?, 1..=2)
    }
    let (month, rest) = part(rest)?;
    let (day, rest) = part(rest)?;
    let (hour, rest) = part(rest)?;
    let (minute, rest) = part(rest)?;
    let (second, rest) = part(rest).unwrap_or((0, rest));
    let (clock, rest) = Clockface::of(hour, minute, second, rest)?;
    Some(((month, day), clock, rest))
}

/// A date with words: `date` prints the weekday, the month, the day, the time, the zone and the year; others in another order.
fn month_by_name(text: &str) -> Option<Moment> {
    let (mut date, mut clock, mut rest): (Date, _, _) = ((0, 0, 0), None, String::new());
    // A hyphen separates only within a date such as 01-May-2024, not before a zone such as -0400.
    let separates = |c: char| c.is_ascii_whitespace() || c == ',';
    for word in text.split(separates).filter(|word| !word.is_empty()) {
        let is_date = word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_alphabetic());
        for word in word.split(|c: char| is_date && (c == '-' || c == '/')) {
            if let Some((found, after)) = Clockface::read(word) {
                clock = Some(found);
                rest.push_str(after);
            } else if let Some(month) = index(&MONTHS, word) {
                date.1 = month as u64 + 1;
            } else if let Some((year, "")) = number(word, 4..=4) {
                date.0 = year;
            } else if let Some((day, "")) = number(word, 1..=2) {
                date.2 = day;
            } else if index(&WEEKDAYS, word).is_none() {
                rest.push(' ');
                rest.push_str(word);
            }
        }
    }
    if date.1 == 0 {
        return None;
    }
    Some(moment(Some(date), clock?, &rest))
}

/// The index of `word` in `names`, which may be shortened to three letters.
fn index(names: &[&str], word: &str) -> Option<usize> {
    let is = |name: &&str| {
        name.eq_ignore_ascii_case(word) || name.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(word))
    };
    names.iter().position(is)
}

/// The moment of a date and a time, with `rest` of AM or PM and a zone.
fn moment(date: Option<Date>, clock: Clockface, rest: &str) -> Moment {
    let (mut is_afternoon, mut zone, mut is_unknown) = (None, 0, false);
    for word in rest.split_ascii_whitespace() {
        match word {
            "AM" | "am" | "a.m." => is_afternoon = Some(false),
            "PM" | "pm" | "p.m." => is_afternoon = Some(true),
            _ => match offset(word) {
                Some(minutes) => zone = minutes,
                None if word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"/_".contains(&byte)) => {
                    is_unknown = true;
                }
                None => return Moment::None,
            },
        }
    }
    let Some(span) = clock.since_midnight(is_afternoon) else { return Moment::None };
    let days = match date {
        None => return if is_unknown { Moment::UnknownZone } else { Moment::OfDay(span) },
        Some((year, month, day)) => match is_day(year, month, day) {
            true => days(year, month, day),
            false => return Moment::None,
        },
    };
    if is_unknown {
        return Moment::UnknownZone;
    }
    let nanos = i128::from(days * 24 * 3600) * i128::from(NANOS) + i128::from(span.as_nanos());
    let utc = nanos - i128::from(zone) * 60 * i128::from(NANOS);
    u64::try_from(utc).map_or(Moment::None, Moment::Since1970)
}

/// Minutes by which a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if let Some((_, minutes)) = ZONES.iter().find(|(name, _)| name.eq_ignore_ascii_case(zone)) {
        return Some(*minutes);
    }
    let (sign, digits) = match (zone.strip_prefix('+'), zone.strip_prefix(['-', '\u{2212}'])) {
        (Some(digits), _) => (1, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return None,
    };
    let (hours, rest) = number(digits, 2..=2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        rest => number(rest, 2..=2).filter(|(_, end)| end.is_empty())?.0,
    };
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) as i64)
}

/// Returns true if the Gregorian calendar has this day, from 1970 to 2500.
fn is_day(year: u64, month: u64, day: u64) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1970..=2500).contains(&year) && (1..=12).contains(&month) && (1..=length).contains(&day)
}

/// Days from 1970-01-01 in the Gregorian calendar, counting months from March so that leap days come last.
pub(super) fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}
