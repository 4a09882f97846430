//! `qdelay-proxy`: the command `qdelay proxy` as a program of its own, for systems on which `qdelay` is not built.
#![forbid(unsafe_code)]

use clap::Parser;
use qdelay_core::component::Registry;
use qdelay_proxy::options::ProxyOptions;
use std::process::ExitCode;

/// Carry connections and datagrams of programs over a link, without privileges.
#[derive(Parser, Debug)]
#[command(name = "qdelay-proxy", version, max_term_width = 80)]
struct Cli {
    #[command(flatten)]
    options: ProxyOptions,
}

fn main() -> ExitCode {
    match qdelay_proxy::command::run(&Cli::parse().options, &Registry::new()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
