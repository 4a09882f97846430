//! `qdelay-dev validate`.

use clap::{Args, ValueEnum};
use qdelay_core::Span;
use qdelay_terminal::values;
use std::path::PathBuf;

/// `qdelay-dev validate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev validate kernel
  qdelay-dev validate kernel --variant rfc
  qdelay-dev validate mahimahi --traces ~/traces
  qdelay-dev validate leo --traces ~/traces
  qdelay-dev validate cellreplay
  qdelay-dev validate ns3 --json
  qdelay-dev validate radio
  qdelay-dev validate link --traces ~/traces
  qdelay-dev validate link --traces ~/traces --only ATT-LTE,bbr --seconds 15
  qdelay-dev validate link --traces ~/traces --mahimahi
  qdelay-dev validate link --rrul
  qdelay-dev validate link --traces ~/traces --quic
  qdelay-dev validate lab
  qdelay-dev validate lab --draw 2 --cells 24
  qdelay-dev validate lab --settled --draw 4301
  qdelay-dev validate lab --decisions
  qdelay-dev validate netem
  qdelay-dev validate netem --measure --only loss,25%

'link' takes time: a run of --seconds for each of 48 cells, or of 60 s for each
of mahimahi's 20. What was stopped goes on. Exit status 1 where fewer than 90%
of the cells match that could be judged; with --mahimahi or --rrul, where any
misses.

A cell whose figures are all within their bounds is a match; one that is
outside is 'explained' where the cause is known (tests/reference/explained.tsv)
and else a 'miss'. Exit status 1 where anything misses.")]
pub struct Validate {
    /// Reference to compare with
    #[arg(value_name = "REFERENCE")]
    pub against: ValidateAgainst,
    /// With kernel: variant of CoDel and PIE to compare with the kernel's [default: linux]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// With mahimahi, leo, link, cell: folder with the recorded traces [default: the variable QDELAY_TRACES]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// With mahimahi, link: base round trip [default: 10ms, the nominal one]
    #[arg(long, value_name = "TIME", value_parser = values::constant_round_trip, allow_hyphen_values = true)]
    pub rtt: Option<Span>,
    /// With mahimahi: scheduling delay of the machine, drawn for each packet up to this [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Option<Span>,
    /// With link, cell: duration of each cell or case, in seconds [default: 20; of --rrul 30, of cell 200]
    #[arg(long, value_name = "N", value_parser = values::cell_seconds, allow_hyphen_values = true)]
    pub seconds: Option<u64>,
    /// With link, cell: number of repetitions of a run that cannot be trusted [default: 3; of cell 1]
    #[arg(long, value_name = "N", value_parser = values::retries, allow_hyphen_values = true)]
    pub retries: Option<u32>,
    /// With link, cell, lab, netem: run only those whose names have all of these words, such as ATT-LTE,bbr; repeat for more
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// With link, cell, lab, netem: folder of the runs [default: qdelay-results/validate-link, ...-mahimahi, -quic, -rrul, -cell, -lab or -netem]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With link, cell, lab, netem: delete earlier runs in the folder
    #[arg(long)]
    pub fresh: bool,
    /// With link: compare with mahimahi's results too, on its traces, for 60 s
    #[arg(long)]
    pub mahimahi: bool,
    /// With link: run demo/rrul in place of the traces, 30 s a cell: downloads, uploads and pings on one line
    #[arg(long)]
    pub rrul: bool,
    /// With link: use QUIC in place of TCP, the same stack on both sides, for 36 cells
    #[arg(long)]
    pub quic: bool,
    /// With link, cell: do not ask for real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// With lab: seed of the draw of cells [default: 1]
    #[arg(long, value_name = "SEED")]
    pub draw: Option<u64>,
    /// With lab: number of cells to draw [default: 60]
    #[arg(long, value_name = "N", value_parser = values::cells, allow_hyphen_values = true)]
    pub cells: Option<usize>,
    /// With lab: draw cells of 50 Mbit/s and more, with eight seeds each, and count only cells in which the kernel's runs agree
    #[arg(long, conflicts_with = "decisions")]
    pub settled: bool,
    /// With lab: compare each decision of queue disciplines on recorded arrivals, in place of figures
    #[arg(long)]
    pub decisions: bool,
    /// With lab, netem: image of the laboratory [default: the first of 'qdelay lab list']
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// With netem: measure the kernel again in the laboratory, in place of the stored figures
    #[arg(long)]
    pub measure: bool,
    /// With netem --measure: machines, with the seeds from 1 on; with one, the kernel's spread is not known and nothing misses [default: 8]
    #[arg(long, value_name = "N", value_parser = values::machines, allow_hyphen_values = true, requires = "measure")]
    pub machines: Option<u64>,
    /// The part of 'netem --measure' that runs in the machine
    #[arg(long, hide = true)]
    pub in_machine: bool,
    /// With cellreplay: write the recording into this folder, for the program itself, and end
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Cases to run at once, in simulated time [default: one for each core]; with cell, in real time [default: 1]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// Reference to compare with.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidateAgainst {
    /// Linux 6.12 in deterministic virtual time, 10 Mbit/s
    Kernel,
    /// Linux 6.12 in deterministic virtual time at 2 to 50 Mbit/s, for which no parameter was tuned
    Rates,
    /// The kernel's fq_codel at 10 Mbit/s
    Fq,
    /// mahimahi with real kernel TCP on recorded traces
    Mahimahi,
    /// LeoReplayer with kernel TCP on its example pair of files
    Leo,
    /// CellReplay with kernel TCP on a recording of two loads
    Cellreplay,
    /// ns-3's dumbbell
    Ns3,
    /// ns-3's LTE: uplink, RLC, HARQ, schedulers
    Radio,
    /// Real packets in real time, compared with the simulator or with mahimahi
    Link,
    /// Real packets in real time through a cell, compared with the simulator and the 5G QoS thesis
    Cell,
    /// A real kernel in deterministic virtual time (docs/lab.md), compared with the simulator in cells that a seed draws
    Lab,
    /// Linux's netem: loss, corruption, duplication, reordering and jitter with variant=netem
    Netem,
}
