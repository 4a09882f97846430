//! Impairments of a link by their effect on packets, and changes while it runs: `qdelay set`, `cut`, `pause`, `restore`, `reset`, the
//! control by HTTP. Real packets; no result depends on timing. Without permission to make namespaces the tests are skipped.

use crate::common::command;
use crate::link_support::{
    LONG, Running, TASK, echo_server, json, link, machine, name, output, run, talking_task,
};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::netns::Namespace;
use qdelay_testing::changes::{largest_distance, shown_delays};
use qdelay_testing::{Need, skip};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

/// Longest silence that counts as an answer that is still to come.
const SILENCE: Duration = Duration::from_millis(400);

/// Commands behind a link.
#[helper]
fn behind() {
    let task = std::env::var(TASK).expect("a task");
    let outside: Ipv4Addr = std::env::var("QDELAY_OUTSIDE").unwrap().parse().unwrap();
    let (what, port) = task.rsplit_once(' ').unwrap();
    let server = (outside, port.parse::<u16>().unwrap());
    match what.split(' ').collect::<Vec<_>>()[..] {
        // Sends so many numbered datagrams, and says what came back: how many, how many different ones, how many behind a later one. Waits
        // long for as many answers as are expected, and then a while for others.
        ["count", count, expected] => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            let [count, expected] = [count, expected].map(|number| number.parse::<u32>().unwrap());
            for number in 0..count {
                socket.send_to(&number.to_be_bytes(), server).unwrap();
                crate::link_support::pause_of(Duration::from_millis(2));
            }
            let (mut numbers, mut buffer) = (Vec::new(), [0; 100]);
            loop {
                let is_due = numbers.len() < expected as usize;
                socket.set_read_timeout(Some(if is_due { LONG } else { SILENCE })).unwrap();
                let Ok(4) = socket.recv(&mut buffer) else { break };
                numbers.push(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
            }
            let late = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
            let mut unique = numbers.clone();
            unique.sort_unstable();
            unique.dedup();
            println!("\ncame {} {} {late}", numbers.len(), unique.len());
        }
        // Sends 21 datagrams of 1,400 bytes at once; says after how many milliseconds the first and the last came back.
        ["burst"] => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            let mut clock = RealClock::start();
            (0..21).for_each(|_| assert_eq!(socket.send_to(&[0; 1400], server).unwrap(), 1400));
            let mut buffer = [0; 2000];
            let mut came = |_| socket.recv(&mut buffer).map(|_| clock.now().as_nanos() / 1_000_000).unwrap();
            let times: Vec<u64> = (0..21).map(&mut came).collect();
            println!("\ntook {} {}", times[0], times[20]);
        }
        // For each line of its input, sends it over one connection and says how that went.
        ["talk"] => {
            let mut stream = TcpStream::connect(server).unwrap();
            println!("\nconnected");
            let mut late = 0;
            for line in std::io::stdin().lines() {
                let line = line.unwrap();
                let wait = if line == "patient" { LONG } else { SILENCE };
                stream.set_read_timeout(Some(wait)).unwrap();
                let mut said = stream.write_all(b"x").err().map(|error| error.kind().to_string());
                // Answers to earlier questions may come with this one.
                while said.is_none() {
                    let mut byte = [0];
                    said = match stream.read(&mut byte) {
                        Ok(0) => Some("end".to_string()),
                        Ok(_) if late > 0 => {
                            late -= 1;
                            None
                        }
                        Ok(_) => Some("answer".to_string()),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                            late += 1;
                            Some("silence".to_string())
                        }
                        Err(error) => Some(error.kind().to_string()),
                    };
                }
                println!("\nsaid {}", said.unwrap());
            }
        }
        // Cuts the network by HTTP and restores it; says the statuses, and whether a datagram came back in between and after it.
        ["cut", "and", "restore"] => {
            let address = std::env::var("QDELAY_HTTP").unwrap().replace("http://", "");
            let token = std::env::var("QDELAY_TOKEN").unwrap();
            let ask = |what: &str| {
                let mut stream = TcpStream::connect(&address).unwrap();
                stream.set_read_timeout(Some(LONG)).unwrap();
                let line = format!(
                    "POST /{what} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
                );
                stream.write_all(line.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                answer[9..12].to_string()
            };
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            let echo = |wait| {
                socket.send_to(b"x", server).unwrap();
                socket.set_read_timeout(Some(wait)).unwrap();
                socket.recv(&mut [0; 10]).is_ok()
            };
            let (cut, during) = (ask("cut"), echo(SILENCE));
            let (restored, after) = (ask("restore"), echo(LONG));
            println!("\n{cut} {during} {restored} {after}");
        }
        // Sends datagrams until its input ends.
        ["steady"] => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            socket.send_to(&[0; 400], server).unwrap();
            println!("\nsending");
            let ending = std::thread::spawn(|| std::io::stdin().lines().count());
            while !ending.is_finished() {
                socket.send_to(&[0; 400], server).unwrap();
                crate::link_support::pause_of(Duration::from_micros(500));
            }
        }
        _ => panic!("{task}"),
    }
}

/// Sends each datagram back; returns its port.
fn reflector(machine: &Namespace) -> u16 {
    let socket = machine.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
    port
}

/// Number of datagrams that come back of `count`, of different ones, and of those behind a later one; with the figures.
fn count(machine: &Namespace, port: u16, options: &str, expected: u64) -> ([u64; 3], Value) {
    let file = name("link-impairments", "figures.json");
    let script = talking_task("behind", &format!("count 100 {expected} {port}"));
    let output = output(machine, link(&format!("{options} --json {file} --quiet"), &script));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("came ")).unwrap_or_else(|| panic!("{text}"));
    let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    (numbers.try_into().unwrap(), json(&file))
}

#[test]
fn impairments_do_what_they_say() {
    let machine = machine();
    let port = reflector(&machine);
    let count = |options: &str, expected| count(&machine, port, options, expected);
    assert_eq!(count("", 100).0, [100, 100, 0]);
    for direction in ["down", "up"] {
        let (came, figures) = count(&format!("--{direction}-loss 100%"), 0);
        assert_eq!(came, [0, 0, 0], "{direction}");
        assert!(figures[direction]["drops_by_reason"]["loss"].as_u64().unwrap() >= 100, "{figures}");
        assert_eq!(figures[if direction == "up" { "down" } else { "up" }]["drops"], 0, "{figures}");
    }
    let (came, figures) = count("--up-duplicate 100%", 200);
    assert_eq!(came, [200, 100, 0]);
    assert!(figures["up"]["duplicated"].as_u64().unwrap() >= 100, "{figures}");
    // The kernels of both ends drop what has a wrong checksum.
    let (came, figures) = count("--up-corrupt 100%", 0);
    assert_eq!(came, [0, 0, 0]);
    assert!(figures["up"]["corrupted"].as_u64().unwrap() >= 100 && figures["up"]["drops"] == 0, "{figures}");
    let (came, _) = count("--down-reorder 30% --reorder-delay 20ms", 100);
    assert!(came[..2] == [100, 100] && came[2] > 5, "{came:?}");
    let (came, _) = count("--down-jitter normal:10ms:reorder=on --down-delay 40ms", 100);
    assert!(came[..2] == [100, 100] && came[2] > 10, "{came:?}");
    let (came, _) = count("--down-jitter normal:10ms --down-delay 40ms", 100);
    assert_eq!(came, [100, 100, 0], "without reorder=on the order is kept");
    // Of the draws of seed 1 at least 40 pass.
    let (came, figures) = count("--loss 0 --up-loss 30%:correlation=50%", 40);
    assert!((40..=95).contains(&came[0]), "{came:?}");
    assert_eq!(figures["up"]["drops"], figures["up"]["drops_by_reason"]["loss"]);
}

/// Times have no upper bound: the machine may be busy. DSL at home: 1.5 Mbit/s down, 384 kbit/s up, a round trip of 50 ms.
#[test]
fn a_preset_is_the_network_that_it_names() {
    let machine = machine();
    let port = reflector(&machine);
    let burst = |options: &str| {
        let file = name("link-preset", "figures.json");
        let script = talking_task("behind", &format!("burst {port}"));
        let output = output(&machine, link(&format!("{options} --json {file} --quiet"), &script));
        let text = String::from_utf8(output.stdout).unwrap();
        let line =
            text.lines().find_map(|line| line.strip_prefix("took ")).unwrap_or_else(|| panic!("{text}"));
        let times: Vec<u64> = line.split(' ').map(|time| time.parse().unwrap()).collect();
        (times, json(&file)["settings"].clone())
    };
    let (times, settings) = burst("--preset dsl");
    assert_eq!(settings["preset"], "dsl");
    // 1,428 bytes of IP take 29.75 ms up and 7.6 ms down.
    assert!(times[0] >= 87 && times[1] >= 682, "{times:?}");
    assert_eq!([&settings["down"]["link"], &settings["up"]["link"]], ["line:1500kbit", "line:384kbit"]);
    let (times, settings) = burst("--preset dsl --up 100mbit --up-delay 0s");
    assert!(times[0] >= 32 && times[1] >= 184, "{times:?}");
    assert_eq!([&settings["down"]["link"], &settings["up"]["link"]], ["line:1500kbit", "100mbit"]);
}

/// Runs `qdelay COMMAND SOCKET...` on the machine; its status and output.
fn tell(machine: &Namespace, words: &[&str]) -> (Option<i32>, String) {
    let output = output(machine, command(words));
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Whether each change shows its effect, and none loses a packet but a cut.
#[test]
fn a_link_is_changed_while_it_runs() {
    let machine = machine();
    let port = echo_server(&machine);
    let (socket, file) = (name("link-changes", "link.sock"), name("link-changes", "figures.json"));
    let mut command = link(
        &format!("--control {socket} --json {file} --qdisc codel"),
        &talking_task("behind", &format!("talk {port}")),
    );
    command.stdin(Stdio::piped());
    let mut running = Running::start(&machine, command);
    running.line_after("connected");
    let mut say = |line: &str| {
        running.tell(line);
        running.line_after("said ")
    };
    let done = |words: &[&str]| {
        let (status, text) = tell(&machine, words);
        assert!(status == Some(0) && text.contains(" at ") && text.contains(" s"), "{words:?}: {text}");
        text
    };
    assert_eq!(say("patient"), "answer");
    done(&["pause", &socket, "down"]);
    assert_eq!(say("a"), "silence");
    done(&["restore", &socket]);
    assert_eq!(say("patient"), "answer");
    done(&["cut", &socket, "up"]);
    assert_eq!(say("b"), "silence");
    done(&["restore", &socket, "up"]);
    assert_eq!(say("patient"), "answer", "TCP repeats what was cut");
    done(&["set", &socket, "down=2mbit", "up-delay=5ms", "loss=0.5%", "down-cut=off", "qdisc=bode"]);
    assert_eq!(say("patient"), "answer");
    for (words, expected) in [
        (&["set", &socket, "down=no-such"][..], "down: no trace 'no-such'"),
        (&["set", &socket, "loss=5% 25%"], "is 5%:correlation=25%:variant=netem here"),
        (&["set", &socket, "dwn=1mbit"], "did you mean 'down'?"),
        (&["set", &socket, "cut=maybe"], "cut: 'maybe': expected drop, hold or off"),
        (&["set", &socket, "loss"], "expected KEY=VALUE"),
        (&["reset", "/no/such.sock"], "the socket does not exist"),
    ] {
        let (status, text) = tell(&machine, words);
        assert!(matches!(status, Some(1 | 2)) && text.contains(expected), "{words:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(done(&["reset", &socket, "--port", &(port ^ 1).to_string()]).contains(", 0 connections"));
    assert_eq!(say("patient"), "answer");
    assert!(done(&["reset", &socket, "--port", &port.to_string()]).contains(", 1 connections"));
    assert_eq!(say("patient"), "connection reset");
    let (status, _, complaint) = running.all();
    assert!(status.success(), "{complaint}");
    let figures = json(&file);
    let changes = figures["changes"].as_array().unwrap();
    let whats: Vec<&str> = changes.iter().map(|change| change["what"].as_str().unwrap()).collect();
    assert_eq!(whats.len(), 7, "{whats:?}");
    assert_eq!(whats[..4], ["pause down", "restore both", "cut up", "restore up"]);
    assert!(
        whats[4].starts_with("set ") && whats[4].contains("down=2mbit") && whats[4].contains("up-delay=5ms")
    );
    let times: Vec<f64> = changes.iter().map(|change| change["time_s"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
    for direction in ["down", "up"] {
        let reasons = figures[direction]["drops_by_reason"].as_object().unwrap();
        assert!(reasons.keys().all(|reason| ["cut", "loss"].contains(&reason.as_str())), "{figures}");
    }
    assert!(figures["up"]["drops_by_reason"]["cut"].as_u64().unwrap() > 0, "{figures}");
}

/// A request to a control socket.
fn ask(socket: &mut BufReader<UnixStream>, request: &Value) -> Value {
    socket.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    socket.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// A thousand changes under load lose nothing, and each is in the log.
#[test]
fn a_thousand_changes_lose_no_packet() {
    let machine = machine();
    let port = reflector(&machine);
    let (path, file) = (name("link-thousand", "link.sock"), name("link-thousand", "figures.json"));
    let queues = "--qdisc taildrop:limit=1000000 --up-qdisc taildrop:limit=1000000";
    let mut command = link(
        &format!("--control {path} --json {file} {queues} --drain 30s"),
        &talking_task("behind", &format!("steady {port}")),
    );
    command.stdin(Stdio::piped());
    let mut running = Running::start(&machine, command);
    running.line_after("sending");
    let mut socket = BufReader::new(UnixStream::connect(&path).unwrap());
    let random = &mut qdelay_core::Random::derive(1, "changes", "draws");
    let mut before = 0.0;
    for _ in 0..1000 {
        let side = ["down", "up"][random.below(2) as usize];
        let mut value = |values: &[&str]| values[random.below(values.len() as u64) as usize].to_string();
        let request = match value(&["link", "delay", "jitter", "reorder", "qdisc", "pause", "restore"])
            .as_str()
        {
            "link" => {
                json!({ "command": "set", "values": { side: value(&["50mbit", "infinite", "synth-lte-driving"]) } })
            }
            "qdisc" => json!({ "command": "set", "values": {
                format!("{side}-qdisc"): value(&["taildrop:limit=1000000", "fq_codel:limit=1000000:target=10s:interval=60s"]) } }),
            "pause" => json!({ "command": "pause", "direction": side }),
            "restore" => json!({ "command": "restore" }),
            key => json!({ "command": "set", "values": { format!("{side}-{key}"): match key {
                "delay" => value(&["0s", "3ms", "20ms"]),
                "jitter" => value(&["0s", "2ms", "normal:1ms:reorder=on"]),
                _ => value(&["0", "5%"]),
            } } }),
        };
        let answer = ask(&mut socket, &request);
        let time = answer["time_s"].as_f64().unwrap_or_else(|| panic!("{request}: {answer}"));
        assert!(time >= before, "{answer}");
        before = time;
    }
    let all = ask(&mut socket, &json!({ "command": "changes" }));
    assert_eq!(all["changes"].as_array().unwrap().len(), 1000);
    let values = json!({ "down": "infinite", "up": "infinite", "delay": "0s", "jitter": "0s", "cut": "off" });
    assert_eq!(ask(&mut socket, &json!({ "command": "set", "values": values }))["ok"], true);
    let (status, _, complaint) = running.all();
    assert!(status.success(), "{complaint}");
    let figures = json(&file);
    assert_eq!(figures["drain"]["packets_cut"], 0, "{figures}");
    for direction in ["down", "up"] {
        let of = |name: &str| figures[direction][name].as_u64().unwrap();
        assert_eq!((of("drops"), of("packets_arrived")), (0, of("packets_delivered")), "{figures}");
        assert!(of("packets_arrived") > 100, "{figures}");
    }
}

/// A packet by its record: the direction, the times in ns at which it left the link and ended, and whether it was delivered.
struct Crossed {
    is_up: bool,
    departed: u64,
    ended: u64,
    is_delivered: bool,
}

/// The records of `--packets`.
fn crossed(file: &str) -> Vec<Crossed> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let reader = SerializedFileReader::new(std::fs::File::open(file).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let place = |name: &str| columns.iter().position(|column| column.name() == name).unwrap();
    let [is_up, departed, ended, fate] = ["acknowledgement", "departed_ns", "ended_ns", "fate"].map(place);
    let packet = |row: parquet::record::Row| Crossed {
        is_up: row.get_bool(is_up).unwrap(),
        departed: row.get_long(departed).unwrap() as u64,
        ended: row.get_long(ended).unwrap() as u64,
        is_delivered: row.get_string(fate).unwrap() == "delivered",
    };
    reader.get_row_iter(None).unwrap().map(|row| packet(row.unwrap())).collect()
}

/// A thousand changes under load: by the link's own records each packet shows the setting of its own time. What the machine adds, the
/// lateness of writes and reads, is in the verdict.
#[test]
fn changes_hold_from_their_logged_time_on() {
    const DELAY_NS: [u64; 2] = [0, 50_000_000];
    let machine = machine();
    let port = reflector(&machine);
    let folder = |file: &str| name("link-change-times", file);
    let (path, file, packets) = (folder("link.sock"), folder("figures.json"), folder("packets.parquet"));
    let queues = "--qdisc taildrop:limit=1000000 --up-qdisc taildrop:limit=1000000";
    let mut command = link(
        &format!(
            "--realtime --control {path} --json {file} --packets {packets} --force {queues} --drain 30s"
        ),
        &talking_task("behind", &format!("steady {port}")),
    );
    command.stdin(Stdio::piped());
    let mut running = Running::start(&machine, command);
    running.line_after("sending");
    let mut socket = BufReader::new(UnixStream::connect(&path).unwrap());
    let rounds = [
        json!({ "command": "set", "values": { "up-delay": "50ms" } }),
        json!({ "command": "cut", "direction": "down" }),
        json!({ "command": "set", "values": { "up-delay": "0s" } }),
        json!({ "command": "restore", "direction": "down" }),
    ];
    for request in rounds.iter().cycle().take(1000) {
        assert_eq!(ask(&mut socket, request)["ok"], true);
        // Some packets between two changes.
        crate::link_support::pause_of(Duration::from_millis(4));
    }
    let (status, _, complaint) = running.all();
    assert!(status.success(), "{complaint}");
    let figures = json(&file);
    let times: Vec<u64> = figures["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["time_s"].as_f64().unwrap() * 1e9).round() as u64)
        .collect();
    assert_eq!(times.len(), 1000);
    let log = |first: usize| -> Vec<(u64, usize)> {
        times
            .iter()
            .skip(first)
            .step_by(2)
            .enumerate()
            .map(|(place, time)| (*time, (place + 1) % 2))
            .collect()
    };
    let mut all = crossed(&packets);
    all.sort_by_key(|packet| (packet.departed, packet.ended));
    let up: Vec<(u64, u64)> =
        all.iter().filter(|packet| packet.is_up).map(|packet| (packet.departed, packet.ended)).collect();
    let delay = largest_distance(0, &log(0), shown_delays(&up, &DELAY_NS));
    let down = all.iter().filter(|packet| !packet.is_up);
    let cut =
        largest_distance(0, &log(1), down.map(|packet| (packet.departed, usize::from(!packet.is_delivered))));
    let (audit, count) = (&figures["audit"], all.len());
    let bound = audit["delays_hold_to_ms"].as_f64().unwrap();
    println!(
        "1000 changes, {count} packets: largest distance from the logged time {} ns by the link's clock; delays hold to {bound} ms ({})",
        delay.max(cut),
        audit["grade"].as_str().unwrap()
    );
    assert!(up.len() > 1000 && count - up.len() > 500, "{count}");
    assert_eq!((delay, cut), (0, 0), "by the link's own clock no change is late");
    if !["fine", "good"].contains(&audit["grade"].as_str().unwrap()) {
        skip(
            Need::Quiet,
            format!("delays hold to {bound} ms only, which the verdict says: {}", audit["reasons"]),
        );
    }
    assert!(bound <= 2.0, "{audit}");
}

#[test]
fn http_changes_a_link_for_those_who_have_the_token() {
    let machine = machine();
    let port = echo_server(&machine);
    let mut command = link("--http 127.0.0.1:0", &talking_task("behind", &format!("talk {port}")));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = machine.run(move || command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let (address, token) = line
        .trim()
        .strip_prefix("qdelay: control: http://")
        .and_then(|rest| rest.split_once(", Authorization: Bearer "))
        .unwrap_or_else(|| panic!("{line}"));
    let ask = |request: &str| {
        let address = address.to_string();
        let mut stream = machine.run(move || TcpStream::connect(address).unwrap());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let request = |line: &str, token: &str, body: &str| {
        ask(&format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let set = request("POST /set", token, r#"{"down":"3mbit","up-loss":"1%"}"#);
    assert!(set.starts_with("HTTP/1.1 200 ") && set.contains("set down=3mbit up-loss=1%"), "{set}");
    let status = request("GET /status", token, "");
    assert!(status.contains(r#""link":"3mbit""#), "{status}");
    let changes = request("GET /changes", token, "");
    assert!(changes.contains(r#""what":"set down=3mbit up-loss=1%""#), "{changes}");
    for (line, token, body, status) in [
        ("POST /set", token, r#"{"down":"3mbyte"}"#, "400"),
        ("POST /set", token, "[]", "400"),
        ("POST /cut", "guess", "", "401"),
        ("GET /cut", token, "", "405"),
        ("POST /status", token, "", "405"),
        ("POST /stop", token, "", "404"),
    ] {
        let answer = request(line, token, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
    let other =
        ask(&format!("POST /cut HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {token}\r\n\r\n"));
    assert!(other.starts_with("HTTP/1.1 421 "), "{other}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let (status, text) = run(&machine, "--http 192.0.2.1:80", "true");
    assert!(status == Some(2) && text.contains("expected a loopback address"), "{text}");
}

/// The control by HTTP is reachable behind the link too, however that is cut, and the command is told where.
#[test]
fn a_command_cuts_its_own_network_by_http() {
    let machine = machine();
    let port = reflector(&machine);
    let script = talking_task("behind", &format!("cut and restore {port}"));
    let output = output(&machine, link("--http 127.0.0.1:0", &script));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\n200 false 200 true\n"), "{said} {}", String::from_utf8_lossy(&output.stderr));
}

/// A requirement decides the exit status, whatever the strict rule says, and a report has the reason.
#[test]
fn requirements_and_retries() {
    let machine = machine();
    let port = reflector(&machine);
    let (junit, file) = (name("link-require", "junit.xml"), name("link-require", "figures.json"));
    let script = talking_task("behind", &format!("count 30 30 {port}"));
    // An hour is met by every run, a nanosecond by none.
    let (status, text) = run(&machine, &format!("--require 60min --junit {junit}"), &script);
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(text.matches("\nverdict ").count(), 1, "{text}");
    let report = std::fs::read_to_string(&junit).unwrap();
    assert!(
        report.contains("failures=\"0\"") && report.contains("name=\"down.packets_delivered\""),
        "{report}"
    );
    let options = format!("--require 1ns --retries 2 --junit {junit} --json {file}");
    let (status, text) = run(&machine, &options, &script);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("attempt 2 of 3: again") && text.contains("not met in 3 attempts"), "{text}");
    let report = std::fs::read_to_string(&junit).unwrap();
    assert!(report.contains("failures=\"1\"") && report.contains("required: 1ns"), "{report}");
    assert_eq!(json(&file)["status"], 0);
    // The command's own status comes first, and is not tried again.
    let (status, text) = run(&machine, &options, "exit 7");
    assert!(status == Some(7) && !text.contains("again"), "{text}");
    let (status, text) = run(&machine, "--require best", "true");
    assert!(status == Some(2) && text.contains("expected fine (0.1 ms)"), "{text}");
}
