//! The time that a thread was ready to run and did not, from `/proc/thread-self/schedstat` (`CONFIG_SCHED_INFO`).
//!
//! A thread that sleeps until a packet arrives does not see when that was: the kernel makes the thread ready at once, but a processor
//! may be free only later. The kernel counts that time, in nanoseconds. It does not count the time in which a virtual machine had no
//! processor, nor that of a processor that is slow to leave its idle state.

use qdelay_core::Span;
use std::fs::File;

/// Counter of the thread that opened it; reading allocates nothing.
#[derive(Debug)]
pub struct RunDelay {
    file: Option<File>,
}

impl RunDelay {
    /// The counter of the calling thread, or one that counts nothing where the kernel has none.
    pub fn of_this_thread() -> RunDelay {
        let counter = RunDelay { file: File::open("/proc/thread-self/schedstat").ok() };
        if counter.total().is_some() { counter } else { RunDelay { file: None } }
    }

    /// Time spent ready and not running since the thread began.
    pub fn total(&self) -> Option<Span> {
        let mut buffer = [0; 96];
        let length = rustix::io::pread(self.file.as_ref()?, &mut buffer[..], 0).ok()?;
        parse(buffer.get(..length)?)
    }
}

/// The second of three numbers: time on a processor, time ready to run, number of time slices.
fn parse(text: &[u8]) -> Option<Span> {
    let field = text.split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(field).ok()?.parse().ok().map(Span::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_counts() {
        assert_eq!(parse(b"1823 5012 17\n"), Some(Span::from_nanos(5012)));
        for text in [&b""[..], b"12", b"12 x 3", b"1 -2 3", b"1  3"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_counter_does_not_fall() {
        let counter = RunDelay::of_this_thread();
        let Some(before) = counter.total() else { return };
        std::thread::yield_now();
        assert!(counter.total().is_some_and(|after| after >= before));
    }
}
