//! An own source of datagrams, with the whole command around it: `camera` sends frames of video, each as a burst of packets, and a
//! large frame every second.
//!
//! ```text
//! cargo run --release -- compare --transport camera --qdisc taildrop,bode --link 10mbit --seed 1..5
//! ```

use qdelay::core::component::{Component, Kind, Registry, Typed};
use qdelay::core::{Random, Rate, Span};
use qdelay::traffic::source::{self, Source};
use std::process::ExitCode;

const RATE: Typed<Rate> = Typed::new("rate", "4mbit", "mean rate of IP packets").within("100kbit", "1gbit");
static CAMERA: Component =
    Component::new(Kind::Transport, "camera", "video of 30 frames a second, each a burst of packets")
        .with(&[RATE.parameter()])
        .positional("rate");
const PACKET: u32 = 1200;
const FRAMES_A_SECOND: u64 = 30;

#[derive(Clone, Debug)]
struct Camera {
    /// Packets of a mean frame.
    mean: f64,
    frame: u64,
    /// Packets of this frame that are still to come.
    left: u64,
}

impl Source for Camera {
    fn next(&mut self, random: &mut Random) -> Option<(Span, u32)> {
        if self.left > 0 {
            self.left -= 1;
            return Some((Span::ZERO, PACKET));
        }
        // A key frame, once a second, is five times as large as a mean frame.
        let factor = if self.frame.is_multiple_of(FRAMES_A_SECOND) { 5.0 } else { 25.0 / 29.0 };
        let packets = (self.mean * factor * (0.8 + 0.4 * random.unit())).max(1.0) as u64;
        let gap = if self.frame == 0 { Span::ZERO } else { Span::from_secs(1) / FRAMES_A_SECOND };
        (self.frame, self.left) = (self.frame + 1, packets - 1);
        Some((gap, PACKET))
    }
}

fn main() -> ExitCode {
    let camera = source::custom(&CAMERA, |arguments| {
        let bytes = arguments.get(&RATE).as_bps() as f64 / 8.0 / FRAMES_A_SECOND as f64;
        Ok(Camera { mean: bytes / f64::from(PACKET), frame: 0, left: 0 })
    });
    qdelay::main_with(Registry::new().with(camera))
}
