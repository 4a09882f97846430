//! The simulator's own rules of adaptation and its video, for a page: compiled to WebAssembly, called with numbers (`../rule.mjs`).
//!
//! There is one session at a time. Times are seconds, and exact to the nanosecond, sizes bytes. Text goes through one buffer: `text` makes
//! room and says where it is.

use qdelay_core::component::Arguments;
use qdelay_core::{Random, Span, Time};
use qdelay_traffic::streaming::abr::{Download, Moment, Rule};
use qdelay_traffic::streaming::{PlayerConfig, StreamOutcome, Video};
use qdelay_traffic::transport::{COMPONENTS, TransportConfig};
use std::cell::RefCell;
use std::sync::Arc;

/// A player's session.
struct Session {
    player: PlayerConfig,
    random: Random,
    /// The rungs of the chunks that were downloaded.
    rungs: Vec<usize>,
    /// Sizes of another video, until it is taken.
    sizes: Vec<u64>,
}

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// What `of` gives for the session; a number that is none without a session.
fn ask(of: impl FnOnce(&mut Session) -> f64) -> f64 {
    SESSION.with_borrow_mut(|session| session.as_mut().map_or(f64::NAN, of))
}

fn span(seconds: f64) -> Span {
    Span::from_nanos((seconds.max(0.0) * 1e9).round() as u64)
}

/// Room for a text of `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn text(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Begins a session of the transport that the text names. Returns 0, or the length of the text that says what is wrong with it.
#[unsafe(no_mangle)]
pub extern "C" fn open(seed: u32) -> usize {
    let typed = TEXT.with_borrow(|text| String::from_utf8_lossy(text).into_owned());
    let built = Arguments::parse(COMPONENTS, &typed).and_then(|arguments| TransportConfig::build(&arguments));
    let problem = match built {
        Ok(TransportConfig::Stream(stream)) => {
            let random = Random::derive(u64::from(seed), "player", "page");
            let session = Session { player: stream.player, random, rungs: Vec::new(), sizes: Vec::new() };
            SESSION.set(Some(session));
            return 0;
        }
        Ok(_) => format!("'{typed}' is no stream; expected dash with its parameters"),
        Err(error) => error.to_string(),
    };
    SESSION.set(None);
    TEXT.set(problem.into_bytes());
    TEXT.with_borrow(Vec::len)
}

/// Bit rates of the video.
#[unsafe(no_mangle)]
pub extern "C" fn rungs() -> f64 {
    ask(|session| session.player.video.rungs() as f64)
}

/// Chunks of the video.
#[unsafe(no_mangle)]
pub extern "C" fn chunks() -> f64 {
    ask(|session| session.player.video.chunks() as f64)
}

/// The length of each.
#[unsafe(no_mangle)]
pub extern "C" fn chunk_seconds() -> f64 {
    ask(|session| session.player.video.chunk().as_secs_f64())
}

/// A bit rate, bit/s.
#[unsafe(no_mangle)]
pub extern "C" fn bps(rung: usize) -> f64 {
    ask(|session| session.player.video.bps(rung))
}

/// Bytes of a chunk at a bit rate.
#[unsafe(no_mangle)]
pub extern "C" fn chunk_bytes(chunk: usize, rung: usize) -> f64 {
    ask(|session| session.player.video.bytes(chunk, rung) as f64)
}

/// Most video that the player keeps.
#[unsafe(no_mangle)]
pub extern "C" fn buffer_max() -> f64 {
    ask(|session| session.player.buffer_max.as_secs_f64())
}

/// Video that has to be there before playback begins.
#[unsafe(no_mangle)]
pub extern "C" fn startup() -> f64 {
    ask(|session| session.player.startup.as_secs_f64())
}

/// Adds the size of the next chunk, at the next bit rate, of another video.
#[unsafe(no_mangle)]
pub extern "C" fn add_size(bytes: f64) {
    ask(|session| {
        session.sizes.push(bytes as u64);
        0.0
    });
}

/// Takes the video of these sizes, in chunks of `chunk` seconds, at the bit rates that there are. Returns whether they are whole.
#[unsafe(no_mangle)]
pub extern "C" fn take_sizes(chunk: f64) -> f64 {
    ask(|session| {
        let video = &session.player.video;
        let ladder: Vec<_> =
            (0..video.rungs()).map(|rung| qdelay_core::Rate::from_bps(video.bps(rung) as u64)).collect();
        let sizes: Vec<Vec<u64>> = session.sizes.chunks(ladder.len()).map(<[u64]>::to_vec).collect();
        let video = Video::of_sizes(&ladder, span(chunk), &sizes);
        let is_whole = video.is_some();
        if let Some(video) = video {
            session.player.video = Arc::new(video);
        }
        session.sizes.clear();
        f64::from(u8::from(is_whole))
    })
}

/// The rung of chunk `next`, where `buffer` of video is there; `last` is the rung of the one before, below 0 for none.
#[unsafe(no_mangle)]
pub extern "C" fn choose(now: f64, buffer: f64, next: usize, last: i32) -> f64 {
    ask(|session| {
        let PlayerConfig { video, rule, buffer_max, .. } = &mut session.player;
        let moment = Moment {
            video,
            now: Time::ZERO + span(now),
            buffer: span(buffer),
            buffer_max: *buffer_max,
            next,
            last: usize::try_from(last).ok(),
        };
        rule.choose(&moment).min(video.rungs() - 1) as f64
    })
}

/// The next chunk was downloaded: `wait` from the request to its first byte, `transfer` from there to its last.
#[unsafe(no_mangle)]
pub extern "C" fn downloaded(rung: usize, bytes: f64, wait: f64, transfer: f64) {
    ask(|session| {
        let PlayerConfig { video, rule, .. } = &mut session.player;
        let download = Download { rung, bytes: bytes as u64, wait: span(wait), transfer: span(transfer) };
        rule.downloaded(video, &download);
        session.rungs.push(rung);
        0.0
    });
}

/// The buffer at which the next chunk is requested.
#[unsafe(no_mangle)]
pub extern "C" fn patience() -> f64 {
    ask(|session| {
        let PlayerConfig { video, rule, buffer_max, .. } = &mut session.player;
        let room = buffer_max.saturating_sub(video.chunk());
        rule.patience(room, video.chunk(), &mut session.random).as_secs_f64()
    })
}

fn outcome(of: impl FnOnce(StreamOutcome) -> f64, startup: f64, stalled: f64) -> f64 {
    ask(|session| {
        let PlayerConfig { video, penalty, .. } = &session.player;
        let waits = (span(startup), (0, span(stalled)));
        of(StreamOutcome::of_chunks(video, &session.rungs, *penalty, waits, Span::ZERO))
    })
}

/// Mean bit rate of the chunks so far, Mbit/s.
#[unsafe(no_mangle)]
pub extern "C" fn bitrate_mbps() -> f64 {
    outcome(|outcome| outcome.bitrate_mbps, 0.0, 0.0)
}

/// Chunks at another bit rate than the one before.
#[unsafe(no_mangle)]
pub extern "C" fn switches() -> f64 {
    outcome(|outcome| outcome.switches as f64, 0.0, 0.0)
}

/// The quality of experience of the chunks so far with these waits.
#[unsafe(no_mangle)]
pub extern "C" fn qoe(startup: f64, stalled: f64) -> f64 {
    outcome(|outcome| outcome.qoe, startup, stalled)
}
