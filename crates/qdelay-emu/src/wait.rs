//! Waiting for packets or for a time, as precisely as the host allows.
//!
//! The thread sleeps in `ppoll` until a device has packets or the time is near, and then, for the last `spin`, looks at the
//! devices and the clock without sleeping, which costs processor time and saves the wake-up's lateness. Parameters:
//!
//! * `realtime` (off): ask for `SCHED_FIFO` at priority 10, which is not inherited by what is started from this thread, and
//!   for memory that is never paged out.
//! * `spin` (50 us with `realtime`, otherwise 0): spinning without real-time priority makes the tail worse, because the
//!   scheduler takes the processor away from who uses it up.
//!
//! The timer slack of the thread, 50 us by default, is always set to 1 ns. None of this needs to be permitted: [`Waiter`] works
//! without, and [`Waiter::granted`] says what it got.
#![allow(unsafe_code, reason = "no library has sched_setscheduler")]

use crate::clock::Clock;
use qdelay_core::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_current_timer_slack};
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How to wait. See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOptions {
    /// Ask for real-time priority and locked memory.
    pub realtime: bool,
    /// How long before a time to stop sleeping; `None` for the default.
    pub spin: Option<Span>,
}

/// Spun before each time, where nothing else was asked for and priority is real-time.
pub const SPIN: Span = Span::from_micros(50);
/// Above all ordinary threads, below the kernel's interrupt threads (50).
const PRIORITY: i32 = 10;

/// What became of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It was not asked for.
    NotAsked,
    /// It was granted.
    Granted,
    /// It was refused, and why.
    Refused(String),
}

impl Grant {
    fn of<E: fmt::Display>(result: Result<(), E>) -> Grant {
        match result {
            Ok(()) => Grant::Granted,
            Err(error) => Grant::Refused(error.to_string()),
        }
    }
    /// Whether it was granted.
    pub fn is_granted(&self) -> bool {
        *self == Grant::Granted
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::NotAsked => f.write_str("not asked for"),
            Grant::Granted => f.write_str("granted"),
            Grant::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// What the host permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Timers without slack.
    pub timer_slack: Grant,
    /// Real-time priority.
    pub priority: Grant,
    /// Memory that stays.
    pub memory: Grant,
    /// How long is spun before each time.
    pub spin: Span,
}

/// What ended a wait: packets, an alarm, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// The devices that have packets.
    pub ready: [bool; 2],
    /// Whether an alarm is readable; whoever set it knows which.
    pub alarm: bool,
    /// When the wait should have been over, at the latest.
    pub until: Time,
}

impl Woken {
    fn is_any(self) -> bool {
        self.ready[0] || self.ready[1] || self.alarm
    }
}

/// See the module.
#[derive(Debug)]
pub struct Waiter {
    granted: Granted,
    alarms: Vec<OwnedFd>,
}

impl Waiter {
    /// The longest wait: somebody may want to be asked whether to go on, and a host that takes the processor away meanwhile is
    /// found out by how much longer it was. A hundred looks a second cost some 0.1% of a processor.
    pub const LONGEST: Span = Span::from_millis(10);

    /// How many alarms there are at most.
    pub const ALARMS: usize = 4;

    /// Prepares the calling thread, which must be the one that waits. A wait also ends when one of `alarms` is readable; those
    /// after the first [`Waiter::ALARMS`] are not looked at.
    pub fn new(options: WaitOptions, alarms: impl IntoIterator<Item = OwnedFd>) -> Waiter {
        let timer_slack = Grant::of(set_current_timer_slack(NonZeroU64::new(1)));
        let (priority, memory) = match options.realtime {
            true => (Grant::of(real_time()), lock_memory()),
            false => (Grant::NotAsked, Grant::NotAsked),
        };
        let spin = options.spin.unwrap_or(if priority.is_granted() { SPIN } else { Span::ZERO });
        let alarms = alarms.into_iter().take(Waiter::ALARMS).collect();
        Waiter { granted: Granted { timer_slack, priority, memory, spin }, alarms }
    }

    /// Looks at these alarms from now on, and at those before no more.
    pub fn set_alarms(&mut self, alarms: impl IntoIterator<Item = OwnedFd>) {
        self.alarms = alarms.into_iter().take(Waiter::ALARMS).collect();
    }

    /// What the host permitted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Waits from `now` on until one of `fds` is readable, or until `deadline`, or [`Waiter::LONGEST`]. A deadline that has come
    /// only looks. A device without descriptor counts as readable.
    ///
    /// # Errors
    /// The kernel cannot wait for these descriptors.
    pub fn wait<C: Clock>(
        &mut self,
        clock: &mut C,
        now: Time,
        deadline: Time,
        fds: [Option<BorrowedFd<'_>>; 2],
    ) -> io::Result<Woken> {
        if deadline <= now {
            return self.poll(now, Span::ZERO, fds);
        }
        let left = deadline.since(now);
        let sleep = left.saturating_sub(self.granted.spin).min(Waiter::LONGEST);
        if !sleep.is_zero() {
            let woken = self.poll(now, sleep, fds)?;
            // What interrupts the sleep is the host's, which is asked whether to go on.
            if woken.is_any() || left > Waiter::LONGEST {
                return Ok(woken);
            }
        }
        while clock.now() < deadline && !self.granted.spin.is_zero() {
            let woken = self.poll(deadline, Span::ZERO, fds)?;
            if woken.is_any() {
                return Ok(woken);
            }
            if deadline.since(clock.now()) > self.granted.spin {
                // A signal came long before the time.
                break;
            }
        }
        Ok(Woken { until: deadline, ..Woken::default() })
    }

    /// Asks the kernel, from `now` on for `timeout`.
    fn poll(&self, now: Time, timeout: Span, fds: [Option<BorrowedFd<'_>>; 2]) -> io::Result<Woken> {
        let until = now + timeout;
        let alarm = self.alarms.first().map(AsFd::as_fd);
        let Some(any) = fds[0].or(fds[1]).or(alarm) else {
            return Ok(Woken { ready: [true; 2], alarm: false, until });
        };
        // A descriptor stands in for those that are missing, and asks for nothing.
        let wanted = |index: usize| match index {
            0 | 1 => fds[index],
            _ => self.alarms.get(index - 2).map(AsFd::as_fd),
        };
        let mut all: [PollFd<'_>; 2 + Waiter::ALARMS] = std::array::from_fn(|index| match wanted(index) {
            Some(fd) => PollFd::from_borrowed_fd(fd, PollFlags::IN),
            None => PollFd::from_borrowed_fd(any, PollFlags::empty()),
        });
        let polled = &mut all[..2 + self.alarms.len()];
        let timeout = Timespec {
            tv_sec: (timeout.as_nanos() / 1_000_000_000) as i64,
            tv_nsec: (timeout.as_nanos() % 1_000_000_000) as i64,
        };
        match poll(polled, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Woken { until, ..Woken::default() }),
            Err(error) => return Err(error.into()),
        }
        // An error shows when the device is read.
        let is_up = |index: usize| wanted(index).is_some() && !all[index].revents().is_empty();
        let alarm = (2..2 + self.alarms.len()).any(is_up);
        Ok(Woken { ready: [is_up(0) || fds[0].is_none(), is_up(1) || fds[1].is_none()], alarm, until })
    }
}

/// Gives the calling thread real-time priority; threads and processes it starts do not get it.
fn real_time() -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the pointer is to a whole structure that lives through the call, which keeps nothing. Thread 0 is this one.
    let result = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameter)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps all memory of the process where it is once it is used. Under a limit it would be refused later, in the middle of the
/// run, so then it is not asked for.
fn lock_memory() -> Grant {
    let permitted = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if !permitted && getrlimit(Resource::Memlock).current.is_some() {
        return Grant::Refused("locked memory is limited (ulimit -l)".to_string());
    }
    Grant::of(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;
    use rustix::pipe::pipe;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    #[test]
    fn waits_at_least_until_the_time() {
        let (quiet, _writer) = pipe().unwrap();
        for spin in [Span::ZERO, ms(1)] {
            let mut waiter = Waiter::new(WaitOptions { realtime: false, spin: Some(spin) }, None);
            let mut clock = RealClock::start();
            let deadline = clock.now() + ms(5);
            while clock.now() < deadline {
                let now = clock.now();
                let woken = waiter.wait(&mut clock, now, deadline, [Some(quiet.as_fd()); 2]).unwrap();
                assert!(!woken.is_any() && woken.until <= deadline, "{woken:?}");
            }
            let now = clock.now();
            let woken = waiter.wait(&mut clock, now, Time::ZERO, [Some(quiet.as_fd()); 2]).unwrap();
            assert!(!woken.is_any() && woken.until == now, "{woken:?}");
        }
    }

    #[test]
    fn packets_and_alarms_end_it() {
        let (one, writer) = pipe().unwrap();
        let (two, _writer) = pipe().unwrap();
        let (alarm, ring) = pipe().unwrap();
        let (other, other_ring) = pipe().unwrap();
        let mut waiter = Waiter::new(WaitOptions::default(), [other, alarm]);
        let mut clock = RealClock::start();
        rustix::io::write(&writer, b"x").unwrap();
        let fds = [Some(two.as_fd()), Some(one.as_fd())];
        let now = clock.now();
        let woken = waiter.wait(&mut clock, now, Time::NEVER, fds).unwrap();
        let until = now + Waiter::LONGEST;
        assert_eq!(woken, Woken { ready: [false, true], alarm: false, until });
        rustix::io::write(&ring, b"x").unwrap();
        let woken = waiter.wait(&mut clock, now, Time::NEVER, [Some(two.as_fd()), None]).unwrap();
        assert_eq!((woken.ready, woken.alarm), ([false, true], true));
        rustix::io::read(&waiter.alarms[1], &mut [0]).unwrap();
        assert!(!waiter.wait(&mut clock, now, Time::NEVER, fds).unwrap().alarm);
        rustix::io::write(&other_ring, b"x").unwrap();
        assert!(waiter.wait(&mut clock, now, Time::NEVER, fds).unwrap().alarm);
        waiter.set_alarms(None);
        assert!(!waiter.wait(&mut clock, now, Time::NEVER, fds).unwrap().alarm);
        assert!(clock.now() < Time::ZERO + ms(60_000));
    }

    #[test]
    fn works_with_what_it_gets() {
        // On a thread of its own, whose priority ends with it.
        std::thread::spawn(|| {
            let waiter = Waiter::new(WaitOptions { realtime: false, spin: None }, None);
            assert!(waiter.granted().timer_slack.is_granted());
            assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1);
            assert_eq!((&waiter.granted().priority, waiter.granted().spin), (&Grant::NotAsked, Span::ZERO));
            let granted = match real_time() {
                Ok(()) => Grant::Granted,
                Err(error) => Grant::Refused(error.to_string()),
            };
            assert_ne!(granted, Grant::NotAsked);
        })
        .join()
        .unwrap();
    }
}
