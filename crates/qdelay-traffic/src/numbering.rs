//! Numbers of packets in their transport's counting, for records of packets.

use crate::connection::{Connection, ConnectionConfig};
use crate::contents::Contents;
use crate::transport::TransportConfig;

/// How the packets of a flow are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// TCP: bytes.
    Segments,
    /// Data of TFRC by its header, reports one by one.
    Headers,
    /// Datagrams and reports one by one.
    Packets,
    /// Not known: packets are encrypted.
    Unknown,
}

impl Numbering {
    /// That of a transport.
    pub fn of(config: &TransportConfig) -> Numbering {
        let carried = |connection: &ConnectionConfig| match connection {
            ConnectionConfig::Tcp(_) => Numbering::Segments,
            ConnectionConfig::Own(_) => Numbering::Unknown,
        };
        match config {
            TransportConfig::Tcp(_) => Numbering::Segments,
            TransportConfig::Stream(stream) => carried(&stream.connection),
            TransportConfig::Web(web) => carried(&web.connection),
            TransportConfig::Tfrc(_) | TransportConfig::Audio(_) => Numbering::Headers,
            TransportConfig::Udp(_) | TransportConfig::Sprout(_) | TransportConfig::Video(_) => {
                Numbering::Packets
            }
            TransportConfig::Own(_) => Numbering::Unknown,
        }
    }

    /// The number of a packet with these contents; `is_back`: it goes to the sender of the data. A segment with data has the number of its
    /// first byte, one without the number up to which it acknowledges; both are 32 bits wide. Requests of applications have none.
    pub fn sequence(self, contents: &Contents, is_back: bool) -> Option<u64> {
        let segment = &contents.segment;
        match self {
            Numbering::Segments if Connection::request_of(contents).is_some() => None,
            Numbering::Segments if is_back && segment.len == 0 => Some(segment.ack.into()),
            Numbering::Segments => Some(segment.seq.into()),
            Numbering::Headers if !is_back => Some(segment.seq.into()),
            Numbering::Headers | Numbering::Packets => Some(contents.number),
            Numbering::Unknown => None,
        }
    }
}
