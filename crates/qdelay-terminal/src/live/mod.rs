//! Observation of a link in real time: while it runs, and in its logs.
//!
//! | module | what |
//! | --- | --- |
//! | [`control`], [`connection_slots`] | the control socket; the limit of connections |
//! | [`adjust`], [`http`], [`http_control`] | changes to a running link; HTTP server; the control by HTTP |
//! | [`history`] | the last snapshots, for drawing curves |
//! | [`view`] | a snapshot as text: rows at the foot of a terminal, or a whole screen |
//! | [`settings`] | settings of a link as shown |
//! | `text` | styled pieces of a line, truncated to a width |
//! | `panel` | keeps rows at the foot of the terminal while a command runs above them |
//! | `screen` | `qdelay live`: the whole terminal |
//! | [`logs`] | mahimahi's logs and packet captures |

pub mod adjust;
pub mod connection_slots;
pub mod control;
pub mod history;
pub mod http;
pub mod http_control;
pub mod logs;
mod panel;
mod screen;
pub mod settings;
mod text;
pub mod view;

pub use panel::Panel;
pub use screen::run;

use qdelay_core::Span;
use std::path::PathBuf;

/// Options of `qdelay live`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the control socket.
    pub socket: PathBuf,
    /// Interval between two snapshots.
    pub interval: Span,
    /// Prints one snapshot and exits.
    pub once: bool,
    /// Prints JSON, a line for each snapshot.
    pub json: bool,
}
