//! Waiting for packets or for a time, as precisely as the host allows.
//!
//! The thread sleeps in `ppoll` until a device has packets or the deadline is near; for the last `spin` it polls the devices
//! and the clock without sleeping, which costs processor time but avoids the latency of a wake-up. Parameters:
//!
//! * `realtime` (off): request `SCHED_FIFO` at priority 10, which threads and processes started from this thread do not
//!   inherit, and memory that is never paged out.
//! * `spin` (50 us with `realtime`, otherwise 0): spinning without real-time priority makes the tail worse, because the
//!   scheduler preempts threads that use up their time.
//!
//! The timer slack of the thread, 50 us by default, is always set to 1 ns. None of these permissions is required: [`Waiter`]
//! works without them, and [`Waiter::granted`] reports the permissions in force.
#![allow(unsafe_code, reason = "no library has sched_setscheduler")]

use crate::clock::Clock;
use crate::run_delay::RunDelay;
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

/// Options of a [`Waiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOptions {
    /// Request real-time priority and locked memory.
    pub realtime: bool,
    /// Time before a deadline at which sleeping stops and spinning starts; `None` for the default.
    pub spin: Option<Span>,
}

/// Default of `spin` with real-time priority.
pub const SPIN: Span = Span::from_micros(50);
/// Real-time priority: above all ordinary threads, below the kernel's interrupt threads (50).
pub const PRIORITY: i32 = 10;

/// Result of a request to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The permission was not requested.
    NotAsked,
    /// The kernel granted the permission.
    Granted,
    /// The kernel refused the permission, for this reason.
    Refused(String),
}

impl Permission {
    fn from_result<E: fmt::Display>(result: Result<(), E>) -> Permission {
        match result {
            Ok(()) => Permission::Granted,
            Err(error) => Permission::Refused(error.to_string()),
        }
    }
    /// True if the permission was granted.
    pub fn is_granted(&self) -> bool {
        *self == Permission::Granted
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Permission::NotAsked => f.write_str("not requested"),
            Permission::Granted => f.write_str("granted"),
            Permission::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// The permissions granted by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Timers without slack.
    pub timer_slack: Permission,
    /// Real-time priority.
    pub priority: Permission,
    /// Locked memory.
    pub memory: Permission,
    /// Time that the thread spins before each deadline.
    pub spin: Span,
}

/// The reason why a wait ended: packets, an alarm, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// The devices that have packets.
    pub ready: [bool; 2],
    /// True if an alarm is readable; the owners of the alarms check which.
    pub alarm: bool,
    /// Latest time at which the wait should have ended.
    pub until: Time,
}

impl Woken {
    fn is_any(self) -> bool {
        self.ready[0] || self.ready[1] || self.alarm
    }
}

/// Waits for packets, alarms or a deadline, for the thread that created it.
#[derive(Debug)]
pub struct Waiter {
    granted: Permissions,
    alarms: Vec<OwnedFd>,
    run_delay: RunDelay,
    /// See [`Waiter::set_stamped`].
    is_stamped: bool,
}

/// Shortest sleep of which the wait for a processor is measured: the smallest lateness limit of a link.
const MEASURED: Span = Span::from_micros(50);

impl Waiter {
    /// Maximum duration of a wait: the caller may want to check whether to continue, and a stall of the host is detected by the
    /// excess over this duration. A hundred wake-ups a second cost some 0.1% of a processor.
    pub const LONGEST: Span = Span::from_millis(10);

    /// Maximum number of alarms.
    pub const ALARMS: usize = 4;

    /// Prepares the calling thread, which must be the thread that waits. A wait also ends when one of `alarms` is readable; alarms
    /// after the first [`Waiter::ALARMS`] are ignored.
    pub fn new(options: WaitOptions, alarms: impl IntoIterator<Item = OwnedFd>) -> Waiter {
        let timer_slack = Permission::from_result(set_current_timer_slack(NonZeroU64::new(1)));
        let (priority, memory) = match options.realtime {
            true => (Permission::from_result(real_time()), lock_memory()),
            false => (Permission::NotAsked, Permission::NotAsked),
        };
        let spin = options.spin.unwrap_or(if priority.is_granted() { SPIN } else { Span::ZERO });
        let alarms = alarms.into_iter().take(Waiter::ALARMS).collect();
        let run_delay = RunDelay::of_this_thread();
        Waiter {
            granted: Permissions { timer_slack, priority, memory, spin },
            alarms,
            run_delay,
            is_stamped: false,
        }
    }

    /// Replaces the alarms.
    pub fn set_alarms(&mut self, alarms: impl IntoIterator<Item = OwnedFd>) {
        self.alarms = alarms.into_iter().take(Waiter::ALARMS).collect();
    }

    /// Sets whether the devices have time stamps ([`Device::is_stamped`](crate::device::Device::is_stamped)): then it need not be measured how
    /// long this thread waits for a processor.
    pub fn set_stamped(&mut self, is_stamped: bool) {
        self.is_stamped = is_stamped;
    }

    /// The permissions granted by the host.
    pub fn granted(&self) -> &Permissions {
        &self.granted
    }

    /// Waits from `now` until one of `fds` is readable, or until `deadline`, or for [`Waiter::LONGEST`]. After the deadline it only
    /// polls. A device without a descriptor counts as readable.
    ///
    /// # Errors
    /// The kernel cannot poll these descriptors.
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
            let is_measured = C::IS_REAL && sleep >= MEASURED && !self.is_stamped;
            let before = if is_measured { self.run_delay.total() } else { None };
            let mut woken = self.poll(now, sleep, fds)?;
            if let Some(before) = before
                && woken.is_any()
                && let Some(after) = self.run_delay.total()
            {
                // The sleep should have ended when the packet made this thread ready.
                let ready = clock.now().since(Time::ZERO + after.saturating_sub(before));
                woken.until = woken.until.min(Time::ZERO + ready).max(now);
            }
            // A signal that interrupts the sleep returns control to the caller, which checks whether to continue.
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
                // A signal arrived long before the deadline.
                break;
            }
        }
        Ok(Woken { until: deadline, ..Woken::default() })
    }

    /// Polls the kernel, from `now` for `timeout`.
    fn poll(&self, now: Time, timeout: Span, fds: [Option<BorrowedFd<'_>>; 2]) -> io::Result<Woken> {
        let until = now + timeout;
        let alarm = self.alarms.first().map(AsFd::as_fd);
        let Some(any) = fds[0].or(fds[1]).or(alarm) else {
            return Ok(Woken { ready: [true; 2], alarm: false, until });
        };
        // A valid descriptor without requested events takes the place of each missing one.
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
        // Poll errors count as readiness: reading the device reports the error.
        let is_up = |index: usize| wanted(index).is_some() && !all[index].revents().is_empty();
        let alarm = (2..2 + self.alarms.len()).any(is_up);
        Ok(Woken { ready: [is_up(0) || fds[0].is_none(), is_up(1) || fds[1].is_none()], alarm, until })
    }
}

/// Gives the calling thread real-time priority; threads and processes that it starts do not inherit it.
fn real_time() -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the pointer is to a whole structure that lives through the call, which does not keep it. Thread 0 is the calling one.
    let result = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameter)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the calling thread run only when nothing else wants its processor (`SCHED_IDLE`).
///
/// # Errors
/// The kernel's refusal.
pub fn in_background() -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a whole structure that lives through the call, which does not keep it.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Locks all memory of the process once it is used. Under a memory lock limit, later allocations would fail in the middle of the
/// run, so then locking is not requested.
fn lock_memory() -> Permission {
    let permitted = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if !permitted && getrlimit(Resource::Memlock).current.is_some() {
        return Permission::Refused("locked memory is limited (ulimit -l)".to_string());
    }
    Permission::from_result(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT))
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
    fn waits_end_no_earlier_than_their_deadline() {
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
    fn packets_and_alarms_end_a_wait() {
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
        // A packet that was there already: the thread may have waited for a processor.
        assert_eq!((woken.ready, woken.alarm), ([false, true], false));
        assert!((now..=now + Waiter::LONGEST).contains(&woken.until), "{woken:?}");
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
    fn waiter_works_without_permissions() {
        // A thread of its own ends the priority with the test.
        std::thread::spawn(|| {
            let waiter = Waiter::new(WaitOptions { realtime: false, spin: None }, None);
            assert!(waiter.granted().timer_slack.is_granted());
            assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1);
            assert_eq!(
                (&waiter.granted().priority, waiter.granted().spin),
                (&Permission::NotAsked, Span::ZERO)
            );
            let granted = match real_time() {
                Ok(()) => Permission::Granted,
                Err(error) => Permission::Refused(error.to_string()),
            };
            assert_ne!(granted, Permission::NotAsked);
        })
        .join()
        .unwrap();
    }
}
