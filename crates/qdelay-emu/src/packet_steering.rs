//! Receive packet steering: packets written to a device are received on processors other than that of the data thread.
//!
//! Without steering, a packet that is written to a device passes through the receiver's whole network stack before the write
//! returns: ten microseconds for a TCP segment that wakes its reader. If a trace releases 26 packets in one millisecond, the last
//! of them would be a quarter of a millisecond late. Receive packet steering (Linux, `Documentation/networking/scaling.rst`, RPS)
//! moves that work to the other processors, and leaves one processor to the data thread.
//!
//! Steering is used with real-time priority, and needs a machine with two processors or more.
#![allow(unsafe_code)] // unshare(2) of the mount namespace, of a thread that opens nothing before it.

use crate::link_setup::LinkSetup;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_setaffinity};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Assignment of processors to the data thread and to receiving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketSteering {
    /// The processor of the data thread, which carries packets.
    own: usize,
    /// All other processors, as a CPU mask of sysfs.
    others: Arc<str>,
}

/// Directories over which sysfs can be mounted in a private mount namespace.
const SCRATCH: [&str; 3] = ["/run", "/tmp", "/mnt"];

impl PacketSteering {
    /// Assigns the processors that the calling thread may use; `None` if there is only one.
    pub fn choose() -> Option<PacketSteering> {
        let allowed = sched_getaffinity(None).ok()?;
        let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let (&own, others) = processors.split_last().filter(|(_, others)| !others.is_empty())?;
        Some(PacketSteering { own, others: mask(others).into() })
    }

    /// Enables packet steering at both devices of `setup`. Returns true if that succeeded for both.
    pub fn apply(&self, setup: &LinkSetup) -> bool {
        let steering = self.clone();
        let name = setup.inside.name().to_string();
        let inside = setup.namespace.run(move || steering.set_rps(&name));
        let (steering, name) = (self.clone(), setup.outside.name().to_string());
        let outside = match &setup.outside_namespace {
            Some(outer) => outer.run(move || steering.set_rps(&name)),
            None => steering.set_rps(&name),
        };
        inside.is_ok() && outside.is_ok()
    }

    /// Sets the processors that receive packets of a device in the network namespace of the calling thread.
    fn set_rps(&self, device: &str) -> io::Result<()> {
        let others = Arc::clone(&self.others);
        let file = format!("class/net/{device}/queues/rx-0/rps_cpus");
        // sysfs shows the devices of the namespace in which it was mounted, so it is mounted again, in a private mount
        // namespace.
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
            .unwrap_or_else(|_| Err(io::Error::other("the thread that sets rps_cpus has panicked")))
    }

    /// Pins the calling thread, which must be the data thread, to its processor.
    ///
    /// # Errors
    /// The processor is offline now.
    pub fn pin_thread(&self) -> io::Result<()> {
        let mut own = CpuSet::new();
        own.set(self.own);
        Ok(sched_setaffinity(None, &own)?)
    }
}

/// A CPU mask as sysfs writes it: hexadecimal words of 32 bits, the highest first.
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
    fn masks_are_written_as_words_of_32_bits() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 1, 31]), "80000003");
        assert_eq!(mask(&[2, 32, 65]), "00000002,00000001,00000004");
    }

    #[test]
    fn data_thread_keeps_one_processor() {
        let Some(steering) = PacketSteering::choose() else { return println!("skipped: one processor") };
        let staying = std::thread::spawn(move || {
            steering.pin_thread().unwrap();
            sched_getaffinity(None).unwrap().count()
        });
        assert_eq!(staying.join().unwrap(), 1);
    }
}
