//! Recorded traces: read, compared with their index, written and read again.
//!
//! `QDELAY_TRACES` names a folder with an `INDEX.tsv` (columns `path`, `duration_s`, `mean_mbps`, `format` and
//! `opportunities_or_samples`, among others). Without it the tests are skipped.

use qdelay_core::Span;
use qdelay_testing::{Need, skip};
use qdelay_trace::csv::{self, Columns, RateUnit, Times};
use qdelay_trace::{
    Gap, RateSteps, Schedule, TraceInfo, capacity, convert, cqi, info, mahimahi, mbps, synth,
};
use std::path::PathBuf;

fn folder() -> PathBuf {
    let folder = std::env::var_os("QDELAY_TRACES");
    folder.map_or_else(|| skip(Need::Traces, "QDELAY_TRACES names no folder"), PathBuf::from)
}

/// A folder within it.
fn part(name: &str) -> PathBuf {
    let part = folder().join(name);
    if !part.is_dir() {
        skip(Need::Traces, format_args!("QDELAY_TRACES has no folder {name}"));
    }
    part
}

/// Rows of the index as (path, duration, mean, format, number).
fn index() -> Vec<[String; 5]> {
    let text = std::fs::read_to_string(folder().join("INDEX.tsv")).unwrap();
    let mut rows = text.lines().map(|line| line.split('\t').map(str::to_string).collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let names = ["path", "duration_s", "mean_mbps", "format", "opportunities_or_samples"];
    let columns = names.map(|name| header.iter().position(|column| column == name).unwrap());
    rows.map(|row| columns.map(|column| row[column].clone())).collect()
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(folder().join(path)).unwrap()
}

#[test]
fn mahimahi_traces_are_as_their_index_says() {
    for [path, duration, mean, format, number] in index() {
        if !format.starts_with("mahimahi") {
            continue;
        }
        let text = read(&path);
        let schedule = mahimahi::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let info = info::of_schedule(&schedule);
        assert_eq!(info.opportunities.to_string(), number, "{path}");
        assert_eq!(format!("{:.2}", info.mean_mbps), mean, "{path}");
        assert!((info.duration.as_secs_f64() - duration.parse::<f64>().unwrap()).abs() < 0.1, "{path}");
        let mut written = String::new();
        mahimahi::write(&schedule, &mut written).unwrap();
        assert_eq!(mahimahi::parse(written.as_bytes()).unwrap(), schedule, "{path}");
        assert_eq!(written.trim_end().as_bytes(), text.trim_ascii_end(), "{path}");
        returns_as_rates(&path, &schedule);
    }
}

fn returns_as_rates(path: &str, schedule: &Schedule) {
    for width in [1, 100, 1000] {
        let rates = convert::to_rates(schedule, Span::from_millis(width)).unwrap();
        let back = convert::to_schedule(&rates).unwrap();
        assert_eq!(
            (back.bytes(), back.period()),
            (schedule.bytes(), schedule.period()),
            "{path} at {width} ms"
        );
    }
}

#[test]
fn rate_traces_are_as_their_index_says() {
    for [path, duration, mean, format, _] in index() {
        if !format.contains("t_s Mbps") {
            continue;
        }
        let rates = mbps::parse(&read(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(format!("{:.1}", rates.mean_mbps()), mean, "{path}");
        assert_eq!(format!("{:.1}", rates.period().as_secs_f64()), duration, "{path}");
        let schedule = convert::to_schedule(&rates).unwrap();
        assert!((schedule.mean_mbps() - rates.mean_mbps()).abs() < 1e-4, "{path}");
        let mut written = String::new();
        mbps::write(&rates, &mut written).unwrap();
        assert_eq!(mbps::parse(written.as_bytes()).unwrap(), rates, "{path}");
    }
}

fn table(path: &str, rate: &str, unit: RateUnit, times: Times) -> RateSteps {
    let path = part("5g").join(path);
    let mut parser = csv::Parser::new(Columns { unit, ..Columns::new(rate, times) });
    for chunk in std::fs::read(&path).unwrap().chunks(777) {
        parser.feed(chunk).unwrap();
    }
    parser.finish().unwrap()
}

#[test]
fn tables_of_drive_tests_have_their_means() {
    let every = || Times::Every(Span::from_secs(1));
    let car = "5g-5gophers-car-driving-trace-1.csv";
    for (column, mean) in [("Sprint", "264.9"), ("TMobile", "97.1"), ("Verizon", "274.9")] {
        let rates = table(car, &format!("{column}_throughput_mbps"), RateUnit::Mbit, every());
        assert_eq!(format!("{:.1}", rates.mean_mbps()), mean, "{column}");
        assert_eq!(rates.period(), Span::from_secs(120));
    }
    let rates = table("5g-5gophers-walking-trace.csv", "throughput_mbps", RateUnit::Mbit, every());
    assert_eq!(format!("{:.1}", rates.mean_mbps()), "332.9");
    let dated = Times::Column("Timestamp".to_string());
    let ucc = "5g-ucc-driving-B_2019.12.16_14.23.32.csv";
    let rates = table(ucc, "DL_bitrate", RateUnit::Kbit, dated);
    // The drive lasts from 14:23:32 to 15:12:41 inclusive. Seconds without a row keep the rate before them.
    assert_eq!(rates.period(), Span::from_secs(2950));
    assert_eq!(rates.steps().len(), 2592);
    assert!((40.0..70.0).contains(&rates.mean_mbps()), "{}", rates.mean_mbps());
}

/// Numbers of rows, smallest and largest CQI match the folder's `INDEX-cqi.tsv`; periods last from the first
/// row's date to a second after the last one's.
#[test]
fn tables_of_cqis_match_their_index() {
    let folder = part("cqi");
    let cases = [
        ("4g-A_2018.01.27_13.58.29.csv", 5, 8, 953),
        ("4g-B_2018.01.19_07.31.48.csv", 1, 15, 2214),
        ("5g-Download_Driving_B_2019.12.16_07.22.43.csv", 1, 15, 2597),
        ("5g-Download_Driving_B_2020.01.16_09.56.56.csv", 3, 15, 1825),
        ("5g-Download_Static_B_2019.12.16_13.40.04.csv", 6, 15, 2282),
        ("5g-Download_Static_B_2020.02.13_13.57.29.csv", 1, 15, 3498),
    ];
    for (name, least, greatest, seconds) in cases {
        let text = std::fs::read(folder.join(name)).unwrap();
        let held = cqi::parse(&text, Gap::Hold).unwrap_or_else(|error| panic!("{name}: {error}"));
        let cqis = || held.steps().iter().map(|step| step.cqi);
        assert_eq!((cqis().min(), cqis().max()), (Some(least), Some(greatest)), "{name}");
        assert_eq!(held.period(), Span::from_secs(seconds), "{name}");
        // With outages the CQI is never above the held one, and equal wherever it is not 0.
        let strict = cqi::parse(&text, Gap::OutageAfter(Span::from_secs(2))).unwrap();
        assert_eq!(strict.period(), held.period(), "{name}");
        let mut parser = cqi::Parser::with_gap(Gap::Hold);
        text.chunks(97).try_for_each(|chunk| parser.feed(chunk)).unwrap();
        assert_eq!(parser.finish().unwrap(), held, "{name}");
    }
}

/// The files that drove the emulator of a thesis: durations, and the means over the 200 s that the thesis
/// used.
#[test]
fn files_of_capacities_have_their_means() {
    let folder = part("5g-thesis");
    for (name, seconds, packets) in [("pedestrian", 1571, 401), ("train", 4209, 465)] {
        let path = folder.join(format!("packets_{name}.txt"));
        let trace = capacity::parse(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(trace.period(), Span::from_secs(seconds));
        let used = trace.window(Span::ZERO, Span::from_secs(200)).unwrap();
        assert_eq!(used.values().iter().sum::<u32>() * 100 / 200, packets, "{name}");
        assert!(trace.values().iter().all(|value| [1, 2, 3, 4, 6, 7, 9, 10, 12, 15].contains(value)));
    }
}

/// A preset over 20 minutes has mean, variation and outages near those of the trace it was modelled on.
#[test]
fn presets_are_near_their_recorded_traces() {
    let pairs = [
        ("lte-driving", "mahimahi/ATT-LTE-driving.down"),
        ("lte-driving-up", "mahimahi/ATT-LTE-driving.up"),
        ("lte-stationary", "nyc-2019/trace-2925703-home1"),
        ("subway", "nyc-2018/downlink-3g-no-cross-subway.pps"),
    ];
    for (preset, path) in pairs {
        let recorded = info::of_schedule(&mahimahi::parse(&read(path)).unwrap());
        let made = synth::Synth::of_preset(preset, Span::from_secs(1200), 2).unwrap().schedule().unwrap();
        let made = info::of_schedule(&made);
        let per_minute = |info: &TraceInfo| info.gaps_over_100ms as f64 * 60.0 / info.duration.as_secs_f64();
        let near = |what: &str, a: f64, b: f64, tolerance: f64| {
            assert!((a / b - 1.0).abs() < tolerance, "{preset}: {what} {a} instead of {b}");
        };
        near("mean", made.mean_mbps, recorded.mean_mbps, 0.1);
        let variation = |info: &TraceInfo| info.bins_1s.coefficient_of_variation;
        near("variation over 1 s", variation(&made), variation(&recorded), 0.15);
        let variation = |info: &TraceInfo| info.bins_100ms.coefficient_of_variation;
        near("variation over 100 ms", variation(&made), variation(&recorded), 0.15);
        near("gaps over 100 ms", per_minute(&made), per_minute(&recorded), 0.4);
    }
}
