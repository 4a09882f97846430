//! Studies as data: scenarios, the cases they span, the files that runs leave, and expectations of them.
//!
//! | module | what |
//! | --- | --- |
//! | [`traces`], [`links`] | finding and reading traces; links as users name them |
//! | [`scenario`], [`shipped`] | scenario files to studies and their cases; the scenarios that are built in |
//! | [`files`] | files and folders in places that somebody else may have prepared |
//! | [`engine`] | runs a study into a folder, resuming what was killed, or in memory |
//! | [`lists`] | lists of components, as options have them |
//! | [`cost`] | CPU time, the clock and memory that runs take |
//! | [`results`] | what stands in the files of a folder |
//! | [`expect`] | expectations over results |
//! | [`same_runs`], [`confidence`] | cases that came out alike; how sure a mean is |

pub mod confidence;
pub mod cost;
pub mod engine;
pub mod expect;
pub mod files;
pub mod links;
pub mod lists;
pub mod radio;
pub mod results;
pub mod same_runs;
pub mod scenario;
pub mod shipped;
pub mod traces;

pub use qdelay_config::InputError;
