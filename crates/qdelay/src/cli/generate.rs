//! `qdelay completions` and `qdelay man`, which `make install` calls.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `qdelay completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  qdelay completions bash > ~/.local/share/bash-completion/completions/qdelay

'make install' installs the completions of bash, zsh and fish.")]
pub struct Completions {
    /// Shell to complete for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// `qdelay man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mkdir -p ~/.local/share/man/man1
  qdelay man ~/.local/share/man/man1
  man qdelay-link

'make install' installs the pages for all users.")]
pub struct Man {
    /// Existing folder for the pages; older pages in it are replaced
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
