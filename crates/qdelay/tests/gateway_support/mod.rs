//! A gateway between two hosts, each in a network namespace of its own, joined by veth pairs.
//!
//! ```text
//! inside: eth0 10.9.0.2 -- in0 :gateway: out0 -- eth0 10.9.0.1 :outside
//! ```

pub mod openmetrics;

use crate::common::{command, folder};
use qdelay_emu::device::offload::{Offload, Offloads};
use qdelay_emu::device::packet::{PacketError, PacketSocket};
use qdelay_emu::netns::{Namespace, NamespaceError};
pub use qdelay_testing::eventually;
use qdelay_testing::{Need, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest wait, reached by failing tests only.
pub const LONG: Duration = Duration::from_secs(60);
pub const INSIDE: &str = "10.9.0.2";
pub const OUTSIDE: &str = "10.9.0.1";
/// DSCP class of the counted packets; the kernel sends none of its own in this class.
pub const EXPEDITED: u8 = 46;

/// Three namespaces.
pub struct Network {
    pub inside: Namespace,
    pub gateway: Namespace,
    pub outside: Namespace,
    pub folder: PathBuf,
}

/// Makes the network. Skips the test where this is not possible. `name` is the test's.
pub fn network(name: &str) -> Network {
    if !rustix::process::geteuid().is_root() {
        skip(Need::Net, "not root");
    }
    if Command::new("ip").arg("-V").output().is_err() {
        skip(Need::Tools, "no ip command");
    }
    let namespace = || match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error @ (NamespaceError::NotPermitted { .. } | NamespaceError::Unsupported { .. })) => {
            skip(Need::Net, error)
        }
        Err(error) => panic!("{error}"),
    };
    let folder = folder(&format!("gateway-{name}"));
    let network = Network { inside: namespace(), gateway: namespace(), outside: namespace(), folder };
    if !network.join_side("inside", true) {
        skip(Need::Net, "no veth pair");
    }
    assert!(network.join_side("outside", true));
    match network.gateway.run(|| PacketSocket::open("in0").map(drop)) {
        Ok(()) => network,
        Err(error @ PacketError::NotPermitted) => skip(Need::Net, error),
        Err(error) => panic!("{error}"),
    }
}

/// Runs `ip` with these arguments, split at blanks.
pub fn ip(namespace: &Namespace, arguments: &str) -> bool {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_string).collect();
    let output = namespace.run(move || Command::new("ip").args(words).output().unwrap());
    if !output.status.success() {
        println!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

impl Network {
    /// Makes the interface pair of one side. A silent host sends only ARP by itself.
    pub fn join_side(&self, side: &str, is_silent: bool) -> bool {
        let (host, port, address) = match side {
            "inside" => (&self.inside, "in0", INSIDE),
            _ => (&self.outside, "out0", OUTSIDE),
        };
        let thread = host.run(rustix::thread::gettid).as_raw_nonzero();
        if !ip(&self.gateway, &format!("link add {port} type veth peer name eth0 netns {thread}")) {
            return false;
        }
        let silence = if is_silent { "addrgenmode none multicast off" } else { "" };
        // One packet at a time, as on a wire, without segmentation offload.
        ip(host, &format!("link set eth0 gso_max_segs 1 {silence} up"))
            && ip(host, &format!("addr add {address}/24 dev eth0"))
            && ip(&self.gateway, &format!("link set {port} addrgenmode none multicast off"))
    }

    /// Writes the configuration: the two interfaces, the control socket, metrics, and `rest`.
    pub fn configure(&self, gateway: &str, rest: &str) -> PathBuf {
        let path = self.folder.join("gateway.toml");
        let text = format!(
            "[gateway]\ninside = \"in0\"\noutside = \"out0\"\n{gateway}\n[metrics]\nlisten = \"127.0.0.1:9469\"\n\
             [control]\nsocket = \"{}\"\n{rest}\n",
            self.socket().display()
        );
        fs::write(&path, text).unwrap();
        path
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Starts the gateway and waits until it carries packets.
    pub fn start(&self, gateway: &str, rest: &str) -> Gateway {
        self.start_with(gateway, rest, &[])
    }

    pub fn start_with(&self, gateway: &str, rest: &str, environment: &[(&str, &Path)]) -> Gateway {
        let config = self.configure(gateway, rest);
        let mut command = command(&["gateway", config.to_str().unwrap()]);
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = self.gateway.run(move || command.spawn().unwrap());
        let lines = BufReader::new(child.stderr.take().unwrap());
        let mut gateway = Gateway { child, lines, said: String::new() };
        gateway.wait_for("carries packets");
        gateway
    }

    /// Socket of a host.
    pub fn udp(&self, side: &str, port: u16) -> UdpSocket {
        let (host, address) = match side {
            "inside" => (&self.inside, INSIDE),
            _ => (&self.outside, OUTSIDE),
        };
        let address: SocketAddr = format!("{address}:{port}").parse().unwrap();
        let socket = host.run(move || UdpSocket::bind(address).unwrap());
        socket.set_read_timeout(Some(LONG)).unwrap();
        rustix::net::sockopt::set_ip_tos(&socket, EXPEDITED << 2).unwrap();
        socket
    }

    /// Lets the hosts resolve each other's addresses, because few packets are kept meanwhile. Sends packets of another class than the
    /// tests.
    pub fn meet(&self) {
        let (inside, outside) = (self.udp("inside", 6999), self.udp("outside", 6999));
        for (from, to) in [(&inside, &outside), (&outside, &inside)] {
            rustix::net::sockopt::set_ip_tos(from, 0).unwrap();
            send(from, to, 0..1, 10);
            receive(to, 0..1);
        }
    }

    /// Response to a request for `/metrics`, with its head.
    pub fn scrape(&self) -> String {
        self.gateway.run(|| {
            let mut stream = TcpStream::connect("127.0.0.1:9469").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    }

    /// One request to the control socket, and its answer.
    pub fn ask(&self, request: &str) -> Value {
        let mut stream = std::os::unix::net::UnixStream::connect(self.socket()).unwrap();
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub fn status(&self) -> Value {
        self.ask(r#"{"command":"status"}"#)
    }

    /// The offloads that are on at an interface of the gateway.
    pub fn offloads_on(&self, interface: &'static str) -> Vec<Offload> {
        self.gateway.run(move || {
            let mut offloads = Offloads::switch_off(interface).unwrap();
            let mut on = offloads.switched_off().to_vec();
            on.extend(offloads.left_on());
            offloads.restore().unwrap();
            on
        })
    }
}

/// Running gateway. Killed when a test fails.
pub struct Gateway {
    child: Child,
    lines: BufReader<ChildStderr>,
    said: String,
}

impl Gateway {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads output until a line contains `words`; returns that line.
    pub fn wait_for(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.lines.read_line(&mut line).unwrap();
            assert!(length > 0, "ended before it said '{words}': {}", self.said);
            self.said += &line;
            if line.contains(words) {
                return line.trim_end().to_string();
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; returns status and all output.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.lines.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap(), std::mem::take(&mut self.said))
    }

    /// Stops the gateway as a service manager does; it must exit with success.
    pub fn stop(self) -> String {
        self.signal(Signal::TERM);
        let (status, said) = self.end();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the numbers of `range` as packets of `bytes` each.
pub fn send(from: &UdpSocket, to: &UdpSocket, range: std::ops::Range<u32>, bytes: usize) {
    let address = to.local_addr().unwrap();
    let mut packet = vec![0; bytes];
    for number in range {
        packet[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(from.send_to(&packet, address).unwrap(), bytes);
    }
}

/// Receives as many packets as `range` has numbers, in this order.
pub fn receive(at: &UdpSocket, range: std::ops::Range<u32>) {
    let mut packet = [0; 2000];
    for number in range {
        while let Err(error) = at.recv(&mut packet) {
            assert_eq!(error.kind(), ErrorKind::Interrupted, "packet {number} has not come: {error}");
        }
        assert_eq!(packet[..4], number.to_be_bytes(), "in order");
    }
}
