//! Queue discipline of docs/library.md, copied from the page.

include!("guide/bounded.inc");

use qdelay::core::packet::Ecn;
use qdelay::core::qdisc::{Fifo, Limit, Qdisc};
use qdelay::core::{Random, Time};

#[test]
fn the_law_of_the_guide_bounds_the_wait() {
    let guide = std::fs::read_to_string("../../docs/library.md").unwrap();
    assert!(guide.contains(include_str!("guide/bounded.inc").trim_end()), "docs/library.md has another law");

    let mut queue = Fifo::new(Limit::packets(100), Bounded { target: Span::from_millis(20) });
    let mut random = Random::derive(1, "queue", "qdisc");
    for (handle, ecn, at_ms) in [(1, Ecn::NotEct, 0), (2, Ecn::Ect0, 0), (3, Ecn::NotEct, 10)] {
        let now = Time::ZERO + Span::from_millis(at_ms);
        let packet = Packet { handle, ecn, bytes: 1500, arrival: now, ..Packet::default() };
        queue.enqueue(&mut Context { now, random: &mut random, sink: &mut () }, packet);
    }
    let now = Time::ZERO + Span::from_millis(21);
    let mut next = || queue.dequeue(&mut Context { now, random: &mut random, sink: &mut () });
    // The first packet waited too long and is dropped; the second is marked in its place.
    let second = next().unwrap();
    assert_eq!((second.handle, second.ecn), (2, Ecn::Ce));
    assert_eq!(next().map(|packet| packet.handle), Some(3));
    assert_eq!(next(), None);
}
