//! What the terminal programs of this project share.
//!
//! | module | what |
//! | --- | --- |
//! | [`error`] | one line on standard error and an exit status |
//! | [`output`] | writing without half-written files, and interrupts |
//! | [`progress`] | how far a command is |
//! | [`text_table`] | tables of text |
//! | [`values`] | how the values of options are read |
#![forbid(unsafe_code)]

pub mod error;
pub mod output;
pub mod progress;
pub mod text_table;
pub mod values;
