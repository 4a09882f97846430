//! `qdelay compare`.

use clap::Args;
use qdelay_core::Span;
use qdelay_study::scenario::Starts;
use qdelay_study::scenario::declare::{Flow, Path, Run, Settings};
use qdelay_study::traces::delay::Delay;
use qdelay_terminal::values;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  The defaults, on a built-in trace:
    qdelay compare --trace synth-lte-driving
  One question on a trace of your own, with a probe beside the flow:
    qdelay compare --trace my.down --qdisc bode:target=20ms,codel \\
      --transport cubic --probe
  Parameters, two links, three seeds, for a program to read:
    qdelay compare --link 10mbit:overhead=14 \\
      --link steps:0s@6mbit+10s@600kbit:repeat=20s \\
      --qdisc codel,codel:target=10ms:interval=50ms --seed 1..3 --json
  A column of a drive test's table:
    qdelay compare --trace walk.csv --trace-format csv:column=downlink_mbps
  Recorded traces of a folder:
    qdelay compare --traces ~/traces --trace mahimahi/ATT-LTE-driving.down

Components are written name[:key=value[:key=value...]], commas separate them;
'qdelay list' prints all of them. docs/measures.md defines the measures,
docs/json.md the output of --json.")]
pub struct Compare {
    /// Trace of the bottleneck: a file, also in a folder of --traces, or the name of a shipped trace ('qdelay trace list'); repeat for more
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<OsString>,
    /// Folder with recorded traces; repeat for more. The variable QDELAY_TRACES names one too
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Bottleneck without a trace, such as 10mbit:overhead=14 or synth:subway:seed=3; repeat for more
    #[arg(long, value_name = "LINK")]
    pub link: Vec<String>,
    /// Format of the traces, such as csv:column=NAME:unit=kbit ('qdelay list format') [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Queue disciplines at the bottleneck
    #[arg(long, value_name = "LIST", default_value = "taildrop,headdrop,codel,pie,bode")]
    pub qdisc: Vec<String>,
    /// Transports; all flows of a case use the same one
    #[arg(long, value_name = "LIST", default_value = "cubic,bbr")]
    pub transport: Vec<String>,
    /// Flows of each case; they start within 4 ms, with random starts within 200 ms
    #[arg(long, value_name = "N", default_value = Flow::defaults().count.default_text(), value_parser = values::flows, allow_hyphen_values = true)]
    pub flows: usize,
    /// Duration of each case, in simulated time
    #[arg(long, value_name = "TIME", default_value = Run::defaults().duration.default_text(), value_parser = values::positive_span, allow_hyphen_values = true)]
    pub duration: Span,
    /// Start of the measurement of rates and delays; counts cover the whole run
    #[arg(long, value_name = "TIME", default_value = Run::defaults().warmup.default_text(), value_parser = values::span, allow_hyphen_values = true)]
    pub warmup: Span,
    /// Base round-trip time, without any queue: 20ms, or over time: steps:0s@20ms+5s@60ms, trace:FILE (docs/scenarios.md)
    #[arg(long, value_name = "TIME", default_value = Path::defaults().rtt.default_text(), value_parser = values::round_trip, allow_hyphen_values = true)]
    pub rtt: Delay,
    /// Largest jitter behind the bottleneck, drawn for each packet; packets keep their order
    #[arg(long, value_name = "TIME", default_value = Path::defaults().jitter.default_text(), value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Span,
    /// Seeds: 1, 1,2,7 or 1..5
    #[arg(long, value_name = "SEEDS", default_value = Run::defaults().seeds.default_text(), value_parser = values::seeds, allow_hyphen_values = true)]
    pub seed: values::Seeds,
    /// Start of each seed on the traces: random, a place for each seed; fixed, the beginning for all; auto, random with several seeds
    #[arg(long, value_name = "HOW", default_value = Run::defaults().starts.default_text(), value_parser = values::starts)]
    pub starts: Starts,
    /// Link of the acknowledgements: a rate, any link that --link takes, a trace, or 'none'
    #[arg(long, value_name = "LINK", default_value = Path::defaults().uplink.default_text(), allow_hyphen_values = true)]
    pub uplink: String,
    /// Packet limit of the uplink's queue
    #[arg(long, value_name = "PACKETS", default_value = Path::defaults().uplink_limit.default_text(), value_parser = values::limit, allow_hyphen_values = true)]
    pub uplink_limit: u64,
    /// Packet limit of the bottleneck's queue, where the discipline has no 'limit' of its own [default: the discipline's]
    #[arg(long, value_name = "PACKETS", value_parser = values::limit, allow_hyphen_values = true)]
    pub limit: Option<u64>,
    /// End a trace after its last opportunity, instead of starting over
    #[arg(long)]
    pub no_repeat: bool,
    /// Send a 64-byte packet 100 times a second through the same queue and measure its delay
    #[arg(long)]
    pub probe: bool,
    /// Smallest packet, in bytes, that counts in the figures of delay
    #[arg(long, value_name = "N", default_value = Run::defaults().min_packet_bytes.default_text(), value_parser = values::packet_bytes, allow_hyphen_values = true)]
    pub min_packet_bytes: u32,
    /// Cases to run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    pub jobs: Option<usize>,
    /// Print JSON (docs/json.md) instead of tables
    #[arg(long)]
    pub json: bool,
}
