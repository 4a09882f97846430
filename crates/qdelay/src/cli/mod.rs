//! The command line: commands, options, their help and examples.

mod compare;
mod control;
mod generate;
mod import;
mod lab;
mod link;
mod plot;
mod quic;
mod run;
mod trace;

pub use compare::Compare;
pub use control::{Cut, Reset, Set};
pub use generate::{Completions, Man};
pub use import::{
    ImportCaptures, ImportCommand, ImportIrtt, ImportMahimahi, TraceDelay, TraceFiles, TraceRate,
};
pub use lab::{LabBuild, LabCommand, LabList};
pub use link::Gateway;
pub use link::{Link, Live};
pub use plot::Plot;
pub use quic::{QuicCommand, QuicReceive, QuicSend};
pub use run::LabBottleneck;
pub use run::{By, List, Merge, Pack, Report, ReportRows, Reproduce, Run, RunClock};
pub use trace::{TraceCommand, TraceConvert, TraceGuess, TraceInfo, TraceList, TraceSynth, WrittenFormat};

use clap::{Parser, Subcommand};
use qdelay_proxy::options::ProxyOptions;

/// The output of `qdelay` without a command.
pub const WELCOME: &str = "\
qdelay bounds and measures queueing delay at a cellular bottleneck.

Try this first:

  qdelay compare --trace synth-lte-driving

The command runs five queue disciplines under TCP Cubic and BBR over a built-in
synthetic LTE link, and prints throughput and delay side by side. Use your own
link with --trace FILE or --link 10mbit.

  qdelay compare   run queue disciplines side by side on a link
  qdelay run       run every case of a scenario into a folder, with a report
  qdelay merge     one folder from the shards of a run, as on several machines
  qdelay pack      one archive of the inputs of results, to run them again
  qdelay report    one HTML page from result folders, also from several
  qdelay plot      a figure for a paper from result folders, with its data
  qdelay reproduce a paper's claims beside our figures
  qdelay link      put your own program behind a link, in real time
  qdelay proxy     the same for ports, without privileges
  qdelay live      watch a link while it runs
  qdelay set       change a link while it runs; also cut, pause, restore, reset
  qdelay gateway   a link between two network interfaces, for your devices
  qdelay quic      a QUIC connection over sockets, to put behind a link
  qdelay lab       a Linux kernel in virtual time, for run --clock lab
  qdelay list      every component with parameters, units, ranges and defaults
  qdelay trace     statistics of traces; convert them; make new ones from a seed
  qdelay import    rates and delays from mahimahi's logs, captures and irtt

'qdelay help COMMAND' explains each, with examples.
";

/// Bounds and measures queueing delay at a cellular bottleneck.
#[derive(Parser, Debug)]
#[command(
    name = "qdelay",
    version = env!("QDELAY_VERSION"),
    subcommand_required = false,
    max_term_width = 80,
    after_help = "Try first:\n  qdelay compare --trace synth-lte-driving\n\n\
        Exit status: 0 done, 1 an expectation or an audit failed, 2 bad input,\n\
        130 interrupted."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands of `qdelay`.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run queue disciplines side by side on a link
    Compare(Box<Compare>),
    /// Run a scenario: every case of its matrix into a folder, with a report
    Run(Run),
    /// Merge shard folders into one, byte for byte as a single run would write it
    Merge(Merge),
    /// Pack the inputs of a results folder into one archive, which 'qdelay run' runs again to the same bytes
    Pack(Pack),
    /// Make one HTML page from result folders; several are laid side by side
    Report(Report),
    /// Draw a figure for a paper from result folders, with its data: PDF, SVG, PGF or PNG
    Plot(Plot),
    /// Run a paper's experiments and print its claims beside our figures
    Reproduce(Reproduce),
    /// Put a program behind a link, in real time: a command or a shell in a network of its own
    Link(Box<Link>),
    /// Carry connections and datagrams over a link without privileges, as a proxy
    Proxy(Box<ProxyOptions>),
    /// Watch a link, gateway, proxy or case that has a control socket
    Live(Live),
    /// Change the path of a running link, gateway, proxy or case: rate, delay, loss, discipline
    Set(Set),
    /// Drop every packet of a running link, gateway, proxy or case, until 'qdelay restore'
    Cut(Cut),
    /// Let packets of a running link, gateway, proxy or case wait in its queues, until 'qdelay restore'
    Pause(Cut),
    /// End a cut or a pause
    Restore(Cut),
    /// Reset the TCP connections that cross a running link, gateway, proxy or case
    Reset(Reset),
    /// Carry packets between two network interfaces over a link, in real time, until stopped
    Gateway(Gateway),
    /// Run one end of a QUIC connection over sockets, such as behind a link
    #[command(subcommand)]
    Quic(QuicCommand),
    /// Manage the laboratory: a Linux kernel in virtual time, for run --clock lab
    #[command(subcommand)]
    Lab(LabCommand),
    /// List every component with parameters, units, ranges, defaults and sources
    List(List),
    /// Statistics of traces; convert them; make new ones
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Measurements of other programs: mahimahi's logs, captures of both ends of a link
    #[command(subcommand)]
    Import(ImportCommand),
    /// Print the completions of a shell
    Completions(Completions),
    /// Write manual pages of every command
    Man(Man),
}
