//! Observation of a link in real time: while it runs, and in its logs.
//!
//! | module | what |
//! | --- | --- |
//! | [`control_options`] | the options `--control` and `--http`, and serving both |
//! | [`control`], [`connection_slots`] | requests, and the control socket; the limit of connections |
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
pub mod control_options;
#[cfg(target_os = "linux")]
pub mod history;
pub mod http;
pub mod http_control;
#[cfg(target_os = "linux")]
pub mod logs;
#[cfg(target_os = "linux")]
mod panel;
#[cfg(target_os = "linux")]
mod screen;
pub mod settings;
#[cfg(target_os = "linux")]
mod text;
#[cfg(target_os = "linux")]
pub mod view;

#[cfg(target_os = "linux")]
pub use panel::Panel;
#[cfg(target_os = "linux")]
pub use screen::{Options, run};
