//! Observing a link in real time: while it runs, in its logs, and at its end.
//!
//! | module | what |
//! | --- | --- |
//! | [`control`], [`connection_slots`] | the control socket; the limit of connections |
//! | [`history`] | the last snapshots, as the curves that are drawn |
//! | [`view`] | a snapshot as text: rows at the foot of a terminal, or a whole screen |
//! | `text` | pieces of a line with a style, cut to a width |
//! | `panel` | keeps rows at the foot of the terminal while a command runs above them |
//! | `screen` | `qdelay live`: the whole terminal |
//! | [`logs`] | mahimahi's logs and packet captures |
//! | [`verdict`] | the last lines: lateness of the link, and whether its results can be trusted |

pub mod connection_slots;
pub mod control;
pub mod history;
pub mod logs;
mod panel;
mod screen;
mod text;
pub mod verdict;
pub mod view;

pub use panel::Panel;
pub use screen::run;

use qdelay_core::Span;
use std::path::PathBuf;

/// Options of `qdelay live`.
#[derive(Clone, Debug)]
pub struct Options {
    /// The control socket.
    pub socket: PathBuf,
    /// Interval between two snapshots.
    pub interval: Span,
    /// Print one snapshot and exit.
    pub once: bool,
    /// Print JSON, a line for each snapshot.
    pub json: bool,
}
