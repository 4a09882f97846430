//! `qdelay gateway` as a program: carried and held packets, reloads, figures, privileges, and a clean end. Real packets
//! in namespaces; no result depends on timing. Without permission to make namespaces the tests are skipped.

use crate::common::{refused, run, succeed};
use crate::gateway_support::openmetrics::Metrics;
use crate::gateway_support::{EXPEDITED, LONG, Network, OUTSIDE, eventually, ip, network, receive, send};
use qdelay_emu::device::packet::PacketSocket;
use qdelay_emu::device::{Device, Sent};
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, skip};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

/// Configuration of both directions without a limit.
const OPEN: &str = "";

/// Header bytes of the tests' packets.
const HEADERS: usize = 28;

#[test]
fn arp_ping_udp_tcp_and_vlan_pass() {
    let network = network("passes");
    let gateway = network.start("", "[down]\ndelay = \"2ms\"\n[up]\nlink = \"50mbit\"");
    udp_passes(&network);
    ping_passes(&network);
    tcp_passes(&network);
    tagged_packets_pass(&network);
    let said = gateway.stop();
    assert!(said.contains("Mbit/s") && said.contains("reloads") && said.contains("verdict "), "{said}");
    assert!(!said.contains("were refused") && !said.contains("offloads are on"), "{said}");
}

/// The first packet waits for ARP, which passes the gateway too.
fn udp_passes(network: &Network) {
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    for (from, to) in [(&inside, &outside), (&outside, &inside)] {
        send(from, to, 0..5, 1472);
        receive(to, 0..5);
    }
}

fn ping_passes(network: &Network) {
    let socket = network
        .inside
        .run(|| rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).unwrap());
    rustix::net::sockopt::set_socket_timeout(&socket, rustix::net::sockopt::Timeout::Recv, Some(LONG))
        .unwrap();
    // Echo request 0x1234, 1; the checksum is the complement of the sum of the other words.
    let sum = 0x0800_u16 + 0x1234 + 1;
    let mut request = [8, 0, 0, 0, 0x12, 0x34, 0, 1];
    request[2..4].copy_from_slice(&(!sum).to_be_bytes());
    let to = SocketAddrV4::new(OUTSIDE.parse::<Ipv4Addr>().unwrap(), 0);
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &to).unwrap();
    let mut reply = [0; 100];
    let receive = || rustix::net::recv(&socket, &mut reply[..], RecvFlags::empty());
    let (length, _) = rustix::io::retry_on_intr(receive).unwrap();
    assert_eq!(length, 28);
    assert_eq!((reply[20], &reply[24..28]), (0, &[0x12, 0x34, 0, 1][..]), "an echo reply");
}

fn tcp_passes(network: &Network) {
    let listener = network.outside.run(|| TcpListener::bind((OUTSIDE, 7001)).unwrap());
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let expected = sent.clone();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        stream.write_all(&got).unwrap();
        got
    });
    let mut client = network.inside.run(|| TcpStream::connect((OUTSIDE, 7001)).unwrap());
    client.set_read_timeout(Some(LONG)).unwrap();
    client.write_all(&sent).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = Vec::new();
    client.read_to_end(&mut back).unwrap();
    assert!(server.join().unwrap() == expected && back == expected);
}

/// A socket at an address of one host.
fn bind(network: &Network, side: &str, address: &'static str) -> UdpSocket {
    let host = if side == "inside" { &network.inside } else { &network.outside };
    let socket = host.run(move || UdpSocket::bind(address).unwrap());
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket
}

/// Frames as they are on the wire, with one tag (802.1Q) and with two (802.1ad); not every kernel has VLAN devices.
fn tagged_packets_pass(network: &Network) {
    let open = |host: &Namespace| host.run(|| PacketSocket::open("eth0").unwrap());
    let [mut inside, mut outside] = [&network.inside, &network.outside].map(open);
    // Above the MTU the kernel allows a single 802.1Q tag and nothing else.
    let tagged =
        [(&[0x81, 0x00, 0x20, 0x07][..], 1500_u16), (&[0x88, 0xa8, 0, 9, 0x81, 0x00, 0x20, 0x07][..], 1492)];
    for (tags, bytes) in tagged {
        // Unused addresses; an IPv4 header with its checksum, and as many bytes as allowed.
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(tags);
        let [high, low] = bytes.to_be_bytes();
        frame.extend([0x08, 0x00, 0x45, 0xb8, high, low, 0, 1, 0, 0, 64, 17, 0, 0, 10, 9, 7, 2, 10, 9, 7, 1]);
        let header = frame.len() - 20;
        let words = frame[header..].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum = words.sum::<u32>();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[header + 10..header + 12].copy_from_slice(&checksum.to_be_bytes());
        frame.resize(header + usize::from(bytes), 0x5a);
        for (from, to) in [(0, 1), (1, 0)] {
            let sides = [&mut inside, &mut outside];
            assert_eq!(sides[from].send(&frame).unwrap(), Sent::Done);
            let mut buffer = [0; 2000];
            eventually("the frame comes out as it went in", || {
                let received = sides[to].receive(&mut buffer).unwrap();
                received.is_some_and(|received| buffer[..received.bytes] == frame)
            });
        }
    }
}

/// Neighbours are found by ND, over multicast.
#[test]
fn ipv6_passes() {
    if !fs::exists("/proc/net/if_inet6").unwrap() {
        skip(Need::Net, "there is no IPv6");
    }
    let network = network("ipv6");
    let gateway = network.start("", "[down]\ndelay = \"2ms\"\n[up]\nlink = \"50mbit\"");
    for (host, address) in [(&network.inside, "fd09::2"), (&network.outside, "fd09::1")] {
        assert!(ip(host, "link set eth0 multicast on"));
        assert!(ip(host, &format!("addr add {address}/64 dev eth0 nodad")));
    }
    let (inside, outside) =
        (bind(&network, "inside", "[fd09::2]:7003"), bind(&network, "outside", "[fd09::1]:7003"));
    send(&inside, &outside, 0..20, 1452);
    receive(&outside, 0..20);
    send(&outside, &inside, 0..20, 4);
    receive(&inside, 0..20);
    gateway.stop();
}

/// A link so slow that no packet leaves during the test: one packet is on the link, the queue is full, and the rest is dropped.
#[test]
fn a_queue_holds_what_it_should_and_drops_the_rest() {
    let network = network("shaping");
    let gateway = network.start("", "[down]\nlink = \"line:8bit\"\nqdisc = \"taildrop:limit=20\"");
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    // The other direction has no limit. Its packets leave before these come.
    send(&inside, &outside, 0..1, 100);
    receive(&outside, 0..1);
    send(&outside, &inside, 0..30, 1000);
    let expedited = |metrics: &Metrics, name: &str, more: &[(&str, &str)]| {
        let labels = [&[("direction", "down"), ("class", "ef")], more].concat();
        metrics.get(name, &labels) as u64
    };
    let mut metrics = Metrics::parse(body(&network.scrape()));
    eventually("30 packets have come", || {
        metrics = Metrics::parse(body(&network.scrape()));
        expedited(&metrics, "qdelay_packets_total", &[("stage", "offered")]) == 30
    });
    assert_eq!(expedited(&metrics, "qdelay_packets_total", &[("stage", "delivered")]), 0);
    assert_eq!(expedited(&metrics, "qdelay_dropped_packets_total", &[("reason", "tail_limit")]), 9);
    assert_eq!(expedited(&metrics, "qdelay_dropped_packets_total", &[]), 9);
    assert_eq!(expedited(&metrics, "qdelay_backlog_packets", &[]), 20);
    assert_eq!(expedited(&metrics, "qdelay_backlog_bytes", &[]), 20 * (1000 + HEADERS as u64));
    assert_eq!(expedited(&metrics, "qdelay_sojourn_seconds_count", &[]), 1);
    let status = network.status();
    assert_eq!(status["down"]["backlog"]["packets"], 20);
    assert_eq!(status["down"]["setting"]["link"], "line:8bit");
    // The end does not wait for these packets.
    gateway.stop();
}

fn body(answer: &str) -> &str {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    body
}

#[test]
fn figures_add_up_with_the_traffic() {
    let network = network("metrics");
    let gateway = network.start("", OPEN);
    Metrics::parse(body(&network.scrape()));
    network.meet();
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    for (from, to, rounds) in [(&inside, &outside, 3), (&outside, &inside, 5)] {
        for round in 0..rounds {
            send(from, to, round * 40..(round + 1) * 40, 200);
            receive(to, round * 40..(round + 1) * 40);
        }
    }
    let metrics = Metrics::parse(body(&network.scrape()));
    for (direction, packets) in [("up", 120_u64), ("down", 200)] {
        for stage in ["offered", "sent", "delivered"] {
            let labels = [("direction", direction), ("class", "ef"), ("stage", stage)];
            assert_eq!(metrics.get("qdelay_packets_total", &labels) as u64, packets, "{labels:?}");
            let bytes = packets * (200 + HEADERS as u64);
            assert_eq!(metrics.get("qdelay_bytes_total", &labels) as u64, bytes, "{labels:?}");
        }
        let labels = [("direction", direction), ("class", "ef")];
        assert_eq!(metrics.get("qdelay_sojourn_seconds_count", &labels) as u64, packets);
        assert_eq!(metrics.get("qdelay_dropped_packets_total", &labels), 0.0);
        assert_eq!(metrics.get("qdelay_backlog_packets", &labels), 0.0);
    }
    assert_eq!(metrics.get("qdelay_outside_losses_total", &[]), 0.0);
    assert!(metrics.get("qdelay_passed_frames_total", &[("direction", "up")]) >= 1.0, "ARP");
    let delivered = metrics.get("qdelay_packets_total", &[("stage", "delivered")]);
    assert_eq!(delivered, 322.0);
    assert_eq!(metrics.get("qdelay_released_packets_total", &[]), delivered);
    assert_eq!(metrics.get("qdelay_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    assert!(metrics.get("qdelay_cpu_seconds_total", &[]) > 0.0);
    // 201 went down and 121 up.
    for (direction, packets) in [("down", 201.0), ("up", 121.0)] {
        let labels = [("direction", direction)];
        assert_eq!(metrics.get("qdelay_release_lateness_seconds_count", &labels), packets);
    }
    let status = network.status();
    assert_eq!(status["down"]["total"]["delivered"]["packets"], 201);
    assert_eq!(status["up"]["classes"][1]["dscp"], EXPEDITED);
    let said = gateway.stop();
    assert!(said.lines().any(|line| line.starts_with("down ") && line.contains(" 201 ")), "{said}");
}

#[test]
fn a_reload_under_traffic_loses_nothing_and_keeps_order() {
    let network = network("reload");
    let gateway = network.start("", "[down]\nlink = \"20mbit\"\ndelay = \"10ms\"");
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    network.meet();
    let plans = [
        "[down]\nlink = \"100mbit\"\nqdisc = \"codel\"",
        // The trace has outages, in which the default target would drop, depending on when the reload comes.
        "[down]\nlink = \"synth-lte-driving\"\nqdisc = \"fq_codel:target=100s:interval=100s\"\ndelay = \"3ms\"\n[up]\nlink = \"10mbit\"",
        "[down]\nqdisc = \"taildrop:limit=500\"\ndelay = \"30ms\"\njitter = \"5ms\"",
        "[down]\nlink = \"line:5mbit\"\nqdisc = \"sfq\"\n[up]\ndelay = \"5ms\"",
        "[down]\nlink = \"20mbit\"\ndelay = \"10ms\"",
    ];
    let mut sent = 0;
    for (count, plan) in plans.iter().cycle().take(15).enumerate() {
        // Packets are in the queue, on the link and behind the link when these are replaced.
        send(&outside, &inside, sent..sent + 20, 1000);
        send(&inside, &outside, sent..sent + 20, 1000);
        network.configure("", plan);
        if count % 3 == 2 {
            gateway.signal(Signal::HUP);
        } else {
            let answer = network.ask(r#"{"command":"reload"}"#);
            assert_eq!(answer["ok"], true, "{answer}");
        }
        send(&outside, &inside, sent + 20..sent + 40, 1000);
        receive(&inside, sent..sent + 40);
        receive(&outside, sent..sent + 20);
        sent += 40;
        eventually("reloaded", || network.status()["reloads"] == count as u64 + 1);
    }
    let status = network.status();
    assert_eq!(status["down"]["total"]["delivered"]["packets"], 601);
    assert_eq!(status["down"]["total"]["dropped"]["packets"], 0);
    assert_eq!(
        status["lost_outside"].as_object().unwrap().values().filter(|n| **n != 0).count(),
        0,
        "{status}"
    );
    let said = gateway.stop();
    assert!(said.contains("15 reloads"), "{said}");
}

#[test]
fn bad_reload_keeps_the_running_configuration() {
    let network = network("bad-reload");
    let mut gateway = network.start("", "[down]\nlink = \"20mbit\"");
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    let (socket, config) = (network.socket(), network.folder.join("gateway.toml"));
    let bad = [
        ("", "[down]\nlink = \"20mbyte\"", "line 10: down.link: "),
        ("", "[down]\nqdisc = \"codle\"", "line 10: down.qdisc: 'codle'"),
        ("mtu = 9000", "", "line 4: gateway.mtu: changed from '1500' to '9000', which needs a restart"),
        ("", "mode = \"0666\"", "line 9: control.mode: changed from '0600' to '0666', which needs a restart"),
        ("[", "", "line 4: not TOML"),
    ];
    for (number, (of_gateway, rest, expected)) in (0..).zip(bad) {
        network.configure(of_gateway, rest);
        let output = run(&["gateway", "--reload", socket.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("{}: {expected}", config.display())), "{said}");
        assert!(
            said.contains("the previous configuration stays in use") && said.lines().count() == 1,
            "{said}"
        );
        gateway.wait_for(expected);
        gateway.signal(Signal::HUP);
        gateway.wait_for(expected);
        send(&outside, &inside, number * 5..number * 5 + 5, 100);
        receive(&inside, number * 5..number * 5 + 5);
    }
    let status = network.status();
    assert_eq!((&status["reloads"], &status["down"]["setting"]["link"]), (&0.into(), &"20mbit".into()));
    fs::remove_file(&config).unwrap();
    gateway.signal(Signal::HUP);
    gateway.wait_for("cannot be read");
    network.configure("", "[down]\nlink = \"30mbit\"");
    let said = succeed(&["gateway", "--reload", socket.to_str().unwrap()]);
    assert!(said.contains("30mbit"), "{said}");
    gateway.stop();
    let output = run(&["gateway", "--reload", socket.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "nobody is there");
}

/// A configuration that is a pipe is refused at once, and the next reload works.
#[test]
fn gateway_reload_fifo() {
    let network = network("reload-fifo");
    let mut gateway = network.start("", "[down]\nlink = \"20mbit\"");
    let (socket, config) = (network.socket(), network.folder.join("gateway.toml"));
    let make_pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    make_pipe(&config);
    gateway.signal(Signal::HUP);
    gateway.wait_for("is no regular file");
    fs::remove_file(&config).unwrap();
    // A trace that is one.
    make_pipe(&network.folder.join("pipe.down"));
    network.configure("", "[down]\nlink = \"pipe.down\"");
    gateway.signal(Signal::HUP);
    gateway.wait_for("pipe.down is no regular file; expected a file with a trace");
    network.configure("", "[down]\nlink = \"30mbit\"");
    let said = succeed(&["gateway", "--reload", socket.to_str().unwrap()]);
    assert!(said.contains("30mbit"), "{said}");
    gateway.stop();
}

/// A log that is a pipe waits for its reader, and a signal ends that.
#[test]
fn gateway_log_fifo() {
    let network = network("log-fifo");
    let pipe = network.folder.join("pipe.pcapng");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let config = network.configure("", &format!("[log]\npcap = \"{}\"", pipe.display()));
    let mut command = crate::common::command(&["gateway", config.to_str().unwrap()]);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut gateway = network.gateway.run(move || command.spawn().unwrap());
    let mut lines = BufReader::new(gateway.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("runs as root")), "privileges are dropped before logs are opened");
    kill_process(Pid::from_child(&gateway), Signal::TERM).unwrap();
    assert!(!gateway.wait().unwrap().success());
}

/// File that cannot be opened for a while, as on a file system whose server is down: a lease blocks the open.
const LEASE: &str = "\
import fcntl, signal, sys
signal.signal(signal.SIGIO, lambda *_: None)
held = open(sys.argv[1], 'r+')
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
";

/// A reload that waits for a file has a time limit, and does not delay signals.
#[test(waits)]
fn gateway_reload_that_waits() {
    let network = network("reload-waits");
    let gateway = network.start("", "[down]\nlink = \"20mbit\"");
    let trace = network.folder.join("held.down");
    fs::write(&trace, "1\n2\n3\n").unwrap();
    let mut holder = Command::new("python3");
    holder.args(["-c", LEASE]).arg(&trace).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut holder) = holder.spawn() else { skip(Need::Python, "no python3") };
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line != "held\n" {
        skip(Need::Tools, "this file system has no leases");
    }
    network.configure("", "[down]\nlink = \"held.down\"");
    let output = run(&["gateway", "--reload", network.socket().to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("took more than 10 s") && said.contains("stays in use"), "{said}");
    gateway.signal(Signal::HUP);
    // Status is answered meanwhile, and the gateway ends.
    assert_eq!(network.status()["down"]["setting"]["link"], "20mbit");
    gateway.stop();
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// Privileges of every thread of a gateway, and further fields of its status.
fn assert_rights(id: u32, also: impl Fn(&dyn Fn(&str) -> String)) {
    for task in fs::read_dir(format!("/proc/{id}/task")).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(&format!("{name}:"))).unwrap();
            line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
        };
        also(&field);
        assert_eq!(field("NoNewPrivs"), "1");
        let set = |name: &str| u64::from_str_radix(&field(name), 16).unwrap();
        // CAP_NET_ADMIN is 12, CAP_NET_RAW 13; CAP_IPC_LOCK, 14, where the limit of locked memory cannot be lifted.
        assert_eq!(set("CapPrm") & !(1 << 14), 0x3000, "{status}");
        assert_eq!(set("CapEff") & !(1 << 14), 0, "{status}");
        assert_eq!((set("CapInh"), set("CapAmb")), (0, 0), "{status}");
        assert_eq!(set("CapBnd"), 0, "{status}");
    }
}

#[test]
fn root_keeps_its_name_and_not_its_rights() {
    let network = network("root");
    let before = ["in0", "out0"].map(|interface| network.offloads_on(interface));
    let mut gateway = network.start("realtime = true", "");
    assert_rights(gateway.id(), |field| assert_eq!(field("Uid"), "0 0 0 0"));
    // Files are read again as root, and an interface that returned is opened with the remaining capabilities.
    gateway.signal(Signal::HUP);
    gateway.wait_for("");
    let said = gateway.stop();
    assert!(said.contains("runs as root, with the capabilities to open its interfaces again"), "{said}");
    assert_eq!(["in0", "out0"].map(|interface| network.offloads_on(interface)), before);
}

#[test]
fn rights_are_given_up_and_offloads_are_restored() {
    let network = network("rights");
    if !fs::read_to_string("/etc/passwd").is_ok_and(|users| users.contains("\nnobody:")) {
        skip(Need::Tools, "there is no user nobody");
    }
    let before = ["in0", "out0"].map(|interface| network.offloads_on(interface));
    let mut gateway =
        network.start("user = \"nobody\"\nrealtime = true", "mode = \"0660\"\ngroup = \"daemon\"");
    assert_rights(gateway.id(), |field| {
        assert!(field("Uid").split(' ').chain(field("Gid").split(' ')).all(|id| id != "0"));
        assert_eq!(field("Groups"), "");
    });
    let socket = fs::metadata(network.socket()).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o660);
    let groups = fs::read_to_string("/etc/group").unwrap();
    let daemon = groups.lines().find(|line| line.starts_with("daemon:")).unwrap();
    assert_eq!(Some(socket.gid().to_string().as_str()), daemon.split(':').nth(2));
    // A reload cannot give the program root again.
    gateway.signal(Signal::HUP);
    gateway.wait_for("");
    let said = gateway.stop();
    assert!(said.contains("runs as nobody"), "{said}");
    assert_eq!(["in0", "out0"].map(|interface| network.offloads_on(interface)), before);
}

#[test]
fn an_interface_goes_away_and_comes_back() {
    let network = network("comes-back");
    let has_nobody = fs::read_to_string("/etc/passwd").is_ok_and(|users| users.contains("\nnobody:"));
    let mut gateway = network.start(if has_nobody { "user = \"nobody\"" } else { "" }, OPEN);
    network.meet();
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    send(&outside, &inside, 0..10, 100);
    receive(&inside, 0..10);
    drop(inside);
    assert!(ip(&network.gateway, "link del in0"));
    gateway.wait_for("in0: Network is down");
    // The gateway still answers and reads the other side: packets without a receiver are lost and counted.
    assert_eq!(network.status()["reloads"], 0);
    assert!(network.join_side("inside", true));
    let inside = network.udp("inside", 7000);
    inside.set_nonblocking(true).unwrap();
    let mut packet = [0; 100];
    eventually("packets pass again", || {
        send(&inside, &outside, 0..1, 100);
        send(&outside, &inside, 0..1, 100);
        inside.recv(&mut packet).is_ok()
    });
    gateway.wait_for("in0 is back");
    // Down and up again has the same effect, except that the socket stays.
    assert!(ip(&network.gateway, "link set out0 down"));
    gateway.wait_for("out0: Network is down");
    assert!(ip(&network.gateway, "link set out0 up"));
    eventually("packets pass again", || {
        send(&outside, &inside, 0..1, 100);
        inside.recv(&mut packet).is_ok()
    });
    gateway.wait_for("out0 is back");
    gateway.stop();
}

#[test]
fn killed_it_leaves_only_a_socket_that_the_next_one_replaces() {
    let network = network("killed");
    let links = |network: &Network| {
        let list = || std::process::Command::new("ip").args(["-d", "-o", "link"]).output().unwrap();
        let text = String::from_utf8(network.gateway.run(list).stdout).unwrap();
        // Carriers and queues change by themselves.
        let words = text.split_whitespace().skip_while(|word| *word != "promiscuity");
        (
            text.lines().count(),
            words.filter(|word| *word == "promiscuity").count(),
            text.matches("promiscuity 0").count(),
        )
    };
    let before = links(&network);
    let on = || ["in0", "out0"].map(|interface| network.offloads_on(interface));
    let offloads = on();
    assert!(offloads.iter().all(|on| !on.is_empty()), "{offloads:?}");
    let gateway = network.start("", OPEN);
    assert_ne!(on(), offloads);
    gateway.signal(Signal::KILL);
    let (status, _) = gateway.end();
    assert_eq!(status.code(), None);
    assert_eq!(links(&network), before);
    eventually("offloads are enabled again", || on() == offloads);
    assert!(network.socket().exists());
    let gateway = network.start("", OPEN);
    refused(
        &["gateway", network.folder.join("gateway.toml").to_str().unwrap()],
        &["line 8: control.socket: ", "another process serves this socket"],
    );
    gateway.stop();
    assert!(!network.socket().exists());
}

#[test]
fn service_manager_is_notified() {
    let network = network("notify");
    let path = network.folder.join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(LONG)).unwrap();
    let gateway = network.start_with("", OPEN, &[("NOTIFY_SOCKET", &path)]);
    let next = || {
        let mut buffer = [0; 500];
        let length = loop {
            match manager.recv(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                received => break received.unwrap(),
            }
        };
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    assert!(next().starts_with("READY=1\nSTATUS=out0 -> in0: infinite taildrop"));
    gateway.signal(Signal::HUP);
    assert!(next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert!(next().starts_with("READY=1\n"));
    gateway.signal(Signal::INT);
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(gateway.end().0.code(), Some(0));
}

#[test]
fn records_are_written() {
    let network = network("records");
    let name = |name: &str| network.folder.join(name).to_str().unwrap().to_string();
    let log = format!(
        "[log]\nmahimahi = \"{}\"\npcap = \"{}\"\npackets = \"{}\"",
        name("log"),
        name("capture.pcapng"),
        name("packets.parquet")
    );
    let gateway = network.start("", &log);
    let (inside, outside) = (network.udp("inside", 7000), network.udp("outside", 7000));
    send(&outside, &inside, 0..10, 100);
    receive(&inside, 0..10);
    assert_eq!(network.ask(r#"{"command":"stop"}"#)["ok"], true);
    let (status, said) = gateway.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(fs::read_to_string(name("log.down")).unwrap().contains("# mahimahi"));
    assert!(fs::read(name("capture.pcapng")).unwrap().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    assert!(fs::read(name("packets.parquet")).unwrap().ends_with(b"PAR1"));
}
