//! `mm-link`, `mm-delay` and `mm-loss`: the command under mahimahi's names.

use crate::common::folder;
use crate::link_support::{machine, output, task};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Command under the name of a program of mahimahi.
fn named(folder: &Path, name: &str) -> Command {
    let program = folder.join(name);
    symlink(env!("CARGO_BIN_EXE_qdelay"), &program).unwrap();
    Command::new(program)
}

/// Sends ten packets from behind the link to the address that mahimahi's scripts use.
#[helper]
fn sends() {
    let base: Ipv4Addr = std::env::var("MAHIMAHI_BASE").expect("the address").parse().unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    // Later packets may meet the answer that the port is closed.
    (0..10).for_each(|_| drop(socket.send_to(&[0; 100], (base, 9))));
}

#[test]
fn a_command_behind_a_link_with_logs() {
    let machine = machine();
    let folder = folder("mahimahi");
    // 12 packets of 1500 bytes in each 12 ms.
    std::fs::write(folder.join("12mbit"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n").unwrap();
    let mut command = named(&folder, "mm-link");
    command.current_dir(&folder).args(["12mbit", "12mbit", "--uplink-log=up.log", "--downlink-log=down.log"]);
    command.args(["--uplink-queue=droptail", "--uplink-queue-args=packets=100", "--meter-all"]);
    command.args(["--", "sh", "-c", &(task("sends", "ten") + "; exit 7")]);
    let ended = output(&machine, command);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert!(said.starts_with("qdelay: mm-link: --meter-all: meters are not drawn"), "{said}");
    let up = std::fs::read_to_string(folder.join("up.log")).unwrap();
    // Size of a packet: 100 bytes, the headers of IP and UDP, and that of the device.
    assert_eq!(up.lines().filter(|line| line.contains(" + 132")).count(), 10, "{up}");
    assert!(said.contains("strict rule") && said.contains("verdict "), "{said}");
    for name in ["up.log", "down.log"] {
        let log = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(log.starts_with('#') && log.contains("# base timestamp:"), "{name}: {log}");
        assert!(log.lines().any(|line| line.contains(" # 1504")), "{name}");
    }
}

#[test]
fn delay_and_loss() {
    let machine = machine();
    let folder = folder("mahimahi-delay");
    let mut command = named(&folder, "mm-delay");
    command.args(["10", "sh", "-c", "exit 3"]);
    assert_eq!(output(&machine, command).status.code(), Some(3));
    let mut command = named(&folder, "mm-loss");
    command.args(["downlink", "2", "true"]);
    let ended = output(&machine, command);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("mm-loss: '2': expected a rate from 0 to 1"), "{said}");
}

/// `MAHIMAHI_BASE` is the machine outside of all links, which is reached through all of them; so is `QDELAY_OUTSIDE`.
#[test]
fn mahimahi_base_nested() {
    let machine = machine();
    let folder = folder("mahimahi-nested");
    let mut command = named(&folder, "mm-delay");
    let inner = named(&folder, "mm-loss").get_program().to_str().unwrap().to_string();
    let addresses = "echo $MAHIMAHI_BASE $QDELAY_OUTSIDE $QDELAY_NEAREST $QDELAY_OUTSIDE6 $QDELAY_NEAREST6";
    // A value that is not reachable through the links.
    command.env("MAHIMAHI_BASE", "192.0.2.1");
    command.args(["1", "sh", "-c", &format!("{addresses}; '{inner}' uplink 0 sh -c '{addresses}'")]);
    let ended = output(&machine, command);
    let said = String::from_utf8(ended.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    let [base, outside, nearest, outside6, nearest6, within @ ..] = &words[..] else { panic!("{said}") };
    assert_eq!((base, outside, outside6), (outside, nearest, nearest6), "{said}");
    assert_eq!(within[..2], [*base, *outside], "{said}");
    assert_eq!(within[3], *outside6, "{said}");
    assert!(within[2] != *nearest && within[4] != *nearest6, "{said}");
}

#[test]
fn help_is_printed() {
    let folder = folder("mahimahi-help");
    for name in ["mm-link", "mm-delay", "mm-loss"] {
        let ended = named(&folder, name).arg("--help").output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0), "{said}");
        assert!(said.starts_with(&format!("Usage: {name} ")) && said.contains("--serve=CMD"), "{said}");
    }
}
