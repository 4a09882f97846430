//! Options of `qdelay proxy`, and of the program `qdelay-proxy` for other systems.

use crate::mapping::Listen;
use clap::Args;
use qdelay_terminal::live::control_options::ControlOptions;
use qdelay_terminal::path_options::PathOptions;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay proxy`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  A server on port 3000, reached at port 8080 as over LTE, while it runs:
    qdelay proxy --listen 8080 --to localhost:3000 --down synth-lte-driving \\
      --up synth-lte-driving.up --delay 20ms -- npm start
  A host of the network, and datagrams, until Ctrl-C, over one link:
    qdelay proxy --listen 8080 --to example.org:80 \\
      --listen udp:5000 --to 192.0.2.7:5000 --down 10mbit --up 1mbit

down is the direction to the clients, up from them. All mappings share the link.
A proxy needs no privileges, but ends TCP connections; where 'qdelay link' runs
it shows more (docs/proxy.md).")]
pub struct ProxyOptions {
    /// Listen at PORT, ADDRESS:PORT or, for datagrams, udp:PORT or udp:ADDRESS:PORT; repeat for more, each with its own --to.
    /// The address is 127.0.0.1 unless given
    #[arg(long, value_name = "PLACE", required = true, allow_hyphen_values = true)]
    pub listen: Vec<Listen>,
    /// Target HOST:PORT of the --listen at the same place; its name is resolved once, at the start
    #[arg(long, value_name = "TARGET", required = true, allow_hyphen_values = true)]
    pub to: Vec<String>,
    /// The path.
    #[command(flatten)]
    pub path: PathOptions,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// TCP of the connections through the path: a congestion control with its parameters, as flows of scenarios have it
    #[arg(long, value_name = "TRANSPORT", default_value = "cubic")]
    pub tcp: String,
    /// Most bytes of each direction of a connection between its two sockets: unsent, in the path, or waiting for a slow reader
    #[arg(long, value_name = "BYTES", default_value = "1mb", value_parser = window, allow_hyphen_values = true)]
    pub window: usize,
    /// Most connections at a time; further ones are reset
    #[arg(long, value_name = "N", default_value = "1024", value_parser = connections, allow_hyphen_values = true)]
    pub connections: usize,
    /// Places at which requests are accepted.
    #[command(flatten)]
    pub control: ControlOptions,
    /// Write figures and verdict to this file as JSON (docs/json.md)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print neither the mappings at the start nor figures and verdict at the end
    #[arg(long)]
    pub quiet: bool,
    /// Command to run; the proxy ends with it, and with its exit status [default: run until Ctrl-C]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Smallest window, bytes: a few segments.
const WINDOW_MIN: u64 = 8_000;
/// Largest window, bytes.
const WINDOW_MAX: u64 = 1_000_000_000;
/// Most connections: the sockets of more do not fit into the limits of common systems.
const CONNECTIONS_MAX: usize = 30_000;

fn window(text: &str) -> Result<usize, String> {
    let bytes = qdelay_core::units::parse_bytes(text).map_err(|error| error.to_string())?;
    match (WINDOW_MIN..=WINDOW_MAX).contains(&bytes) {
        true => Ok(bytes as usize),
        false => Err("out of range; expected 8kb to 1000mb".to_string()),
    }
}

fn connections(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count));
    count.ok_or_else(|| format!("expected a number from 1 to {CONNECTIONS_MAX}"))
}
