//! The playout buffer in front of a decoder: when each packet of a call is played, and which packets are too late.
//!
//! Within a talk spurt all packets are played the same time after they were sent, so that speech keeps its rhythm. That time
//! is set anew with the first packet of each spurt:
//!
//! * fixed: the delay of that packet and the buffer's length;
//! * adaptive: mean delay and four mean deviations, both averaged exponentially over all packets that have arrived.
//!
//! A packet that arrives after its playout time is lost to the listener. A spurt begins after a gap in the sent packets, or
//! after `spurt` of speech without one, because speech is not continuous for ever.
//!
//! Source: Ramjee, Kurose, Towsley and Schulzrinne, INFOCOM 1994, section 3, algorithm 1.
//!
//! # Differences from the reference
//!
//! * The deviation begins at a quarter of the buffer's length instead of zero: the first spurt waits as in a fixed buffer.
//! * Spurts of one length in speech without pauses. Where the delay shrinks there, the end of the one spurt and the beginning
//!   of the next are played over each other; a telephone would shorten the speech.
//! * The decoder's clock is the sender's.

use qdelay_core::{Span, Time};

/// How a buffer determines its delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlayoutLaw {
    /// The delay of a spurt's first packet and the buffer's length.
    Fixed,
    /// Mean delay and four mean deviations.
    Adaptive {
        /// Weight of the past in each average, 0 to 1; 0.998002 in the paper.
        memory: f64,
    },
}

/// A playout buffer's knobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayoutSetting {
    /// How it determines its delay.
    pub law: PlayoutLaw,
    /// How long the first packet waits.
    pub buffer: Span,
    /// Longest talk spurt.
    pub spurt: Span,
}

impl PlayoutSetting {
    /// The paper's memory.
    pub const MEMORY: f64 = 0.998_002;

    /// A fixed buffer of this length.
    pub const fn fixed(buffer: Span) -> PlayoutSetting {
        PlayoutSetting { law: PlayoutLaw::Fixed, buffer, spurt: Span::from_secs(1) }
    }

    /// An adaptive buffer that begins with this length.
    pub const fn adaptive(buffer: Span) -> PlayoutSetting {
        PlayoutSetting { law: PlayoutLaw::Adaptive { memory: Self::MEMORY }, ..Self::fixed(buffer) }
    }
}

/// Playout statistics of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that were played.
    pub played: u64,
    /// Packets that came too late to be played.
    pub late: u64,
    /// From sending to playing, mean over the played packets; zero if there are none.
    pub delay: Span,
    /// Packets that were not played, of those sent: 0 to 1.
    pub loss: f64,
    /// Mean length of a burst of losses over that of random losses (BurstR in G.107); at least 1.
    pub burst_ratio: f64,
}

/// Packets whose playout is undecided; a packet this many behind the newest is late whatever the delay.
const WINDOW: u64 = 128;

/// A playout buffer. It stores no packets, only their outcomes.
#[derive(Clone, Debug)]
pub struct Playout {
    setting: PlayoutSetting,
    interval: Span,
    estimate: Option<Estimate>,
    spurt: Option<Spurt>,
    previous: Option<Spurt>,
    /// The newest packet: its number and when it was sent.
    newest: Option<(u64, Time)>,
    fates: Fates,
    late: u64,
    delays: u128,
}

/// Averages in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    delay: f64,
    deviation: f64,
}

#[derive(Clone, Copy, Debug)]
struct Spurt {
    first: u64,
    began: Time,
    /// From sending to playing.
    delay: Span,
}

/// The packets that were played, counted in order.
#[derive(Clone, Debug, Default)]
struct Fates {
    first: u64,
    /// The first packet of the window.
    base: u64,
    /// Played packets of the window.
    played_bits: u128,
    played: u64,
    bursts: u64,
    in_burst: bool,
}

impl Playout {
    /// An empty buffer for packets that are sent every `interval`, numbered from 0.
    pub fn new(setting: PlayoutSetting, interval: Span) -> Playout {
        Playout {
            setting,
            interval,
            estimate: None,
            spurt: None,
            previous: None,
            newest: None,
            fates: Fates::default(),
            late: 0,
            delays: 0,
        }
    }

    /// The packet with this number arrived at `now`. Returns whether it is played.
    pub fn arrived(&mut self, number: u64, sent: Time, now: Time) -> bool {
        let delay = now.since(sent);
        let estimate = self.estimated(delay);
        let spurt = self.spurt_of(number, sent, delay, estimate);
        let in_time = delay <= spurt.delay;
        if in_time && self.fates.play(number) {
            self.delays += u128::from(spurt.delay.as_nanos());
            return true;
        }
        self.late += u64::from(number >= self.fates.first);
        false
    }

    /// Counts from this packet on, which has not been sent yet; the delay averages are kept.
    pub fn restart(&mut self, number: u64) {
        self.fates.settle(number);
        let in_burst = false;
        self.fates = Fates { first: self.fates.base, played: 0, bursts: 0, in_burst, ..self.fates };
        (self.late, self.delays) = (0, 0);
    }

    /// Statistics of the packets below number `until`. Those that have not arrived are lost.
    pub fn heard(&self, until: u64) -> Heard {
        let mut fates = self.fates.clone();
        fates.settle(until);
        let sent = fates.base - fates.first;
        let lost = sent - fates.played;
        let loss = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
        let burst_ratio =
            if fates.bursts == 0 { 1.0 } else { lost as f64 / fates.bursts as f64 * (1.0 - loss) };
        let delay = self.delays.checked_div(u128::from(fates.played)).unwrap_or(0);
        Heard {
            sent,
            played: fates.played,
            late: self.late,
            delay: Span::from_nanos(u64::try_from(delay).unwrap_or(u64::MAX)),
            loss,
            burst_ratio: burst_ratio.max(1.0),
        }
    }

    fn estimated(&mut self, delay: Span) -> Estimate {
        let delay = delay.as_nanos() as f64;
        let first = Estimate { delay, deviation: self.setting.buffer.as_nanos() as f64 / 4.0 };
        let PlayoutLaw::Adaptive { memory } = self.setting.law else { return first };
        let estimate = match self.estimate {
            None => first,
            Some(old) => {
                let mean = memory * old.delay + (1.0 - memory) * delay;
                let deviation = memory * old.deviation + (1.0 - memory) * (mean - delay).abs();
                Estimate { delay: mean, deviation }
            }
        };
        self.estimate = Some(estimate);
        estimate
    }

    /// The spurt that a packet belongs to; the first packet begins it.
    fn spurt_of(&mut self, number: u64, sent: Time, delay: Span, estimate: Estimate) -> Spurt {
        let newest = self.newest.unwrap_or((number, sent));
        self.newest = Some(if number > newest.0 { (number, sent) } else { newest });
        if let Some(spurt) = self.spurt {
            if number < spurt.first {
                return self.previous.unwrap_or(spurt);
            }
            // Losses leave gaps in the arrivals, but not in the sent packets.
            let speech =
                self.interval * (number.saturating_sub(newest.0).saturating_mul(2).saturating_add(1)) / 2;
            let paused = number > newest.0 && sent.since(newest.1) > speech;
            if !paused && sent.since(spurt.began) < self.setting.spurt {
                return spurt;
            }
        }
        let wait = match self.setting.law {
            PlayoutLaw::Fixed => delay + self.setting.buffer,
            PlayoutLaw::Adaptive { .. } => {
                // Rounded up, because a constant delay would otherwise be above it.
                Span::from_nanos(libm::ceil(estimate.delay + 4.0 * estimate.deviation) as u64)
            }
        };
        let spurt = Spurt { first: number, began: sent, delay: wait };
        self.previous = self.spurt.replace(spurt);
        spurt
    }
}

impl Fates {
    /// Returns false for a packet that is too far behind, or was played before.
    fn play(&mut self, number: u64) -> bool {
        self.settle(number.saturating_sub(WINDOW - 1));
        let Some(place) = number.checked_sub(self.base) else { return false };
        let bit = 1 << place;
        let is_new = self.played_bits & bit == 0;
        self.played_bits |= bit;
        is_new
    }

    /// Counts all packets below `until` by their present state.
    fn settle(&mut self, until: u64) {
        while self.base < until {
            if self.played_bits == 0 {
                // The window is empty.
                self.bursts += u64::from(!self.in_burst);
                self.in_burst = true;
                self.base = until;
                return;
            }
            let played = self.played_bits & 1 == 1;
            self.played += u64::from(played);
            self.bursts += u64::from(!played && !self.in_burst);
            self.in_burst = !played;
            self.played_bits >>= 1;
            self.base += 1;
        }
    }
}
