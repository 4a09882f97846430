//! Functions shared by the terminal programs of this project.
//!
//! | module | what |
//! | --- | --- |
//! | [`live`] | a link observed in real time: live view, control socket, logs and captures, verdict |
//! | [`error`] | one line on standard error and an exit status |
//! | [`output`] | writing without half-written files, and interrupts |
//! | [`progress`] | progress of a command |
//! | [`text_table`] | tables of text |
//! | [`values`] | parsers for the values of options |
#![forbid(unsafe_code)]

pub mod error;
pub mod live;
pub mod output;
pub mod progress;
pub mod text_table;
pub mod values;
