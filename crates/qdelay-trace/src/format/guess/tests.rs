//! Guesses at files of each kind, and the reading of the file in the guessed format.

use super::*;
use crate::format::{Trace, parse, parser};

fn format_of(text: &str) -> String {
    guess(text.as_bytes(), true).unwrap().format
}

/// The duration in ms of `text`, read in the guessed format.
fn millis(text: &str) -> u64 {
    let mut parser = parser(&parse(&format_of(text)).unwrap()).unwrap();
    parser.feed(text.as_bytes()).unwrap();
    match parser.finish().unwrap() {
        Trace::Rates(rates) => rates.period().as_millis(),
        Trace::Schedule(schedule) => schedule.period().as_millis(),
    }
}

#[test]
fn lines_of_numbers() {
    for (text, format, ms) in [
        ("1\n5\n5\n9\n", "mahimahi", 9),
        ("1.5\n2\n", "mbps:every=1s", 2000),
        ("30\n20\n", "mbps:every=1s", 2000),
        ("3.25,9.125,13.0,15.25", "mbps:every=1s", 4000),
        ("0 1.5\n1 2\n", "mbps", 2000),
        ("15.0 3168.6\n474.0 3168.6\n514.0 3183.2\n", "mbps:time=ms:unit=kbit", 499),
        ("1714557600000 64000000\n1714557600500 64000000\n", "mbps:time=ms:unit=bit", 1000),
        ("1.0\t204\t20.5\n2.0\t217\t19.5\n", "mbps:column=2", 2000),
    ] {
        assert_eq!((format_of(text).as_str(), millis(text)), (format, ms), "{text}");
    }
}

#[test]
fn tables() {
    for (text, format, ms) in [
        ("t,r,rate\n0,5,1\n1,6,2\n", "csv:column=rate:time=t", 2000),
        ("start,bits_per_second\n0,551000000\n1,775000000\n", "csv:column=bits_per_second:unit=bit", 2000),
        (
            "Timestamp,Op,DL_bitrate,UL_bitrate\n2019.11.27_07.45.20,B,16321,5\n2019.11.27_07.45.21,B,9000,5\n",
            "csv:column=DL_bitrate:unit=kbit:time=Timestamp",
            2000,
        ),
        (
            "time;dl_brate;ul_brate\n1714557600000;1500000;1\n1714557600500;2500000,5;1\n#eof\n",
            "csv:column=dl_brate:unit=bit:time=time:time_unit=ms",
            1000,
        ),
        (
            "# by x\nclock\t\"DL: mbps\"\n10:00:00\t1\n10:00:02\tNaN\n",
            "csv:column=[DL: mbps]:time=clock:missing=hold",
            4000,
        ),
    ] {
        assert_eq!((format_of(text).as_str(), millis(text)), (format, ms), "{text}");
    }
    let assumed = guess(b"seq,throughput_mbps,tput\n0,1,2\n1,1,2\n0,2,2\n", true).unwrap().assumed;
    assert!(assumed.iter().any(|line| line.contains("go back from 1 to 0")), "{assumed:?}");
    assert!(
        assumed.iter().any(|line| line.contains("other columns that look like a rate: tput")),
        "{assumed:?}"
    );
    assert_eq!(format_of("t,r\n0,1\n1,2\n"), "csv:column=r:time=t");
    let error = guess(b"a,b\n1,2\n", true).unwrap_err();
    assert_eq!(error, "no column looks like a rate; expected csv:column=NAME with one of a, b");
    let error = guess(b"Time,5G_CQI\n1,11\n2,12\n", true).unwrap_err();
    assert!(error.ends_with("cqi-trace:FILE:column=5G_CQI"), "{error}");
    assert!(guess(b"", true).is_err() && guess(b"hello\n", true).is_err());
}
