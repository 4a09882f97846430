//! `qdelay link` with options, files and disks that cannot be used.

use crate::common::{command, folder};
use crate::link_support::{echo_server, json, machine, name, output, run, task};
use qdelay_testing::{Need, skip};
use std::process::Command;

#[test]
fn bad_input_starts_nothing() {
    let machine = machine();
    let folder = folder("link-bad");
    let started = folder.join("started");
    let bad_trace = folder.join("bad.trace");
    std::fs::write(&bad_trace, "1\nnonsense\n").unwrap();
    let bad_trace = format!("--down {}", bad_trace.display());
    let touch = format!("touch '{}'", started.display());
    for (options, parts) in [
        ("--qdisc nonsense", &["--qdisc", "nonsense"][..]),
        ("--up-qdisc bode:target=fast", &["--up-qdisc", "target"]),
        ("--qdisc bode,codel", &["--qdisc", "expected one"]),
        ("--down nonsense", &["--down", "no trace 'nonsense'", "such as the rate 10mbit"]),
        ("--down 10mbt", &["--down", "mbit", "./10mbt"]),
        ("--up 13.trace", &["--up", "no trace '13.trace'", "such as the rate 10mbit"]),
        ("--up /no/such/file", &["--up", "/no/such/file"]),
        (&bad_trace, &["bad.trace", "2"]),
        ("--mtu 100", &["--mtu", "1280 to 9000"]),
        ("--mtu 9001", &["--mtu", "1280 to 9000"]),
        ("--loss 1.5", &["--loss", "0 to 1"]),
        ("--loss -0.1", &["--loss", "0 to 1"]),
        ("--loss NaN", &["--loss", "0 to 1"]),
        ("--delay 5", &["--delay", "5"]),
        ("--jitter -1ms", &["--jitter"]),
        ("--hold 0", &["--hold"]),
        ("--seed x", &["--seed"]),
        ("--packets /no/such/folder/file", &["/no/such/folder/file"]),
        ("--log /no/such/folder/file", &["/no/such/folder/file"]),
        ("--pcap /no/such/folder/file", &["/no/such/folder/file"]),
        ("--json /no/such/folder/file", &["/no/such/folder/file", "expected"]),
        ("--json /dev/null", &["/dev/null", "expected"]),
        ("--json /", &["/", "expected"]),
    ] {
        let (status, line) = run(&machine, options, &touch);
        assert_eq!((status, line.lines().count()), (Some(2), 1), "{options}: {line}");
        assert!(
            line.starts_with("qdelay: ") && parts.iter().all(|part| line.contains(part)),
            "{options}: {line}"
        );
        assert!(!started.exists(), "{options}");
    }
    let words = ["link", "--", "/no/such/program"];
    let output = output(&machine, command(&words));
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.starts_with("qdelay: /no/such/program: cannot be started: "), "{line}");
}

#[test]
fn records_replace_no_file_without_being_told() {
    let machine = machine();
    let folder = folder("link-records");
    let started = folder.join("started");
    let touch = format!("touch {}", started.display());
    for (option, given, file) in [
        ("packets", "row.parquet", "row.parquet"),
        ("pcap", "a.pcapng", "a.pcapng"),
        ("log", "log", "log.down"),
        ("log", "other", "other.up"),
    ] {
        let (given, file) = (folder.join(given), folder.join(file));
        std::fs::write(&file, "of old").unwrap();
        let options = format!("--quiet --{option} {}", given.display());
        let (status, line) = run(&machine, &options, &touch);
        assert_eq!((status, line.lines().count()), (Some(2), 1), "{option}: {line}");
        assert!(line.contains(file.to_str().unwrap()) && line.contains("--force"), "{line}");
        assert!(!started.exists() && std::fs::read(&file).unwrap() == b"of old", "{option}");
        let (status, line) = run(&machine, &(options + " --force"), "exit 0");
        assert_eq!((status, line.as_str()), (Some(0), ""), "{option}");
        assert_ne!(std::fs::read(&file).unwrap(), b"of old", "{option}");
    }
    // Special files are not replaced, and two records cannot share a file.
    assert_eq!(
        run(&machine, "--quiet --pcap /dev/null --packets /dev/null", "exit 0"),
        (Some(0), String::new())
    );
    let both = folder.join("both");
    let options = format!("--quiet --pcap {0} --packets {0}", both.display());
    let (status, line) = run(&machine, &options, &touch);
    assert!(status == Some(2) && line.contains("both") && !started.exists(), "{line}");
}

/// Failing record files neither end the command nor delay its packets.
#[test]
fn a_full_disk_is_reported_and_spares_the_command() {
    let machine = machine();
    if !machine.has_own_mounts() {
        skip(Need::Net, "no mounts of its own");
    }
    let disk = folder("link-disk");
    let place = disk.clone();
    let is_mounted = machine.run(move || {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4k", "none"]).arg(place);
        mount.status().is_ok_and(|status| status.success())
    });
    if !is_mounted {
        skip(Need::Net, "no small file system can be mounted");
    }
    let port = echo_server(&machine);
    let file = name("link-disk-json", "figures.json");
    for option in ["packets", "log", "pcap"] {
        let options = format!("--{option} {}/{option} --force --json {file}", disk.display());
        let (status, text) =
            run(&machine, &(options.clone() + " --quiet"), &task("inside", &format!("echo {port}")));
        assert_eq!((status, text.lines().count()), (Some(1), 1), "{option}: {text}");
        let place = format!("qdelay: {}/{option}", disk.display());
        assert!(text.starts_with(&place) && text.contains("No space left"), "{option}: {text}");
        assert!(!text.contains("continues from there"), "no continuation offered: {text}");
        assert_eq!(json(&file)["status"], 0);
        if option != "packets" {
            assert!(text.contains("it holds the first ") && text.contains(" are missing"), "{text}");
        }
        let (status, text) =
            run(&machine, &options, &(task("inside", &format!("echo {port}")) + "; exit $(($? + 8))"));
        assert_eq!(status, Some(8), "{option}: {text}");
        assert!(text.contains(" not met: ") && text.contains(&place), "{option}: {text}");
        let value = json(&file);
        assert_eq!(
            (&value["status"], &value["audit"]["trustworthy"]),
            (&8.into(), &false.into()),
            "{option}"
        );
        let place = disk.clone();
        machine.run(move || {
            for entry in std::fs::read_dir(place).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
        });
    }
}
