//! A connection through the path: a TCP endpoint at each of its sides, and the bytes of both directions.
//!
//! The endpoints are those of the simulator ([`Endpoint`]): handshake, acknowledgements, congestion control and the recovery of losses are
//! theirs. A segment on the path has no bytes: these are in the buffer of their stream, from the time at which they are read from one socket
//! until they are written to the other.

use super::ring::Ring;
use super::{Key, Settings};
use qdelay_core::{Random, Time};
use qdelay_emu::device::Port;
use qdelay_traffic::segment::Segment;
use qdelay_traffic::tcp::{Endpoint, Profile};

/// State of the far side of a connection that the client has opened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opening {
    /// The SYN has not crossed the path yet.
    Crossing,
    /// The SYN has crossed, and the target is asked; the SYN is answered when the target has accepted.
    Connecting(Segment),
    /// The target has accepted.
    Open,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Stream {
    /// Bytes that were read and not yet written.
    pub ring: Ring,
    /// Bytes written to the socket at the other side.
    pub written: u64,
    /// Bytes that have crossed the path.
    pub crossed: u64,
    /// Whether the source has closed its direction.
    pub is_closed: bool,
    /// Whether the close has crossed the path, behind all bytes.
    pub is_ended: bool,
    /// Whether the host has closed the direction at the other side.
    pub is_finished: bool,
    /// Whether an action for the host is pending.
    pub is_listed: bool,
}

impl Stream {
    fn new(limit: usize) -> Stream {
        Stream {
            ring: Ring::new(limit),
            written: 0,
            crossed: 0,
            is_closed: false,
            is_ended: false,
            is_finished: false,
            is_listed: false,
        }
    }

    /// Bytes that have crossed the path and are to be written.
    pub fn ready(&self) -> usize {
        (self.crossed - self.written) as usize
    }
}

/// The state of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub key: Key,
    /// The endpoints, by [`Port::index`]: the client's inside, the target's outside.
    pub ends: [Endpoint; 2],
    /// The streams, by the port that their bytes come from.
    pub streams: [Stream; 2],
    pub opening: Opening,
    /// Whether the socket of a side is gone without a close, by port.
    pub is_dead: [bool; 2],
    /// Time at which a lost reset is sent again, by the port that it comes from.
    pub reset_due: [Time; 2],
}

impl Connection {
    pub fn new(key: Key, settings: &Settings, seed: u64) -> Connection {
        // Bytes wait in the stream's buffer, whose limit is the window.
        let profile = Profile { send_buffer_max: u64::MAX, ..settings.profile };
        let name = format!("connection-{}", key.number);
        let end = |purpose| {
            let random = Random::derive(seed, &name, purpose);
            let mut end = Endpoint::new(profile, settings.controller.clone(), random);
            // Whether the program has set TCP_NODELAY is unknown; its kernel has decided already which bytes leave together.
            end.set_nodelay();
            end
        };
        let stream = || Stream::new(settings.window);
        Connection {
            key,
            ends: [end("client"), end("target")],
            streams: [stream(), stream()],
            opening: Opening::Crossing,
            is_dead: [false; 2],
            reset_due: [Time::NEVER; 2],
        }
    }

    /// Time at which the connection has to be called.
    pub fn next_deadline(&self) -> Time {
        let end = |port: Port| match self.is_dead[port.index()] {
            true => self.reset_due[port.index()],
            false => self.ends[port.index()].next_deadline(),
        };
        end(Port::Inside).min(end(Port::Outside))
    }

    /// Whether both directions are closed, written and acknowledged.
    pub fn is_complete(&self) -> bool {
        self.streams.iter().all(|stream| stream.is_closed && stream.is_finished)
            && self.ends.iter().all(|end| end.sender().is_done())
    }

    /// Segments that the endpoints have sent again.
    pub fn retransmits(&self) -> [u64; 2] {
        [Port::Inside, Port::Outside].map(|port| self.ends[port.index()].sender().counts().retransmits)
    }
}
