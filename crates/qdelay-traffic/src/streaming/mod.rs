//! Adaptive streaming over HTTP: a player downloads a video in chunks over one connection, and chooses the bit rate of each chunk.
//!
//! | file | contents |
//! | --- | --- |
//! | `video` | the ladder of bit rates, and the size of each chunk at each bit rate |
//! | `player` | the buffer, start of playback, stalls, and request times of chunks |
//! | `session` | chunks, buffer and stalls over time |
//! | `qoe` | the quality of experience of the MPC paper, and other figures of a session |
//! | `abr` | the rules that choose the bit rate, one per file |
//! | `component` | the component `dash` |
//! | `ends` | the player at the far end of a [`Connection`](crate::connection::Connection), the server at its near end |
//!
//! # Differences from the reference
//! * Browsers first fetch a manifest and initialization segments, and download audio beside the video; this player does not.
//! * A download is never abandoned for a smaller chunk.
//! * A stalled player resumes as soon as it has a complete chunk.

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
