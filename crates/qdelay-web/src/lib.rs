//! Simulator for a web page: scenarios played side by side in steps, as WebAssembly.
//!
//! | module | contents |
//! | --- | --- |
//! | `session` | two cases of a scenario on the same input, advanced together, steered while they run |
//! | `watch` | recordings for drawing: bins of time, distributions, the last seconds of calls and games |
//! | `feel` | quality of applications: a ping, a call, a game, a page |
//! | `calls` | requests and answers, as JSON |
//! | `exports` | functions of the WebAssembly module |
//!
//! The scenario is the text that `qdelay run` reads, by the same reader, and the figures at the end of a run are those of the command.
//! The page is `page/`; `bundle` makes one file of it and the module. `docs/playground.md` is the guide.

pub mod calls;
#[cfg(target_family = "wasm")]
mod exports;
pub mod feel;
pub mod session;
pub mod watch;
