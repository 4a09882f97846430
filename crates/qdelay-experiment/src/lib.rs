//! Experiments as data: scenarios, the studies they span, the files that runs leave, expectations and reports.
//!
//! | module | what |
//! | --- | --- |
//! | [`traces`], [`links`] | finding and reading traces; links as users name them |
//! | [`scenario`], [`shipped`] | scenario files to studies and their cases; the scenarios that are built in |
//! | [`files`] | files and folders in places that somebody else may have prepared |
//! | [`engine`] | runs a study into a folder, resuming what was killed |
//! | [`results`] | what stands in the files of a folder |
//! | [`expect`] | expectations and claims over results |
//! | [`papers`] | what papers claim, run and judged |
//! | [`report`] | one HTML file, and SVG, from folders |

mod confidence;
pub mod engine;
mod error;
pub mod expect;
pub mod files;
pub mod links;
pub mod papers;
pub mod radio;
pub mod report;
pub mod results;
mod same_runs;
pub mod scenario;
pub mod shipped;
pub mod traces;

pub use error::InputError;
