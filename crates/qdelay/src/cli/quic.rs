//! QUIC over sockets: `qdelay quic`.

use clap::{Args, Subcommand};
use qdelay_core::Span;
use qdelay_terminal::values;
use std::net::SocketAddr;

/// `qdelay quic`.
#[derive(Subcommand, Debug)]
#[command(after_help = "\
Examples:
  A receiver, and a sender behind a link:
    qdelay quic receive 0.0.0.0:4433
    qdelay link --up 10mbit -- qdelay quic send 192.0.2.1:4433 --duration 30s

Both ends need the same --transport. docs/quic.md describes the transports.")]
pub enum QuicCommand {
    /// Open a connection to a receiver and send
    Send(QuicSend),
    /// Wait for a connection and receive
    Receive(QuicReceive),
}

/// `qdelay quic send`.
#[derive(Args, Debug)]
pub struct QuicSend {
    /// Address and port of the receiver
    #[arg(value_name = "ADDRESS")]
    pub to: SocketAddr,
    /// Transport and its parameters, as in scenarios ('qdelay list quic')
    #[arg(long, value_name = "TRANSPORT", default_value = "quic")]
    pub transport: String,
    /// Local address and port [default: any]
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<SocketAddr>,
    /// Time to send [default: until the transfer is complete, or the command is interrupted]
    #[arg(long, value_name = "TIME", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Exclude this much of the start from the mean RTT [default: nothing]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub warmup: Option<Span>,
    /// DSCP codepoint of all packets, 0 to 63
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..64))]
    pub dscp: u8,
    /// Seed of connection identifiers and of the stack's random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// `qdelay quic receive`.
#[derive(Args, Debug)]
pub struct QuicReceive {
    /// Local address and port to receive at
    #[arg(value_name = "ADDRESS")]
    pub at: SocketAddr,
    /// Transport and its parameters, as in scenarios ('qdelay list quic')
    #[arg(long, value_name = "TRANSPORT", default_value = "quic")]
    pub transport: String,
    /// DSCP codepoint of all packets, 0 to 63
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..64))]
    pub dscp: u8,
}
