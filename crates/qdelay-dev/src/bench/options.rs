//! `qdelay-dev bench`.

use clap::{Args, Subcommand};
use qdelay_core::Span;
use qdelay_terminal::values;
use std::path::PathBuf;

/// `qdelay-dev bench`.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Measure bulk flows through a 100 Mbit/s bottleneck: packets per CPU-second, and memory
    Dumbbell(Dumbbell),
    /// Measure a cell with a hundred UEs: simulated seconds per CPU-second, and memory
    Cell(BenchCell),
    /// Measure the partition of resource blocks among slices: cost of a decision by queues, resource blocks and groups
    Eqp(BenchEqp),
    /// Measure real packets through a link, beside a bare copy loop over the same devices (root only)
    Link(BenchLink),
    /// Measure runs of papers, compared with the CPU time of ns-3
    Papers(BenchPapers),
    /// Measure a proxy beside one that only copies: CPU time and delays at 1 Gbit/s
    Proxy(BenchProxy),
}

/// `qdelay-dev bench papers`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench papers
  qdelay-dev bench papers --runs 11 --json

Exit status 1 where the median of a run's CPU times is not below its target:
0.2 s for 300 s of the ABE paper's Fig. 4, 0.05 s for 14 s of the rate-delay
paper's first experiment, 0.2 s for its third with 20 UEs.")]
pub struct BenchPapers {
    /// Number of runs of each; the median counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = values::bench_runs, allow_hyphen_values = true)]
    pub runs: u32,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay-dev bench proxy`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench proxy
  qdelay-dev bench proxy --seconds 10 --runs 9 --json

A hundred connections share 1 Gbit/s through a path of 2 Gbit/s and 20 ms. Both
proxies take turns, and the ratio is the median of pairs. Exit status 1 where the
proxy takes more than 1.5 times the CPU time of the copying one, or adds
more than 1 ms to the delay of the path (p50).")]
pub struct BenchProxy {
    /// Seconds of load of each run
    #[arg(long, value_name = "N", default_value = "5", value_parser = values::bench_seconds, allow_hyphen_values = true)]
    pub seconds: f64,
    /// Number of pairs of runs
    #[arg(long, value_name = "N", default_value = "5", value_parser = values::bench_runs, allow_hyphen_values = true)]
    pub runs: u32,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay-dev bench link`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench link
  qdelay-dev bench link --seconds 120 --json
  qdelay-dev bench link --link infinite --qdisc taildrop
  qdelay-dev bench link --punctual

Loop and link take turns, and every ratio is the median of pairs, without offload
and, where the kernel can, with it. Exit status 1 where the link does less than
95% of the copy loop without offload, or with offload less than 2.5 times its
TCP, or where a packet is lost that nobody reports; with --punctual, where packets leave a busy link of 100
Mbit/s more than 100 us (p99) or 1 ms (p99.9) late.")]
pub struct BenchLink {
    /// Duration in seconds, without pauses
    #[arg(long, value_name = "N", default_value = "47", value_parser = values::bench_seconds, allow_hyphen_values = true)]
    pub seconds: f64,
    /// Link in both directions; the default delays no packet [default: line:100gbit; with --punctual line:100mbit]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub link: Option<String>,
    /// Queue discipline in both directions
    #[arg(long, value_name = "QDISC", default_value = "bode")]
    pub qdisc: String,
    /// Measure the lateness of packets on a busy link, with and without real-time priority and spinning, instead of throughput
    #[arg(long)]
    pub punctual: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay-dev bench cell`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench cell
  qdelay-dev bench cell --duration 100s --json
  qdelay-dev bench cell --ues 10 --pacer drql --channel mcs:28")]
pub struct BenchCell {
    /// Number of UEs, each with four bearers, a download and a call
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::cell_ues, allow_hyphen_values = true)]
    pub ues: u64,
    /// Duration in simulated time
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Span,
    /// Pacer above every bearer
    #[arg(long, value_name = "PACER", default_value = "e5g-bdp")]
    pub pacer: String,
    /// Radio channel of every UE
    #[arg(long, value_name = "CHANNEL", default_value = "fading:snr=15")]
    pub channel: String,
    /// Add the uplink of the cell, and an upload for each UE
    #[arg(long)]
    pub uplink: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay-dev bench eqp`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench eqp
  qdelay-dev bench eqp --queues 64 --ttis 1000000
  qdelay-dev bench eqp --queues 16,256,4096 --json

Exit status 1 where p99 is 62.5 us or more with up to 64 queues, or 1 ms or
more with up to 10,000, on 275 resource blocks in groups of 16 or of 1.")]
pub struct BenchEqp {
    /// Number of queues with data; one or several numbers
    #[arg(long, value_name = "N,...", default_value = "64,1000,10000", value_delimiter = ',', value_parser = values::bench_queues, allow_hyphen_values = true)]
    pub queues: Vec<usize>,
    /// Number of decisions of each size with up to 64 queues; fewer for more queues, at least 1000
    #[arg(long, value_name = "N", default_value = "100000", value_parser = values::bench_ttis, allow_hyphen_values = true)]
    pub ttis: u64,
    /// Measure a million decisions of each judged size (about a quarter of an hour)
    #[arg(long)]
    pub long: bool,
    /// Hide the versions of queues, so that the partition examines all of them in each TTI
    #[arg(long)]
    pub untold: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay-dev bench dumbbell`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay-dev bench dumbbell
  qdelay-dev bench dumbbell --duration 1000s --json
  qdelay-dev bench dumbbell --qdisc pie --transport reno:profile=ns3")]
pub struct Dumbbell {
    /// Number of flows, with base round trips of 10 to 30 ms in equal steps
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::flows, allow_hyphen_values = true)]
    pub flows: usize,
    /// Duration in simulated time
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
    /// Write every packet to this Parquet file, to measure the cost
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}
