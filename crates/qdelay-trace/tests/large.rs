//! Inputs of gigabytes. They take some seconds each: `cargo test -p qdelay-trace --test main large:: -- --ignored`.

use qdelay_trace::schedule::OPPORTUNITIES_MAX;
use qdelay_trace::{Problem, mahimahi};

const TWO_GIGABYTES: u64 = 2_000_000_000;

/// Feeds lines `0`, `step`, `2 * step`... each `repeat` times, up to 2 GB or the first error; returns the
/// number of bytes.
fn feed(parser: &mut mahimahi::Parser, step: u32, repeat: usize) -> Result<u64, qdelay_trace::TraceError> {
    let (mut ms, mut fed, mut chunk) = (0, 0, String::new());
    while fed < TWO_GIGABYTES {
        chunk.clear();
        while chunk.len() < 60_000 {
            chunk.extend(std::iter::repeat_n(format!("{ms}\n"), repeat));
            ms += step;
        }
        parser.feed(chunk.as_bytes())?;
        fed += chunk.len() as u64;
    }
    Ok(fed)
}

#[test]
#[ignore = "some seconds"]
fn two_gigabytes_are_refused_naming_the_limit() {
    let error = feed(&mut mahimahi::Parser::new(), 1, 1).unwrap_err();
    assert_eq!(error.line, OPPORTUNITIES_MAX + 1);
    assert_eq!(error.problem, Problem::TooMany { what: "opportunities", limit: OPPORTUNITIES_MAX });
    assert!(error.to_string().contains("more than 100000000 opportunities"));
}

#[test]
#[ignore = "some seconds"]
fn two_gigabytes_are_read_where_the_limit_allows() {
    let mut parser = mahimahi::Parser::with_limit(1_000_000_000);
    feed(&mut parser, 1, 100).unwrap();
    let schedule = parser.finish().unwrap();
    assert!(schedule.opportunities() > 200_000_000);
    assert!(schedule.memory_bytes() < 16_000_000, "{}", schedule.memory_bytes());
    assert_eq!(schedule.cursor(false).map(|item| item.count).sum::<u64>(), schedule.opportunities());
}
