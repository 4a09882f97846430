//! Discontinuous reception (DRX) of a connected UE (TS 38.321 clause 5.7, TS 36.321 clause 5.7): a UE that
//! has received nothing for a while only listens at the beginning of each cycle, and gets no new block in
//! between.
//!
//! A UE listens in a TTI that begins
//! * within `drx-onDurationTimer` of the beginning of a cycle: cycle `k` begins at `offset + k cycle`,
//!   counted from the beginning of the run, and those of the short cycle at the offset modulo the short
//!   cycle;
//! * or at most `drx-InactivityTimer` after the TTI of its last new block.
//!
//! When the inactivity timer has run out, the short cycle, if there is one, applies for `drx-ShortCycleTimer`
//! short cycles; then the long cycle applies.
//!
//! A packet that comes at a random time, long after the previous one, waits for the next on-duration: on
//! average `(cycle - on)^2 / (2 cycle)`.
//!
//! # Differences from the reference
//! * Repetitions are sent when they are due: `drx-RetransmissionTimerDL` is long enough for any, and the time
//!   awake for it is counted as asleep.
//! * Pending scheduling requests and the uplink do not keep a UE awake; nor does the base station end its
//!   active time by a MAC command.
//! * Reports of the channel arrive while a UE sleeps as well.

use alloc::format;
use alloc::string::String;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Span, Time};

const CYCLE: Typed<Span> =
    Typed::new("cycle", "160ms", "duration of the long cycle").within("2ms", "10240ms");
const ON: Typed<Span> =
    Typed::new("on", "8ms", "time for which the UE listens at the beginning of each cycle")
        .within("31250ns", "1600ms");
const INACTIVITY: Typed<Span> =
    Typed::new("inactivity", "100ms", "time for which the UE listens after a new block")
        .within("0ms", "2560ms");
const SHORT: Typed<Option<Span>> = Typed::new(
    "short",
    "",
    "duration of the short cycle, which divides the long one; default: no short cycle",
)
.within("2ms", "640ms");
const SHORTS: Typed<u64> = Typed::new("shorts", "2", "number of short cycles before the long cycle applies")
    .unit(Unit::Count("cycles"))
    .within("1", "16");
const OFFSET: Typed<Span> =
    Typed::new("offset", "0ms", "beginning of the first long cycle; less than the cycle")
        .within("0ms", "10239ms");

static DRX: Component = Component::new(
    Kind::Air,
    "drx",
    "the UE listens at the beginning of each cycle, and for a while after a block",
)
.source("TS 38.321 clause 5.7, TS 38.331 DRX-Config (its ranges)")
.with(&[
    CYCLE.parameter(),
    ON.parameter(),
    INACTIVITY.parameter(),
    SHORT.parameter(),
    SHORTS.parameter(),
    OFFSET.parameter(),
]);

/// Power saving schemes of a UE.
pub static SLEEPS: &[&Component] = &[&DRX];

/// The cycles and timers of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrxSetting {
    cycle: Span,
    on: Span,
    inactivity: Span,
    /// Duration of the short cycle, and the number of short cycles; `None` without.
    short: Option<(Span, u64)>,
    offset: Span,
}

impl DrxSetting {
    /// The setting that `arguments` of one of [`SLEEPS`] describe.
    ///
    /// # Errors
    /// An on-duration that is not shorter than each cycle, a long cycle that is no multiple of the short one,
    /// an offset that is not less than the cycle.
    pub fn build(arguments: &Arguments) -> Result<DrxSetting, String> {
        let (cycle, on, offset) = (arguments.get(&CYCLE), arguments.get(&ON), arguments.get(&OFFSET));
        let short = arguments.get(&SHORT);
        let shortest = short.unwrap_or(cycle);
        if let Some(short) = short
            && (short >= cycle || !cycle.as_nanos().is_multiple_of(short.as_nanos().max(1)))
        {
            return Err(format!(
                "short={short}: not a divisor of the cycle, {cycle}; expected a whole fraction of it, such as {}",
                cycle / 2
            ));
        }
        if on >= shortest {
            return Err(format!("on={on}: expected less than the cycle, {shortest}"));
        }
        if offset >= cycle {
            return Err(format!("offset={offset}: expected less than the cycle, {cycle}"));
        }
        let short = short.map(|short| (short, arguments.get(&SHORTS)));
        Ok(DrxSetting { cycle, on, inactivity: arguments.get(&INACTIVITY), short, offset })
    }

    /// Time asleep before `time`, in nanoseconds, if `cycle` applies from the beginning on.
    fn asleep_before(&self, time: Time, cycle: Span) -> u64 {
        let (cycle, on) = (cycle.as_nanos().max(1), self.on.as_nanos());
        let at = time.as_nanos() + cycle - self.offset.as_nanos() % cycle;
        at / cycle * (cycle - on) + (at % cycle).saturating_sub(on)
    }

    /// Returns true if a UE that listens in on-durations only is asleep at `time`.
    fn is_off(&self, time: Time, cycle: Span) -> bool {
        let cycle = cycle.as_nanos().max(1);
        (time.as_nanos() + cycle - self.offset.as_nanos() % cycle) % cycle >= self.on.as_nanos()
    }
}

/// The DRX of a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drx {
    setting: DrxSetting,
    /// End of the inactivity timer, and end of the short cycles; `None` before the first block.
    timers: Option<(Time, Time)>,
    /// Time asleep before `counted`.
    asleep: Span,
    counted: Time,
}

impl Drx {
    pub fn new(setting: DrxSetting) -> Drx {
        Drx { setting, timers: None, asleep: Span::ZERO, counted: Time::ZERO }
    }

    /// Returns true if the UE does not listen in the TTI that begins at `now`.
    pub fn is_asleep(&self, now: Time) -> bool {
        match self.timers {
            Some((awake, _)) if now <= awake => false,
            Some((_, short)) if now < short => {
                self.setting.is_off(now, self.setting.short.map_or(self.setting.cycle, |short| short.0))
            }
            _ => self.setting.is_off(now, self.setting.cycle),
        }
    }

    /// Records that a new block is sent to the UE at `now`.
    pub fn granted(&mut self, now: Time) {
        self.asleep = self.asleep(now);
        self.counted = now;
        let awake = now + self.setting.inactivity;
        let short = self.setting.short.map_or(Span::ZERO, |(cycle, count)| cycle * count);
        self.timers = Some((awake, awake + short));
    }

    /// Time asleep until `now`, which is not before the last block.
    pub fn asleep(&self, now: Time) -> Span {
        let between = |from: Time, to: Time, cycle: Span| {
            let setting = &self.setting;
            if to <= from { 0 } else { setting.asleep_before(to, cycle) - setting.asleep_before(from, cycle) }
        };
        let (awake, short) = self.timers.unwrap_or((self.counted, self.counted));
        let cycle = self.setting.short.map_or(self.setting.cycle, |short| short.0);
        let in_short = between(awake.min(now), short.min(now), cycle);
        let in_long = between(short.min(now), now, self.setting.cycle);
        self.asleep + Span::from_nanos(in_short + in_long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn drx(text: &str) -> Drx {
        Drx::new(DrxSetting::build(&Arguments::parse(SLEEPS, text).unwrap()).unwrap())
    }
    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    #[test]
    fn the_ue_listens_by_cycle_inactivity_and_short_cycles() {
        let mut drx = drx("drx:cycle=40ms:on=4ms:inactivity=10ms:short=20ms:shorts=2:offset=5ms");
        let awake =
            |drx: &Drx, from: u64, to: u64| (from..to).filter(|&n| !drx.is_asleep(ms(n))).collect::<Vec<_>>();
        assert_eq!(awake(&drx, 0, 90), [5, 6, 7, 8, 45, 46, 47, 48, 85, 86, 87, 88]);
        drx.granted(ms(86));
        // Listening: to 96 ms by inactivity; short cycles to 136; then the long cycle at 165.
        let expected: Vec<u64> = (86..97).chain(105..109).chain(125..129).chain(165..169).collect();
        assert_eq!(awake(&drx, 86, 190), expected);
    }

    #[test]
    fn contradictions_are_refused() {
        let message = |text| DrxSetting::build(&Arguments::parse(SLEEPS, text).unwrap()).unwrap_err();
        assert!(message("drx:cycle=40ms:on=40ms").contains("less than the cycle"));
        assert!(message("drx:cycle=40ms:short=10ms:on=10ms").contains("less than the cycle"));
        assert!(message("drx:cycle=40ms:short=30ms").contains("a whole fraction of it"));
        assert!(message("drx:cycle=40ms:offset=40ms").contains("less than the cycle"));
    }

    proptest! {
        /// The time asleep equals the sum over samples every 50 us.
        #[test]
        fn the_time_asleep_is_the_sum_of_its_parts(
            cycles in 1_u64..5, short in 2_u64..20, on in 1_u64..19, inactivity in 0_u64..30, shorts in 1_u64..5, offset in 0_u64..40,
            has_short in any::<bool>(), mut grants in prop::collection::vec(0_u64..600, 0..6),
        ) {
            let setting = DrxSetting {
                cycle: Span::from_millis(short * cycles),
                on: Span::from_micros(on.min(short - 1) * 1000),
                inactivity: Span::from_millis(inactivity),
                short: has_short.then_some((Span::from_millis(short), shorts)),
                offset: Span::from_millis(offset % (short * cycles)),
            };
            grants.sort_unstable();
            let (mut drx, mut asleep) = (Drx::new(setting), 0);
            for step in 0..16_000_u64 {
                let now = Time::from_nanos(step * 50_000);
                while grants.first().is_some_and(|&at| ms(at) <= now) {
                    grants.remove(0);
                    drx.granted(now);
                }
                // The sample is the middle of the step, where nothing begins or ends.
                asleep += u64::from(drx.is_asleep(now + Span::from_micros(25))) * 50_000;
            }
            prop_assert_eq!(drx.asleep(ms(800)).as_nanos(), asleep);
        }
    }
}
