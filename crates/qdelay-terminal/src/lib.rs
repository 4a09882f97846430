//! Functions shared by the terminal programs of this project.
//!
//! | module | what |
//! | --- | --- |
//! | [`live`] | a link observed in real time: live view, control socket, logs and captures |
//! | [`directions`], [`verdict`] | results of a link: both directions; lateness, verdict and accuracy |
//! | [`error`] | one line on standard error and an exit status |
//! | [`output`] | writing without half-written files, and interrupts |
//! | [`path_options`] | options of the two directions of a link |
//! | [`progress`] | progress of a command |
//! | [`text_table`] | tables of text |
//! | [`values`] | parsers for the values of options |
//!
//! Files, progress, live views and the control socket are for Linux; the rest is built everywhere.
#![forbid(unsafe_code)]

pub mod directions;
pub mod error;
pub mod live;
pub mod output;
pub mod path_options;
#[cfg(target_os = "linux")]
pub mod progress;
pub mod text_table;
pub mod values;
pub mod verdict;
