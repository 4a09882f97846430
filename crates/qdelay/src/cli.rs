//! What users type: commands, options, their help and examples.

use crate::values;
use clap::{Args, Parser, Subcommand, ValueEnum};
use qdelay_core::Span;
use std::ffi::OsString;
use std::path::PathBuf;

/// What `qdelay` alone prints.
pub const WELCOME: &str = "\
qdelay bounds and measures queueing delay at a cellular bottleneck.

Try this first:

  qdelay compare --trace synth-lte-driving

It runs five queue disciplines under TCP Cubic and BBR over a synthetic LTE link that is built in, and prints
throughput and delay side by side. Use your own link with --trace FILE or --link 10mbit.

  qdelay compare   run queue disciplines side by side on a link
  qdelay run       run a scenario file: every case of its matrix into a folder, with a report to look at
  qdelay report    one HTML page from result folders; several are laid side by side
  qdelay reproduce a paper's claims beside our figures
  qdelay link      put a program of yours behind a link, in real time
  qdelay live      watch a link while it runs
  qdelay gateway   a link between two network interfaces, for devices of yours
  qdelay list      every component with its parameters, units, ranges and defaults
  qdelay trace     statistics of traces; convert them; make new ones from a seed
  qdelay validate  our figures beside those of a real kernel, of mahimahi and of ns-3
  qdelay bench     how fast the simulator is on this machine

'qdelay COMMAND --help' explains each, with examples.
";

/// Bounds and measures queueing delay at a cellular bottleneck.
#[derive(Parser, Debug)]
#[command(
    name = "qdelay",
    version,
    subcommand_required = false,
    disable_help_subcommand = true,
    after_help = "Try first:\n  qdelay compare --trace synth-lte-driving\n\n\
        Exit status: 0 done, 1 an expectation or an audit failed, 2 bad input, 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What `qdelay` can do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run queue disciplines side by side on a link
    Compare(Box<Compare>),
    /// Run a scenario: every case of its matrix into a folder, with a report
    Run(Run),
    /// One HTML page from result folders; several are laid side by side
    Report(Report),
    /// A paper's claims beside our figures
    Reproduce(Reproduce),
    /// Put a program behind a link, in real time: a command or a shell in a network of its own
    Link(Box<Link>),
    /// Watch a link or gateway that has a control socket
    Live(Live),
    /// A link between two network interfaces, in real time, until it is stopped
    Gateway(Gateway),
    /// List every component with parameters, units, ranges, defaults and sources
    List(List),
    /// Statistics of traces; convert them; make new ones
    #[command(subcommand, disable_help_subcommand = true)]
    Trace(TraceCommand),
    /// Our figures beside those of a real kernel, of mahimahi and of ns-3
    Validate(Validate),
    /// Measure the speed of the simulator on this machine
    #[command(subcommand, disable_help_subcommand = true)]
    Bench(BenchCommand),
}

/// `qdelay compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  The defaults, on a trace that is built in:
    qdelay compare --trace synth-lte-driving
  One question on a trace of your own (mahimahi, or seconds and Mbit/s), with a probe beside the flow:
    qdelay compare --trace my.down --qdisc bode:target=20ms,codel,pie --transport cubic --probe
  Parameters, two links, three seeds, for a program to read:
    qdelay compare --link 10mbit:overhead=14 --link steps:0s@6mbit+10s@600kbit:repeat=20s \\
      --qdisc codel,codel:target=10ms:interval=50ms --seed 1..3 --json
  A column of a drive test's table:
    qdelay compare --trace walk.csv --trace-format csv:column=downlink_mbps

Components are written name[:key=value[:key=value...]], commas separate them; 'qdelay list' has all of them.
docs/measures.md defines the measures, docs/json.md the output of --json.")]
pub struct Compare {
    /// Trace of the bottleneck: a file, or the name of a shipped trace ('qdelay trace list'); repeat for more
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<OsString>,
    /// Bottleneck without a trace, such as 10mbit:overhead=14 or synth:subway:seed=3; repeat for more
    #[arg(long, value_name = "LINK")]
    pub link: Vec<String>,
    /// Format of the traces: mahimahi, mbps, or `csv:column=NAME[:unit=mbit|kbit][:every=1s|:time=NAME]` [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Queue disciplines at the bottleneck
    #[arg(long, value_name = "LIST", default_value = "taildrop,headdrop,codel,pie,bode")]
    pub qdisc: Vec<String>,
    /// Transports; every flow of a case runs the same
    #[arg(long, value_name = "LIST", default_value = "cubic,bbr")]
    pub transport: Vec<String>,
    /// Flows of each case; they start within 4 ms
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::flows, allow_hyphen_values = true)]
    pub flows: usize,
    /// How long each case runs, in simulated time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Span,
    /// Rates and delays are measured from here to the end; counts are of the whole run
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::span, allow_hyphen_values = true)]
    pub warmup: Span,
    /// Round trip without any queue
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = values::round_trip, allow_hyphen_values = true)]
    pub rtt: Span,
    /// At most this much more delay behind the bottleneck, drawn for each packet; packets keep their order
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Span,
    /// Seeds: 1, 1,2,7 or 1..5
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = values::seeds, allow_hyphen_values = true)]
    pub seed: values::Seeds,
    /// What the acknowledgements cross: a rate, any link that --link takes, a trace, or 'none'
    #[arg(long, value_name = "LINK", default_value = "48mbit", allow_hyphen_values = true)]
    pub uplink: String,
    /// Packets that the uplink's queue holds
    #[arg(long, value_name = "PACKETS", default_value = "1000", value_parser = values::limit, allow_hyphen_values = true)]
    pub uplink_limit: u64,
    /// Packets that the bottleneck's queue holds, where the discipline's own 'limit' is not given [default: the discipline's]
    #[arg(long, value_name = "PACKETS", value_parser = values::limit, allow_hyphen_values = true)]
    pub limit: Option<u64>,
    /// End a trace after its last opportunity, instead of starting over
    #[arg(long)]
    pub once: bool,
    /// Send a 64-byte packet 100 times a second through the same queue and measure its delay
    #[arg(long)]
    pub probe: bool,
    /// Only packets of at least this size count in the figures of delay
    #[arg(long, value_name = "N", default_value = "0", value_parser = values::packet_bytes, allow_hyphen_values = true)]
    pub min_packet_bytes: u32,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md) instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `qdelay run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What is built in, and one of it:
    qdelay run --list
    qdelay run demo/first
  Make it yours:
    qdelay run demo/first --print > mine.toml
    qdelay run mine.toml --seeds 1..10 --out mine
  On recorded traces, with a row for every packet:
    qdelay run bode/fig10 --traces ~/traces --packets
  The same in real time, with the kernel's TCP (root, or user namespaces; iperf3), beside the simulation:
    qdelay run mine.toml --out sim
    qdelay run mine.toml --clock real --out real
    qdelay report sim real -o both.html

A run that was stopped, even by kill -9, goes on where it was when the same command is given again.
docs/scenarios.md describes scenario files, docs/results.md what stands in the folder.")]
pub struct Run {
    /// A scenario file, or the name of a shipped scenario
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenario: Option<OsString>,
    /// Folder of the results [default: qdelay-results/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seeds in place of the scenario's: 1, 1,2,7 or 1..5
    #[arg(long, value_name = "SEEDS", value_parser = values::seeds, allow_hyphen_values = true)]
    pub seeds: Option<values::Seeds>,
    /// Duration of each case in place of the scenario's
    #[arg(long, value_name = "TIME", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Write packets.parquet for each case: a row for every packet
    #[arg(long)]
    pub packets: bool,
    /// Write series.parquet for each case: rates, delays and backlog over time
    #[arg(long)]
    pub series: bool,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Whose time passes: the simulator's, or everybody's, with real programs and real packets
    #[arg(long, value_name = "CLOCK", default_value = "simulated")]
    pub clock: RunClock,
    /// With --clock real: do not ask for real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// With --clock real: exit status 1 where the verdict of any case is that it is not to be trusted
    #[arg(long)]
    pub strict: bool,
    /// Start over: delete the results that the folder holds
    #[arg(long)]
    pub fresh: bool,
    /// Do not ask before a matrix of more than 10000 cases
    #[arg(long)]
    pub yes: bool,
    /// Do not write report.html
    #[arg(long)]
    pub no_report: bool,
    /// Print JSON (docs/json.md): summary.json and what it cost
    #[arg(long)]
    pub json: bool,
    /// List the shipped scenarios
    #[arg(long, conflicts_with_all = ["scenario", "print"])]
    pub list: bool,
    /// Print the scenario's text, and run nothing
    #[arg(long)]
    pub print: bool,
}

/// The clock of a run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunClock {
    /// As fast as the machine can
    Simulated,
    /// In real time, the flows made by iperf3 and our own sender
    Real,
}

/// `qdelay report`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay report qdelay-results/demo/first
  Two runs side by side:
    qdelay report before after -o compared.html
  Every plot as SVG:
    qdelay report mine --svg plots

docs/report.md says what there is to see.")]
pub struct Report {
    /// Result folders of 'qdelay run'
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The page to write [default: report.html in the folder, or in the current one for several]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write each plot as SVG into this folder, in place of the page
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub svg: Option<PathBuf>,
}

/// `qdelay reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay reproduce bode --traces ~/traces
  qdelay reproduce bode --figure 10
  qdelay reproduce bode --json

A claim whose figure is within its bounds is a match; one that is outside is 'explained' where the cause is known, and else
a 'miss'. Bounds and causes stand in one file for each paper. Without the recorded traces synthetic ones stand in, and it
says so. Exit status 1 where anything misses.")]
pub struct Reproduce {
    /// The paper
    #[arg(value_name = "PAPER")]
    pub paper: String,
    /// Only the claims about this figure, or this section
    #[arg(long, value_name = "N")]
    pub figure: Option<String>,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Keep the results here, a folder for each scenario, each with a report, and a report of the paper's figures
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay link`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  A shell behind a cellular link; its prompt shows the link:
    qdelay link --down synth-lte-driving --up synth-lte-driving.up --delay 5ms
  One command; what it reaches outside is the address in QDELAY_OUTSIDE:
    iperf3 -s -D
    qdelay link --down 10mbit --qdisc bode:target=20ms -- sh -c 'iperf3 -c $QDELAY_OUTSIDE -R'
  A link within a link, and figures for a program to read:
    qdelay link --down 50mbit -- qdelay link --down synth-subway --json figures.json -- ./my-program
  The path of a scenario:
    qdelay link --scenario demo/first:pie-cubic -- ./my-program

down is towards the command, up is what it sends. The link ends with a verdict: whether the machine was on time, and whether
every packet is accounted for. Everything is gone when the command ends. docs/link.md explains it.")]
pub struct Link {
    /// Take link, discipline, delays and uplink from a scenario's path: FILE, FILE:CASE or NAME:CASE, with the number or the
    /// id of the case
    #[arg(long, value_name = "FILE[:CASE]", conflicts_with_all = ["down", "up", "qdisc", "up_qdisc", "delay", "jitter", "loss", "once", "seed"])]
    pub scenario: Option<String>,
    /// With a scenario's cell: which QoS flow takes which packets, such as dscp:ef=1, udp:5000-5999=1, tcp=2; repeat for more.
    /// The first that fits counts; what fits none goes to the last QoS flow
    #[arg(long, value_name = "RULE=QFI", requires = "scenario")]
    pub qos: Vec<String>,
    /// Link towards the command: a rate, any link that 'compare --link' takes, or a trace
    #[arg(long, value_name = "LINK", default_value = "infinite", allow_hyphen_values = true)]
    pub down: String,
    /// Link from the command
    #[arg(long, value_name = "LINK", default_value = "infinite", allow_hyphen_values = true)]
    pub up: String,
    /// Queue discipline in front of the link towards the command
    #[arg(long, value_name = "QDISC", default_value = "taildrop")]
    pub qdisc: String,
    /// Queue discipline in front of the link from the command
    #[arg(long, value_name = "QDISC", default_value = "taildrop")]
    pub up_qdisc: String,
    /// Delay of each direction behind its link
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::span, allow_hyphen_values = true)]
    pub delay: Span,
    /// At most this much more, drawn for each packet; packets keep their order
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Span,
    /// Probability that a packet is lost behind the link, 0 to 1, in each direction
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability, allow_hyphen_values = true)]
    pub loss: f64,
    /// End traces after their last opportunity, instead of starting over
    #[arg(long)]
    pub once: bool,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Largest packet in bytes
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = values::mtu, allow_hyphen_values = true)]
    pub mtu: u16,
    /// Packets that are held at most, both directions together
    #[arg(long, value_name = "PACKETS", default_value = "100000", value_parser = values::limit, allow_hyphen_values = true)]
    pub hold: u64,
    /// Ask for real-time scheduling and locked memory, and spin before each release
    #[arg(long)]
    pub realtime: bool,
    /// How long to spin before each release [default: 50us with --realtime, else 0s]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub spin: Option<Span>,
    /// Show rates, delays, drops and verdict at the foot of the terminal while the command runs
    #[arg(long)]
    pub live: bool,
    /// Take requests on this Unix socket: 'qdelay live SOCKET' shows what runs (docs/live.md)
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Write a row for every packet to this Parquet file
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Write mahimahi's logs of both directions, PREFIX.down and PREFIX.up
    #[arg(long, value_name = "PREFIX")]
    pub log: Option<PathBuf>,
    /// Write a packet capture (pcapng) of both sides, with the reasons of drops as comments
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
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

/// `qdelay gateway`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Whether a configuration can be used; nothing is opened:
    qdelay gateway gateway.toml --check
  Carry packets between its two interfaces until Ctrl-C, then print the verdict (root):
    qdelay gateway gateway.toml
  Read the file again, without losing a packet (or send SIGHUP):
    qdelay gateway --reload /run/qdelay/gateway.sock

docs/gateway.md explains it, with a try-out that needs no hardware; packaging/ has an example with every key, and a unit for
systemd.")]
pub struct Gateway {
    /// The configuration, TOML
    #[arg(value_name = "CONFIG", required_unless_present = "reload")]
    pub config: Option<PathBuf>,
    /// Read the configuration and the traces it names, say whether they can be used, and do nothing else
    #[arg(long)]
    pub check: bool,
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
  qdelay link --down synth-lte-driving --control /tmp/link.sock -- iperf3 -c 100.64.0.1 -R -t 60 &
  qdelay live /tmp/link.sock
  qdelay live /tmp/link.sock --once --json

The socket is that of 'qdelay link --control SOCKET', or of a gateway. docs/live.md explains what is seen.")]
pub struct Live {
    /// The control socket
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// From one look to the next, 50ms to 60s
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = values::look, allow_hyphen_values = true)]
    pub interval: Span,
    /// Look once, and print it
    #[arg(long)]
    pub once: bool,
    /// Print JSON, a line for each look (docs/live.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay list`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay list
  qdelay list qdisc
  qdelay list bode
  qdelay list --json")]
pub struct List {
    /// A kind (qdisc, pacer, transport, link) or the name of a component [default: all]
    pub what: Option<String>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay trace`.
#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Statistics of traces: rates, variation, outages
    Info(TraceInfo),
    /// Write a trace in another format
    Convert(TraceConvert),
    /// Make a cellular-like trace from a seed
    Synth(TraceSynth),
    /// The traces that are built in
    List(TraceList),
}

/// `qdelay trace info`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace info synth-lte-driving synth-subway
  qdelay trace info my.down --json
  qdelay trace info walk.csv --trace-format csv:column=downlink_mbps")]
pub struct TraceInfo {
    /// Files, or names of shipped traces
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<OsString>,
    /// Format of the files: mahimahi, mbps, or csv:column=NAME[...] [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay trace convert`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace convert walk.txt walk.down --to mahimahi
  qdelay trace convert synth-subway subway.txt --to mbps --bin 500ms
  qdelay trace convert synth-subway - --to mbps | head")]
pub struct TraceConvert {
    /// The trace to read: a file, or the name of a shipped trace
    #[arg(value_name = "IN")]
    pub input: OsString,
    /// The file to write; - for standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: WrittenFormat,
    /// From opportunities to rates: the time each rate is the mean of, in whole milliseconds
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub bin: Span,
    /// Format to read: mahimahi, mbps, or csv:column=NAME[...] [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Replace a file that exists
    #[arg(long)]
    pub force: bool,
}

/// `qdelay trace synth`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace synth -o lte.down
  qdelay trace synth --preset subway --seed 3 --duration 5min -o subway.down
  qdelay trace synth --preset lte-stationary rate=20mbit outage_every=0 --to mbps -o fast.txt

'qdelay list synth' has the presets and every KEY=VALUE with its unit and range.")]
pub struct TraceSynth {
    /// Parameters of the link, as KEY=VALUE ('qdelay list synth')
    #[arg(value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,
    /// The kind of link, which the other parameters take their defaults from
    #[arg(long, value_name = "NAME", default_value = "lte-driving")]
    pub preset: String,
    /// Length of the trace
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    pub duration: String,
    /// Equal parameters and seed make equal traces
    #[arg(long, value_name = "N", default_value = "1", allow_hyphen_values = true)]
    pub seed: String,
    /// Format to write: opportunities in bursts, or the rate behind them
    #[arg(long, value_name = "FORMAT", default_value = "mahimahi")]
    pub to: WrittenFormat,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Replace a file that exists
    #[arg(long)]
    pub force: bool,
}

/// `qdelay trace list`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  qdelay trace list")]
pub struct TraceList {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// A format that traces are written in.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFormat {
    /// A line with a time in milliseconds for each opportunity of 1504 bytes
    Mahimahi,
    /// Lines of seconds and Mbit/s
    Mbps,
}

/// `qdelay validate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay validate kernel
  qdelay validate kernel --variant rfc
  qdelay validate mahimahi --traces ~/traces
  qdelay validate ns3 --json
  qdelay validate link --traces ~/traces
  qdelay validate link --traces ~/traces --only ATT-LTE,bbr --seconds 15
  qdelay validate link --traces ~/traces --mahimahi

'link' takes time: a run of --seconds for each of 48 cells, or of 60 s for each of mahimahi's 20. What was stopped goes on.
Exit status 1 where fewer than 90% of the cells match that could be judged; with --mahimahi, where any misses.

A cell whose figures are all within their bounds is a match; one that is outside is 'explained' where the cause is known
(tests/reference/explained.tsv) and else a 'miss'. Exit status 1 where anything misses.")]
pub struct Validate {
    /// What to compare with
    #[arg(value_name = "REFERENCE")]
    pub against: ValidateAgainst,
    /// With kernel: variant of CoDel and PIE to put beside the kernel's [default: linux]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// With mahimahi, link, cell: folder with the recorded traces [default: the variable QDELAY_TRACES]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// With mahimahi, link: base round trip [default: 10ms, the nominal one]
    #[arg(long, value_name = "TIME", value_parser = values::round_trip, allow_hyphen_values = true)]
    pub rtt: Option<Span>,
    /// With mahimahi: scheduling delay of the machine, drawn for each packet up to this [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Option<Span>,
    /// With link, cell: how long each cell or case is run, in seconds [default: 20; of cell 200]
    #[arg(long, value_name = "N", value_parser = values::cell_seconds, allow_hyphen_values = true)]
    pub seconds: Option<u64>,
    /// With link, cell: how often a run that cannot be trusted is repeated [default: 3; of cell 1]
    #[arg(long, value_name = "N", value_parser = values::retries, allow_hyphen_values = true)]
    pub retries: Option<u32>,
    /// With link, cell: only those whose names have all of these words, such as ATT-LTE,bbr; repeat for more
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// With link, cell: folder of the runs [default: qdelay-results/validate-link, ...-mahimahi or validate-cell]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With link, cell: delete the runs that the folder holds
    #[arg(long)]
    pub fresh: bool,
    /// With link: beside mahimahi's figures too, on its traces, for 60 s
    #[arg(long)]
    pub mahimahi: bool,
    /// With link, cell: do not ask for real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// Cases to run at once, in simulated time [default: one for each core]; with cell, in real time [default: 1]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// A reference to compare with.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidateAgainst {
    /// Linux 6.12 in deterministic virtual time, 10 Mbit/s
    Kernel,
    /// The same at 2 to 50 Mbit/s, which nothing was tuned on
    Rates,
    /// The kernel's fq_codel at 10 Mbit/s
    Fq,
    /// mahimahi with real kernel TCP on recorded traces
    Mahimahi,
    /// ns-3's dumbbell
    Ns3,
    /// Real packets in real time beside the simulator, or beside mahimahi
    Link,
    /// The same through a cell, beside the simulator and the 5G QoS thesis
    Cell,
}

/// `qdelay bench`.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Bulk flows through a 100 Mbit/s bottleneck: packets per CPU-second, and memory
    Dumbbell(Dumbbell),
    /// A cell with a hundred UEs: simulated seconds per CPU-second, and memory
    Cell(BenchCell),
    /// Resource blocks shared out among slices: the cost of a decision, by queues, resource blocks and groups
    Eqp(BenchEqp),
    /// Real packets through a link, beside a bare copy loop over the same devices (root only)
    Link(BenchLink),
    /// Runs of papers, beside what ns-3 takes for them
    Papers(BenchPapers),
}

/// `qdelay bench papers`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay bench papers
  qdelay bench papers --runs 11 --json

Exit status 1 where the median of a run's CPU times is not below its target: 0.2 s for 300 s of the ABE paper's Fig. 4, 0.05 s for 14 s of
the rate-delay paper's first experiment, 0.2 s for its third with 20 UEs.")]
pub struct BenchPapers {
    /// How often each is run; the median counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = values::bench_runs, allow_hyphen_values = true)]
    pub runs: u32,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay bench link`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay bench link
  qdelay bench link --seconds 120 --json
  qdelay bench link --link infinite --qdisc taildrop
  qdelay bench link --punctual

Loop and link take turns, and every ratio is the median of pairs. Exit status 1 where the link does less than 85% of the copy
loop, or where a packet is lost that nobody reports; with --punctual, where packets leave a busy link of 100 Mbit/s more than
100 us (p99) or 1 ms (p99.9) late.")]
pub struct BenchLink {
    /// How long it takes, in seconds, but for pauses
    #[arg(long, value_name = "N", default_value = "47", value_parser = values::bench_seconds, allow_hyphen_values = true)]
    pub seconds: f64,
    /// Link in both directions, fast enough to hold nothing up [default: line:100gbit; with --punctual line:100mbit]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub link: Option<String>,
    /// Queue discipline in both directions
    #[arg(long, value_name = "QDISC", default_value = "bode")]
    pub qdisc: String,
    /// How late packets leave a busy link, with real-time priority and spinning and without, instead of how fast it is
    #[arg(long)]
    pub punctual: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay bench cell`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay bench cell
  qdelay bench cell --duration 100s --json
  qdelay bench cell --ues 10 --pacer drql --channel mcs:28")]
pub struct BenchCell {
    /// UEs, each with four bearers, a download and a call
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::cell_ues, allow_hyphen_values = true)]
    pub ues: u64,
    /// How long it runs, in simulated time
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Span,
    /// Pacer above every bearer
    #[arg(long, value_name = "PACER", default_value = "e5g-bdp")]
    pub pacer: String,
    /// Radio channel of every UE
    #[arg(long, value_name = "CHANNEL", default_value = "fading:snr=15")]
    pub channel: String,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay bench eqp`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay bench eqp
  qdelay bench eqp --queues 64 --ttis 1000000
  qdelay bench eqp --queues 16,256,4096 --json

Exit status 1 where p99 is 62.5 us or more with up to 64 queues, or 1 ms or more with up to 10,000, on 275 resource blocks in groups
of 16 or of 1.")]
pub struct BenchEqp {
    /// Queues with data, one or several numbers of them
    #[arg(long, value_name = "N,...", default_value = "64,1000,10000", value_delimiter = ',', value_parser = values::bench_queues, allow_hyphen_values = true)]
    pub queues: Vec<usize>,
    /// Decisions of each size with up to 64 queues; fewer with more, but no fewer than 1000
    #[arg(long, value_name = "N", default_value = "100000", value_parser = values::bench_ttis, allow_hyphen_values = true)]
    pub ttis: u64,
    /// Judge a million decisions of each size that is judged, 100,000 with more than 1000 queues (about a quarter of an hour)
    #[arg(long)]
    pub long: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay bench dumbbell`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay bench dumbbell
  qdelay bench dumbbell --duration 1000s --json
  qdelay bench dumbbell --qdisc pie --transport reno:profile=ns3")]
pub struct Dumbbell {
    /// Flows, with base round trips of 10 to 30 ms in equal steps
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::dumbbell_flows, allow_hyphen_values = true)]
    pub flows: usize,
    /// How long it runs, in simulated time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Span,
    /// Queue discipline at the bottleneck
    #[arg(long, value_name = "QDISC", default_value = "codel")]
    pub qdisc: String,
    /// Transport of every flow
    #[arg(long, value_name = "TRANSPORT", default_value = "cubic")]
    pub transport: String,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Write every packet to this Parquet file, to see what that costs
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}
