//! `qdelay quic`: one end of a QUIC connection over a socket. Prints its measurements as JSON.

use crate::cli::{QuicCommand, QuicReceive, QuicSend};
use qdelay_core::Span;
use qdelay_core::component::Registry;
use qdelay_quic::socket::{self, Sending};
use qdelay_quic::{QuicConfig, component};
use qdelay_study::lists;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use serde_json::json;

/// Largest packet in bytes: Ethernet's MTU.
const MTU: u16 = 1500;

/// Runs the command.
///
/// # Errors
/// A transport that cannot run over sockets, an unusable address, a connection that failed or was never made.
pub fn run(command: &QuicCommand) -> Result<(), Failure> {
    match command {
        QuicCommand::Send(options) => send(options),
        QuicCommand::Receive(options) => receive(options),
    }
}

fn config(transport: &str) -> Result<QuicConfig, Failure> {
    let arguments = lists::component("--transport", transport, component::COMPONENTS, &Registry::new())?;
    let config = component::build(&arguments).map_err(|error| Failure::input("--transport", error))?;
    socket::check(&config, MTU)
        .map_err(|message| Failure::input("--transport", format!("'{transport}': {message}")))?;
    Ok(config)
}

/// Sends and prints the connection's figures. The report is printed before a missing answer becomes an error, so that a script finds it.
fn send(options: &QuicSend) -> Result<(), Failure> {
    let config = config(&options.transport)?;
    let sending = Sending {
        to: options.to,
        from: options.from,
        dscp: options.dscp,
        duration: options.duration,
        warmup: options.warmup.unwrap_or(Span::ZERO),
        seed: options.seed,
    };
    let stop = output::stop_when_interrupted();
    let report =
        socket::send(&config, &sending, &stop).map_err(|error| Failure::input("quic send", error))?;
    let rate = report.stream_bytes as f64 * 8.0 / 1e6 / report.seconds.max(f64::MIN_POSITIVE);
    output::print(&pretty(&json!({
        "schema_version": SCHEMA_VERSION,
        "seconds": round(report.seconds),
        "packets_sent": report.packets_sent,
        "packets_received": report.packets_received,
        "refused": report.refused,
        "stream_bytes": report.stream_bytes,
        "stream_mbps": round(rate),
        "retransmits": report.retransmits,
        "final_cwnd": report.window_packets,
        "final_srtt_ms": round(report.srtt_ms),
        "srtt_mean_ms": round(report.srtt_mean_ms),
        "completion_s": report.completion_s.map(round),
    })))?;
    match report.packets_received {
        0 => Err(Failure::Check(format!(
            "{} has not answered, no connection was made; expected 'qdelay quic receive' there, which takes one connection",
            options.to
        ))),
        _ => Ok(()),
    }
}

fn receive(options: &QuicReceive) -> Result<(), Failure> {
    let config = config(&options.transport)?;
    let stop = output::stop_when_interrupted();
    let report = socket::receive(&config, options.at, options.dscp, &stop)
        .map_err(|error| Failure::input("quic receive", error))?;
    let received = report.received;
    let bytes = received.stream_bytes + received.datagram_bytes;
    output::print(&pretty(&json!({
        "schema_version": SCHEMA_VERSION,
        "seconds": round(report.seconds),
        "packets": report.packets,
        "stream_bytes": received.stream_bytes,
        "streams_finished": received.finished,
        "datagrams": received.datagrams,
        "datagram_bytes": received.datagram_bytes,
        "goodput_mbps": round(bytes as f64 * 8.0 / 1e6 / report.seconds.max(f64::MIN_POSITIVE)),
        "is_exact": received.is_exact,
    })))?;
    match report.packets {
        0 => Err(Failure::Check(format!("no packet has arrived at {}, no connection was made", options.at))),
        _ => Ok(()),
    }
}
