//! `qdelay trace`.

use clap::{Args, Subcommand, ValueEnum};
use qdelay_core::Span;
use qdelay_terminal::values;
use qdelay_trace::synth;
use std::ffi::OsString;
use std::path::PathBuf;

/// `qdelay trace`.
#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Statistics of traces: rates, variation, outages
    Info(TraceInfo),
    /// Guess the format of a file: its keys, what is assumed, and the command that reads it
    Guess(TraceGuess),
    /// Write a trace in another format
    Convert(TraceConvert),
    /// Make a trace of a cellular link from a seed
    Synth(TraceSynth),
    /// List the built-in traces
    List(TraceList),
}

/// `qdelay trace info`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace info synth-lte-driving synth-subway
  qdelay trace info my.down --json
  qdelay trace info 'walk.csv:format=[csv:column=downlink_mbps]'
  qdelay trace info 'walk.csv:format=[csv:dl:unit=kbit:missing=hold]'
  qdelay trace info run.json:format=iperf3")]
pub struct TraceInfo {
    /// Files, or names of shipped traces
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<OsString>,
    /// Format of the files, such as csv:column=NAME ('qdelay list format') [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `qdelay trace guess`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace guess walk.csv
  qdelay trace guess walk.csv lumos.txt iperf3.json test.flent.gz")]
pub struct TraceGuess {
    /// Files, of which the first 64 kB are looked at
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<OsString>,
}

/// `qdelay trace convert`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace convert walk.txt walk.down --to mahimahi
  qdelay trace convert synth-subway subway.txt --to mbps --bin 500ms
  qdelay trace convert synth-subway - --to mbps | head")]
pub struct TraceConvert {
    /// Trace to read: a file, or the name of a shipped trace
    #[arg(value_name = "IN")]
    pub input: OsString,
    /// File to write; - for standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: WrittenFormat,
    /// Bin width of rates, each a mean over the bin, in whole milliseconds
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::positive_span, allow_hyphen_values = true)]
    pub bin: Span,
    /// Format to read, such as csv:column=NAME ('qdelay list format') [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<String>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

/// `qdelay trace synth`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay trace synth -o lte.down
  qdelay trace synth --preset subway --seed 3 --duration 5min -o subway.down
  qdelay trace synth --preset lte-stationary rate=20mbit outage_every=0 \\
    --to mbps -o fast.txt

'qdelay list synth' has the presets and every KEY=VALUE with unit and range.")]
pub struct TraceSynth {
    /// Parameters of the link, as KEY=VALUE ('qdelay list synth')
    #[arg(value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,
    /// Kind of link, from which the other parameters take their defaults
    #[arg(long, value_name = "NAME", default_value = synth::PRESET.parameter().default)]
    pub preset: String,
    /// Length of the trace
    #[arg(long, value_name = "TIME", default_value = synth::DURATION.parameter().default, allow_hyphen_values = true)]
    pub duration: String,
    /// Seed; equal parameters and seed make equal traces
    #[arg(long, value_name = "N", default_value = synth::SEED.parameter().default, allow_hyphen_values = true)]
    pub seed: String,
    /// Format to write: opportunities in bursts, or the rate behind them
    #[arg(long, value_name = "FORMAT", default_value = "mahimahi")]
    pub to: WrittenFormat,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Replace an existing file
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

/// Format of a written trace.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFormat {
    /// A line for each opportunity of 1504 bytes, with its time in milliseconds
    Mahimahi,
    /// Lines with a time in seconds and a rate in Mbit/s
    Mbps,
}
