//! `qdelay trace`: written traces read back as the same, and no file is half-written or lost.

use crate::common::{file, folder, json, refused, succeed};
use std::fs;

#[test]
fn info_of_a_shipped_trace() {
    let report = json(&["trace", "info", "synth-lte-driving", "--json"]);
    let trace = &report["traces"][0];
    assert_eq!((&trace["name"], &trace["format"]), (&"synth-lte-driving".into(), &"mahimahi".into()));
    assert_eq!(trace["duration_s"], 90.0);
    assert!((4.0..6.0).contains(&trace["mean_mbps"].as_f64().unwrap()));
    assert!(trace["bins_1s"]["p5_mbps"].as_f64() < trace["bins_1s"]["p95_mbps"].as_f64());
    let text = succeed(&["trace", "info", "synth-lte-driving", "synth-subway.down"]);
    assert!(text.contains("\nsynth-lte-driving ") && text.contains("\nsynth-subway.down "), "{text}");
}

#[test]
fn shipped_traces_are_listed_and_can_be_made_again() {
    let report = json(&["trace", "list", "--json"]);
    let traces = report["traces"].as_array().unwrap();
    assert_eq!(traces.len(), qdelay_trace::SHIPPED.len());
    for trace in traces {
        let (name, origin) = (trace["name"].as_str().unwrap(), trace["made_by"].as_str().unwrap());
        assert!(succeed(&["trace", "list"]).contains(name));
        // As in "synth:subway:duration=60s:seed=7".
        let parts: Vec<&str> = origin.split(':').collect();
        let mut arguments = vec!["trace", "synth", "--preset", parts[1]];
        for part in &parts[2..] {
            let (key, value) = part.split_once('=').unwrap();
            arguments.extend(match key {
                "duration" => ["--duration", value],
                _ => ["--seed", value],
            });
        }
        assert_eq!(Some(succeed(&arguments).as_bytes()), qdelay_trace::shipped::find(name), "{name}");
    }
}

#[test]
fn there_and_back() {
    let folder = folder("trace-round-trip");
    let name = |file: &str| folder.join(file).to_str().unwrap().to_string();
    succeed(&["trace", "synth", "--duration", "5s", "--seed", "4", "-o", &name("a.down")]);
    succeed(&["trace", "convert", &name("a.down"), &name("same.down"), "--to", "mahimahi"]);
    assert_eq!(fs::read(name("a.down")).unwrap(), fs::read(name("same.down")).unwrap());
    // At a bin of 1 ms nothing is lost: every opportunity comes back at its own time.
    succeed(&["trace", "convert", &name("a.down"), &name("a.txt"), "--to", "mbps", "--bin", "1ms"]);
    succeed(&["trace", "convert", &name("a.txt"), &name("back.down"), "--to", "mahimahi"]);
    assert_eq!(fs::read(name("a.down")).unwrap(), fs::read(name("back.down")).unwrap());
    succeed(&["trace", "convert", &name("a.txt"), &name("b.txt"), "--to", "mbps"]);
    assert_eq!(fs::read(name("a.txt")).unwrap(), fs::read(name("b.txt")).unwrap());
    let means = json(&["trace", "info", &name("a.down"), &name("a.txt"), "--json"]);
    let mean = |index: usize| means["traces"][index]["mean_mbps"].as_f64().unwrap();
    assert!((mean(0) - mean(1)).abs() < 1e-3);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5, "no temporary file is left");
}

/// `trace info` reads each file by the format that `trace guess` prints.
#[test]
fn formats_are_guessed() {
    let folder = folder("trace-guess");
    let rows = "Timestamp;UL_bitrate;DL_bitrate\n10:00:00;5;12000\n10:00:01;5;\n10:00:02;5;24000,5\n#eof\n";
    let table = file(&folder, "walk.csv", rows);
    let text = succeed(&["trace", "guess", &table]);
    let format = "csv:column=DL_bitrate:unit=kbit:time=Timestamp:missing=hold";
    for part in [
        format!("walk.csv\n  format: {format}\n  assumed: column 'DL_bitrate' is the rate"),
        "  assumed: other columns that look like a rate: UL_bitrate\n".to_string(),
        "  read so: 3.0 s, mean 16.00 Mbit/s\n  1 row without a value held\n".to_string(),
        format!("  command: qdelay trace info '{table}:format=[{format}]'\n"),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let name = format!("{table}:format=[{format}]");
    let report = json(&["trace", "info", &name, "--json"]);
    assert_eq!(report["traces"][0]["notes"], serde_json::json!(["1 row without a value held"]));
    assert_eq!(report["traces"][0]["duration_s"], 3.0);
    assert!(succeed(&["trace", "info", &name]).contains(": 1 row without a value held\n"));
    let packed = file(&folder, "a.xz", &b"\xfd7zXZ\0"[..]);
    refused(&["trace", "guess", &packed], &["a.xz: is compressed by xz"]);
    let damaged = file(&folder, "a.gz", &b"\x1f\x8b\x08\0"[..]);
    refused(&["trace", "info", &damaged], &["a.gz: cannot be read: it is compressed by gzip and damaged"]);
    let words = file(&folder, "words.csv", "a,b\n1,2\n");
    refused(
        &["trace", "guess", &words],
        &["words.csv: no column looks like a rate; expected csv:column=NAME with one of a, b"],
    );
    refused(&["trace", "guess", "/nowhere.csv"], &["/nowhere.csv: cannot be read"]);
}

/// A file in ms and kbit/s that is read as seconds and Mbit/s.
#[test]
fn unlikely_rates_are_noted() {
    let folder = folder("trace-units");
    let table = file(&folder, "oboe.txt", "15.0 3168.6\n474.0 3168.6\n514.0 3183.2\n905.0 3183.2\n");
    let text = succeed(&["trace", "info", &table]);
    assert!(
        text.contains("minutes apart is unlikely") && text.contains(":format=[mbps:time=ms:unit=kbit]"),
        "{text}"
    );
    let text = succeed(&["trace", "info", &format!("{table}:format=[mbps:time=ms:unit=kbit:sample=after]")]);
    assert!(!text.contains("unlikely") && !text.contains("Uneven"), "{text}");
    let table = file(&folder, "bits.txt", "0 64000\n1 96000\n");
    assert!(succeed(&["trace", "info", &table]).contains("'unit' reads rates in another unit"));
}

#[test]
fn parameters_of_synthesis() {
    let folder = folder("trace-synth");
    let name = folder.join("steady.txt").to_str().unwrap().to_string();
    let steady = ["rate=2mbit", "slow=0", "fast=0", "outage_every=0"];
    succeed(&[&["trace", "synth", "--to", "mbps", "-o", &name][..], &steady].concat());
    let trace = json(&["trace", "info", &name, "--json"]);
    assert_eq!(
        (&trace["traces"][0]["mean_mbps"], &trace["traces"][0]["duration_s"]),
        (&2.0.into(), &60.0.into())
    );
    assert_ne!(
        succeed(&["trace", "synth", "--duration", "2s"]),
        succeed(&["trace", "synth", "--duration", "2s", "--seed", "2"])
    );
}

#[test]
fn files_are_replaced_only_by_force() {
    let folder = folder("trace-force");
    let there = file(&folder, "there", "precious");
    refused(
        &["trace", "convert", "synth-subway", &there, "--to", "mahimahi"],
        &["there: exists already", "--force"],
    );
    refused(
        &["trace", "synth", "--out", &there],
        &["there: exists already; expected a new name, or --force"],
    );
    assert_eq!(fs::read(&there).unwrap(), b"precious");
    succeed(&["trace", "convert", "synth-subway", &there, "--to", "mahimahi", "--force"]);
    assert_eq!(fs::read(&there).unwrap(), qdelay_trace::shipped::find("synth-subway.down").unwrap());
    // A failed conversion leaves the existing file unchanged.
    let silent = file(&folder, "silent", "0 0\n1 0\n");
    refused(
        &["trace", "convert", &silent, &there, "--to", "mahimahi", "--force"],
        &["silent: nothing could ever be delivered"],
    );
    assert_eq!(fs::read(&there).unwrap(), qdelay_trace::shipped::find("synth-subway.down").unwrap());
    refused(&["trace", "synth", "-o", folder.to_str().unwrap()], &["is a folder; expected"]);
    refused(
        &["trace", "synth", "-o", folder.join("no/where").to_str().unwrap()],
        &["no/where: the folder does not exist"],
    );
    #[cfg(unix)]
    refused(&["trace", "synth", "-o", "/dev/null", "--force"], &["/dev/null: is no regular file; expected"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

/// Outputs of programs are guessed, and the command that is printed reads them.
#[test]
fn outputs_of_programs_are_guessed() {
    let folder = folder("trace-programs");
    let rates = r#"{"start":{"test_start":{"reverse":1}},"intervals":[{"sum":{"start":0,"end":1.5,"bits_per_second":4e6}}]}"#;
    let rates = file(&folder, "run.json", rates);
    let text = succeed(&["trace", "guess", &rates]);
    for part in
        ["  read so: 1.5 s, mean 4.00 Mbit/s\n", "read as iperf3, 1 intervals of the client, the receiver\n"]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.contains(&format!("  command: qdelay trace info '{rates}:format=[iperf3]'\n")), "{text}");
    let trip = |ms: u64, us: u64| {
        format!(
            r#"{{"lost":false,"timestamps":{{"client":{{"send":{{"wall":{ms}000000}}}}}},"delay":{{"rtt":{us}000}}}}"#
        )
    };
    let delays = format!(
        r#"{{"version":{{"irtt":"0.9.0","json_format":1}},"round_trips":[{},{}]}}"#,
        trip(5, 20_000),
        trip(25, 31_500)
    );
    let delays = file(&folder, "irtt.json", delays);
    let text = succeed(&["trace", "guess", &delays]);
    assert!(text.contains("  read so: delays over 0.0 s, 20ms to 31.5ms\n"), "{text}");
    let delay = format!("trace:{delays}:format=[irtt]");
    assert!(text.contains(&format!("  command: qdelay compare --rtt '{delay}'\n")), "{text}");
    let compared = succeed(&["compare", "--trace", "synth-subway", "--duration", "1s", "--rtt", &delay]);
    assert!(compared.contains(&delay), "{compared}");
    refused(&["trace", "info", &delays], &["irtt.json: an output of irtt has delays, not rates"]);
}
