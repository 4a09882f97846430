//! A player: it downloads one chunk after another, plays what it has, and stalls when it has nothing.
//!
//! The next chunk is requested when the one before is complete and there is room for it in the buffer, which empties in real time as soon as
//! playback has begun. Playback begins when `startup` of video is there, or all of it; after a stall with the next chunk.

use super::Video;
use super::abr::{AnyRule, Download, Moment, Rule};
use super::qoe::{StreamOutcome, Sums};
use super::session::{ChunkRecord, Session};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Random, Span, Time};

/// The settings of a player.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// What it plays.
    pub video: Arc<Video>,
    /// How it chooses bit rates.
    pub rule: AnyRule,
    /// Most video that it keeps; at least one chunk.
    pub buffer_max: Span,
    /// Video that has to be there before playback begins; the first chunk in any case.
    pub startup: Span,
    /// What a second of waiting takes from the quality, Mbit/s.
    pub penalty: f64,
}

/// What a player is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Playback {
    /// It has not begun.
    Startup,
    Plays,
    /// It has stopped for want of video.
    Stalls,
    /// Everything has been played.
    Over,
}

/// The chunk that is being downloaded.
#[derive(Clone, Copy, Debug)]
struct Pending {
    rung: usize,
    requested: Time,
    first: Option<Time>,
    /// Bytes of the stream before it.
    begin: u64,
}

/// A player of one video.
#[derive(Clone, Debug)]
pub struct Player {
    config: PlayerConfig,
    random: Random,
    start: Time,
    playback: Playback,
    /// Video that is downloaded and not played, at `now`.
    buffer: Span,
    now: Time,
    /// When the first picture was shown.
    began: Option<Time>,
    /// When it stopped for want of video, and when it went on.
    stalls: Vec<(Time, Time)>,
    chunks: Vec<ChunkRecord>,
    /// The chunk to request next.
    next: usize,
    last: Option<usize>,
    pending: Option<Pending>,
    /// Bytes of the stream that it has requested.
    requested: u64,
    /// When the next chunk is requested; [`Time::NEVER`] while one is being downloaded, and when there is none.
    due: Time,
    sums: Sums,
}

impl Player {
    /// A player that begins at `start`, when it requests nothing yet; `random` is for its rule.
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

    /// The connection is there: the first chunk may be requested.
    pub fn open(&mut self, now: Time) {
        if self.next == 0 && self.pending.is_none() {
            self.due = now;
        }
    }

    /// When [`Player::request`] is due.
    pub fn next_deadline(&self) -> Time {
        self.due
    }

    /// Video that is downloaded and not played at `now`.
    pub fn buffer(&mut self, now: Time) -> Span {
        self.play(now);
        self.buffer
    }

    /// The bytes of the next chunk, where it is to be requested now. All requests' bytes follow each other in one stream.
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

    /// The first `delivered` bytes of the stream are there at `now`.
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
        self.go_on(now);
        if self.has_more() {
            let room = self.config.buffer_max.saturating_sub(video.chunk());
            let level = self.config.rule.patience(room, video.chunk(), &mut self.random);
            // A player that does not play has room, because more than `startup` does not have to be there; see `PlayerConfig`.
            self.due = now + self.buffer.saturating_sub(level);
        }
    }

    fn has_more(&self) -> bool {
        self.next < self.config.video.chunks()
    }

    /// Begins playback, or goes on after a stall, where there is enough video.
    fn go_on(&mut self, now: Time) {
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

    /// Plays up to `now`.
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
    }

    /// The outcome up to `end`.
    pub fn outcome(&self, end: Time) -> StreamOutcome {
        let session = self.session(end);
        let stalls = (session.stalls.len() as u64, session.stalled(self.start, end));
        let startup = session.startup(self.start, end);
        self.sums.outcome(session.penalty, startup, stalls, session.played(end))
    }

    /// The session up to `end`.
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

    fn at(ms: u64) -> Time {
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
        Player::new(&config, at(0), Random::derive(1, "player", "test"))
    }

    /// Chunks of 500 kB that are complete at these times, each requested when it is due.
    fn fed(player: &mut Player, completed: &[u64]) {
        player.open(at(0));
        for (index, &ms) in completed.iter().enumerate() {
            let due = player.next_deadline();
            assert!(due <= at(ms), "chunk {index} is due at {due:?}");
            assert_eq!(player.request(due), Some(500_000));
            let end = 500_000 * (index as u64 + 1);
            player.arrived(at(ms - 1), end - 1);
            assert_eq!(player.next_deadline(), Time::NEVER);
            player.arrived(at(ms), end);
        }
    }

    #[test]
    fn it_stalls_from_the_last_picture_to_the_next_chunk() {
        let mut player = player(40, 0);
        // Plays from 1 s to 5 s, waits for 2 s, plays from 7 s on.
        fed(&mut player, &[1000, 7000, 8000]);
        let outcome = player.outcome(at(9000));
        let ms = Span::from_millis;
        assert_eq!((outcome.startup, outcome.stalls, outcome.stalled), (ms(1000), 1, ms(2000)));
        assert_eq!((outcome.chunks, outcome.played), (3, ms(6000)));
        assert!((outcome.qoe - (3.0 - 4.3 * 3.0)).abs() < 1e-9, "{}", outcome.qoe);
        // 8 s of video were there at 7 s, and no more comes.
        let later = player.outcome(at(20_000));
        assert_eq!((later.stalls, later.stalled), (2, ms(2000 + 5000)));
    }

    /// 12 s fit, so that a chunk of 4 s is requested when 8 s are left.
    #[test]
    fn it_waits_for_room() {
        let mut player = player(40, 0);
        fed(&mut player, &[100, 200, 300]);
        assert_eq!(player.buffer(at(300)), Span::from_millis(11_800));
        assert_eq!(player.next_deadline(), at(4100));
    }

    /// Whatever comes when: no video is lost or made up, and each moment until the end is startup, stall or picture.
    #[test]
    fn time_and_video_add_up() {
        for case in 0..50 {
            let mut random = Random::derive(case, "player", "arrivals");
            let mut player = player(60, random.below(3) * 4);
            player.open(at(0));
            let mut now = at(0);
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
                        now.since(at(0)),
                        "{case} {now:?}"
                    );
                }
            }
            assert_eq!(player.outcome(at(1_000_000)).played, Span::from_secs(60));
        }
    }

    #[test]
    fn it_ends_without_a_stall() {
        let mut player = player(8, 60);
        // Everything there is less than it wants to begin with.
        fed(&mut player, &[1000, 2000]);
        let outcome = player.outcome(at(60_000));
        assert_eq!((outcome.startup, outcome.stalls), (Span::from_secs(2), 0));
        assert_eq!((outcome.played, player.next_deadline()), (Span::from_secs(8), Time::NEVER));
    }
}
