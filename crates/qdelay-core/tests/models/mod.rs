//! Slow, literal models of the queue disciplines: the independent judges of the implementations.
//!
//! They share no code with the crate (own packet, own arithmetic, `VecDeque` and `f64` throughout) and follow
//! the source they are named after step by step, so that a reader can compare them with the source.

pub mod bode;
pub mod codel;
pub mod drr;
pub mod dsd;
pub mod fifo;
pub mod fq_codel;
pub mod linux;
pub mod pacers;
pub mod pie;
pub mod priority;
pub mod red;
pub mod sfq;

use qdelay_core::component::Component;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Fails where a component of `registry` is not among those `judged` by a model, unless its file in `folder` has a line
/// `//! No model: ` with the reason.
pub fn assert_all_have_models(registry: &[&Component], judged: &[&str], folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut files = Vec::new();
    let files_of = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    for path in files_of(&folder) {
        let parts = if path.is_dir() { files_of(&path) } else { vec![path] };
        files.push(parts.iter().map(|part| std::fs::read_to_string(part).unwrap()).collect::<String>());
    }
    for name in registry.iter().map(|component| component.name) {
        // A component is declared by its fields or by `Component::new`.
        let names = [format!("name: \"{name}\""), format!("\"{name}\",")];
        let is_its_own = |text: &&String| names.iter().any(|declared| text.contains(declared));
        let is_excused = files.iter().filter(is_its_own).any(|text| text.contains("\n//! No model: "));
        assert!(
            judged.contains(&name) || is_excused,
            "{name} has neither a model nor a line `No model:` in its file"
        );
    }
    let known = |name: &&str| registry.iter().any(|component| component.name == *name);
    assert!(judged.iter().all(known), "a model of an unknown component: {judged:?}");
}

/// Nanoseconds.
pub type Ns = u64;
pub const MS: Ns = 1_000_000;

/// The fields of a packet that models use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pkt {
    pub id: u64,
    pub arrival: Ns,
    pub bytes: u32,
    pub capable: bool,
    pub flow: u32,
    pub dscp: u8,
    pub class: u16,
}

/// Fate of a packet in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped, with the name of the reason and the packet's handle.
    Drop(&'static str, u64),
    /// Marked, with the name of the reason and the packet's handle.
    Mark(&'static str, u64),
}

impl Fate {
    /// Handle of the packet.
    pub fn id(self) -> u64 {
        let (Fate::Drop(_, id) | Fate::Mark(_, id)) = self;
        id
    }
    pub fn is_mark(self) -> bool {
        matches!(self, Fate::Mark(..))
    }
}

/// A model of a discipline. `uniform` gives draws in [0, 1), `bits` 64 random bits.
pub trait Model {
    /// Runs the timers that are due at or before `now`, each at its own time.
    fn advance(&mut self, _now: Ns, _bits: &mut dyn FnMut() -> u64, _log: &mut Vec<Fate>) {}
    /// Time of the next timer, by which several models order their timers.
    fn deadline(&self) -> Ns {
        Ns::MAX
    }
    /// Returns true if the timers are run only now and then, when they may be long overdue.
    fn is_polled_late(&self) -> bool {
        false
    }
    fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>);
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt>;
    /// The queue of a discipline that has only one.
    fn queue(&self) -> &VecDeque<Pkt> {
        unimplemented!("a model of several queues implements holds and head")
    }
    /// Packets and bytes queued.
    fn holds(&self) -> (u64, u64) {
        (self.queue().len() as u64, total(self.queue()))
    }
    /// The packet that the next dequeue considers first.
    fn head(&self) -> Option<Pkt> {
        self.queue().front().copied()
    }
}

/// Limits in packets, and in bytes where not zero.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub packets: usize,
    pub bytes: u64,
}

impl Room {
    pub fn allows(&self, packets: usize, bytes: u64) -> bool {
        packets <= self.packets && (self.bytes == 0 || bytes <= self.bytes)
    }
    /// The tail drop in front of every discipline but head drop.
    pub fn admits(&self, queue: &VecDeque<Pkt>, packet: &Pkt) -> bool {
        self.allows(queue.len() + 1, total(queue) + u64::from(packet.bytes))
    }
}

/// Bytes queued, counted one by one.
pub fn total(queue: &VecDeque<Pkt>) -> u64 {
    queue.iter().map(|p| u64::from(p.bytes)).sum()
}

/// The bucket of a flow: SplitMix64's finaliser of flow xor perturbation; its upper half, as a fraction of 2^32, times
/// the number of buckets.
pub fn bucket(flow: u32, perturbation: u64, flows: u64) -> u64 {
    const MODULUS: u128 = 1 << 64;
    let shifted = |x: u128, bits: u32| x ^ (x / (1 << bits));
    let x = u128::from(u64::from(flow) ^ perturbation);
    let x = shifted(x, 30) * 0xbf58_476d_1ce4_e5b9 % MODULUS;
    let x = shifted(x, 27) * 0x94d0_49bb_1331_11eb % MODULUS;
    let x = shifted(x, 31);
    let upper = (x / (1 << 32)) as u64;
    (u128::from(upper) * u128::from(flows) / (1 << 32)) as u64
}
