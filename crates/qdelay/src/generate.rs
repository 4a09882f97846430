//! `qdelay completions` and `qdelay man`: shell completions and manual pages, generated from the declarations of the command line.

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

/// Writes a manual page for the program and one for each command: `qdelay.1`, `qdelay-link.1`, `qdelay-trace-convert.1`.
///
/// # Errors
/// The folder does not exist, or a file cannot be written.
pub fn man(options: &Man) -> Result<(), Failure> {
    let folder = &options.folder;
    if !folder.is_dir() {
        return Err(Failure::input(folder.display(), "no such folder; expected one for the pages"));
    }
    // The command `help` is left out: clap would write a page below it for every other command.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder)
        .map_err(|error| Failure::input(folder.display(), format!("{error}; expected a folder to write to")))
}
