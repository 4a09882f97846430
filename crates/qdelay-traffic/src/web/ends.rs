//! Both ends of web traffic: a server at the near end, a browser at the far end of one or several connections.

use super::{Browser, WebConfig};
use crate::connection::Connection;
use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host};
use crate::experience::Experience;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::{Packet, Span, Time};

/// The ends of a browser's connections.
pub struct WebEnds {
    connections: Vec<Connection>,
    /// Number of connections opened so far; they are opened in order.
    open: usize,
    /// Bytes to request on each connection as soon as the connection is open.
    waiting: Vec<u64>,
    browser: Browser,
    /// Processing time of the server per answer.
    think: Span,
    /// Answers in processing: time at which each is ready, its connection, and the byte of the stream at which it ends.
    thoughts: VecDeque<(Time, usize, u64)>,
}

impl WebEnds {
    /// Runs the browser: begins a load if due, opens connections, and sends requests.
    fn browse<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        self.browser.begin(now);
        let mut due = Time::NEVER;
        while let Some((lane, bytes)) = self.browser.request() {
            self.waiting[lane] += bytes;
            // The browser takes the first free connection, so connections are opened in order.
            while self.open <= lane {
                due = due.min(self.connections[self.open].wake(now, is_stopped, host)?);
                self.open += 1;
            }
        }
        for (connection, bytes) in self.connections.iter_mut().zip(&mut self.waiting) {
            if *bytes > 0 && connection.is_heard() {
                connection.request(now, core::mem::take(bytes), host)?;
            }
            connection.repeat(now, host)?;
            due = due.min(connection.repeats());
        }
        Ok(due.min(self.browser.next_deadline()))
    }

    /// Offers the answers whose processing is complete to their connections.
    fn answer<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        let mut due = Time::NEVER;
        while let Some((_, lane, total)) = self.thoughts.pop_front_if(|(ready, ..)| *ready <= now) {
            if !is_stopped {
                due = due.min(self.connections[lane].offer(now, total, host)?);
            }
        }
        Ok(due.min(self.thoughts.front().map_or(Time::NEVER, |(ready, ..)| *ready)))
    }

    fn sum(&self, figure: fn(&EndFigures) -> u64, end: Time) -> u64 {
        self.connections[..self.open].iter().map(|connection| figure(&connection.figures(end))).sum()
    }
}

impl Ends for WebEnds {
    type Config = WebConfig;

    fn new(config: &WebConfig, flow: &FlowStart<'_>) -> WebEnds {
        let count = config.connections;
        let connection = |number| Connection::new(&config.connection, flow, number, count);
        WebEnds {
            connections: (0..count).map(connection).collect(),
            open: 0,
            waiting: alloc::vec![0; count],
            browser: Browser::new(
                config.page.clone(),
                count,
                config.multiplexes,
                config.pause,
                flow.start,
                flow.random("browser"),
            ),
            think: config.think,
            thoughts: VecDeque::new(),
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        let mut due = self.answer(now, is_stopped, host)?;
        for connection in &mut self.connections[..self.open] {
            due = due.min(connection.wake(now, is_stopped, host)?);
        }
        Ok(due.min(self.browse(now, is_stopped, host)?))
    }

    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        let lane = Connection::number_of(contents);
        if let Some(total) = Connection::request_of(contents) {
            let ready = now + self.think;
            self.thoughts.push_back((ready, lane, total));
            return self.answer(now, is_stopped, host);
        }
        let connection = &mut self.connections[lane];
        let due = connection.arrive(now, at, packet, contents, is_stopped, host)?;
        if at == End::Near {
            return Ok(due);
        }
        let delivered = connection.delivered_bytes();
        self.browser.arrived(now, lane, delivered);
        Ok(due.min(self.browse(now, is_stopped, host)?))
    }

    fn keeps_packets(&self) -> bool {
        self.connections[0].keeps_packets()
    }
    fn lost(&mut self, contents: &Contents) {
        self.connections[Connection::number_of(contents)].lost(contents);
    }
    fn doubled(&mut self, contents: &Contents) {
        self.connections[Connection::number_of(contents)].doubled(contents);
    }
    fn delivered_bytes(&self) -> u64 {
        self.connections.iter().map(Connection::delivered_bytes).sum()
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        self.connections[0].smoothed_rtt()
    }
    /// State of the connection; `None` for several, which have no common window.
    fn connection(&self) -> Option<ConnectionState> {
        let [only] = self.connections.as_slice() else { return None };
        only.state()
    }
    fn has_round_trips(&self) -> bool {
        self.connections[0].has_round_trips()
    }
    fn end_warmup(&mut self, now: Time) {
        for connection in &mut self.connections {
            connection.end_warmup(now);
        }
    }
    fn figures(&self, end: Time) -> EndFigures {
        EndFigures {
            packets_sent: self.sum(|figures| figures.packets_sent, end),
            retransmits: self.sum(|figures| figures.retransmits, end),
            timeouts: self.sum(|figures| figures.timeouts, end),
            undone: self.sum(|figures| figures.undone, end),
            window: self.sum(|figures| figures.window.into(), end) as u32,
            web: Some(self.browser.outcome()),
            ..EndFigures::default()
        }
    }
    fn experience(&self, _: Time) -> Option<Experience<'_>> {
        Some(Experience::Web(self.browser.loads()))
    }
}
