//! Studies as data: scenarios, the cases they span, the files that runs leave, and expectations of them.
//!
//! | module | what |
//! | --- | --- |
//! | [`traces`], [`links`] | finding and reading traces; links as users name them |
//! | [`scenario`], [`shipped`] | scenario files to studies and their cases; the scenarios that are built in |
//! | [`files`] | files and folders in places that somebody else may have prepared |
//! | [`figures`] | the figures and curves of a case, out of what its run came to |
//! | [`engine`] | runs a study into a folder, resuming what was killed, or in memory |
//! | [`lists`] | lists of components, as options have them |
//! | [`cost`] | CPU time, the clock and memory that runs take |
//! | [`results`] | what stands in the files of a folder |
//! | [`expect`] | expectations over results |
//! | [`same_runs`], [`confidence`], [`intervals`] | cases that came out alike; how sure a mean is; means and differences over seeds |
//! | [`tables`] | results as tables for data frames, as CSV and as Parquet |
//!
//! Without the feature `engine`, which is on by default, there are no `engine`, `files`, `cost` and `tables`: the rest needs no operating
//! system, only a caller that advances the cases.
//!
//! ```
//! use qdelay_study::engine;
//! use qdelay_study::scenario::{Overrides, Study};
//! use qdelay_study::traces::Library;
//!
//! let text = "
//!     [path]
//!     link = '10mbit'
//!     [[flow]]
//!     transport = 'cubic'
//!     [run]
//!     duration = '2s'
//!     [matrix]
//!     'path.qdisc' = ['taildrop', 'bode']
//! ";
//! let study = Study::parse("example.toml", text, &Overrides::default())?;
//! let cases = engine::in_memory(&study, &Library::new(), None, &()).expect("both cases run");
//! let worst = |index: usize| cases[index].summary.measures.queue_delay_ms.max;
//! assert!(worst(1) < worst(0), "BoDe bounds the delay");
//! # Ok::<(), qdelay_study::InputError>(())
//! ```

pub mod coinciding;
pub mod confidence;
#[cfg(feature = "engine")]
pub mod cost;
#[cfg(feature = "engine")]
pub mod engine;
pub mod expect;
pub mod figures;
#[cfg(feature = "engine")]
pub mod files;
pub mod given_rate;
pub mod intervals;
pub mod links;
pub mod lists;
pub mod radio;
pub mod results;
pub mod same_runs;
pub mod scenario;
pub mod shipped;
#[cfg(feature = "engine")]
pub mod tables;
pub mod traces;

pub use qdelay_config::InputError;
