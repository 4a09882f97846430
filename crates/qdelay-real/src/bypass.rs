//! Bypass between two devices: iperf3's control connections are forwarded directly from one to the other.
//!
//! iperf3 opens a control connection for each test, over which both ends negotiate. In a full queue the negotiation would take many
//! times as long as the scenario gives a flow to start, and it is not part of the scenario.

use super::ports::{FlowDirection, is_control};
use qdelay_emu::device::{Device, Port, Received, Sent};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// One of the two devices.
pub struct Bypass<D> {
    both: Rc<RefCell<[D; 2]>>,
    port: Port,
    /// Copy of the device's descriptor, to be polled while the devices are borrowed.
    fd: Option<OwnedFd>,
}

/// Connects the devices inside and outside.
///
/// # Errors
/// The process is out of file descriptors.
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
            // TCP retransmits packets that are lost here.
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
