//! What is seen of a link in real time: while it runs, in its logs, and at its end.
//!
//! | module | what |
//! | --- | --- |
//! | [`control`], [`places`] | the control socket; how many connections are served, and which make way |
//! | [`history`] | the last snapshots, as the curves that are drawn |
//! | [`view`] | text of a snapshot: rows for the foot of a terminal, or a whole screen |
//! | `text` | pieces of a line with a style, cut to a width |
//! | `panel` | keeps rows at the foot of the terminal while a command runs above them |
//! | `screen` | `qdelay live`: the whole terminal |
//! | [`logs`] | mahimahi's logs and packet captures |
//! | [`verdict`] | the last lines: how the link kept time, and whether to believe it |

#![forbid(unsafe_code)]

pub mod control;
pub mod history;
pub mod logs;
mod panel;
pub mod places;
mod screen;
mod text;
pub mod verdict;
pub mod view;

pub use panel::Panel;
pub use screen::run;

use qdelay_core::Span;
use std::path::PathBuf;

/// What to look at, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The control socket.
    pub socket: PathBuf,
    /// From one look to the next.
    pub interval: Span,
    /// Look once, and print it.
    pub once: bool,
    /// Print JSON, a line for each look.
    pub json: bool,
}
