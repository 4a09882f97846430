//! Tests of the forms of times.

use super::date::days;
use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

/// 2024-05-01 10:00:00 UTC, as `date -u -d @1714557600` prints it.
const MAY: u64 = 1_714_557_600;

fn nanos(text: &str) -> Option<u64> {
    Clock::default().read(1, text.as_bytes()).ok().map(Time::as_nanos)
}

#[test]
fn every_usual_form_of_a_date_is_read() {
    let at = |texts: &[&str], expected: u64| {
        for text in texts {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
    };
    let may = MAY * NANOS;
    at(&["2024-05-01 10:00:00", "2024.05.01_10.00.00", "2024/05/01 10:00:00", "2024-05-01T10:00:00Z"], may);
    at(
        &["2024-05-01 10:00", "2024/5/1 10:00", "20240501T100000", "20240501_100000Z", "20240501 100000"],
        may,
    );
    at(&["2024-05-01 12:00:00+02:00", "2024-05-01 12:00:00 +0200", "2024-05-01T12:00:00+02"], may);
    at(&["2024-05-01 06:00:00 EDT", "2024-05-01 05:00:00 EST", "2024-05-01 12:00:00 CEST"], may);
    at(&["2024-05-01 10:00:00 AM", "2024-05-01 03:30:00 PM IST", "2024-05-01T00:30:00-09:30"], may);
    at(&["Wed May  1 10:00:00 UTC 2024", "Wed May  1 10:00:00 AM UTC 2024", "Wed May 1 10:00:00 2024"], may);
    at(&["Wed 01 May 2024 10:00:00 AM UTC", "Wed, 01 May 2024 12:00:00 +0200", "01-May-2024 10:00:00"], may);
    at(&["Wednesday, May 1, 2024 10:00:00", "wed may 1 06:00:00 -0400 2024"], may);
    let half = may + NANOS / 2;
    at(&["2024-05-01 10:00:00.5", "2024-05-01 10:00:00,500", "2024-05-01T10:00:00.500000000123Z"], half);
    at(&["2024.05.01_10.00.00.5", "20240501T100000.5", "01 May 2024 10:00:00.5 GMT", "1714557600.5"], half);
    // A leap day, and the day after it.
    at(&["2024-02-29 00:00:00"], 1_709_164_800 * NANOS);
    at(&["2024-03-01 00:00:00"], 1_709_251_200 * NANOS);
    assert_eq!([days(1970, 1, 1), days(2000, 2, 29), days(2000, 3, 1)], [0, 11_016, 11_017]);
}

#[test]
fn days_that_the_calendar_lacks_are_refused() {
    for text in ["2019-02-30 10:00:00", "2023-02-29 10:00:00", "2100-02-29 10:00:00", "2019.13.16_14.23.32"] {
        assert_eq!(nanos(text), None, "{text}");
    }
    for text in
        ["2024-05-01", "2024-05-01 24:00:00", "10:60:00", "13:00:00 PM", "yesterday", "", "10:00:00 x1"]
    {
        assert_eq!(nanos(text), None, "{text}");
    }
}

#[test]
fn errors_list_the_forms() {
    let message = |text: &str| Clock::default().read(7, text.as_bytes()).unwrap_err().to_string();
    assert!(
        message("05/01/2024 10:00:00").starts_with("line 7: expected a number of seconds or a date such as")
    );
    assert!(message("2024-05-01 10:00:00 XYZT").contains("expected a zone as Z, +02:00"));
    assert!(message("1714557600000").contains("time_unit=ms"));
    assert!(message("-1").contains("a number of seconds or a date"));
}

#[test]
fn numbers_have_a_unit() {
    let read =
        |unit: TimeUnit, text: &str| Clock::with_unit(unit).read(1, text.as_bytes()).map(Time::as_nanos);
    assert_eq!(read(TimeUnit::Millis, "1714557600250"), Ok(MAY * NANOS + 250_000_000));
    assert_eq!(read(TimeUnit::Millis, "0.0005"), Ok(500));
    assert_eq!(read(TimeUnit::Millis, "1.5e3"), Ok(1_500_000_000));
    assert_eq!(read(TimeUnit::Micros, "1714557600000001"), Ok(MAY * NANOS + 1000));
    assert_eq!(read(TimeUnit::Nanos, "1714557600000000001"), Ok(MAY * NANOS + 1));
    assert!(
        read(TimeUnit::Seconds, "1e11").is_err() && read(TimeUnit::Nanos, "99999999999999999999").is_err()
    );
    assert!(read(TimeUnit::Millis, "-5").is_err() && read(TimeUnit::Millis, "nan").is_err());
    let mut clock = Clock { decimal_comma: true, ..Clock::default() };
    assert_eq!(clock.read(1, b"1,5").map(Time::as_nanos), Ok(1_500_000_000));
}

#[test]
fn times_of_day_go_on_after_midnight() {
    let mut clock = Clock::default();
    let seconds: Vec<u64> = ["23:59:59.5", "00:00:00.5", "00:00:00", "12:00:00", "23:00:00", "1:00:00"]
        .iter()
        .map(|text| clock.read(1, text.as_bytes()).unwrap().as_nanos() / 500_000_000)
        .collect();
    let day = 2 * 86_400;
    assert_eq!(seconds, [day - 1, day + 1, day, day + day / 2, 2 * day - 7200, 2 * day + 7200]);
    let mut clock = Clock::default();
    let mut second = |text: &str| clock.read(1, text.as_bytes()).unwrap().as_nanos() / NANOS;
    assert_eq!(
        ["11:59:59 AM", "12:00:00 PM", "11:00:00 PM", "12:00:01 AM"].map(&mut second),
        [43_199, 43_200, 82_800, 86_401]
    );
}
