//! What the user of an application had over time: the pictures of a call, the session of a video stream, the loads of a browser. Their
//! totals are in [`EndFigures`](crate::ends::EndFigures).

use crate::streaming::Session;
use crate::video::frames::FrameRecord;
use crate::web::Load;
use qdelay_core::Span;

/// What a user had up to a time.
#[derive(Clone, Debug)]
pub enum Experience<'a> {
    /// A call with video.
    Call {
        /// Its frames, in the order in which they were captured.
        frames: &'a [FrameRecord],
        /// From capture to the time at which a frame is to be shown.
        playout: Span,
    },
    /// A video stream.
    Stream(Session),
    /// A browser: its complete loads.
    Web(&'a [Load]),
}
