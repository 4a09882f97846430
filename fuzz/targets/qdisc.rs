//! Any discipline, as its first line describes it, under any operations of a host: no packet ends twice or is lost, and the
//! backlog is what is inside. Operations are bytes: what to do, and what with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Context, DropReason, Ecn, MarkReason, Packet, Random, Sink, Span, Time};
use qdelay_fuzz::{Books, Input};

#[derive(Default)]
struct Host {
    books: Books,
    bytes: u64,
}

impl Host {
    fn end(&mut self, packet: &Packet) {
        self.books.end(packet.handle);
        self.bytes -= u64::from(packet.bytes);
    }
}

impl Sink for Host {
    fn dropped(&mut self, packet: &Packet, _: DropReason) {
        self.end(packet);
    }
    fn marked(&mut self, packet: &Packet, _: MarkReason) {
        assert!(packet.ecn == Ecn::Ce, "a mark that is not there");
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let Some(mut qdisc) = input.line().and_then(|text| AnyQdisc::parse(text).ok()) else { return };
    let mut random = Random::derive(1, "queue", "fuzz");
    let (mut host, mut now) = (Host::default(), Time::ZERO);
    while !input.is_empty() {
        let operation = input.byte();
        match operation % 8 {
            0..3 => {
                let bytes = u32::from(input.word()) + 1;
                let flags = input.byte();
                let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(flags % 4)];
                let dscp = [0, 8, 44, 46][usize::from(flags / 4 % 4)];
                let (flow, class) = (u32::from(flags / 16 % 8), u16::from(flags / 128));
                let handle = host.books.open();
                host.bytes += u64::from(bytes);
                let packet = Packet { handle, arrival: now, bytes, flow, class, dscp, ecn, count: 0 };
                qdisc.enqueue(&mut Context { now, random: &mut random, sink: &mut host }, packet);
            }
            3..5 => {
                let was_empty = qdisc.backlog().packets == 0;
                let head = qdisc.head().is_some();
                assert_eq!(head, !was_empty, "a head where nothing waits, or none where something does");
                let packet = qdisc.dequeue(&mut Context { now, random: &mut random, sink: &mut host });
                if let Some(packet) = packet {
                    host.end(&packet);
                }
            }
            5 => {
                let mut sizes = [0; 4];
                let from = usize::from(operation / 8);
                let known = qdisc.sizes(from, &mut sizes);
                assert!(known <= 4 && (known == 0 || known as u64 + from as u64 <= qdisc.backlog().packets));
            }
            6 => {
                let end = now + Span::from_nanos(input.spread(40));
                // A timer is asked for at most so often, lest a short one over a long wait is all that is tried.
                for _ in 0..20 {
                    let due = qdisc.next_deadline();
                    if due > end {
                        break;
                    }
                    now = due.max(now);
                    qdisc.poll(&mut Context { now, random: &mut random, sink: &mut host });
                    assert!(qdisc.next_deadline() > now, "a deadline that is not met");
                }
                now = end;
            }
            _ if operation >= 128 => {
                let packet = qdisc.expel(&mut Context { now, random: &mut random, sink: &mut host });
                if let Some(packet) = packet {
                    host.end(&packet);
                }
            }
            _ => qdisc.poll(&mut Context { now, random: &mut random, sink: &mut host }),
        }
        let backlog = qdisc.backlog();
        assert_eq!((backlog.packets, backlog.bytes), (host.books.inside(), host.bytes));
    }
    while let Some(packet) =
        qdisc.dequeue_if_queued(&mut Context { now, random: &mut random, sink: &mut host })
    {
        host.end(&packet);
    }
    assert_eq!(host.books.inside(), 0);
});
