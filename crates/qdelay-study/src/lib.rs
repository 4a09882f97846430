//! Studies: scenarios, their cases, the result files of runs, and expectations of results.
//!
//! | module | contents |
//! | --- | --- |
//! | [`traces`], [`links`] | finding and reading traces; links as users name them |
//! | [`link_keys`], [`presets`] | keys of the two directions of a link in real time; named kinds of network |
//! | [`scenario`], [`shipped`] | scenario files to studies and their cases; the shipped scenarios |
//! | [`files`] | safe writing and reading in folders that another user may have prepared |
//! | [`figures`] | figures and curves of a case, from the outcome of its run |
//! | [`engine`] | runs of a study, into a folder that can be resumed, or in memory |
//! | [`lists`] | lists of components in command-line options |
//! | [`cost`] | CPU time, elapsed time and memory of runs |
//! | [`results`] | contents of the files in a result folder |
//! | [`expect`], [`cautions`] | expectations of results; cases whose figures say less than they seem to |
//! | [`same_runs`], [`confidence`], [`intervals`] | equal runs; confidence of a mean; means and differences over seeds |
//! | [`tables`] | results as tables for data frames, as CSV and as Parquet |
//!
//! The feature `engine`, on by default, adds the modules `engine`, `files`, `cost` and `tables`. Everything else runs without an
//! operating system, where the caller advances the cases.
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

pub mod cautions;
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
pub mod link_keys;
pub mod links;
pub mod lists;
pub mod presets;
pub mod radio;
pub mod results;
pub mod same_runs;
pub mod scenario;
pub mod shipped;
#[cfg(feature = "engine")]
pub mod tables;
pub mod traces;

pub use qdelay_config::InputError;
