//! `qdelay-dev bench`: the speed of the simulator and of links on this machine.

mod cell;
mod dumbbell;
mod eqp;
mod link;
mod options;
mod papers;
mod proxy;

pub use options::BenchCommand;

use qdelay::native;
use qdelay_core::component::Registry;
use qdelay_terminal::error::Failure;

/// Runs one benchmark.
///
/// # Errors
/// Bad input, a run whose audit failed, or a speed below its target.
pub fn run(command: &BenchCommand, registry: &Registry) -> Result<(), Failure> {
    match command {
        BenchCommand::Dumbbell(options) => dumbbell::run(options, &native::typed(registry)),
        BenchCommand::Cell(options) => cell::run(options, &native::typed(registry)),
        BenchCommand::Eqp(options) => eqp::run(options),
        BenchCommand::Link(options) => link::run(options, &native::typed(registry)),
        BenchCommand::Papers(options) => papers::run(options, registry),
        BenchCommand::Proxy(options) => proxy::run(options),
    }
}
