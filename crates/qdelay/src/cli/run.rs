//! Scenarios and their results: `qdelay run`, `merge`, `report`, `reproduce` and `list`.

use clap::{Args, ValueEnum};
use qdelay_core::Span;
use qdelay_study::engine::Shard;
use qdelay_study::scenario::Starts;
use qdelay_terminal::live::control_options::ControlOptions;
use qdelay_terminal::values;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  The shipped scenarios, and one of them:
    qdelay run --list
    qdelay run demo/first
  A copy to edit:
    qdelay run demo/first --print > mine.toml
    qdelay run mine.toml --seeds 1..10 --out mine
  Figures of each UE (or flow, slice, 5QI):
    qdelay run demo/ues --by ue
  On recorded traces, with a row for every packet:
    qdelay run bode/fig10 --traces ~/traces --packets
  A scenario in real time, with the kernel's TCP (root, or user namespaces;
  iperf3), beside the simulation:
    qdelay run mine.toml --out sim
    qdelay run mine.toml --clock real --out real
    qdelay report sim real -o both.html
  The first of eight parts, and all of them in one folder (docs/sweeps.md):
    qdelay run mine.toml --shard 1/8 --out part-1
    qdelay merge part-* -o mine

A run that was stopped, even by kill -9, continues when the same
command is given again. docs/scenarios.md describes scenario files,
docs/results.md the files in the folder.")]
pub struct Run {
    /// Scenario file, name of a shipped scenario, or archive of 'qdelay pack'
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenario: Option<OsString>,
    /// Folder of the results [default: qdelay-results/NAME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seeds in place of the scenario's: 1, 1,2,7 or 1..5
    #[arg(long, value_name = "SEEDS", value_parser = values::seeds, allow_hyphen_values = true)]
    pub seeds: Option<values::Seeds>,
    /// Start of each seed on the traces, in place of the scenario's: auto, random or fixed (docs/scenarios.md)
    #[arg(long, value_name = "HOW", value_parser = values::starts)]
    pub starts: Option<Starts>,
    /// Duration of each case, in place of the scenario's
    #[arg(long, value_name = "TIME", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Let the scenario name shared objects, such as ./my.so: their code runs with all rights of this program
    #[arg(long)]
    pub allow_native: bool,
    /// Write packets.parquet for each case: a row for every packet
    #[arg(long)]
    pub packets: bool,
    /// Add window, round-trip time, pacing rate and more of each connection to the series (docs/connections.md)
    #[arg(long)]
    pub connections: bool,
    /// Write series.parquet for each case: rates, delays and backlog over time
    #[arg(long)]
    pub series: bool,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Run one shard: 3/8 is the third of eight. Shards may run at the same time, in a folder each or in one folder together
    #[arg(long, value_name = "I/N", conflicts_with_all = ["by", "list", "print"], allow_hyphen_values = true)]
    pub shard: Option<Shard>,
    /// Clock: virtual time of the simulator; real time, with real programs and packets; or virtual time of an emulated machine
    /// with real programs and a Linux kernel
    #[arg(long, value_name = "CLOCK", default_value = "simulated")]
    pub clock: RunClock,
    /// With --clock lab: the image of the laboratory [default: the first of 'qdelay lab list']
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// With --clock lab: the program whose queue is the bottleneck [default: auto]
    #[arg(long, value_name = "WHOSE")]
    pub bottleneck: Option<LabBottleneck>,
    /// With --clock real: do not ask for real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// With --clock real: the command that runs each flow of this transport: dash, web, webrtc or scream (docs/real.md)
    #[arg(long, value_name = "TRANSPORT=COMMAND")]
    pub program: Vec<String>,
    /// With --clock real, and one case: places at which requests are accepted.
    #[command(flatten)]
    pub control: ControlOptions,
    /// With --clock real: exit with status 1 if the verdict says that a case cannot be trusted
    #[arg(long)]
    pub strict: bool,
    /// Print a table by flow, UE, slice, 5QI (or QCI) or group of flows, in place of the other tables
    #[arg(long, value_name = "PART", conflicts_with = "json")]
    pub by: Option<By>,
    /// Delete the results in the folder and start over
    #[arg(long)]
    pub fresh: bool,
    /// Do not ask before a matrix of more than 10000 cases
    #[arg(long)]
    pub yes: bool,
    /// Do not write report.html
    #[arg(long)]
    pub no_report: bool,
    /// Print JSON (docs/json.md): summary.json and the cost of the run
    #[arg(long)]
    pub json: bool,
    /// List the shipped scenarios
    #[arg(long, conflicts_with_all = ["scenario", "print"])]
    pub list: bool,
    /// Print the scenario's text without running it
    #[arg(long)]
    pub print: bool,
}

/// Parts of the traffic that have a row each in the table of a run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The flows of an entry of [[flow]] together
    Group,
    /// Each flow
    Flow,
    /// The flows to a UE of a cell together
    Ue,
    /// The flows of a slice together
    Slice,
    /// The flows of a 5QI together, in LTE of a QCI
    #[value(name = "5qi", alias = "qci")]
    Class,
}

/// The clock of a run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunClock {
    /// Virtual time, as fast as the machine can
    Simulated,
    /// Real time, with flows of iperf3 and our own sender
    Real,
    /// Virtual time of the laboratory's emulated machine (docs/lab.md)
    Lab,
}

/// The bottleneck of cases in the laboratory.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabBottleneck {
    /// The kernel's queue discipline where it supports the case, and else qdelay's
    Auto,
    /// The kernel's queue discipline; a case that it does not support is refused
    Linux,
    /// The queue discipline of qdelay
    Qdelay,
}

/// `qdelay merge`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Two machines, half of the cases each:
    qdelay run mine.toml --shard 1/2 --out part-1
    qdelay run mine.toml --shard 2/2 --out part-2
    qdelay merge part-1 part-2 -o mine

The new folder equals the folder of a single run byte for byte. Where all
shards share one folder, 'qdelay run' without --shard completes that
folder. docs/sweeps.md has more, for Slurm, GNU parallel and Ray.")]
pub struct Merge {
    /// Folders of 'qdelay run --shard' that hold all shards together
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder to make
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Let the scenario of the folders name shared objects, as 'qdelay run' does: next to the scenario or in the current folder
    #[arg(long)]
    pub allow_native: bool,
    /// Cases to copy at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print a table by flow, UE, slice, 5QI (or QCI) or group of flows, in place of the other tables
    #[arg(long, value_name = "PART", conflicts_with = "json")]
    pub by: Option<By>,
    /// Do not write report.html
    #[arg(long)]
    pub no_report: bool,
    /// Print JSON (docs/json.md): summary.json and the cost of merging
    #[arg(long)]
    pub json: bool,
}

/// `qdelay pack`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay run mine.toml --seeds 1..10 --out mine
  qdelay pack mine -o mine.tar
  On another machine, or a year later with the same version:
    qdelay run mine.tar --out again
  With a shared object, which is copied into the archive:
    qdelay pack mine -o mine.tar --allow-native
    qdelay run mine.tar --out again --allow-native

The archive (tar) has the scenario with its seeds, traces that are not shipped,
shared objects, versions, and the digests of the results; a run of the archive
compares its results with them. Folders with components of Python are packed by
qdelay.pack and run by 'python -m qdelay run'. docs/results.md has more.")]
pub struct Pack {
    /// Folder of 'qdelay run' with all of its cases
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Archive to write
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Let the scenario of the folder name shared objects, as 'qdelay run' does: next to the scenario or in the current folder
    #[arg(long)]
    pub allow_native: bool,
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
  The table that the run printed, again:
    qdelay report mine --table
  With differences of the flows of one [[flow]] entry:
    qdelay report mine --table --differences call
  A row for each case, or for each flow, for a data frame:
    qdelay report mine --csv mine.csv --parquet mine.parquet
    qdelay report before after --csv - --rows flows | head

docs/report.md explains the page, docs/results.md the columns.")]
pub struct Report {
    /// Result folders of 'qdelay run' or 'qdelay link --out'
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// HTML page to write [default: report.html in the folder, or in the current one for several]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write each plot as SVG into this folder, in place of the page
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub svg: Option<PathBuf>,
    /// Print the tables of 'qdelay run', in place of the page; several folders share one table, with their differences
    #[arg(long)]
    pub table: bool,
    /// With --table: print a table by flow, UE, slice, 5QI (or QCI) or group of flows, in place of the other tables
    #[arg(long, value_name = "PART", requires = "table")]
    pub by: Option<By>,
    /// With --table: differences of the flows of this [[flow]] entry, with their own measures, in place of all packets
    #[arg(long, value_name = "NAME", requires = "table")]
    pub differences: Option<String>,
    /// Print summary.json (docs/json.md), in place of the page; one document for several folders
    #[arg(long, conflicts_with = "table")]
    pub json: bool,
    /// Write every figure as CSV, in place of the page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write every figure as Parquet, in place of the page
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Write each case with time series as a data file of flent (.flent.gz) into this folder, in place of the page
    #[arg(long, value_name = "DIR")]
    pub flent: Option<PathBuf>,
    /// With --csv or --parquet: the unit of a row [default: cases]
    #[arg(long, value_name = "WHAT")]
    pub rows: Option<ReportRows>,
}

/// The rows of tables.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportRows {
    /// Each case
    Cases,
    /// Each entry of [[flow]] of each case
    Groups,
    /// Each flow of each case
    Flows,
}

/// `qdelay reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay reproduce bode --traces ~/traces
  qdelay reproduce bode --traces ~/traces --quick
  qdelay reproduce bode --figure 10
  qdelay reproduce abe --figure beyond --out abe
  qdelay reproduce lying --json

A claim whose figure is within its bounds is a match, or 'fitted' where the
setting was chosen by that figure. A figure out of bounds is 'better' on the
good side of the paper's, 'explained' where a stated setting brings it in bounds
and breaks no other row, and else a 'miss'. Bounds and settings are in one file
for each paper. Without recorded traces the command uses synthetic ones and says
so. Exit status 1 after any miss.")]
pub struct Reproduce {
    /// Paper: bode, 5g (chapter 3 of the thesis), eqp (its chapter 4), abe, rd; or lying, a study of our own
    #[arg(value_name = "PAPER")]
    pub paper: String,
    /// Check only the claims about this figure or section
    #[arg(long, value_name = "N")]
    pub figure: Option<String>,
    /// Run a quarter of each scenario's seeds, at least two: a first look; verdicts can differ from those of all seeds
    #[arg(long)]
    pub quick: bool,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Keep the results in this folder: a folder with a report for each scenario, and a report of the paper's figures
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md)
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
  qdelay list --json
  qdelay list --header > qdelay_component.h")]
pub struct List {
    /// Kind (qdisc, pacer, transport, link, loss, jitter, channel, scheduler, partition, rlc, pdcp, preset), name of a component or a
    /// preset, or shared object with a component, such as ./my.so [default: all]
    pub what: Option<String>,
    /// Print qdelay_component.h, the header for components in C
    #[arg(long, conflicts_with_all = ["what", "json"])]
    pub header: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}
