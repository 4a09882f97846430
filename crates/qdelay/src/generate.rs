//! `qdelay completions` and `qdelay man`: what a shell and `man` need of the command line, from its own declarations.

use crate::cli::{Cli, Completions, Man};
use clap::CommandFactory;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;

/// Prints the completions of a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "qdelay", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes a page for the command and one for each of its commands: `qdelay.1`, `qdelay-link.1`, `qdelay-trace-convert.1`.
///
/// # Errors
/// The folder does not exist, or a file cannot be written.
pub fn man(options: &Man) -> Result<(), Failure> {
    let folder = &options.folder;
    if !folder.is_dir() {
        return Err(Failure::input(folder.display(), "no such folder; expected one for the pages"));
    }
    // Without the command `help`, of which each command with others below it would have pages for all of those.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder)
        .map_err(|error| Failure::input(folder.display(), format!("{error}; expected a folder to write to")))
}
