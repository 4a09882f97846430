//! Real time: `qdelay link`, `gateway` and `live`.

use clap::Args;
use qdelay_config::Settings;
use qdelay_core::units::parse_rate;
use qdelay_core::{Rate, Span};
use qdelay_emu::accuracy::Required;
use qdelay_emu::device::tun::OffloadMode;
use qdelay_gateway::keys::Gateway as Carried;
use qdelay_real::link::{Forward, ServicePort};
use qdelay_terminal::live::control_options::ControlOptions;
use qdelay_terminal::path_options::PathOptions;
use qdelay_terminal::values;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay link`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  A shell behind a cellular link; its prompt shows the link:
    qdelay link --down synth-lte-driving --up synth-lte-driving.up --delay 5ms
  One command and its server; QDELAY_OUTSIDE is the address of the other end:
    qdelay link --down 10mbit --qdisc bode:target=20ms \\
      --serve 'iperf3 -s >/dev/null' -- sh -c 'iperf3 -c $QDELAY_OUTSIDE -R'
  A browser behind the link, with the page of a server on 127.0.0.1:3000:
    qdelay link --down 4mbit --delay 50ms --loopback 3000 -- \\
      firefox http://localhost:3000
  A link within a link, and figures for a program to read:
    qdelay link --down 50mbit -- \\
      qdelay link --down synth-subway --json figures.json -- ./my-program
  Throughput and delay over time, as a page and as a figure:
    qdelay link --down 10mbit --out run -- ./my-program
    qdelay report run
    qdelay plot run --figure time --measure throughput
  The path of a scenario's case:
    qdelay link --scenario demo/first:pie-cubic -- ./my-program
  Beyond this machine, as root:
    qdelay link --nat --down synth-lte-driving -- curl -O https://example.org/

down is the direction to the command, up from it. The link ends with a verdict:
was the machine on time, and is every packet accounted for?
Interfaces and rules are removed when the command ends (docs/link.md).")]
pub struct Link {
    /// Take link, discipline, delays and uplink from a scenario's path: FILE, FILE:CASE or NAME:CASE, with the number or the
    /// id of the case
    #[arg(long, value_name = "FILE[:CASE]", conflicts_with = "PathOptions")]
    pub scenario: Option<String>,
    /// Let the scenario name shared objects, such as ./my.so: their code runs with all rights of this program
    #[arg(long, requires = "scenario")]
    pub allow_native: bool,
    /// Packets of each QoS flow of a scenario's cell, such as dscp:ef=1, udp:5000-5999=1, tcp=2; repeat for more.
    /// The first match decides; packets without a match go to the last QoS flow
    #[arg(long, value_name = "RULE=QFI", requires = "scenario")]
    pub qos: Vec<String>,
    #[command(flatten)]
    pub path: PathOptions,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Largest packet in bytes
    #[arg(long, value_name = "BYTES", default_value = Carried::defaults().mtu.default_text(), value_parser = values::mtu, allow_hyphen_values = true)]
    pub mtu: u16,
    /// Largest number of packets held, both directions together
    #[arg(long, value_name = "PACKETS", default_value = Carried::defaults().hold.default_text(), value_parser = values::limit, allow_hyphen_values = true)]
    pub hold: u64,
    /// Let the command reach hosts beyond this machine: forwarding and masquerading in an nftables table that
    /// is removed when the link ends, also after kill -9 (root)
    #[arg(long)]
    pub nat: bool,
    /// Segmentation offload (TSO, USO): the kernel passes several segments of a flow as one; each is queued, dropped and marked
    /// separately, and segments that leave together are joined again. auto: on if the kernel supports it
    #[arg(long, value_name = "auto|on|off", default_value = "auto")]
    pub offload: OffloadMode,
    /// Arrival of packets at the link: burst, the segments of one super-packet at the same time; or a rate, spaced as over an
    /// access line of that rate
    #[arg(long, value_name = "burst|RATE", default_value = "burst", value_parser = access, allow_hyphen_values = true)]
    pub access: Access,
    /// Ask for real-time scheduling and locked memory, and spin before each release
    #[arg(long)]
    pub realtime: bool,
    /// Time to spin before each release [default: 50us with --realtime, else 0s]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub spin: Option<Span>,
    /// Time to deliver packets still on the link after the command ends; 0s removes the link at once
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::span, allow_hyphen_values = true)]
    pub drain: Span,
    /// Show rates, delays, drops and verdict at the foot of the terminal while the command runs
    #[arg(long)]
    pub live: bool,
    #[command(flatten)]
    pub control: ControlOptions,
    /// Write a row for every packet to this Parquet file. Incomplete records end with exit status 1, or with the
    /// command's status where that is not 0
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Write mahimahi's logs of both directions, PREFIX.down and PREFIX.up
    #[arg(long, value_name = "PREFIX")]
    pub log: Option<PathBuf>,
    /// Write a packet capture (pcapng) of both sides, with the reasons of drops as comments
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write all records and the figures into this new folder, which 'qdelay report DIR' and 'qdelay plot DIR' read: the
    /// capture, the packets, mahimahi's logs, figures over time, and the verdict (docs/link.md)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace existing files of --packets, --log and --pcap, and records of a link in the folder of --out
    #[arg(long)]
    pub force: bool,
    /// Write figures and verdict to this file as JSON (docs/json.md)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with status 1 if delays do not hold to this: fine (0.1 ms), good (1 ms), coarse (10 ms), or a time such as 2ms; or
    /// if packets were lost outside the link
    #[arg(long, value_name = "GRADE|TIME", value_parser = Required::parse)]
    pub require: Option<Required>,
    /// Run the command again, at most this often, if it succeeds and the run does not meet --require
    #[arg(long, value_name = "N", default_value_t = 0, requires = "require", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub retries: u32,
    /// Write the result as a JUnit report with one test case: the command's status, --require, and the figures
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Exit with status 1 if one packet in a thousand is later than a tenth of the link's clock: a rule for laboratories,
    /// which short runs on shared machines seldom meet; --require suits tests
    #[arg(long)]
    pub strict: bool,
    /// Do not print figures and verdict at the end
    #[arg(long)]
    pub quiet: bool,
    /// Command to run [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Start this shell line at the other end of the link, such as 'iperf3 -s >/dev/null': before the command, which waits until
    /// the server listens at a port, for at most 5s; ended with the link
    #[arg(long, value_name = "CMD")]
    pub serve: Option<String>,
    /// Forward a port of this machine to a port inside, through the link: 8080:80, 0.0.0.0:8080:80, 5000:5000/udp; at 127.0.0.1
    /// and ::1 without an address; repeat for more
    #[arg(long, value_name = "[ADDRESS:]PORT:PORT[/udp]")]
    pub forward: Vec<Forward>,
    /// Let the command reach these ports of servers that listen on this machine's 127.0.0.1 or ::1 only, through the link, at
    /// localhost and QDELAY_OUTSIDE
    #[arg(long, value_name = "PORT[/udp],...", value_delimiter = ',')]
    pub loopback: Vec<ServicePort>,
}

/// Arrival of packets at the link; `None` for bursts.
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
  Check a configuration; nothing is opened:
    qdelay gateway gateway.toml --check
  Carry packets between its two interfaces until Ctrl-C, then print the verdict
  (root):
    qdelay gateway gateway.toml
  Read the file again, without losing a packet (or send SIGHUP):
    qdelay gateway --reload /run/qdelay/gateway.sock

docs/gateway.md has a setup that needs no hardware; packaging/
has an example with every key, and a unit for systemd.")]
pub struct Gateway {
    /// Configuration file, TOML
    #[arg(value_name = "CONFIG", required_unless_present = "reload")]
    pub config: Option<PathBuf>,
    /// Read the configuration and its traces, report errors, and exit
    #[arg(long)]
    pub check: bool,
    /// Let the configuration name shared objects, such as ./my.so: their code runs with all rights of this program
    #[arg(long)]
    pub allow_native: bool,
    /// Same as realtime = true: ask for real-time scheduling and locked memory, and spin before each release
    #[arg(long)]
    pub realtime: bool,
    /// Time to spin before each release, in place of the configuration's
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub spin: Option<Span>,
    /// Tell the gateway with this control socket to read its configuration again
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["config", "check", "realtime", "spin"])]
    pub reload: Option<PathBuf>,
}

/// `qdelay live`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay link --down synth-lte-driving --control /tmp/link.sock \\
    --serve 'iperf3 -s >/dev/null' -- iperf3 -c outside -R -t 60 &
  qdelay live /tmp/link.sock
  qdelay live /tmp/link.sock --once --json

The socket belongs to 'qdelay link --control SOCKET' or to a gateway.
docs/live.md explains the view.")]
pub struct Live {
    /// Control socket
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// Interval between two samples, 50ms to 60s
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = values::watch_interval, allow_hyphen_values = true)]
    pub interval: Span,
    /// Print one sample and exit
    #[arg(long)]
    pub once: bool,
    /// Print JSON, a line for each sample (docs/live.md)
    #[arg(long)]
    pub json: bool,
}
