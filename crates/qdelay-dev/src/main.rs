//! The developers' command `qdelay-dev`: validation against references (`validate`), and benchmarks (`bench`).
//!
//! All other arguments are passed to `qdelay`, which is part of this program: `validate link` and `validate lab` start the program's own
//! executable again, as `link`, `quic` and `lab guest`.
//!
//! | module | contents |
//! | --- | --- |
//! | `validate` | our figures beside those of a kernel, of mahimahi and of ns-3; real packets beside the simulator |
//! | `bench` | packets per CPU-second, cells, decisions of EQP, real packets, proxies, runs of papers |
#![forbid(unsafe_code)]

mod bench;
mod validate;

use bench::BenchCommand;
use clap::{Parser, Subcommand};
use qdelay::usage;
use qdelay_core::component::Registry;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::process::ExitCode;
use validate::{Validate, ValidateAgainst};

/// Commands for developers of qdelay; every command of qdelay works too.
#[derive(Parser, Debug)]
#[command(
    name = "qdelay-dev",
    max_term_width = 80,
    after_help = "Exit status: 0 done, 1 a cell misses or a target is not met, 2 bad input, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Compare our figures with a real kernel, mahimahi and ns-3
    Validate(Validate),
    /// Measure the speed of the simulator on this machine
    #[command(subcommand)]
    Bench(BenchCommand),
}

fn main() -> ExitCode {
    let is_own = |name: &str| ["validate", "bench", "help", "--help", "-h"].contains(&name);
    if std::env::args_os().nth(1).is_some_and(|name| !name.to_str().is_some_and(is_own)) {
        return qdelay::main();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.report_status()),
    }
}

fn run() -> Result<(), Failure> {
    let registry = qdelay::components(Registry::new()).map_err(|error| Failure::input("registry", error))?;
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return usage::report(&error),
    };
    // A process that enters its own namespace, as for a link, must not have started a thread before.
    let is_link = matches!(&command, Command::Validate(options) if options.against == ValidateAgainst::Link);
    if !is_link {
        output::exit_when_interrupted();
    }
    match command {
        Command::Validate(options) => validate::run(&options),
        Command::Bench(command) => bench::run(&command, &registry),
    }
}
