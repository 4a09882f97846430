//! Both ends of a TCP connection, of the transport that the first line describes, over a network that loses, repeats, reorders
//! and marks any segment: nothing is received that was not sent, and once the network is whole all of it arrives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::component::Arguments;
use qdelay_core::{Ecn, Random, Span, Time};
use qdelay_fuzz::Input;
use qdelay_traffic::control::{AnyController, Reno};
use qdelay_traffic::segment::Segment;
use qdelay_traffic::tcp::{Endpoint, Phase, TcpConfig};
use qdelay_traffic::transport::{COMPONENTS, TransportConfig};
use std::collections::VecDeque;

struct Net {
    ends: [Endpoint; 2],
    /// What is on its way to each end.
    flying: [VecDeque<Segment>; 2],
    now: Time,
    out: Vec<Segment>,
    written: u64,
}

impl Net {
    /// What `from` has said leaves.
    fn send(&mut self, from: usize) {
        self.flying[1 - from].extend(self.out.drain(..));
    }
    fn deliver(&mut self, to: usize, segment: Segment, ecn: Ecn) {
        self.ends[to].on_segment(self.now, &segment, ecn, &mut self.out);
        self.send(to);
        assert!(self.ends[1].bytes_received() <= self.written, "more than was sent");
    }
    fn poll(&mut self) {
        for end in 0..2 {
            self.ends[end].on_deadline(self.now, &mut self.out);
            self.send(end);
        }
    }
    fn deadline(&self) -> Time {
        self.ends[0].next_deadline().min(self.ends[1].next_deadline())
    }
    /// Runs timers up to `end`, but at most so many of them.
    fn wait(&mut self, end: Time, timers: u32) {
        for _ in 0..timers {
            if self.deadline() > end {
                break;
            }
            self.now = self.deadline().max(self.now);
            self.poll();
        }
        self.now = self.now.max(end);
        self.poll();
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let Some(arguments) = input.line().and_then(|text| Arguments::parse(COMPONENTS, text).ok()) else {
        return;
    };
    let Ok(TransportConfig::Tcp(TcpConfig { profile, controller, .. })) = TransportConfig::build(&arguments)
    else {
        return;
    };
    let end = |controller: AnyController, name| {
        Endpoint::new(profile, controller, Random::derive(1, name, "controller"))
    };
    let ends = [end(controller, "a"), end(Reno.into(), "b")];
    let mut net = Net { ends, flying: Default::default(), now: Time::ZERO, out: Vec::new(), written: 0 };
    net.ends[0].connect(net.now, &mut net.out);
    net.send(0);
    let mut is_closed = false;
    while !input.is_empty() {
        let operation = input.byte();
        let to = usize::from(operation >> 7);
        let at = |input: &mut Input<'_>, count: usize| usize::from(input.byte()) % count;
        let count = net.flying[to].len();
        match operation % 8 {
            0..3 if count > 0 => {
                let segment = net.flying[to].pop_front().expect("one is there");
                let ecn = net.ends[1 - to].ecn(&segment);
                let is_marked = operation & 0x40 != 0 && ecn.is_capable();
                net.deliver(to, segment, if is_marked { Ecn::Ce } else { ecn });
            }
            3 if count > 0 => {
                let place = at(&mut input, count);
                net.flying[to].remove(place);
            }
            4 if count > 0 => {
                let place = at(&mut input, count);
                let segment = net.flying[to][place];
                let ecn = net.ends[1 - to].ecn(&segment);
                if operation & 0x40 != 0 {
                    net.flying[to].remove(place);
                }
                net.deliver(to, segment, ecn);
            }
            5 if !is_closed && net.written < 1 << 24 => {
                let bytes = u64::from(input.word()) + 1;
                net.written += bytes;
                net.ends[0].write(net.now, bytes, &mut net.out);
                net.send(0);
            }
            6 if operation & 0x40 != 0 => {
                is_closed = true;
                net.ends[0].close(net.now, &mut net.out);
                net.send(0);
            }
            _ => {
                let end = net.now + Span::from_nanos(input.spread(33));
                net.wait(end, 100);
            }
        }
    }
    // A network that loses nothing any more: 20 ms each way.
    for _ in 0..20_000 {
        if net.ends[0].phase() == Phase::Established
            && net.ends[1].bytes_received() == net.written
            && net.flying.iter().all(VecDeque::is_empty)
        {
            return;
        }
        let end = net.now + Span::from_millis(20);
        net.wait(end, 1000);
        for to in 0..2 {
            for segment in std::mem::take(&mut net.flying[to]) {
                let ecn = net.ends[1 - to].ecn(&segment);
                net.deliver(to, segment, ecn);
            }
        }
        if net.flying.iter().all(VecDeque::is_empty) && net.deadline() < Time::NEVER {
            let due = net.deadline();
            net.wait(due, 1);
        }
    }
    panic!("{} of {} bytes arrive", net.ends[1].bytes_received(), net.written);
});
