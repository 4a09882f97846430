//! Quality of experience over time: the frames of a video call, the session of a video stream, the page loads of a browser. Totals over the
//! run are in [`EndFigures`](crate::ends::EndFigures).

use crate::streaming::Session;
use crate::video::frames::FrameRecord;
use crate::web::Load;
use qdelay_core::Span;

/// Records of an application from the start of the flow up to a time.
#[derive(Clone, Debug)]
pub enum Experience<'a> {
    /// A call with video.
    Call {
        /// Frames in the order of capture.
        frames: &'a [FrameRecord],
        /// Time from the capture of a frame to its display.
        playout: Span,
    },
    /// A video stream.
    Stream(Session),
    /// A browser: its complete page loads.
    Web(&'a [Load]),
}
