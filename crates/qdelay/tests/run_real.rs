//! `qdelay run --clock real`: real packets in private namespaces. Only structure and conservation are checked, because speed
//! and load of the machine are unknown. Without root, iperf3 or namespaces each test is skipped.

use crate::common::{case_of, command, file, folder, needs_real_packets, read, refused, run, succeed};
use qdelay_testing::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};

const SCENARIO: &str = r#"
[path]
link = "10mbit"
rtt = "20ms"
limit = 50
[[flow]]
name = "file"
transport = "cubic"
[[flow]]
name = "video"
transport = "udp:1mbit"
dscp = "af41"
start = "500ms"
stop = "1500ms"
[run]
duration = "2s"
warmup = "500ms"
probe = true
"#;

#[test(Tools)]
fn a_scenario_in_real_time() {
    needs_real_packets();
    let folder = folder("run-real");
    let scenario = file(&folder, "small.toml", SCENARIO);
    let out = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (real, sim) = (out("real"), out("sim"));
    let arguments = ["run", &scenario, "--clock", "real", "--out", &real, "--packets"];
    let text = succeed(&arguments);
    assert!(text.contains("of 1 cases are trustworthy"), "{text}");

    let case = std::fs::read_dir(folder.join("real/cases")).unwrap().next().unwrap().unwrap().path();
    let run_file = read(&case.join("run.json"));
    assert_eq!(run_file["clock"], "real");
    let audit = &run_file["audit"];
    assert!(audit["lateness_ms"]["count"].as_u64().unwrap() > 100, "{audit}");
    assert_eq!(audit["trustworthy"], audit["reasons"].as_array().unwrap().is_empty());
    assert_eq!(read(&folder.join("real/study.json"))["overrides"]["clock"], "real");
    let summary = read(&folder.join("real/summary.json"));
    assert_eq!(
        (&summary["clock"], &summary["cases"][0]["trustworthy"]),
        (&Value::from("real"), &audit["trustworthy"])
    );
    check_figures(&read(&case.join("summary.json")));

    // The same command again finds all cases done; the other clock is another study.
    let before = std::fs::read(folder.join("real/summary.json")).unwrap();
    succeed(&arguments);
    assert_eq!(std::fs::read(folder.join("real/summary.json")).unwrap(), before);
    refused(&["run", &scenario, "--out", &real, "--packets"], &["under the real clock", "simulated"]);

    // Both runs on one page.
    succeed(&["run", &scenario, "--out", &sim]);
    let page = out("both.html");
    succeed(&["report", &sim, &real, "-o", &page]);
    assert!(std::fs::read_to_string(page).unwrap().contains("real"));
}

fn check_figures(case: &Value) {
    let count = |value: &Value| value.as_u64().unwrap();
    for (name, node) in case["nodes"].as_object().unwrap() {
        let gone = count(&node["forwarded_packets"]) + count(&node["dropped"]) + count(&node["inside"]);
        assert_eq!(count(&node["received_packets"]), gone, "{name}: {node}");
    }
    let node = |name: &str, key: &str| count(&case["nodes"][name][key]);
    assert_eq!(node("bottleneck", "forwarded_packets"), node("link", "received_packets"));
    assert!(node("senders", "received_packets") > 0, "acknowledgements come back");
    assert_eq!(
        count(&case["drops"]),
        case["drops_by_reason"].as_object().unwrap().values().map(count).sum::<u64>()
    );
    assert_eq!(count(&case["packets_forwarded"]), node("link", "forwarded_packets"));
    for name in ["file", "video"] {
        let group = &case["groups"][name];
        assert!(group["throughput_mbps"].as_f64().unwrap() > 0.0, "{name}: {group}");
        assert!(count(&group["packets_lost"]) <= count(&group["packets_sent"]), "{name}: {group}");
    }
    let video = &case["flows"][1];
    // At 1 Mbit/s a packet of 1200 bytes every 9.6 ms, from 0.5 s to 1.5 s, the one at the start included.
    assert!(count(&video["packets_sent"]) <= 105, "{video}");
    assert_eq!(count(&video["delivered_bytes"]) % 1172, 0, "whole datagrams: {video}");
    assert!(count(&case["probe_sent"]) > 0 && count(&case["probe_lost"]) <= count(&case["probe_sent"]));
    assert!(case["throughput_mbps"].as_f64().unwrap() <= 10.1, "{case}");
    let series = &case["series"];
    for list in ["capacity_mbps", "throughput_mbps", "delay_mean_ms", "backlog_packets", "drops"] {
        assert_eq!(series[list].as_array().unwrap().len(), 200, "{list}");
    }
    let total: u64 = series["drops"].as_array().unwrap().iter().map(count).sum();
    assert_eq!(total, count(&case["drops"]));
    let of_file = |measure: &str, figure: &str| case["groups"]["file"][measure][figure].as_f64().unwrap();
    assert!(
        of_file("in_order_ms", "mean") >= of_file("one_way_delay_ms", "mean"),
        "order takes time: {case}"
    );
    assert_eq!(case["groups"]["video"]["in_order_ms"], Value::Null);
    assert!(!case["delay_cdf"]["ms"].as_array().unwrap().is_empty());
}

/// A call of G.711 beside a download.
const CALL: &str = r#"
[path]
link = "10mbit"
rtt = "20ms"
qdisc = "bode"
[[flow]]
name = "call"
transport = "udp:80kbit:size=200b"
dscp = "ef"
[[flow]]
name = "short"
transport = "udp:80kbit:size=200b"
start = "500ms"
stop = "1500ms"
[[flow]]
name = "file"
transport = "cubic"
[run]
duration = "3s"
"#;

#[test(Tools)]
fn calls_are_made_by_irtt() {
    needs_real_packets();
    let folder = folder("run-real-call");
    let scenario = file(&folder, "call.toml", CALL);
    let out = folder.join("out");
    // Without irtt the command says so and continues.
    let arguments = ["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap()];
    let ran = crate::common::command(&arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let case = case_of(&out);
    let (run, summary) = (read(&case.join("run.json")), read(&case.join("summary.json")));
    let flow = |name: &str| {
        summary["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == name).unwrap().clone()
    };
    let count = |value: &Value| value.as_u64().unwrap();
    // A packet every 20 ms; a program takes some time to start.
    assert!((100..=151).contains(&count(&flow("call")["packets_sent"])), "{summary}");
    assert!((30..=51).contains(&count(&flow("short")["packets_sent"])), "{summary}");
    assert_eq!(count(&flow("call")["delivered_bytes"]) % 172, 0, "whole datagrams");
    let irtt = run["audit"]["irtt"].as_array().cloned().unwrap_or_default();
    if !Command::new("irtt").arg("version").output().is_ok_and(|output| output.status.success()) {
        assert!(irtt.is_empty(), "this program's own sender has no more to say");
        return;
    }
    assert_eq!(irtt.iter().map(|irtt| irtt["flow"].as_str().unwrap()).collect::<Vec<_>>(), ["call", "short"]);
    for told in &irtt {
        let (sent, there, back) = (&told["sent"], &told["received_forward"], &told["received_reverse"]);
        assert!(count(back) <= count(there) && count(there) <= count(sent) && count(back) > 0, "{told}");
        assert!(told["round_trip_min_ms"].as_f64().unwrap() >= 20.0, "{told}");
        assert!(told["forward_min_ms"].as_f64().unwrap() >= 10.0, "{told}");
    }
    let reasons = run["audit"]["reasons"].to_string();
    assert!(!reasons.contains("irtt measured"), "{reasons}");
}

/// Path of hops, the first of them the narrowest.
const HOPS: &str = r#"
[path]
link = "20mbit"
rtt = "20ms"
[[path.hop]]
name = "narrow"
link = "5mbit"
limit = 30
delay = "5ms"
[[path.hop]]
name = "wide"
link = "50mbit"
[[flow]]
name = "bulk"
transport = "udp:8mbit:size=1000b"
access_rate = "30mbit"
access_jitter = "1ms"
[run]
duration = "2s"
"#;

#[test(Tools)]
fn hops_in_real_time() {
    needs_real_packets();
    let folder = folder("run-real-hops");
    let scenario = file(&folder, "hops.toml", HOPS);
    let out = folder.join("out");
    succeed(&["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap()]);
    let summary = read(&out.join("summary.json"));
    let (case, count) = (&summary["cases"][0], |value: &Value| value.as_u64().unwrap());
    let hop = |name: &str| &case["hops"][name];
    let narrow = hop("narrow");
    assert!(count(&narrow["drops"]) > 100, "{narrow}");
    assert_eq!(count(&narrow["arrived"]), count(&case["flows"][0]["packets_sent"]));
    assert_eq!((&hop("wide")["drops"], &case["drops"]), (&0.into(), &0.into()));
    // 30 of 1000 bytes wait, and one is being sent: 1.6 ms each.
    let longest = narrow["queue_delay_ms"]["max"].as_f64().unwrap();
    assert!((45.0..50.0).contains(&longest), "{narrow}");
    let json = folder.join("link.json");
    let show = ["--json", json.to_str().unwrap(), "--quiet", "--", "sh", "-c", "echo $QDELAY_LINK"];
    let text = succeed(&[&["link", "--scenario", &scenario][..], &show].concat());
    assert_eq!(text.trim(), "down 20mbit taildrop, up 48mbit taildrop:limit=1000, 10ms");
}

#[test(Tools)]
fn the_path_of_a_scenario_as_a_link() {
    needs_real_packets();
    let folder = folder("run-real-link");
    let scenario = file(&folder, "call.toml", CALL);
    let json = folder.join("link.json");
    let show = ["--json", json.to_str().unwrap(), "--quiet", "--", "sh", "-c", "echo $QDELAY_LINK"];
    let text = succeed(&[&["link", "--scenario", &scenario][..], &show].concat());
    assert_eq!(text.trim(), "down 10mbit bode, up 48mbit taildrop:limit=1000, 10ms");
    assert_eq!(read(&json)["links"]["down"]["qdisc"], "bode");
    let text = succeed(&[&["link", "--scenario", "demo/first:4-pie-cubic"][..], &show].concat());
    assert_eq!(text.trim(), "down synth-lte-driving pie, up 48mbit taildrop:limit=1000, 10ms");
    // Uploaded packets are counted without an uplink too.
    let hop = "uplink = \"none\"\n[[path.hop]]\nlink = \"30mbit\"\n[[flow]]";
    let scenario = file(&folder, "none.toml", CALL.replacen("[[flow]]", hop, 1));
    let send = "echo $QDELAY_LINK; echo hello >/dev/udp/$QDELAY_OUTSIDE/9";
    let show = ["--json", json.to_str().unwrap(), "--quiet", "--", "bash", "-c", send];
    let text = succeed(&[&["link", "--scenario", &scenario][..], &show].concat());
    assert_eq!(text.trim(), "down 10mbit bode, 10ms");
    assert!(read(&json)["up"]["packets_arrived"].as_u64().unwrap() > 0);
    refused(&["link", "--scenario", "demo/first", "--", "true"], &["path.qdisc", "4-pie-cubic"]);
    refused(&["link", "--scenario", "demo/first:nine", "--", "true"], &["no case 'nine'"]);
    refused(&["link", "--scenario", "demo/first:0", "--down", "5mbit", "--", "true"], &["--down"]);
    refused(&["link", "--scenario", "no/such", "--", "true"], &["no/such"]);
}

/// Line loaded in both directions, with pings in both.
const BOTH_WAYS: &str = r#"
[path]
link = "10mbit"
uplink = "4mbit"
rtt = "20ms"
qdisc = "codel"
uplink_qdisc = "codel"
[[flow]]
name = "down"
[[flow]]
name = "up"
direction = "up"
dscp = "cs1"
[[flow]]
name = "sent"
direction = "up"
transport = "udp:400kbit"
[[flow]]
name = "ping"
transport = "udp:13440bit:size=84b:echo=on"
[[flow]]
name = "ping-up"
direction = "up"
transport = "udp:13440bit:size=84b:echo=on"
[run]
duration = "3s"
"#;

#[test(Tools)]
fn uploads_and_pings_in_real_time() {
    needs_real_packets();
    let folder = folder("run-real-up");
    let scenario = file(&folder, "both.toml", BOTH_WAYS);
    let out = folder.join("out").display().to_string();
    succeed(&["run", &scenario, "--clock", "real", "--no-report", "--out", &out]);
    let case = std::fs::read_dir(folder.join("out/cases")).unwrap().next().unwrap().unwrap().path();
    let summary = read(&case.join("summary.json"));
    let group = |name: &str, figure: &str| summary["groups"][name][figure].as_f64().unwrap();
    for (name, least, most) in [("down", 1.0, 10.0), ("up", 0.4, 4.0), ("sent", 0.2, 0.5)] {
        let rate = group(name, "throughput_mbps");
        assert!((least..=most).contains(&rate), "{name}: {rate}: {summary}");
        assert_eq!(summary["groups"][name]["direction"] == "up", name != "down");
    }
    assert!(summary["uplink"]["utilization"].as_f64().unwrap() > 0.1, "{}", summary["uplink"]);
    for name in ["ping", "ping-up"] {
        let round_trip = &summary["groups"][name]["round_trip_ms"];
        let [count, mean] = ["count", "mean"].map(|of| round_trip[of].as_f64().unwrap());
        // 20 a second, and no less than the path's own.
        assert!((20.0..=60.0).contains(&count) && mean >= 20.0, "{name}: {round_trip}");
    }
    // Every sent packet is accounted for: no loss between link and receivers.
    let audit = read(&case.join("run.json"))["audit"].clone();
    assert!(!audit["reasons"].to_string().contains("between the link and their receiver"), "{audit}");
}

/// Program that sends datagrams, and reports like a video player.
const PROGRAM: &str = r#"#!/usr/bin/env bash
echo ready
read -r word
if [ "$QDELAY_END" = outside ]; then
    for number in {1..40}; do printf '%0200d' "$number" >"/dev/udp/$QDELAY_INSIDE/9"; sleep 0.01; done
    cat >/dev/null
    exit
fi
cat >/dev/null
echo "{\"stream\": {\"chunks\": 4, \"bitrate_mbps\": 1.5, \"startup_ms\": 200, \"stalls\": 1, \"stalled_s\": 0.5, \"switches\": 2,
\"played_s\": 16, \"qoe\": 3.5, \"qoe_per_chunk\": 0.875}, \"word\": \"$word\", \"seconds\": $QDELAY_SECONDS}" | tr -d '\n'
"#;

const FILM: &str = r#"
[path]
link = "5mbit"
rtt = "20ms"
[[flow]]
name = "film"
transport = "dash:bola:over=reno"
start = "500ms"
[run]
duration = "2s"
"#;

#[test(Tools)]
fn a_program_of_the_user_is_a_flow() {
    needs_real_packets();
    let folder = folder("run-real-program");
    let scenario = file(&folder, "film.toml", FILM);
    let program = file(&folder, "program.sh", PROGRAM);
    let out = folder.join("out");
    let start = ["run", &scenario, "--clock", "real", "--no-report", "--out", out.to_str().unwrap()];
    let option = format!("dash=bash {program}");
    succeed(&[&start[..], &["--program", &option]].concat());
    let case = case_of(&out);
    let (summary, audit) = (read(&case.join("summary.json")), read(&case.join("run.json"))["audit"].clone());
    let flow = &summary["flows"][0];
    assert_eq!((&flow["stream"]["chunks"], &flow["stream"]["qoe"]), (&Value::from(4.0), &Value::from(3.5)));
    assert_eq!(summary["groups"]["film"]["stream"], flow["stream"]);
    // The program's datagrams belong to the flow, although no port identifies them.
    let [sent, delivered] = ["packets_sent", "delivered_bytes"].map(|name| flow[name].as_u64().unwrap());
    assert!((1..=40).contains(&sent) && delivered > 0 && delivered <= sent * (200 + 28 - 52), "{flow}");
    assert_eq!(delivered % (200 + 28 - 52), 0, "{flow}");
    let told = &audit["programs"][0];
    assert_eq!(
        (&told["flow"], &told["command"]),
        (&Value::from("film"), &Value::from(option.replacen("dash=", "", 1)))
    );
    assert_eq!(
        (&told["report"]["word"], &told["report"]["seconds"]),
        (&Value::from("start"), &Value::from(1.5))
    );

    let refuse = |option: &str, parts: &[&str]| {
        let out = folder.join("refused");
        refused(
            &["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap(), "--program", option],
            parts,
        );
    };
    refuse("dash=echo no such film >&2; exit 3", &["flow 'film'", "no such film", "exit status: 3"]);
    refuse("dash=echo ready; read -r word; exit 0", &["flow 'film'", "it printed nothing"]);
    refuse(
        "dash=echo ready; cat >/dev/null; echo well",
        &["flow 'film'", "its last line is not JSON", "{\"stream\": {...}}"],
    );
    refuse("web=true", &["flow 'film'", "there is no program for this application", "--program"]);
    refuse("cubic=true", &["--program", "'cubic'", "expected dash, web"]);
    refused(&["run", &scenario, "--program", "dash=true"], &["--program", "--clock real"]);
    let other = |number: &str, text: &str, parts: &[&str]| {
        let scenario = file(&folder, number, FILM.replacen("transport = \"dash:bola:over=reno\"", text, 1));
        let out = folder.join("refused");
        refused(
            &["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap(), "--program", "dash=true"],
            parts,
        );
    };
    other("quic.toml", "transport = \"dash:over=quic\"", &["flow 'film'", "expected TCP in over"]);
    other(
        "two.toml",
        "transport = \"dash:over=reno\"\ncount = 2",
        &["film-1", "film-2", "expected one such flow"],
    );
    other(
        "up.toml",
        "transport = \"dash:over=reno\"\ndirection = \"up\"",
        &["flow 'film'", "remove direction"],
    );
    other("ns3.toml", "transport = \"dash:over=[reno:profile=ns3]\"", &["flow 'film'", "the kernel's TCP"]);
}

#[test(Tools)]
fn unsupported_scenarios_are_refused_in_real_time() {
    needs_real_packets();
    let folder = folder("run-real-refused");
    for (number, (flow, parts)) in [
        ("transport = \"cubic:profile=ns3\"", ["cubic:profile=ns3", "the kernel's TCP"]),
        ("transport = \"cubic:bytes=1mb\"", ["cubic:bytes=1mb", "remove bytes"]),
        ("transport = \"udp:1mbit:size=3000b\"", ["3000", "at most 1500"]),
        ("transport = \"cubic\"\ncount = 300", ["300 flows", "at most 200"]),
        ("transport = \"cubic\"\nsecond_dscp = \"ef\"", ["second_dscp", "one codepoint"]),
        ("transport = \"udp:1mbit:size=28b:echo=on\"", ["udp:1mbit:size=28b:echo=on", "at least 32"]),
        ("transport = \"cubic\"\ndiscard_delay = \"20ms\"", ["discard_delay", "remove it"]),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("[path]\nlink = \"10mbit\"\n[[flow]]\n{flow}\n[run]\nduration = \"2s\"\n");
        let scenario = file(&folder, &format!("{number}.toml"), text);
        let out = folder.join("out");
        refused(&["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap()], &parts);
        assert!(!out.exists(), "nothing is begun");
    }
}

#[test(Tools)]
fn without_iperf3_it_says_what_to_install() {
    needs_real_packets();
    let folder = folder("run-real-missing");
    let scenario = file(&folder, "small.toml", SCENARIO);
    let out = folder.join("out");
    let output = command(&["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap()])
        .env("PATH", folder.as_os_str())
        .output()
        .unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(line.contains("(package iperf3)"), "{line}");
}

#[test]
fn options_of_the_other_clock() {
    refused(&["run", "demo/first", "--strict"], &["--strict", "--clock real"]);
    refused(&["run", "demo/first", "--no-realtime"], &["--no-realtime"]);
    refused(&["run", "demo/first", "--clock", "real", "--jobs", "2"], &["--jobs", "one after another"]);
    refused(&["run", "demo/first", "--control", "/tmp/x.sock"], &["--control", "--clock real"]);
    refused(&["run", "demo/first", "--http", "127.0.0.1:0"], &["--http", "--clock real"]);
    let several = ["run", "demo/first", "--seeds", "1,2", "--clock", "real", "--control", "/tmp/x.sock"];
    refused(&several, &["--control", "one case by hand", "expected a scenario with one"]);
    assert!(!run(&["run", "demo/first", "--clock", "mine"]).status.success());
}

/// A change by hand is in the results, its case is no longer the scenario's, and the next run does not take it for that.
#[test]
fn case_is_changed_by_hand() {
    needs_real_packets();
    let folder = folder("run-real-changed");
    let text = "[path]\nlink = \"10mbit\"\nlimit = 50\n[[flow]]\nname = \"video\"\ntransport = \"udp:4mbit\"\n\
                [run]\nduration = \"4s\"\n\
                [[expect]]\nclaim = \"all arrives\"\nmeasure = \"groups.video.throughput_mbps\"\nunit = \"Mbit/s\"\nlow = 3\n";
    let scenario = file(&folder, "changed.toml", text);
    let (out, socket) = (folder.join("out"), folder.join("case.sock"));
    let (out_name, socket_name) = (out.to_str().unwrap(), socket.to_str().unwrap());
    let common = ["run", &scenario, "--clock", "real", "--no-realtime", "--out", out_name];
    let child = command(&common)
        .args(["--control", socket_name, "--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the socket is there", || socket.exists());
    // A request that comes before the case has begun waits for it.
    let said = succeed(&["set", socket_name, "down=1mbit"]);
    assert!(said.starts_with("set down=1mbit at "), "{said}");
    let output = child.wait_with_output().unwrap();
    let (printed, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "an expectation is not judged: {complaint}");
    assert!(complaint.contains("control: http://127.0.0.1:"), "{complaint}");
    assert!(printed.contains("changed by hand: ") && printed.contains(", 1 changes"), "{printed}");
    assert!(!socket.exists());

    let case = || std::fs::read_dir(out.join("cases")).unwrap().next().unwrap().unwrap().path();
    let change = read(&case().join("run.json"))["audit"]["changes"][0].clone();
    assert_eq!(change["what"], "set down=1mbit");
    let from = change["time_s"].as_f64().unwrap();
    let summary = read(&case().join("summary.json"));
    // Bins of 10 ms; a packet of 1200 bytes takes 9.6 ms on the new link, and one may be on the old one.
    let bins: Vec<f64> = summary["series"]["capacity_mbps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin.as_f64().unwrap())
        .collect();
    assert!(bins[(from * 100.0) as usize + 3..].iter().all(|bin| (0.9..1.1).contains(bin)), "{bins:?}");
    let whole = read(&out.join("summary.json"));
    assert_eq!(
        (&whole["cases"][0]["changes"], &whole["expects"][0]["verdict"]),
        (&1.into(), &"skipped".into())
    );
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("changed_by_hand"));

    // The same study without changes: the case is run again.
    let again = command(&common).output().unwrap();
    let complaint = String::from_utf8_lossy(&again.stderr);
    assert!(complaint.contains("was changed by hand while it ran; it is run again"), "{complaint}");
    let summary = read(&out.join("summary.json"));
    assert_eq!(summary["cases"][0]["changes"], Value::Null);
    assert_ne!(summary["expects"][0]["verdict"], "skipped");
    // A case that is done is not run for the sake of a socket.
    let idle = command(&common).args(["--control", socket_name]).output().unwrap();
    let complaint = String::from_utf8_lossy(&idle.stderr);
    assert!(complaint.contains("no request reached it; --fresh runs it again"), "{complaint}");

    // A request to stop leaves no results.
    let child =
        command(&common).args(["--fresh", "--control", socket_name]).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the socket is there", || socket.exists());
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    std::io::Write::write_all(&mut stream, b"{\"command\":\"stop\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("stopped by a request before its end"), "{complaint}");
    assert!(!out.join("summary.json").exists());
}

/// Temporary files of a run with a user's program are removed at its end, after an interrupt, and after `kill -9` by the next run.
#[test(Tools)]
fn real_leftover() {
    needs_real_packets();
    let folder = folder("real-leftover");
    let scenario =
        "[path]\nlink = \"5mbit\"\n[[flow]]\nname = \"v\"\ntransport = \"dash\"\n[run]\nduration = \"2s\"\n";
    let scenario = file(&folder, "r.toml", scenario);
    let temporary = folder.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let left = || std::fs::read_dir(&temporary).unwrap().count();
    let killed_by = |signal: Signal| {
        let out = folder.join("out").display().to_string();
        let mut run =
            command(&["run", &scenario, "--clock", "real", "--no-realtime", "--fresh", "--out", &out]);
        run.args(["--program", "dash=sleep 60"]).env("TMPDIR", &temporary);
        let said = folder.join("said");
        let mut run = run.stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap();
        eventually("the program has a folder", || {
            let ended = run.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", std::fs::read_to_string(&said).unwrap());
            left() > 0
        });
        kill_process(Pid::from_child(&run), signal).unwrap();
        run.wait().unwrap();
    };
    killed_by(Signal::INT);
    assert_eq!(left(), 0, "after an interrupt");
    killed_by(Signal::KILL);
    assert_eq!(left(), 1);
    // The next run removes them before it makes its own folder.
    let before = std::fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path();
    let out = folder.join("next").display().to_string();
    let output = run(&[
        "run",
        &scenario,
        "--clock",
        "real",
        "--no-realtime",
        "--out",
        &out,
        "--program",
        "dash=exit 3",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(before.exists(), "another folder of temporary files");
    let mut next = command(&["run", &scenario, "--clock", "real", "--no-realtime", "--out", &out]);
    next.args(["--program", "dash=exit 3"]).env("TMPDIR", &temporary);
    assert_eq!(next.output().unwrap().status.code(), Some(2));
    assert_eq!(left(), 0, "after the next run");
}
