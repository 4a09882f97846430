//! A real video call behind `qdelay link`: `demos/webrtc` has two headless Chromium, one of them behind a cellular trace, call each
//! other for some seconds.
//!
//! The checks also hold on a busy machine: pictures arrived, none sooner than the path allows, every packet is accounted for,
//! and no process or file remains. The quality of the call is not checked. Needs root, Node.js and Chromium (PATH or `CHROME`); skipped
//! without.

use crate::link_support::{assert_accounted, eventually, machine, network};
use crate::stream::{count, needs_programs, number};
use qdelay_emu::netns::Namespace;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const TRACE: &str = "synth-lte-stationary.down";
const SECONDS: &str = "12";
const DELAY_MS: f64 = 20.0;
/// Packet limit of the queue, the disciplines' default.
const LIMIT: u64 = 1000;

/// Runs the demo on `machine` with browser profiles in `profiles`; returns `results.json`.
fn call(machine: &Namespace, profiles: &Path) -> Value {
    let out = crate::common::folder("webrtc");
    let mut command = Command::new("node");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demos/webrtc/run.mjs"))
        .args(["--trace", TRACE, "--up", "5mbit", "--qdisc", "bode:target=100ms"])
        .args(["--delay", &format!("{DELAY_MS}ms"), "--seconds", SECONDS, "--start", "3"])
        .arg("--out")
        .arg(&out)
        .env("TMPDIR", profiles)
        .env("QDELAY", env!("CARGO_BIN_EXE_qdelay"));
    let output = machine.run(move || command.output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap()
}

#[test(Stream)]
fn a_call_behind_a_cellular_link() {
    needs_programs(&[("node", "--version")]);
    let machine = machine();
    let before = network(&machine);
    // A short name, because the folder holds sockets, whose paths have a limited length.
    let profiles = env::temp_dir().join(format!("qdelay-call-{}", std::process::id()));
    fs::create_dir_all(&profiles).unwrap();
    let results = call(&machine, &profiles);
    let run = &results["runs"][0];
    println!("{}", run["figures"]);
    figures_are_complete(&run["figures"]);
    pictures_came(run);
    for direction in ["down", "up"] {
        assert_accounted(&run["link"][direction], 2 * LIMIT);
    }
    assert_eq!(run["link"]["status"], 0);
    came_through_the_link(run);
    nothing_remains(&machine, &before, &profiles);
    fs::remove_dir(profiles).unwrap();
}

/// Call as a flow of `run --clock real`: the results hold the browsers' report, and the bytes are the path's.
#[test(Stream)]
fn a_call_as_a_flow() {
    needs_programs(&[("node", "--version")]);
    let profiles = env::temp_dir().join(format!("qdelay-flow-{}", std::process::id()));
    fs::create_dir_all(&profiles).unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demos/webrtc/flow.mjs");
    let command = format!("webrtc=node '{}'", demo.display());
    let (flow, told) =
        crate::stream::as_a_flow("call-flow", "webrtc", 12, &command, &[("TMPDIR", &profiles)]);
    let call = &told["call"];
    assert!(count(&call["frames_shown"]) > 0, "{told}");
    // Smallest delay: half of the path's round trip.
    assert!(number(&call["frame_delay_ms"]["p50"]) >= 10.0, "{told}");
    let seconds = number(&call["seconds"]);
    let pictures = number(&call["payload_kbps"]) * seconds * 1000.0 / 8.0;
    assert!(number(&flow["delivered_bytes"]) >= pictures, "{pictures} bytes of pictures: {flow}");
    assert_eq!(flow.get("video"), None);
    let left: Vec<_> = fs::read_dir(&profiles).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    fs::remove_dir(profiles).unwrap();
}

fn figures_are_complete(figures: &Value) {
    for name in [
        "began_s",
        "seconds",
        "ip_kbps",
        "media_kbps",
        "fps",
        "frozen_s",
        "jitter_buffer_ms",
        "height_median",
    ] {
        assert!(number(&figures[name]) >= 0.0, "{name}: {figures}");
    }
    for name in ["frames_made", "frames_encoded", "frames_decoded", "frames_dropped", "freezes", "drops"] {
        count(&figures[name]);
    }
    for name in ["frame_delay_ms", "complete_delay_ms"] {
        let [p50, p95, max] = ["p50", "p95", "max"].map(|share| number(&figures[name][share]));
        assert!(p50 <= p95 && p95 <= max, "{name}: {figures}");
    }
    assert!(number(&figures["queue_delay_ms"]["p95"]) >= 0.0 && figures["grade"].is_string(), "{figures}");
}

fn pictures_came(run: &Value) {
    let figures = &run["figures"];
    let [made, shown] = ["frames_made", "frames_shown"].map(|name| count(&figures[name]));
    assert!(shown > 10 && shown <= made, "{figures}");
    let frames = run["seen"]["received"]["frames"].as_array().unwrap();
    let delays: Vec<f64> = frames.iter().filter_map(|frame| frame[1].as_f64()).collect();
    assert!(2 * delays.len() > frames.len(), "most of the clocks are readable: {figures}");
    // Both times are whole milliseconds of one clock.
    assert!(delays.iter().all(|&delay| delay >= DELAY_MS - 1.0), "sooner than the path allows: {delays:?}");
    assert!(number(&figures["complete_delay_ms"]["p50"]) <= number(&figures["frame_delay_ms"]["p50"]) + 1.0);
}

fn came_through_the_link(run: &Value) {
    let samples = run["seen"]["received"]["samples"].as_array().unwrap();
    let media = &samples.last().unwrap()["inbound-rtp"];
    let received = number(&media["bytesReceived"]) + number(&media["headerBytesReceived"]);
    let link = &run["link"];
    // IP bytes; the rate is rounded.
    let carried = number(&link["down"]["throughput_mbps"]) * number(&link["duration_s"]) * 1e6 / 8.0 + 100.0;
    assert!(received > 0.0 && received <= carried, "{received} bytes received, {carried} carried");
}

fn nothing_remains(machine: &Namespace, before: &[String], profiles: &Path) {
    assert_eq!(network(machine), before);
    let place = || fs::read_link("/proc/thread-self/ns/net").unwrap();
    let (theirs, ours) = (machine.run(place), std::process::id().to_string());
    let mark = profiles.as_os_str().as_encoded_bytes();
    let is_left = |process: &Path| {
        let has_mark = |name: &str| {
            fs::read(process.join(name)).is_ok_and(|bytes| bytes.windows(mark.len()).any(|part| part == mark))
        };
        // A thread of this program also shows up in the list.
        !process.ends_with(&ours)
            && (fs::read_link(process.join("ns/net")).is_ok_and(|net| net == theirs)
                || ["environ", "cmdline"].into_iter().any(has_mark))
    };
    eventually("no process remains", || {
        !fs::read_dir("/proc").unwrap().flatten().any(|entry| is_left(&entry.path()))
    });
    assert_eq!(fs::read_dir(profiles).unwrap().count(), 0, "profiles of the browsers remain");
}
