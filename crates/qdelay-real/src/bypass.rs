//! Two devices whose packets meet on the way: what iperf3 says to itself goes straight from one to the other.
//!
//! iperf3 opens a connection of its own for each test, over which both ends agree on what to do. In a full queue that would
//! take many times as long as the scenario gives a flow to start, and it is no part of the scenario.

use super::ports::{FlowDirection, is_control};
use qdelay_emu::device::{Device, Port, Received, Sent};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// One of the two.
pub struct Bypass<D> {
    both: Rc<RefCell<[D; 2]>>,
    port: Port,
    /// The device's own, to be polled while the devices are somebody else's.
    fd: Option<OwnedFd>,
}

/// Joins the devices inside and outside.
///
/// # Errors
/// No more file descriptors.
pub fn join<D: Device>(devices: [D; 2]) -> io::Result<[Bypass<D>; 2]> {
    let fds =
        [&devices[0], &devices[1]].map(|device| device.fd().map(|fd| fd.try_clone_to_owned()).transpose());
    let both = Rc::new(RefCell::new(devices));
    let [inside, outside] = fds;
    let one = |port, fd| Bypass { both: Rc::clone(&both), port, fd };
    Ok([one(Port::Inside, inside?), one(Port::Outside, outside?)])
}

impl<D: Device> Device for Bypass<D> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let mut both = self.both.borrow_mut();
        let way = if self.port == Port::Outside { FlowDirection::Down } else { FlowDirection::Up };
        loop {
            let Some(received) = both[self.port.index()].receive(buffer)? else { return Ok(None) };
            let packet = buffer.get(..received.bytes).unwrap_or(&[]);
            if !is_control(packet, way) {
                return Ok(Some(received));
            }
            // What is lost here TCP sends again.
            let _ = both[self.port.other().index()].send(packet);
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        self.both.borrow_mut()[self.port.index()].send(bytes)
    }

    fn kernel_drops(&mut self) -> u64 {
        self.both.borrow_mut()[self.port.index()].kernel_drops()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }
}
