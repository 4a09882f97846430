//! Super-packets: several TCP segments or UDP datagrams of a flow that a kernel passes as one IP packet (segmentation offload;
//! Linux, `Documentation/networking/segmentation-offloads.rst`), and how they are split and joined.
//!
//! Each begins with a header that says how to split it ([`VirtioHeader`]). [`Intake`] reads them from a device and hands over
//! packet by packet; a [`Run`] joins packets that leave together. Splitting is as Linux does it, so that joining is the inverse:
//!
//! * each packet has the headers of the super-packet, with its own lengths and header checksum;
//! * IPv4's identification counts up by one;
//! * TCP's sequence number counts bytes; FIN and PSH are on the last segment only, CWR on the first only;
//! * the transport's checksum is left *unsummed*: its field has the sum of the pseudo-header, and the receiving kernel, which
//!   gets the packet with a request to complete it, knows that the contents come from this machine. Where the bytes are needed
//!   as they are on a wire, [`complete_checksum`](crate::frame::complete_checksum) completes it.

mod header;
mod intake;
mod join;
mod layout;
mod split;

pub use header::{GSO_TCPV4, GSO_TCPV6, GSO_UDP, HEADER_BYTES, NEEDS_CHECKSUM, VirtioHeader};
pub use intake::Intake;
pub use join::{JOINED_MAX, Joined, Run};
pub use layout::HEADERS_MAX;

/// What a kernel takes and hands over as super-packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// UDP datagrams, too: the kernel is Linux 6.2 or later. TCP segments always.
    pub udp: bool,
}

impl Offload {
    /// As text: `TCP and UDP` or `TCP`.
    pub const fn name(self) -> &'static str {
        if self.udp { "TCP and UDP" } else { "TCP" }
    }
}
