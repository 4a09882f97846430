//! The loop that joins a clock, two devices and an [`Emulator`].
//!
//! One turn looks at the clock, lets the path do what is due, writes what came out, and reads what has come in, a packet from
//! each device in turn, at most [`BATCH`] from each, so that neither side starves the other or the releases. Between two
//! packets that are read, what has become due is written. Nothing here blocks; waiting is [`wait`](crate::wait)'s.
//!
//! An arrival is stamped with the time right after it was read; or, where the device says when it came
//! ([`Device::next_stamp`]), with that time: such packets are read in the order of their stamps, and the path does not go past one
//! that has not been read. The path fires its events at their own times, so what it decides is the same however late a turn
//! comes: a late turn makes departures late, and arrivals at devices without stamps. What a turn was too late for is
//! [`stall`]'s.

use crate::audit::Audit;
use crate::clock::Clock;
use crate::device::{Device, Kind, Port, Received, Sent};
use crate::emulator::{Emulator, Replaced, Tap};
use crate::plan::Plan;
use crate::pool::Slot;
use crate::stall;
use crate::wait::Waiter;
use qdelay_core::{Span, Time};
use qdelay_path::BuildError;
use qdelay_record::Recorder;
use std::io;

/// Packets read from a device in one turn. At 2 to 3 us each this is a quarter of a millisecond for both, in which a TUN
/// device's queue of 500 packets does not fill up.
pub const BATCH: usize = 64;

/// Turns in a row, with packets in each, after which [`Driver::run`] asks whether to stop.
const RUSH: u32 = 32;

/// How far a stamp may be off: clocks are compared within this, and it is taken a little before the frame can be seen.
const STAMP_SLACK: Span = Span::from_millis(10);

/// What a turn leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When the path wants the next turn, packets aside.
    pub deadline: Time,
    /// Devices that had more than a batch: the next turn should come at once.
    pub more: [bool; 2],
    /// Whether any packet was read.
    pub has_read: bool,
    /// Whether a device may still have packets of a stall.
    pub is_behind: bool,
}

impl Turn {
    /// Whether there is no reason to wait.
    pub fn is_busy(&self) -> bool {
        self.more[0] || self.more[1]
    }
}

/// See the module. `D` is the kind of both devices.
pub struct Driver<C, D, R = (), T = ()> {
    clock: C,
    devices: [D; 2],
    emulator: Emulator<R, T>,
    audit: Audit,
    /// When each device was found empty the last time: what comes after is not stamped earlier.
    empty: [Time; 2],
    /// When a packet was read the last time, or was seen to be under way.
    active: Time,
    /// Where packets go that there is no slot for.
    scrap: Box<[u8]>,
}

impl<C: Clock, D: Device, R: Recorder, T: Tap> Driver<C, D, R, T> {
    /// Joins them. `devices` are those of [`Port::Inside`] and [`Port::Outside`]; `limits` are how late a release to each may be (see
    /// [`Plan::lateness_limits`](crate::plan::Plan::lateness_limits)).
    pub fn new(mut clock: C, mut devices: [D; 2], emulator: Emulator<R, T>, limits: [Span; 2]) -> Self {
        let now = clock.now();
        let kernel_drops = devices.iter_mut().map(Device::kernel_drops).sum();
        let scrap = vec![0; emulator.pool().slot_bytes()].into_boxed_slice();
        let audit = Audit::begin(now, limits, kernel_drops);
        Driver { clock, devices, emulator, audit, empty: [now; 2], active: now, scrap }
    }

    /// One turn, in which the devices for which `ready` says so are read, and after a stall both.
    ///
    /// # Errors
    /// A device cannot be read any more.
    pub fn turn(&mut self, ready: [bool; 2]) -> io::Result<Turn> {
        self.audit.turns += 1;
        let now = self.clock.now();
        let mut more = if self.look(now) { [true; 2] } else { ready };
        let horizon = self.horizon(now);
        self.emulator.advance(horizon);
        if self.emulator.releases() > 0 {
            let now = self.clock.now();
            self.look(now);
            self.release(now);
        }
        let (mut read, mut last) = ([0; 2], Port::Outside);
        while let Some((port, stamp)) = self.pick(more, read, last) {
            if self.read(port, stamp)? {
                read[port.index()] += 1;
            } else {
                more[port.index()] = false;
            }
            last = port;
        }
        let has_read = read != [0; 2];
        if has_read {
            self.active = now;
        }
        let is_behind = self.audit.stalls.is_behind();
        Ok(Turn { deadline: self.emulator.next_deadline(), more, has_read, is_behind })
    }

    /// The device to read next, with its packet's stamp: the one whose packet came first where both say so, otherwise the one
    /// that was not read `last`; `None` where there is nothing more, or its batch is full.
    #[inline]
    fn pick(&mut self, more: [bool; 2], read: [usize; 2], last: Port) -> Option<(Port, Option<u64>)> {
        let stamps = Port::ALL.map(|port| match more[port.index()] {
            true => self.devices[port.index()].next_stamp(),
            false => None,
        });
        if let [Some(inside), Some(outside)] = stamps {
            // One order for those of the same time, however late they are read.
            let port = if inside <= outside { Port::Inside } else { Port::Outside };
            return (read[port.index()] < BATCH).then_some((port, stamps[port.index()]));
        }
        let may = |port: Port| more[port.index()] && read[port.index()] < BATCH;
        let port = [last.other(), last].into_iter().find(|port| may(*port))?;
        Some((port, stamps[port.index()]))
    }

    /// Up to when the path may go at `now`: not past a packet that waits to be read.
    #[inline]
    fn horizon(&mut self, now: Time) -> Time {
        let mut horizon = now;
        for port in Port::ALL {
            if let Some(stamp) = self.devices[port.index()].next_stamp() {
                horizon = horizon.min(self.came(port, stamp, now).unwrap_or(now));
            }
        }
        horizon
    }

    /// When the packet of `port` came, by its `stamp`; `None` where that cannot be.
    #[inline]
    fn came(&mut self, port: Port, stamp: u64, now: Time) -> Option<Time> {
        let came = self.clock.of_day(stamp, now);
        let is_sound = came <= now + STAMP_SLACK && came + STAMP_SLACK >= self.empty[port.index()];
        is_sound.then_some(came.min(now))
    }

    /// The loop was at its clock at `now`; says whether it was late.
    #[inline]
    fn look(&mut self, now: Time) -> bool {
        let stall = self.audit.look(now);
        if stall >= stall::ASK {
            self.ask();
        }
        !stall.is_zero()
    }

    /// Finds out what was dropped in a stall.
    #[cold]
    fn ask(&mut self) {
        let kernel_drops = self.devices.iter_mut().map(Device::kernel_drops).sum();
        self.audit.asked(kernel_drops);
    }

    /// Turns until `stop` says so, which is asked after each wait, at least every [`Waiter::LONGEST`] and every `RUSH` turns;
    /// or until the waiter's alarm is readable.
    ///
    /// After a turn that has read packets, or that came late, the next one comes at once: where there was one, another is often
    /// on its way, and a look at two empty devices costs less than to fall asleep and to be woken.
    ///
    /// # Errors
    /// A device cannot be read any more, or there is no waiting for it.
    pub fn run(&mut self, waiter: &mut Waiter, mut stop: impl FnMut() -> bool) -> io::Result<()> {
        let mut ready = [true; 2];
        let mut rush = 0;
        loop {
            let turn = self.turn(ready)?;
            let now = self.clock.now();
            let is_busy = self.look(now) || turn.has_read || turn.is_behind;
            if is_busy && rush < RUSH {
                rush += 1;
                ready = [true; 2];
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

    /// Reads one packet of `port`, which has this stamp, and writes what the path lets go for it; says whether there was one.
    #[inline]
    fn read(&mut self, port: Port, stamp: Option<u64>) -> io::Result<bool> {
        let Some(slot) = self.emulator.take() else { return self.throw_away(port) };
        let device = &mut self.devices[port.index()];
        match device.receive(self.emulator.buffer(slot)) {
            Ok(Some(received)) if received.kind == Kind::Ip => {
                let now = self.clock.now();
                self.look(now);
                let came = stamp.and_then(|stamp| self.came(port, stamp, now));
                match came {
                    Some(_) => self.audit.stalls.read_stamped(),
                    None => self.audit.stalls.read(port, stamp.is_some()),
                }
                // Malformed packets are counted there.
                let _ = self.emulator.arrive(came.unwrap_or(now), port, slot, received);
                self.release(now);
                Ok(true)
            }
            Ok(Some(received)) => {
                self.go_around(port, slot, received);
                Ok(true)
            }
            Ok(None) => {
                self.emulator.settle(slot);
                self.found_empty(port);
                Ok(false)
            }
            Err(error) => {
                self.emulator.settle(slot);
                Err(error)
            }
        }
    }

    #[inline]
    fn found_empty(&mut self, port: Port) {
        self.audit.stalls.empty(port);
        self.empty[port.index()] = self.audit.stalls.looked();
    }

    /// A frame that is no IP packet goes to the other side at once, in front of all that the path holds.
    #[cold]
    fn go_around(&mut self, port: Port, slot: Slot, received: Received) {
        let frame = self.emulator.buffer(slot).get(..received.bytes).unwrap_or(&[]);
        pass(&mut self.devices[port.other().index()], &mut self.audit, port, received.kind, frame);
        self.emulator.settle(slot);
    }

    /// As [`Driver::read`] when there is no slot: a device that is not read would drop packets without a count, and hand over
    /// old ones later.
    #[cold]
    fn throw_away(&mut self, port: Port) -> io::Result<bool> {
        let received = self.devices[port.index()].receive(&mut self.scrap)?;
        match received {
            Some(Received { kind: Kind::Ip, .. }) => self.audit.pool_empty += 1,
            Some(received) => {
                let frame = self.scrap.get(..received.bytes).unwrap_or(&[]);
                pass(&mut self.devices[port.other().index()], &mut self.audit, port, received.kind, frame);
            }
            None => self.found_empty(port),
        }
        let now = self.clock.now();
        self.look(now);
        let horizon = self.horizon(now);
        self.emulator.advance(horizon);
        self.release(now);
        Ok(received.is_some())
    }

    /// Writes what the path has let go. `now` is when the first packet is written; the clock is read for the others.
    #[inline]
    fn release(&mut self, mut now: Time) {
        while let Some(release) = self.emulator.next_release() {
            self.audit.released(now, release.port, release.due);
            let device = &mut self.devices[release.port.index()];
            match device.send(self.emulator.frame(&release)) {
                Ok(Sent::Done) => {}
                Ok(Sent::Full) => self.audit.send_full += 1,
                Err(_) => self.audit.send_failed += 1,
            }
            self.emulator.settle(release.slot);
            if self.emulator.releases() > 0 {
                now = self.clock.now();
                self.look(now);
            }
        }
    }

    /// Replaces what differs between `plan` and what runs, now (see [`Emulator::replace`]). Releases are held to the limits of
    /// the new plan from now on.
    ///
    /// # Errors
    /// A loss that is no probability; nothing has changed.
    pub fn replace(&mut self, plan: Plan) -> Result<Replaced, BuildError> {
        let limits = plan.lateness_limits();
        let now = self.clock.now();
        let replaced = self.emulator.replace(now, plan)?;
        self.audit.limits = limits;
        self.release(now);
        Ok(replaced)
    }

    /// To be called before the loop begins, where something else was done first: see [`Stalls::excuse`](stall::Stalls::excuse).
    pub fn begin(&mut self) {
        let now = self.clock.now();
        self.audit.stalls.excuse(now, self.audit.limits);
    }

    /// Takes a turn, and says whether nothing is under way: neither device has a packet, the path is empty, and both have been so
    /// for `quiet`.
    ///
    /// # Errors
    /// A device cannot be read any more.
    pub fn is_idle(&mut self, quiet: Span) -> io::Result<bool> {
        let turn = self.turn([true; 2])?;
        let now = self.clock.now();
        if turn.has_read || self.emulator.inside() > 0 {
            self.active = now;
            return Ok(false);
        }
        Ok(now.since(self.active) >= quiet)
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

    /// What went on beside the path, up to now.
    pub fn audit(&mut self) -> &mut Audit {
        let now = self.clock.now();
        let kernel_drops = self.devices.iter_mut().map(Device::kernel_drops).sum();
        self.audit.update(now, kernel_drops);
        self.audit.malformed = Port::ALL.into_iter().map(|port| self.emulator.measures(port).malformed).sum();
        &mut self.audit
    }

    /// Ends the run: emulator, devices and audit are the host's again.
    pub fn finish(mut self) -> (Emulator<R, T>, [D; 2], Audit) {
        self.audit();
        (self.emulator, self.devices, self.audit)
    }
}

/// Hands `frame`, which came from `port` and is no IP packet, to the device on the other side.
fn pass<D: Device>(to: &mut D, audit: &mut Audit, port: Port, kind: Kind, frame: &[u8]) {
    if kind == Kind::Oversized {
        audit.oversized += 1;
        return;
    }
    match to.send(frame) {
        Ok(Sent::Done) => audit.passed[port.index()] += 1,
        Ok(Sent::Full) => audit.send_full += 1,
        Err(_) => audit.send_failed += 1,
    }
}
