//! `qdelay import`.

use clap::{Args, Subcommand, ValueEnum};
use qdelay_core::Span;
use qdelay_terminal::values;
use std::path::PathBuf;

/// `qdelay import`.
#[derive(Subcommand, Debug)]
pub enum ImportCommand {
    /// Rates and delays from logs of mm-link, defined as in mm-throughput-graph
    Mahimahi(ImportMahimahi),
    /// Delay, loss and reordering between two captures (pcap, pcapng), one from each end of a link
    Captures(ImportCaptures),
    /// Round trips, one-way delays and losses of irtt (JSON), and traces of delays
    Irtt(ImportIrtt),
}

/// `qdelay import mahimahi`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay import mahimahi down.log
  qdelay import mahimahi codel.log bode.log --json
  Rates and delays over time, as a plot and as a table:
    qdelay import mahimahi down.log --svg down.svg --bin 500ms
    qdelay import mahimahi down.log --csv down.csv

Logs come from mm-link's --uplink-log and --downlink-log, and
from qdelay link's --log. docs/import.md defines the figures.")]
pub struct ImportMahimahi {
    /// Logs of mm-link
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// Write rates and delays over time as CSV; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw delay and rate of one log over time, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Bin width of --csv and --svg, in whole milliseconds
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub bin: Span,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay import captures`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tcpdump at both ends of a link, on machines whose clocks agree:
    qdelay import captures client.pcap server.pcap
  The server's clock is 3.2 ms ahead; a row for each packet:
    qdelay import captures client.pcap server.pcap --offset 3.2ms \\
      --csv packets.csv
  Clocks that differ, by an unknown offset:
    qdelay import captures client.pcap server.pcap --offset auto
  A capture of 'qdelay link --pcap', which has both ends:
    qdelay import captures link.pcapng
  Traces of capacity and delay, to replay the measured link:
    qdelay import captures client.pcap server.pcap --offset auto --trace walk
    qdelay compare --trace walk-back.mbps \\
      --rtt trace:walk-back.delay:of=one_way

Captures should keep 96 bytes or more of each packet (tcpdump -s 96), with
segmentation offload off (ethtool -K eth0 tso off gso off gro off lro off).
docs/import.md explains how packets are matched.")]
pub struct ImportCaptures {
    /// Capture of one end
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// Capture of the other end; omit where FIRST has both ends, each at its own interface
    #[arg(value_name = "SECOND")]
    pub second: Option<PathBuf>,
    /// Clock offset of SECOND relative to FIRST, negative where SECOND is behind; auto: estimated, with drift, from traffic both ways
    #[arg(long, value_name = "TIME", default_value = "0s", allow_hyphen_values = true)]
    pub offset: String,
    /// Write a row for each packet as CSV; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub files: TraceFiles,
    /// Bin width of the traces
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub trace_bin: Span,
    /// Delay in the trace of delays
    #[arg(long, value_name = "PART", default_value = "base")]
    pub trace_delay: TraceDelay,
    /// Rate of bins whose queue was empty, in the trace of capacity
    #[arg(long, value_name = "RATE", default_value = "measured")]
    pub trace_rate: TraceRate,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay import irtt`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  irtt client -i 10ms -d 1h --stats=both -o walk.json SERVER
  qdelay import irtt walk.json --offset auto
  Traces of delays, to replay them:
    qdelay import irtt walk.json --trace walk
    qdelay compare --link 20mbit --rtt trace:walk-rtt.delay

docs/import.md defines the figures. FILE may be compressed by gzip.")]
pub struct ImportIrtt {
    /// Output of 'irtt client -o FILE'
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Clock offset of the server, subtracted from one-way delays; auto: estimated, with drift
    #[arg(long, value_name = "TIME", default_value = "0s", allow_hyphen_values = true)]
    pub offset: String,
    #[command(flatten)]
    pub files: TraceFiles,
    /// Bin width of the traces [default: the interval of the packets]
    #[arg(long, value_name = "TIME", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub trace_bin: Option<Span>,
    /// Delay in the traces
    #[arg(long, value_name = "PART", default_value = "all")]
    pub trace_delay: TraceDelay,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// Files with traces.
#[derive(Args, Debug)]
pub struct TraceFiles {
    /// Write traces of each direction: PREFIX-DIRECTION.delay, and of captures PREFIX-DIRECTION.mbps
    #[arg(long, value_name = "PREFIX")]
    pub trace: Option<PathBuf>,
    /// Window of the base delay, the smallest delay in it
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub trace_window: Span,
    /// Replace existing traces
    #[arg(long)]
    pub force: bool,
}

/// Delay in a trace of delays.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceDelay {
    /// Without queueing: the replaying link has a queue of its own
    Base,
    /// Mean of each bin, with queueing
    All,
}

/// Rate of bins whose queue was empty.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceRate {
    /// Measured rate: the capacity is at least this
    Measured,
    /// Rate of the last bin with a queue, where that is larger
    Hold,
}
