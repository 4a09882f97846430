//! Waiting for the kernel or for another process.

use std::time::Duration;

/// Repeats `is_so` until it is true. Only a failure takes long: a minute.
///
/// # Panics
/// If it does not become true.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if is_so() {
            return;
        }
        pause();
    }
    panic!("never: {what}");
}

/// Waits a moment for other processes.
#[allow(clippy::disallowed_methods, reason = "waits for others; no result depends on how long")]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

/// True if the process `pid` exists and has not ended.
pub fn is_alive(pid: impl std::fmt::Display) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
