//! A real application behind `qdelay link`: `demos/dash` plays a DASH stream in a headless Chromium for some seconds, behind a
//! cellular trace, with TailDrop and with BoDe.
//!
//! The checks also hold on a busy machine: all packets are accounted for, and the link's own decisions have their consequences.
//! The quality of the picture is not checked. Needs root, Node.js with npm, ffmpeg and Chromium (PATH or `CHROME`), and once
//! the registry of npm; skipped without.

use crate::link_support::machine;
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Trace without outages, so that the bound on the sojourn is meaningful.
const TRACE: &str = "synth-lte-stationary.down";
const SECONDS: &str = "12";
const DELAY_MS: f64 = 10.0;
const TARGET_MS: f64 = 20.0;
/// Packet limit of the queue, the disciplines' default.
const LIMIT: u64 = 1000;

/// Skips the test if one of `programs`, each with an argument that it answers, or a browser is missing.
pub fn needs_programs(programs: &[(&str, &str)]) {
    let answers = |name: &OsString, argument: &str| {
        Command::new(name).arg(argument).output().is_ok_and(|output| output.status.success())
    };
    for &(name, argument) in programs {
        if !answers(&name.into(), argument) {
            skip(Need::Stream, format_args!("no {name} in PATH"));
        }
    }
    let named = env::var_os("CHROME").map(|name| vec![name]);
    let usual = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let browsers = named.unwrap_or_else(|| usual.map(OsString::from).to_vec());
    if !browsers.iter().any(|name| answers(name, "--version")) {
        skip(Need::Browser, "no Chromium in PATH, and CHROME names none");
    }
}

/// Copy of the demo with its packages below `target`, kept for the next time.
fn demo() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demos/dash");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dash");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(&source).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    fs::copy(source.join("../shared.mjs"), folder.join("../shared.mjs")).unwrap();
    let wanted = fs::read_to_string(folder.join("package-lock.json")).unwrap();
    let installed = folder.join("installed-lock.json");
    if fs::read_to_string(&installed).is_ok_and(|lock| lock == wanted) {
        return folder;
    }
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--fetch-timeout=30000", "--fetch-retries=1"])
        .current_dir(&folder)
        .output()
        .unwrap();
    if !output.status.success() {
        skip(Need::Stream, format_args!("npm ci: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    fs::write(installed, wanted).unwrap();
    folder
}

/// The simulator's rules as WebAssembly, built below `target`. Skips the test where the Rust in use has no such target.
fn rules() -> PathBuf {
    const TARGET: &str = "wasm32-unknown-unknown";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demos/dash/rule");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dash-rule");
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(&source)
        .output();
    let is_there =
        |output: std::process::Output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists();
    if !library.is_ok_and(is_there) {
        skip(Need::Tools, format_args!("the target {TARGET} is not installed"));
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked", "--offline", "--target", TARGET])
        .env("CARGO_TARGET_DIR", &folder)
        .current_dir(&source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join(TARGET).join("release/qdelay_dash_rule.wasm")
}

/// Runs the demo on `machine`, with its results in `out`; `results.json`. Skips the test where the browser or ffmpeg lack a codec.
fn play(machine: &Namespace, demo: &Path, out: &Path, arguments: &[&str], rules: Option<&Path>) -> Value {
    let mut command = Command::new("node");
    if let Some(rules) = rules {
        command.env("QDELAY_DASH_RULE", rules);
    }
    command
        .arg(demo.join("run.mjs"))
        .args(arguments)
        .arg("--out")
        .arg(out)
        .env("QDELAY", env!("CARGO_BIN_EXE_qdelay"))
        .env("QDELAY_DASH_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("dash-stream"));
    let output = machine.run(move || command.output().unwrap());
    let complaint = String::from_utf8_lossy(&output.stderr);
    for lack in ["this browser does not play", "Unknown encoder 'libx264'"] {
        if complaint.contains(lack) {
            skip(Need::Stream, complaint.trim());
        }
    }
    assert!(output.status.success(), "{complaint}");
    println!("{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no whole number: {value}"))
}

/// The longest time in which the trace has no more than three opportunities, in ms.
fn longest_for_three() -> f64 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../qdelay-trace/traces").join(TRACE);
    let text = fs::read_to_string(file).unwrap();
    let once: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    let round = *once.last().unwrap();
    let twice: Vec<u32> = once.iter().copied().chain(once.iter().map(|at| at + round)).collect();
    twice.windows(4).map(|four| f64::from(four[3] - four[0])).fold(0.0, f64::max)
}

#[test(Stream)]
fn a_stream_behind_a_cellular_link() {
    needs_programs(&[("node", "--version"), ("npm", "--version"), ("ffmpeg", "-version")]);
    let out = crate::common::folder("stream");
    let (delay, qdiscs) = (format!("{DELAY_MS}ms"), format!("taildrop,bode:target={TARGET_MS}ms"));
    let options =
        ["--trace", TRACE, "--up", "5mbit", "--seconds", SECONDS, "--delay", &delay, "--qdisc", &qdiscs];
    let results = play(&machine(), &demo(), &out, &options, None);
    assert!(fs::read_to_string(out.join("plot.html")).unwrap().contains("<svg"));
    let runs = results["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        println!("{}", run["figures"]);
        played(run);
        accounted_for(&run["link"]);
        bytes_came_through_the_link(run);
        round_trips(run);
    }
    only_the_limit_drops(&runs[0]["link"]["down"]);
    bounded(&runs[1]["link"]["down"]);
}

/// The rules of the page choose like the published programs over the same downloads.
#[test(Stream)]
fn rules_in_a_page_choose_as_published_programs_do() {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip(Need::Stream, "no node in PATH");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("node")
        .arg(root.join("demos/dash/rule.test.mjs"))
        .arg(rules())
        .arg(root.join("crates/qdelay-traffic/tests/reference"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("470 of 470 choices").count(), 4, "{text}");
}

/// dash.js with the simulator's rule and video compared with the simulation: the same chunks with the sizes of the video, figures that
/// follow from
/// the observed chunks, and none faster than the link.
#[test(Stream)]
fn the_simulated_film_in_a_browser() {
    needs_programs(&[("node", "--version"), ("npm", "--version"), ("ffmpeg", "-version")]);
    let (rules, machine, out) = (rules(), machine(), crate::common::folder("film"));
    let options =
        ["--abr", "robustmpc", "--trace", "3mbit", "--up", "5mbit", "--length", "16", "--delay", "10ms"];
    let results =
        play(&machine, &demo(), &out, &[&options[..], &["--qdisc", "taildrop"]].concat(), Some(&rules));
    let run = &results["runs"][0];
    accounted_for(&run["link"]);
    let (stream, simulated, player) = (&run["stream"], &run["simulated"], &run["seen"]["player"]);
    let names = |figures: &Value| figures.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(stream), names(simulated));
    assert_eq!((number(&stream["chunks"]), number(&simulated["chunks"])), (4.0, 4.0), "{stream}");
    let chunks = player["chunks"].as_array().unwrap();
    // First chunk at the second bit rate in both, as in the rule's program.
    assert_eq!(count(&chunks[0]["rung"]), 1);
    let ladder = [0.3, 0.75, 1.2, 1.85, 2.85, 4.3];
    let rates: Vec<f64> = chunks.iter().map(|chunk| ladder[count(&chunk["rung"]) as usize]).collect();
    let changes: f64 = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
    let waits = number(&stream["startup_ms"]) / 1000.0 + number(&stream["stalled_s"]);
    let qoe = rates.iter().sum::<f64>() - changes - 4.3 * waits;
    assert!((number(&stream["qoe"]) - qoe).abs() < 1e-6, "{qoe}: {stream}");
    assert!((number(&stream["bitrate_mbps"]) - rates.iter().sum::<f64>() / 4.0).abs() < 1e-9, "{stream}");
    let mut total = 0.0;
    for (chunk, rate) in chunks.iter().zip(&rates) {
        let [bytes, asked, last] = ["bytes", "asked", "last"].map(|name| number(&chunk[name]));
        assert!((bytes - rate * 5e5).abs() <= 0.2 * rate * 5e5, "within the variation of a video: {chunk}");
        // 3 Mbit/s with headers, but for what the queue of a thousand packets had before; and the path's round trip.
        assert!((last - asked) / 1000.0 >= bytes * 8.0 / 3e6 - 0.002, "{chunk}");
        total += bytes;
    }
    assert!(number(&stream["startup_ms"]) >= 40.0, "two round trips: {stream}");
    let carried =
        number(&run["link"]["down"]["throughput_mbps"]) * number(&run["link"]["duration_s"]) * 1e6 / 8.0;
    assert!(total <= carried + 100.0, "{total} bytes of chunks, {carried} carried");
    let played = number(&stream["played_s"]);
    assert!((15.5..=16.5).contains(&played), "{stream}");
}

/// Scenario with one flow, run by a command in `demos` in real time; returns the flow's figures, and the command's output.
pub fn as_a_flow(
    name: &str,
    transport: &str,
    seconds: u32,
    command: &str,
    environment: &[(&str, &Path)],
) -> (Value, Value) {
    crate::common::needs_real_packets();
    let folder = crate::common::folder(name);
    let text = format!(
        "[path]\nlink = \"5mbit\"\nuplink = \"5mbit\"\nrtt = \"20ms\"\n[[flow]]\nname = \"flow\"\ntransport = \"{transport}\"\n\
         start = \"1s\"\n[run]\nduration = \"{seconds}s\"\n"
    );
    let scenario = crate::common::file(&folder, "flow.toml", text);
    let out = folder.join("out");
    let words = [
        "run",
        &scenario,
        "--clock",
        "real",
        "--no-report",
        "--out",
        out.to_str().unwrap(),
        "--program",
        command,
    ];
    let mut start = crate::common::command(&words);
    environment.iter().for_each(|(key, value)| {
        start.env(key, value);
    });
    let output = start.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("this browser does not play") {
        skip(Need::Stream, complaint.trim());
    }
    assert!(output.status.success(), "{complaint}");
    let case = crate::common::case_of(&out);
    let [summary, run] = ["summary.json", "run.json"].map(|name| crate::common::read(&case.join(name)));
    println!("{}", summary["flows"][0]);
    (summary["flows"][0].clone(), run["audit"]["programs"][0]["report"].clone())
}

/// Player as a flow of `run --clock real`: the flow's figures are the player's, and its bytes are the path's.
#[test(Stream)]
fn the_film_as_a_flow() {
    needs_programs(&[("node", "--version"), ("npm", "--version"), ("ffmpeg", "-version")]);
    let (rules, demo) = (rules(), demo());
    let command = format!("dash=node '{}'", demo.join("flow.mjs").display());
    let (flow, told) =
        as_a_flow("film-flow", "dash:bb:over=reno:length=8s", 16, &command, &[("QDELAY_DASH_RULE", &rules)]);
    let (stream, chunks) = (&flow["stream"], told["chunks"].as_array().unwrap());
    assert_eq!((number(&stream["chunks"]), chunks.len()), (2.0, 2), "{told}");
    // With less than 5 s in the buffer it stays at the lowest bit rate.
    assert!(chunks.iter().all(|chunk| chunk["rung"] == 0), "{told}");
    let waits = number(&stream["startup_ms"]) / 1000.0 + number(&stream["stalled_s"]);
    assert!((number(&stream["qoe"]) - (0.6 - 4.3 * waits)).abs() < 1e-3, "{stream}");
    assert!(number(&stream["startup_ms"]) >= 20.0, "{stream}");
    let bytes: f64 = chunks.iter().map(|chunk| number(&chunk["bytes"])).sum();
    let delivered = number(&flow["delivered_bytes"]);
    assert!(
        delivered >= bytes && delivered <= 1.1 * bytes + 10_000.0,
        "{bytes} bytes of chunks, {delivered} delivered"
    );
}

fn played(run: &Value) {
    let (figures, player) = (&run["figures"], &run["seen"]["player"]);
    assert_eq!(player["errors"], serde_json::json!([]));
    assert!(number(&figures["played_s"]) > 1.0, "{figures}");
    // More played time than wall time would mean that nothing was played.
    let seconds: f64 = SECONDS.parse().unwrap();
    let elapsed = (number(&player["ended"]) - number(&player["started"])) / 1000.0;
    assert!(elapsed >= seconds - 1.0 && number(&figures["played_s"]) <= elapsed + 0.5, "{figures}");
    let positions: Vec<f64> =
        player["samples"].as_array().unwrap().iter().map(|sample| number(&sample["position"])).collect();
    assert!(positions.len() > 4 && positions.is_sorted(), "{positions:?}");
    assert!(count(&figures["frames_shown"]) > 24, "{figures}");
    let qualities = figures["qualities_loaded_kbps"].as_array().unwrap();
    assert!(!qualities.is_empty(), "{figures}");
    assert!(qualities.iter().all(|kbps| [300, 800, 2000, 4000].contains(&count(kbps))), "{figures}");
    assert!(number(&figures["bitrate_kbps"]) >= 300.0 && number(&figures["bitrate_kbps"]) <= 4000.0);
}

/// Arrived packets were forwarded, dropped or are still inside; the verdict names the rest.
fn accounted_for(link: &Value) {
    for direction in ["down", "up"] {
        let figures = &link[direction];
        let [arrived, delivered, drops] =
            ["packets_arrived", "packets_delivered", "drops"].map(|name| count(&figures[name]));
        assert!(delivered > 100, "{figures}");
        // A full queue, plus packets on the link and behind it.
        assert!((delivered + drops..=delivered + drops + 2 * LIMIT).contains(&arrived), "{figures}");
        let reasons = figures["drops_by_reason"].as_object().unwrap();
        assert_eq!(reasons.values().map(count).sum::<u64>(), drops, "{figures}");
        assert_eq!((count(&figures["malformed"]), count(&figures["marks"])), (0, 0), "{figures}");
    }
    let audit = &link["audit"];
    assert_eq!(audit["trustworthy"].as_bool().unwrap(), audit["reasons"].as_array().unwrap().is_empty());
    assert!(count(&audit["lost_outside"]) == 0 || audit["trustworthy"] == false, "{audit}");
    assert_eq!(link["status"], 0);
}

fn bytes_came_through_the_link(run: &Value) {
    let (figures, down) = (&run["figures"], &run["link"]["down"]);
    assert_eq!(count(&figures["cached_loads"]), 0, "the browser had some already");
    let received = number(&figures["received_bytes"]);
    // IP bytes; the rate is rounded.
    let carried = number(&down["throughput_mbps"]) * number(&run["link"]["duration_s"]) * 1e6 / 8.0 + 100.0;
    assert!(received <= carried, "{received} bytes received, {carried} carried");
    assert!(carried <= 1500.0 * number(&down["packets_delivered"]) + 1500.0 * LIMIT as f64, "{down}");
    let segments = run["seen"]["player"]["segments"].as_array().unwrap();
    let of_segments: f64 = segments.iter().map(|segment| number(&segment["bytes"])).sum();
    assert!(of_segments > 0.0 && number(&run["seen"]["bulk"]["bytes"]) > 0.0, "{figures}");
    assert!(of_segments <= received, "{of_segments} bytes of segments, {received} of everything");
}

fn round_trips(run: &Value) {
    let rtt = &run["figures"]["rtt_ms"];
    assert!(count(&rtt["sent"]) > 20 && count(&rtt["sent"]) > count(&rtt["lost"]), "{rtt}");
    for ping in run["seen"]["pings"].as_array().unwrap() {
        if !ping["rtt"].is_null() {
            assert!(number(&ping["rtt"]) >= 2.0 * DELAY_MS, "{ping}: shorter than the way");
        }
    }
}

fn only_the_limit_drops(down: &Value) {
    assert!(
        down["drops_by_reason"].as_object().unwrap().keys().all(|reason| reason == "tail_limit"),
        "{down}"
    );
}

/// Check of a decision by the queue's own times, so that the machine's lateness does not matter. A packet served after more than `target`
/// has at
/// most two packets behind it. Hence, when it had waited for `target`, at most two were before it in the queue, and one on the link;
/// each opportunity takes at least one full packet, so the packet leaves at the third.
fn bounded(down: &Value) {
    let reasons = down["drops_by_reason"].as_object().unwrap();
    assert!(reasons.keys().all(|reason| reason == "sojourn_bound" || reason == "tail_limit"), "{down}");
    let bound = TARGET_MS + longest_for_three();
    let longest = number(&down["sojourn_ms"]["max"]);
    println!("longest sojourn of a delivered packet: {longest} ms, bound {bound} ms");
    assert!(longest <= bound, "{longest} ms, bound {bound} ms");
}
