//! Settings of a QUIC connection, read by both ends and by the stack's configuration.

use crate::crypto::Profile;
use qdelay_core::Rate;

/// Congestion control of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Cubic of the stack (RFC 8312).
    Cubic,
    /// NewReno of the stack (RFC 9002 section 7).
    NewReno,
    /// BBR version 1 of `qdelay-traffic`, the same code as for TCP.
    Bbr,
}

/// Settings of a QUIC connection.
#[derive(Clone, Debug, PartialEq)]
pub struct QuicConfig {
    /// The sender's congestion control.
    pub control: Control,
    /// The cryptography.
    pub crypto: Profile,
    /// Number of streams of the transfer.
    pub streams: u32,
    /// Rate of application data in DATAGRAM frames; `None`: no datagrams.
    pub datagrams: Option<Rate>,
    /// Application bytes in all streams together; `None`: the streams last as long as the run.
    pub bytes: Option<u64>,
    /// Largest IP packet, bytes; 1228 to 16384.
    pub ip_bytes: u16,
    /// Receive window of each stream, bytes.
    pub window: u64,
    /// Whether packets are ECN-capable.
    pub ecn: bool,
}
