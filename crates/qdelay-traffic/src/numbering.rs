//! Sequence numbers of packets by transport, for packet records.

use crate::connection::{Connection, ConnectionConfig};
use crate::contents::Contents;
use crate::transport::TransportConfig;

/// Meaning of the sequence numbers of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Byte numbers of TCP.
    Segments,
    /// Sequence number in the header of TFRC data packets; reports count from 0.
    Headers,
    /// Datagrams and reports count from 0.
    Packets,
    /// Unknown, because packets are encrypted.
    Unknown,
}

impl Numbering {
    /// Numbering of the packets of a transport.
    pub fn for_transport(config: &TransportConfig) -> Numbering {
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

    /// Sequence number of a packet with these contents. `is_back`: the packet goes to the data's sender. A TCP segment with data has the number of
    /// its first byte, one without data its acknowledgement number, both 32 bits wide. `None` for requests of applications.
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
