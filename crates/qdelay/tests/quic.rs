//! Transport `quic` in the command: compared, reproduced, refused; and its two ends over the loopback interface.

use crate::common::{command, file, folder, json, refused, run, succeed};
use crate::help;
use qdelay_testing::eventually;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;

const SCENARIO: &str = r#"
[path]
trace = "synth-lte-driving"
qdisc = "codel"
[[flow]]
name = "download"
transport = "quic"
[[flow]]
name = "call"
transport = "quic:datagrams=300kbit"
[[flow]]
name = "file"
transport = "quic:bytes=1mb:streams=3"
[run]
duration = "8s"
[matrix]
flow.download.transport = ["quic", "quic:newreno", "quic:bbr", "quic:crypto=tls", "cubic"]
"#;

/// Files of the cases, except for their cost.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for case in std::fs::read_dir(folder.join("cases")).unwrap().flatten() {
        for entry in std::fs::read_dir(case.path()).unwrap().flatten() {
            let name = format!("{:?}/{:?}", case.file_name(), entry.file_name());
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

#[test]
fn the_same_bytes_twice_and_on_one_thread() {
    let folder = folder("quic-twice");
    let scenario = file(&folder, "quic.toml", SCENARIO);
    let ran = |name: &str, jobs: &str| {
        let out = folder.join(name);
        succeed(&["run", &scenario, "--out", out.to_str().unwrap(), "--jobs", jobs]);
        files(&out)
    };
    let first = ran("first", "4");
    assert!(first.len() >= 10, "{:?}", first.keys());
    for (name, jobs) in [("second", "4"), ("alone", "1")] {
        let other = ran(name, jobs);
        let differ: Vec<_> = first.iter().filter(|(name, bytes)| other.get(*name) != Some(bytes)).collect();
        assert!(differ.is_empty() && other.len() == first.len(), "{:?}", differ.first().map(|file| file.0));
    }
    let summary = |index: usize| -> Value {
        let case = std::fs::read_dir(folder.join("first/cases")).unwrap().flatten().map(|case| case.path());
        let case = case.into_iter().find(|case| {
            case.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&index.to_string()))
        });
        serde_json::from_slice(&std::fs::read(case.unwrap().join("summary.json")).unwrap()).unwrap()
    };
    let (quic, tls) = (summary(0), summary(3));
    for key in ["throughput_mbps", "queue_delay_ms", "drops"] {
        assert_eq!(quic[key], tls[key], "cryptography changes nothing of {key}");
    }
    let file = &quic["flows"][2];
    assert_eq!((&file["bytes"], &file["delivered_bytes"]), (&1_000_000.into(), &1_000_000.into()));
    assert!(file["completion_s"].as_f64().unwrap() > 0.1, "{file}");
    assert!(quic["groups"]["download"]["in_order_ms"]["mean"].as_f64().unwrap() > 0.0);
}

/// Every command whose help mentions a transport or a scenario accepts `quic`. Commands that need privileges may fail for lack of them.
#[test]
fn every_command_that_takes_a_transport_or_a_scenario_knows_quic() {
    let folder = folder("quic-everywhere");
    let scenario = file(&folder, "quic.toml", SCENARIO.split("[matrix]").next().unwrap());
    let out = folder.join("out").display().to_string();
    let ways: [(&str, &[&str]); 7] = [
        ("compare", &["compare", "--link", "10mbit", "--duration", "2s", "--transport", "quic,quic:bbr"]),
        ("run", &["run", &scenario, "--out", &out]),
        ("link", &["link", "--scenario", &scenario, "--quiet", "--", "true"]),
        (
            "quic send",
            &["quic", "send", "127.0.0.1:9", "--transport", "quic:bytes=1kb", "--duration", "10ms"],
        ),
        ("quic receive", &["quic", "receive", "192.0.2.1:9", "--transport", "quic"]),
        ("plot", &["plot", &out, "--figure", "cdf"]),
        ("report", &["report", &out]),
    ];
    for path in help::commands() {
        let (name, text) = (path.join(" "), help::help(&path, "--help"));
        let takes = ["--transport", "SCENARIO", "--scenario <"].iter().any(|word| text.contains(word));
        // All commands of a group (`quic`) are tried.
        let is_tried = |known: &str| known == name || known.starts_with(&format!("{name} "));
        assert!(
            name.is_empty() || !takes || ways.iter().any(|(known, _)| is_tried(known)),
            "{name}: not tried with quic"
        );
    }
    for (name, arguments) in ways {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_unknown = said.contains("'quic'") || said.contains("known: ") || said.contains("transport");
        assert!(!is_unknown, "{name}: {said}");
        let may_fail = ["link", "quic send", "quic receive"].contains(&name);
        assert!(output.status.success() || may_fail, "{name}: {said}");
    }
    // A separate rate, for datagrams only: the report mentions it for the call and for nothing else.
    let page = std::fs::read_to_string(folder.join("out/report.html")).unwrap();
    assert!(page.contains("\"given_rates\":[\"call\"]"), "the call has a rate of its own");
}

#[test]
fn unsupported_quic_options_are_refused() {
    let compare = |transport: &str, parts: &[&str]| {
        refused(&["compare", "--link", "10mbit", "--transport", transport], parts);
    };
    compare("quic:hystart=off", &["quic has no key 'hystart'; known: control, bytes, streams"]);
    compare("quic:control=vegas", &["control=vegas", "expected one of cubic, newreno, bbr"]);
    compare("quic:streams=0", &["neither streams nor datagrams; expected streams=1 or more"]);
    compare("quic:streams=5:bytes=3b", &["3 bytes for 5 streams"]);
    compare("quic:crypto=ssl", &["crypto=ssl", "expected one of none, tls"]);
    compare("qiuc", &["did you mean 'quic'?"]);
    refused(
        &["quic", "send", "127.0.0.1:9", "--transport", "quic:ecn=on"],
        &["--transport", "without ecn=on"],
    );
    refused(&["quic", "send", "127.0.0.1:9", "--transport", "cubic"], &["--transport", "known: quic"]);
    refused(&["quic", "receive", "127.0.0.1:9", "--transport", "quic:size=9kb"], &["at most 1500b"]);
    refused(&["quic", "send", "nobody"], &["nobody"]);
    refused(&["quic", "send", "127.0.0.1:9", "--dscp", "64"], &["64"]);
}

#[test]
fn two_ends_over_sockets() {
    let at = UdpSocket::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().to_string();
    let transport = ["--transport", "quic:crypto=tls:bytes=2mb:streams=2"];
    let receiver = command(&["quic", "receive", &at]).args(transport).stdout(Stdio::piped()).spawn().unwrap();
    let sent = json(&["quic", "send", &at, transport[0], transport[1]]);
    let output = receiver.wait_with_output().unwrap();
    assert!(output.status.success());
    let received: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&sent["stream_bytes"], &received["stream_bytes"]), (&2_000_000.into(), &2_000_000.into()));
    assert_eq!((&received["is_exact"], &received["streams_finished"]), (&true.into(), &2.into()));
    assert!(sent["completion_s"].as_f64().unwrap() > 0.0, "{sent}");
}

/// Without a connection both ends report this, and exit with another status than 0.
#[test(waits)]
fn quic_receiver_locked() {
    let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let ended = |arguments: &[&str]| {
        let output = run(arguments);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), complaint)
    };
    // No receiver exists: with a duration, and without.
    let (status, figures, complaint) = ended(&["quic", "send", &free(), "--duration", "1s"]);
    assert_eq!(serde_json::from_str::<Value>(&figures).unwrap()["packets_received"], 0);
    assert!(status == Some(1) && complaint.contains("no connection was made"), "{complaint}");
    let (status, _, complaint) = ended(&["quic", "send", &free()]);
    assert!(status == Some(2) && complaint.contains("refuses datagrams; expected"), "{complaint}");
    // A receiver that already has a connection.
    let at = free();
    let mut receiver = command(&["quic", "receive", &at]).stdout(Stdio::null()).spawn().unwrap();
    let mut first = command(&["quic", "send", &at]).stdout(Stdio::null()).spawn().unwrap();
    let port = format!(":{:04X}", at.rsplit_once(':').unwrap().1.parse::<u16>().unwrap());
    let is_taken = || {
        let table = std::fs::read_to_string("/proc/self/net/udp").unwrap();
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.any(|row| row[1].ends_with(&port) && row[2] != "00000000:0000")
    };
    eventually("the receiver has a connection", is_taken);
    let (status, figures, complaint) = ended(&["quic", "send", &at, "--duration", "1s"]);
    assert_eq!(serde_json::from_str::<Value>(&figures).unwrap()["stream_mbps"], 0.0);
    assert!(status == Some(1) && complaint.contains("which takes one connection"), "{complaint}");
    for end in [&mut first, &mut receiver] {
        end.kill().unwrap();
        end.wait().unwrap();
    }
}
