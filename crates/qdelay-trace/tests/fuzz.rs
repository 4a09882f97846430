//! Every parser under arbitrary and mutated input: no panic, errors with a line and an explanation, the same
//! result at any ends of chunks, and accepted input returns through its writer unchanged.
//!
//! Each target runs for 2 s, times `QDELAY_EFFORT`. A failure prints a seed, which `ARBTEST_SEED=0x... cargo
//! test -p qdelay-trace --test main fuzz::NAME` replays.

use arbtest::arbitrary::{Result, Unstructured};
use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span, Time};
use qdelay_trace::csv::{Columns, Missing, RateUnit, Times};
use qdelay_trace::format::FORMATS;
use qdelay_trace::format::guess::guess;
use qdelay_trace::format::time::TimeUnit;
use qdelay_trace::rates::Interval;
use qdelay_trace::schedule::OPPORTUNITIES_MAX;
use qdelay_trace::{
    Gap, Problem, RateStep, RateSteps, ScheduleBuilder, convert, cqi, format, info, mahimahi, synth,
};

fn fuzz(target: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    qdelay_testing::fuzz::fuzz(2.0, target);
}

/// Pieces that have a meaning in some format, or nearly.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\r",
    b" ",
    b"\t",
    b",",
    b"#",
    b"-1",
    b"+1",
    b"0",
    b"00000000000000000000",
    b"1e3",
    b"1.5",
    b".",
    b"4294967295",
    b"4294967296",
    b"18446744073709551616",
    b"nan",
    b"inf",
    b"-0",
    b"-",
    b"\"",
    b"\"\"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"# duration_s 5\n",
    b"# duration_s 1e99\n",
    b"2019.12.16_14.23.32",
    b"9999.99.99_99.99.99",
    b"t,v\n",
    b"t;v\n",
    b";",
    b"#eof\n",
    b"2024-05-01T10:00:00.5+02:00",
    b"Wed May  1 10:00:00 UTC 2024",
    b" EST",
    b"23:59:59",
    b"12:00:00 AM",
    b"1714557600000000001",
    b"1,5",
    b"Timestamp,CQI\n",
    b",16",
    &[b'7'; 70],
];

fn mutate(u: &mut Unstructured<'_>, text: Vec<u8>) -> Result<Vec<u8>> {
    qdelay_testing::fuzz::mutate(u, text, PIECES)
}

/// Random ends of chunks, empty chunks included.
fn cuts(u: &mut Unstructured<'_>, text: &[u8]) -> Result<Vec<usize>> {
    let mut cuts = vec![];
    for _ in 0..u.int_in_range(0..=6)? {
        cuts.push(u.int_in_range(0..=text.len())?);
    }
    cuts.sort_unstable();
    Ok(cuts)
}

/// Times of a valid schedule, mostly close to each other.
fn times(u: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    let mut at = 0_u32;
    let mut times = vec![];
    for _ in 0..u.int_in_range(1..=40)? {
        let gap = if u.ratio(1, 10)? { u.int_in_range(0..=200_000)? } else { u.int_in_range(0..=5)? };
        at = at.saturating_add(gap);
        times.push(at);
    }
    Ok(times)
}

fn mahimahi_text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let end = if u.ratio(1, 4)? { "\r\n" } else { "\n" };
    let text: String = times(u)?.iter().map(|ms| format!("{ms}{end}")).collect();
    mutate(u, text.into_bytes())
}

fn check_mahimahi(u: &mut Unstructured<'_>, text: &[u8]) -> Result<()> {
    let limit = if u.ratio(1, 8)? { u.int_in_range(0..=10)? } else { OPPORTUNITIES_MAX };
    crate::judge::mahimahi(text, limit, &cuts(u, text)?);
    Ok(())
}

#[test]
fn mahimahi_takes_any_bytes() {
    fuzz(|u| {
        let text: Vec<u8> = u.arbitrary()?;
        check_mahimahi(u, &text)
    });
}

#[test]
fn mahimahi_takes_mutated_files() {
    fuzz(|u| {
        let text = mahimahi_text(u)?;
        check_mahimahi(u, &text)
    });
}

fn mbps_text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let separator = *u.choose(&[" ", "\t", ",", ", ", "  "])?;
    let mut text = String::new();
    let mut times = times(u)?;
    times.dedup();
    for ms in times {
        let rate: u32 = u.int_in_range(0..=900_000)?;
        text.push_str(&format!("{}.{:03}{separator}{}\n", ms / 1000, ms % 1000, f64::from(rate) / 1e3));
    }
    mutate(u, text.into_bytes())
}

fn check_mbps(u: &mut Unstructured<'_>, text: &[u8]) -> Result<()> {
    crate::judge::mbps(text, &cuts(u, text)?);
    Ok(())
}

#[test]
fn mbps_takes_any_bytes() {
    fuzz(|u| {
        let text: Vec<u8> = u.arbitrary()?;
        check_mbps(u, &text)
    });
}

#[test]
fn mbps_takes_mutated_files() {
    fuzz(|u| {
        let text = mbps_text(u)?;
        check_mbps(u, &text)
    });
}

fn csv_text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let end = *u.choose(&["\n", "\r\n", "\r"])?;
    let other = *u.choose(&["x", "\"a,\nb\"", "\"a\"\"b\"", ""])?;
    let mut text = format!("{}t,{other},v{end}", *u.choose(&["", "\u{feff}"])?);
    for ms in times(u)? {
        let rate: u32 = u.int_in_range(0..=900_000)?;
        text.push_str(&format!("{},{other},{rate}{end}", ms / 10));
    }
    mutate(u, text.into_bytes())
}

fn check_csv(u: &mut Unstructured<'_>, text: &[u8]) -> Result<()> {
    crate::judge::csv(text, u.arbitrary()?, &cuts(u, text)?);
    Ok(())
}

#[test]
fn csv_takes_any_bytes() {
    fuzz(|u| {
        let mut text = if u.arbitrary()? { b"t,v\n".to_vec() } else { vec![] };
        text.extend(u.arbitrary::<Vec<u8>>()?);
        check_csv(u, &text)
    });
}

#[test]
fn csv_takes_mutated_files() {
    fuzz(|u| {
        let text = csv_text(u)?;
        check_csv(u, &text)
    });
}

/// A time in one of the forms that tables have.
fn moment(u: &mut Unstructured<'_>, ms: u32) -> Result<String> {
    let (hour, minute, second) = (ms / 3_600_000 % 24, ms / 60_000 % 60, ms / 1000 % 60);
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    Ok(match u.int_in_range(0..=5)? {
        0 => format!("{ms}"),
        1 => format!("{}.{:03}", ms / 1000, ms % 1000),
        2 => format!("2024-05-01 {clock}.{:03}", ms % 1000),
        3 => format!("Wed May  1 {clock} UTC 2024"),
        4 => format!("{clock},{:03}", ms % 1000),
        _ => clock,
    })
}

/// A table with a separator, times in some form, and rows without a rate.
fn table_text(u: &mut Unstructured<'_>, separator: char) -> Result<Vec<u8>> {
    let mut text = format!("{}t{separator}w{separator}v\n", *u.choose(&["", "# by x\n", "#", "\u{feff}"])?);
    for ms in times(u)? {
        let rate = *u.choose(&["1", "2,5", "2.5", "", "NaN", "-3", "1e3", "#"])?;
        let time = moment(u, ms)?;
        text.push_str(&format!("{time}{separator}{}{separator}{rate}\n", ms % 2));
        if u.ratio(1, 20)? {
            text.push_str("#eof\n");
        }
    }
    mutate(u, text.into_bytes())
}

#[test]
fn csv_takes_mutated_files_with_any_parameters() {
    fuzz(|u| {
        let separator = *u.choose(&[',', ';', '\t'])?;
        let text = if u.ratio(1, 10)? { u.arbitrary()? } else { table_text(u, separator)? };
        let times = match u.arbitrary()? {
            true => Times::Column("t".to_string()),
            false => Times::Every(Span::from_millis(100)),
        };
        let filters = if u.arbitrary()? { vec![("w".to_string(), "1".to_string())] } else { vec![] };
        let columns = Columns {
            unit: *u.choose(&[RateUnit::Bit, RateUnit::Kbit, RateUnit::BytesPerRow])?,
            time_unit: *u.choose(&[TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Nanos])?,
            interval: *u.choose(&[Interval::After, Interval::Before])?,
            separator: *u.choose(&[None, Some(separator as u8)])?,
            filters,
            missing: *u.choose(&[Missing::Refuse, Missing::Hold, Missing::Zero, Missing::Skip])?,
            bin: if u.ratio(1, 4)? { Some(Span::from_millis(u.int_in_range(1..=500)?)) } else { None },
            is_sorted: u.arbitrary()?,
            ..Columns::new("v", times)
        };
        crate::judge::csv_of(&columns, &text, &cuts(u, &text)?);
        Ok(())
    });
}

#[test]
fn mbps_takes_mutated_files_with_any_parameters() {
    let names = [
        "mbps:column=3",
        "mbps:time=ms:unit=kbit",
        "mbps:time=ns:unit=mb:column=2:sample=before",
        "mbps:every=1s",
        "mbps:every=20ms:column=2:unit=bit",
    ];
    fuzz(|u| {
        let text = if u.ratio(1, 10)? { u.arbitrary()? } else { mbps_text(u)? };
        crate::judge::format(u.choose(&names)?, &text, &cuts(u, &text)?);
        Ok(())
    });
}

/// A guess at any bytes is a format that can be parsed, or says what is missing.
#[test]
fn any_bytes_are_guessed() {
    fuzz(|u| {
        let separator = *u.choose(&[',', ';', '\t'])?;
        let text = match u.int_in_range(0..=3)? {
            0 => u.arbitrary()?,
            1 => mbps_text(u)?,
            2 => mahimahi_text(u)?,
            _ => [format!("t{separator}w{separator}rate\n").into_bytes(), table_text(u, separator)?].concat(),
        };
        match guess(&text, u.arbitrary()?) {
            Ok(guess) => {
                assert!(!guess.assumed.is_empty());
                // A name with a bracket of its own cannot be written as a key.
                if format::parse(&guess.format).is_ok() {
                    crate::judge::format(&guess.format, &text, &cuts(u, &text)?);
                }
            }
            Err(message) => assert!(message.contains("expected"), "{message}"),
        }
        Ok(())
    });
}

/// Any field as a time: a table of it is read or refused, without a panic.
#[test]
fn times_take_any_bytes() {
    fuzz(|u| {
        let mut text = b"t,v\n".to_vec();
        for _ in 0..3 {
            let ms = u.int_in_range(0..=90_000_000)?;
            let field = moment(u, ms)?.into_bytes();
            text.extend(mutate(u, field)?);
            text.extend_from_slice(b",1\n");
        }
        let columns = Columns::new("v", Times::Column("t".to_string()));
        crate::judge::csv_of(&columns, &text, &cuts(u, &text)?);
        Ok(())
    });
}

#[test]
fn every_format_takes_mutated_files_by_its_name() {
    fuzz(|u| {
        for format in FORMATS {
            let text = mutate(u, format.example.into())?;
            crate::judge::format(&format.usage.replace("NAME", "rate"), &text, &cuts(u, &text)?);
        }
        Ok(())
    });
}

/// A table of a CQI; some seconds are missing, some come twice.
fn cqi_text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let end = *u.choose(&["\n", "\r\n"])?;
    let header = u.arbitrary()?;
    let mut text = String::new();
    if header {
        text.push_str(u.choose(&["", "\u{feff}"])?);
        text.push_str(&format!("Timestamp,Operator,CQI,State{end}"));
    }
    for ms in times(u)? {
        let second = ms / 3 % 3600;
        let cqi = *u.choose(&["-", "0", "1", "7", "7", "15", ""])?;
        let date = format!("2018.01.27_13.{:02}.{:02}", second / 60, second % 60);
        let row =
            if header { format!("{date},\"B, C\",{cqi},D") } else { format!("{date},,,,,,,,,,{cqi},D") };
        text.push_str(&format!("{row}{end}"));
    }
    mutate(u, text.into_bytes())
}

fn check_cqi(u: &mut Unstructured<'_>, text: &[u8]) -> Result<()> {
    let seconds = |u: &mut Unstructured<'_>| Ok(Span::from_secs(u.int_in_range(0..=20)?));
    let gap = if u.arbitrary()? { Gap::Hold } else { Gap::OutageAfter(seconds(u)?) };
    let limit = if u.ratio(1, 8)? { u.int_in_range(0..=5)? } else { 10_000 };
    let window = (u.int_in_range(0..=30_000)?, u.int_in_range(0..=30_000)?);
    crate::judge::cqi(text, gap, limit, window, &cuts(u, text)?);
    Ok(())
}

#[test]
fn cqi_takes_any_bytes() {
    fuzz(|u| {
        let mut text = if u.arbitrary()? { b"Timestamp,CQI\n".to_vec() } else { vec![] };
        text.extend(u.arbitrary::<Vec<u8>>()?);
        check_cqi(u, &text)
    });
}

/// A table with times in any form and another separator.
#[test]
fn cqi_takes_mutated_tables_of_any_columns() {
    fuzz(|u| {
        let separator = *u.choose(&[',', ';', '\t'])?;
        let text = table_text(u, separator)?;
        let names = cqi::Columns { time: "t".into(), time_unit: TimeUnit::Millis, cqi: "v".into() };
        let read = |chunks: &[&[u8]]| {
            let mut parser = cqi::Parser::with_columns(Gap::Hold, names.clone());
            let _ = chunks.iter().try_for_each(|chunk| parser.feed(chunk));
            parser.finish()
        };
        let (start, end) = text.split_at(u.int_in_range(0..=text.len())?);
        assert_eq!(read(&[&text]), read(&[start, end]));
        Ok(())
    });
}

#[test]
fn cqi_takes_mutated_files() {
    fuzz(|u| {
        let text = cqi_text(u)?;
        check_cqi(u, &text)
    });
}

fn check_capacity(u: &mut Unstructured<'_>, text: &[u8]) -> Result<()> {
    crate::judge::capacity(text, &cuts(u, text)?);
    Ok(())
}

#[test]
fn capacity_takes_any_bytes() {
    fuzz(|u| {
        let mut text = if u.arbitrary()? { b"3\n".to_vec() } else { vec![] };
        text.extend(u.arbitrary::<Vec<u8>>()?);
        check_capacity(u, &text)
    });
}

#[test]
fn capacity_takes_mutated_files() {
    fuzz(|u| {
        let values = times(u)?;
        let mut text = format!("{}\n", values.len());
        text.extend(values.iter().map(|value| format!("{}\n", value % 16)));
        let text = mutate(u, text.into_bytes())?;
        check_capacity(u, &text)
    });
}

#[test]
fn any_schedule_returns_through_text_and_rates() {
    fuzz(|u| {
        let mut builder = ScheduleBuilder::default();
        for ms in times(u)? {
            builder.push(ms, u.int_in_range(0..=200)?).unwrap();
        }
        let Ok(schedule) = builder.finish() else { return Ok(()) };
        let mut written = String::new();
        mahimahi::write(&schedule, &mut written).unwrap();
        assert_eq!(mahimahi::parse(written.as_bytes()).as_ref(), Ok(&schedule));
        let rates = convert::to_rates(&schedule, Span::from_millis(u.int_in_range(1..=2000)?)).unwrap();
        let back = convert::to_schedule(&rates).unwrap();
        assert_eq!((back.bytes(), back.period()), (schedule.bytes(), schedule.period()));
        let info = info::of_schedule(&schedule);
        assert!(info.longest_gap <= info.duration && info.outage <= info.duration);
        Ok(())
    });
}

#[test]
fn any_rate_returns_through_text_and_converts_within_half_an_opportunity() {
    fuzz(|u| {
        let (mut start, mut steps) = (0_u64, vec![]);
        for _ in 0..u.int_in_range(1..=20)? {
            let rate = Rate::from_bps(u.int_in_range(0..=3_000_000_000)?);
            steps.push(RateStep { start: Time::from_nanos(start), rate });
            start += u.int_in_range(1..=3_000_000_000)?;
        }
        let rates = RateSteps::new(steps, Span::from_nanos(start)).unwrap();
        crate::judge::rates(&rates);
        let bytes = rates.mean_mbps() * 1e6 / 8.0 * rates.period().as_secs_f64();
        match convert::to_schedule_limited(&rates, 10_000_000) {
            Ok(schedule) => {
                let error = (schedule.bytes() as f64 - bytes).abs();
                assert!(error <= 753.0 || schedule.opportunities() == 1, "{error}");
                assert_eq!(u64::from(schedule.period_ms()), start.div_ceil(1_000_000));
            }
            Err(error) => assert!(matches!(error.problem, Problem::NoCapacity | Problem::TooMany { .. })),
        }
        Ok(())
    });
}

#[test]
fn any_accepted_arguments_make_a_trace_or_an_error() {
    let keys: Vec<&str> = synth::COMPONENT.parameters.iter().map(|parameter| parameter.name).collect();
    let values =
        ["0", "1", "0.001", "3", "10", "1ms", "10ms", "100us", "1s", "1000s", "1kbit", "100mbit", "subway"];
    fuzz(|u| {
        let mut text = "synth:duration=2s".to_string();
        for _ in 0..u.int_in_range(1..=6)? {
            text.push_str(&format!(":{}={}", u.choose(&keys)?, u.choose(&values)?));
        }
        let Ok(arguments) = Arguments::parse(&[&synth::COMPONENT], &text) else { return Ok(()) };
        let trace = synth::Synth::from_arguments(&arguments);
        if let Ok(schedule) = trace.schedule() {
            assert_eq!(schedule.period(), Span::from_secs(2), "{text}");
        }
        Ok(())
    });
}
