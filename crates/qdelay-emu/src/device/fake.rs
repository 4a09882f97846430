//! A device for tests: packets arrive at scripted times, and written packets are kept.

use super::{Device, Kind, Received, Sent};
use crate::clock::FakeClock;
use crate::frame;
use crate::gso::{HEADER_BYTES, Intake, Offload};
use qdelay_core::Time;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

/// Treatment of packets that are written to a [`FakeDevice`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// Accepts every packet.
    #[default]
    Accepts,
    /// Accepts all but every `n`th packet, for which the queue is full.
    FullEvery(u64),
    /// Refuses all but every `n`th packet.
    FailsBut(u64),
}

/// Scripted device for tests.
#[derive(Debug)]
pub struct FakeDevice {
    clock: FakeClock,
    incoming: VecDeque<(Time, Vec<u8>)>,
    /// True if the script consists of Ethernet frames.
    has_frames: bool,
    /// Splitter of super-packets, for a script and [`FakeDevice::written`] whose packets have a
    /// [`VirtioHeader`](crate::gso::VirtioHeader).
    intake: Option<Intake>,
    /// Written packets, with the times of the writes.
    pub written: Vec<(Time, Vec<u8>)>,
    /// Treatment of written packets.
    pub sending: Sending,
    /// The value of [`Device::kernel_drops`].
    pub drops: u64,
    /// Makes reads fail after the end of the script.
    pub breaks: bool,
    /// Offset of time stamps from the script's times in nanoseconds, as after the wall clock was set; `None`: no time stamps.
    pub stamps: Option<i64>,
    /// Only the first packet after the device was read empty has a time stamp.
    pub only_first: bool,
    /// True if a packet was read since the device was read empty.
    is_read: bool,
    sends: u64,
}

impl FakeDevice {
    /// Creates a device whose packets can be read from their times on, in order.
    pub fn new(clock: &FakeClock, incoming: impl IntoIterator<Item = (Time, Vec<u8>)>) -> FakeDevice {
        FakeDevice {
            clock: clock.clone(),
            incoming: incoming.into_iter().collect(),
            has_frames: false,
            intake: None,
            written: Vec::new(),
            sending: Sending::default(),
            drops: 0,
            breaks: false,
            stamps: None,
            only_first: false,
            is_read: false,
            sends: 0,
        }
    }

    /// Creates a device of Ethernet frames; otherwise like [`FakeDevice::new`].
    pub fn ethernet(clock: &FakeClock, incoming: impl IntoIterator<Item = (Time, Vec<u8>)>) -> FakeDevice {
        FakeDevice { has_frames: true, ..FakeDevice::new(clock, incoming) }
    }

    /// Creates a device with offload: each packet of the script begins with a [`VirtioHeader`](crate::gso::VirtioHeader).
    pub fn offloading(
        clock: &FakeClock,
        mtu: usize,
        incoming: impl IntoIterator<Item = (Time, Vec<u8>)>,
    ) -> FakeDevice {
        FakeDevice { intake: Some(Intake::new(mtu)), ..FakeDevice::new(clock, incoming) }
    }

    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        self.sends += 1;
        match self.sending {
            Sending::FullEvery(n) if self.sends.is_multiple_of(n) => return Ok(Sent::Full),
            Sending::FailsBut(n) if !self.sends.is_multiple_of(n) => return Err(io::Error::other("refused")),
            _ => {}
        }
        let bytes = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.written.push((self.clock.peek(), bytes));
        Ok(Sent::Done)
    }

    /// Time at which the next packet can be read; [`Time::NEVER`] after the last.
    pub fn next(&self) -> Time {
        self.incoming.front().map_or(Time::NEVER, |packet| packet.0)
    }
}

impl Device for FakeDevice {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if self.incoming.is_empty() && self.breaks {
            return Err(io::Error::other("the device is broken"));
        }
        if let Some(intake) = self.intake.as_mut().filter(|intake| intake.has_more()) {
            return intake.receive(buffer, |_| Ok(None));
        }
        self.is_read = self.next() <= self.clock.peek();
        if !self.is_read {
            return Ok(None);
        }
        let Some((_, packet)) = self.incoming.pop_front() else { return Ok(None) };
        if let Some(intake) = &mut self.intake {
            return intake.receive(buffer, |buffers| Ok(Some(fill(buffers, &packet))));
        }
        let length = packet.len().min(buffer.len());
        buffer[..length].copy_from_slice(&packet[..length]);
        if self.has_frames {
            let (header, kind) = frame::link_layer(&packet);
            let kind = if packet.len() > length { Kind::Oversized } else { kind };
            return Ok(Some(Received { header, kind, ..Received::ip(packet.len()) }));
        }
        Ok(Some(Received::ip(length)))
    }

    fn next_stamp(&mut self) -> Option<u64> {
        let is_known = self.next() <= self.clock.peek() && !(self.only_first && self.is_read);
        let ahead = self.stamps.filter(|_| is_known)?;
        Some(self.next().as_nanos().saturating_add_signed(ahead))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        match self.intake {
            None => self.write(&[IoSlice::new(bytes)]),
            Some(_) => self.write(&[IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(bytes)]),
        }
    }

    fn offload(&self) -> Option<Offload> {
        self.intake.as_ref().map(|_| Offload { udp: true })
    }

    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        self.write(parts)
    }

    fn split(&self) -> (u64, u64) {
        self.intake.as_ref().map_or((0, 0), |intake| (intake.supers(), intake.parts()))
    }

    fn kernel_drops(&mut self) -> u64 {
        self.drops
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Fills the buffers one after the other, as the kernel does; returns the number of bytes that fitted.
fn fill(buffers: &mut [IoSliceMut<'_>], mut bytes: &[u8]) -> usize {
    let whole = bytes.len();
    for buffer in buffers {
        let (now, later) = bytes.split_at(buffer.len().min(bytes.len()));
        buffer[..now.len()].copy_from_slice(now);
        bytes = later;
    }
    whole - bytes.len()
}
