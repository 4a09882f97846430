//! Writes released packets; packets that leave together are joined to super-packets if their device accepts them.
//!
//! Packets leave together if they are due when the first of them is written: no packet is held back to be joined.

use super::Driver;
use crate::clock::Clock;
use crate::device::{Device, Port, Sent};
use crate::emulator::{Emulator, Release, Tap};
use crate::gso::{JOINED_MAX, Run};
use qdelay_core::Time;
use qdelay_record::Recorder;
use std::io::{self, IoSlice};

/// The packets that are about to be written to a device as one super-packet.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    run: Option<Run>,
    releases: Vec<Release>,
    /// Super-packets written so far, and the packets in them.
    pub supers: u64,
    pub parts: u64,
}

impl Outgoing {
    /// Adds `release`, whose checksum is left out, if it continues the run.
    #[inline]
    fn add<R: Recorder, T: Tap>(&mut self, emulator: &Emulator<R, T>, release: Release, udp: bool) -> bool {
        let (Some(run), Some(first)) = (&mut self.run, self.releases.first()) else { return false };
        let is_added = run.add(emulator.bytes(first), emulator.bytes(&release), udp);
        if is_added {
            self.releases.push(release);
        }
        is_added
    }

    /// Begins a run with `release`; false if it cannot be joined with anything.
    #[inline]
    fn begin<R: Recorder, T: Tap>(&mut self, emulator: &Emulator<R, T>, release: Release) -> bool {
        self.run = Run::begin(emulator.bytes(&release));
        if self.run.is_some() {
            self.releases.push(release);
        }
        self.run.is_some()
    }
}

impl<C: Clock, D: Device, R: Recorder, T: Tap> Driver<C, D, R, T> {
    /// Writes the released packets. `now` is the time of the first write; the clock is read for the others.
    #[inline]
    pub(super) fn release(&mut self, mut now: Time) {
        while let Some(release) = self.emulator.next_release() {
            let index = release.port.index();
            // A complete checksum would hide an error in joined packets, so the packet is written alone.
            if !release.is_unsummed {
                now = self.flush(release.port, now);
                now = self.write(release, now);
                continue;
            }
            let Some(offload) = self.devices[index].offload() else {
                self.emulator.complete_checksum(&release);
                now = self.write(release, now);
                continue;
            };
            if self.outgoing[index].add(&self.emulator, release, offload.udp) {
                continue;
            }
            now = self.flush(release.port, now);
            if !self.outgoing[index].begin(&self.emulator, release) {
                self.emulator.complete_checksum(&release);
                now = self.write(release, now);
            }
        }
        for port in Port::ALL {
            now = self.flush(port, now);
        }
    }

    /// Writes one packet at `now`; returns the time at which the next can be written.
    #[inline]
    fn write(&mut self, release: Release, now: Time) -> Time {
        self.audit.released(now, release.port, release.due);
        let sent = self.devices[release.port.index()].send(self.emulator.frame(&release));
        self.count(&sent, 1);
        self.emulator.settle(release.slot);
        self.after_write(now)
    }

    /// Writes the packets that are joined for `port`; returns the time at which the next can be written.
    #[inline]
    fn flush(&mut self, port: Port, now: Time) -> Time {
        match self.outgoing[port.index()].run.take() {
            Some(run) => self.write_joined(port, run, now),
            None => now,
        }
    }

    fn write_joined(&mut self, port: Port, run: Run, now: Time) -> Time {
        let mut releases = std::mem::take(&mut self.outgoing[port.index()].releases);
        let packets = releases.len() as u64;
        if let Some(first) = releases.first() {
            let headers = run.headers(self.emulator.bytes(first));
            let mut parts = [IoSlice::new(&[]); 1 + JOINED_MAX];
            parts[0] = IoSlice::new(headers.headers());
            for (part, release) in parts[1..].iter_mut().zip(&releases) {
                *part = IoSlice::new(run.payload(self.emulator.bytes(release)));
            }
            let parts = &parts[..=releases.len().min(JOINED_MAX)];
            let sent = self.devices[port.index()].send_joined(parts);
            self.count(&sent, packets);
        }
        for release in releases.drain(..) {
            self.audit.released(now, port, release.due);
            self.emulator.settle(release.slot);
        }
        let outgoing = &mut self.outgoing[port.index()];
        outgoing.releases = releases;
        if packets > 1 {
            outgoing.supers += 1;
            outgoing.parts += packets;
        }
        self.after_write(now)
    }

    #[inline]
    fn count(&mut self, sent: &io::Result<Sent>, packets: u64) {
        match sent {
            Ok(Sent::Done) => {}
            Ok(Sent::Full) => self.audit.send_full += packets,
            Err(_) => self.audit.send_failed += packets,
        }
    }

    /// Reads the clock if more packets are to be written.
    #[inline]
    fn after_write(&mut self, now: Time) -> Time {
        if self.emulator.releases() == 0 && self.outgoing.iter().all(|outgoing| outgoing.run.is_none()) {
            return now;
        }
        let now = self.clock.now();
        self.clock_read(now);
        now
    }
}
