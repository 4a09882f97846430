//! Both ends of a video stream: a server at the near end, a player at the far end of a connection.

use super::{Player, StreamConfig};
use crate::connection::Connection;
use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host};
use crate::experience::Experience;
use qdelay_core::{Packet, Span, Time};

/// Both ends of a video stream.
pub struct StreamEnds {
    connection: Connection,
    player: Player,
}

impl StreamEnds {
    /// Requests the chunk that is due; returns the time of the next request or repetition.
    fn request<H: Host>(&mut self, now: Time, host: &mut H) -> Result<Time, H::Error> {
        if self.player.next_deadline() <= now
            && let Some(bytes) = self.player.request(now)
        {
            self.connection.request(now, bytes, host)?;
        }
        self.connection.repeat(now, host)?;
        Ok(self.player.next_deadline().min(self.connection.repeats()))
    }
}

impl Ends for StreamEnds {
    type Config = StreamConfig;

    fn new(config: &StreamConfig, flow: &FlowStart<'_>) -> StreamEnds {
        StreamEnds {
            connection: Connection::new(&config.connection, flow, 0, 1),
            player: Player::new(&config.player, flow.start, flow.random("player")),
        }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        let due = self.connection.wake(now, is_stopped, host)?;
        Ok(due.min(self.request(now, host)?))
    }

    #[inline]
    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        let due = self.connection.arrive(now, at, packet, contents, is_stopped, host)?;
        if at == End::Near {
            return Ok(due);
        }
        self.player.open(now);
        self.player.arrived(now, self.connection.delivered_bytes());
        Ok(due.min(self.request(now, host)?))
    }

    fn keeps_packets(&self) -> bool {
        self.connection.keeps_packets()
    }
    fn lost(&mut self, contents: &Contents) {
        self.connection.lost(contents);
    }
    fn doubled(&mut self, contents: &Contents) {
        self.connection.doubled(contents);
    }
    fn delivered_bytes(&self) -> u64 {
        self.connection.delivered_bytes()
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        self.connection.smoothed_rtt()
    }
    fn connection(&self) -> Option<ConnectionState> {
        self.connection.state()
    }
    fn has_round_trips(&self) -> bool {
        self.connection.has_round_trips()
    }
    fn end_warmup(&mut self, now: Time) {
        self.connection.end_warmup(now);
    }
    fn figures(&self, end: Time) -> EndFigures {
        EndFigures { stream: Some(self.player.outcome(end)), ..self.connection.figures(end) }
    }
    fn experience(&self, end: Time) -> Option<Experience<'_>> {
        Some(Experience::Stream(self.player.session(end)))
    }
}
