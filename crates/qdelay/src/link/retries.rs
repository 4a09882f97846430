//! Repetitions of a run that did not meet its requirement: each attempt is a process of its own, with the same options.

use qdelay_emu::netns::command::exit_code;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output::eprintln_line;
use rustix::event::{Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time between two looks at a running attempt.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Environment variable of an attempt: its number, from 1.
const ATTEMPT: &str = "QDELAY_LINK_ATTEMPT";
/// Exit status of an attempt that did not meet its requirement.
const NOT_MET: u8 = 120;

/// Returns true if this process is an attempt.
pub fn is_attempt() -> bool {
    attempt().is_some()
}

/// Returns true if this process is an attempt behind another.
pub fn is_repetition() -> bool {
    attempt().is_some_and(|number| number > 1)
}

fn attempt() -> Option<u32> {
    std::env::var(ATTEMPT).ok()?.parse().ok()
}

/// The end of a run that did not meet its requirement.
///
/// # Errors
/// Always: exit status 1, or that of an attempt.
pub fn not_met(message: &str) -> Result<(), Failure> {
    if !is_attempt() {
        return Err(Failure::Check(format!("the requirement is not met: {message}")));
    }
    eprintln_line(&format!("the requirement is not met: {message}"));
    Err(Failure::Status(NOT_MET))
}

/// Runs this process again, until an attempt meets its requirement or fails for another reason, and at most `retries` times more.
///
/// # Errors
/// The last attempt's.
pub fn run(retries: u32) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Check(format!("an attempt cannot be started: {error}"));
    // An interrupt reaches the attempt by itself; a request to end is passed on. Handlers, unlike ignored signals, are not inherited.
    let (interrupted, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    flag::register(SIGINT, interrupted).map_err(failed)?;
    flag::register(SIGTERM, Arc::clone(&ended)).map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    for number in 1..=retries + 1 {
        let mut attempt = Command::new(&program);
        attempt.args(std::env::args_os().skip(1)).env(ATTEMPT, number.to_string());
        let mut running = attempt.spawn().map_err(failed)?;
        let status = loop {
            if let Some(status) = running.try_wait().map_err(failed)? {
                break status;
            }
            if ended.swap(false, Ordering::Relaxed)
                && let Some(pid) = i32::try_from(running.id()).ok().and_then(Pid::from_raw)
            {
                let _ = kill_process(pid, Signal::TERM);
            }
            let _ = poll(&mut [], Some(&PAUSE));
        };
        match exit_code(status) {
            0 => return Ok(()),
            NOT_MET if number <= retries => {
                eprintln_line(&format!("attempt {number} of {}: again", retries + 1));
            }
            NOT_MET => {
                let message = format!("the requirement is not met in {number} attempts");
                return Err(Failure::Check(message));
            }
            status => return Err(Failure::Status(status)),
        }
    }
    Ok(())
}
