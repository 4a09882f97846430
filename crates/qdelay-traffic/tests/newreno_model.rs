//! A slow model of TCP without SACK over links with a delay only: segments are numbered, a timeout moves the next number back, and the window is
//! kept in bytes. It shares no code with the sender.

use std::collections::BTreeSet;

/// Bytes of a segment.
const SIZE: u64 = 1448;
/// One-way delay and retransmission timeout, ms.
const DELAY: u64 = 20;
const TIMEOUT: u64 = 1000;

/// Losses: segments by number and transmission, acknowledgements by their order.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    pub segments: BTreeSet<(u64, u32)>,
    pub acks: BTreeSet<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Normal,
    Recovery,
    Timeout,
}

enum Packet {
    Data(u64),
    Ack(u64),
}

/// A sender, its receiver and the packets between them.
pub struct Model {
    losses: Losses,
    partial_acks: bool,
    total: u64,
    /// Time, order and packet.
    flying: Vec<(u64, u64, Packet)>,
    order: u64,
    now: u64,
    received: BTreeSet<u64>,
    acks_sent: u64,
    attempts: Vec<u32>,
    acked: u64,
    next: u64,
    highest: u64,
    window: u64,
    threshold: u64,
    extra: u64,
    duplicates: u64,
    limited: u64,
    recover: Option<u64>,
    phase: Phase,
    first_partial: bool,
    timer: Option<u64>,
    timeout: u64,
    backed_off: bool,
    /// Time in ms and number of each transmission.
    pub log: Vec<(u64, u64)>,
}

impl Model {
    pub fn new(losses: Losses, partial_acks: bool, total: u64, initial: u64) -> Model {
        Model {
            losses,
            partial_acks,
            total,
            flying: Vec::new(),
            order: 0,
            now: 2 * DELAY,
            received: BTreeSet::new(),
            acks_sent: 0,
            attempts: vec![0; total as usize],
            acked: 0,
            next: 0,
            highest: 0,
            window: initial * SIZE,
            threshold: u64::MAX,
            extra: 0,
            duplicates: 0,
            limited: 0,
            recover: None,
            phase: Phase::Normal,
            first_partial: true,
            timer: None,
            timeout: TIMEOUT,
            backed_off: false,
            log: Vec::new(),
        }
    }

    /// Sends everything, and returns when the last acknowledgement has arrived.
    pub fn run(&mut self) {
        self.fill_window();
        while self.acked < self.total {
            let first = self.flying.iter().enumerate().min_by_key(|(_, packet)| (packet.0, packet.1));
            let arrival = first.map(|(index, packet)| (packet.0, index));
            match (arrival, self.timer) {
                (Some((at, index)), timer) if timer.is_none_or(|due| at <= due) => {
                    self.now = at;
                    let (_, _, packet) = self.flying.remove(index);
                    match packet {
                        Packet::Data(number) => self.receive(number),
                        Packet::Ack(number) => self.acknowledge(number),
                    }
                }
                (_, Some(due)) => {
                    self.now = due;
                    self.time_out();
                }
                _ => panic!("nothing flies and no timer runs: {} of {}", self.acked, self.total),
            }
        }
    }

    fn launch(&mut self, packet: Packet) {
        self.order += 1;
        self.flying.push((self.now + DELAY, self.order, packet));
    }

    fn send(&mut self, number: u64) {
        let attempt = self.attempts[number as usize];
        self.attempts[number as usize] += 1;
        self.log.push((self.now, number));
        self.timer.get_or_insert(self.now + self.timeout);
        if !self.losses.segments.contains(&(number, attempt)) {
            self.launch(Packet::Data(number));
        }
    }

    fn send_next(&mut self) {
        self.send(self.next);
        self.next += 1;
        self.highest = self.highest.max(self.next);
    }

    fn fill_window(&mut self) {
        while self.next < self.total && self.next - self.acked < self.window / SIZE + self.extra {
            self.send_next();
        }
    }

    fn receive(&mut self, number: u64) {
        self.received.insert(number);
        let missing = (0..).find(|n| !self.received.contains(n)).unwrap();
        if !self.losses.acks.contains(&self.acks_sent) {
            self.launch(Packet::Ack(missing));
        }
        self.acks_sent += 1;
    }

    fn acknowledge(&mut self, number: u64) {
        if number > self.acked {
            self.advance(number);
        } else if number == self.acked && self.highest > self.acked {
            self.repeat();
        }
        self.fill_window();
    }

    fn advance(&mut self, number: u64) {
        let amount = number - self.acked;
        self.acked = number;
        self.next = self.next.max(number);
        self.duplicates = 0;
        self.limited = 0;
        self.timeout = TIMEOUT;
        self.backed_off = false;
        let mut restart = true;
        let below = self.recover.is_some_and(|recover| number < recover);
        if self.phase == Phase::Recovery {
            if below && self.partial_acks {
                restart = self.first_partial;
                self.first_partial = false;
                let inflated = self.window / SIZE + self.extra;
                let deflated = (inflated.saturating_sub(amount) + 1).max(1);
                // The window in recovery is whole segments over the threshold, or fewer.
                self.window = 0;
                self.extra = deflated;
                self.send(number);
            } else {
                let whole = self.threshold / SIZE;
                let flight = (self.next - self.acked).max(1) + 1;
                let segments = if self.partial_acks { whole.min(flight) } else { whole };
                self.window = segments * SIZE + self.threshold % SIZE;
                self.extra = 0;
                self.phase = Phase::Normal;
            }
        } else {
            // After a timeout one segment an acknowledgement, however many it passes (RFC 5681 section 3.1).
            self.grow(if self.phase == Phase::Timeout { 1 } else { amount });
            if self.phase == Phase::Timeout && !below {
                self.phase = Phase::Normal;
            }
        }
        if self.recover.is_some_and(|recover| number > recover) {
            self.recover = None;
        }
        if self.acked == self.highest {
            self.timer = None;
        } else if restart {
            self.timer = Some(self.now + self.timeout);
        }
    }

    /// ns-3's Reno at an acknowledgement of `amount` segments: one more segment in slow start; what is left of the amount grows the window
    /// once by its avoidance, if the threshold is reached.
    fn grow(&mut self, mut amount: u64) {
        if self.window / SIZE < self.threshold / SIZE {
            self.window += SIZE;
            amount -= 1;
        }
        if amount > 0 && self.window / SIZE >= self.threshold / SIZE {
            self.window += SIZE * SIZE / self.window;
        }
    }

    fn repeat(&mut self) {
        match self.phase {
            Phase::Timeout => return,
            Phase::Recovery => {
                self.extra += 1;
                return;
            }
            Phase::Normal => {}
        }
        self.duplicates += 1;
        let flight = self.next - self.acked;
        if self.duplicates == 3 && self.recover.is_none() {
            self.threshold = ((flight - self.limited) * SIZE / 2).max(2 * SIZE);
            self.window = self.threshold / SIZE * SIZE;
            self.extra = 3;
            self.recover = Some(self.highest);
            self.phase = Phase::Recovery;
            self.first_partial = true;
            self.send(self.acked);
        } else if self.duplicates < 3
            && flight < self.window / SIZE + self.duplicates
            && self.next < self.total
        {
            self.limited += 1;
            self.send_next();
        }
    }

    fn time_out(&mut self) {
        if !self.backed_off {
            self.threshold = ((self.next - self.acked) * SIZE / 2).max(2 * SIZE);
        }
        self.backed_off = true;
        self.window = SIZE;
        self.extra = 0;
        (self.duplicates, self.limited) = (0, 0);
        self.recover = Some(self.highest);
        self.phase = Phase::Timeout;
        self.next = self.acked;
        self.timer = None;
        self.timeout = (2 * self.timeout).min(120_000);
        self.timer = Some(self.now + self.timeout);
        self.fill_window();
    }
}
