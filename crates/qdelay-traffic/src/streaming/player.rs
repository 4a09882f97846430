//! A player, which downloads one chunk after another, plays the video in its buffer, and stalls while the buffer is empty.
//!
//! The next chunk is requested when the chunk before is complete and the buffer has room for another. The buffer empties in real time once
//! playback has begun. Playback begins with `startup` of video in the buffer, or with the whole video; after a stall it resumes with the next
//! complete chunk.

use super::Video;
use super::abr::{AnyRule, Download, Moment, Rule};
use super::qoe::{StreamOutcome, Sums};
use super::session::{ChunkRecord, Session};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Random, Span, Time};

/// Settings of a player.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// The video.
    pub video: Arc<Video>,
    /// Rule that chooses bit rates.
    pub rule: AnyRule,
    /// Most video in the buffer; at least one chunk.
    pub buffer_max: Span,
    /// Video in the buffer at which playback begins; at least the first chunk.
    pub startup: Span,
    /// Reduction of the quality of experience per second of waiting, Mbit/s.
    pub penalty: f64,
}

/// State of playback.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Playback {
    /// Playback has not begun.
    Startup,
    Plays,
    /// Playback waits for video.
    Stalls,
    /// The whole video has been played.
    Over,
}

/// The chunk being downloaded.
#[derive(Clone, Copy, Debug)]
struct Pending {
    rung: usize,
    requested: Time,
    first: Option<Time>,
    /// First byte of the chunk in the connection's stream.
    begin: u64,
}

/// A player of one video.
#[derive(Clone, Debug)]
pub struct Player {
    config: PlayerConfig,
    random: Random,
    start: Time,
    playback: Playback,
    /// Video in the buffer at time `now`.
    buffer: Span,
    now: Time,
    /// Time of the first picture; `None` before.
    began: Option<Time>,
    /// Start and end of each stall; the end is [`Time::NEVER`] during the stall.
    stalls: Vec<(Time, Time)>,
    chunks: Vec<ChunkRecord>,
    /// Index of the chunk to request next.
    next: usize,
    last: Option<usize>,
    pending: Option<Pending>,
    /// Bytes of the stream requested so far.
    requested: u64,
    /// Time of the next request; [`Time::NEVER`] during a download and after the last chunk.
    due: Time,
    sums: Sums,
}

impl Player {
    /// A player that starts at `start`, and requests its first chunk after [`Player::open`]. `random`: random stream of the rule.
    pub fn new(config: &PlayerConfig, start: Time, random: Random) -> Player {
        Player {
            config: config.clone(),
            random,
            start,
            playback: Playback::Startup,
            buffer: Span::ZERO,
            now: start,
            began: None,
            stalls: Vec::new(),
            chunks: Vec::new(),
            next: 0,
            last: None,
            pending: None,
            requested: 0,
            due: Time::NEVER,
            sums: Sums::default(),
        }
    }

    /// Reports that the connection is open, so that the first chunk can be requested.
    pub fn open(&mut self, now: Time) {
        if self.next == 0 && self.pending.is_none() {
            self.due = now;
        }
    }

    /// Time at which [`Player::request`] is due.
    pub fn next_deadline(&self) -> Time {
        self.due
    }

    /// Video in the buffer at `now`.
    pub fn buffer(&mut self, now: Time) -> Span {
        self.play(now);
        self.buffer
    }

    /// Requests the next chunk if it is due; returns its bytes. The chunks follow each other in one stream.
    pub fn request(&mut self, now: Time) -> Option<u64> {
        if now < self.due {
            return None;
        }
        self.due = Time::NEVER;
        self.play(now);
        let video = &self.config.video;
        let moment = Moment {
            video,
            now,
            buffer: self.buffer,
            buffer_max: self.config.buffer_max,
            next: self.next,
            last: self.last,
        };
        let rung = self.config.rule.choose(&moment).min(video.rungs() - 1);
        let bytes = video.bytes(self.next, rung);
        let begin = self.requested;
        self.requested += bytes;
        self.pending = Some(Pending { rung, requested: now, first: None, begin });
        self.chunks.push(ChunkRecord { requested: now, complete: Time::NEVER, bps: video.bps(rung) });
        Some(bytes)
    }

    /// Reports that the first `delivered` bytes of the stream have arrived at `now`.
    pub fn arrived(&mut self, now: Time, delivered: u64) {
        let Some(pending) = &mut self.pending else { return };
        if delivered <= pending.begin {
            return;
        }
        let first = *pending.first.get_or_insert(now);
        if delivered < self.requested {
            return;
        }
        let Pending { rung, requested, begin, .. } = *pending;
        self.pending = None;
        self.play(now);
        let video = Arc::clone(&self.config.video);
        let (wait, transfer) = (first.since(requested), now.since(first));
        let download = Download { rung, bytes: self.requested - begin, wait, transfer };
        self.config.rule.downloaded(&video, &download);
        self.sums.add(&video, rung, self.last);
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.complete = now;
        }
        self.last = Some(rung);
        self.next += 1;
        self.buffer += video.chunk();
        self.resume(now);
        if self.has_more() {
            let room = self.config.buffer_max.saturating_sub(video.chunk());
            let level = self.config.rule.patience(room, video.chunk(), &mut self.random);
            // Before playback the buffer always has room for the chunk that completes `startup`: `component.rs` checks this.
            self.due = now + self.buffer.saturating_sub(level);
        }
    }

    fn has_more(&self) -> bool {
        self.next < self.config.video.chunks()
    }

    /// Begins playback, or resumes after a stall, if the buffer holds enough video.
    fn resume(&mut self, now: Time) {
        match self.playback {
            Playback::Startup if self.buffer >= self.config.startup || !self.has_more() => {
                self.began = Some(now);
                self.playback = Playback::Plays;
            }
            Playback::Stalls => {
                if let Some((_, until)) = self.stalls.last_mut() {
                    *until = now;
                }
                self.playback = Playback::Plays;
            }
            _ => {}
        }
    }

    /// Advances playback to `now`: empties the buffer, and begins a stall when it is empty.
    fn play(&mut self, now: Time) {
        let span = now.since(self.now);
        if self.playback == Playback::Plays {
            let shown = span.min(self.buffer);
            self.buffer = self.buffer.saturating_sub(shown);
            if self.buffer.is_zero() && shown < span {
                self.playback = if self.has_more() { Playback::Stalls } else { Playback::Over };
                if self.has_more() {
                    self.stalls.push((self.now + shown, Time::NEVER));
                }
            }
        }
        self.now = self.now.max(now);
        debug_assert!(
            self.buffer <= self.config.buffer_max.max(self.config.video.chunk()),
            "more video than the buffer holds"
        );
    }

    /// Outcome from the start to `end`.
    pub fn outcome(&self, end: Time) -> StreamOutcome {
        let session = self.session(end);
        let stalls = (session.stalls.len() as u64, session.stalled(self.start, end));
        let startup = session.startup(self.start, end);
        self.sums.outcome(session.penalty, startup, stalls, session.played(end))
    }

    /// Records of the session from the start to `end`.
    pub fn session(&self, end: Time) -> Session {
        let mut player = self.clone();
        player.play(end);
        let video = &player.config.video;
        Session {
            start: player.start,
            began: player.began.unwrap_or(Time::NEVER),
            chunk: video.chunk(),
            length: video.chunk() * video.chunks() as u64,
            penalty: player.config.penalty,
            stalls: player.stalls,
            chunks: player.chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::abr::COMPONENTS;
    use super::*;
    use qdelay_core::Rate;
    use qdelay_core::component::Arguments;

    fn time_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn player(length: u64, startup: u64) -> Player {
        let ladder = [Rate::from_bps(1_000_000)];
        let video = Video::synthetic(&ladder, Span::from_secs(length), Span::from_secs(4), 0.0, 1);
        let rule = AnyRule::build(&Arguments::parse(COMPONENTS, "bb").unwrap()).unwrap();
        let config = PlayerConfig {
            video: Arc::new(video),
            rule,
            buffer_max: Span::from_secs(12),
            startup: Span::from_secs(startup),
            penalty: 4.3,
        };
        Player::new(&config, time_ms(0), Random::derive(1, "player", "test"))
    }

    /// Feeds chunks of 500 kB, complete at the times `completed`, ms; each is requested when it is due.
    fn fed(player: &mut Player, completed: &[u64]) {
        player.open(time_ms(0));
        for (index, &ms) in completed.iter().enumerate() {
            let due = player.next_deadline();
            assert!(due <= time_ms(ms), "chunk {index} is due at {due:?}");
            assert_eq!(player.request(due), Some(500_000));
            let end = 500_000 * (index as u64 + 1);
            player.arrived(time_ms(ms - 1), end - 1);
            assert_eq!(player.next_deadline(), Time::NEVER);
            player.arrived(time_ms(ms), end);
        }
    }

    #[test]
    fn a_stall_lasts_from_the_last_picture_to_the_next_chunk() {
        let mut player = player(40, 0);
        // Plays from 1 s to 5 s, stalls for 2 s, plays from 7 s on.
        fed(&mut player, &[1000, 7000, 8000]);
        let outcome = player.outcome(time_ms(9000));
        let ms = Span::from_millis;
        assert_eq!((outcome.startup, outcome.stalls, outcome.stalled), (ms(1000), 1, ms(2000)));
        assert_eq!((outcome.chunks, outcome.played), (3, ms(6000)));
        assert!((outcome.qoe - (3.0 - 4.3 * 3.0)).abs() < 1e-9, "{}", outcome.qoe);
        // At 8 s the buffer holds the last of the 12 s of video; no further chunk arrives.
        let later = player.outcome(time_ms(20_000));
        assert_eq!((later.stalls, later.stalled), (2, ms(2000 + 5000)));
    }

    /// The buffer holds 12 s, so a chunk of 4 s is requested when 8 s are left.
    #[test]
    fn a_request_waits_for_room_in_the_buffer() {
        let mut player = player(40, 0);
        fed(&mut player, &[100, 200, 300]);
        assert_eq!(player.buffer(time_ms(300)), Span::from_millis(11_800));
        assert_eq!(player.next_deadline(), time_ms(4100));
    }

    /// With chunks at random times: played and buffered video add up to the downloaded video, and startup, stalls and played time add up to the
    /// whole time.
    #[test]
    fn time_and_video_are_conserved() {
        for case in 0..50 {
            let mut random = Random::derive(case, "player", "arrivals");
            let mut player = player(60, random.below(3) * 4);
            player.open(time_ms(0));
            let mut now = time_ms(0);
            for chunk in 1..=15_u64 {
                now = now.max(player.next_deadline());
                assert!(player.request(now).is_some());
                let pieces = 1 + random.below(4);
                for piece in 1..=pieces {
                    now += Span::from_millis(random.below(3000));
                    player.arrived(now, (chunk - 1) * 500_000 + 500_000 * piece / pieces);
                    let outcome = player.outcome(now);
                    let there = outcome.played + player.buffer(now);
                    assert_eq!(there, Span::from_secs(4 * outcome.chunks), "{case} {now:?}");
                    assert_eq!(player.session(now).buffer(now), player.buffer(now), "{case} {now:?}");
                    assert!(there.saturating_sub(outcome.played) <= Span::from_secs(12));
                    assert_eq!(
                        outcome.startup + outcome.stalled + outcome.played,
                        now.since(time_ms(0)),
                        "{case} {now:?}"
                    );
                }
            }
            assert_eq!(player.outcome(time_ms(1_000_000)).played, Span::from_secs(60));
        }
    }

    #[test]
    fn the_end_of_the_video_is_not_a_stall() {
        let mut player = player(8, 60);
        // The whole video is shorter than `startup`.
        fed(&mut player, &[1000, 2000]);
        let outcome = player.outcome(time_ms(60_000));
        assert_eq!((outcome.startup, outcome.stalls), (Span::from_secs(2), 0));
        assert_eq!((outcome.played, player.next_deadline()), (Span::from_secs(8), Time::NEVER));
    }
}
