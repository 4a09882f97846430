//! Super-packets: several TCP segments or UDP datagrams of a flow that a kernel passes as one IP packet (segmentation offload;
//! Linux, `Documentation/networking/segmentation-offloads.rst`), with code that splits and joins them.
//!
//! Each super-packet begins with a header that describes how to split it ([`VirtioHeader`]). [`Intake`] reads super-packets from a
//! device and returns their packets one by one; a [`Run`] joins packets that leave together. Splitting matches Linux:
//!
//! * each packet has the headers of the super-packet, with its own lengths and header checksum;
//! * IPv4's identification counts up by one;
//! * TCP's sequence number counts bytes; FIN and PSH are on the last segment only, CWR on the first only;
//! * the transport checksum is left *unsummed* (incomplete): its field has the sum of the pseudo-header, and the receiving kernel,
//!   which gets the packet with a request to complete it, knows that the packet comes from this machine. Where bytes as on a wire
//!   are needed, [`complete_checksum`](crate::frame::complete_checksum) completes the checksum.

mod header;
mod intake;
mod join;
mod layout;
mod split;

pub use header::{GSO_TCPV4, GSO_TCPV6, GSO_UDP, HEADER_BYTES, NEEDS_CHECKSUM, VirtioHeader};
pub use intake::Intake;
pub use join::{JOINED_MAX, Joined, Run};
pub use layout::HEADERS_MAX;

/// Super-packets that a kernel accepts and sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// True if UDP datagrams are joined, too (Linux 6.2 or later). TCP segments always are.
    pub udp: bool,
}

impl Offload {
    /// Text for messages: `TCP and UDP` or `TCP`.
    pub const fn name(self) -> &'static str {
        if self.udp { "TCP and UDP" } else { "TCP" }
    }
}
