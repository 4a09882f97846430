//! A device that records the packets read from it.

use qdelay_core::Time;
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::device::{Device, Port, Received, Sent};
use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// A packet that was read: time, port and bytes.
pub type Read = (Time, Port, Vec<u8>);

/// The recorded packets.
pub type Journal<E = Read> = Rc<RefCell<Vec<E>>>;

pub struct Watched<E = Read> {
    pub device: FakeDevice,
    pub clock: FakeClock,
    pub port: Port,
    pub journal: Journal<E>,
}

impl<E: From<Read>> Device for Watched<E> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let read = self.device.receive(buffer)?;
        if let Some(Received { bytes, .. }) = read {
            let packet: Read = (self.clock.peek(), self.port, buffer[..bytes].to_vec());
            self.journal.borrow_mut().push(packet.into());
        }
        Ok(read)
    }
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        self.device.send(bytes)
    }
    fn kernel_drops(&mut self) -> u64 {
        0
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
