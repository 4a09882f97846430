//! The event loop that connects a clock, two devices and an [`Emulator`].
//!
//! One turn reads the clock, lets the path run its due events, writes released packets, and reads arrived packets, alternating
//! between the devices, at most [`BATCH`] from each, so that neither side starves the other or the releases. The packets read
//! then enter the path, and packets due by then are written. Nothing here blocks; waiting is done by [`wait`](crate::wait).
//!
//! The arrival time of a packet is a clock reading after it and at most seven packets behind it were read or, where the device
//! has time stamps ([`Device::next_stamp`]), its time stamp: such packets are read in the order of their time stamps, and the
//! path does not advance past a packet that has not been read. The path fires its events at their own times, so its decisions
//! are the same however late a turn comes: a late turn delays departures, and arrivals at devices without time stamps.
//! [`stall`] records the effects of late turns.
//!
//! The packets of a [super-packet](crate::gso) arrive at the same time, as a burst, or, with [`Driver::set_access_rate`], one
//! after another as over an access line of that rate. The queue handles each packet on its own: it queues, drops or marks it.
//! Packets that are written together are joined again.

mod access;
mod controlled;
mod read;
mod release;

use crate::audit::{Audit, SuperPackets};
use crate::clock::Clock;
use crate::device::{Device, Port};
use crate::emulator::{Emulator, Replaced, Tap};
use crate::stall;
use crate::wait::Waiter;
use access::{Access, Coming};
use qdelay_core::{Rate, Span, Time};
use qdelay_path::BuildError;
use qdelay_path::stack::{Adjustment, Plan};
use qdelay_record::Recorder;
use read::Read;
use release::Outgoing;
use std::io;

/// Maximum number of packets read from a device in one turn. All reads first, then all work of the path, then all writes are
/// faster than one packet after the other: the processor's caches and branch predictors stay warm for each of the three phases,
/// and receivers are woken less often.
pub const BATCH: usize = 64;

/// Packets of a turn that share a reading of the clock.
const GROUP: usize = 8;

/// Maximum duration of the reads of a turn, so that releases and the clock do not wait for much longer.
const READING: Span = Span::from_micros(15);

/// Time before a deadline from which the loop spins instead of sleeping, because falling asleep and waking up takes longer.
const CLOSE: Span = Span::from_micros(3);

/// Number of successive turns with packets after which [`Driver::run`] checks whether to stop.
const BUSY_TURNS: u32 = 32;

/// Tolerance for time stamps: the accuracy of the comparison of the clocks, and the time between the kernel's time stamp and
/// the moment from which the frame can be read.
const STAMP_SLACK: Span = Span::from_millis(10);

/// The state after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Time at which the path needs the next turn, if no packets arrive.
    pub deadline: Time,
    /// Devices with more than a batch of packets, by port: the next turn should follow at once.
    pub more: [bool; 2],
    /// True if any packet was read.
    pub has_read: bool,
    /// True if a device may still have packets that arrived during a stall.
    pub is_behind: bool,
}

impl Turn {
    /// True if the next turn should follow without waiting.
    pub fn is_busy(&self) -> bool {
        self.more[0] || self.more[1]
    }
}

/// Event loop over a clock, two devices of type `D` and an [`Emulator`]; see the module.
pub struct Driver<C, D, R = (), T = ()> {
    clock: C,
    devices: [D; 2],
    emulator: Emulator<R, T>,
    audit: Audit,
    /// Time at which each device was last found empty: later packets cannot have an earlier time stamp.
    empty: [Time; 2],
    /// Time of the last packet read, or the last time at which a packet was known to be in flight.
    active: Time,
    /// Buffer for packets read while the pool has no free slot.
    scrap: Box<[u8]>,
    /// Packets that have been read and arrive later, over an access line.
    access: Access,
    /// Packets read in this turn.
    batch: Vec<Read>,
    /// Number of packets in `batch` with a known arrival time.
    stamped: usize,
    /// Packets that are being joined, by port.
    outgoing: [Outgoing; 2],
    /// Called at the first packet that is longer than the MTU.
    at_oversized: Option<Box<dyn FnOnce() + Send>>,
}

impl<C: Clock, D: Device, R: Recorder, T: Tap> Driver<C, D, R, T> {
    /// Connects a clock, devices and an emulator. `devices` are those of [`Port::Inside`] and [`Port::Outside`]; `limits` are the
    /// maximum lateness of releases to each (see [`Plan::lateness_limits`](qdelay_path::stack::Plan::lateness_limits)).
    pub fn new(mut clock: C, mut devices: [D; 2], emulator: Emulator<R, T>, limits: [Span; 2]) -> Self {
        let now = clock.now();
        let kernel_drops = devices.iter_mut().map(Device::kernel_drops).sum();
        let scrap = vec![0; emulator.pool().slot_bytes()].into_boxed_slice();
        let audit = Audit::begin(now, limits, kernel_drops);
        Driver {
            clock,
            devices,
            emulator,
            audit,
            empty: [now; 2],
            active: now,
            scrap,
            access: Access::default(),
            batch: Vec::with_capacity(4 * BATCH),
            stamped: 0,
            outgoing: Default::default(),
            at_oversized: None,
        }
    }

    /// Sets the rate of an access line on either side: packets arrive no closer than at this rate, those of a super-packet one
    /// after another; with `None` packets arrive when they are read. Call it before the first turn.
    pub fn set_access_rate(&mut self, rate: Option<Rate>) {
        self.access.set_rate(rate);
    }

    /// Calls `report` once, at the first packet that is longer than the MTU, cannot be split, and therefore is lost.
    pub fn at_oversized(&mut self, report: impl FnOnce() + Send + 'static) {
        self.at_oversized = Some(Box::new(report));
    }

    /// Takes one turn, which reads the devices that are `ready`, and both after a stall.
    ///
    /// # Errors
    /// A device cannot be read any more.
    pub fn turn(&mut self, ready: [bool; 2]) -> io::Result<Turn> {
        self.audit.turns += 1;
        let now = self.clock.now();
        // A late loop may have missed arrivals, so both devices are read.
        let mut more = if self.clock_read(now) { [true; 2] } else { ready };
        for port in Port::ALL {
            // Also where the kernel has dropped the packet of a time stamp: the path waits until its device has been read.
            more[port.index()] |= self.devices[port.index()].next_stamp().is_some();
        }
        self.advance(now);
        self.release_at_once();
        let (mut read, mut last, mut empty) = ([0; 2], Port::Outside, [None; 2]);
        let mut result = Ok(());
        while let Some((port, stamp)) = self.pick(more, read, last) {
            match self.read(port, stamp) {
                Ok(0) => {
                    more[port.index()] = false;
                    // A stall may follow before the packets of this turn arrive.
                    empty[port.index()] = Some(self.audit.stalls.last_reading());
                }
                Ok(packets) => {
                    read[port.index()] += packets;
                    if self.batch.len() >= self.stamped + GROUP && self.stamp().since(now) >= READING {
                        break;
                    }
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            last = port;
        }
        let has_read = read != [0; 2];
        if has_read {
            self.active = now;
            self.arrive_batch();
            // The reads took time: packets that are due by now leave in this turn.
            let now = self.clock.now();
            self.clock_read(now);
            self.advance(now);
            self.release(now);
        }
        for port in Port::ALL {
            if let Some(since) = empty[port.index()] {
                self.found_empty(port, since);
            }
        }
        if self.audit.oversized > 0
            && let Some(report) = self.at_oversized.take()
        {
            report();
        }
        result?;
        let is_behind = self.audit.stalls.is_behind();
        Ok(Turn { deadline: self.next_deadline(), more, has_read, is_behind })
    }

    /// Runs all events that are due by `now`, but none behind a packet that waits to be read.
    #[inline]
    fn advance(&mut self, now: Time) {
        let horizon = self.horizon(now);
        self.arrivals(horizon);
        self.emulator.advance(horizon);
    }

    /// Passes the packets that arrive by `until` to the emulator.
    #[inline]
    fn arrivals(&mut self, until: Time) {
        while let Some((port, Coming { at, slot, received })) = self.access.next(until) {
            // Malformed packets are counted by the emulator.
            let _ = self.emulator.arrive(at, port, slot, received);
        }
    }

    /// Writes all released packets now.
    #[inline]
    fn release_at_once(&mut self) {
        if self.emulator.releases() > 0 {
            let now = self.clock.now();
            self.clock_read(now);
            self.release(now);
        }
    }

    /// Time at which the path, or a packet that has been read, needs the next turn.
    #[inline]
    fn next_deadline(&self) -> Time {
        self.emulator.next_deadline().min(self.access.next_arrival())
    }

    /// Chooses the device to read next, with the time stamp of its packet: the one with the earlier time stamp, or with the only one, because
    /// packets without arrive when they are read; without time stamps the device other than `last`; `None` if there are no more packets, or
    /// the device's batch is full.
    #[inline]
    fn pick(&mut self, more: [bool; 2], read: [usize; 2], last: Port) -> Option<(Port, Option<u64>)> {
        let stamps = Port::ALL.map(|port| match more[port.index()] {
            true => self.devices[port.index()].next_stamp(),
            false => None,
        });
        if let [Some(inside), Some(outside)] = stamps {
            // A fixed order for equal time stamps, however late the packets are read.
            let port = if inside <= outside { Port::Inside } else { Port::Outside };
            return (read[port.index()] < BATCH).then_some((port, stamps[port.index()]));
        }
        let may = |port: Port| more[port.index()] && read[port.index()] < BATCH;
        let is_stamped = |port: &Port| stamps[port.index()].is_some();
        let first = Port::ALL.into_iter().find(is_stamped).unwrap_or(last.other());
        let port = [first, first.other()].into_iter().find(|port| may(*port))?;
        Some((port, stamps[port.index()]))
    }

    /// Time up to which the path may advance at `now`: not past a packet that waits to be read.
    #[inline]
    fn horizon(&mut self, now: Time) -> Time {
        let mut horizon = now;
        for port in Port::ALL {
            if let Some(stamp) = self.devices[port.index()].next_stamp() {
                horizon = horizon.min(self.arrival(port, stamp, now).unwrap_or(now));
            }
        }
        horizon
    }

    /// Arrival time of a packet of `port`, by its time stamp; `None` if the time stamp is implausible.
    #[inline]
    fn arrival(&mut self, port: Port, stamp: u64, now: Time) -> Option<Time> {
        let came = self.clock.convert_wall_clock(stamp, now);
        let is_sound = came <= now + STAMP_SLACK && came + STAMP_SLACK >= self.empty[port.index()];
        is_sound.then_some(came.min(now))
    }

    /// Records that the loop read its clock at `now`; returns whether it was late.
    #[inline]
    fn clock_read(&mut self, now: Time) -> bool {
        let stall = self.audit.clock_read(now);
        if stall >= stall::QUERY_DROPS_AFTER {
            self.query_drops();
        }
        !stall.is_zero()
    }

    /// Queries the devices for packets dropped during a stall.
    #[cold]
    fn query_drops(&mut self) {
        let kernel_drops = self.devices.iter_mut().map(Device::kernel_drops).sum();
        self.audit.kernel_drops_after_stall(kernel_drops);
    }

    /// Repeats turns until `stop` returns true or the waiter's alarm is readable. `stop` is called after each wait: at least
    /// every [`Waiter::LONGEST`], and every `BUSY_TURNS` turns.
    ///
    /// The next turn follows without a wait where packets may still wait to be read, or where the next deadline is close.
    ///
    /// # Errors
    /// A device cannot be read any more, or cannot be polled.
    pub fn run(&mut self, waiter: &mut Waiter, mut stop: impl FnMut() -> bool) -> io::Result<()> {
        let mut ready = [true; 2];
        let mut rush = 0;
        waiter.set_stamped(self.devices.iter().all(Device::is_stamped));
        loop {
            let turn = self.turn(ready)?;
            let now = self.clock.now();
            let is_behind = self.clock_read(now) || turn.is_behind;
            let is_busy = is_behind || turn.is_busy();
            if (is_busy || turn.deadline <= now + CLOSE) && rush < BUSY_TURNS {
                rush += 1;
                ready = if is_behind { [true; 2] } else { turn.more };
                continue;
            }
            rush = 0;
            let fds = [self.devices[0].fd(), self.devices[1].fd()];
            let deadline = if is_busy { Time::ZERO } else { turn.deadline };
            let woken = waiter.wait(&mut self.clock, now, deadline, fds)?;
            self.audit.stalls.sleep(woken.until);
            if woken.alarm || stop() {
                return Ok(());
            }
            ready = [woken.ready[0] || turn.more[0], woken.ready[1] || turn.more[1]];
        }
    }

    /// Reads the packets that wait at the devices, so that a change concerns those that come after it, however late it is made.
    fn read_waiting(&mut self) {
        for _ in 0..BUSY_TURNS {
            // The loop's next turn reports a device that cannot be read any more.
            if !self.turn([true; 2]).is_ok_and(|turn| turn.is_busy()) {
                return;
            }
        }
    }

    /// Replaces the parts of the running plan that differ from `plan`, now (see [`Emulator::replace`]). The lateness limits of
    /// the new plan apply from then on.
    ///
    /// # Errors
    /// A part that cannot be replaced; nothing has changed.
    pub fn replace(&mut self, plan: Plan) -> Result<Replaced, BuildError> {
        let limits = plan.lateness_limits();
        self.read_waiting();
        let now = self.clock.now();
        self.arrivals(now);
        let replaced = self.emulator.replace(now, plan)?;
        self.audit.limits = limits;
        self.release(now);
        Ok(replaced)
    }

    /// Applies `adjustment` now, and returns when: see [`Emulator::adjust`]. The lateness limits of the new plan apply from then on.
    ///
    /// # Errors
    /// The part that cannot be changed, and why; nothing has changed.
    pub fn adjust(&mut self, adjustment: &Adjustment) -> Result<(Time, Replaced), String> {
        self.read_waiting();
        let now = self.clock.now();
        self.arrivals(now);
        let replaced = self.emulator.adjust(now, adjustment)?;
        self.audit.limits = self.emulator.plan().lateness_limits();
        self.release(now);
        Ok((now, replaced))
    }

    /// Resets TCP connections now, and returns when and how many: see [`Emulator::reset`].
    pub fn reset(&mut self, port: Option<u16>) -> (Time, usize) {
        self.read_waiting();
        let now = self.clock.now();
        self.arrivals(now);
        let count = self.emulator.reset(now, port);
        self.release(now);
        (now, count)
    }

    /// Begins the run now: packets that wait at the devices arrive now.
    pub fn begin(&mut self) {
        let now = self.clock.now();
        self.audit.stalls.excuse(now);
    }

    /// Excludes the time since the last turn from the stalls. Call it if the caller was busy with other work: packets that arrived meanwhile
    /// may have waited.
    pub fn resume(&mut self) {
        let now = self.clock.now();
        self.audit.stalls.resume(now, self.audit.limits);
    }

    /// Takes a turn, and returns whether the link is idle: no packets at either device or on the path for at least `quiet`.
    ///
    /// # Errors
    /// A device cannot be read any more.
    pub fn is_idle(&mut self, quiet: Span) -> io::Result<bool> {
        let turn = self.turn([true; 2])?;
        let now = self.clock.now();
        if turn.has_read || self.inside() > 0 {
            self.active = now;
            return Ok(false);
        }
        Ok(now.since(self.active) >= quiet)
    }

    /// Packets that have been read and are on their way to the path or on it, in both directions.
    pub fn inside(&self) -> u64 {
        self.emulator.inside() + self.access.packets()
    }

    /// Runs the path's events that are due by now, and returns the time: what follows happens after it.
    pub fn catch_up(&mut self) -> Time {
        let now = self.clock.now();
        self.advance(now);
        now
    }

    /// The emulator.
    pub fn emulator(&mut self) -> &mut Emulator<R, T> {
        &mut self.emulator
    }
    /// The devices of [`Port::Inside`] and [`Port::Outside`].
    pub fn devices(&mut self) -> &mut [D; 2] {
        &mut self.devices
    }
    /// The clock.
    pub fn clock(&mut self) -> &mut C {
        &mut self.clock
    }

    /// The audit, updated to the current time.
    pub fn audit(&mut self) -> &mut Audit {
        let now = self.clock.now();
        let kernel_drops = self.devices.iter_mut().map(Device::kernel_drops).sum();
        self.audit.update(now, kernel_drops);
        let (mut read, mut split) = (0, 0);
        for (supers, parts) in self.devices.iter().map(Device::split) {
            (read, split) = (read + supers, split + parts);
        }
        let written = self.outgoing.iter().map(|outgoing| outgoing.supers).sum();
        let joined = self.outgoing.iter().map(|outgoing| outgoing.parts).sum();
        self.audit.super_packets = SuperPackets { read, split, written, joined };
        self.audit.malformed = Port::ALL.into_iter().map(|port| self.emulator.measures(port).malformed).sum();
        &mut self.audit
    }

    /// Ends the run and returns the emulator, the devices and the audit to the caller.
    pub fn finish(mut self) -> (Emulator<R, T>, [D; 2], Audit) {
        self.audit();
        (self.emulator, self.devices, self.audit)
    }
}
