//! `qdelay link --nat` on a machine that is a namespace between a link and another namespace, the world:
//!
//! ```text
//! link -- machine: up0 10.77.0.2 -- eth0 10.77.0.1 :world
//!                  lan0 10.78.0.1 -- eth0 10.78.0.2 :neighbour
//! ```
//!
//! Checks reachable and unreachable hosts, and that the machine is unchanged afterwards. No result depends on timing.

use crate::link_support::{
    LONG, Running, echo_server_at, eventually, link, machine, network, run, talking_task, task,
};
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, skip};
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::process::{Pid, Signal, kill_process};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::Command;

const WORLD: &str = "10.77.0.1";
const WORLD6: &str = "fd77::1";
const NEIGHBOUR: &str = "10.78.0.2";
/// Settings of the uplink device that a link changes temporarily.
const SETTINGS: [&str; 4] = [
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv4/conf/up0/forwarding",
    "/proc/sys/net/ipv6/conf/all/forwarding",
    "/proc/sys/net/ipv6/conf/up0/force_forwarding",
];

struct Networks {
    machine: Namespace,
    world: Namespace,
    neighbour: Namespace,
}

impl Networks {
    fn new() -> Self {
        let machine = machine();
        if Command::new("ip").arg("-V").output().is_err() {
            skip(Need::Tools, "no ip command");
        }
        let [world, neighbour] = [(); 2].map(|()| Namespace::new().unwrap());
        for (device, other) in [("up0", &world), ("lan0", &neighbour)] {
            let thread = other.run(rustix::thread::gettid).as_raw_nonzero();
            if !ip(&machine, &format!("link add {device} type veth peer name eth0 netns {thread}")) {
                skip(Need::Net, "no veth pair");
            }
            // The kernel sends nothing by itself.
            assert!(ip(other, "link set eth0 addrgenmode none multicast on up"));
            assert!(ip(&machine, &format!("link set {device} addrgenmode none up")));
        }
        for (place, address) in [
            (&machine, "10.77.0.2/24 dev up0"),
            (&machine, "fd77::2/64 dev up0 nodad"),
            (&machine, "10.78.0.1/24 dev lan0"),
            (&world, "10.77.0.1/24 dev eth0"),
            (&world, "fd77::1/64 dev eth0 nodad"),
            (&neighbour, "10.78.0.2/24 dev eth0"),
        ] {
            assert!(ip(place, &format!("addr add {address}")));
        }
        assert!(ip(&world, "route add 10.78.0.0/24 via 10.77.0.2"));
        assert!(ip(&neighbour, "route add default via 10.78.0.1"));
        Self { machine, world, neighbour }
    }

    /// Gives the machine its own folder `/run`, which only this test's links use.
    fn own_run(&self) {
        if !self.machine.has_own_mounts() {
            skip(Need::Net, "no mounts of its own");
        }
        self.machine.run(|| mount("run", "/run", "tmpfs", MountFlags::empty(), c"mode=755").unwrap());
    }

    /// A link with `--nat` that runs until it is told to end.
    fn sleeping_link(&self) -> Running {
        let mut running = Running::start(&self.machine, link("--nat --quiet", "echo begun; exec sleep 1000"));
        assert_eq!(running.line(), "begun");
        assert_eq!(self.settings()[1], "1");
        running
    }

    /// State of the machine that a link with `--nat` changes.
    fn state(&self) -> Vec<String> {
        // Names of devices, routes, IPv6 addresses. States of carriers change by themselves.
        let found = network(&self.machine);
        let mut all: Vec<String> = [0, 1, 3].map(|index| found[index].clone()).into();
        all.extend(self.settings());
        all.push(self.tables());
        all
    }

    /// Compares two states, and prints only the difference.
    fn assert_is(&self, before: &[String]) {
        for (now, before) in self.state().iter().zip(before) {
            assert_eq!(now, before);
        }
    }

    fn settings(&self) -> [String; 4] {
        self.machine
            .run(|| SETTINGS.map(|path| std::fs::read_to_string(path).unwrap_or_default().trim().to_string()))
    }

    /// Tables of nftables; empty without `nft`.
    fn tables(&self) -> String {
        self.machine.run(|| {
            let output = Command::new("nft").args(["list", "ruleset"]).output();
            output.map(|output| String::from_utf8(output.stdout).unwrap()).unwrap_or_default()
        })
    }
}

fn ip(place: &Namespace, arguments: &str) -> bool {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_string).collect();
    place.run(|| Command::new("ip").args(words).status().unwrap().success())
}

/// Lets the helper of `link.rs` converse with the world's server.
fn reach(networks: &Networks, server: &str, port: u16, options: &str) -> (Option<i32>, String) {
    let script = format!("QDELAY_TEST_SERVER={server} {}", task("inside", &format!("echo {port}")));
    run(&networks.machine, &format!("--quiet --nat {options}"), &script)
}

fn has_ipv6(networks: &Networks) -> bool {
    !networks.settings()[3].is_empty()
}

#[test]
fn the_world_is_reached_and_the_machine_is_as_it_was() {
    let networks = Networks::new();
    let before = networks.state();
    let port = echo_server_at(&networks.world, Ipv4Addr::UNSPECIFIED.into());
    assert_eq!(reach(&networks, WORLD, port, "--down 20mbit --delay 2ms"), (Some(0), String::new()));
    networks.assert_is(&before);
    let port6 = echo_server_at(&networks.world, Ipv6Addr::UNSPECIFIED.into());
    let (status, said) = reach(&networks, WORLD6, port6, "--down 20mbit");
    if has_ipv6(&networks) {
        assert_eq!((status, said.as_str()), (Some(0), ""));
    } else {
        assert!(said.contains("with IPv6 the link reaches this machine only"), "{said}");
    }
    // The inner link needs no NAT: its addresses are the outer one's.
    let program = env!("CARGO_BIN_EXE_qdelay");
    let inner = task("inside", &format!("echo {port}")).replace('\'', "'\\''");
    let nested =
        format!("QDELAY_TEST_SERVER={WORLD} '{program}' link --quiet --up 20mbit -- sh -c '{inner}'");
    assert_eq!(run(&networks.machine, "--quiet --nat", &nested), (Some(0), String::new()));
    networks.assert_is(&before);
}

/// Forwarding that is already on stays on.
#[test]
fn forwarding_that_was_on_stays_on() {
    let networks = Networks::new();
    networks.machine.run(|| SETTINGS[..3].iter().try_for_each(|path| std::fs::write(path, "1"))).unwrap();
    let before = networks.state();
    let port = echo_server_at(&networks.world, Ipv4Addr::UNSPECIFIED.into());
    assert_eq!(reach(&networks, WORLD, port, ""), (Some(0), String::new()));
    let port = echo_server_at(&networks.world, Ipv6Addr::UNSPECIFIED.into());
    assert_eq!(reach(&networks, WORLD6, port, ""), (Some(0), String::new()));
    networks.assert_is(&before);
    assert_eq!(networks.settings()[..3], ["1"; 3]);
}

#[test]
fn kill_9_leaves_nothing() {
    let networks = Networks::new();
    let before = networks.state();
    let port = echo_server_at(&networks.world, Ipv4Addr::UNSPECIFIED.into());
    let first = "echo begun; ".to_string() + &task("inside", &format!("endless {port}"));
    let mut command = link("--nat --quiet", &first);
    command.env("QDELAY_TEST_SERVER", WORLD);
    let mut running = Running::start(&networks.machine, command);
    assert_eq!(running.line(), "begun");
    assert_eq!(networks.settings()[1], "1");
    assert_ne!(networks.state(), before);
    running.signal(Signal::KILL);
    running.end();
    eventually("the machine is as it was", || networks.state() == before);
}

/// The last of two links restores forwarding, no matter how each of them ends.
#[test]
fn two_links_share_what_they_need() {
    let networks = Networks::new();
    let before = networks.state();
    let port = echo_server_at(&networks.world, Ipv4Addr::UNSPECIFIED.into());
    for is_killed in [false, true] {
        let start =
            || Running::start(&networks.machine, link("--nat --quiet", "echo begun; exec sleep 1000"));
        let [mut one, mut two] = [start(), start()];
        assert_eq!([one.line(), two.line()], ["begun", "begun"]);
        if is_killed {
            one.signal(Signal::KILL);
        } else {
            one.signal(Signal::TERM);
        }
        one.end();
        assert_eq!(reach(&networks, WORLD, port, ""), (Some(0), String::new()));
        assert_eq!(networks.settings()[..2], ["0", "1"]);
        two.signal(Signal::KILL);
        two.end();
        eventually("the machine is as it was", || networks.state() == before);
    }
}

/// While a link forwards, the machine forwards nothing for other hosts: packets from outside that are no answers are dropped.
#[test]
fn the_machine_becomes_no_router() {
    let networks = Networks::new();
    let bind = |place: &Namespace| place.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9000)).unwrap());
    let [world, neighbour, own] = [&networks.world, &networks.neighbour, &networks.machine].map(bind);
    neighbour.set_read_timeout(Some(LONG)).unwrap();
    let mut running = Running::start(&networks.machine, link("--nat --quiet", "echo begun; sleep 1000"));
    assert_eq!(running.line(), "begun");
    assert_eq!(networks.settings()[1], "1");
    for _ in 0..20 {
        world.send_to(b"through the machine", (NEIGHBOUR, 9000)).unwrap();
    }
    own.send_to(b"from the machine", (NEIGHBOUR, 9000)).unwrap();
    let mut buffer = [0; 100];
    let (length, from) = neighbour.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..length], from.ip()), (&b"from the machine"[..], IpAddr::from([10, 78, 0, 1])));
    // The neighbour cannot reach the link either.
    world.set_read_timeout(Some(LONG)).unwrap();
    neighbour.send_to(b"through the machine", (WORLD, 9000)).unwrap();
    own.send_to(b"from the machine", (WORLD, 9000)).unwrap();
    let (length, _) = world.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"from the machine");
}

/// Datagrams to the world have the machine's address, and answers return.
#[test]
fn addresses_are_translated() {
    let networks = Networks::new();
    let socket = networks.world.run(|| UdpSocket::bind((WORLD, 9)).unwrap());
    socket.set_read_timeout(Some(LONG)).unwrap();
    let mut command = link("--nat --quiet", &talking_task("inside", "ask 9"));
    command.env("QDELAY_TEST_SERVER", WORLD);
    let mut running = Running::start(&networks.machine, command);
    let mut buffer = [0; 100];
    let (_, from) = socket.recv_from(&mut buffer).unwrap();
    assert_eq!(from.ip(), IpAddr::from([10, 77, 0, 2]));
    socket.send_to(b"the answer", from).unwrap();
    assert_eq!(running.line_after("got "), "the answer");
    assert_eq!(running.end().0.code(), Some(0));
}

/// A machine behind carrier NAT: its modem has a network of the same kind as a link's, in the same range.
#[test]
fn nat_cgnat_30() {
    let networks = Networks::new();
    assert!(ip(&networks.machine, "addr flush dev up0") && ip(&networks.machine, "addr flush dev lan0"));
    for (own, other) in [("100.64.7.18/30", "100.64.7.17"), ("100.65.7.18/30", "100.65.7.17")] {
        assert!(ip(&networks.machine, &format!("addr add {own} dev up0")));
        assert!(ip(&networks.world, &format!("addr add {other}/30 dev eth0")));
        let before = networks.state();
        let port = echo_server_at(&networks.world, other.parse().unwrap());
        assert_eq!(reach(&networks, other, port, ""), (Some(0), String::new()), "{own}");
        networks.assert_is(&before);
        assert!(ip(&networks.machine, &format!("addr del {own} dev up0")));
    }
}

/// A cleanup of `/run` while a link runs does no harm, no matter how the link ends.
#[test]
fn nat_run_removed() {
    let networks = Networks::new();
    networks.own_run();
    let before = networks.state();
    for signal in [Signal::TERM, Signal::KILL] {
        let running = networks.sleeping_link();
        networks.machine.run(|| std::fs::remove_dir_all("/run/qdelay").unwrap());
        running.signal(signal);
        running.end();
        eventually("the machine is as it was", || networks.state() == before);
        assert!(networks.machine.run(|| !std::path::Path::new("/run/qdelay").exists()));
    }
}

/// The file by which links share a device's forwarding is removed between the starts of two links: the second finds forwarding on and
/// no file. After both have ended, in any order and way, the machine is unchanged. In between the second may be without forwarding:
/// it takes the found setting for the machine's own, and the first link switches forwarding off.
#[test]
fn nat_run_removed_between_two_links() {
    let networks = Networks::new();
    networks.own_run();
    let before = networks.state();
    for first_ends_first in [true, false] {
        for signal in [Signal::TERM, Signal::KILL] {
            let first = networks.sleeping_link();
            networks.machine.run(|| std::fs::remove_dir_all("/run/qdelay").unwrap());
            let second = networks.sleeping_link();
            let order = if first_ends_first { [first, second] } else { [second, first] };
            for link in order {
                link.signal(signal);
                link.end();
            }
            eventually("the machine is as it was", || networks.state() == before);
            assert!(networks.machine.run(|| !std::path::Path::new("/run/qdelay").exists()));
        }
    }
}

/// Device names may change while a link runs: guards and settings follow the device.
#[test]
fn nat_device_renamed() {
    let networks = Networks::new();
    let before = networks.state();
    for signal in [Signal::TERM, Signal::KILL] {
        let running = networks.sleeping_link();
        let rename = |from: &str, to: &str| {
            let words = format!("link set {from} name {to}");
            // Before Linux 6.2 a device has to be down for that, and loses its IPv6 addresses.
            ip(&networks.machine, &words)
        };
        if !rename("up0", "wan0") {
            skip(Need::Net, "devices that are up keep their names");
        }
        let bind = |place: &Namespace| place.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9000)).unwrap());
        let [world, neighbour, own] = [&networks.world, &networks.neighbour, &networks.machine].map(bind);
        neighbour.set_read_timeout(Some(LONG)).unwrap();
        world.send_to(b"through the machine", (NEIGHBOUR, 9000)).unwrap();
        own.send_to(b"from the machine", (NEIGHBOUR, 9000)).unwrap();
        let mut buffer = [0; 100];
        let (length, _) = neighbour.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"from the machine");
        running.signal(signal);
        running.end();
        eventually("forwarding is off", || {
            networks.machine.run(|| {
                std::fs::read_to_string("/proc/sys/net/ipv4/conf/wan0/forwarding").unwrap().trim() == "0"
            })
        });
        assert!(rename("wan0", "up0"));
        eventually("the machine is as it was", || networks.state() == before);
    }
}

/// Forwarding switched on for all devices while a link runs, as Docker does when it starts, stays on.
#[test]
fn nat_docker_starts() {
    let networks = Networks::new();
    for signal in [Signal::TERM, Signal::KILL] {
        let tables = networks.tables();
        let running = networks.sleeping_link();
        networks.machine.run(|| std::fs::write(SETTINGS[0], "1").unwrap());
        running.signal(signal);
        running.end();
        eventually("the table is gone", || networks.tables() == tables);
        assert_eq!(networks.settings()[..2], ["1", "1"]);
        networks.machine.run(|| std::fs::write(SETTINGS[0], "0").unwrap());
        assert_eq!(networks.settings()[..2], ["0", "0"]);
    }
}

/// The cleanup process is killed as well: the next link undoes the changes.
#[test]
fn the_next_link_undoes_leftover_settings() {
    let networks = Networks::new();
    networks.own_run();
    let before = networks.state();
    let running = networks.sleeping_link();
    let children = format!("/proc/{0}/task", running.id());
    let mut undo = None;
    // The process takes its name when it runs for the first time.
    eventually("a process that undoes", || {
        undo = std::fs::read_dir(&children)
            .unwrap()
            .flat_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")).ok())
            .flat_map(|children| children.split_whitespace().map(str::to_string).collect::<Vec<_>>())
            .find(|child| {
                std::fs::read_to_string(format!("/proc/{child}/comm"))
                    .is_ok_and(|name| name.trim() == "qdelay-undo")
            });
        undo.is_some()
    });
    let undo = undo.unwrap().parse().unwrap();
    kill_process(Pid::from_raw(undo).unwrap(), Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(networks.settings()[1], "1");
    eventually("the device is gone", || network(&networks.machine)[0] == before[0]);
    assert_eq!(run(&networks.machine, "--nat --quiet", "exit 0"), (Some(0), String::new()));
    networks.assert_is(&before);
}

#[test]
fn missing_nat_support_is_reported_in_one_line() {
    let networks = Networks::new();
    let before = networks.state();
    let refused = |(status, said): (Option<i32>, String), words: &str| {
        assert_eq!((status, said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.starts_with("qdelay: --nat: ") && said.contains(words), "{said}");
    };
    if !networks.tables().is_empty()
        || networks.machine.run(|| Command::new("nft").arg("-v").output().is_ok())
    {
        let nft = |arguments: &'static str| {
            networks.machine.run(move || Command::new("nft").args(arguments.split(' ')).status().unwrap())
        };
        assert!(nft("add table inet qdelay0").success());
        refused(run(&networks.machine, "--nat", "echo never"), "already has a table 'inet qdelay0'");
        assert!(nft("delete table inet qdelay0").success());
    }
    if !networks.machine.has_own_mounts() {
        skip(Need::Net, "no mounts of its own");
    }
    // Environment as in containers.
    networks.machine.run(|| {
        mount_bind("/proc/sys", "/proc/sys").unwrap();
        mount_remount("/proc/sys", MountFlags::BIND | MountFlags::RDONLY, "").unwrap();
    });
    refused(run(&networks.machine, "--nat", "echo never"), "Read-only file system");
    networks.assert_is(&before);
}
