//! `qdelay gateway`.

use crate::cli::Gateway;
use crate::native;
use qdelay_core::component::Registry;
use qdelay_terminal::error::Failure;

/// Runs the command.
///
/// # Errors
/// Errors of [`qdelay_gateway::run`] and [`qdelay_gateway::reload`].
pub fn run(options: &Gateway, registry: &Registry) -> Result<(), Failure> {
    if let Some(socket) = &options.reload {
        return qdelay_gateway::reload(socket);
    }
    let Some(config) = options.config.clone() else {
        return Err(Failure::input("CONFIG", "not given; expected the name of a configuration file"));
    };
    let Gateway { check, realtime, spin, allow_native, .. } = *options;
    let registry = native::named_by(&config, allow_native, registry);
    qdelay_gateway::run(&qdelay_gateway::Options { config, check, realtime, spin, registry })
}
