//! Strict priority between classes of codepoints (RFC 2474; BoDe section VII-C), each with its own
//! discipline.

use super::{Fate, Model, Ns, Pkt};

pub struct Class {
    /// Codepoints of the class; empty for the class of the rest.
    pub codepoints: Vec<u8>,
    pub inner: Box<dyn Model>,
}

/// A priority: its classes in the order of service.
pub struct Priority(pub Vec<Class>);

impl Priority {
    fn class_of(&mut self, dscp: u8) -> &mut Class {
        let named = self.0.iter().position(|class| class.codepoints.contains(&dscp));
        let rest = || self.0.iter().position(|class| class.codepoints.is_empty());
        let index = named.or_else(rest).expect("one class is for the rest");
        &mut self.0[index]
    }
}

impl Model for Priority {
    /// Runs the timers of all classes in the order of time, those of one time in the order of the classes.
    fn advance(&mut self, now: Ns, bits: &mut dyn FnMut() -> u64, log: &mut Vec<Fate>) {
        while self.deadline() <= now {
            let at = self.deadline();
            for class in &mut self.0 {
                class.inner.advance(at, bits, log);
            }
        }
        for class in &mut self.0 {
            class.inner.advance(now, bits, log);
        }
    }
    fn deadline(&self) -> Ns {
        self.0.iter().map(|class| class.inner.deadline()).min().unwrap_or(Ns::MAX)
    }
    fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        self.class_of(packet.dscp).inner.enqueue(now, packet, uniform, log);
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        for class in &mut self.0 {
            if class.inner.head().is_none() {
                continue;
            }
            if let Some(packet) = class.inner.dequeue(now, log) {
                return Some(packet);
            }
        }
        None
    }
    fn holds(&self) -> (u64, u64) {
        let (mut packets, mut bytes) = (0, 0);
        for class in &self.0 {
            packets += class.inner.holds().0;
            bytes += class.inner.holds().1;
        }
        (packets, bytes)
    }
    fn head(&self) -> Option<Pkt> {
        self.0.iter().find_map(|class| class.inner.head())
    }
}
