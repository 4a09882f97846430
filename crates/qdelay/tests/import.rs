//! `qdelay import`: logs and captures of other programs.

use crate::common::{file, folder, json, refused, succeed};
use crate::imports::irtt::{ALL, Settings, sample};
use std::fs;

const LOG: &str = "# mahimahi mm-link (downlink) [x.trace] > x.log\n# base timestamp: 100\n\
    100 # 1504\n100 + 1504\n150 + 1504\n200 # 1504\n200 - 1504 100\n300 d 2 3008\n600 # 1504\n600 - 752 450\n";

#[test]
fn logs_of_mahimahi() {
    let folder = folder("import-mahimahi");
    let log = file(&folder, "x.log", LOG);
    let table = succeed(&["import", "mahimahi", &log]);
    let row = table.lines().find(|line| line.contains("x.log")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[1..], ["0.5", "0.07", "0.04", "50.0", "275", "450", "450", "497", "2"], "{table}");
    let figures = json(&["import", "mahimahi", &log, "--json"]);
    assert_eq!(figures["logs"][0]["figures"]["signal_delay_p95_ms"], 497.0);
    let csv = succeed(&["import", "mahimahi", &log, "--csv", "-", "--bin", "500ms"]);
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.lines().nth(1).unwrap().ends_with(",0,0.048128,0.048128,0.024064,100,100"), "{csv}");
    let svg = folder.join("x.svg").display().to_string();
    let said = succeed(&["import", "mahimahi", &log, "--svg", &svg]);
    assert!(said.ends_with("x.svg\n"), "{said}");
    let picture = fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("Rate (Mbit/s)"), "{picture}");
    refused(&["import", "mahimahi", &log, &log, "--svg", &svg], &["--svg: plots one log"]);
    let far = file(&folder, "far.log", format!("{LOG}900000000000 # 1504\n"));
    refused(&["import", "mahimahi", &far, "--svg", &svg], &["--bin: the log has 9000000000 of them"]);
    let broken = file(&folder, "broken.log", LOG.replace("600 #", "6OO #"));
    refused(&["import", "mahimahi", &broken], &["broken.log:9: '6OO # 1504': no event; expected MS + BYTES"]);
    refused(&["import", "mahimahi", &log, "--bin", "500us"], &["--bin: 500us; expected whole milliseconds"]);
    refused(&["import", "mahimahi", "none.log"], &["none.log: ", "expected a file"]);
    refused(&["import", "mahimahi", &folder.display().to_string()], &["is a folder; expected a file"]);
}

/// A capture (pcap, nanoseconds) of datagrams with these numbers, `step` ms apart.
fn capture(numbers: &[u8], step: u64, delay_us: u64) -> Vec<u8> {
    let mut file: Vec<u8> =
        vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0];
    for number in numbers {
        let nanos = u64::from(*number) * step * 1_000_000 + delay_us * 1_000;
        let seconds = 1_764_000_000 + nanos / 1_000_000_000;
        for field in [seconds as u32, (nanos % 1_000_000_000) as u32, 32, 32] {
            file.extend(field.to_le_bytes());
        }
        file.extend([0x45, 0, 0, 32, 0, *number, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        file.extend([0, 7, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    }
    file
}

#[test]
fn captures_of_both_ends() {
    let folder = folder("import-captures");
    let first = file(&folder, "client.pcap", capture(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 20, 0));
    let second = file(&folder, "server.pcap", capture(&[1, 2, 3, 5, 6, 7, 8, 9, 10], 20, 12_500));
    let table = succeed(&["import", "captures", &first, &second]);
    assert!(table.contains("client.pcap: 10 IP packets\n"), "{table}");
    assert!(table.contains("forth  udp 10.0.0.1:7 > 10.0.0.2:9       10  10.00"), "{table}");
    assert!(
        table.contains("12.50") && table.contains("clock offset subtracted from the delays: 0 ms"),
        "{table}"
    );
    let figures = json(&["import", "captures", &first, &second, "--json", "--offset", "2.5ms"]);
    let flow = &figures["captures"]["flows"][0];
    assert_eq!((flow["delay_ms"]["mean"].as_f64(), flow["lost"].as_u64()), (Some(10.0), Some(1)));
    let earlier = json(&["import", "captures", &first, &second, "--json", "--offset", "-1ms"]);
    assert_eq!(earlier["captures"]["ways"][0]["delay_min_ms"], 13.5);
    let csv = succeed(&["import", "captures", &first, &second, "--csv", "-"]);
    assert_eq!(
        csv.lines().nth(4),
        Some("1764000000.080000000,forth,udp 10.0.0.1:7 > 10.0.0.2:9,32,"),
        "{csv}"
    );
    // A capture that ends within a packet.
    let cut = fs::read(&second).unwrap();
    let cut = file(&folder, "cut.pcap", &cut[..cut.len() - 5]);
    let table = succeed(&["import", "captures", &first, &cut]);
    assert!(table.contains("cut.pcap: 8 IP packets, 1 cut short at the end of the file"), "{table}");
    let other = file(&folder, "other.pcap", capture(&[77], 20, 0));
    refused(&["import", "captures", &first, &other], &["no packet is in both captures; expected"]);
    let text = file(&folder, "text.pcap", "hello, no capture");
    refused(
        &["import", "captures", &first, &text],
        &["text.pcap: byte 0: no capture; expected pcap or pcapng"],
    );
    refused(
        &["import", "captures", &first, &second, "--offset", "3"],
        &["--offset: '3': ", "or auto, which estimates it"],
    );
    refused(
        &["import", "captures", &first, &second, "--offset", "auto"],
        &["--offset: auto: no direction has packets", "expected traffic both ways", "--offset 3.2ms"],
    );
    refused(
        &["import", "captures", &first, &other, "--offset", "auto"],
        &["no packet is in both captures; expected"],
    );
}

/// Answers by the same clocks: source and destination exchanged, sent 1 ms after the request has come.
fn answers(first: &mut Vec<u8>, second: &mut Vec<u8>, count: u64, second_us: u64, back_us: u64) {
    for number in 0..count {
        for (file, micros) in [(&mut *first, back_us), (&mut *second, second_us + 1_000)] {
            let nanos = number * 20_000_000 + micros * 1_000;
            let seconds = 1_764_000_000 + nanos / 1_000_000_000;
            for field in [seconds as u32, (nanos % 1_000_000_000) as u32, 32, 32] {
                file.extend(field.to_le_bytes());
            }
            file.extend([0x45, 0, 0, 32, 0, number as u8, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
            file.extend([0, 9, 0, 7, 0, 12, 0, 0, 1, 2, 3, 4]);
        }
    }
}

/// The server's clock is 300 ms ahead; 10 ms forth and 14 ms back.
#[test]
fn an_estimated_clock_offset() {
    let folder = folder("import-offset");
    let numbers: Vec<u8> = (0..10).collect();
    let (mut first, mut second) = (capture(&numbers, 20, 0), capture(&numbers, 20, 310_000));
    answers(&mut first, &mut second, 10, 310_000, 25_000);
    let (first, second) = (file(&folder, "client.pcap", first), file(&folder, "server.pcap", second));
    let table = succeed(&["import", "captures", &first, &second]);
    assert!(
        table.contains("the clocks differ by about 298 ms") && table.contains("--offset auto"),
        "{table}"
    );
    let table = succeed(&["import", "captures", &first, &second, "--offset", "auto"]);
    for wanted in [
        "clock offset subtracted from the delays: 298 ms",
        "estimated so that the smallest delays of both ways are equal; wrong by half their true difference, at most 12.000 ms",
        "no clock drift found",
    ] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    let figures = json(&["import", "captures", &first, &second, "--offset", "auto", "--json"]);
    let estimate = &figures["captures"]["clock_estimate"];
    assert_eq!((estimate["offset_ms"].as_f64(), estimate["within_ms"].as_f64()), (Some(298.0), Some(12.0)));
    assert_eq!(figures["captures"]["ways"][1]["delay_min_ms"], 12.0);
}

/// Traces of a link that carries a packet of 32 bytes each 20 ms, whose delay is 10 ms forth and 14 ms back.
#[test]
fn traces_of_captures() {
    let folder = folder("import-trace");
    let numbers: Vec<u8> = (0..60).collect();
    let (mut first, mut second) = (capture(&numbers, 20, 0), capture(&numbers, 20, 310_000));
    answers(&mut first, &mut second, 60, 310_000, 25_000);
    let (first, second) = (file(&folder, "client.pcap", first), file(&folder, "server.pcap", second));
    let prefix = folder.join("walk").display().to_string();
    let name = |ending: &str| format!("{prefix}-{ending}");
    refused(
        &["import", "captures", &first, &second, "--trace", &prefix],
        &["--trace: delays back are down to -286.000 ms; expected none below 0", "--offset auto"],
    );
    let said = succeed(&["import", "captures", &first, &second, "--offset", "auto", "--trace", &prefix]);
    for wanted in [
        "walk-forth.mbps: 11 bins of 100 ms, mean 0.01 Mbit/s; 11 bins not saturated: at least this rate\n",
        "walk-forth.delay: base delay, 12 to 12 ms\n",
        "walk-back.delay: base delay, 12 to 12 ms\n",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let delays = fs::read_to_string(name("forth.delay")).unwrap();
    assert!(
        delays.starts_with("# one-way delay (forth), in seconds and ms: smallest delay within 10s"),
        "{delays}"
    );
    assert!(delays.contains("\n0\t12\n0.1\t12\n"), "{delays}");
    let rates = fs::read_to_string(name("back.mbps")).unwrap();
    assert!(rates.contains("# 11 of 11 bins not saturated (the queue was empty)"), "{rates}");
    // 5 packets of 32 bytes in 100 ms.
    assert!(rates.contains("\n0.1\t0.0128\n"), "{rates}");
    let info = json(&["trace", "info", &name("forth.mbps"), "--json"]);
    assert_eq!(info["traces"][0]["duration_s"], 1.1);
    let rtt = format!("trace:{}:of=one_way", name("forth.delay"));
    let compare =
        ["compare", "--link", "5mbit", "--duration", "1s", "--warmup", "0s", "--jobs", "1", "--json"];
    let figures =
        json(&[&compare[..], &["--qdisc", "taildrop", "--transport", "udp:100kbit", "--rtt", &rtt]].concat());
    assert!(figures["rows"].as_array().or(figures["cases"].as_array()).is_some(), "{figures}");
    // Existing files are kept.
    let again = ["import", "captures", &first, &second, "--offset", "auto", "--trace", &prefix];
    refused(&again, &["walk-forth.delay: exists already; expected a new name, or --force to replace it"]);
    let all = [&again[..], &["--force", "--trace-delay", "all", "--trace-bin", "50ms", "--json"]].concat();
    let figures = json(&all);
    assert_eq!(
        (figures["traces"][1]["direction"].as_str(), figures["traces"][1]["bins"].as_u64()),
        (Some("back"), Some(23))
    );
    assert_eq!(figures["traces"][0]["delay"], "all");
    let short =
        ["import", "captures", &first, &second, "--offset", "auto", "--trace", "x", "--trace-bin", "1s"];
    refused(&short, &["--trace: fewer than two bins between the first packet and the last"]);
    assert!(!std::path::Path::new("x-forth.delay").exists());
}

/// Requests of 20 to 31 ms, replies of 10 ms, one lost each way; the server's clock is 300 ms ahead.
#[test]
fn results_of_irtt() {
    let folder = folder("import-irtt");
    let results = file(&folder, "walk.json", sample(ALL));
    let table = succeed(&["import", "irtt", &results]);
    for wanted in [
        "walk.json: irtt 0.9.1, 12 packets sent, 10 received, 0 duplicates, 0 late\n",
        "loss: 16.67% (up 8.33%, down 9.09%)\nlost by the replies' windows: 1 up, 1 down, 0 in an unknown direction\n",
        "differences of the wall clocks of client and server; clock offset subtracted: 0 ms\n",
        "delays below 0: the clocks differ by about 305 ms",
    ] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    let row = |table: &str, name: &str| {
        let row = table.lines().find(|line| line.starts_with(name)).unwrap();
        row.split_whitespace().skip(1).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(row(&table, "rtt"), ["10", "30.00", "35.60", "35.00", "41.00", "41.00", "41.00"]);
    let prefix = folder.join("walk").display().to_string();
    refused(
        &["import", "irtt", &results, "--trace", &prefix],
        &["--trace: delays receive are down to -290.000 ms", "--offset auto"],
    );
    assert!(!std::path::Path::new(&format!("{prefix}-rtt.delay")).exists());
    let estimated = succeed(&["import", "irtt", &results, "--offset", "auto", "--trace", &prefix]);
    assert_eq!(row(&estimated, "send")[1], "15.00");
    assert!(estimated.contains("at most 15.000 ms\n"), "{estimated}");
    // Lost packets: the delay before them holds. The last row tells the length.
    let round_trips = fs::read_to_string(format!("{prefix}-rtt.delay")).unwrap();
    assert!(round_trips.contains("\n0\t30\n0.02\t31\n0.04\t32\n0.06\t32\n0.08\t34\n"), "{round_trips}");
    let again = ["import", "irtt", &results, "--offset", "305ms", "--trace", &prefix];
    refused(&again, &["walk-rtt.delay: exists already"]);
    let figures = json(&[&again[..], &["--force", "--trace-delay", "base", "--json"]].concat());
    assert_eq!(figures["irtt"]["losses"]["up_percent"].as_f64().map(|percent| percent.round()), Some(8.0));
    assert_eq!(
        (figures["irtt"]["clock"].as_str(), figures["irtt"]["delays"][2]["min_ms"].as_f64()),
        (Some("wall"), Some(15.0))
    );
    assert_eq!(
        (figures["traces"][0]["delay_max_ms"].as_f64(), figures["traces"][0]["rate_file"].as_str()),
        (Some(30.0), None)
    );
    let compare = [
        "compare",
        "--link",
        "5mbit",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--jobs",
        "1",
        "--qdisc",
        "taildrop",
    ];
    let rtt = format!("trace:{prefix}-rtt.delay");
    succeed(&[&compare[..], &["--transport", "udp:100kbit", "--rtt", &rtt]].concat());
    // Without wall clocks of the server there are no one-way delays, except by an estimate.
    let monotonic = file(&folder, "monotonic.json", sample(Settings { clock: "monotonic", ..ALL }));
    assert!(
        succeed(&["import", "irtt", &monotonic]).contains("no one-way delays: the file has no wall clock")
    );
    assert_eq!(row(&succeed(&["import", "irtt", &monotonic, "--offset", "auto"]), "receive")[1], "15.00");
    let none = file(&folder, "none.json", sample(Settings { stamps: "none", ..ALL }));
    refused(
        &["import", "irtt", &none, "--offset", "auto"],
        &["--offset: the file has no times of the server; expected"],
    );
    let text = file(&folder, "text.json", "hello");
    refused(
        &["import", "irtt", &text],
        &["text.json: expected value at line 1 column 1; expected the JSON that"],
    );
}
