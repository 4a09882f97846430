//! An interrupt ends the command with status 130; a reader that goes away ends it quietly.
#![cfg(unix)]

use crate::common::{command, folder};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Status of `child` after an interrupt sent `delay` after its start.
#[allow(clippy::disallowed_methods, reason = "nothing but time tells that another process is up")]
fn interrupt(child: &mut Child, delay: Duration) -> Option<i32> {
    std::thread::sleep(delay);
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
    child.wait().unwrap().code()
}

#[test(waits)]
fn status_130() {
    let folder = folder("interrupt");
    let target = folder.join("trace.down");
    let target = target.to_str().unwrap();
    let endless: [&[&str]; 2] = [
        &["compare", "--link", "100mbit", "--duration", "1000000s", "--json"],
        &["trace", "synth", "--preset", "5g-mmwave", "--duration", "1000s", "-o", target],
    ];
    for arguments in endless {
        // The process ends by the signal if the handler is not installed yet: the interrupt was too early.
        let done = [100, 400, 1600].map(Duration::from_millis).into_iter().any(|delay| {
            let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let status = interrupt(&mut child, delay);
            assert!(matches!(status, None | Some(130)), "{arguments:?}: {status:?}");
            status == Some(130)
        });
        assert!(done, "{arguments:?}");
    }
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "trace.down"), "{left:?}");
}

#[test(waits)]
fn a_reader_that_goes_away() {
    let mut child = command(&["trace", "convert", "synth-lte-driving", "-", "--to", "mahimahi"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""));
}
