//! Valid files: traces that are cut, scenarios, configurations, lines of the control protocol, results of a short run.

use super::Out;
use qdelay_core::Span;
use qdelay_emu::snapshot::{Sample, Snapshot};
use qdelay_study::engine::{self, Options};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped::SCENARIOS;
use qdelay_study::traces::Library;
use qdelay_trace::{SHIPPED, convert, mahimahi, mbps};
use std::fs;
use std::path::Path;

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn write(out: &Out) {
    traces(out);
    scenarios(out);
    let gateway = read("packaging/gateway.toml");
    out.seed("gateway", "packaged", &gateway);
    // Every key that stands there as a comment is set.
    let set = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => key.to_string(),
        _ => line.to_string(),
    };
    out.seed("gateway", "everything", gateway.lines().map(|line| set(line) + "\n").collect::<String>());
    control(out);
    http_control(out);
    results(out);
    let resolver = "# made by something\nnameserver 192.0.2.1\nsearch example.org\nnameserver 2001:db8::1\n\
        nameserver fe80::1%1\noptions edns0 trust-ad\n";
    out.seed("resolver", "usual", resolver);
}

fn traces(out: &Out) {
    for (name, contents) in SHIPPED {
        let lines: Vec<&[u8]> = contents.split_inclusive(|&byte| byte == b'\n').collect();
        for (part, lines) in lines.chunks(40).step_by(lines.len() / 160).take(4).enumerate() {
            out.seed("trace_mahimahi", &format!("{name}-{part}"), lines.concat());
        }
        let beginning = lines.iter().take(2000).copied().collect::<Vec<_>>().concat();
        let Ok(schedule) = mahimahi::parse(&beginning) else { continue };
        let Ok(rates) = convert::to_rates(&schedule, Span::from_millis(100)) else { continue };
        let mut text = String::new();
        if mbps::write(&rates, &mut text).is_ok() {
            let lines: Vec<&str> = text.split_inclusive('\n').take(30).collect();
            out.seed("trace_mbps", name, lines.concat());
            let row = |(second, line): (usize, &&str)| {
                let rate = line.split_whitespace().last().unwrap_or("0");
                format!("{second},\"a, b\",{rate}\r\n")
            };
            let rows: String = lines.iter().enumerate().map(row).collect();
            out.seed("trace_csv", name, format!("t,x,v\r\n{rows}"));
        }
    }
    out.seed("trace_mahimahi", "carriage-returns", "0\r\n1\r\n1\r\n17\r\n");
    out.seed("trace_mbps", "comments", "# duration_s 5\n0 1.5\n1,2\n2.5\t0\n");
    out.seed(
        "trace_csv",
        "quoted",
        "\u{feff}t,\"a\"\"b\",v\n2019.12.16_14.23.32,\"x\ny\",1200\n2019.12.16_14.23.33,,-\n",
    );
    // As a drive test and the emulator of the 5G QoS thesis write them.
    let mut rows = String::from("Timestamp,Operatorname,CQI,State\n");
    let mut bare = String::new();
    for (second, cqi) in ["7", "7", "-", "12", "15", "1", "9", "9", ""].iter().enumerate() {
        let time = format!("2018.01.27_13.58.{second:02}");
        rows += &format!("{time},\"B, C\",{cqi},D\n");
        bare += &format!("{time},,,,,,,,,,{cqi},D\n");
    }
    out.seed("trace_cqi", "header", rows);
    out.seed("trace_cqi", "bare", bare);
    out.seed("trace_capacity", "counted", "6\n0\n3\n15\n7\n7\n12\n");
}

fn scenarios(out: &Out) {
    for (name, text) in SCENARIOS {
        out.seed("scenario", name, text);
        out.seed("simulate", name, text);
    }
    // Each block of TOML in the documentation, alone and with the least that a scenario needs around it.
    let least =
        "[path]\nlink = \"10mbit\"\nqdisc = \"bode\"\n[[flow]]\nname = \"a\"\n[run]\nduration = \"5s\"\n";
    out.seed("simulate", "least", least);
    let docs = ["cell", "slices", "bearers", "scenarios", "radio", "rlc", "pdcp", "voice"];
    for doc in docs.map(|name| format!("docs/{name}.md")) {
        let text = read(&doc);
        for (number, block) in text.split("```toml\n").skip(1).enumerate() {
            let block = block.split("```").next().unwrap_or_default();
            let name = format!("{}-{number}", doc.replace(['/', '.'], "-"));
            for target in ["scenario", "simulate"] {
                out.seed(target, &name, block);
                out.seed(target, &format!("{name}-more"), format!("{block}\n{least}"));
            }
        }
    }
}

fn control(out: &Out) {
    for request in [
        r#"{"command":"status"}"#,
        r#"{"command":"watch","interval_ms":250}"#,
        r#"{"command":"reload"}"#,
        r#"{"command":"stop"}"#,
    ] {
        let name: String = request.chars().filter(char::is_ascii_alphabetic).collect();
        out.seed("control", &name, format!("{request}\n"));
    }
    let mut sample = Sample::default();
    let first = Snapshot::between(None, &sample);
    sample.time += Span::from_millis(250);
    sample.host.released = 100;
    sample.host.late = 1;
    sample.host.reasons.push("a tenth of what left was late".to_string());
    let second = Snapshot::between(Some(&Sample::default()), &sample);
    let lines = [first, second].map(|snapshot| serde_json::to_string(&snapshot).expect("a snapshot is JSON"));
    out.seed("control", "snapshots", lines.join("\n") + "\n");
    // With everything in it that may be missing.
    let sojourn =
        r#"{"count":10,"mean_ms":1.5,"p50_ms":1.0,"p95_ms":2.0,"p99_ms":3.0,"p999_ms":4.0,"max_ms":5.0}"#;
    let full = lines[1]
        .replace("\"sojourn_interval\":null", &format!("\"sojourn_interval\":{sojourn}"))
        .replace("\"capacity_mbps\":null", "\"capacity_mbps\":12.5")
        .replace("\"steal_s\":null", "\"steal_s\":0.5");
    out.seed("control", "full", full + "\n");
}

/// Requests of the control by HTTP, with the token of the target.
fn http_control(out: &Out) {
    for (name, line, body) in [
        ("set", "POST /set", r#"{"down":"2mbit","up-loss":"3%","qdisc":"codel","cut":"off"}"#),
        (
            "delay",
            "POST /set",
            r#"{"down-delay":"steps:0s@20ms+1s@60ms","jitter":"normal:5ms:correlation=25%"}"#,
        ),
        ("cut", "POST /cut", r#"{"direction":"down"}"#),
        ("pause", "POST /pause", ""),
        ("restore", "POST /restore?x=1", ""),
        ("reset", "POST /reset", r#"{"port":443}"#),
        ("status", "GET /status", ""),
        ("changes", "GET /changes", ""),
    ] {
        let length = body.len();
        let request = |host: &str, token: &str| {
            format!(
                "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        };
        out.seed("http_control", name, request("127.0.0.1:8474", "00112233445566778899aabbccddeeff"));
        out.seed("http_control", &format!("{name}-guessed"), request("localhost:8474", "guess"));
    }
}

/// A second of a few scenarios, as files for a report.
fn results(out: &Out) {
    let cell = "[[flow]]\nname = \"a\"\ntransport = \"cubic\"\n[[flow]]\nname = \"b\"\ntransport = \"voip\"\n\
        [run]\nduration = \"1s\"\nwarmup = \"100ms\"\nseries = \"100ms\"\n[cell]\n[[cell.ue]]\nchannel = \"cqi:7\"\n";
    let plain = "[path]\nlink = \"10mbit\"\nqdisc = \"bode\"\n[[flow]]\nname = \"a\"\n[run]\nduration = \"1s\"\nwarmup = \"100ms\"\n\
        series = \"100ms\"\n[[expect]]\nclaim = \"it is low\"\nmeasure = \"sojourn_ms.p95\"\nhigh = 100\n";
    for (name, text) in [("plain", plain), ("cell", cell)] {
        let folder = std::env::temp_dir().join(format!("qdelay-fuzz-seeds-{}-{name}", std::process::id()));
        let parts = files_of(&folder, text);
        let _ = fs::remove_dir_all(&folder);
        match parts {
            Ok(parts) => out.seed("results", name, parts),
            Err(error) => panic!("the scenario of a seed: {name}: {error}"),
        }
    }
    out.seed("results", "paper", "=== reproduction.json\n{\"schema_version\":2,\"paper\":\"bode\",\"title\":\"t\",\"stand_ins\":{},\"rows\":[]}\n");
}

fn files_of(folder: &Path, text: &str) -> Result<String, String> {
    let library = Library::new();
    let study = Study::parse("f.toml", text, &Overrides::default()).map_err(|error| error.to_string())?;
    let out = folder.to_path_buf();
    let options = Options { out, jobs: 1, fresh: true, packets: false, series: false, commit: None };
    engine::run(&study, &library, &options, &()).map_err(|error| error.to_string())?;
    let case = study.case(0, &library).map_err(|error| error.to_string())?;
    let mut parts = String::new();
    for (name, place) in [
        ("summary.json", "summary.json".to_string()),
        ("run.json", format!("cases/{}/run.json", case.id)),
        ("case.json", format!("cases/{}/summary.json", case.id)),
    ] {
        let contents = fs::read_to_string(folder.join(place)).map_err(|error| error.to_string())?;
        parts += &format!("=== {name}\n{contents}");
    }
    Ok(parts)
}
