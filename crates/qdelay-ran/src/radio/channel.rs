//! A channel as queried by a cell.

use super::capacity::Bytes;
use super::olla::{Olla, OllaSetting};
use super::quality::Quality;
use super::thresholds::Thresholds;
use super::{Channel, Process, RadioError, Walk as _};
use crate::tables::{Carrier, Rung};
use alloc::boxed::Box;
use qdelay_core::{Span, Time};

/// The scheduler's knowledge of a channel: its state some time ago. The default is no delay. Without effect on
/// [`Quality::Bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Age of a report when the scheduler first uses it.
    pub delay: Span,
    /// Interval between reports, of which the first is taken at 0; zero: every TTI.
    pub period: Span,
}

impl Channel {
    /// Starts the channel on `carrier`, for TTIs of `tti`. The random stream is that of (`seed`, `name`, "fading"), so each
    /// UE needs its own name.
    ///
    /// # Errors
    /// An MCS, a CQI or a mapping that the carrier does not have; a channel without an SNR on a carrier with rank adaptation;
    /// fading parameters out of range; a TTI of zero.
    pub fn start(
        &self,
        carrier: &Carrier,
        tti: Span,
        reported: Reported,
        seed: u64,
        name: &str,
    ) -> Result<Radio, RadioError> {
        if tti.is_zero() {
            return Err(RadioError::Span { what: "TTI", found: tti, expected: "above 0" });
        }
        if carrier.adapts_rank() && !self.has_snr() {
            return Err(RadioError::Rank);
        }
        let source = self.source(carrier, seed, name)?;
        let known = match &source {
            Source::Process(process) if reported != Reported::default() => Some(process.clone()),
            _ => None,
        };
        let is_plain = known.is_none();
        Ok(Radio { source, known, reported, tti, place: Span::ZERO, last: None, is_plain, levels: None })
    }
}

/// A running channel. A query costs O(1), plus the steps, opportunities or fading blocks that passed since the last one.
#[derive(Clone, Debug)]
pub struct Radio {
    source: Source,
    /// The same channel as the scheduler knows it, with the report's delay, if that is not zero.
    known: Option<Process>,
    reported: Reported,
    tti: Span,
    /// Position of the channel when the run begins.
    place: Span,
    /// Last result of a channel of bytes, which can be counted only once.
    last: Option<(Time, u64)>,
    /// True if the scheduler knows the true quality.
    is_plain: bool,
    /// State of cells whose blocks are judged by SNR, or adapted by their loss.
    levels: Option<Box<Levels>>,
}

#[derive(Clone, Debug)]
struct Levels {
    thresholds: Thresholds,
    olla: Option<Olla>,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Process(Process),
    Bytes(Bytes),
}

impl Radio {
    /// The same channel, at position `place` when the run begins: all times below are since then.
    #[must_use]
    pub fn starting_from(self, place: Span) -> Radio {
        Radio { place, ..self }
    }

    /// The same channel with the SNR of each rung of `carrier`, at which `share` of Shannon's bound is
    /// reached; and with outer-loop link adaptation, if any.
    #[must_use]
    pub(crate) fn with_levels(self, carrier: &Carrier, share: f64, olla: Option<OllaSetting>) -> Radio {
        let levels = Levels { thresholds: Thresholds::new(carrier, share), olla: olla.map(Olla::new) };
        Radio { levels: Some(Box::new(levels)), is_plain: false, ..self }
    }

    /// The SNR of the channel in the TTI that begins at `now`, in dB; `None` where only its quality is given. Times must not
    /// decrease from call to call.
    pub fn snr_db(&mut self, now: Time) -> Option<f64> {
        match &mut self.source {
            Source::Process(process) => process.snr_db(now + self.place),
            Source::Bytes(_) => None,
        }
    }

    /// The threshold of `rung`, and the channel's SNR in the TTI that begins at `now`, both in dB: a block is
    /// received the better the more the SNR exceeds the threshold. `None` in an outage, and on a channel of
    /// bytes. For a channel with levels.
    pub(crate) fn level_db(&mut self, rung: Rung, now: Time) -> Option<(f64, f64)> {
        let (quality, own) = (self.quality(now), self.snr_db(now));
        let levels = self.levels.as_ref()?;
        let snr_db = match (own, quality) {
            (Some(snr_db), _) => snr_db,
            (None, Quality::Rung(channel)) => levels.thresholds.db(channel),
            (None, Quality::Bytes(_) | Quality::Outage) => return None,
        };
        Some((levels.thresholds.db(rung), snr_db))
    }

    /// Tells link adaptation if the first transmission of a block that was sent with `chosen` was lost.
    #[inline]
    pub(crate) fn answered(&mut self, chosen: Quality, is_lost: bool) {
        if let (Some(levels), Quality::Rung(rung)) = (&mut self.levels, chosen)
            && let Some(olla) = &mut levels.olla
        {
            olla.answered(rung, levels.thresholds.ends(rung), is_lost);
        }
    }

    /// Returns true if outer-loop link adaptation changes the known quality.
    #[inline]
    pub(crate) fn adapts(&self) -> bool {
        self.levels.as_ref().is_some_and(|levels| levels.olla.is_some())
    }

    /// Restarts outer-loop link adaptation.
    pub(crate) fn forget(&mut self) {
        if let Some(olla) = self.levels.as_mut().and_then(|levels| levels.olla.as_mut()) {
            olla.forget();
        }
    }

    /// The offset of outer-loop link adaptation, dB; 0 without.
    pub(crate) fn offset_db(&self) -> f64 {
        let olla = self.levels.as_ref().and_then(|levels| levels.olla.as_ref());
        olla.map_or(0.0, Olla::offset_db)
    }

    /// The quality of the channel in the TTI that begins at `now`. Times must not decrease from call to call; at the same
    /// time the result is the same. Bytes are those from `now` until a TTI later: bytes in TTIs that were not queried are
    /// lost.
    pub fn quality(&mut self, now: Time) -> Quality {
        match &mut self.source {
            Source::Process(process) => process.quality_at(now + self.place),
            Source::Bytes(bytes) => {
                if let Some((at, bytes)) = self.last
                    && at >= now
                {
                    return Quality::Bytes(bytes);
                }
                let begin = now + self.place;
                let carried = bytes.between(begin, begin + self.tti);
                self.last = Some((now, carried));
                Quality::Bytes(carried)
            }
        }
    }

    /// Returns true if [`Radio::known`] is [`Radio::quality`].
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The quality by which the scheduler decides in the TTI that begins at `now`: the reported one, with the
    /// MCS corrected by outer-loop link adaptation, and the rank as reported. Times must not decrease from call to call.
    #[inline]
    pub fn known(&mut self, now: Time) -> Quality {
        if self.is_plain { self.quality(now) } else { self.assessed(now) }
    }

    fn assessed(&mut self, now: Time) -> Quality {
        let reported = self.reported(now);
        match (&self.levels, reported) {
            (None, _) => reported,
            (Some(levels), Quality::Rung(rung)) => {
                let chosen = levels.olla.as_ref().map_or(rung, |olla| olla.chosen(&levels.thresholds, rung));
                Quality::Rung(chosen)
            }
            (Some(_), Quality::Bytes(_) | Quality::Outage) => reported,
        }
    }

    /// The channel at the time of the newest report that has arrived; before the first report, the channel at time 0. On a
    /// channel of bytes, the true quality.
    fn reported(&mut self, now: Time) -> Quality {
        let Some(known) = &mut self.known else { return self.quality(now) };
        let seen = now - self.reported.delay;
        let since = match self.reported.period.as_nanos() {
            0 => 0,
            period => seen.as_nanos() % period,
        };
        known.quality_at(seen - Span::from_nanos(since) + self.place)
    }

    /// On a channel of bytes, the bytes that the carrier carries from `from` (inclusive) to `to` (exclusive), for TTIs that are
    /// not queried one by one; times must not decrease over the calls of [`Radio::quality`] and this method. `None` on other
    /// channels.
    pub fn bytes_between(&mut self, from: Time, to: Time) -> Option<u64> {
        match &mut self.source {
            Source::Process(_) => None,
            Source::Bytes(bytes) => Some(bytes.between(from + self.place, to + self.place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Capacity, Cqi, CqiTrace, Fading, Mcs, Opportunities};
    use super::*;
    use crate::tables::CqiToMcs;
    use alloc::vec;
    use alloc::vec::Vec;
    use qdelay_trace::{CapacitySteps, CqiStep, CqiSteps, ScheduleBuilder};

    const TTI: Span = Span::from_millis(1);

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }
    fn lte() -> Carrier {
        Carrier::lte(25).unwrap()
    }
    fn start(channel: &Channel, reported: Reported) -> Radio {
        channel.start(&lte(), TTI, reported, 1, "ue").unwrap()
    }
    fn steps(repeat: bool) -> Channel {
        let step = |at, cqi| CqiStep { start: ms(at), cqi };
        let trace = CqiSteps::new(vec![step(0, 5), step(3, 15), step(5, 0)], Span::from_millis(8)).unwrap();
        Channel::CqiTrace(CqiTrace { trace, repeat, mapping: None })
    }
    fn mcs(quality: Quality) -> i32 {
        match quality {
            Quality::Rung(rung) => i32::from(lte().mcs_of(rung)),
            _ => -1,
        }
    }

    #[test]
    fn constant_channels_have_one_quality() {
        let constant = |channel: Channel| start(&channel, Reported::default()).quality(ms(7));
        assert_eq!(constant(Channel::Mcs(Mcs(28))), Quality::mcs(28));
        let cqi = |mapping| constant(Channel::Cqi(Cqi { cqi: 12, mapping }));
        assert_eq!((cqi(None), cqi(Some(CqiToMcs::Efficiency))), (Quality::mcs(23), Quality::mcs(22)));
        assert_eq!(cqi(Some(CqiToMcs::ThesisEmulator)), Quality::mcs(21));
    }

    #[test]
    fn a_start_position_shifts_the_channel() {
        let (delay, period) = (Span::from_millis(2), Span::from_millis(3));
        for reported in [Reported::default(), Reported { delay, period }] {
            for place in 0..9 {
                let mut whole = start(&steps(true), reported);
                let mut from = whole.clone().starting_from(Span::from_millis(place));
                for n in 0..20 {
                    assert_eq!(from.quality(ms(n)), whole.quality(ms(n + place)), "{n} from {place}");
                    let seen = n.saturating_sub(2);
                    let known = start(&steps(true), Reported::default()).quality(ms(seen - seen % 3 + place));
                    let known = if reported == Reported::default() { from.quality(ms(n)) } else { known };
                    assert_eq!(from.known(ms(n)), known, "{n} from {place}");
                }
            }
        }
    }

    #[test]
    fn steps_hold_and_repeat_or_end() {
        let walk = |repeat, every: u64| -> Vec<i32> {
            let mut radio = start(&steps(repeat), Reported::default());
            (0..20).step_by(every as usize).map(|n| mcs(radio.quality(ms(n)))).collect()
        };
        let round = [6, 6, 6, 28, 28, -1, -1, -1];
        let expected: Vec<i32> = round.iter().copied().cycle().take(20).collect();
        assert_eq!(walk(true, 1), expected);
        assert_eq!(walk(true, 7), [6, -1, -1]);
        assert_eq!(walk(false, 1), [&round[..], &[-1; 12]].concat());
    }

    /// The scheduler knows the channel as it was at the last multiple of the period, a delay ago.
    #[test]
    fn reports_are_delayed_and_periodic() {
        for (delay, period) in [(0, 0), (2, 0), (0, 3), (2, 3), (6, 5), (100, 7)] {
            let reported = Reported { delay: Span::from_millis(delay), period: Span::from_millis(period) };
            let mut radio = start(&steps(true), reported);
            let mut truth = start(&steps(true), Reported::default());
            let all: Vec<Quality> = (0..200).map(|n| truth.quality(ms(n))).collect();
            for n in 0..200_u64 {
                let seen = n.saturating_sub(delay);
                let reported = seen - seen.checked_rem(period).unwrap_or(0);
                assert_eq!(radio.known(ms(n)), all[reported as usize], "{delay} {period} {n}");
                assert_eq!(radio.quality(ms(n)), all[n as usize]);
            }
        }
    }

    #[test]
    fn fading_is_known_late_from_the_same_stream() {
        let fading = Channel::from(Fading::default());
        let delay = Span::from_millis(20);
        let mut radio = start(&fading, Reported { delay, period: Span::ZERO });
        let mut earlier = vec![];
        for n in 0..2000 {
            earlier.push(radio.quality(ms(n)));
            assert_eq!(radio.known(ms(n)), earlier[n.saturating_sub(20) as usize]);
        }
        assert!(earlier.iter().any(|quality| *quality != earlier[0]));
    }

    #[test]
    fn bytes_of_a_tti_are_the_same_at_each_query() {
        let trace = CapacitySteps::new(vec![6, 3]).unwrap();
        let reported = Reported { delay: Span::from_secs(1), period: Span::ZERO };
        let mut radio = start(
            &Channel::Capacity(Capacity {
                trace,
                tick: qdelay_trace::capacity::TICK,
                spread: true,
                repeat: true,
            }),
            reported,
        );
        for at in [0, 0, 999] {
            assert_eq!(
                (radio.known(ms(at)), radio.quality(ms(at))),
                (Quality::Bytes(900), Quality::Bytes(900))
            );
        }
        assert_eq!(radio.bytes_between(ms(1000), ms(1500)), Some(225_000));
        assert_eq!(radio.quality(ms(1500)), Quality::Bytes(450));
        assert_eq!(start(&Channel::Mcs(Mcs(1)), reported).bytes_between(ms(0), ms(1)), None);
    }

    #[test]
    fn longer_ttis_carry_more() {
        let capacity = |spread| {
            let trace = CapacitySteps::new(vec![6, 3]).unwrap();
            Channel::Capacity(Capacity { trace, tick: qdelay_trace::capacity::TICK, spread, repeat: false })
        };
        let mut builder = ScheduleBuilder::default();
        builder.push(0, 1).unwrap();
        builder.push(12, 2).unwrap();
        let trace = builder.finish().unwrap();
        let channels =
            [capacity(true), capacity(false), Channel::Opportunities(Opportunities { trace, repeat: false })];
        let ten = |channel: &Channel| {
            let tti = Span::from_millis(10);
            let mut radio = channel.start(&lte(), tti, Reported::default(), 1, "ue").unwrap();
            [radio.quality(ms(0)), radio.quality(ms(10)), radio.quality(ms(2000))]
        };
        let bytes = [[9000, 9000, 0], [9000, 9000, 0], [1504, 3008, 0]];
        assert_eq!(channels.each_ref().map(ten), bytes.map(|three| three.map(Quality::Bytes)));
    }

    #[test]
    fn invalid_channels_are_refused() {
        use crate::tables::{McsTable, Overhead};
        let nr = Carrier::nr(1, 51, McsTable::Qam256, 1, Overhead::default()).unwrap();
        let refused = |channel: Channel, carrier: &Carrier| {
            channel.start(carrier, TTI, Reported::default(), 1, "ue").err()
        };
        assert_eq!(refused(Channel::Mcs(Mcs(28)), &nr), Some(RadioError::Mcs { found: 28, max: 27 }));
        assert_eq!(refused(Channel::Mcs(Mcs(28)), &lte()), None);
        let cqi = |cqi, mapping| Channel::Cqi(Cqi { cqi, mapping });
        assert_eq!(refused(cqi(0, None), &nr), Some(RadioError::Cqi { found: 0 }));
        assert_eq!(refused(cqi(16, None), &nr), Some(RadioError::Cqi { found: 16 }));
        assert_eq!(refused(cqi(5, Some(CqiToMcs::Oai)), &nr), Some(RadioError::Mapping));
        assert_eq!(refused(cqi(5, None), &nr), None);
        let zero = Channel::Mcs(Mcs(1)).start(&nr, Span::ZERO, Reported::default(), 1, "ue");
        assert!(zero.is_err());
    }
}
