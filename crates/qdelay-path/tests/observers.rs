//! Observers that pass on what they hear.

use crate::common::{ms, packet};
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_path::*;

/// Every event as text.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    fn add(&mut self, what: &str, now: Time, node: NodeId, packet: &Packet, more: impl std::fmt::Debug) {
        self.0.push(format!("{what} {now} {node:?} {} {more:?}", packet.handle));
    }
}

impl Observer for Heard {
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.add("enqueued", now, node, packet, ());
    }
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.add("dequeued", now, node, packet, ());
    }
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {
        self.add("departed", now, node, packet, queue);
    }
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.add("split", now, node, packet, split);
    }
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.add("dropped", now, node, packet, reason);
    }
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        self.add("marked", now, node, packet, reason);
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.add("delivered", now, node, packet, ());
    }
}

/// One event of each kind.
fn tell(mut observer: impl Observer) {
    let path = PathBuilder::new()
        .node("queue", crate::common::queue("taildrop"))
        .node("link", NodeSpec::Link(AnyLink::build(&parse_link("1mbit").unwrap()).unwrap()))
        .node("exit", NodeSpec::Exit)
        .chain(&["queue", "link", "exit"])
        .build(1)
        .unwrap();
    let [queue, link, exit] = ["queue", "link", "exit"].map(|name| path.node(name).unwrap());
    observer.enqueued(ms(1), queue, &packet(1, 100));
    observer.dequeued(ms(2), queue, &packet(2, 100));
    observer.departed(ms(3), link, queue, &packet(3, 100));
    observer.split(ms(4), link, &packet(4, 100), Split::default());
    observer.dropped(ms(5), queue, &packet(5, 100), DropReason::LOSS);
    observer.marked(ms(6), queue, &packet(6, 100), MarkReason::new("codel"));
    observer.delivered(ms(7), exit, &packet(7, 100));
}

#[test]
fn two_observers_and_a_borrowed_one_hear_everything() {
    let (mut one, mut first, mut second) = (Heard::default(), Heard::default(), Heard::default());
    tell(&mut one);
    tell((&mut first, &mut second));
    assert_eq!(one.0.len(), 7);
    assert_eq!((&first.0, &second.0), (&one.0, &one.0));
}
