//! The command `qdelay`: queue disciplines side by side on a cellular link.
//!
//! | module | what |
//! | --- | --- |
//! | `cli` | what users type |
//! | `compare` | `qdelay compare`: crosses the axes, runs the cases, prints them |
//! | `run`, `report`, `reproduce` | `qdelay run`, `qdelay report`, `qdelay reproduce` |
//! | `link` | `qdelay link` |
//! | `gateway` | `qdelay gateway` |
//! | `trace_command` | `qdelay trace` |
//! | `list` | `qdelay list` |
//! | `bench`, `bench_link` | `qdelay bench dumbbell`, `qdelay bench link` |
//! | `usage` | errors of the command line itself |
#![forbid(unsafe_code)]

mod bench;
mod bench_cell;
mod bench_eqp;
mod bench_link;
mod bench_papers;
mod cli;
mod compare;
mod gateway;
mod link;
mod list;
mod report;
mod reproduce;
mod run;
mod run_table;
mod trace_command;
mod usage;

use clap::Parser;
use cli::{BenchCommand, Cli, Command, RunClock, ValidateAgainst};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parsed = Cli::try_parse();
    // A link's interrupts are its command's; and what has to enter a namespace of its own cannot have started a thread.
    match &parsed {
        Ok(Cli { command: Some(Command::Link(_)) }) => {}
        // It has a terminal to put back.
        Ok(Cli { command: Some(Command::Live(_)) }) => {}
        // Takes signals itself, and must not have a second thread when it gives up rights.
        Ok(Cli { command: Some(Command::Gateway(_)) }) => {}
        Ok(Cli { command: Some(Command::Run(run)) }) if run.clock == RunClock::Real => {}
        Ok(Cli { command: Some(Command::Validate(of)) }) if of.against == ValidateAgainst::Link => {}
        _ => output::exit_when_interrupted(),
    }
    let result = match parsed {
        Ok(cli) => run(cli),
        Err(error) => usage::report(&error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        None => output::print(cli::WELCOME),
        Some(Command::Compare(options)) => compare::run(&options),
        Some(Command::Run(options)) => run::run(&options),
        Some(Command::Link(options)) => link::run(&options),
        Some(Command::Live(options)) => live(options),
        Some(Command::Gateway(options)) => gateway::run(&options),
        Some(Command::Report(options)) => report::run(&options),
        Some(Command::Reproduce(options)) => reproduce::run(&options),
        Some(Command::List(options)) => list::run(&options),
        Some(Command::Trace(command)) => trace_command::run(&command),
        Some(Command::Validate(options)) => qdelay_validate::run(&options),
        Some(Command::Bench(BenchCommand::Dumbbell(options))) => bench::run(&options),
        Some(Command::Bench(BenchCommand::Cell(options))) => bench_cell::run(&options),
        Some(Command::Bench(BenchCommand::Eqp(options))) => bench_eqp::run(&options),
        Some(Command::Bench(BenchCommand::Link(options))) => bench_link::run(&options),
        Some(Command::Bench(BenchCommand::Papers(options))) => bench_papers::run(&options),
    }
}

fn live(options: cli::Live) -> Result<(), Failure> {
    let cli::Live { socket, interval, once, json } = options;
    qdelay_live::run(&qdelay_live::Options { socket, interval, once, json })
}
