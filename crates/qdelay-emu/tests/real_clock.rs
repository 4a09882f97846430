//! Driver under the real clock, between two sockets, without privileges: packets arrive whole, in order and never early, and the
//! run ends when requested. Lateness is printed (`--nocapture`) and never judged, because a shared machine may take its
//! processor away at any time.

use crate::common::{Make, number, packet, plan};
use qdelay_core::Span;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::device::{Device, Port, Received, Sent};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{WaitOptions, Waiter};
use rustix::pipe::pipe;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

/// One end of a pair of sockets that preserve packet boundaries.
struct Socket(UnixDatagram);

impl Device for Socket {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        match self.0.recv(buffer) {
            Ok(length) => Ok(Some(Received::ip(length))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        match self.0.send(bytes) {
            Ok(_) => Ok(Sent::Done),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Full),
            Err(error) => Err(error),
        }
    }
    fn kernel_drops(&mut self) -> u64 {
        0
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

fn pair() -> (Socket, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (Socket(ours), theirs)
}

const PACKETS: u32 = 300;
const GAP: Span = Span::from_micros(1000);
const DELAY_MS: u64 = 7;

fn run(options: WaitOptions) {
    let (inside, program) = pair();
    let (outside, world) = pair();
    let (alarm, ring) = pipe().unwrap();
    let emulator = Emulator::new(plan("bode", "line:50mbit", DELAY_MS), Pool::new(1500, 1024), ()).unwrap();
    let limit = plan("bode", "line:50mbit", DELAY_MS).lateness_limits();
    let mut clock = RealClock::start();
    let mut driver = Driver::new(clock, [inside, outside], emulator, limit);
    let mut sender = clock;
    let sending = thread::spawn(move || {
        let (quiet, _writer) = pipe().unwrap();
        let mut waiter = Waiter::new(WaitOptions::default(), None);
        let mut sent = Vec::new();
        for number in 0..PACKETS {
            let at = sender.now() + GAP;
            while sender.now() < at {
                let now = sender.now();
                waiter.wait(&mut sender, now, at, [Some(quiet.as_fd()); 2]).unwrap();
            }
            sent.push(sender.now());
            let make = Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes: 1500, number };
            program.send(&packet(make)).unwrap();
        }
        (program, sent)
    });
    let receiving = thread::spawn(move || {
        let (mut buffer, mut received) = ([0; 2000], Vec::new());
        for _ in 0..PACKETS {
            let length = world.recv(&mut buffer).unwrap();
            received.push((clock.now(), number(&buffer), length));
        }
        rustix::io::write(&ring, b"x").unwrap();
        (world, received)
    });
    // A thread of its own ends the priority with the run.
    let granted = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut waiter = Waiter::new(options, Some(alarm));
            driver.run(&mut waiter, || false).unwrap();
            waiter.granted().clone()
        });
        waiting.join().unwrap()
    });
    let ((_program, sent), (_world, received)) = (sending.join().unwrap(), receiving.join().unwrap());
    for (at, (sent, (received, number, length))) in sent.iter().zip(&received).enumerate() {
        assert_eq!((*number, *length), (at as u32, 1500), "all, whole and in order");
        // 240 us on the line, plus the delay.
        assert!(received.since(*sent) >= Span::from_millis(DELAY_MS) + Span::from_micros(240), "never early");
    }
    let (emulator, _, audit) = driver.finish();
    assert_eq!(emulator.audit(), Ok(()));
    assert_eq!(emulator.measures(Port::Inside).delivered.packets, u64::from(PACKETS));
    assert_eq!((audit.lost(), audit.lateness.count()), (0, u64::from(PACKETS)));
    println!("{granted:?}\n{:?}\n", audit.facts());
}

#[test(waits)]
fn packets_cross_between_two_sockets() {
    run(WaitOptions::default());
    run(WaitOptions { realtime: false, spin: Some(Span::from_micros(50)) });
}

#[test(waits)]
fn packets_cross_with_available_privileges() {
    run(WaitOptions { realtime: true, spin: None });
}

#[test(waits)]
fn each_kind_of_stop_request_ends_the_run() {
    let ((inside, _program), (outside, _world)) = (pair(), pair());
    let emulator = Emulator::new(plan("bode", "line:50mbit", 0), Pool::new(1500, 1024), ()).unwrap();
    let mut driver =
        Driver::new(RealClock::start(), [inside, outside], emulator, [Span::from_micros(100); 2]);
    let (mut waiter, mut asked) = (Waiter::new(WaitOptions::default(), None), 0);
    let stop = || {
        asked += 1;
        asked == 2
    };
    driver.run(&mut waiter, stop).unwrap();
    assert!(driver.audit().duration >= Waiter::LONGEST);
}
