//! Cost of runs: CPU time, elapsed time, memory. Only this file reads a real clock, and no simulation depends on it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// User and system time of this thread, in seconds.
pub fn thread_cpu_seconds() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// User and system time of the process since its start, in seconds.
pub fn process_cpu_seconds() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A stopwatch that runs from its creation.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts a stopwatch.
    #[allow(clippy::disallowed_methods, reason = "what a run costs is measured; no result depends on it")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }
    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Peak resident memory of the process, in MB (10^6 bytes); `None` if the system does not report it.
pub fn max_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_memory_are_positive() {
        let watch = Stopwatch::start();
        assert!(process_cpu_seconds() > 0.0 && thread_cpu_seconds() > 0.0);
        assert!(watch.seconds() >= 0.0);
        assert!(max_rss_mb().is_none_or(|mb| mb > 0.5));
    }
}
