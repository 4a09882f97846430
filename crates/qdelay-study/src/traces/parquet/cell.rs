//! Values of a Parquet file as fields of a table: numbers, texts, dates and times of day.

use super::values::Value;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::schema::types::ColumnDescriptor;
use std::fmt::{Display, LowerExp, Write};

const NANOS: i128 = 1_000_000_000;
const NANOS_OF_DAY: i128 = 86_400 * NANOS;
/// Julian day of 1970-01-01, in INT96 timestamps of Impala and older versions of Spark.
const JULIAN_DAY_OF_1970: i128 = 2_440_588;

/// Meaning of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Signed,
    Unsigned,
    /// A decimal number with this many decimals.
    Decimal(u32),
    /// Days since 1970.
    Date,
    /// A time since 1970, in units of this many ns.
    Moment(i128),
    /// A time since midnight, in units of this many ns.
    OfDay(i128),
    /// A floating-point number of 16 bits.
    Half,
}

impl Form {
    pub fn of_column(column: &ColumnDescriptor) -> Form {
        let decimals = u32::try_from(column.type_scale()).unwrap_or(0).min(38);
        let nanos = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1000,
            TimeUnit::NANOS => 1,
        };
        match column.logical_type_ref() {
            Some(LogicalType::Decimal(_)) => return Form::Decimal(decimals),
            Some(LogicalType::Date) => return Form::Date,
            Some(LogicalType::Time(time)) => return Form::OfDay(nanos(&time.unit)),
            Some(LogicalType::Timestamp(time)) => return Form::Moment(nanos(&time.unit)),
            Some(LogicalType::Integer(integer)) if !integer.is_signed => return Form::Unsigned,
            Some(LogicalType::Float16) => return Form::Half,
            _ => {}
        }
        match column.converted_type() {
            ConvertedType::DECIMAL => Form::Decimal(decimals),
            ConvertedType::DATE => Form::Date,
            ConvertedType::TIME_MILLIS => Form::OfDay(1_000_000),
            ConvertedType::TIME_MICROS => Form::OfDay(1000),
            ConvertedType::TIMESTAMP_MILLIS => Form::Moment(1_000_000),
            ConvertedType::TIMESTAMP_MICROS => Form::Moment(1000),
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => Form::Unsigned,
            _ => Form::Signed,
        }
    }

    /// Writes a value as a field; a null as an empty one.
    pub fn write(self, text: &mut String, value: Option<&Value>) {
        match value {
            None => text.push_str("\"\""),
            Some(Value::Bool(value)) => push(text, value),
            Some(Value::Int32(value)) => self.whole(text, i64::from(*value), u64::from(*value as u32)),
            Some(Value::Int64(value)) => self.whole(text, *value, *value as u64),
            Some(Value::Int96([low, high, day])) => {
                julian(text, *day, u64::from(*high) << 32 | u64::from(*low))
            }
            Some(Value::Float(value)) => number(text, value),
            Some(Value::Double(value)) => number(text, value),
            Some(Value::Bytes(bytes)) => self.bytes(text, bytes),
        }
    }

    /// Writes a whole number, which is `unsigned` if the column has no sign.
    fn whole(self, text: &mut String, signed: i64, unsigned: u64) {
        match self {
            Form::Unsigned => push(text, unsigned),
            Form::Decimal(decimals) => decimal(text, signed.into(), decimals),
            Form::Date => moment(text, i128::from(signed) * NANOS_OF_DAY),
            Form::Moment(nanos) => moment(text, i128::from(signed) * nanos),
            Form::OfDay(nanos) => of_day(text, i128::from(signed) * nanos),
            Form::Signed | Form::Half => push(text, signed),
        }
    }

    /// Writes bytes: a decimal, a small number, or a text.
    fn bytes(self, text: &mut String, bytes: &[u8]) {
        match (self, bytes) {
            (Form::Decimal(decimals), [first, ..]) if bytes.len() <= 16 => {
                let sign = if *first < 0x80 { 0 } else { -1 };
                let unscaled = bytes.iter().fold(sign, |number: i128, byte| number << 8 | i128::from(*byte));
                decimal(text, unscaled, decimals);
            }
            (Form::Half, [low, high]) => number(text, &half(u16::from_le_bytes([*low, *high]))),
            _ => quote(text, &String::from_utf8_lossy(bytes)),
        }
    }
}

fn push(text: &mut String, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{value}");
}

/// Writes a number; a large or small one with an exponent, because fields are short.
fn number<T: Display + LowerExp + Copy + Into<f64>>(text: &mut String, value: &T) {
    let size = (*value).into().abs();
    let _ = match size.is_finite() && size != 0.0 && !(1e-9..1e15).contains(&size) {
        true => write!(text, "{value:e}"),
        false => write!(text, "{value}"),
    };
}

/// Writes a text in quotes (RFC 4180).
pub(super) fn quote(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        text.push(c);
        if c == '"' {
            text.push('"');
        }
    }
    text.push('"');
}

fn decimal(text: &mut String, unscaled: i128, decimals: u32) {
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = decimals as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    let _ = write!(text, "{sign}{whole}{point}{fraction}");
}

/// Writes a time of day, or the number if it lies in no day.
fn of_day(text: &mut String, nanos: i128) {
    if !(0..NANOS_OF_DAY).contains(&nanos) {
        return push(text, nanos);
    }
    let seconds = nanos / NANOS;
    let _ = write!(
        text,
        "{:02}:{:02}:{:02}.{:09}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        nanos % NANOS
    );
}

/// Writes the date and time of ns since 1970, in UTC.
fn moment(text: &mut String, nanos: i128) {
    let (mut days, of_the_day) = (nanos.div_euclid(NANOS_OF_DAY), nanos.rem_euclid(NANOS_OF_DAY));
    // Years of 400 have the same number of days; each begins in March, so that a leap day is its last.
    const DAYS_OF_400_YEARS: i128 = 146_097;
    days += 719_468;
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + i128::from(month <= 2);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}T");
    of_day(text, of_the_day);
    text.push('Z');
}

/// Writes the date and time of a Julian day and ns in it.
fn julian(text: &mut String, day: u32, nanos: u64) {
    moment(text, (i128::from(day) - JULIAN_DAY_OF_1970) * NANOS_OF_DAY + i128::from(nanos));
}

/// A floating-point number of 16 bits (IEEE 754): a sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}
