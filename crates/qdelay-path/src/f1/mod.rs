//! F1-U, the user plane between the central unit (CU) and the distributed unit (DU) of a split base station.
//!
//! SDAP and PDCP are in the CU, RLC is in the DU (TS 38.401 clause 6.1.1). Downlink packets take the way from the gate of a bearer to
//! the queue of its RLC; in the other direction the DU tells what it has done with them.
//!
//! * `ideal`: packets and the reports of each TTI take a delay. No standard has such reports: it is for comparison.
//! * `standard`: packets get their PDCP numbers in the CU, and the DU sends downlink data delivery status frames (DDDS) of TS 38.425,
//!   by a period while RLC has data, when it is polled, when RLC runs empty, and when its queue has dropped an arrival
//!   ([`reporter`]). Frames of either direction take a delay, and may be lost.
//!
//! Differences from the reference:
//! * Frames have no size, F1-U has no rate, and each loss is independent of the others. Frames keep their order.
//! * A DDDS has the highest transmitted number in both RLC modes. The highest delivered number of acknowledged mode, lists of lost
//!   NR-U numbers and causes are not there: no law here uses them, and nothing is sent again by the CU.
//! * The CU learns of a discard timer's end at once, and tells the DU, as TS 38.425 has it (discard blocks): a packet is discarded
//!   where it waits, a delay after the timer ran out, which is so long after it came to the RLC's queue.

mod node;
mod reporter;

pub(crate) use node::{F1, Sending};
pub use reporter::Reporter;

use alloc::format;
use alloc::string::String;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::pacer::SplitSetting;

const DELAY: Typed<Span> =
    Typed::new("delay", "1ms", "One-way delay of packets, and of what the pacer hears.")
        .within("0s", "100ms")
        .source("none; TR 38.801 annex A: 1.5 to 10 ms for this split");
const PERIOD: Typed<Option<Span>> = Typed::new(
    "period",
    "",
    "From one delivery status to the next while the RLC has data; where it is not given 5ms, and none with poll.",
)
.within("100us", "1s")
.source("none: TS 38.425 leaves it to the DU");
const POLL: Typed<Option<u32>> = Typed::new(
    "poll",
    "",
    "In every so many packets the CU asks for a delivery status; never where it is not given.",
)
.unit(Unit::Count("packets"))
.within("1", "100000")
.source("TS 38.425 clause 5.5.2.1 (report polling)");
const LOSS: Typed<f64> = Typed::new("loss", "0%", "Of packets on F1-U, each by itself.")
    .unit(Unit::Percent)
    .within("0%", "99%")
    .source("none");
const DDDS_LOSS: Typed<f64> = Typed::new("ddds_loss", "0%", "Of delivery status frames, each by itself.")
    .unit(Unit::Percent)
    .within("0%", "99%")
    .source("none");
const RATE: Typed<bool> = Typed::new(
    "rate",
    "on",
    "Frames have the desired data rate: the average of what the bearer could have sent in its last 10 TTIs with data.",
)
.source("TS 38.425 clause 5.5.2.2 (optional)");
const BUFFER: Typed<Option<Span>> = Typed::new(
    "buffer",
    "",
    "The desired buffer size is the desired data rate times this, and a full packet at least; of pacer ddds. Where it is not given 5ms, a period and a round trip: what is sent until the next status can be followed is on its way.",
)
.within("100us", "10s")
.source("none: TS 38.425 leaves it to the DU");

static NONE: Component = Component::new(Kind::F1, "none", "One unit: no F1");
static IDEAL: Component =
    Component::new(Kind::F1, "ideal", "Packets, and reports of each TTI, take a delay; for comparison")
        .with(&[DELAY.parameter()]);
static STANDARD: Component =
    Component::new(Kind::F1, "standard", "F1-U, with its downlink data delivery status")
        .source("TS 38.425")
        .with(&[
            DELAY.parameter(),
            PERIOD.parameter(),
            POLL.parameter(),
            LOSS.parameter(),
            DDDS_LOSS.parameter(),
            RATE.parameter(),
            BUFFER.parameter(),
        ]);

/// Connections of the two units, by the names that users write.
pub static F1_COMPONENTS: &[&Component] = &[&NONE, &IDEAL, &STANDARD];

/// The period where neither a period nor polls are given.
const USUAL_PERIOD: Span = Span::from_millis(5);

/// The time for the desired buffer size where none is given: the RLC has data for 5 ms while packets that a delivery status asked for are on their way.
fn usual_buffer(delay: Span, period: Option<Span>) -> Span {
    Span::from_millis(5) + period.unwrap_or(Span::ZERO) + delay * 2
}

/// Connection between the unit of SDAP, PDCP and pacer and that of the RLC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum F1Spec {
    /// They are one unit.
    None,
    /// Packets, and reports of each TTI, take this time.
    Ideal(Span),
    /// TS 38.425.
    Standard(F1Setting),
}

/// F1-U of a bearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct F1Setting {
    /// One-way delay.
    pub delay: Span,
    /// From report to report while RLC has data; none for reports by polls alone.
    pub period: Option<Span>,
    /// Every so many packets ask for a report.
    pub poll: Option<u32>,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Probability that a report is lost, 0 to 1.
    pub ddds_loss: f64,
    /// Whether reports have a desired data rate.
    pub has_rate: bool,
    /// Desired buffer, as a time at that rate.
    pub buffer: Span,
}

impl F1Spec {
    /// Builds the connection that `arguments` of one of [`F1_COMPONENTS`] describe.
    pub fn build(arguments: &Arguments) -> F1Spec {
        let name = arguments.component().name;
        if name == NONE.name {
            return F1Spec::None;
        }
        let delay = arguments.get(&DELAY);
        if name == IDEAL.name {
            return F1Spec::Ideal(delay);
        }
        let poll = arguments.get(&POLL);
        let period = arguments.get(&PERIOD).or(if poll.is_none() { Some(USUAL_PERIOD) } else { None });
        F1Spec::Standard(F1Setting {
            delay,
            period,
            poll,
            loss: arguments.get(&LOSS),
            ddds_loss: arguments.get(&DDDS_LOSS),
            has_rate: arguments.get(&RATE),
            buffer: arguments.get(&BUFFER).unwrap_or(usual_buffer(delay, period)),
        })
    }
    /// The one-way delay.
    pub const fn delay(&self) -> Span {
        match self {
            F1Spec::None => Span::ZERO,
            F1Spec::Ideal(delay) => *delay,
            F1Spec::Standard(setting) => setting.delay,
        }
    }
    /// Settings of a pacer above it, with `feedback` in addition to a report's delay; `None` where the pacer receives a signal for each TTI.
    pub fn split(&self, feedback: Span) -> Option<SplitSetting> {
        match self {
            F1Spec::None | F1Spec::Ideal(_) => None,
            F1Spec::Standard(setting) => Some(SplitSetting {
                delay: setting.delay,
                round_trip: setting.delay * 2 + feedback,
                period: setting.period.unwrap_or(Span::ZERO),
            }),
        }
    }
    /// A sentence for the user where its delay makes a discard timer or a t-Reordering of PDCP of little use.
    pub fn warning(&self, discard_timer: Span, t_reordering: Span) -> Option<String> {
        let F1Spec::Standard(F1Setting { delay, .. }) = *self else { return None };
        let late = delay * 2;
        if late >= discard_timer {
            return Some(format!(
                "its round trip of {late} is not shorter than discard_timer of {discard_timer}: a packet may be discarded before the CU can hear of it"
            ));
        }
        (late >= t_reordering).then(|| {
            format!(
                "its round trip of {late} is not shorter than t_reordering of {t_reordering}: the UE gives a missing number up before the CU can hear of it"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn build(text: &str) -> Result<F1Spec, String> {
        let arguments = Arguments::parse(F1_COMPONENTS, text).map_err(|error| error.to_string())?;
        Ok(F1Spec::build(&arguments))
    }

    #[test]
    fn reports_come_by_period_unless_by_polls_alone() {
        let of = |text| match build(text) {
            Ok(F1Spec::Standard(setting)) => (setting.period.map(|it| it.as_millis()), setting.poll),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("standard"), (Some(5), None));
        assert_eq!(of("standard:poll=8"), (None, Some(8)));
        assert_eq!(of("standard:poll=8:period=20ms"), (Some(20), Some(8)));
        assert_eq!(build("none"), Ok(F1Spec::None));
        assert_eq!(build("ideal:delay=2ms"), Ok(F1Spec::Ideal(Span::from_millis(2))));
    }

    #[test]
    fn impossible_values_are_refused() {
        let refused = |text: &str, expected: &str| {
            let error = build(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        refused("standard:period=0s", "100us to 1s");
        refused("standard:loss=100%", "0% to 99%");
        refused("standard:ddds_loss=100%", "0% to 99%");
        refused("standard:poll=0", "1 to 100000");
        refused("ideal:delay=101ms", "0s to 100ms");
        refused("ideal:period=5ms", "delay");
        refused("split", "none, ideal, standard");
    }

    #[test]
    fn timers_that_end_within_a_round_trip_are_warned_of() {
        let warning = |text, discard, reordering| {
            build(text).unwrap().warning(Span::from_millis(discard), Span::from_millis(reordering))
        };
        assert!(warning("standard:delay=50ms", 100, 300).unwrap().contains("discard_timer of 100ms"));
        assert!(warning("standard:delay=50ms", 150, 100).unwrap().contains("t_reordering of 100ms"));
        assert_eq!(warning("standard:delay=49ms", 100, 100), None);
        assert_eq!(warning("ideal:delay=50ms", 100, 100), None);
    }
}
