//! The settings of a connection, which both of its ends and the stack's configuration read.

use crate::crypto::Profile;
use qdelay_core::Rate;

/// Congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RFC 8312, of the stack.
    Cubic,
    /// RFC 9002 section 7, of the stack.
    NewReno,
    /// Version 1 of BBR, as TCP has it here.
    Bbr,
}

/// A QUIC connection as it is declared.
#[derive(Clone, Debug, PartialEq)]
pub struct QuicConfig {
    /// The sender's congestion control.
    pub control: Control,
    /// The cryptography.
    pub crypto: Profile,
    /// Streams of the transfer.
    pub streams: u32,
    /// Application data in DATAGRAM frames.
    pub datagrams: Option<Rate>,
    /// Application bytes in all streams; `None` for as long as the run lasts.
    pub bytes: Option<u64>,
    /// Largest IP packet, bytes.
    pub ip_bytes: u16,
    /// Receive window of each stream, bytes.
    pub window: u64,
    /// Whether packets are ECN-capable.
    pub ecn: bool,
}
