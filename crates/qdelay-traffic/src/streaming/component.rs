//! The component `dash`.

use super::abr::{self, AnyRule, Rule};
use super::qoe::PENALTY;
use super::{PlayerConfig, Video};
use crate::connection::{self, BYTES_MAX, Carriers, ConnectionConfig, OVER};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::units::parse_rate;
use qdelay_core::{Rate, Span};

const ABR: Typed<str> = Typed::new(
    "abr",
    "bola",
    "Rule that chooses bit rates: bb, bola, festive or robustmpc, with its parameters in square brackets",
)
.source("ours");
const LADDER: Typed<str> = Typed::new(
    "ladder",
    "300kbit+750kbit+1200kbit+1850kbit+2850kbit+4300kbit",
    "Bit rates of the video in ascending order, separated by +",
)
.source("Pensieve; 240p to 1440p");
const LENGTH: Typed<Span> = Typed::new("length", "193s", "Length of the video")
    .within("100ms", "240min")
    .source("BoDe, section VI-B");
const CHUNK: Typed<Span> = Typed::new(
    "chunk",
    "4s",
    "Approximate length of a chunk: all chunks have one length that divides the video",
)
.within("100ms", "60s")
.source("BoDe, section VI-B: 48 chunks");
const VARIATION: Typed<f64> =
    Typed::new("variation", "0.1", "Largest deviation of a chunk's size from the mean, as a share")
        .within("0", "0.9")
        .source("ours");
const VIDEO: Typed<u64> =
    Typed::new("video", "1", "Number of the video, which seeds the sizes of its chunks")
        .unit(Unit::Count("videos"))
        .within("0", "")
        .source("ours");
const BUFFER: Typed<Span> = Typed::new("buffer", "60s", "Most video in the player's buffer")
    .within("100ms", "240min")
    .source("Pensieve, section 5.1");
const STARTUP: Typed<Span> =
    Typed::new("startup", "0", "Video in the buffer at which playback begins; at least the first chunk")
        .within("0", "240min")
        .source("Pensieve");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "dash",
    "A player of adaptive video, which downloads chunks over a connection",
)
.source("BoDe, section VI-B; Yin et al. 2015")
.with(&[
    ABR.parameter(),
    OVER.parameter(),
    LADDER.parameter(),
    LENGTH.parameter(),
    CHUNK.parameter(),
    VARIATION.parameter(),
    VIDEO.parameter(),
    BUFFER.parameter(),
    STARTUP.parameter(),
    PENALTY.parameter(),
])
.positional("abr");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

/// Settings of a stream.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Transport of the stream.
    pub connection: ConnectionConfig,
    /// Settings of the player, with the video.
    pub player: PlayerConfig,
}

pub(crate) fn build(arguments: &Arguments, carriers: &Carriers) -> Result<StreamConfig, ComponentError> {
    config(arguments, carriers).map_err(|message| arguments.fail(message))
}

fn config(arguments: &Arguments, carriers: &Carriers) -> Result<StreamConfig, String> {
    let ladder = ladder(arguments.get(&LADDER)).map_err(|message| format!("ladder: {message}"))?;
    let (length, chunk) = (arguments.get(&LENGTH), arguments.get(&CHUNK));
    if chunk > length {
        return Err("chunk is longer than the video; expected at most length".to_string());
    }
    let video = Video::synthetic(&ladder, length, chunk, arguments.get(&VARIATION), arguments.get(&VIDEO));
    let top = ladder.last().copied().unwrap_or(Rate::ZERO);
    // With the largest variation, 0.9, a chunk is at most 19 times the mean: hence the factor of 20 over the mean.
    if top.as_mbps() * length.as_secs_f64() * 20.0 / 8.0 > BYTES_MAX as f64 / 1e6 {
        return Err(format!(
            "a video of {top} may have more than {BYTES_MAX} bytes; expected a shorter video or lower bit rates"
        ));
    }
    let (buffer_max, startup) = (arguments.get(&BUFFER), arguments.get(&STARTUP));
    if buffer_max < video.chunk() {
        return Err("buffer holds no chunk; expected at least the length of one".to_string());
    }
    // Before playback nothing empties the buffer: startup and the chunk that completes it must fit.
    if startup.as_nanos() + video.chunk().as_nanos() > buffer_max.as_nanos() && !startup.is_zero() {
        return Err("startup and another chunk are more than buffer holds; expected less".to_string());
    }
    let rule = parse_rule(arguments, arguments.get(&ABR)).map_err(|message| format!("abr: {message}"))?;
    rule.check(&video).map_err(|message| format!("abr: {message}"))?;
    let over = arguments.get(&OVER);
    let connection =
        connection::parse(arguments, over, carriers).map_err(|message| format!("over: {message}"))?;
    let penalty = arguments.get(&PENALTY);
    let player = PlayerConfig { video: Arc::new(video), rule, buffer_max, startup, penalty };
    Ok(StreamConfig { connection, player })
}

fn parse_rule(outer: &Arguments, text: &str) -> Result<AnyRule, String> {
    let arguments =
        outer.registry().parse(abr::COMPONENTS, connection::bare(text)).map_err(|error| error.to_string())?;
    AnyRule::build(&arguments).map_err(|error| error.to_string())
}

/// Parses bit rates in ascending order, separated by `+`.
fn ladder(text: &str) -> Result<Vec<Rate>, String> {
    let mut ladder: Vec<Rate> = Vec::new();
    for part in text.split('+') {
        let rate = parse_rate(part).map_err(|error| format!("'{part}': {error}"))?;
        if rate == Rate::ZERO || rate > MOST {
            return Err(format!("'{part}': expected more than 0 and at most {MOST}"));
        }
        if ladder.last().is_some_and(|last| *last >= rate) {
            return Err(format!("'{part}' is not above the one before; expected bit rates that rise"));
        }
        ladder.push(rate);
    }
    if ladder.len() > RUNGS_MAX {
        return Err(format!("{} bit rates; expected at most {RUNGS_MAX}", ladder.len()));
    }
    Ok(ladder)
}

/// Highest bit rate of a video.
const MOST: Rate = Rate::from_bps(1_000_000_000);
/// Most bit rates of a ladder, since robustMPC searches all sequences of them.
const RUNGS_MAX: usize = 16;
