//! The command `qdelay`: queue disciplines side by side on a cellular link; and a library for programs that add components to it.
//!
//! A program that adds queue disciplines, congestion controls, pacers, traffic sources, MAC schedulers or radio channels has the
//! whole command, with the added names wherever a name is read, in a `main` of a few lines:
//!
//! ```no_run
//! use qdelay::core::component::{Component, Kind, Registry};
//! use qdelay::core::qdisc::{self, Fifo, FifoLaw, LIMIT, limit};
//!
//! /// First in, first out, as `taildrop`.
//! #[derive(Clone, Debug)]
//! struct Plain;
//! impl FifoLaw for Plain {}
//! static PLAIN: Component = Component::new(Kind::Qdisc, "plain", "drops at its limit").with(&[LIMIT.parameter()]);
//!
//! fn main() -> std::process::ExitCode {
//!     qdelay::main_with(Registry::new().with(qdisc::custom(&PLAIN, |arguments| Ok(Fifo::new(limit(arguments), Plain)))))
//! }
//! ```
//!
//! The crates that it is made of are re-exported, for programs that need no command line: [`sim`] runs scenarios that are values,
//! [`study`] runs scenario files.
//!
//! | module | what |
//! | --- | --- |
//! | `cli` | what users type |
//! | `compare` | `qdelay compare`: crosses the axes, runs the cases, prints them |
//! | `run`, `merge`, `report`, `plot`, `reproduce` | `qdelay run`, `qdelay merge`, `qdelay report`, `qdelay plot`, `qdelay reproduce` |
//! | `pack` | `qdelay pack`, and the archives that `qdelay run` takes |
//! | `link` | `qdelay link` |
//! | `mahimahi` | `mm-link`, `mm-delay`, `mm-loss` |
//! | `gateway` | `qdelay gateway` |
//! | `quic` | `qdelay quic` |
//! | `lab` | `qdelay lab` |
//! | `trace_command` | `qdelay trace` |
//! | `import` | `qdelay import` |
//! | `list` | `qdelay list` |
//! | `native` | whose word it takes to open a shared object |
//! | `program` | components that the program itself brings |
//! | `run_table` | the tables that `qdelay run` prints |
//! | `generate` | `qdelay completions`, `qdelay man` |
//! | `usage` | errors of the command line itself |
#![forbid(unsafe_code)]

mod cli;
mod compare;
mod gateway;
mod generate;
pub mod import;
mod lab;
mod link;
mod list;
mod mahimahi;
mod merge;
pub mod native;
pub mod pack;
mod plot;
mod program;
mod quic;
mod report;
mod reproduce;
mod run;
mod run_table;
mod trace_command;
#[doc(hidden)]
pub mod usage;

/// The commit that this was built from, where it was built from a checkout.
pub fn commit() -> Option<String> {
    option_env!("QDELAY_COMMIT").map(str::to_string)
}

pub use compare::{Comparison, OverTime, comparison};
pub use list::DRIVEN;
pub use qdelay_core as core;
pub use qdelay_path as path;
pub use qdelay_ran as ran;
pub use qdelay_sim as sim;
pub use qdelay_study as study;
pub use qdelay_trace as trace;
pub use qdelay_traffic as traffic;

use clap::Parser;
use cli::{Cli, Command, RunClock};
use qdelay_core::component::{ComponentError, Registry};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command with the built-in components.
pub fn main() -> ExitCode {
    main_with(Registry::new())
}

/// The command, with the components of `registry` beside those that are built in. It reads the arguments of the process, prints
/// its errors and returns the exit status. It must be called before any thread is started.
pub fn main_with(registry: Registry) -> ExitCode {
    ExitCode::from(main_in(Process::Executable, std::env::args_os(), registry))
}

/// The components of the command beside those of the pure crates: `registry`, and a transport that comes like one from outside.
///
/// # Errors
/// A name that is taken, or a declaration that is not sound.
pub fn components(registry: Registry) -> Result<Registry, ComponentError> {
    let registry = registry.with(qdelay_quic::custom());
    registry.check(&list::built_in()).map(|()| registry)
}

/// Every component as JSON, with those of `registry`, as `qdelay list --json` prints it.
pub fn list_json(registry: &Registry) -> String {
    list::all_json(registry)
}

/// The shipped traces with their statistics as JSON, as `qdelay trace list --json` prints it.
///
/// # Errors
/// A shipped trace that cannot be read: a fault of the program.
pub fn traces_json() -> Result<String, Failure> {
    trace_command::list_json()
}

/// The process that runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The command's own executable, or that of a program which calls [`main_with`].
    Executable,
    /// An interpreter, such as Python's: its executable cannot be started again as the command.
    Interpreter,
}

/// Runs the command with `arguments`, the program's name first, and returns the exit status.
pub fn main_in(process: Process, arguments: impl IntoIterator<Item = OsString>, registry: Registry) -> u8 {
    let registry = match components(registry) {
        Ok(registry) => registry,
        Err(error) => return Failure::input("registry", error).report_status(),
    };
    let all: Vec<OsString> = arguments.into_iter().collect();
    let mut arguments = all.iter().cloned();
    if let Some(name) = arguments.next().as_deref().and_then(mahimahi::Name::of) {
        let arguments: Vec<_> = arguments.collect();
        let translated = name.translate(&arguments);
        return match translated.and_then(|translated| link::run_translated(&translated, &registry)) {
            Ok(()) => 0,
            Err(failure) => failure.report_status(),
        };
    }
    let parsed = Cli::try_parse_from(all);
    // Interrupts during `link` are handled by the command behind the link. A process that enters a namespace of its own must not
    // have started a thread before.
    match &parsed {
        Ok(Cli { command: Some(Command::Link(_)) }) => {}
        // It has a terminal to put back.
        Ok(Cli { command: Some(Command::Live(_)) }) => {}
        // Takes signals itself, and must not have a second thread when it gives up rights.
        Ok(Cli { command: Some(Command::Gateway(_)) }) => {}
        // It says what it has seen.
        Ok(Cli { command: Some(Command::Quic(_)) }) => {}
        Ok(Cli { command: Some(Command::Run(run)) }) if run.clock == RunClock::Real => {}
        _ => output::exit_when_interrupted(),
    }
    let result = match parsed {
        Ok(cli) if process == Process::Interpreter && starts_itself(&cli) => {
            Err(Failure::input("--clock", usage::NOT_AN_EXECUTABLE))
        }
        Ok(cli) => run(cli, &registry),
        Err(error) => usage::report(&error),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => failure.report_status(),
    }
}

/// Whether the command starts its own executable again: flows and machines of the other clocks are such processes.
fn starts_itself(cli: &Cli) -> bool {
    matches!(&cli.command, Some(Command::Run(run)) if run.clock != RunClock::Simulated)
}

fn run(cli: Cli, registry: &Registry) -> Result<(), Failure> {
    match cli.command {
        None => output::print(cli::WELCOME),
        Some(Command::Compare(options)) => compare::run(&options, &native::typed(registry)),
        Some(Command::Run(options)) => run::run(&options, registry),
        Some(Command::Link(options)) => link::run(&options, registry),
        Some(Command::Live(options)) => live(options),
        Some(Command::Gateway(options)) => gateway::run(&options, registry),
        Some(Command::Merge(options)) => merge::run(&options, registry),
        Some(Command::Pack(options)) => pack::run(&options, registry),
        Some(Command::Report(options)) => report::run(&options, registry),
        Some(Command::Plot(options)) => plot::run(&options),
        Some(Command::Reproduce(options)) => reproduce::run(&options, registry),
        Some(Command::Quic(command)) => quic::run(&command),
        Some(Command::Lab(command)) => lab::run(&command, registry),
        Some(Command::List(options)) => list::run(&options, &native::typed(registry)),
        Some(Command::Trace(command)) => trace_command::run(&command),
        Some(Command::Import(command)) => import::run(&command),
        Some(Command::Completions(options)) => generate::completions(&options),
        Some(Command::Man(options)) => generate::man(&options),
    }
}

fn live(options: cli::Live) -> Result<(), Failure> {
    let cli::Live { socket, interval, once, json } = options;
    qdelay_terminal::live::run(&qdelay_terminal::live::Options { socket, interval, once, json })
}
