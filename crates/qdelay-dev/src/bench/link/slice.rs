//! Time slice of the measurement: a load over two devices, with packets forwarded by one of two programs.

use super::load::{Ends, Load, Traffic};
use qdelay_core::Span;
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::clock::RealClock;
use qdelay_emu::device::copy::copy;
use qdelay_emu::device::tun::{Tun, Whole};
use qdelay_emu::device::{Device, Port};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{Permission, WaitOptions, Waiter};
use qdelay_path::stack::Plan;
use qdelay_study::cost::{Stopwatch, thread_cpu_seconds};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Program that forwards the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Copy loop.
    Bare,
    /// Path of qdelay.
    Link,
}

/// Result of a time slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice {
    /// Counts of sender and receiver.
    pub traffic: Traffic,
    /// Counts of the forwarder.
    pub carried: Carried,
}

/// The work of a forwarder, in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Packets that it wrote.
    pub packets: u64,
    /// Packets that the path dropped.
    pub path_drops: u64,
    /// Packets that it says were lost outside the path.
    pub lost_outside: u64,
    /// Processor time of its thread.
    pub cpu_seconds: f64,
    /// Duration of the slice.
    pub seconds: f64,
}

/// The link's own counts.
pub struct ByLink {
    /// Packets and bytes that the link carried.
    pub carried: Carried,
    /// The link was on time.
    pub facts: AuditFacts,
    /// Real-time priority was granted.
    pub priority: Permission,
    /// Time spun before each release.
    pub spin: Span,
}

impl Slice {
    /// Unaccounted packets. A negative number means that packets counted as lost have arrived.
    pub fn unreported(&self) -> i64 {
        let Traffic { sent, received, unread, .. } = self.traffic;
        let Carried { path_drops, lost_outside, .. } = self.carried;
        sent as i64 - (received + unread + path_drops + lost_outside) as i64
    }
}

/// Packets that the link may hold: as many as `qdelay link` does by default.
const HOLD: u32 = 100_000;
/// Slots that are made before the first packet comes.
const RESERVED: u32 = 16_384;

/// Runs `load` for `seconds` over `devices`.
///
/// # Errors
/// A socket or a device fails, or packets are lost inside this program.
pub fn run(
    carrier: Carrier,
    devices: &mut [Tun; 2],
    plan: &Plan,
    ends: &Ends,
    load: Load,
    seconds: f64,
) -> io::Result<Slice> {
    let carry = |stop: OwnedFd, ready: &Sender<()>| match carrier {
        Carrier::Bare => bare(devices, &stop, ready),
        Carrier::Link => {
            link(devices, plan.clone(), WaitOptions::default(), stop, ready).map(|by| by.carried)
        }
    };
    // These names distinguish the threads in a profiler.
    let name = if carrier == Carrier::Bare { "bare" } else { "link" };
    let (carried, traffic) = with_carrier(name, carry, || ends.send(load, seconds))?;
    Ok(Slice { traffic, carried })
}

/// Runs `send` while `carry` forwards packets in a thread of its own. The descriptor given to `carry` becomes readable when the thread
/// shall end; `carry` reports through the sender when it is ready.
///
/// # Errors
/// The error of either function.
pub fn with_carrier<C: Send>(
    name: &str,
    carry: impl FnOnce(OwnedFd, &Sender<()>) -> io::Result<C> + Send,
    send: impl FnOnce() -> io::Result<Traffic>,
) -> io::Result<(C, Traffic)> {
    let (stopped, stop) = io::pipe()?;
    let (tell, is_ready) = channel();
    thread::scope(|scope| {
        let carrying = thread::Builder::new()
            .name(name.into())
            .spawn_scoped(scope, move || carry(stopped.into(), &tell))?;
        // The load starts only now: packets dropped before the first reading of the devices' counters would not be counted.
        let traffic = match is_ready.recv() {
            Ok(()) => send(),
            Err(_) => Ok(Traffic::default()),
        };
        drop(stop);
        let carried = carrying.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")));
        Ok((carried?, traffic?))
    })
}

/// Wall time and CPU time of a forwarder.
struct Cost {
    watch: Stopwatch,
    cpu: f64,
}

impl Cost {
    fn start() -> Cost {
        Cost { watch: Stopwatch::start(), cpu: thread_cpu_seconds() }
    }
    fn carried(&self, packets: u64) -> Carried {
        let cpu_seconds = thread_cpu_seconds() - self.cpu;
        Carried { packets, cpu_seconds, seconds: self.watch.seconds(), ..Carried::default() }
    }
}

fn bare(devices: &mut [Tun; 2], stop: &OwnedFd, ready: &Sender<()>) -> io::Result<Carried> {
    let [mut inside, mut outside] = devices.each_mut().map(Whole::new);
    let before = inside.kernel_drops() + outside.kernel_drops();
    let _ = ready.send(());
    let cost = Cost::start();
    let copied = copy(&mut inside, &mut outside, Whole::LONGEST, stop)?;
    let carried = cost.carried(inside.packets + outside.packets - copied.lost);
    let lost_outside = copied.lost + inside.kernel_drops() + outside.kernel_drops() - before;
    Ok(Carried { lost_outside, ..carried })
}

/// Forwards packets through `plan` until `stop` is readable.
///
/// # Errors
/// A failing device, or packets lost inside this program.
pub fn link(
    devices: &mut [Tun; 2],
    plan: Plan,
    wait: WaitOptions,
    stop: OwnedFd,
    ready: &Sender<()>,
) -> io::Result<ByLink> {
    let limits = plan.lateness_limits();
    let mut pool = Pool::new(devices[0].mtu() as u16, HOLD);
    pool.reserve(RESERVED);
    let emulator = Emulator::new(plan, pool, ()).map_err(io::Error::other)?;
    let mut waiter = Waiter::new(wait, Some(stop));
    let (priority, spin) = (waiter.granted().priority.clone(), waiter.granted().spin);
    let mut driver = Driver::new(RealClock::start(), devices.each_mut(), emulator, limits);
    let _ = ready.send(());
    let cost = Cost::start();
    driver.run(&mut waiter, || false)?;
    let delivered = Port::ALL.map(|port| driver.emulator().measures(port).delivered.packets);
    let carried = cost.carried(delivered.iter().sum());
    let (emulator, _, audit) = driver.finish();
    emulator.audit().map_err(io::Error::other)?;
    let dropped = |port: Port| emulator.drops_by_reason(port).total().packets;
    let path_drops = Port::ALL.map(dropped).iter().sum();
    let carried = Carried { path_drops, lost_outside: audit.lost(), ..carried };
    Ok(ByLink { carried, facts: audit.facts(), priority, spin })
}
