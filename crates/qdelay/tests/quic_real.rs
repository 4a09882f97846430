//! QUIC with real packets: in `run --clock real`, and behind `qdelay link`. Neither speed nor duration is judged.

use crate::common::{case_of, command, file, folder, needs_real_packets, read, refused, succeed};
use serde_json::Value;

const SCENARIO: &str = r#"
[path]
link = "10mbit"
rtt = "20ms"
limit = 50
[[flow]]
name = "down"
transport = "quic:newreno"
[[flow]]
name = "up"
transport = "quic:crypto=tls:streams=3"
direction = "up"
dscp = "af41"
[[flow]]
name = "call"
transport = "quic:datagrams=500kbit"
start = "500ms"
stop = "1500ms"
[run]
duration = "3s"
warmup = "500ms"
"#;

#[test(Tools)]
fn a_scenario_with_quic_in_real_time() {
    needs_real_packets();
    let folder = folder("quic-real");
    let scenario = file(&folder, "quic.toml", SCENARIO);
    let out = folder.join("real");
    succeed(&["run", &scenario, "--clock", "real", "--out", out.to_str().unwrap()]);
    let case = case_of(&out);
    let summary = read(&case.join("summary.json"));
    for (index, name) in ["down", "up", "call"].iter().enumerate() {
        let flow = &summary["flows"][index];
        assert_eq!(&flow["name"], name);
        assert!(flow["delivered_bytes"].as_u64().unwrap() > 0, "{flow}");
        assert!(flow["final_cwnd"].as_u64().unwrap() >= 2, "{flow}");
        let srtt = flow["final_srtt_ms"].as_f64().unwrap();
        // The second of the call may pass before a lost packet of its handshake is sent again: then it has measured nothing.
        let has_none = *name == "call" && srtt == 0.0 && flow["packets_lost"].as_u64().unwrap() > 0;
        assert!(has_none || srtt >= 20.0, "not below the path's round trip: {flow}");
    }
    let call = summary["flows"][2]["delivered_bytes"].as_f64().unwrap();
    assert!(call < 2.2 * 500e3 / 8.0, "for a second, and not for the 2.5 s of the run that are left: {call}");
    assert!(summary["throughput_mbps"].as_f64().unwrap() <= 10.1, "{summary}");
    let marked = SCENARIO.replace("quic:newreno", "quic:ecn=on");
    let marked = file(&folder, "marked.toml", marked);
    refused(
        &["run", &marked, "--clock", "real", "--out", "x"],
        &["flow 'down'", "without ecn=on", "real programs"],
    );
}

#[test(Tools)]
fn a_sender_behind_a_link() {
    needs_real_packets();
    let program = env!("CARGO_BIN_EXE_qdelay");
    let port = "20443";
    let receiver = command(&["quic", "receive", &format!("0.0.0.0:{port}")])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A transfer that ends with its last byte, since a slow machine takes longer.
    let transport = "quic:bytes=1mb";
    let script = format!("exec '{program}' quic send $QDELAY_OUTSIDE:{port} --transport {transport}");
    let behind = ["link", "--up", "10mbit", "--delay", "5ms", "--quiet", "--", "sh", "-c", &script];
    let sent: Value = serde_json::from_slice(&command(&behind).output().unwrap().stdout).unwrap();
    let received: Value = serde_json::from_slice(&receiver.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(received["is_exact"], true);
    let goodput = received["goodput_mbps"].as_f64().unwrap();
    assert!(goodput > 0.0 && goodput < 10.0, "not above the link's rate: {received}");
    let bytes = Some(1_000_000);
    assert_eq!((sent["stream_bytes"].as_u64(), received["stream_bytes"].as_u64()), (bytes, bytes));
    assert!(sent["completion_s"].as_f64().unwrap() > 0.8, "a megabyte over 10 Mbit/s: {sent}");
    assert!(sent["final_srtt_ms"].as_f64().unwrap() >= 10.0, "{sent}");
}
