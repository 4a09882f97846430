//! Real time: `qdelay link`, `gateway` and `live`.

use clap::Args;
use qdelay_config::Settings;
use qdelay_core::units::parse_rate;
use qdelay_core::{Rate, Span};
use qdelay_emu::device::tun::OffloadMode;
use qdelay_gateway::keys::{Down, Gateway as Carried, Up};
use qdelay_terminal::values;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay link`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  A shell behind a cellular link; its prompt shows the link:
    qdelay link --down synth-lte-driving --up synth-lte-driving.up --delay 5ms
  One command; what it reaches outside is the address in QDELAY_OUTSIDE:
    iperf3 -s -D
    qdelay link --down 10mbit --qdisc bode:target=20ms -- \\
      sh -c 'iperf3 -c $QDELAY_OUTSIDE -R'
  A link within a link, and figures for a program to read:
    qdelay link --down 50mbit -- \\
      qdelay link --down synth-subway --json figures.json -- ./my-program
  The path of a scenario:
    qdelay link --scenario demo/first:pie-cubic -- ./my-program
  Beyond this machine, as root:
    qdelay link --nat --down synth-lte-driving -- curl -O https://example.org/

down is towards the command, up is what it sends. The link ends with a verdict:
whether the machine was on time, and whether every packet is accounted for.
Everything is gone when the command ends. docs/link.md explains it.")]
pub struct Link {
    /// Take link, discipline, delays and uplink from a scenario's path: FILE, FILE:CASE or NAME:CASE, with the number or the
    /// id of the case
    #[arg(long, value_name = "FILE[:CASE]", conflicts_with_all = ["down", "up", "qdisc", "up_qdisc", "delay", "jitter", "loss", "once", "seed"])]
    pub scenario: Option<String>,
    /// Let the scenario name shared objects, such as ./my.so: their code runs with all rights of this program
    #[arg(long, requires = "scenario")]
    pub allow_native: bool,
    /// With a scenario's cell: the packets of each QoS flow, such as dscp:ef=1, udp:5000-5999=1, tcp=2; repeat for more.
    /// The first match counts; packets without a match go to the last QoS flow
    #[arg(long, value_name = "RULE=QFI", requires = "scenario")]
    pub qos: Vec<String>,
    /// Link towards the command: a rate, any link that 'compare --link' takes, or a trace
    #[arg(long, value_name = "LINK", default_value = Down::defaults().link.default_text(), allow_hyphen_values = true)]
    pub down: String,
    /// Link from the command
    #[arg(long, value_name = "LINK", default_value = Up::defaults().link.default_text(), allow_hyphen_values = true)]
    pub up: String,
    /// Queue discipline in front of the link towards the command
    #[arg(long, value_name = "QDISC", default_value = Down::defaults().qdisc.default_text())]
    pub qdisc: String,
    /// Queue discipline in front of the link from the command
    #[arg(long, value_name = "QDISC", default_value = Up::defaults().qdisc.default_text())]
    pub up_qdisc: String,
    /// Delay of each direction behind its link
    #[arg(long, value_name = "TIME", default_value = Down::defaults().delay.default_text(), value_parser = values::span, allow_hyphen_values = true)]
    pub delay: Span,
    /// At most this much more, drawn for each packet; packets keep their order
    #[arg(long, value_name = "TIME", default_value = Down::defaults().jitter.default_text(), value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Span,
    /// Probability that a packet is lost behind the link, 0 to 1, in each direction
    #[arg(long, value_name = "P", default_value = Down::defaults().loss.default_text(), value_parser = values::probability, allow_hyphen_values = true)]
    pub loss: f64,
    /// End traces after their last opportunity, instead of starting over
    #[arg(long)]
    pub once: bool,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value = Carried::defaults().seed.default_text())]
    pub seed: u64,
    /// Largest packet in bytes
    #[arg(long, value_name = "BYTES", default_value = Carried::defaults().mtu.default_text(), value_parser = values::mtu, allow_hyphen_values = true)]
    pub mtu: u16,
    /// Packets that are held at most, both directions together
    #[arg(long, value_name = "PACKETS", default_value = Carried::defaults().hold.default_text(), value_parser = values::limit, allow_hyphen_values = true)]
    pub hold: u64,
    /// Let the command reach what lies beyond this machine: forwarding and masquerading by an nftables table of the link's own,
    /// undone at its end, after kill -9 too (root)
    #[arg(long)]
    pub nat: bool,
    /// Whether the kernel passes segments of a flow as one (TSO, USO); each is queued, dropped and marked on its own, and those
    /// that leave together are joined again. auto: if the kernel can
    #[arg(long, value_name = "auto|on|off", default_value = "auto")]
    pub offload: OffloadMode,
    /// How the packets of either side arrive: burst, as they come, those that the kernel passed as one at the same time; or a
    /// rate, no closer than over an access line of that rate
    #[arg(long, value_name = "burst|RATE", default_value = "burst", value_parser = access, allow_hyphen_values = true)]
    pub access: Access,
    /// Ask for real-time scheduling and locked memory, and spin before each release
    #[arg(long)]
    pub realtime: bool,
    /// How long to spin before each release [default: 50us with --realtime, else 0s]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub spin: Option<Span>,
    /// How long to deliver packets that are still on the link when the command ends; 0s removes the link at once
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::span, allow_hyphen_values = true)]
    pub drain: Span,
    /// Show rates, delays, drops and verdict at the foot of the terminal while the command runs
    #[arg(long)]
    pub live: bool,
    /// Take requests on this Unix socket: 'qdelay live SOCKET' shows the link's state (docs/live.md)
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Write a row for every packet to this Parquet file. Records that cannot be written whole end with exit status 1, or with
    /// the command's own where that is not 0
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Write mahimahi's logs of both directions, PREFIX.down and PREFIX.up
    #[arg(long, value_name = "PREFIX")]
    pub log: Option<PathBuf>,
    /// Write a packet capture (pcapng) of both sides, with the reasons of drops as comments
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Replace the files of --packets, --log and --pcap where they exist
    #[arg(long)]
    pub force: bool,
    /// Write figures and verdict to this file as JSON (docs/json.md)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit status 1 where the verdict is that the run is not to be trusted
    #[arg(long)]
    pub strict: bool,
    /// Do not print figures and verdict at the end
    #[arg(long)]
    pub quiet: bool,
    /// The command [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How the packets of either side arrive; `None` for as they come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access(pub Option<Rate>);

/// The word `burst`, or a rate.
fn access(text: &str) -> Result<Access, String> {
    if text == "burst" {
        return Ok(Access(None));
    }
    match parse_rate(text) {
        Ok(rate) if rate.as_bps() > 0 => Ok(Access(Some(rate))),
        _ => Err("expected burst, or a rate above 0, such as 10gbit".to_string()),
    }
}

/// `qdelay gateway`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Whether a configuration can be used; nothing is opened:
    qdelay gateway gateway.toml --check
  Carry packets between its two interfaces until Ctrl-C, then print the verdict
  (root):
    qdelay gateway gateway.toml
  Read the file again, without losing a packet (or send SIGHUP):
    qdelay gateway --reload /run/qdelay/gateway.sock

docs/gateway.md explains it, with a try-out that needs no hardware; packaging/
has an example with every key, and a unit for systemd.")]
pub struct Gateway {
    /// The configuration, TOML
    #[arg(value_name = "CONFIG", required_unless_present = "reload")]
    pub config: Option<PathBuf>,
    /// Read the configuration and the traces it names, say whether they can be used, and do nothing else
    #[arg(long)]
    pub check: bool,
    /// Let the configuration name shared objects, such as ./my.so: their code runs with all rights of this program
    #[arg(long)]
    pub allow_native: bool,
    /// As realtime = true: ask for real-time scheduling and locked memory, and spin before each release
    #[arg(long)]
    pub realtime: bool,
    /// In place of the configuration's spin: how long to spin before each release
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub spin: Option<Span>,
    /// Have the gateway with this control socket read its configuration again
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["config", "check", "realtime", "spin"])]
    pub reload: Option<PathBuf>,
}

/// `qdelay live`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay link --down synth-lte-driving --control /tmp/link.sock -- \\
    iperf3 -c 100.64.0.1 -R -t 60 &
  qdelay live /tmp/link.sock
  qdelay live /tmp/link.sock --once --json

The socket is that of 'qdelay link --control SOCKET', or of a gateway.
docs/live.md explains what is seen.")]
pub struct Live {
    /// The control socket
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// Interval between two samples, 50ms to 60s
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = values::watch_interval, allow_hyphen_values = true)]
    pub interval: Span,
    /// Look once, and print it
    #[arg(long)]
    pub once: bool,
    /// Print JSON, a line for each sample (docs/live.md)
    #[arg(long)]
    pub json: bool,
}
