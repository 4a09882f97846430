//! Session without the page: figures equal to the engine's for any steps, and effects of steering.

use qdelay_core::{Span, Time};
use qdelay_study::traces::Library;
use qdelay_study::{figures, results, shipped};
use qdelay_web::calls::Playground;
use qdelay_web::session::{Session, read};
use qdelay_web::watch::Column;
use serde_json::{Value, json};

const BIN: Span = Span::from_millis(50);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Scenario in the form that the page writes.
fn form(link: &str, qdiscs: &str, flows: &str) -> String {
    format!(
        "[path]\nlink = '{link}'\nrtt = '40ms'\nlimit = 500\n{flows}\n[run]\nduration = '20s'\n[matrix]\npath.qdisc = [{qdiscs}]\n"
    )
}

const DOWNLOAD: &str = "[[flow]]\nname = 'download'\n";
const BESIDE: &str = "[[flow]]\nname = 'download'\n[[flow]]\nname = 'ping'\ntransport = 'udp:13440bit:size=84b:echo=on'\n\
    [[flow]]\nname = 'call'\ntransport = 'voip'\n[[flow]]\nname = 'game'\ntransport = 'gaming:20ms'\n[[flow]]\nname = 'page'\ntransport = 'web'\n";

/// File of a case as the engine writes it, from a run without steps and without a recorder.
pub fn summary(text: &str, index: u64) -> String {
    let study = read(text).unwrap();
    let case = study.case(index, &Library::new()).unwrap();
    let outcome = qdelay_sim::run(&case.scenario).unwrap();
    results::text(&figures::summary(&case.id, case.labels(&study), &outcome))
}

#[test]
fn a_played_run_has_the_figures_of_the_engine() {
    let first = shipped::find("demo/rate-step").unwrap();
    let cell = shipped::find("demo/cell").unwrap();
    for (text, cases) in [(first, [0, 3]), (cell, [0, 5])] {
        let mut session = Session::new(text, &cases, BIN, &Library::new()).unwrap();
        // Steps of any length, different from the bins.
        for step in 1..400 {
            session.advance_to(Time::from_nanos(step * 17_345_678)).unwrap();
        }
        for (side, case) in cases.into_iter().enumerate() {
            let played = session.finish(side).unwrap();
            assert!(played == summary(text, case), "case {case}: figures differ");
            assert!(session.finish(side).is_err());
        }
    }
}

#[test]
fn bins_add_up_to_the_figures() {
    let text = form("steps:0s@10mbit+8s@2mbit", "'codel', 'taildrop'", BESIDE);
    let mut session = Session::new(&text, &[0, 1], BIN, &Library::new()).unwrap();
    session.advance_to(at(60_000)).unwrap();
    for side in 0..2 {
        let progress = session.sides[side].progress();
        assert!(progress.is_over && (progress.now_s - 20.0).abs() < 1e-9);
        let measures = serde_json::from_str::<Value>(&summary(&text, side as u64)).unwrap();
        let recording = session.sides[side].recording();
        assert_eq!(recording.bins(), 400);
        let sum = |column: Column| {
            recording.column(column as usize).iter().map(|value| f64::from(*value)).sum::<f64>()
        };
        let mean = |column| sum(column) / 400.0;
        let close = |ours: f64, theirs: &Value, what: &str| {
            let theirs = theirs.as_f64().unwrap();
            assert!((ours - theirs).abs() <= 1e-3 * theirs.abs() + 1e-3, "{what}: {ours}, {theirs}");
        };
        close(mean(Column::Rate), &measures["throughput_mbps"], "throughput");
        close(progress.throughput_mbps, &measures["throughput_mbps"], "throughput");
        assert!((mean(Column::Capacity) - 5.2).abs() < 1e-3);
        let delay = &measures["queue_delay_ms"];
        close(progress.delay.mean, &delay["mean"], "mean delay");
        close(progress.delay.max, &delay["max"], "longest delay");
        close(progress.delay.p95, &delay["p95"], "95th percentile");
        let longest =
            recording.column(Column::Longest as usize).iter().fold(0.0_f32, |most, value| most.max(*value));
        close(f64::from(longest), &delay["max"], "longest of the bins");
        let kinds: Vec<Value> =
            progress.feelings.iter().map(|(_, feeling)| json!(feeling)["kind"].clone()).collect();
        assert_eq!(json!(kinds), json!(["ping", "call", "game", "page"]));
    }
}

#[test]
fn a_steered_link_equals_a_scheduled_one() {
    let library = Library::new();
    let both = "'codel', 'taildrop'";
    for times in [[5000, 7000, 9000], [5003, 5004, 5005], [1, 12_345, 19_999]] {
        let link = |until: usize| {
            let rates = ["2mbit", "300kbit", "8mbit"];
            let steps = times.iter().zip(rates).take(until).map(|(ms, rate)| format!("+{ms}ms@{rate}"));
            format!("steps:0s@10mbit{}", steps.collect::<String>())
        };
        let mut steered = Session::new(&form(&link(0), both, BESIDE), &[0, 1], BIN, &library).unwrap();
        for (count, ms) in times.iter().enumerate() {
            // Slightly earlier, as on the page, whose time is not in whole milliseconds.
            steered.advance_to(Time::from_nanos(ms * 1_000_000 - 377_123)).unwrap();
            steered.take_link("1kbit", &link(count + 1), &library).unwrap();
        }
        let whole = steered.capacity(Time::ZERO, Span::from_secs(1), 20);
        let told = form(&link(3), both, BESIDE);
        let before = Session::new(&told, &[0, 1], BIN, &library).unwrap();
        assert_eq!(whole, before.capacity(Time::ZERO, Span::from_secs(1), 20));
        for side in 0..2 {
            assert!(steered.finish(side).unwrap() == summary(&told, side as u64), "{times:?}, side {side}");
        }
    }
}

/// Links that cannot continue are replaced: no packet is lost, and the capacity is that of the two parts.
#[test]
fn another_link_is_replaced() {
    let library = Library::new();
    let mut session =
        Session::new(&form("10mbit", "'codel', 'taildrop'", DOWNLOAD), &[0, 1], BIN, &library).unwrap();
    session.advance_to(at(5000)).unwrap();
    session.take_link("2mbit", "steps:0s@10mbit+5s@2mbit", &library).unwrap();
    session.advance_to(at(7000)).unwrap();
    session.take_link("steps:0s@2mbit+5s@8mbit", "steps:0s@10mbit+5s@2mbit+12s@8mbit", &library).unwrap();
    session.advance_to(at(20_000)).unwrap();
    for side in &session.sides {
        let mean = f64::from(10 * 5 + 2 * 7 + 8 * 8) / 20.0;
        let found = side.progress().capacity_mbps;
        assert!((found - mean).abs() < 0.01, "{found}, expected {mean}");
    }
    assert!(session.take_link("2mbt", "2mbit", &library).unwrap_err().contains("2mbt"));
    session.finish(0).unwrap();
}

#[test]
fn a_discipline_is_exchanged_while_the_run_lasts() {
    let library = Library::new();
    let text = |qdiscs| form("10mbit", qdiscs, DOWNLOAD);
    let mut session = Session::new(&text("'taildrop', 'codel'"), &[0, 1], BIN, &library).unwrap();
    session.advance_to(at(10_000)).unwrap();
    let full = session.sides[0].progress().backlog_packets;
    session.take_qdiscs(&text("'bode:target=10ms', 'codel:target=20ms'"), &[0, 1], &library).unwrap();
    assert_eq!(session.sides[0].describe().qdisc, "bode:target=10ms");
    assert_eq!(session.sides[1].describe().labels["path.qdisc"], "codel:target=20ms");
    session.forget();
    session.advance_to(at(12_000)).unwrap();
    let after = session.sides[0].progress();
    assert!(full > 100 && after.backlog_packets < 30, "{full} {after:?}");
    assert!((after.since_s - 10.0).abs() < 1e-9 && after.delay.count > 0);
    assert!(
        session
            .take_qdiscs(&text("'bode:target=x', 'codel'"), &[0, 1], &library)
            .unwrap_err()
            .contains("target")
    );
    // One discipline for both sides, and then two again.
    session.take_qdiscs(&text("'pie'"), &[0, 0], &library).unwrap();
    let both = |session: &Session| session.sides.iter().map(|side| side.describe().qdisc).collect::<Vec<_>>();
    assert_eq!(both(&session), ["pie", "pie"]);
    session.take_qdiscs(&text("'pie', 'codel'"), &[0, 1], &library).unwrap();
    assert_eq!(both(&session), ["pie", "codel"]);
    assert!(
        session.take_qdiscs(&text("'red', 'codel'"), &[0, 2], &library).unwrap_err().contains("no case 2")
    );
    assert!(session.take_qdiscs(&text("'red'"), &[0], &library).is_err());
    assert_eq!(both(&session), ["pie", "codel"]);
    let mut cell = Session::new(shipped::find("demo/cell").unwrap(), &[0], BIN, &library).unwrap();
    assert!(cell.take_link("1mbit", "1mbit", &library).is_err());
    assert!(cell.take_qdiscs(shipped::find("demo/cell").unwrap(), &[0], &library).is_err());
}

fn asked(playground: &mut Playground, request: &Value) -> Value {
    serde_json::from_str(&playground.call(request.to_string().as_bytes())).unwrap()
}

#[test]
fn requests_and_what_is_wrong_with_them() {
    let mut playground = Playground::default();
    let catalogue = asked(&mut playground, &json!({ "op": "catalogue" }));
    assert!(catalogue["qdiscs"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "bode")));
    for (request, part) in [
        (json!({ "op": "nothing" }), "not a request"),
        (json!({ "op": "progress" }), "nothing is played"),
        (json!({ "op": "shipped", "name": "demo/frist" }), "such as demo/first"),
        (json!({ "op": "read", "text": "[path]\nlink = '10mbit'\nrt = '1ms'\n" }), "line 3"),
        (
            json!({ "op": "open", "text": form("10mbit", "'codel'", DOWNLOAD), "cases": [7], "bin_ms": 50 }),
            "no case 7",
        ),
        (
            json!({ "op": "open", "text": "[path]\ntrace = 'mine'\n[[flow]]\n", "cases": [0], "bin_ms": 50 }),
            "mine",
        ),
    ] {
        let answer = asked(&mut playground, &request);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(part)), "{request}: {answer}");
    }
    let mut trace = |name: &str, contents: &[u8]| {
        let mut request = json!({ "op": "trace", "name": name }).to_string().into_bytes();
        request.push(0);
        request.extend_from_slice(contents);
        serde_json::from_str::<Value>(&playground.call(&request)).unwrap()
    };
    let error = trace("odd", b"0\n5\nsix\n")["error"].to_string();
    assert!(
        error.contains("odd: line 3: ")
            && error.contains("found 'six'. The page takes text files in the formats mahimahi ("),
        "{error}"
    );
    assert!(!error.contains("trace_format"), "{error}");
    // Scenarios that name the column can use a table.
    let error = trace("table.csv", b"time,rate\n0,8\n1,2\n")["error"].to_string();
    for part in [
        "table.csv: line 1: expected numbers, found 'time,rate'",
        "trace_format = \\\"csv:column=NAME\\\"",
        "“0 1.5”",
    ] {
        assert!(error.contains(part), "{error}");
    }
    // An output of a program and a file of delays are kept for the scenario's text.
    let iperf3 =
        br#"{"start":{"test_start":{}},"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":5e6}}]}"#;
    let error = trace("run.json", iperf3)["error"].to_string();
    assert!(error.contains("trace = \\\"run.json:format=[iperf3]\\\""), "{error}");
    let error = trace("slots.txt", b"24.5\n18\n31\n")["error"].to_string();
    assert!(error.contains("rtt = \\\"trace:slots.txt\\\" below [path]"), "{error}");
    // The lines 0, 5 and 10 by gzip, and two lines in UTF-16.
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x33\xe0\x32\xe5\x32\x34\xe0\x02\x00\x92\xde\xd2\x88\x07\x00\x00\x00";
    assert_eq!(trace("mine.gz", packed)["length_s"], json!(0.01));
    assert_eq!(trace("mine.txt", b"\xff\xfe0\0\n\x005\0\n\0")["length_s"], json!(0.005));
    assert!(trace("t.parquet", b"PAR1....PAR1")["error"].to_string().contains("Parquet"));
    assert!(trace("picture.png", b"\x89PNG\r\n\x1a\n\0\0")["error"].is_string());
    assert_eq!(trace("mine", b"0\n5\n10\n")["length_s"], json!(0.01));
    let text = "[path]\ntrace = 'mine'\n[[flow]]\n[run]\nduration = '2s'\n";
    let opened = asked(&mut playground, &json!({ "op": "open", "text": text, "cases": [0], "bin_ms": 50 }));
    assert_eq!(opened["sides"][0]["is_cell"], json!(false), "{opened}");
    playground.advance_to(at(1000)).unwrap();
    assert_eq!(asked(&mut playground, &json!({ "op": "progress" }))["sides"][0]["now_s"], json!(1.0));
    let text = text.replace("'mine'", "'table.csv'\ntrace_format = 'csv:column=rate'");
    asked(&mut playground, &json!({ "op": "open", "text": text, "cases": [0], "bin_ms": 50 }));
    playground.advance_to(at(2000)).unwrap();
    let progress = asked(&mut playground, &json!({ "op": "progress" }));
    assert_eq!(progress["sides"][0]["capacity_mbps"], json!(5.0), "{progress}");
}

/// One-way delays of the data of a flow, counted from the records of all packets, and the number of dropped packets.
struct Counted {
    flow: u32,
    delays: Vec<f64>,
    dropped: usize,
}

impl qdelay_sim::Recorder for Counted {
    fn packet(&mut self, record: &qdelay_sim::PacketRecord) {
        if record.flow != self.flow || record.direction != qdelay_sim::Direction::Data {
            return;
        }
        match record.fate {
            qdelay_sim::Fate::Delivered => {
                self.delays.push(record.ended.since(record.created).as_millis_f64());
            }
            qdelay_sim::Fate::Dropped(_) => self.dropped += 1,
        }
    }
}

/// In a run shorter than the window, the experience equals the results of the whole run.
#[test]
fn experience_equals_the_results() {
    for qdisc in ["taildrop", "codel", "pie", "fq_codel", "bode:target=10ms"] {
        let text = form("8mbit", &format!("'{qdisc}'"), BESIDE).replace("20s", "9s");
        let mut session = Session::new(&text, &[0], BIN, &Library::new()).unwrap();
        session.advance_to(at(9000)).unwrap();
        let progress = session.sides[0].progress();
        let feeling = |index: usize| {
            let found = progress.feelings.iter().find(|(flow, _)| *flow == index);
            json!(found.unwrap_or_else(|| panic!("nothing is felt of flow {index}")).1)
        };
        let results: Value = serde_json::from_str(&summary(&text, 0)).unwrap();
        let close = |ours: &Value, theirs: &Value, by: f64, what: &str| {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            assert!((ours - theirs).abs() <= by * theirs.abs() + 1e-9, "{qdisc}, {what}: {ours}, {theirs}");
        };
        // Percentiles of the results have three digits.
        let (ping, trips) = (feeling(1), &results["groups"]["ping"]["round_trip_ms"]);
        close(&ping["p50_ms"], &trips["p50"], 2e-3, "median");
        close(&ping["p95_ms"], &trips["p95"], 2e-3, "95th percentile");
        close(&ping["max_ms"], &trips["max"], 1e-3, "longest round trip");
        let (call, voice) = (feeling(2), &results["flows"][2]["voice"]);
        close(&call["mos"], &voice["mos"], 1e-3, "opinion score");
        close(&call["mouth_to_ear_ms"], &voice["mouth_to_ear_ms"], 1e-3, "mouth to ear");
        let mut counted = Counted { flow: 3, delays: Vec::new(), dropped: 0 };
        let case = read(&text).unwrap().case(0, &Library::new()).unwrap();
        qdelay_sim::run_recorded(&case.scenario, &mut counted).unwrap();
        let (game, known) = (feeling(3), counted.delays.len() + counted.dropped);
        let in_time = counted.delays.iter().filter(|delay| **delay <= 50.0).count();
        close(
            &game["in_time_percent"],
            &json!(100.0 * in_time as f64 / known as f64),
            1e-9,
            "updates in time",
        );
        let mean = counted.delays.iter().sum::<f64>() / counted.delays.len() as f64;
        close(&game["mean_ms"], &json!(mean), 1e-9, "mean delay");
        let (page, web) = (feeling(4), &results["flows"][4]["web"]);
        close(&page["loads"], &web["pages"], 0.0, "loads");
        if page["loads"].as_u64().is_some_and(|loads| (1..=5).contains(&loads)) {
            close(&json!(page["mean_s"].as_f64().unwrap() * 1000.0), &web["load_ms"], 1e-3, "mean load");
        }
    }
}

#[test]
fn older_packets_are_forgotten() {
    let text = form("steps:0s@100kbit+5s@20mbit", "'taildrop'", BESIDE);
    let mut session = Session::new(&text, &[0], BIN, &Library::new()).unwrap();
    let game = |session: &Session| {
        let feelings = session.sides[0].progress().feelings;
        feelings.iter().map(|(_, feeling)| json!(feeling)).find(|feeling| feeling["kind"] == "game").unwrap()
    };
    session.advance_to(at(4500)).unwrap();
    assert!(game(&session)["in_time_percent"].as_f64().unwrap() < 50.0);
    session.advance_to(at(19_500)).unwrap();
    let recording = session.sides[0].recording();
    let kept = recording.passed(3).unwrap()[0].iter().map(|packet| packet.created).min().unwrap();
    assert!(at(19_500).since(kept) <= qdelay_web::watch::REMEMBERED + BIN, "{kept:?}");
}
