//! `qdelay link --out`: records and figures of a link in one folder, which `report` and `plot` read. Counts are compared with those of the
//! link, and delays with the test's own arithmetic over the rows of the packets. Without permission to make namespaces the tests are skipped.

use crate::common::{command, folder};
use crate::link_support::{Running, TASK, json, link, machine, output, pause_of, run, task};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use qdelay_emu::netns::Namespace;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Bytes of a datagram without headers, and as an IP packet.
const PAYLOAD: usize = 972;
const PACKET: u64 = 1000;

/// Sends this many datagrams to an echo server, five at a time, and reads the echoes.
#[helper]
fn echoed() {
    let task = std::env::var(TASK).expect("a task");
    let (count, port) = task.split_once(' ').unwrap();
    let (count, port): (u32, u16) = (count.parse().unwrap(), port.parse().unwrap());
    let outside: Ipv4Addr = std::env::var("QDELAY_OUTSIDE").unwrap().parse().unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    for number in 0..count {
        socket.send_to(&[0; PAYLOAD], (outside, port)).unwrap();
        if number % 5 == 4 {
            pause_of(Duration::from_millis(15));
        }
    }
    // The last echoes are read, or lost.
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    while socket.recv(&mut [0; PAYLOAD]).is_ok() {}
}

/// Server that returns datagrams, on `machine`; returns its port.
fn datagram_server(machine: &Namespace) -> u16 {
    let socket = machine.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..length], from);
        }
    });
    port
}

/// A row of the packets: times in nanoseconds.
struct Row {
    is_up: bool,
    created: i64,
    arrival: Option<i64>,
    departed: Option<i64>,
    ended: i64,
    fate: String,
}

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        let fields: BTreeMap<&String, &Field> = row.get_column_iter().collect();
        let time = |name: &str| match fields[&name.to_string()] {
            Field::Long(time) => Some(*time),
            _ => None,
        };
        let (Field::Bool(is_up), Field::Str(fate)) =
            (fields[&"acknowledgement".to_string()], fields[&"fate".to_string()])
        else {
            panic!("{fields:?}")
        };
        Row {
            is_up: *is_up,
            created: time("created_ns").unwrap(),
            arrival: time("arrival_ns"),
            departed: time("departed_ns"),
            ended: time("ended_ns").unwrap(),
            fate: fate.clone(),
        }
    };
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

/// Compares a summary of delays with these, in nanoseconds. The histogram has three digits.
fn assert_delays(summary: &Value, mut nanos: Vec<i64>) {
    nanos.sort_unstable();
    assert_eq!(summary["count"], nanos.len());
    let millis = |nanos: i64| nanos as f64 / 1e6;
    let close = |name: &str, expected: f64, bound: f64| {
        let found = summary[name].as_f64().unwrap();
        assert!((found - expected).abs() <= bound, "{name}: {found}, {expected} ms");
    };
    close("mean", nanos.iter().map(|time| millis(*time)).sum::<f64>() / nanos.len() as f64, 2e-6);
    close("max", millis(*nanos.last().unwrap()), 2e-6);
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
        // The smallest delay that this share of the packets does not exceed.
        let rank = (share * nanos.len() as f64).ceil() as usize;
        let expected = millis(nanos[rank - 1]);
        close(name, expected, 0.002 + 0.002 * expected);
    }
}

/// Runs this program without namespaces; returns status, output and standard error.
fn said(words: &[&str]) -> (Option<i32>, String, String) {
    let output = command(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn done(words: &[&str]) -> String {
    let (status, text, complaint) = said(words);
    assert_eq!(status, Some(0), "{words:?}: {complaint}");
    text
}

/// Names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Path as text.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const NAMES: [&str; 7] =
    ["cases", "link.down", "link.json", "link.pcapng", "link.up", "study.json", "summary.json"];

/// The change that the command makes to its own link.
const CHANGE: &str = "up=3mbit";

/// Records of datagrams through a link, with a change on the way.
fn recorded(machine: &Namespace, out: &Path, options: &str) -> Value {
    let port = datagram_server(machine);
    let socket = out.with_extension("sock");
    let set = format!("'{}' set \"$QDELAY_CONTROL\" {CHANGE}", env!("CARGO_BIN_EXE_qdelay"));
    let half = task("echoed", &format!("200 {port}"));
    let options = format!(
        "--down 6mbit --up 2mbit --up-qdisc taildrop:limit=4 --down-loss 10% --delay 5ms --control {} --out {} {options}",
        text(&socket),
        text(out)
    );
    let (status, complaint) = run(machine, &options, &format!("{half}; {set} >&2; {half}"));
    assert_eq!(status, Some(0), "{complaint}");
    assert!(complaint.contains(&format!("qdelay report {}", text(out))), "{complaint}");
    assert_eq!(names(out), NAMES);
    json(text(&out.join("link.json")))
}

#[test]
fn records_of_a_link_are_figures() {
    let machine = machine();
    let root = folder("link-out");
    let (out, case) = (root.join("one"), root.join("one/cases/0-link"));
    let figures = recorded(&machine, &out, "");
    assert_eq!(names(&root), ["one"], "nothing is left beside it");
    assert_eq!(names(&case), ["SHA256SUMS", "packets.parquet", "run.json", "summary.json"]);
    let checked =
        Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&case).output();
    assert!(checked.is_ok_and(|checked| checked.status.success()));

    // Counts and rates are those of the link.
    let report: Value = serde_json::from_str(&done(&["report", text(&out), "--json"])).unwrap();
    let summary = &report["summary"]["cases"][0];
    let (run_file, whole) = (json(text(&case.join("run.json"))), json(text(&case.join("summary.json"))));
    assert_eq!(summary["trustworthy"], figures["audit"]["trustworthy"]);
    for (ours, theirs) in [("grade", "grade"), ("reasons", "reasons"), ("releases_late", "releases_late")] {
        assert_eq!(run_file["audit"][ours], figures["audit"][theirs]);
    }
    let changes = |value: &Value| value["changes"].as_array().unwrap().clone();
    assert_eq!(changes(&run_file["audit"]).len(), 1);
    for (ours, theirs) in changes(&run_file["audit"]).iter().zip(&changes(&figures)) {
        assert_eq!((&ours["what"], &theirs["what"]), (&format!("set {CHANGE}").into(), &ours["what"]));
        // Results have six decimals.
        let time = |change: &Value| change["time_s"].as_f64().unwrap();
        assert!((time(ours) - time(theirs)).abs() < 1e-6, "{ours} {theirs}");
    }
    assert_eq!(run_file["settings"]["down"], figures["settings"]["down"]);
    let packets = rows(&case.join("packets.parquet"));
    for direction in ["down", "up"] {
        let (group, figures) = (&summary["groups"][direction], &figures[direction]);
        assert_eq!(group["packets_sent"], figures["packets_arrived"], "{direction}");
        assert_eq!(group["packets_lost"], figures["drops"], "{direction}");
        assert_eq!(group["one_way_delay_ms"]["count"], figures["packets_delivered"]);
        assert_eq!(group["throughput_mbps"], figures["throughput_mbps"]);
        assert_eq!(group["queue_delay_ms"], figures["queue_delay_ms"]);
        assert_eq!(run_file["drops_by_reason"][direction], figures["drops_by_reason"]);

        // Delays and drops are those of the packets.
        let packets: Vec<&Row> = packets.iter().filter(|row| row.is_up == (direction == "up")).collect();
        assert!(packets.len() > 200, "{direction}: {}", packets.len());
        assert_eq!(figures["packets_arrived"], packets.len());
        let waited = |row: &&Row| Some(row.departed? - row.arrival?);
        assert_delays(&group["queue_delay_ms"], packets.iter().filter_map(waited).collect());
        let delivered = packets.iter().filter(|row| row.fate == "delivered");
        assert_delays(&group["one_way_delay_ms"], delivered.map(|row| row.ended - row.created).collect());
        let mut drops: BTreeMap<&str, u64> = BTreeMap::new();
        for row in packets.iter().filter(|row| row.fate != "delivered") {
            *drops.entry(&row.fate).or_default() += 1;
        }
        assert_eq!(figures["drops_by_reason"], serde_json::to_value(&drops).unwrap());

        // All bytes that left the link are in the bins of the series.
        let series = &whole["series"];
        let rates: Vec<f64> =
            serde_json::from_value(series["groups"][direction]["throughput_mbps"].clone()).unwrap();
        let width = series["bin_s"].as_f64().unwrap();
        let left = packets.iter().filter(|row| row.departed.is_some()).count() as f64;
        // The last bin may be shorter, and its rate is over what it has.
        let most = rates.iter().map(|rate| rate * width * 1e6 / 8.0).sum::<f64>() / PACKET as f64;
        let least = most - rates.last().unwrap() * width * 1e6 / 8.0 / PACKET as f64;
        // Other packets, such as those of the kernel, are smaller.
        assert!(least <= left && most >= 0.9 * left, "{direction}: {least} {left} {most}");
    }
    assert_eq!(summary["utilization"], figures["down"]["utilization"]);
    assert_eq!(summary["uplink"]["utilization"], figures["up"]["utilization"]);
    assert_eq!(summary["drops"].as_u64().unwrap(), 0, "the losses are behind the queue");
    assert!(summary["uplink"]["drops"].as_u64().unwrap() > 20, "{}", summary["uplink"]);
    assert!(figures["down"]["drops_by_reason"]["loss"].as_u64().unwrap() > 5);
}

#[test]
fn a_folder_of_a_link_is_reported_and_plotted() {
    let machine = machine();
    let root = folder("link-out-report");
    let outs = [root.join("one"), root.join("two words")];
    // An empty folder is as good as none.
    fs::create_dir(&outs[1]).unwrap();
    let port = datagram_server(&machine);
    for out in &outs {
        let script = task("echoed", &format!("50 {port}"));
        let words = ["link", "--down", "6mbit", "--quiet", "--out", text(out), "--", "sh", "-c", &script];
        let output = output(&machine, command(&words));
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(names(out), NAMES);
    }
    let [one, two] = [&outs[0], &outs[1]].map(|path| text(path));
    let note = "another run has other traffic";
    let table = done(&["report", one, two, "--table"]);
    assert!(table.contains("two words") && table.contains(note), "{table}");
    assert!(done(&["report", one, "--table"]).contains(note));
    for (folders, page) in
        [(vec![one], outs[0].join("report.html")), (vec![one, two], root.join("both.html"))]
    {
        let words = [&["report"][..], &folders, &["--out", text(&page)]].concat();
        done(&words);
        let page = fs::read_to_string(&page).unwrap();
        assert!(page.contains(note) && page.contains("\"groups_first\":true"));
    }
    let csv = done(&["report", one, "--csv", "-", "--rows", "flows"]);
    let direction = |line: &str| line.split(',').nth(4).unwrap().to_string();
    assert_eq!(csv.lines().skip(1).map(direction).collect::<Vec<_>>(), ["down", "up"], "{csv}");
    for (figure, measure, entries) in [
        ("cdf", "queue", "4 lines"),
        ("time", "throughput", "4 lines"),
        ("time", "delay", "4 lines"),
        ("plane", "p99", "4 marks"),
        ("box", "queue", "4 boxes"),
        // The queue and the link of a direction have no such figures: the downlink's.
        ("time", "backlog", "2 lines"),
        ("bars", "utilization", "2 bars"),
    ] {
        let file = root.join(format!("{figure}-{measure}.svg"));
        let text = done(&["plot", one, two, "--figure", figure, "--measure", measure, "--out", text(&file)]);
        assert!(text.contains(entries) && text.contains(note), "{text}");
    }
    // Commands that would run it again say that no run does.
    let scenario = "demo/first";
    for words in [
        &["pack", one, "-o", text(&root.join("one.tar"))][..],
        &["merge", one, "--out", text(&root.join("merged"))],
        &["run", scenario, "--out", one],
        &["run", scenario, "--out", one, "--fresh"],
        &["report", one, "--flent", text(&root.join("flent"))],
    ] {
        let (status, _, complaint) = said(words);
        assert_eq!(status, Some(2), "{words:?}: {complaint}");
        assert!(complaint.contains("holds records of a link"), "{complaint}");
    }
    let (_, _, complaint) = said(&["plot", one, "--figure", "time", "--measure", "cwnd"]);
    assert!(
        complaint.contains("a link measures packets") && !complaint.contains("qdelay run"),
        "{complaint}"
    );
    fs::remove_file(outs[0].join("cases/0-link/run.json")).unwrap();
    let (_, _, complaint) = said(&["report", one]);
    assert!(complaint.contains("expected a complete folder\n"), "{complaint}");
    fs::remove_file(outs[0].join("summary.json")).unwrap();
    let (_, _, complaint) = said(&["report", one]);
    assert!(complaint.contains("as 'qdelay link --out' wrote it"), "{complaint}");
}

#[test]
fn nothing_is_overwritten_by_accident() {
    let machine = machine();
    let root = folder("link-out-errors");
    let refused = |options: &str, part: &str| {
        let (status, complaint) = run(&machine, &format!("--quiet {options}"), "true");
        assert_eq!(status, Some(2), "{options}: {complaint}");
        assert!(complaint.contains(part) && complaint.lines().count() == 1, "{options}: {complaint}");
    };
    let out = root.join("out");
    let name = text(&out).to_string();
    for option in ["--packets", "--log", "--pcap"] {
        let message = format!("{option}: --out {name} writes this record into its folder");
        refused(&format!("--out {name} {option} {}", text(&root.join("other"))), &message);
    }
    assert_eq!(names(&root), [] as [&str; 0]);
    // Figures may be written twice.
    let (status, complaint) =
        run(&machine, &format!("--quiet --out {name} --json {}", text(&root.join("f.json"))), "exit 3");
    assert_eq!((status, complaint.as_str()), (Some(3), ""));
    assert_eq!(fs::read(out.join("link.json")).unwrap(), fs::read(root.join("f.json")).unwrap());
    let before = fs::read(out.join("cases/0-link/run.json")).unwrap();
    refused(&format!("--out {name}"), "holds records of a link; expected a new name, or --force");
    assert_eq!(fs::read(out.join("cases/0-link/run.json")).unwrap(), before);
    // Records are replaced on request, and files of others stay.
    fs::write(out.join("notes"), "mine").unwrap();
    fs::write(out.join("report.html"), "of the old records").unwrap();
    assert_eq!(run(&machine, &format!("--quiet --out {name} --force"), "exit 4").0, Some(4));
    let with_notes: Vec<&str> = NAMES
        .iter()
        .flat_map(|name| if *name == "study.json" { vec!["notes", name] } else { vec![*name] })
        .collect();
    assert_eq!(names(&out), with_notes);
    assert_eq!(json(text(&out.join("cases/0-link/run.json")))["settings"]["run"]["status"], 4);
    // Other folders and files stay, even on request.
    let foreign = root.join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.tex"), "mine").unwrap();
    for force in ["", " --force"] {
        refused(&format!("--out {}{force}", text(&foreign)), "holds files and no records of a link");
        refused(
            &format!("--out {}{force}", text(&foreign.join("thesis.tex"))),
            "is a file; expected a folder",
        );
    }
    assert_eq!(names(&foreign), ["thesis.tex"]);
    assert_eq!(names(&root), ["f.json", "foreign", "out"]);
}

#[test]
fn a_killed_link_leaves_no_folder() {
    let machine = machine();
    let root = folder("link-out-killed");
    let out: PathBuf = root.join("deep/out");
    let options = format!("--quiet --out {}", text(&out));
    let mut running = Running::start(&machine, link(&options, "echo started; sleep 60"));
    running.line_after("started");
    running.signal(Signal::KILL);
    let _ = running.end();
    assert!(!out.exists());
    assert_eq!(run(&machine, &options, "true"), (Some(0), String::new()));
    assert_eq!(names(&root.join("deep")), ["out"], "what the killed link left is gone");
    assert_eq!(names(&out), NAMES);
}
