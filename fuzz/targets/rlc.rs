//! Both ends of a bearer in any mode, over blocks that arrive, are lost, come late, twice or in any order: every packet ends
//! once, no grant is exceeded, timers go forward, and once everything has arrived nothing is left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_fuzz::{Books, Input};
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::rlc::*;
use std::collections::VecDeque;

#[derive(Default)]
struct Host {
    books: Books,
    queue: VecDeque<Packet>,
}
impl Supply for Host {
    fn pull(&mut self) -> Option<Packet> {
        self.queue.pop_front()
    }
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    fn departed(&mut self, _: &Packet) {}
}
impl Receiver for Host {
    fn delivered(&mut self, packet: Packet, _: Split) {
        self.books.end(packet.handle);
    }
    fn dropped(&mut self, packet: &Packet, _: DropReason) {
        self.books.end(packet.handle);
    }
}
impl Host {
    fn backlog(&self) -> Backlog {
        let bytes = self.queue.iter().map(|packet| u64::from(packet.bytes)).sum();
        Backlog { packets: self.queue.len() as u64, bytes }
    }
}

fn am(am: &mut Am, input: &mut Input<'_>) {
    am.t_reassembly = millis(input);
    am.t_status_prohibit = millis(input);
    am.t_poll_retransmit = millis(input);
    let polls = input.byte();
    am.poll_pdu = (polls & 1 == 0).then_some(u32::from(polls >> 1) + 1);
    am.poll_bytes = (polls & 2 == 0).then_some(u64::from(polls >> 2) * 100 + 1);
    am.max_retransmissions = u32::from(input.byte() % 8) + 1;
    am.uplink.limit_bytes = 16 + u32::from(input.byte());
}

fn millis(input: &mut Input<'_>) -> Span {
    Span::from_millis(u64::from(input.byte()) + 1)
}

fn setting(input: &mut Input<'_>) -> RlcSetting {
    let mode = input.byte();
    let mut setting = match mode % 6 {
        0 => RlcSetting::whole_packets(),
        1 => RlcSetting::transparent(),
        2 => RlcSetting::lte_um(),
        3 => RlcSetting::nr_um(),
        4 => RlcSetting::lte_am(),
        _ => RlcSetting::nr_am(),
    };
    let is_short = mode & 0x40 != 0;
    let in_order = mode & 0x80 != 0;
    match &mut setting.mode {
        Mode::Transparent { .. } => {}
        Mode::LteUm(um) => {
            um.sn_bits = if is_short { 5 } else { 10 };
            um.t_reordering = millis(input);
        }
        Mode::NrUm(um) => {
            um.sn_bits = if is_short { 6 } else { 12 };
            um.t_reassembly = millis(input);
            um.pdcp = in_order.then(|| PdcpReordering { t_reordering: millis(input) });
        }
        Mode::LteAm(lte) => am(lte, input),
        Mode::NrAm(nr) => {
            am(&mut nr.am, input);
            nr.am.sn_bits = if is_short { 12 } else { 18 };
            nr.pdcp = in_order.then(|| PdcpReordering { t_reordering: millis(input) });
        }
    }
    // PDCP of the standard, whose numbers come with the packets.
    if mode & 0x20 != 0 && !matches!(setting.mode, Mode::Transparent { .. }) {
        let flags = input.byte();
        setting.pdcp = Some(PdcpSetting {
            sn_bits: if flags & 1 == 0 { 12 } else { 18 },
            t_reordering: Span::from_millis(u64::from(flags >> 3)),
            out_of_order_delivery: flags & 2 != 0,
            discard_timer: Span::MAX,
            set_discard: false,
            ciphered: true,
            drops_before: false,
        });
    }
    setting
}

/// One bearer, what it has on the air, and the time.
struct Run {
    bearer: Bearer,
    host: Host,
    flying: Vec<BlockId>,
    now: Time,
}

impl Run {
    fn transmit(&mut self, grant: u64) {
        let wanted = self.bearer.wanted_bytes(self.host.backlog());
        let mut waiting = self.host.queue.iter().map(|packet| packet.bytes);
        let mut ends = Vec::new();
        self.bearer.prefixes(grant, || waiting.next(), &mut ends);
        assert!(ends.is_sorted(), "{ends:?}");
        let done = self.bearer.transmit(self.now, grant, &mut self.host);
        assert!(done.used_bytes <= grant, "{done:?} of a grant of {grant}");
        assert!(wanted > 0 || done.block.is_none(), "nothing wanted, but sent");
        self.flying.extend(done.block);
    }
    /// Runs timers up to `end`.
    fn wait(&mut self, end: Time) {
        while self.bearer.next_deadline() <= end {
            self.now = self.bearer.next_deadline().max(self.now);
            self.bearer.poll(self.now, &mut self.host);
            assert!(self.bearer.next_deadline() > self.now, "a deadline that is not met");
        }
        self.now = end;
    }
    fn check(&self) {
        let inside = self.bearer.inside().packets + self.host.queue.len() as u64;
        assert_eq!(inside, self.host.books.inside());
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let setting = setting(&mut input);
    let Ok(bearer) = Bearer::new(setting) else { return };
    let mut run = Run { bearer, host: Host::default(), flying: Vec::new(), now: Time::ZERO };
    // As PDCP numbers packets, some of which the queue drops.
    let mut count = 0u32;
    while !input.is_empty() {
        match input.byte() % 8 {
            operation @ 0..2 => {
                let bytes =
                    if operation == 0 { u32::from(input.word()) } else { 1400 + u32::from(input.byte()) };
                let handle = run.host.books.open();
                run.host.queue.push_back(Packet { handle, bytes: bytes + 1, count, ..Packet::default() });
                // After an odd size a hole, sometimes one of a round of numbers.
                let hole = if bytes % 64 == 1 { 2500 } else { bytes % 2 };
                count = count.wrapping_add(1 + hole);
            }
            operation @ 2..4 => {
                let wanted = run.bearer.wanted_bytes(run.host.backlog());
                run.transmit(if operation == 2 { u64::from(input.word()) } else { wanted });
            }
            operation @ 4..7 if !run.flying.is_empty() => {
                let block = run.flying.remove(usize::from(input.byte()) % run.flying.len());
                if operation == 4 {
                    run.bearer.lost(run.now, block, &mut run.host);
                } else {
                    run.bearer.received(run.now, block, &mut run.host);
                    // Once it has ended it is nothing.
                    run.bearer.lost(run.now, block, &mut run.host);
                }
            }
            _ => {
                let end = run.now + Span::from_micros(u64::from(input.byte()) * 250);
                run.wait(end);
            }
        }
        run.check();
    }
    // From here on everything arrives.
    for _ in 0..2000 {
        for block in std::mem::take(&mut run.flying) {
            run.bearer.received(run.now, block, &mut run.host);
        }
        run.wait(run.now + Span::from_millis(4));
        run.transmit(20_000 + run.bearer.wanted_bytes(run.host.backlog()));
        if run.host.books.inside() == 0 && run.bearer.next_deadline() == Time::NEVER {
            break;
        }
    }
    run.check();
    assert_eq!(run.host.books.inside(), 0, "a packet that neither arrives nor is given up");
});
