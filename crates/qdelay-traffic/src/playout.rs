//! The playout buffer in front of a decoder: the playout time of each packet of a call, and the packets that arrive too late.
//!
//! All packets of a talk spurt have the same playout delay, from sending to playing, so that speech keeps its rhythm. The first packet of each
//! spurt sets the playout delay:
//!
//! * fixed: the network delay of that packet plus the buffer's length;
//! * adaptive: mean network delay plus four mean deviations, both averaged exponentially over all packets that have arrived.
//!
//! A packet that arrives after its playout time is lost to the listener. A spurt begins after a gap in the sent packets; speech without a gap
//! is divided into spurts of length `spurt`, so that the delay still adapts.
//!
//! Source: Ramjee, Kurose, Towsley and Schulzrinne, INFOCOM 1994, section 3, algorithm 1.
//!
//! # Differences from the reference
//!
//! * The deviation begins at a quarter of the buffer's length instead of zero, so that the first spurt waits as in a fixed buffer.
//! * Speech without pauses has spurts of a fixed length. If the playout delay shrinks between two of them, the end of the first overlaps the
//!   beginning of the second; a telephone would shorten the speech.
//! * The clocks of decoder and sender are synchronised.

use qdelay_core::{Span, Time};

/// Rule by which a buffer sets the playout delay of a spurt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlayoutLaw {
    /// The network delay of a spurt's first packet plus the buffer's length.
    Fixed,
    /// Mean network delay plus four mean deviations.
    Adaptive {
        /// Weight of the past in each average, 0 to 1; 0.998002 in the paper.
        memory: f64,
    },
}

/// Settings of a playout buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayoutSetting {
    /// Rule for the playout delay.
    pub law: PlayoutLaw,
    /// Length of the buffer: the wait of the first packet.
    pub buffer: Span,
    /// Longest talk spurt.
    pub spurt: Span,
}

impl PlayoutSetting {
    /// Weight of the past in the paper's averages.
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
    /// Packets that arrived too late to be played.
    pub late: u64,
    /// Mean time from sending to playing over the played packets; zero if none was played.
    pub delay: Span,
    /// Share of the sent packets that were not played, 0 to 1.
    pub loss: f64,
    /// Mean length of a burst of losses over that of random losses (BurstR in G.107); at least 1.
    pub burst_ratio: f64,
}

/// Length of the window of undecided packets, in packets: a packet this far behind the newest counts as late at any delay.
const WINDOW: u64 = 128;

/// A playout buffer, which stores only the outcomes of packets.
#[derive(Clone, Debug)]
pub struct Playout {
    setting: PlayoutSetting,
    interval: Span,
    estimate: Option<Estimate>,
    spurt: Option<Spurt>,
    previous: Option<Spurt>,
    /// Number and send time of the newest packet.
    newest: Option<(u64, Time)>,
    fates: Fates,
    late: u64,
    /// Sum of the playout delays of the played packets, ns.
    delays: u128,
}

/// Mean network delay and mean deviation, ns.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    delay: f64,
    deviation: f64,
}

#[derive(Clone, Copy, Debug)]
struct Spurt {
    first: u64,
    began: Time,
    /// Playout delay: time from sending to playing.
    delay: Span,
}

/// Outcomes of packets, counted in the order of their numbers.
#[derive(Clone, Debug, Default)]
struct Fates {
    /// Number of the first packet that counts.
    first: u64,
    /// Number of the first packet of the window of undecided packets.
    base: u64,
    /// Bit per packet of the window, the first in the lowest bit: set if played.
    played_bits: u128,
    played: u64,
    /// Bursts of consecutive lost packets.
    bursts: u64,
    in_burst: bool,
}

impl Playout {
    /// An empty buffer for packets sent every `interval` and numbered from 0.
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

    /// Records that packet `number`, sent at `sent`, arrived at `now`. Returns whether it is played.
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

    /// Restarts the statistics at packet `number`, which is not sent yet; the delay averages continue.
    pub fn restart(&mut self, number: u64) {
        self.fates.settle(number);
        let in_burst = false;
        self.fates = Fates { first: self.fates.base, played: 0, bursts: 0, in_burst, ..self.fates };
        (self.late, self.delays) = (0, 0);
    }

    /// Statistics of the packets below number `until`; a packet that has not arrived counts as lost.
    pub fn heard(&self, until: u64) -> Heard {
        let mut fates = self.fates.clone();
        fates.settle(until);
        let sent = fates.base - fates.first;
        debug_assert!(fates.played <= sent && fates.bursts <= sent - fates.played, "{fates:?}");
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

    /// Updates the averages with the network delay of a packet; returns those to use.
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

    /// The talk spurt that a packet belongs to; a packet after a pause, or after the longest spurt, begins a new one.
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
                // Rounded up, so that packets of a constant delay are in time.
                Span::from_nanos(libm::ceil(estimate.delay + 4.0 * estimate.deviation) as u64)
            }
        };
        let spurt = Spurt { first: number, began: sent, delay: wait };
        self.previous = self.spurt.replace(spurt);
        spurt
    }
}

impl Fates {
    /// Marks a packet as played. Returns false for a packet behind the window and for one that was played before.
    fn play(&mut self, number: u64) -> bool {
        self.settle(number.saturating_sub(WINDOW - 1));
        let Some(place) = number.checked_sub(self.base) else { return false };
        let bit = 1 << place;
        let is_new = self.played_bits & bit == 0;
        self.played_bits |= bit;
        is_new
    }

    /// Moves the window to `until`, and counts the packets that leave the window as played or lost.
    fn settle(&mut self, until: u64) {
        while self.base < until {
            if self.played_bits == 0 {
                // No packet of the window was played: all up to `until` are one burst of losses.
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
