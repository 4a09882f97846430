//! Receiving on other processors than the one that sends.
//!
//! A packet that is written to a device goes through the receiver's whole stack before the write returns: ten microseconds for a
//! TCP segment that wakes its reader. A trace that lets 26 packets go in the same millisecond would so be a quarter of a
//! millisecond late with the last of them. Receive packet steering (Linux, `Documentation/networking/scaling.rst`, RPS) leaves
//! that work to the other processors, and the thread that carries the packets keeps one to itself.
//!
//! Done where real-time priority is asked for. A machine with one processor has nobody to leave it to.
#![allow(unsafe_code)] // unshare(2) of the mount namespace, of a thread that opens nothing before it.

use crate::link_setup::LinkSetup;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_setaffinity};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Who does what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    /// Of the thread that carries packets.
    own: usize,
    /// Of everybody else, as sysfs writes sets of processors.
    others: Arc<str>,
}

/// Where sysfs is mounted, for the eyes of one thread.
const SCRATCH: [&str; 3] = ["/run", "/tmp", "/mnt"];

impl Steering {
    /// For the processors that the calling thread may use; `None` if there is only one.
    pub fn plan() -> Option<Steering> {
        let allowed = sched_getaffinity(None).ok()?;
        let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let (&own, others) = processors.split_last().filter(|(_, others)| !others.is_empty())?;
        Some(Steering { own, others: mask(others).into() })
    }

    /// Steers the packets that both devices of `setup` receive. Says whether that was possible for both.
    pub fn steer(&self, setup: &LinkSetup) -> bool {
        let steering = self.clone();
        let name = setup.inside.name().to_string();
        let inside = setup.namespace.run(move || steering.receive_elsewhere(&name));
        let (steering, name) = (self.clone(), setup.outside.name().to_string());
        let outside = match &setup.outside_namespace {
            Some(outer) => outer.run(move || steering.receive_elsewhere(&name)),
            None => steering.receive_elsewhere(&name),
        };
        inside.is_ok() && outside.is_ok()
    }

    /// Lets others receive what comes to a device in the network namespace of the calling thread.
    fn receive_elsewhere(&self, device: &str) -> io::Result<()> {
        let others = Arc::clone(&self.others);
        let file = format!("class/net/{device}/queues/rx-0/rps_cpus");
        // sysfs shows the devices of the namespace it was mounted in, so it is mounted anew, where nobody else sees it.
        let work = move || -> io::Result<()> {
            // SAFETY: the mount namespace takes no file descriptors from other threads.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }?;
            let flow = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            rustix::mount::mount_change("/", flow)?;
            let place = SCRATCH.iter().map(Path::new).find(|place| place.is_dir()).ok_or(Errno::NOTDIR)?;
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            rustix::mount::mount("qdelay", place, "sysfs", flags, None)?;
            std::fs::write(place.join(file), &*others)
        };
        std::thread::Builder::new()
            .spawn(work)?
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("it broke off")))
    }

    /// Keeps the calling thread, which is the one that carries packets, on its own processor.
    ///
    /// # Errors
    /// The processor is not there any more.
    pub fn stay(&self) -> io::Result<()> {
        let mut own = CpuSet::new();
        own.set(self.own);
        Ok(sched_setaffinity(None, &own)?)
    }
}

/// A set of processors as sysfs has it: hexadecimal words of 32, the highest first.
fn mask(processors: &[usize]) -> String {
    let words = processors.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |place: usize| {
        processors.iter().filter(|&&cpu| cpu / 32 == place).fold(0_u32, |word, cpu| word | 1 << (cpu % 32))
    };
    (0..words).rev().map(|place| format!("{:08x}", word(place))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 1, 31]), "80000003");
        assert_eq!(mask(&[2, 32, 65]), "00000002,00000001,00000004");
    }

    #[test]
    fn one_processor_is_kept() {
        let Some(steering) = Steering::plan() else { return println!("skipped: one processor") };
        let staying = std::thread::spawn(move || {
            steering.stay().unwrap();
            sched_getaffinity(None).unwrap().count()
        });
        assert_eq!(staying.join().unwrap(), 1);
    }
}
