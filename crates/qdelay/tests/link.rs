//! `qdelay link` as a program: status, verdict, files, carried packets and refusals. Real packets; each test in a namespace
//! that stands for the machine, and no result depends on timing. Without permission to make namespaces the tests
//! are skipped.

use crate::common::folder;
use crate::link_support::{
    LONG, Running, TASK, assert_accounted, converse, echo_server, eventually, is_alive, json, link, machine,
    name, network, output, pause, pause_of, run, talking_task, task,
};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::Duration;

pub const SERVER: &str = "QDELAY_TEST_SERVER";

/// Commands behind a link.
#[helper]
fn inside() {
    let task = std::env::var(TASK).expect("a task");
    let variable = |name: &str| std::env::var(name).unwrap();
    let outside: IpAddr = variable("QDELAY_OUTSIDE").parse().unwrap();
    let server: IpAddr = std::env::var(SERVER).map_or(outside, |server| server.parse().unwrap());
    match task.rsplit_once(' ').unwrap() {
        // Sends 200 kB to a server and back.
        ("echo", port) => {
            converse(SocketAddr::new(server, port.parse().unwrap()), 200_000);
        }
        // Sends this many packets of 1000 bytes, and then a few more over a second.
        ("flood", count) => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            for _ in 0..count.parse::<u32>().unwrap() {
                socket.send_to(&[0; 972], (outside, 9)).unwrap();
            }
            for _ in 0..20 {
                pause();
                socket.send_to(&[0; 972], (outside, 9)).unwrap();
            }
        }
        // Sends a message to a server, and exits at once.
        ("last words", port) => {
            let mut stream = TcpStream::connect((server, port.parse::<u16>().unwrap())).unwrap();
            stream.write_all(&[7; 20_000]).unwrap();
        }
        // Sends this many packets at once.
        ("burst", count) => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            (0..count.parse().unwrap()).for_each(|_: u32| drop(socket.send_to(&[0; 972], (outside, 9))));
        }
        // Sends this many packets, one every 5 ms, and reports when a tenth of them is sent.
        ("steady", count) => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            let count: u32 = count.parse().unwrap();
            for number in 0..count {
                if number == count / 10 {
                    println!("\nsent a tenth");
                }
                // The answer says that no program listens.
                let _ = socket.send_to(&[0; 72], (outside, 9));
                pause_of(Duration::from_millis(5));
            }
        }
        // Talks to a server until it is killed.
        ("endless", port) => {
            let server = SocketAddr::new(server, port.parse().unwrap());
            loop {
                converse(server, 1_000_000);
            }
        }
        // Sends a server a question until it answers.
        ("ask", port) => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            socket.send_to(b"a question", (server, port.parse::<u16>().unwrap())).unwrap();
            let mut buffer = [0; 100];
            let (length, _) = socket.recv_from(&mut buffer).unwrap();
            println!("\ngot {}", String::from_utf8_lossy(&buffer[..length]));
        }
        ("malformed", port) => {
            malformed(outside, port.parse().unwrap());
        }
        (other, _) => panic!("{other}"),
    }
}

/// Sends invalid, nearly invalid and oversized packets, and checks that the link still carries packets.
fn malformed(outside: IpAddr, port: u16) {
    // The kernel fills in the total length and the checksum, and little else.
    let raw = rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).unwrap();
    let IpAddr::V4(to) = outside else { panic!("IPv4") };
    let mut random = 1_u32;
    for number in 0..2000_usize {
        let mut packet = vec![0; 20 + number * 7 % 1481];
        for byte in &mut packet {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (random >> 24) as u8;
        }
        // Any version and header length, or the right ones with arbitrary contents.
        if number % 3 == 0 {
            packet[0] = 0x45;
        }
        packet[16..20].copy_from_slice(&to.octets());
        // Some are refused by the kernel.
        let _ = rustix::net::sendto(&raw, &packet, SendFlags::empty(), &SocketAddr::from((to, 0)));
    }
    let giant = rustix::net::sendto(&raw, &[0x45; 9000], SendFlags::empty(), &SocketAddr::from((to, 0)));
    assert!(giant.is_err(), "a packet that is longer than the MTU");
    // One of 60 kB, which becomes many fragments.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.send_to(&[7; 60_000], (outside, 9)).unwrap();
    let server = SocketAddr::new(outside, port);
    let mut stream = TcpStream::connect_timeout(&server, LONG).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"still there").unwrap();
    let mut answer = [0; 11];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still there");
}

#[test]
fn the_status_of_the_command_is_ours() {
    let machine = machine();
    for status in [0, 1, 2, 7, 255] {
        assert_eq!(run(&machine, "--quiet", &format!("exit {status}")), (Some(status), String::new()));
    }
    // Status as in a shell: 128 plus the signal.
    assert_eq!(run(&machine, "--quiet", "kill -9 $$"), (Some(137), String::new()));
    assert_eq!(run(&machine, "--quiet", "kill -TERM $$"), (Some(143), String::new()));
    // Output and input belong to the command.
    let mut command = link("--quiet", "read line; echo \"got $line\"; echo error >&2");
    command.stdin(Stdio::piped());
    let mut running = Running::start(&machine, command);
    running.tell("this");
    let (_, output, complaint) = running.all();
    assert_eq!((output.as_str(), complaint.as_str()), ("got this\n", "error\n"));
}

#[test]
fn figures_in_text_and_json() {
    let machine = machine();
    let before = network(&machine);
    let port = echo_server(&machine);
    let file = name("link-json", "figures.json");
    let options =
        format!("--down 20mbit --up 10mbit --qdisc bode --up-qdisc codel --delay 1ms --json {file}");
    let (status, text) = run(&machine, &options, &(task("inside", &format!("echo {port}")) + "; exit 3"));
    assert_eq!(status, Some(3), "{text}");
    assert!(text.contains("\ndown ") && text.contains("\nup ") && text.contains("\nverdict "), "{text}");
    let value = json(&file);
    assert_eq!(
        value["links"],
        serde_json::json!({
            "down": { "link": "20mbit", "qdisc": "bode" }, "up": { "link": "10mbit", "qdisc": "codel" }
        })
    );
    assert_eq!((&value["status"], &value["delay_ms"]), (&3.into(), &1.0.into()));
    for direction in ["down", "up"] {
        let figures = &value[direction];
        let count = |name: &str| figures[name].as_u64().unwrap();
        // 200 kB in packets of 1500 bytes, but for what was still under way at the end.
        assert!(count("packets_delivered") > 130, "{figures}");
        assert_accounted(figures, 100);
        assert!(figures["queue_delay_ms"]["max"].as_f64().unwrap() > 0.0 && count("malformed") == 0);
        assert!((0.0..=1.0).contains(&figures["utilization"].as_f64().unwrap()), "{figures}");
    }
    let audit = &value["audit"];
    assert_eq!(audit["lost_outside"], 0);
    assert_eq!(audit["trustworthy"].as_bool().unwrap(), audit["reasons"].as_array().unwrap().is_empty());
    assert!(
        audit["lateness_ms"]["count"].as_u64().unwrap() > 260 && audit["cpu_seconds"].as_f64().unwrap() > 0.0
    );
    assert_eq!(text.contains(" not met: "), !audit["trustworthy"].as_bool().unwrap());
    assert_eq!(network(&machine), before);
}

/// Super-packets of the kernel are split, and all data returns, in both modes of arrival.
#[test]
fn super_packets_are_split_and_joined() {
    let machine = machine();
    let port = echo_server(&machine);
    let file = name("link-offload", "figures.json");
    for (options, access) in [("--offload on", None), ("--offload on --access 1gbit", Some(1000.0))] {
        let options = format!("--down 1gbit --up 500mbit --qdisc fq_codel {options} --json {file}");
        let (status, text) = run(&machine, &options, &task("inside", &format!("echo {port}")));
        assert_eq!(status, Some(0), "{text}");
        let value = json(&file);
        let count = |name: &str| value["offload"][name].as_u64().unwrap();
        // 200 kB each way.
        assert!(count("super_packets_read") > 5 && count("packets_split") > 200, "{value}");
        assert!(count("packets_joined") >= 2 * count("super_packets_written"), "{value}");
        assert_eq!(value["access_mbps"].as_f64(), access);
        let came = if access.is_some() { "spaced at 1gbit" } else { "as bursts" };
        assert!(text.contains("offload (TCP") && text.contains(came), "{text}");
        assert_eq!(value["audit"]["lost_outside"], 0);
        for direction in ["down", "up"] {
            assert_accounted(&value[direction], 100);
            // Counts are of segments, not of super-packets.
            assert!(value[direction]["packets_delivered"].as_u64().unwrap() > 130, "{value}");
        }
    }
    let (status, text) =
        run(&machine, &format!("--offload off --json {file}"), &task("inside", &format!("echo {port}")));
    assert_eq!(
        (status, text.contains("offload"), &json(&file)["offload"]),
        (Some(0), false, &serde_json::Value::Null)
    );
}

/// Packets without memory are lost outside the path, on any machine.
#[test]
fn the_verdict_and_strict() {
    let machine = machine();
    let file = name("link-strict", "figures.json");
    let options = format!("--up 8kbit --hold 256 --json {file}");
    let flood = task("inside", "flood 600");
    let (status, text) = run(&machine, &options, &flood);
    assert_eq!(status, Some(0), "{text}");
    let audit = json(&file)["audit"].clone();
    assert!(audit["trustworthy"] == false && audit["lost_outside"].as_u64().unwrap() > 300, "{audit}");
    assert!(
        text.contains(" not met: ") && text.contains("arrived while all memory for packets was in use"),
        "{text}"
    );
    let (status, text) = run(&machine, &(options.clone() + " --strict --quiet"), &flood);
    assert!(
        status == Some(1) && text.starts_with("qdelay: the run cannot be trusted: "),
        "{status:?}: {text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    // The command's message comes first.
    let (status, _) = run(&machine, &(options + " --strict"), &(flood + "; exit 4"));
    assert_eq!(status, Some(4));
}

/// A suspended process releases late the packets that arrived meanwhile, by their time stamps.
#[test]
fn a_link_that_stands_still_says_so() {
    let machine = machine();
    let file = name("link-still", "figures.json");
    let mut running =
        Running::start(&machine, link(&format!("--json {file}"), &talking_task("inside", "steady 600")));
    running.line_after("sent a tenth");
    running.signal(Signal::STOP);
    pause_of(Duration::from_millis(800));
    running.signal(Signal::CONT);
    let (status, text) = running.end();
    assert_eq!(status.code(), Some(0), "{text}");
    let audit = json(&file)["audit"].clone();
    let stalls = &audit["stalls"];
    let count = |name: &str| stalls[name].as_u64().unwrap();
    let longest = stalls["longest"][0]["length_ms"].as_f64().unwrap();
    // No sleep is longer than 10 ms.
    assert!(longest >= 790.0 && stalls["longest_gap_ms"] == longest, "{stalls}");
    assert!(stalls["total_ms"].as_f64().unwrap() >= longest && count("count") >= 1, "{stalls}");
    // A busy machine may have sent fewer of the 160 packets.
    let late = audit["releases_late"].as_u64().unwrap();
    assert!((20..=count("packets_read")).contains(&late) && count("stamps_doubted") == 0, "{audit}");
    assert!(audit["lateness_ms"]["max"].as_f64().unwrap() >= 600.0, "{audit}");
    assert!(text.contains(" not met: "), "{text}");
    assert!(audit["trustworthy"] == false, "{audit}");
    let is_told = |reason: &serde_json::Value| {
        let reason = reason.as_str().unwrap();
        reason.contains("left more than") && reason.contains("late")
    };
    assert!(audit["reasons"].as_array().unwrap().iter().any(is_told), "{audit}");
}

/// The command's last message is in flight for half a second when the command ends, and so is the answer to the end of the connection.
#[test]
fn packets_in_flight_at_the_end_arrive() {
    let machine = machine();
    let listener = machine.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut bytes = Vec::new();
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let whole = stream.read_to_end(&mut bytes).map(|_| bytes.len());
            if said.send(whole).is_err() {
                return;
            }
        }
    });
    let file = name("link-drain", "figures.json");
    let words = task("inside", &format!("last words {port}"));
    for _ in 0..4 {
        // 20 kB take 160 ms on 1 Mbit/s.
        let options = format!("--delay 200ms --up 1mbit --json {file}");
        let (status, text) = run(&machine, &options, &words);
        assert_eq!(status, Some(0), "{text}");
        // Packets that are not drained leave the server waiting.
        assert_eq!(heard.recv_timeout(LONG).expect("an end").expect("no error"), 20_000);
        let value = json(&file);
        let drain = &value["drain"];
        assert!(drain["packets_cut"] == 0 && drain["seconds"].as_f64().unwrap() > 0.2, "{drain}");
        assert!(!text.contains("--drain"), "{text}");
        for direction in ["down", "up"] {
            assert_accounted(&value[direction], 0);
        }
    }
    // Draining has a limit, and can be switched off.
    for (drain, least, most) in [("300ms", 0.3, 30.0), ("0s", 0.0, 30.0)] {
        let options = format!("--up 8kbit --drain {drain} --json {file}");
        let (status, text) = run(&machine, &options, &task("inside", "flood 100"));
        assert_eq!(status, Some(0), "{text}");
        let drain = json(&file)["drain"].clone();
        let (seconds, cut) = (drain["seconds"].as_f64().unwrap(), drain["packets_cut"].as_u64().unwrap());
        assert!((least..most).contains(&seconds) && cut > 50, "{drain}");
        assert!(text.contains(&format!("{cut} packets were still under way")), "{text}");
    }
}

/// The command exits before the link has read its last packets, after a long quiet time.
#[test]
fn packets_left_in_the_device_are_carried() {
    let machine = machine();
    let file = name("link-left", "figures.json");
    let script = format!("echo $$; read go; {}", task("inside", "burst 30"));
    let mut command = link(&format!("--up 10mbit --quiet --json {file}"), &script);
    command.stdin(Stdio::piped());
    let mut running = Running::start(&machine, command);
    let pid = running.line();
    pause_of(Duration::from_millis(300));
    running.signal(Signal::STOP);
    running.tell("go");
    eventually("the command has ended", || !is_alive(&pid));
    running.signal(Signal::CONT);
    let (status, complaint) = running.end();
    assert_eq!((status.code(), complaint.as_str()), (Some(0), ""));
    let value = json(&file);
    assert!(value["up"]["packets_delivered"].as_u64().unwrap() >= 30, "{value}");
    assert_eq!(value["drain"]["packets_cut"], 0);
    assert_accounted(&value["up"], 0);
}

#[test]
fn two_links_at_once() {
    let machine = machine();
    let before = network(&machine);
    let port = echo_server(&machine);
    let script = format!("echo $QDELAY_OUTSIDE; read go; {}", task("inside", &format!("echo {port}")));
    let start = || {
        let mut command = link("--down 50mbit --up 50mbit --quiet", &script);
        command.stdin(Stdio::piped());
        Running::start(&machine, command)
    };
    let mut links = [start(), start()];
    // Both links are up before either sends.
    let addresses = links.each_mut().map(Running::line);
    assert_ne!(addresses[0], addresses[1]);
    for link in &mut links {
        link.tell("go");
    }
    for link in links {
        let (status, complaint) = link.end();
        assert_eq!((status.code(), complaint.as_str()), (Some(0), ""));
    }
    assert_eq!(network(&machine), before);
}

#[test]
fn links_nest() {
    let machine = machine();
    let before = network(&machine);
    let port = echo_server(&machine);
    let (outer, inner) = (name("link-nest", "outer.json"), name("link-nest-inner", "inner.json"));
    let program = env!("CARGO_BIN_EXE_qdelay");
    // The path to the machine leads through both links.
    let script = format!(
        "echo \"$QDELAY_LINK\"; {SERVER}=$FIRST {}; exit $(($? + 5))",
        task("inside", &format!("echo {port}"))
    );
    let middle = format!(
        "FIRST=$QDELAY_OUTSIDE exec '{program}' link --up 20mbit --qdisc codel --quiet --json {inner} -- sh -c '{}'",
        script.replace('\'', "'\\''")
    );
    let output = output(&machine, link(&format!("--down 30mbit --quiet --json {outer}"), &middle));
    let (said, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), complaint.as_ref()), (Some(5), ""), "{said}");
    assert_eq!(said, "down 30mbit taildrop > down infinite codel, up 20mbit taildrop\n");
    for file in [outer, inner] {
        let value = json(&file);
        let delivered = |direction: &str| value[direction]["packets_delivered"].as_u64().unwrap();
        assert!(delivered("down") > 130 && delivered("up") > 130, "{value}");
    }
    assert_eq!(network(&machine), before);
}

/// Links nest eleven deep; a twelfth is refused, with the reason.
#[test]
fn nest_twelve() {
    let machine = machine();
    let before = network(&machine);
    let program = env!("CARGO_BIN_EXE_qdelay");
    let ten = format!("'{program}' link --quiet -- ").repeat(10);
    assert_eq!(run(&machine, "--quiet", &(ten.clone() + "sh -c 'exit 4'")), (Some(4), String::new()));
    let (status, said) = run(&machine, "--quiet", &format!("{ten}'{program}' link --quiet -- echo never"));
    assert_eq!((status, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("links nest 11 deep") && said.contains("join some into one"), "{said}");
    assert_eq!(network(&machine), before);
}

/// A name may begin with a digit.
#[test]
fn a_file_is_no_rate() {
    let machine = machine();
    let folder = folder("link-names");
    std::fs::write(folder.join("12.trace"), "1\n2\n3\n").unwrap();
    let json_file = name("link-names-json", "figures.json");
    let options = format!("--traces {} --down 12.trace --quiet --json {json_file}", folder.display());
    assert_eq!(run(&machine, &options, "exit 0"), (Some(0), String::new()));
    assert_eq!(json(&json_file)["links"]["down"]["link"], "12.trace");
}

/// The link has nothing to send for 78 seconds, but it does not last that long.
#[test]
fn an_outage_holds_no_end_up() {
    let machine = machine();
    let trace = name("link-outage", "outage.up");
    std::fs::write(&trace, "1\n2\n78000\n78001\n").unwrap();
    let file = name("link-outage-json", "figures.json");
    let (status, text) = run(
        &machine,
        &format!("--up {trace} --down {trace} --json {file}"),
        &(task("inside", "flood 100") + "; exit 6"),
    );
    assert_eq!(status, Some(6), "{text}");
    let value = json(&file);
    assert!(
        value["duration_s"].as_f64().unwrap() < 70.0
            && value["up"]["packets_arrived"].as_u64().unwrap() >= 100,
        "{value}"
    );
    assert!(value["up"]["packets_delivered"].as_u64().unwrap() <= 4, "{value}");
    // The link has no end of its own while packets wait for it; a signal ends it.
    let mut running = Running::start(
        &machine,
        link(
            &format!("--up {trace} --quiet"),
            &(task("inside", "flood 10") + "; echo sent; exec sleep 1000"),
        ),
    );
    assert_eq!(running.line(), "sent");
    running.signal(Signal::INT);
    assert_eq!(running.end().0.code(), Some(130));
}

#[test]
fn malformed_truncated_and_giant_packets_do_no_harm() {
    let machine = machine();
    let port = echo_server(&machine);
    let file = name("link-malformed", "figures.json");
    for qdisc in ["taildrop", "bode", "fq_codel"] {
        let options = format!("--up-qdisc {qdisc} --qdisc {qdisc} --quiet --json {file}");
        assert_eq!(
            run(&machine, &options, &task("inside", &format!("malformed {port}"))),
            (Some(0), String::new())
        );
        let value = json(&file);
        let up = &value["up"];
        assert!(
            up["malformed"].as_u64().unwrap() > 100 && up["packets_delivered"].as_u64().unwrap() > 300,
            "{up}"
        );
        assert_eq!(value["audit"]["malformed"], up["malformed"]);
        assert_eq!(value["audit"]["lost_outside"], 0, "{value}");
    }
}
