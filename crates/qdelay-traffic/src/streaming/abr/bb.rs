//! BB: the bit rate is a function of the buffer (Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, section 5: BBA-0).
//!
//! | parameter | unit | default | symbol |
//! | --- | --- | --- | --- |
//! | `reservoir` | duration | 5 s | r |
//! | `cushion` | duration | 10 s | cu |
//! | `map` | word | rate | f(B) |
//!
//! With a buffer below the reservoir the rule chooses the lowest bit rate; above reservoir plus cushion, the highest. In between, the map `f(B)`
//! rises linearly from the lowest to the highest bit rate, and the rung changes only when `f(B)` reaches the bit rate of the next rung, up or down.
//!
//! # Differences from the reference
//! * The paper's reservoir and cushion are 90 s and 126 s of a buffer of 240 s. The defaults are those of programs that compare rules
//!   with buffers of up to a minute (Pensieve, `test/bb.py`).
//! * `map=rung` is the map of these programs: linear in the number of the rung, rounded down, without memory.

use super::{Moment, Rule};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const RESERVOIR: Typed<Span> =
    Typed::new("reservoir", "5s", "Buffer below which the lowest bit rate is chosen")
        .within("0", "10min")
        .source("Pensieve; BBA: 90s of 240s");
const CUSHION: Typed<Span> =
    Typed::new("cushion", "10s", "Buffer above reservoir at which the highest bit rate is chosen")
        .within("1ms", "10min")
        .source("Pensieve; BBA: 126s of 240s");
const MAP: Typed<str> =
    Typed::new("map", "rate", "Quantity in which the map is linear: bit rate, or number of the rung")
        .unit(Unit::Choice(&["rate", "rung"]))
        .source("BBA section 5; Pensieve");

pub(super) static COMPONENT: Component =
    Component::new(Kind::Adaptation, "bb", "Bit rate as a function of the buffer alone")
        .source("Huang et al. 2014, section 5 (BBA-0)")
        .with(&[RESERVOIR.parameter(), CUSHION.parameter(), MAP.parameter()]);

/// The rule BB with its parameters.
#[derive(Clone, Debug)]
pub struct Bb {
    reservoir: f64,
    cushion: f64,
    is_of_rungs: bool,
}

pub(super) fn build(arguments: &Arguments) -> Bb {
    Bb {
        reservoir: arguments.get(&RESERVOIR).as_secs_f64(),
        cushion: arguments.get(&CUSHION).as_secs_f64(),
        is_of_rungs: arguments.get(&MAP) == "rung",
    }
}

impl Rule for Bb {
    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let video = moment.video;
        let top = video.rungs() - 1;
        let buffer = moment.buffer.as_secs_f64();
        if buffer < self.reservoir {
            return 0;
        }
        if buffer >= self.reservoir + self.cushion {
            return top;
        }
        let share = (buffer - self.reservoir) / self.cushion;
        if self.is_of_rungs {
            return (top as f64 * share) as usize;
        }
        let map = video.bps(0) + share * (video.bps(top) - video.bps(0));
        let last = moment.last.unwrap_or(0).min(top);
        let (above, below) = (video.bps(last + 1), video.bps(last.saturating_sub(1)));
        if last < top && map >= above {
            // The highest rung below the map.
            (0..=top).rev().find(|rung| video.bps(*rung) < map).unwrap_or(0).max(last + 1)
        } else if last > 0 && map <= below {
            // The lowest rung above the map.
            (0..=top).find(|rung| video.bps(*rung) > map).unwrap_or(top).min(last - 1)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COMPONENTS, Video};
    use super::*;
    use qdelay_core::{Rate, Time};

    /// Checks choices. Each case: buffer, ms; rung before; rung chosen.
    fn choices(text: &str, cases: &[(u64, usize, usize)]) {
        let mut rule = build(&Arguments::parse(COMPONENTS, text).unwrap());
        let ladder = [300, 750, 1200, 1850, 2850, 4300].map(|kbps| Rate::from_bps(kbps * 1000));
        let video = Video::synthetic(&ladder, Span::from_secs(40), Span::from_secs(4), 0.0, 1);
        for &(buffer, last, expected) in cases {
            let moment = Moment {
                video: &video,
                now: Time::ZERO,
                buffer: Span::from_millis(buffer),
                buffer_max: Span::from_secs(60),
                next: 1,
                last: Some(last),
            };
            assert_eq!(rule.choose(&moment), expected, "{text}: {buffer} ms, rung {last}");
        }
    }

    #[test]
    fn the_map_is_linear_in_the_rate_with_memory() {
        // f(10 s) = 2300, f(6 s) = 700, f(12.5 s) = 3300 kbit/s.
        choices("bb", &[(4999, 5, 0), (15_000, 0, 5), (10_000, 0, 3), (10_000, 3, 3), (10_000, 4, 4)]);
        choices("bb", &[(6000, 5, 1), (6000, 1, 1), (6000, 0, 0), (12_500, 3, 4), (10_000, 5, 4)]);
    }

    #[test]
    fn the_map_of_rungs_has_no_memory() {
        let cases = [(4999, 5, 0), (5000, 5, 0), (6999, 3, 0), (7000, 3, 1), (14_999, 0, 4), (15_000, 0, 5)];
        choices("bb:map=rung", &cases);
    }
}
