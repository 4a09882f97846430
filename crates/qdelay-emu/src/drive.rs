//! The event loop that connects a clock, two devices and an [`Emulator`].
//!
//! One turn reads the clock, lets the path run its due events, writes released packets, and reads arrived packets, alternating
//! between the devices, at most [`BATCH`] from each, so that neither side starves the other or the releases. Packets that
//! become due between two reads are written between them. Nothing here blocks; waiting is done by [`wait`](crate::wait).
//!
//! An arrival is stamped with the time right after it was read or, where the device has time stamps ([`Device::next_stamp`]),
//! with its time stamp: such packets are read in the order of their time stamps, and the path does not advance past one that
//! has not been read. The path fires its events at their own times, so its decisions are the same however late a turn comes: a
//! late turn delays departures, and arrivals at devices without time stamps. [`stall`] records the effects of late turns.

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

/// Successive turns with packets in each after which [`Driver::run`] checks whether to stop.
const BUSY_TURNS: u32 = 32;

/// Tolerance for time stamps: the clocks are compared to within this, and the kernel takes the time stamp shortly before the
/// frame can be read.
const STAMP_SLACK: Span = Span::from_millis(10);

/// The state after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When the path needs the next turn, if no packets arrive.
    pub deadline: Time,
    /// Devices with more than a batch of packets: the next turn should follow at once.
    pub more: [bool; 2],
    /// Whether any packet was read.
    pub has_read: bool,
    /// Whether a device may still have packets that arrived during a stall.
    pub is_behind: bool,
}

impl Turn {
    /// Whether the next turn should follow without waiting.
    pub fn is_busy(&self) -> bool {
        self.more[0] || self.more[1]
    }
}

/// See the module. `D` is the type of both devices.
pub struct Driver<C, D, R = (), T = ()> {
    clock: C,
    devices: [D; 2],
    emulator: Emulator<R, T>,
    audit: Audit,
    /// When each device was last found empty: later packets cannot have an earlier time stamp.
    empty: [Time; 2],
    /// When a packet was last read, or was last known to be in flight.
    active: Time,
    /// Buffer for packets read while the pool has no free slot.
    scrap: Box<[u8]>,
}

impl<C: Clock, D: Device, R: Recorder, T: Tap> Driver<C, D, R, T> {
    /// Connects them. `devices` are those of [`Port::Inside`] and [`Port::Outside`]; `limits` are how late a release to each
    /// may be (see [`Plan::lateness_limits`](crate::plan::Plan::lateness_limits)).
    pub fn new(mut clock: C, mut devices: [D; 2], emulator: Emulator<R, T>, limits: [Span; 2]) -> Self {
        let now = clock.now();
        let kernel_drops = devices.iter_mut().map(Device::kernel_drops).sum();
        let scrap = vec![0; emulator.pool().slot_bytes()].into_boxed_slice();
        let audit = Audit::begin(now, limits, kernel_drops);
        Driver { clock, devices, emulator, audit, empty: [now; 2], active: now, scrap }
    }

    /// One turn, which reads the devices that are `ready`, and both after a stall.
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

    /// The device to read next, with the time stamp of its packet: the device with the earlier time stamp if both have one,
    /// otherwise the device that was not read `last`; `None` if there are no more packets, or its batch is full.
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
        let port = [last.other(), last].into_iter().find(|port| may(*port))?;
        Some((port, stamps[port.index()]))
    }

    /// The time up to which the path may advance at `now`: not past a packet that waits to be read.
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

    /// Arrival time of a packet of `port`, by its `stamp`; `None` if the time stamp is implausible.
    #[inline]
    fn arrival(&mut self, port: Port, stamp: u64, now: Time) -> Option<Time> {
        let came = self.clock.of_day(stamp, now);
        let is_sound = came <= now + STAMP_SLACK && came + STAMP_SLACK >= self.empty[port.index()];
        is_sound.then_some(came.min(now))
    }

    /// The loop read its clock at `now`; returns whether it was late.
    #[inline]
    fn look(&mut self, now: Time) -> bool {
        let stall = self.audit.look(now);
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
    /// A turn that has read packets, or that came late, is followed by another at once: after one packet another often follows,
    /// and reading two empty devices costs less than sleeping and waking up.
    ///
    /// # Errors
    /// A device cannot be read any more, or cannot be polled.
    pub fn run(&mut self, waiter: &mut Waiter, mut stop: impl FnMut() -> bool) -> io::Result<()> {
        let mut ready = [true; 2];
        let mut rush = 0;
        loop {
            let turn = self.turn(ready)?;
            let now = self.clock.now();
            let is_busy = self.look(now) || turn.has_read || turn.is_behind;
            if is_busy && rush < BUSY_TURNS {
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

    /// Reads one packet of `port`, which has this time stamp, and writes the packets that the path releases; returns whether
    /// there was a packet.
    #[inline]
    fn read(&mut self, port: Port, stamp: Option<u64>) -> io::Result<bool> {
        let Some(slot) = self.emulator.take() else { return self.discard(port) };
        let device = &mut self.devices[port.index()];
        match device.receive(self.emulator.buffer(slot)) {
            Ok(Some(received)) if received.kind == Kind::Ip => {
                let now = self.clock.now();
                self.look(now);
                let came = stamp.and_then(|stamp| self.arrival(port, stamp, now));
                match came {
                    Some(_) => self.audit.stalls.read_stamped(),
                    None => self.audit.stalls.read(port, stamp.is_some()),
                }
                // Malformed packets are counted by the emulator.
                let _ = self.emulator.arrive(came.unwrap_or(now), port, slot, received);
                self.release(now);
                Ok(true)
            }
            Ok(Some(received)) => {
                self.forward_unmodified(port, slot, received);
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

    /// Sends a frame without an IP packet to the other side at once, ahead of all packets on the path.
    #[cold]
    fn forward_unmodified(&mut self, port: Port, slot: Slot, received: Received) {
        let frame = self.emulator.buffer(slot).get(..received.bytes).unwrap_or(&[]);
        pass(&mut self.devices[port.other().index()], &mut self.audit, port, received.kind, frame);
        self.emulator.settle(slot);
    }

    /// As [`Driver::read`] when there is no free slot: a device that is not read would drop packets without a count, and
    /// deliver old ones later.
    #[cold]
    fn discard(&mut self, port: Port) -> io::Result<bool> {
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

    /// Writes the released packets. `now` is when the first packet is written; the clock is read for the others.
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

    /// Replaces the parts of the running plan that differ from `plan`, now (see [`Emulator::replace`]). From then on the limits
    /// of the new plan apply to releases.
    ///
    /// # Errors
    /// A loss that is not a probability; nothing has changed.
    pub fn replace(&mut self, plan: Plan) -> Result<Replaced, BuildError> {
        let limits = plan.lateness_limits();
        let now = self.clock.now();
        let replaced = self.emulator.replace(now, plan)?;
        self.audit.limits = limits;
        self.release(now);
        Ok(replaced)
    }

    /// To be called before the loop begins if the caller was busy with other work: see
    /// [`Stalls::excuse`](stall::Stalls::excuse).
    pub fn begin(&mut self) {
        let now = self.clock.now();
        self.audit.stalls.excuse(now, self.audit.limits);
    }

    /// Takes a turn, and returns whether the link is idle: no packets at either device or on the path for at least `quiet`.
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

    /// The audit, updated to now.
    pub fn audit(&mut self) -> &mut Audit {
        let now = self.clock.now();
        let kernel_drops = self.devices.iter_mut().map(Device::kernel_drops).sum();
        self.audit.update(now, kernel_drops);
        self.audit.malformed = Port::ALL.into_iter().map(|port| self.emulator.measures(port).malformed).sum();
        &mut self.audit
    }

    /// Ends the run and returns the emulator, the devices and the audit to the caller.
    pub fn finish(mut self) -> (Emulator<R, T>, [D; 2], Audit) {
        self.audit();
        (self.emulator, self.devices, self.audit)
    }
}

/// Writes `frame`, which came from `port` and is not an IP packet, to the device on the other side.
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
