//! Changes to a running link: `qdelay set`, `cut`, `pause`, `restore` and `reset`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `qdelay set`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  qdelay link --control /tmp/link.sock --down 10mbit -- ./my-program &
  qdelay set /tmp/link.sock down=2mbit loss=3%
  qdelay set /tmp/link.sock up-delay=80ms jitter=normal:10ms
  qdelay set /tmp/link.sock qdisc=codel down-cut=hold

KEY is an option of 'qdelay link' without the dashes in front: down, up, qdisc,
up-qdisc, delay, jitter, loss, reorder, reorder-delay, duplicate, corrupt; behind
down- or up- for one direction; or cut, down-cut, up-cut with drop, hold or off.
All keys change at the same time, or none. Prints the time on the link's clock.")]
pub struct Set {
    /// Control socket of a link, gateway, proxy or case
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// Keys with their new values
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub words: Vec<String>,
}

/// Directions of a cut or a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Direction {
    /// Both directions
    #[default]
    Both,
    /// Towards the command, or the clients of a proxy
    Down,
    /// From the command, or the clients of a proxy
    Up,
}

impl Direction {
    /// The word for the control socket.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Both => "both",
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }
}

/// `qdelay cut`, `pause` and `restore`.
#[derive(Args, Debug)]
pub struct Cut {
    /// Control socket of a link, gateway, proxy or case
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// Direction
    #[arg(value_name = "DIRECTION", default_value = "both")]
    pub direction: Direction,
}

/// `qdelay reset`.
#[derive(Args, Debug)]
pub struct Reset {
    /// Control socket of a link, gateway, proxy or case
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    /// Connections with this port at either end; all connections without it
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}
