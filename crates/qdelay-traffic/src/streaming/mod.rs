//! Adaptive streaming over HTTP: a player downloads a video in chunks over one connection, and chooses the bit rate of each.
//!
//! | file | what it has |
//! | --- | --- |
//! | `video` | the ladder of bit rates, and the size of each chunk at each of them |
//! | `player` | the buffer, the start of playback, stalls, and when the next chunk is requested |
//! | `session` | what became of each chunk, the buffer and the stalls over time |
//! | `qoe` | the quality of experience of the MPC paper, and the other figures of a session |
//! | `abr` | the rules that choose the bit rate, one per file |
//! | `component` | the component `dash` |
//! | `ends` | the player at the far end of a [`Connection`](crate::connection::Connection), the server at its near end |
//!
//! # Differences from the reference
//! * Browsers fetch a manifest and initialization segments first, and audio beside the video; this player does not.
//! * A chunk whose download has begun is never given up for a smaller one.
//! * A stalled player goes on as soon as it has a whole chunk.

pub mod abr;
mod component;
mod ends;
mod player;
mod qoe;
mod session;
mod video;

pub use component::StreamConfig;
pub(crate) use component::{COMPONENTS, build};
pub use ends::StreamEnds;
pub use player::{Player, PlayerConfig};
pub use qoe::StreamOutcome;
pub use session::{ChunkRecord, Session};
pub use video::Video;
