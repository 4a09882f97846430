//! Times in tables and logs: numbers in a unit, dates with a zone, and times of day.
//!
//! | form | examples |
//! | --- | --- |
//! | number | `12.5`, seconds unless `time_unit` names another unit; any origin, so seconds since 1970 too |
//! | date, year first | `2019.12.16_14.23.32`, `2024-05-01 10:00:00.250`, `2024-05-01T10:00:00Z`, `20240501T100000` |
//! | date with the name of the month | `Wed May  1 10:00:00 UTC 2024` (`date`), `Wed, 01 May 2024 10:00:00 +0200` (RFC 5322) |
//! | time of day | `10:00:00.5`, `10:00:00 PM`; a row more than 12 h before the last one belongs to the next day |
//!
//! A date may end in AM or PM and in a zone: `Z`, a number such as `+02:00`, or a name of [`ZONES`]. A date without zone is
//! taken as UTC: only differences matter.

use super::number::{self, read_seconds};
use crate::error::{Problem, TraceError};
use crate::rates::DURATION_MAX_TEXT;
use alloc::string::String;
use core::str;
use qdelay_core::component::{Typed, Unit};
use qdelay_core::{Span, Time};

const FORMS: &str = "a number of seconds or a date such as 2019.12.16_14.23.32, 2024-05-01T10:00:00.5+02:00 or \
    Wed May 1 10:00:00 UTC 2024, or a time of day such as 10:00:00.5; time_unit=ms, us or ns reads other numbers";
const ZONE_FORMS: &str = "a zone as Z, +02:00, GMT, WET, CET, EET, MSK, IST, HKT, JST, AEST, EST, CST, MST or PST, or their summer time";
const SECONDS_MAX_TEXT: &str = "18000000000 s; time_unit=ms, us or ns reads times in another unit";
/// Largest time of numbers, in ns: about the year 2500 in Unix time.
const NANOS_MAX: u128 = 18_000_000_000 * NANOS as u128;
const NANOS: u64 = 1_000_000_000;
/// A time of day that is earlier than the last one by more than this belongs to the next day.
const HALF_DAY: Span = Span::from_secs(12 * 3600);
const DAY: Span = Span::from_secs(24 * 3600);
/// More days than the longest trace has.
const DAYS_MAX: u64 = 60;

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

/// Unit of times that are numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// Names of the units, as parameters have them.
pub(crate) const TIME_UNITS: &[&str] = &["s", "ms", "us", "ns"];
/// Key `time_unit`.
pub(crate) const TIME_UNIT: Typed<str> =
    Typed::new("time_unit", "s", "unit of times that are numbers").unit(Unit::Choice(TIME_UNITS));

impl TimeUnit {
    /// The unit `name` of a parameter; seconds for a name that is none.
    pub fn named(name: &str) -> TimeUnit {
        match name {
            "ms" => TimeUnit::Millis,
            "us" => TimeUnit::Micros,
            "ns" => TimeUnit::Nanos,
            _ => TimeUnit::Seconds,
        }
    }
    const fn nanos(self) -> u64 {
        match self {
            TimeUnit::Seconds => NANOS,
            TimeUnit::Millis => 1_000_000,
            TimeUnit::Micros => 1000,
            TimeUnit::Nanos => 1,
        }
    }
}

/// Reads the times of a table, in the order of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    pub(crate) unit: TimeUnit,
    /// True if a comma separates the decimals of a number.
    pub(crate) decimal_comma: bool,
    /// The last time of day, and the number of midnights since the first.
    of_day: Option<Span>,
    days: u64,
}

impl Clock {
    pub(crate) fn with_unit(unit: TimeUnit) -> Clock {
        Clock { unit, ..Clock::default() }
    }

    /// The time in `field`, which has no blanks around it.
    pub(crate) fn read(&mut self, line: u64, field: &[u8]) -> Result<Time, TraceError> {
        let mut point = [0; 40];
        let number = if self.decimal_comma { with_point(field, &mut point) } else { field };
        if let Ok(text) = str::from_utf8(number)
            && text.parse::<f64>().is_ok()
        {
            return read_number(line, number, self.unit);
        }
        match read_date(field) {
            Moment::Since1970(nanos) => Ok(Time::from_nanos(nanos)),
            Moment::OfDay(span) => self.of_day(line, field, span),
            Moment::UnknownZone => Err(TraceError::unexpected(line, ZONE_FORMS, field)),
            Moment::None => Err(TraceError::unexpected(line, FORMS, field)),
        }
    }

    fn of_day(&mut self, line: u64, field: &[u8], span: Span) -> Result<Time, TraceError> {
        if self.of_day.is_some_and(|last| span + HALF_DAY < last) {
            self.days += 1;
        }
        self.of_day = Some(span);
        if self.days > DAYS_MAX {
            return Err(TraceError::too_large(line, DURATION_MAX_TEXT, field));
        }
        Ok(Time::ZERO + DAY * self.days + span)
    }
}

/// `field` with a point in place of its only comma; `field` itself if it has none, or a point too.
pub(crate) fn with_point<'a>(field: &'a [u8], space: &'a mut [u8; 40]) -> &'a [u8] {
    let commas = field.iter().filter(|&&byte| byte == b',').count();
    if commas != 1 || field.contains(&b'.') {
        return field;
    }
    let Some(copy) = space.get_mut(..field.len()) else { return field };
    copy.copy_from_slice(field);
    copy.iter_mut().filter(|byte| **byte == b',').for_each(|byte| *byte = b'.');
    copy
}

/// A number in `unit`. Seconds are read as a double, others exactly, because nanoseconds since 1970 exceed a double.
pub(crate) fn read_number(line: u64, field: &[u8], unit: TimeUnit) -> Result<Time, TraceError> {
    if unit == TimeUnit::Seconds {
        return read_seconds(line, field).map_err(|error| match error.problem {
            Problem::Unexpected { .. } => TraceError::unexpected(line, FORMS, field),
            Problem::TooLarge { .. } => TraceError::too_large(line, SECONDS_MAX_TEXT, field),
            _ => error,
        });
    }
    let nanos = match exact(field, unit.nanos()) {
        Some(nanos) => nanos,
        None => {
            let number = number::read_number(line, "a time as a number, 0 or more", field)?;
            libm::round(number * unit.nanos() as f64) as u128
        }
    };
    match u64::try_from(nanos) {
        Ok(nanos) if u128::from(nanos) <= NANOS_MAX => Ok(Time::from_nanos(nanos)),
        _ => Err(TraceError::too_large(line, "18000000000 s, in the unit of the times", field)),
    }
}

/// A decimal number times `scale`, without rounding errors; `None` for exponents, signs and long numbers.
fn exact(field: &[u8], scale: u64) -> Option<u128> {
    let text = str::from_utf8(field).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = fraction.get(..fraction.len().min(9))?;
    let part = fraction.parse::<u128>().unwrap_or(0) * u128::from(scale) / 10_u128.pow(fraction.len() as u32);
    Some(whole.parse::<u128>().ok()? * u128::from(scale) + part)
}

/// Returns true if `field` is a date.
pub(crate) fn is_date(field: &[u8]) -> bool {
    matches!(read_date(field), Moment::Since1970(_) | Moment::UnknownZone)
}

/// A field that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Nanoseconds since 1970.
    Since1970(u64),
    /// Time since midnight.
    OfDay(Span),
    /// A date or time with a zone that has no known name.
    UnknownZone,
    None,
}

fn read_date(field: &[u8]) -> Moment {
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
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests;
