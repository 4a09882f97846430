//! Cells in real time: `run --clock real` and `link --scenario`. Only structure and conservation are checked, because the
//! timing of the machine is unknown. Without root, iperf3 or namespaces each test is skipped.

use crate::common::{case_of, file, folder, needs_real_packets, read, refused, succeed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Two UEs: a game with its own QoS flow, downloads with an access link and a longer path.
const SCENARIO: &str = r#"
[cell]
technology = "lte"
prbs = 25
channel = "mcs:10"
pacer = "e5g-bdp"
rlc = "um"
bler = 0.1
n3 = "100mbit"
[[cell.ue]]
name = "near"
[[cell.ue.bearer]]
[[cell.ue.bearer.qos_flow]]
qfi = 1
priority = 1
[[cell.ue.bearer.qos_flow]]
qfi = 2
priority = 2
[[cell.ue]]
name = "far"
channel = "mcs:2"
[path]
rtt = "20ms"
uplink = "20mbit"
[[flow]]
name = "game"
transport = "gaming:20ms"
dscp = "ef"
qfi = 1
ue = "near"
[[flow]]
name = "file"
transport = "cubic"
access_rate = "50mbit"
qfi = 2
ue = "near"
[[flow]]
name = "other"
transport = "bbr"
extra_rtt = "10ms"
ue = "far"
[run]
duration = "3s"
warmup = "500ms"
probe = true
"#;

fn summary(out: &Path) -> Value {
    let case = case_of(out);
    read(&case.join("summary.json"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test(Tools)]
fn a_cell_in_real_time() {
    needs_real_packets();
    let folder = folder("cell-real");
    let scenario = file(&folder, "cell.toml", SCENARIO);
    let out = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (real, simulated) = (out("real"), out("simulated"));
    let text = succeed(&["run", &scenario, "--clock", "real", "--out", &real, "--packets"]);
    assert!(text.contains("of 1 cases are trustworthy") && text.contains("mean delay by stage"), "{text}");
    succeed(&["run", &scenario, "--out", &simulated]);
    let (real, simulated) = (summary(Path::new(&real)), summary(Path::new(&simulated)));

    // The same nodes, each without lost or invented packets.
    let names = |case: &Value| case["nodes"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&real), names(&simulated));
    for (name, node) in real["nodes"].as_object().unwrap() {
        let gone = count(&node["forwarded_packets"]) + count(&node["dropped"]) + count(&node["inside"]);
        assert_eq!(count(&node["received_packets"]), gone, "{name}: {node}");
    }
    let node = |name: &str, key: &str| count(&real["nodes"][name][key]);
    for used in ["access-1", "return-1", "uplink/near", "uplink/far", "up-2", "n3", "cell", "senders"] {
        assert!(node(used, "received_packets") > 0, "{used}");
    }
    assert!(node("sdap/near/qfi-1", "received_packets") >= node("rlc/near/drb-1", "received_packets") / 100);
    assert!(node("access-1", "forwarded_packets") > 0 && node("return-1", "forwarded_packets") > 0);

    // The same measures, in the same form.
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&real["cell"]), keys(&simulated["cell"]));
    assert_eq!(
        real["cell"]["bearers"].as_array().map(Vec::len),
        simulated["cell"]["bearers"].as_array().map(Vec::len)
    );
    for name in ["game", "file", "other"] {
        let group = &real["groups"][name];
        assert!(group["throughput_mbps"].as_f64().unwrap() > 0.0, "{name}: {group}");
        // 4 ms on the air and half of the round trip.
        assert!(group["one_way_delay_ms"]["p50"].as_f64().unwrap() >= 14.0, "{name}: {group}");
    }
    let used = real["utilization"].as_f64().unwrap();
    assert!(used > 0.2 && used <= 1.0, "{used}");
    assert!(count(&real["probe_sent"]) > 0 && count(&real["probe_lost"]) <= count(&real["probe_sent"]));
}

#[test(Tools)]
fn a_command_behind_a_cell() {
    needs_real_packets();
    let folder = folder("cell-link");
    let scenario = file(&folder, "cell.toml", SCENARIO);
    let json = folder.join("link.json");
    // No program listens there; the answer comes as packets in the down direction.
    let send = "for i in 1 2 3 4 5 6 7 8 9 10; do echo hello > /dev/udp/$QDELAY_OUTSIDE/9; sleep 0.05; done; \
                echo $QDELAY_LINK";
    let arguments = ["link", "--scenario", &scenario, "--qos", "udp=1", "--qos", "dscp:ef=1"];
    let more = ["--json", json.to_str().unwrap(), "--quiet", "--", "bash", "-c", send];
    let text = succeed(&[&arguments[..], &more].concat());
    assert_eq!(
        text.trim(),
        "down lte cell of 2 UEs taildrop > e5g-bdp > taildrop, up 20mbit taildrop:limit=1000, 10ms"
    );
    let report = read(&json);
    assert!(count(&report["up"]["packets_delivered"]) >= 10, "{report}");
    assert!(count(&report["down"]["packets_delivered"]) > 0, "{report}");
    let delay = &report["down"]["queue_delay_ms"];
    assert!(delay["max"].as_f64().unwrap() > 0.0 && delay["max"].as_f64().unwrap() < 100.0, "{delay}");
    assert!(report["down"]["utilization"].as_f64().unwrap() < 0.5, "{report}");

    let wrong = |rule: &str, parts: &[&str]| {
        refused(&["link", "--scenario", &scenario, "--qos", rule, "--", "true"], parts);
    };
    wrong("udp=7", &["--qos", "no QoS flow '7'", "1, 2"]);
    wrong("dscp:high=1", &["'high' is not a DSCP", "such as ef"]);
    wrong("icmp=1", &["icmp=1", "expected a rule such as dscp:ef=1"]);
    refused(&["link", "--qos", "udp=1", "--", "true"], &["--scenario"]);
    refused(&["link", "--scenario", "demo/first:0", "--qos", "udp=1", "--", "true"], &["--qos", "[cell]"]);
    refused(&["link", "--scenario", "demo/cell", "--", "true"], &["differ in variant", "4-5g-bdp"]);
}
