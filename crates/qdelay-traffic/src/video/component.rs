//! The components of video calls: `webrtc`, `scream` and `frames`.

use super::encoder::EncoderConfig;
use super::gcc::Signals;
use super::ladder::SIZES;
use super::scream::Marks;
use super::{Control, Importance, VideoConfig};
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Rate, Span};

/// Feedback interval of `frames`, whose feedback only carries requests for retransmissions and key frames.
const FEEDBACK_OF_FRAMES: Span = Span::from_millis(100);

const MOST: Typed<Rate> = Typed::new("max", "2.5mbit", "Highest useful rate of the encoder, in IP bytes")
    .within("10kbit", "1gbit")
    .source("libwebrtc, 720p");
const LEAST: Typed<Rate> = Typed::new("min", "30kbit", "Lowest rate of the encoder, in IP bytes")
    .within("10kbit", "1gbit")
    .source("libwebrtc, least rate of video");
const START: Typed<Rate> = Typed::new("start", "300kbit", "Initial rate, from min to max")
    .within("10kbit", "1gbit")
    .source("libwebrtc");
const FPS: Typed<f64> =
    Typed::new("fps", "30", "Frames per second").within("1", "240").source("RFC 8593, FPS");
const SIZE: Typed<str> = Typed::new("size", "720p", "Largest picture size: that of the display")
    .unit(Unit::Choice(&["180p", "270p", "360p", "540p", "720p", "1080p"]))
    .source("ours");
const PLAYOUT: Typed<Span> =
    Typed::new("playout", "200ms", "Playout delay: time from the capture of a frame to its display")
        .within("1ms", "10s")
        .source("ours; ITU-T G.114 has 150 ms for most applications and 400 ms at most");
const LAG: Typed<Span> =
    Typed::new("lag", "200ms", "Time constant with which the encoder follows the target rate")
        .within("", "10s")
        .source("RFC 8593, tau_v");
const NOISE: Typed<f64> =
    Typed::new("noise", "0.15", "Scale of the Laplace distribution of frame sizes, relative to their mean")
        .within("0", "0.5")
        .source("RFC 8593, SCALE_B");
const KEY_EVERY: Typed<Span> =
    Typed::new("key_every", "0", "Interval between key frames; 0 for key frames on request only")
        .within("", "10min")
        .source("libwebrtc has none");
const KEY_SIZE: Typed<f64> = Typed::new("key_size", "4", "Size of a key frame relative to other frames")
    .within("1", "50")
    .source("ours");
const PACING: Typed<f64> = Typed::new("pacing", "1.1", "Rate of the pacer over the target rate")
    .within("1", "100")
    .source("libwebrtc");
const FEEDBACK: Typed<Span> = Typed::new("feedback", "50ms", "Interval between the receiver's reports")
    .within("1ms", "1s")
    .source("libwebrtc, 50 to 250 ms, with 5% of the rate");
const NACK: Typed<bool> =
    Typed::new("nack", "on", "Whether the receiver requests lost packets; off: it requests a key frame")
        .source("RFC 4585");
const PAUSE: Typed<Span> =
    Typed::new("pause", "0", "Time from the start of the flow to a pause of the camera")
        .within("", "600min")
        .source("RFC 8867 section 5.8");
const RESUME: Typed<Span> = Typed::new(
    "resume",
    "0",
    "Time from the start of the flow to the end of the pause; no pause unless larger than pause",
)
.within("", "600min")
.source("RFC 8867 section 5.8");
const PROBES: Typed<bool> =
    Typed::new("probes", "on", "Whether bursts of packets probe for capacity").source("libwebrtc");
const SIGNALS: Typed<str> = Typed::new(
    "signals",
    "delay",
    "Signals that set the rate: delay, with losses as a bound; or loss, the share of lost packets alone",
)
.unit(Unit::Choice(&["delay", "loss"]))
.source("draft-ietf-rmcat-gcc-02 sections 5 and 6");

const KEY_IMPORTANCE: Typed<u32> =
    Typed::new("key_importance", "1", "Importance of key frames as PDU sets, 1 (the most important) to 15")
        .unit(Unit::Count("importance"))
        .within("1", "15")
        .source("ours; TS 26.522 clause 4.2 leaves it to the sender");
const IMPORTANCE: Typed<u32> = Typed::new("importance", "8", "Importance of other frames as PDU sets")
    .unit(Unit::Count("importance"))
    .within("1", "15")
    .source("ours");

const SCREAM_LEAST: Typed<Rate> = LEAST.with_default("150kbit").source("RFC 8593, R_min");
const SCREAM_PACING: Typed<f64> = PACING.with_default("1.5").source("rfc8298bis, PACKET_PACING_HEADROOM");
const SCREAM_FEEDBACK: Typed<Span> = FEEDBACK
    .with_default("25ms")
    .source("rfc8298bis section 5 has it more often the higher the rate; VIRTUAL_RTT");
const DELAY: Typed<Span> = Typed::new("delay", "60ms", "Target of the queue delay")
    .within("1ms", "1s")
    .source("rfc8298bis, QDELAY_TARGET_LO");
const ECN: Typed<str> = Typed::new("ecn", "off", "ECN of packets: off, classic (ECT(0)) or l4s (ECT(1))")
    .unit(Unit::Choice(&["off", "classic", "l4s"]))
    .source("rfc8298bis, IS_L4S");
const RATE: Typed<Rate> =
    Typed::new("rate", "20mbit", "Rate of IP packets").within("10kbit", "10gbit").source("ours");
const FRAMES_FPS: Typed<f64> = FPS.with_default("60").source("60, 72 and 90 are usual");
const FRAMES_PLAYOUT: Typed<Span> = PLAYOUT.with_default("50ms").source("ours");
const FRAMES_NACK: Typed<bool> =
    NACK.with_default("off").source("ours: a frame that comes again is too late");

/// Parameters of every call, followed by those of its control.
macro_rules! of_a_call {
    ($least:ident, $($own:ident),+) => {
        &[
            MOST.parameter(),
            $least.parameter(),
            START.parameter(),
            FPS.parameter(),
            SIZE.parameter(),
            PLAYOUT.parameter(),
            LAG.parameter(),
            NOISE.parameter(),
            KEY_EVERY.parameter(),
            KEY_SIZE.parameter(),
            PAUSE.parameter(),
            RESUME.parameter(),
            NACK.parameter(),
            KEY_IMPORTANCE.parameter(),
            IMPORTANCE.parameter(),
            $($own.parameter()),+
        ]
    };
}

static WEBRTC: Component = Component::new(
    Kind::Transport,
    "webrtc",
    "A video call with Google Congestion Control: frames, pacer, feedback, retransmissions",
)
.source("draft-ietf-rmcat-gcc-02; libwebrtc")
.with(of_a_call!(LEAST, PACING, FEEDBACK, PROBES, SIGNALS))
.positional("max");

static SCREAM: Component = Component::new(
    Kind::Transport,
    "scream",
    "A video call with SCReAM v2: a window by queue delay, loss and marks",
)
.source("draft-johansson-ccwg-rfc8298bis-screamv2")
.with(of_a_call!(SCREAM_LEAST, SCREAM_PACING, SCREAM_FEEDBACK, DELAY, ECN))
.positional("max");

static FRAMES: Component = Component::new(
    Kind::Transport,
    "frames",
    "Frames of a game or of virtual reality at a constant rate, each sent as a burst",
)
.source("ours")
.with(&[
    RATE.parameter(),
    FRAMES_FPS.parameter(),
    FRAMES_PLAYOUT.parameter(),
    NOISE.parameter(),
    KEY_EVERY.parameter(),
    KEY_SIZE.parameter(),
    FRAMES_NACK.parameter(),
    KEY_IMPORTANCE.parameter(),
    IMPORTANCE.parameter(),
])
.positional("rate");
pub(crate) const COMPONENTS: &[&Component] = &[&WEBRTC, &SCREAM, &FRAMES];

pub(crate) fn build(arguments: &Arguments) -> Result<VideoConfig, ComponentError> {
    let config = config(arguments);
    if config.least > config.most {
        return Err(arguments.fail("min is above max; expected at most max".to_string()));
    }
    if !config.encoder.fits(config.most.as_bps() as f64) {
        let message = "a key frame at the highest rate is larger than 70 MB; expected a lower rate or more frames per second";
        return Err(arguments.fail(message.to_string()));
    }
    Ok(config)
}

fn config(arguments: &Arguments) -> VideoConfig {
    match arguments.component().name {
        "frames" => frames(arguments),
        "scream" => {
            let marks = match arguments.get(&ECN) {
                "classic" => Marks::Classic,
                "l4s" => Marks::L4s,
                _ => Marks::Off,
            };
            call(arguments, Control::Scream { delay: arguments.get(&DELAY), marks })
        }
        _ => {
            let signals = if arguments.get(&SIGNALS) == "loss" { Signals::Loss } else { Signals::Delay };
            call(arguments, Control::Gcc { probes: arguments.get(&PROBES), signals })
        }
    }
}

fn call(arguments: &Arguments, control: Control) -> VideoConfig {
    let (least, most) = (arguments.get(&LEAST), arguments.get(&MOST));
    let size = arguments.get(&SIZE);
    let largest =
        SIZES.iter().position(|known| size.strip_suffix('p') == Some(known.height.to_string().as_str()));
    VideoConfig {
        control,
        least,
        most,
        start: arguments.get(&START).max(least).min(most),
        encoder: EncoderConfig {
            fps: arguments.get(&FPS),
            lag: arguments.get(&LAG),
            noise: arguments.get(&NOISE),
            key_every: arguments.get(&KEY_EVERY),
            key_size: arguments.get(&KEY_SIZE),
            pause: (arguments.get(&PAUSE), arguments.get(&RESUME)),
            largest: largest.unwrap_or(0),
        },
        pacing: arguments.get(&PACING),
        feedback: arguments.get(&FEEDBACK),
        nack: arguments.get(&NACK),
        playout: arguments.get(&PLAYOUT),
        importance: importance(arguments),
    }
}

fn importance(arguments: &Arguments) -> Importance {
    // The declarations bound both.
    Importance { key: arguments.get(&KEY_IMPORTANCE) as u8, other: arguments.get(&IMPORTANCE) as u8 }
}

fn frames(arguments: &Arguments) -> VideoConfig {
    let rate = arguments.get(&RATE);
    VideoConfig {
        control: Control::None,
        least: rate,
        most: rate,
        start: rate,
        encoder: EncoderConfig {
            fps: arguments.get(&FPS),
            lag: Span::ZERO,
            noise: arguments.get(&NOISE),
            key_every: arguments.get(&KEY_EVERY),
            key_size: arguments.get(&KEY_SIZE),
            pause: (Span::ZERO, Span::ZERO),
            largest: SIZES.len() - 1,
        },
        pacing: 1.0,
        feedback: FEEDBACK_OF_FRAMES,
        nack: arguments.get(&NACK),
        playout: arguments.get(&PLAYOUT),
        importance: importance(arguments),
    }
}

impl VideoConfig {
    /// Defaults of the component `webrtc`.
    pub fn webrtc() -> VideoConfig {
        config(&Arguments::defaults(&WEBRTC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_set_parameters_and_contradictions_are_refused() {
        let call = |text| Arguments::parse(COMPONENTS, text).and_then(|arguments| build(&arguments));
        assert_eq!(call("webrtc"), Ok(VideoConfig::webrtc()));
        let other = call("webrtc:4mbit:min=1mbit:size=1080p:fps=60").unwrap();
        assert_eq!((other.start.as_bps(), other.encoder.largest, other.encoder.fps), (1_000_000, 5, 60.0));
        for (wrong, expected) in [
            ("webrtc:fps=0", "fps"),
            ("webrtc:playout=0", "playout"),
            ("webrtc:playout=0ms", "playout"),
            ("webrtc:min=3mbit", "min is above max"),
            ("webrtc:size=4k", "size"),
            ("scream:fps=0", "fps"),
            ("scream:min=3mbit", "min is above max"),
            ("frames:fps=0", "fps"),
            ("frames:10gbit:fps=1", "70 MB"),
            ("frames:playout=0", "playout"),
            ("frames:importance=0", "1 to 15"),
            ("frames:key_importance=16", "1 to 15"),
            ("webrtc:importance=16", "1 to 15"),
        ] {
            let message = call(wrong).unwrap_err().message;
            assert!(message.contains(expected) && !message.contains('\n'), "{wrong}: {message}");
        }
    }
}
