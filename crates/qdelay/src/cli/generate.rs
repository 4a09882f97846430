//! `qdelay completions` and `qdelay man`, which `make install` calls.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `qdelay completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  qdelay completions bash > ~/.local/share/bash-completion/completions/qdelay

'make install' installs those of bash, zsh and fish.")]
pub struct Completions {
    /// The shell
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

'make install' installs them for all users.")]
pub struct Man {
    /// The folder, which must exist; pages in it are replaced
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
