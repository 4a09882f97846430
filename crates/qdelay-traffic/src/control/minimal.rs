//! A minimal connection over a minimal link, for tests of controllers: every segment is new data, each segment is acknowledged, a loss is
//! detected when three later segments are acknowledged, and there are no retransmissions.

use super::{AckSample, Connection, Controller, Event, Recovery, Window};
use alloc::collections::VecDeque;
use qdelay_core::{Random, Rate, Span, Time};

/// Application bytes of a segment.
const MSS: u32 = 1448;
const FRAME: u64 = 1500;

/// A window-limited connection at `now` without any sample.
pub(super) fn connection(now: Time) -> Connection {
    Connection {
        now,
        recovery: Recovery::Open,
        srtt: Span::ZERO,
        min_rtt: Span::MAX,
        in_flight: 0,
        delivered: 0,
        delivered_time: now,
        lost: 0,
        una: 0,
        nxt: 0,
        mss: MSS,
        app_limited: false,
        window_limited: true,
        last_sent: now,
        next_departure: now,
    }
}

/// An acknowledgement of `acked` segments without measurements.
pub(super) fn sample(acked: u32) -> AckSample {
    AckSample {
        acked_sacked: acked,
        acked,
        losses: 0,
        prior_delivered: 0,
        delivered: acked,
        interval: None,
        prior_in_flight: acked,
        rtt: None,
        is_app_limited: false,
        is_ack_delayed: false,
    }
}

/// A window without upper bound.
pub(super) fn window(cwnd: u32, ssthresh: u32) -> Window {
    Window { cwnd, ssthresh, cwnd_count: 0, clamp: u32::MAX }
}

/// A queue served at a constant rate, and a constant delay.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub rate: Rate,
    pub rtt: Span,
    /// Most segments in the queue, the one in transmission included.
    pub buffer: u64,
    pub free: Time,
}

impl Link {
    pub(super) fn new(rate: Rate, rtt: Span) -> Link {
        Link { rate, rtt, buffer: u64::MAX, free: Time::ZERO }
    }

    /// Arrival time of the acknowledgement of a segment sent at `now`; `None` if the queue is full.
    fn send(&mut self, now: Time) -> Option<Time> {
        let one = self.rate.time_for(FRAME);
        if self.free.since(now) > one * self.buffer {
            return None;
        }
        self.free = self.free.max(now) + one;
        Some(self.free + self.rtt)
    }
}

/// A segment in flight, with the state of the delivery rate estimation at its departure.
struct Segment {
    sequence: u64,
    sent: Time,
    first_sent: Time,
    prior_delivered: u64,
    prior_delivered_time: Time,
    app_limited: bool,
    ack_at: Option<Time>,
}

/// The connection: runs a controller over a link that also loses the segments for which `drop(time, sequence)` is true.
pub(super) struct MinimalTcp<C, D> {
    pub controller: C,
    pub connection: Connection,
    pub window: Window,
    pub link: Link,
    drop: D,
    random: Random,
    under_way: VecDeque<Segment>,
    next: u64,
    first_sent: Time,
    app_limited_until: u64,
    recover: u64,
}

impl<C: Controller, D: FnMut(Time, u64) -> bool> MinimalTcp<C, D> {
    pub(super) fn new(mut controller: C, link: Link, drop: D) -> Self {
        // The name of this stream must stay: steps recorded from Linux for the tests depend on it.
        let mut random = Random::derive(7, "toy", "control");
        let mut connection = connection(Time::ZERO);
        connection.srtt = link.rtt;
        connection.min_rtt = link.rtt;
        let mut window = window(10, u32::MAX);
        controller.init(&connection, &mut window, &mut random);
        let under_way = VecDeque::new();
        let (next, first_sent, app_limited_until, recover) = (0, Time::ZERO, 0, 0);
        MinimalTcp {
            controller,
            connection,
            window,
            link,
            drop,
            random,
            under_way,
            next,
            first_sent,
            app_limited_until,
            recover,
        }
    }

    /// Runs all events up to `end`, inclusive.
    pub(super) fn run_until(&mut self, end: Time) {
        loop {
            self.send();
            let ack = self.under_way.iter().find_map(|s| s.ack_at);
            let open = self.connection.in_flight < self.window.cwnd;
            let departure = if open { self.connection.next_departure } else { Time::NEVER };
            // Without acknowledgements in flight everything was lost: a timeout of 200 ms.
            let is_waiting = !self.under_way.is_empty();
            let timeout = self.connection.last_sent + self.link.rtt + Span::from_millis(200);
            let timeout = if is_waiting { timeout.max(self.connection.now) } else { Time::NEVER };
            let at = ack.unwrap_or(timeout).min(departure);
            if at > end {
                self.connection.now = end;
                return;
            }
            self.connection.now = at;
            if ack == Some(at) {
                self.acknowledge();
            } else if ack.is_none() && at == timeout {
                self.time_out();
            }
        }
    }

    fn send(&mut self) {
        while self.connection.in_flight < self.window.cwnd
            && self.connection.next_departure <= self.connection.now
        {
            let c = &mut self.connection;
            if c.in_flight == 0 {
                self.controller.event(c, &mut self.window, Event::TransmitStart);
                self.first_sent = c.now;
                c.delivered_time = c.now;
            }
            let lost = (self.drop)(c.now, self.next);
            self.under_way.push_back(Segment {
                sequence: self.next,
                sent: c.now,
                first_sent: self.first_sent,
                prior_delivered: c.delivered,
                prior_delivered_time: c.delivered_time,
                app_limited: c.app_limited,
                ack_at: if lost { None } else { self.link.send(c.now) },
            });
            self.next += 1;
            c.in_flight += 1;
            c.last_sent = c.now;
            c.nxt = self.next * u64::from(MSS);
            if let Some(rate) = self.controller.pacing_rate() {
                c.next_departure = c.next_departure.max(c.now) + rate.time_for(FRAME);
            }
        }
    }

    fn acknowledge(&mut self) {
        let prior_in_flight = self.connection.in_flight;
        let mut losses = 0;
        let Some(position) = self.under_way.iter().position(|s| s.ack_at.is_some()) else { return };
        let Some(segment) = self.under_way.remove(position) else { return };
        while self.under_way.front().is_some_and(|s| s.ack_at.is_none() && s.sequence + 3 <= segment.sequence)
        {
            losses += u32::from(self.under_way.pop_front().map(|s| self.controller.lost(s.sent)).is_some());
        }
        let c = &mut self.connection;
        c.in_flight -= 1 + losses;
        c.delivered += 1;
        c.delivered_time = c.now;
        c.lost += u64::from(losses);
        c.una = self.under_way.front().map_or(self.next, |s| s.sequence) * u64::from(MSS);
        c.app_limited &= c.delivered <= self.app_limited_until;
        self.first_sent = segment.sent;
        let rtt = c.now.since(segment.sent);
        c.srtt = Span::from_nanos(c.srtt.as_nanos() - c.srtt.as_nanos() / 8 + rtt.as_nanos() / 8);
        c.min_rtt = c.min_rtt.min(rtt);
        let interval = segment.sent.since(segment.first_sent).max(c.now.since(segment.prior_delivered_time));
        let sample = AckSample {
            losses,
            prior_delivered: segment.prior_delivered,
            delivered: (c.delivered - segment.prior_delivered) as u32,
            interval: (interval >= c.min_rtt).then_some(interval),
            prior_in_flight,
            rtt: Some(rtt),
            is_app_limited: segment.app_limited,
            ..sample(1)
        };
        self.controller.delivered(c, &mut self.window, &sample);
        self.recover(segment.sequence, losses);
        self.apply(&sample);
    }

    /// Enters recovery on a loss, and leaves it when the newest segment at that time is acknowledged.
    fn recover(&mut self, acked: u64, losses: u32) {
        let c = &mut self.connection;
        if c.recovery == Recovery::Open && losses > 0 {
            self.controller.set_recovery(c, &mut self.window, Recovery::Fast);
            self.window.ssthresh = self.controller.ssthresh(c, &self.window);
            if !self.controller.owns_window() {
                self.window.cwnd = self.window.ssthresh;
            }
            c.recovery = Recovery::Fast;
            self.recover = self.next;
        } else if c.recovery != Recovery::Open && acked + 1 >= self.recover {
            self.controller.set_recovery(c, &mut self.window, Recovery::Open);
            c.recovery = Recovery::Open;
        }
    }

    fn apply(&mut self, sample: &AckSample) {
        let c = &mut self.connection;
        if self.controller.owns_window() {
            self.controller.control(c, &mut self.window, sample, &mut self.random);
            if self.controller.marks_app_limited() {
                self.app_limited_until = c.delivered + u64::from(c.in_flight);
                c.app_limited = true;
            }
        } else if c.recovery != Recovery::Fast {
            self.controller.grow(c, &mut self.window, sample);
        }
    }

    fn time_out(&mut self) {
        let c = &mut self.connection;
        c.lost += self.under_way.len() as u64;
        c.in_flight = 0;
        self.under_way.drain(..).for_each(|s| self.controller.lost(s.sent));
        self.recover = self.next;
        self.window.ssthresh = self.controller.ssthresh(c, &self.window);
        self.controller.event(c, &mut self.window, Event::Timeout);
        self.controller.set_recovery(c, &mut self.window, Recovery::Loss);
        c.recovery = Recovery::Loss;
        self.window.cwnd = 1;
    }
}
