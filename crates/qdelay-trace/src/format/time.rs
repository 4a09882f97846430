//! Times in tables and logs: numbers in a unit, dates with a zone, and times of day.
//!
//! | form | examples |
//! | --- | --- |
//! | number | `12.5`, seconds unless `time_unit` names another unit; any origin, so seconds since 1970 too |
//! | date, year first | `2019.12.16_14.23.32`, `2024-05-01 10:00:00.250`, `2024-05-01T10:00:00Z`, `20240501T100000` |
//! | date with the name of the month | `Wed May  1 10:00:00 UTC 2024` (`date`), `Wed, 01 May 2024 10:00:00 +0200` (RFC 5322) |
//! | time of day | `10:00:00.5`, `10:00:00 PM`; a row more than 12 h before the last one belongs to the next day |
//!
//! A date may end in AM or PM and in a zone: `Z`, a number such as `+02:00`, or a usual name. A date without zone is
//! taken as UTC: only differences matter.

mod date;

use super::number::{self, read_seconds};
use crate::error::{Problem, TraceError};
use crate::rates::DURATION_MAX_TEXT;
use core::str;
pub(crate) use date::is_date;
use date::{Moment, read_date};
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
pub const TIME_UNIT: Typed<str> =
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
    /// Decimals of a nanosecond in this unit.
    pub(crate) const fn decimals(self) -> usize {
        match self {
            TimeUnit::Seconds => 9,
            TimeUnit::Millis => 6,
            TimeUnit::Micros => 3,
            TimeUnit::Nanos => 0,
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
        // A number is tried first and parsed once; few dates have only such bytes.
        let is_numeric = |byte: &u8| byte.is_ascii_digit() || b".+-eE".contains(byte);
        let refused = match !number.is_empty() && number.iter().all(is_numeric) {
            true => match read_number(line, number, self.unit) {
                Ok(time) => return Ok(time),
                Err(error) => Some(error),
            },
            false => None,
        };
        match read_date(field) {
            Moment::Since1970(nanos) => Ok(Time::from_nanos(nanos)),
            Moment::OfDay(span) => self.of_day(line, field, span),
            Moment::UnknownZone => Err(TraceError::unexpected(line, ZONE_FORMS, field)),
            Moment::None => Err(refused.unwrap_or_else(|| TraceError::unexpected(line, FORMS, field))),
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

#[cfg(test)]
mod tests;
