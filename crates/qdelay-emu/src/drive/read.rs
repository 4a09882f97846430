//! Reads packets, and lets those of a turn arrive together.

use super::Driver;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::device::{Device, Kind, Port, Received, Sent};
use crate::emulator::Tap;
use crate::pool::Slot;
use qdelay_core::Time;
use qdelay_record::Recorder;
use std::io;

/// A packet that was read in this turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    port: Port,
    slot: Slot,
    received: Received,
    /// Time stamp by the device.
    stamp: Option<u64>,
    /// Arrival time, once known.
    at: Time,
}

impl<C: Clock, D: Device, R: Recorder, T: Tap> Driver<C, D, R, T> {
    /// Reads a packet or super-packet of `port`, which has this time stamp; returns the number of packets in it.
    #[inline]
    pub(super) fn read(&mut self, port: Port, stamp: Option<u64>) -> io::Result<usize> {
        let mut packets = 0;
        loop {
            let Some(slot) = self.emulator.take_slot() else {
                return self.discard(port).map(|more| packets + more);
            };
            let device = &mut self.devices[port.index()];
            let received = match device.receive(self.emulator.buffer(slot)) {
                Ok(Some(received)) => received,
                nothing => {
                    self.emulator.settle(slot);
                    return nothing.map(|_| packets);
                }
            };
            packets += 1;
            match received.kind {
                Kind::Ip | Kind::Malformed => {
                    self.batch.push(Read { port, slot, received, stamp, at: Time::ZERO });
                }
                Kind::Other | Kind::Oversized => self.forward_unmodified(port, slot, received),
            }
            // All packets of a super-packet are read in one turn, because they arrive at the same time.
            if !received.has_more {
                return Ok(packets);
            }
        }
    }

    /// Sets the arrival time of the packets read since the last clock reading: now or, where their device has time stamps, the
    /// time stamp; returns the current time.
    #[inline]
    pub(super) fn stamp(&mut self) -> Time {
        let now = self.clock.now();
        self.clock_read(now);
        for index in self.stamped..self.batch.len() {
            let Read { port, stamp, .. } = self.batch[index];
            let came = stamp.and_then(|stamp| self.arrival(port, stamp, now));
            match came {
                Some(came) => self.audit.stalls.read_stamped(port, came, now, self.audit.limits),
                None => self.audit.stalls.read(port, stamp.is_some()),
            }
            self.batch[index].at = came.unwrap_or(now);
        }
        self.stamped = self.batch.len();
        now
    }

    /// Passes the packets read in this turn to the emulator.
    #[inline]
    pub(super) fn arrive_batch(&mut self) {
        self.stamp();
        let mut batch = std::mem::take(&mut self.batch);
        for Read { port, slot, received, at, .. } in batch.drain(..) {
            self.arrivals(at);
            if received.kind == Kind::Malformed {
                self.emulator.refuse(at, port, slot);
            } else if self.access.arrives(at, port, slot, received) {
                // Malformed packets are counted by the emulator.
                let _ = self.emulator.arrive(at, port, slot, received);
            }
        }
        self.batch = batch;
        self.stamped = 0;
    }

    /// Records that the device of `port` was found empty after the clock was read at `since`.
    #[inline]
    pub(super) fn found_empty(&mut self, port: Port, since: Time) {
        self.audit.stalls.empty_since(port, since);
        self.empty[port.index()] = since;
    }

    /// Sends a frame without an IP packet to the other side at once, ahead of all packets on the path.
    #[cold]
    fn forward_unmodified(&mut self, port: Port, slot: Slot, received: Received) {
        let frame = self.emulator.buffer(slot).get(..received.bytes).unwrap_or(&[]);
        pass(&mut self.devices[port.other().index()], &mut self.audit, port, received.kind, frame);
        self.emulator.settle(slot);
    }

    /// Reads and drops packets while there is no free slot: a device that is not read would drop packets without a count, and
    /// deliver old packets later.
    #[cold]
    fn discard(&mut self, port: Port) -> io::Result<usize> {
        let mut packets = 0;
        while let Some(received) = self.devices[port.index()].receive(&mut self.scrap)? {
            packets += 1;
            if matches!(received.kind, Kind::Ip | Kind::Malformed) {
                self.audit.pool_empty += 1;
            } else {
                let frame = self.scrap.get(..received.bytes).unwrap_or(&[]);
                pass(&mut self.devices[port.other().index()], &mut self.audit, port, received.kind, frame);
            }
            if !received.has_more {
                break;
            }
        }
        self.arrive_batch();
        let now = self.clock.now();
        self.clock_read(now);
        self.advance(now);
        self.release(now);
        Ok(packets)
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
