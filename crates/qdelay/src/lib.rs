//! The command `qdelay`, which runs queue disciplines side by side on a cellular link, and a library for programs with their own
//! components.
//!
//! A program that adds queue disciplines, congestion controls, pacers, traffic sources, MAC schedulers or radio channels offers the
//! whole command, which accepts the added names wherever a name is read. Its `main` has a few lines:
//!
//! ```no_run
//! use qdelay::core::component::{Component, Kind, Registry};
//! use qdelay::core::qdisc::{self, Fifo, FifoLaw, LIMIT, limit};
//!
//! /// First in, first out, with the drops of `taildrop`.
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
//! The crates behind the command are re-exported for programs that need no command line: [`sim`] runs scenarios built as values,
//! [`study`] runs scenario files.
//!
//! | module | contents |
//! | --- | --- |
//! | `cli` | command line: options and help |
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
//! | `native` | permission to open shared objects |
//! | `program` | components compiled into the program |
//! | `run_table` | the tables that `qdelay run` prints |
//! | `generate` | `qdelay completions`, `qdelay man` |
//! | `usage` | errors of the command line itself |
#![forbid(unsafe_code)]

mod cli;
mod compare;
mod control;
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

/// Commit of the checkout that the program was built from; `None` outside a checkout.
pub fn commit() -> Option<String> {
    option_env!("QDELAY_COMMIT").map(str::to_string)
}

pub use compare::{Comparison, OverTime, comparison};
pub use list::DRIVEN;
pub use qdelay_config::RenamedKey;
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

/// Runs the command with the built-in components.
pub fn main() -> ExitCode {
    main_with(Registry::new())
}

/// Runs the command with the components of `registry` and the built-in ones: reads the arguments of the process, prints errors and
/// returns the exit status. Call this function before any thread is started.
pub fn main_with(registry: Registry) -> ExitCode {
    ExitCode::from(main_in(Process::Executable, std::env::args_os(), registry))
}

/// Registry of the components outside the pure crates: `registry`, and QUIC, which is registered like a component from outside.
///
/// # Errors
/// A name that is taken, or an invalid declaration.
pub fn components(registry: Registry) -> Result<Registry, ComponentError> {
    let registry = registry.with(qdelay_quic::custom());
    registry.check(&list::built_in()).map(|()| registry)
}

/// Every component, including those of `registry`, as the JSON of `qdelay list --json`.
pub fn list_json(registry: &Registry) -> String {
    list::all_json(registry)
}

/// The shipped traces with their statistics, as the JSON of `qdelay trace list --json`.
///
/// # Errors
/// An unreadable shipped trace, which is a fault of the program.
pub fn traces_json() -> Result<String, Failure> {
    trace_command::list_json()
}

/// An option of `qdelay link`, for callers that start the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOption {
    /// Name without hyphens in front, such as `up-loss`.
    pub name: String,
    /// Name of the value in the help, such as `TIME`; `None` for a switch.
    pub value: Option<String>,
    /// Whether the option may be given several times.
    pub repeats: bool,
}

/// The options of `qdelay link`, also those that its help summarizes.
pub fn link_options() -> Vec<LinkOption> {
    let command = <cli::Link as clap::Args>::augment_args(clap::Command::new("link"));
    let option = |argument: &clap::Arg| {
        let value = argument.get_value_names().and_then(|names| names.first());
        Some(LinkOption {
            name: argument.get_long()?.to_string(),
            value: value.filter(|_| argument.get_action().takes_values()).map(ToString::to_string),
            repeats: matches!(argument.get_action(), clap::ArgAction::Append),
        })
    };
    command.get_arguments().filter_map(option).collect()
}

/// Kind of the process that runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The command's own executable, or a program that calls [`main_with`].
    Executable,
    /// An interpreter such as Python, whose executable cannot be started again as the command.
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
    if let Some(name) = arguments.next().as_deref().and_then(mahimahi::Name::from_program) {
        let arguments: Vec<_> = arguments.collect();
        let translated = name.translate(&arguments);
        return match translated.and_then(|translated| link::run_translated(&translated, &registry)) {
            Ok(()) => 0,
            Err(failure) => failure.report_status(),
        };
    }
    let parsed = Cli::try_parse_from(all);
    // Interrupts during `link` go to the command behind the link. A process that enters its own namespace must not
    // have started a thread before.
    match &parsed {
        Ok(Cli { command: Some(Command::Link(_)) }) => {}
        // The proxy prints its results on an interrupt.
        Ok(Cli { command: Some(Command::Proxy(_)) }) => {}
        // The live view restores the terminal on an interrupt.
        Ok(Cli { command: Some(Command::Live(_)) }) => {}
        // The gateway handles signals itself, and must not have a second thread when it drops privileges.
        Ok(Cli { command: Some(Command::Gateway(_)) }) => {}
        // The QUIC ends print their results on an interrupt.
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

/// Clocks whose flows or machines are further processes of the command's own executable.
fn starts_itself(cli: &Cli) -> bool {
    matches!(&cli.command, Some(Command::Run(run)) if run.clock != RunClock::Simulated)
}

fn run(cli: Cli, registry: &Registry) -> Result<(), Failure> {
    match cli.command {
        None => output::print(cli::WELCOME),
        Some(Command::Compare(options)) => compare::run(&options, &native::typed(registry)),
        Some(Command::Run(options)) => run::run(&options, registry),
        Some(Command::Link(options)) => link::run(&options, registry),
        Some(Command::Proxy(options)) => qdelay_proxy::command::run(&options, &native::typed(registry)),
        Some(Command::Live(options)) => live(options),
        Some(Command::Set(options)) => control::set(&options),
        Some(Command::Cut(options)) => control::cut("cut", &options),
        Some(Command::Pause(options)) => control::cut("pause", &options),
        Some(Command::Restore(options)) => control::cut("restore", &options),
        Some(Command::Reset(options)) => control::reset(&options),
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
