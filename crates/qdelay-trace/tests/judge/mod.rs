//! Properties of every parser, for any input: errors with a line and an explanation, the same result at any
//! ends of chunks, and accepted input returns through its writer unchanged. `cuts` are the ends of chunks, in
//! order.

use qdelay_core::{Span, Time};
use qdelay_trace::csv::{self, Columns, RateUnit, Times};
use qdelay_trace::{
    CapacitySteps, CqiSteps, Gap, Problem, RateSteps, Schedule, TraceError, capacity, cqi, format, info,
    mahimahi, mbps,
};

/// The pieces of `text` between `cuts`.
fn chunks<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let ends: Vec<usize> = cuts.iter().copied().chain([text.len()]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| &text[start..*end]).collect()
}

/// Checks that an error names an existing line, and explains itself in one line of bounded length.
fn error(error: &TraceError, text: &[u8]) {
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    assert!((1..=lines).contains(&error.line), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("expected") || matches!(error.problem, Problem::TooMany { .. }), "{message}");
    assert!(message.len() < 20_000 && !message.contains('\n'), "{message}");
}

/// The format by its description, read naively and in one go.
fn mahimahi_reference(text: &[u8]) -> Option<Vec<u64>> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut times = vec![];
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        // A byte order mark is dropped.
        let unmarked = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 0).unwrap_or(line);
        let digits = std::str::from_utf8(unmarked.strip_suffix(b"\r").unwrap_or(unmarked)).ok()?;
        if line.len() > 64 || digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        times.push(if significant.is_empty() { 0 } else { u64::from(significant.parse::<u32>().ok()?) });
    }
    let in_order = times.windows(2).all(|pair| pair[0] <= pair[1]);
    (in_order && *times.last()? > 0).then_some(times)
}

fn expand(schedule: &Schedule) -> Vec<u64> {
    schedule.cursor(false).flat_map(|item| std::iter::repeat_n(item.ms, item.count as usize)).collect()
}

/// Checks mahimahi's format, with at most `limit` opportunities.
pub fn mahimahi(text: &[u8], limit: u64, cuts: &[usize]) {
    let mut parser = mahimahi::Parser::with_limit(limit);
    let whole = parser.feed(text).and_then(|()| parser.finish());
    let mut parser = mahimahi::Parser::with_limit(limit);
    let fed = chunks(text, cuts).into_iter().try_for_each(|chunk| parser.feed(chunk));
    let finished = parser.finish();
    assert_eq!(whole, finished);
    if let Err(error) = fed {
        assert_eq!(whole, Err(error));
    }
    let reference = mahimahi_reference(text).filter(|times| times.len() as u64 <= limit);
    assert_eq!(reference, whole.as_ref().ok().map(expand), "{}", text.escape_ascii());
    match whole {
        Err(problem) => error(&problem, text),
        Ok(schedule) => {
            let mut written = String::new();
            mahimahi::write(&schedule, &mut written).unwrap();
            assert_eq!(mahimahi::parse(written.as_bytes()), Ok(schedule));
        }
    }
}

/// Checks that a rate in steps returns through the format of seconds and Mbit/s.
pub fn rates(rates: &RateSteps) {
    let mut written = String::new();
    mbps::write(rates, &mut written).unwrap();
    assert_eq!(mbps::parse(written.as_bytes()).as_ref(), Ok(rates), "{written}");
    let _ = info::of_rates(rates);
}

/// Checks lines of seconds and Mbit/s.
pub fn mbps(text: &[u8], cuts: &[usize]) {
    let whole = mbps::parse(text);
    let mut parser = mbps::Parser::new();
    let _ = chunks(text, cuts).into_iter().try_for_each(|chunk| parser.feed(chunk));
    assert_eq!(whole, parser.finish());
    match &whole {
        Err(problem) => error(problem, text),
        Ok(steps) => rates(steps),
    }
}

/// Checks a table with the rate in column `v`, and the time in `t` if it has times.
pub fn csv(text: &[u8], has_times: bool, cuts: &[usize]) {
    let times = if has_times { Times::Column("t".to_string()) } else { Times::Every(Span::from_secs(1)) };
    csv_of(&Columns { unit: RateUnit::Kbit, ..Columns::new("v", times) }, text, cuts);
}

/// Checks a table with these columns.
pub fn csv_of(columns: &Columns, text: &[u8], cuts: &[usize]) {
    let read = |chunks: &[&[u8]]| {
        let mut parser = csv::Parser::new(columns.clone());
        let _ = chunks.iter().try_for_each(|chunk| parser.feed(chunk));
        parser.finish()
    };
    let whole = read(&[text]);
    assert_eq!(whole, read(&chunks(text, cuts)), "{}", text.escape_ascii());
    match &whole {
        Err(problem) => error(problem, text),
        Ok(steps) => rates(steps),
    }
}

/// Checks any format, by its name.
pub fn format(name: &str, text: &[u8], cuts: &[usize]) {
    let arguments = format::parse(name).expect("a format");
    let read = |chunks: &[&[u8]]| {
        let mut parser = format::parser(&arguments).expect("a parser");
        let _ = chunks.iter().try_for_each(|chunk| parser.feed(chunk));
        parser.finish()
    };
    let whole = read(&[text]);
    assert_eq!(whole, read(&chunks(text, cuts)), "{}", text.escape_ascii());
    if let Err(problem) = &whole {
        error(problem, text);
    }
}

/// Checks a table of a CQI with at most `limit` rows, and a window of it: start and length, in ms.
pub fn cqi(text: &[u8], gap: Gap, limit: u64, window: (u64, u64), cuts: &[usize]) {
    let read = |chunks: &[&[u8]]| {
        let mut parser = cqi::Parser::with_limit(gap, limit);
        let _ = chunks.iter().try_for_each(|chunk| parser.feed(chunk));
        parser.finish()
    };
    let whole = read(&[text]);
    assert_eq!(whole, read(&chunks(text, cuts)), "{}", text.escape_ascii());
    match &whole {
        Err(problem) => error(problem, text),
        Ok(trace) => {
            let held: u64 = trace.spans().map(|(_, span)| span.as_nanos()).sum();
            assert_eq!(held, trace.period().as_nanos());
            assert!(trace.spans().all(|(cqi, span)| cqi <= cqi::CQI_MAX && !span.is_zero()));
            assert_eq!(CqiSteps::new(trace.steps().to_vec(), trace.period()).as_ref(), Ok(trace));
            if gap == Gap::Hold {
                assert!(trace.steps().iter().all(|step| step.cqi > 0));
            }
            cqi_window(trace, window);
        }
    }
}

/// Checks that the CQI of a window is that of the whole at each time.
fn cqi_window(trace: &CqiSteps, (start, length): (u64, u64)) {
    let Ok(window) = trace.window(Span::from_millis(start), Span::from_millis(length)) else { return };
    let at = |trace: &CqiSteps, ms: u64| {
        let time = Time::from_nanos(ms * 1_000_000);
        trace.steps().iter().rev().find(|step| step.start <= time).unwrap().cqi
    };
    for ms in (0..length).step_by(97) {
        assert_eq!(at(&window, ms), at(trace, start + ms));
    }
}

/// Checks packets in each tick, a value a second.
pub fn capacity(text: &[u8], cuts: &[usize]) {
    let whole = capacity::parse(text);
    let mut parser = capacity::Parser::new();
    let _ = chunks(text, cuts).into_iter().try_for_each(|chunk| parser.feed(chunk));
    assert_eq!(whole, parser.finish());
    match &whole {
        Err(problem) => error(problem, text),
        Ok(trace) => {
            let mut written = format!("{}\n", trace.values().len());
            written.extend(trace.values().iter().map(|value| format!("{value}\n")));
            assert_eq!(capacity::parse(written.as_bytes()).as_ref(), Ok(trace));
            assert_eq!(CapacitySteps::new(trace.values().to_vec()).as_ref(), Ok(trace));
            let packets: u64 = trace.values().iter().map(|&value| u64::from(value) * 100).sum();
            let rates = trace.rates().unwrap();
            let bits = rates.mean_mbps() * 1e6 * rates.period().as_secs_f64();
            assert!((bits / 12_000.0 - packets as f64).abs() < 1e-6 * packets as f64);
        }
    }
}
