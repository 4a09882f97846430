//! Tests of tables.

use super::*;
use crate::RateSteps;
use alloc::string::ToString;
use alloc::vec;
use qdelay_core::Span;

const UCC: &str = "Timestamp,Op,DL_bitrate\n2019.12.16_14.23.32,B,100\n2019.12.16_14.23.32,\"B,\nC\",300\n\
    2019.12.16_14.23.33,B,50\n\n2019.12.16_14.23.35,B,0.5\n";

fn every_second(rate: &str) -> Columns {
    Columns::new(rate, Times::Every(Span::from_secs(1)))
}
fn dated() -> Columns {
    let times = Times::Column("Timestamp".to_string());
    Columns { unit: RateUnit::Kbit, ..Columns::new("DL_bitrate", times) }
}
fn parse(columns: Columns, chunks: &[&[u8]]) -> Result<RateSteps, TraceError> {
    let mut parser = Parser::new(columns);
    chunks.iter().try_for_each(|chunk| parser.feed(chunk))?;
    parser.finish()
}
fn steps(rates: &RateSteps) -> Vec<(u64, u64)> {
    rates.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000_000, s.rate.as_bps())).collect()
}
fn message(columns: Columns, text: &str) -> String {
    parse(columns, &[text.as_bytes()]).unwrap_err().to_string()
}

#[test]
fn rows_may_have_equal_intervals() {
    let rates = parse(every_second("b"), &[b"a,b\r\n1,2.5\r\n1,0\r\n1,\"7\""]).unwrap();
    assert_eq!(steps(&rates), vec![(0, 2_500_000), (1, 0), (2, 7_000_000)]);
    assert_eq!(rates.period(), Span::from_secs(3));
    assert_eq!(parse(every_second("b"), &[b"b\n1"]).unwrap().period(), Span::from_secs(1));
}

#[test]
fn rows_of_one_date_give_their_mean() {
    let rates = parse(dated(), &[UCC.as_bytes()]).unwrap();
    assert_eq!(steps(&rates), vec![(0, 200_000), (1, 50_000), (3, 500)]);
    assert_eq!(rates.period(), Span::from_secs(5));
}

#[test]
fn the_result_does_not_depend_on_the_ends_of_chunks() {
    for text in [UCC.to_string(), alloc::format!("\u{feff}{UCC}"), UCC.replace('\n', "\r\n")] {
        let text = text.as_bytes();
        let whole = parse(dated(), &[text]).unwrap();
        for i in 0..text.len() {
            assert_eq!(parse(dated(), &[&text[..i], &text[i..]]).unwrap(), whole);
        }
    }
}

#[test]
fn every_refusal_names_line_and_expectation() {
    assert_eq!(message(every_second("c"), "a,b\n1,2\n"), "line 1: no column 'c'; expected one of a, b");
    assert!(message(dated(), "Time,DL_bitrate\n").contains("no column 'Timestamp'"));
    assert!(
        message(every_second("b"), "a,b\n\n1,2\n1\n").starts_with("line 4: the row ends before column 'b'")
    );
    assert!(
        message(every_second("b"), "a,b\n\"1\n2\",3\n1,-\n").starts_with("line 4: expected a rate in Mbit/s")
    );
    assert!(message(every_second("b"), "a,b\r\n1,3\r\n1,-2\r\n").starts_with("line 3: expected a rate"));
    assert!(message(every_second("b"), "a,b\n").contains("the trace is empty"));
    assert!(message(every_second("b"), "").contains("the trace is empty"));
    assert!(message(every_second("b"), "a,b\n1,2000000\n").contains("at most 1000000 Mbit/s"));
    let header = "Timestamp,DL_bitrate\n";
    let bad = |rows: &str| message(dated(), &alloc::format!("{header}{rows}"));
    assert!(bad("2,1\n1,1\n").starts_with("line 3: time 1 is before 2"));
    assert!(bad("yesterday,1\n").starts_with("line 2: expected a number of seconds or a date"));
    assert!(bad("2019.13.16_14.23.32,1\n").starts_with("line 2: expected a number of seconds or a date"));
    assert!(bad("5,1\n").contains("a second sample"));
    assert!(message(every_second("b"), &"x".repeat(300)).contains("longer than 256 bytes"));
    let mut parser = Parser::with_limit(every_second("b"), 1);
    assert!(parser.feed(b"b\n1\n2\n3\n").unwrap_err().to_string().contains("more than 1 samples"));
}

#[test]
fn long_fields_of_unused_columns_are_ignored() {
    let text = alloc::format!("a,b\n{},3\n", "x".repeat(10_000));
    assert_eq!(steps(&parse(every_second("b"), &[text.as_bytes()]).unwrap()), vec![(0, 3_000_000)]);
}

#[test]
fn keys_select_columns_and_units() {
    let columns = |text: &str| Columns::from_arguments(&format::parse(text).unwrap()).unwrap();
    let times = Times::Column("T".to_string());
    let named = Columns { unit: RateUnit::Kbit, ..Columns::new("DL", times) };
    assert_eq!(columns("csv:DL:unit=kbit:time=T"), named);
    assert_eq!(columns("csv:b"), every_second("b"));
}

type Read = (Vec<(u64, u64)>, u64, Vec<String>);

/// Steps in ms and bit/s, the period in ms, and the notes, of `text` in the format `format`.
fn read(format: &str, text: &str) -> Result<Read, String> {
    let arguments = format::parse(format).map_err(|error| error.to_string())?;
    let mut parser = Parser::new(Columns::from_arguments(&arguments)?);
    let read = parser.feed(text.as_bytes()).and_then(|()| parser.finish_with_notes());
    let (rates, notes) = read.map_err(|error| error.to_string())?;
    let steps = rates.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000, s.rate.as_bps())).collect();
    Ok((steps, rates.period().as_millis(), notes))
}
fn rates(format: &str, text: &str) -> Vec<u64> {
    read(format, text).unwrap().0.into_iter().map(|(_, rate)| rate).collect()
}

#[test]
fn rates_have_units() {
    let rate = |unit: &str, value: &str| {
        rates(&alloc::format!("csv:r:unit={unit}"), &alloc::format!("r\n{value}\n"))
    };
    assert_eq!([rate("bit", "551000000"), rate("kbit", "551000"), rate("mbit", "551")], [[551_000_000]; 3]);
    assert_eq!([rate("gbit", "0.551"), rate("byte", "68875000"), rate("kb", "68875")], [[551_000_000]; 3]);
    assert_eq!(rate("mb", "68.875"), [551_000_000]);
    let too_large = read("csv:r", "r\n551000000\n").unwrap_err();
    assert!(too_large.contains("unit=bit"), "{too_large}");
    // 1000 bytes in half a second, 3000 in one, and twice 1000 at the end, as long as the interval before.
    let table = "t,b\n0,1000\n0.5,3000\n1.5,1000\n1.5,1000\n";
    assert_eq!(rates("csv:b:time=t:unit=bytes_per_row", table), [16_000, 24_000, 16_000]);
    assert_eq!(rates("csv:b:time=t:unit=bytes_per_row:sample=before", table), [48_000, 16_000]);
    assert_eq!(rates("csv:b:every=100ms:unit=bytes_per_row", "b\n1000\n"), [80_000]);
}

#[test]
fn rows_without_a_rate_have_the_meaning_that_the_user_gives() {
    for gap in ["", "NaN", "-798.67", "n/a"] {
        let table = alloc::format!("t,r\n0,10\n1,{gap}\n2,30\n");
        let read = |missing: &str| read(&alloc::format!("csv:r:time=t:missing={missing}"), &table);
        let note = |done: &str| vec![alloc::format!("1 row without a value {done}")];
        let (ten, thirty) = (10_000_000, 30_000_000);
        assert_eq!(read("hold").unwrap(), (vec![(0, ten), (1000, ten), (2000, thirty)], 3000, note("held")));
        assert_eq!(
            read("zero").unwrap(),
            (vec![(0, ten), (1000, 0), (2000, thirty)], 3000, note("read as 0"))
        );
        assert_eq!(read("skip").unwrap(), (vec![(0, ten), (2000, thirty)], 4000, note("left out")));
        let refused = read("refuse").unwrap_err();
        assert!(
            refused.starts_with("line 3: expected a rate in Mbit/s") && refused.contains("missing=hold"),
            "{refused}"
        );
    }
    // Before the first rate the first holds; a time that has a rate in another row has one.
    let messages = "t,r\n0,\n1,\n2,10\n2,\n3,\n3,30\n4\n";
    let (steps, period, notes) = read("csv:r:time=t:missing=hold", messages).unwrap();
    assert_eq!(steps, [(0, 10_000_000), (2000, 10_000_000), (3000, 30_000_000), (4000, 30_000_000)]);
    assert_eq!((period, notes), (5000, vec!["5 rows without a value held".to_string()]));
    assert_eq!(rates("csv:r:time=t:missing=zero", messages), [0, 0, 10_000_000, 30_000_000, 0]);
    // At equal intervals a skipped row takes no time.
    assert_eq!(read("csv:r:missing=skip", "r\n1\n-\n2\n").unwrap().1, 2000);
    assert_eq!(read("csv:r:missing=hold", "r\n1\n-\n2\n").unwrap().1, 3000);
    assert!(
        read("csv:r:time=t:missing=hold", "t,r\n0,\n1,\n").unwrap_err().contains("none of 2 rows has a rate")
    );
}

#[test]
fn comments_are_skipped() {
    let expected = (vec![(0, 10_000_000), (1000, 20_000_000)], 2000, vec![]);
    for table in [
        "t,r\n0,10\n1,20\n#eof\n",
        "t,r\n0,10\n# \"a, b\r\n1,20\n#eof",
        "# made by a logger\n#\nt,r\n0,10\n1,20\n",
        "#t,r\n0,10\n1,20\n",
        "# t,r\r\n0,10\r\n1,20\r\n",
    ] {
        assert_eq!(read("csv:r:time=t", table), Ok(expected.clone()), "{table}");
    }
    assert!(read("csv:r:time=t", "# a,b\n").unwrap_err().contains("no column 't'"));
}

#[test]
fn separators_are_found_in_the_header() {
    let expected = (vec![(0, 1_500_000), (1000, 2_500_000)], 2000, vec![]);
    for table in [
        "time,rate\n0,1.5\n1,2.5\n",
        "time;rate\n0;1.5\n1;2.5\n",
        "time;rate\r\n0;1,5\r\n1;2,5\r\n",
        "time\trate\n0\t1,5\n1\t2.5\n",
        "time;\"a, b, c, d\";rate\n0;x;1.5\n1;\"y;z\";2.5\n",
        "time\t\"a\nb\"\trate\n0\tx\t1.5\n1\ty\t2.5\n",
        "a,b;time;rate\n1,2;0;1,5\n1,2;1;2,5\n",
    ] {
        assert_eq!(read("csv:rate:time=time", table), Ok(expected.clone()), "{table}");
    }
    let comma = "time;rate,r\n0,1\n";
    assert_eq!(rates("csv:r:separator=comma", comma), [1_000_000]);
    assert!(read("csv:r", "time;rate\n").unwrap_err().contains("expected one of time, rate"));
    assert!(read("csv:rate", "rate;x\n1.000,5;2\n").unwrap_err().contains("found '1.000,5'"));
}

#[test]
fn one_of_several_runs_can_be_read() {
    let table = "carrier,run,seq,mbps\nA,1,0,10\nA,1,1,10\nA,2,0,20\nB+,1,0,x\nB+,1,1,300\n";
    assert_eq!(rates("csv:mbps:where=run=2", table), [20_000_000]);
    assert_eq!(rates("csv:mbps:time=seq:where=carrier=A+run=1", table), [10_000_000, 10_000_000]);
    assert_eq!(rates("csv:mbps:where=[carrier]=[B+]:missing=skip", table), [300_000_000]);
    let error = |format: &str| read(format, table).unwrap_err();
    assert!(error("csv:mbps:time=seq").starts_with("line 4: time 0 is before 1 of the line above"));
    assert!(error("csv:mbps:time=seq").contains("where=COLUMN=VALUE"));
    assert_eq!(
        error("csv:mbps:where=carrier=C"),
        "line 6: no row has 'C' in column 'carrier'; expected a value that the column has, such as A, B+"
    );
    assert!(error("csv:mbps:where=operator=C").contains("no column 'operator'"));
    assert!(error("csv:mbps:where=A").contains("names no value; expected COLUMN=VALUE"));
}

#[test]
fn errors_of_order_show_the_text_of_the_file() {
    let table = "T,DL\n2019.11.27_07.45.21,1\n2019.11.27_07.45.20,2\n2019.11.27_07.45.22,3\n";
    let error = read("csv:DL:time=T", table).unwrap_err();
    assert!(
        error.starts_with("line 3: time 2019.11.27_07.45.20 is before 2019.11.27_07.45.21 of the line above")
    );
    assert_eq!(rates("csv:DL:time=T:order=sort", table), [2_000_000, 1_000_000, 3_000_000]);
    let gaps = "t,r\n2,\n0,5\n1,7\n3,9\n";
    assert_eq!(
        rates("csv:r:time=t:order=sort:missing=hold", gaps),
        [5_000_000, 7_000_000, 7_000_000, 9_000_000]
    );
    let mut parser = Parser::with_limit(Columns { is_sorted: true, ..every_second("r") }, 1);
    assert!(parser.feed(b"r\n1\n2\n").unwrap_err().to_string().contains("more than 1 samples"));
}

#[test]
fn columns_with_a_colon_stand_in_brackets() {
    let table = "\"a: time\",\"DL: rate\",[x]\n0,1,3\n1,2,4\n";
    assert_eq!(rates("csv:column=[DL: rate]:time=[a: time]", table), [1_000_000, 2_000_000]);
    assert_eq!(rates("csv:[DL: rate]", table), [1_000_000, 2_000_000]);
    assert_eq!(rates("csv:column=[x]", table), [3_000_000, 4_000_000]);
    assert_eq!(rates("csv:column=[[x]]", table), [3_000_000, 4_000_000]);
}

#[test]
fn times_have_their_forms_and_units() {
    let period = |format: &str, rows: [&str; 3]| {
        let [a, b, c] = rows;
        read(format, &alloc::format!("t,r\n{a},1\n{b},2\n{c},3\n")).map(|(_, period, _)| period)
    };
    let dates = |ends: [&str; 3]| {
        period(
            "csv:r:time=t",
            ends.map(|end| alloc::format!("2024-05-01 10:00:0{end}")).each_ref().map(String::as_str),
        )
    };
    assert_eq!(dates(["0.000", "0.100", "0.200"]), Ok(300));
    assert_eq!(dates(["0Z", "1Z", "2Z"]), Ok(3000));
    assert_eq!(dates(["0.500 EST", "1.500 EST", "2.500 EST"]), Ok(3000));
    let millis = ["1714557600000", "1714557600250", "1714557600500"];
    assert_eq!(period("csv:r:time=t:time_unit=ms", millis), Ok(750));
    assert!(period("csv:r:time=t", millis).unwrap_err().contains("time_unit=ms"));
    assert_eq!(period("csv:r:time=t", ["23:59:59", "00:00:00", "00:00:01"]), Ok(3000));
    assert!(
        period("csv:r:time=t", ["1:00:00", "2:00:00", "1:00:00"])
            .unwrap_err()
            .contains("1:00:00 is before 2:00:00")
    );
}

/// Packets of a capture: the sum of each bin is that of its packets, and a bin without one has nothing.
#[test]
fn bytes_of_rows_are_summed_over_bins() {
    let text = "t,len,to\n10.0,1000,a\n10.05,500,a\n10.0999,40,b\n10.1,250,a\n10.45,125,a\n10.45,125,a\n";
    let steps = |format: &str| {
        let arguments = crate::format::parse(format).unwrap();
        let mut parser = crate::format::parser(&arguments).unwrap();
        parser.feed(text.as_bytes()).unwrap();
        let Trace::Rates(rates) = parser.finish().unwrap() else { panic!("rates") };
        let steps: Vec<(u64, u64)> = rates
            .steps()
            .iter()
            .map(|step| (step.start.as_nanos() / 1_000_000, step.rate.as_bps()))
            .collect();
        (steps, rates.period().as_millis())
    };
    // Bytes of a bin of 100 ms times 80 are bit/s.
    let of_a = (vec![(0, 1500 * 80), (100, 250 * 80), (200, 0), (400, 250 * 80)], 500);
    let words = "csv:len:time=t:unit=bytes_per_row:bin=100ms";
    assert_eq!(steps(&alloc::format!("{words}:where=to=a")), of_a);
    assert_eq!(steps(&alloc::format!("{words}:where=to=a:order=sort")), of_a);
    assert_eq!(steps(words).0[0], (0, 1540 * 80));
    assert_eq!(steps("csv:len:time=t:unit=bytes_per_row:bin=1s"), (vec![(0, 2040 * 8)], 1000));
    for bad in ["csv:len:bin=1s", "csv:len:unit=bytes_per_row:bin=1s", "csv:len:time=t:bin=1s"] {
        let error = crate::format::parse(bad).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("expected unit=bytes_per_row and time"), "{error}");
    }
}
