//! The laboratory: `qdelay lab`.

use clap::{Args, Subcommand};

/// `qdelay lab`.
#[derive(Subcommand, Debug)]
#[command(after_help = "\
Examples:
  Make an image of Debian's kernel and programs, once:
    qdelay lab build
  Run a scenario in that image:
    qdelay run demo/first --clock lab

Needs QEMU (package qemu-system-x86), and Debian's apt and dpkg to build an
image. docs/lab.md lists its contents and the scenarios that it can run.")]
pub enum LabCommand {
    /// Make an image of Debian's kernel and programs, unless an image of the current versions exists
    Build(LabBuild),
    /// List the images that exist
    List(LabList),
    /// Run the job of a machine that `run --clock lab` has started
    #[command(hide = true)]
    Guest,
}

/// `qdelay lab build`.
#[derive(Args, Debug)]
pub struct LabBuild {
    /// Suite of Debian with the kernel: bookworm-backports (6.12), bookworm (6.1) or trixie-backports (7)
    #[arg(long, value_name = "SUITE", default_value = qdelay_lab::kernels::KERNELS[0].suite)]
    pub kernel: String,
    /// Address of a Debian mirror [default: the mirror of apt]
    #[arg(long, value_name = "ADDRESS")]
    pub mirror: Option<String>,
}

/// `qdelay lab list`.
#[derive(Args, Debug)]
pub struct LabList {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub json: bool,
}
