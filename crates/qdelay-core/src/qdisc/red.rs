//! RED: a first-in first-out queue that drops or marks arrivals at random, as its law decides.
//!
//! Source, parameters and differences of the law: [`crate::aqm::Red`]. The law is called for every arrival, before the limits
//! are checked: a packet with an early verdict is dropped, or with `ecn` marked if it is ECN-capable; a packet that is forced
//! out is dropped even if it is ECN-capable (RFC 3168 section 7). An arrival that passes the law but has no room is dropped
//! for the limit, and no mark is reported.
//!
//! Parameters: those of the law, `ecn` (off), `limit` in packets (1000) and `limit_bytes` (none).
//!
//! Differences from the reference:
//! * Linux (`red_enqueue`) also marks packets that are forced out if `ecn` is on, unless `harddrop` is set.
//! * Linux's only limit is in bytes.

use super::limits::{LIMIT, LIMIT_BYTES, MTU};
use super::{FifoLaw, Ring};
use crate::aqm::{self, RedDraw, RedMode, RedParameters, RedVerdict};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Rate, Sink};
use alloc::format;

pub(super) const MODE: Typed<str> = Typed::new(
    "mode",
    "packets",
    "unit of min and max; in bytes a packet's probability is scaled by its size over mtu",
)
.unit(Unit::Choice(&["packets", "bytes"]))
.source("Floyd and Jacobson 1993 section 4");
const MIN: Typed<Option<f64>> =
    Typed::new("min", "", "average below which nothing is dropped (min_th); default: 5 full packets")
        .within("0", "1000000000")
        .source("Floyd 1997, setting parameters");
const MAX: Typed<Option<f64>> =
    Typed::new("max", "", "average at which probability is reached (max_th); default: 15 full packets")
        .within("0", "1000000000")
        .source("Floyd 1997, setting parameters");
pub(super) const PROBABILITY: Typed<f64> =
    Typed::new("probability", "0.1", "probability of a drop as the average gets to max (max_p)")
        .within("0.000001", "1")
        .source("Floyd 1997, setting parameters (0.02 in 1993)");
pub(super) const WEIGHT: Typed<f64> =
    Typed::new("weight", "0.002", "weight of the present length in the average, per arrival (w_q)")
        .within("0.000001", "1")
        .source("Floyd and Jacobson 1993 section 6");
pub(super) const GENTLE: Typed<bool> = Typed::new(
    "gentle",
    "on",
    "let the probability rise to 1 from max to twice max; off: drop every arrival from max on",
)
.source("Floyd 2000, gentle variant");
pub(super) const WAIT: Typed<bool> =
    Typed::new("wait", "on", "spread the drops evenly; off: each arrival is independent of those before")
        .source("Floyd and Jacobson 1993 section 7");
pub(super) const DRAW: Typed<str> = Typed::new(
    "draw",
    "arrival",
    "time of the random draw: at each arrival, or after each drop for the next one, as in Linux",
)
.unit(Unit::Choice(&["arrival", "drop"]))
.source("Floyd and Jacobson 1993 section 4; Linux red.h (red_action)");
pub(super) const ECN: Typed<bool> =
    Typed::new("ecn", "off", "mark ECN-capable packets in place of dropping them, except forced drops")
        .source("RFC 3168 section 7; Linux red (ecn)");
pub(super) const RATE: Typed<Rate> =
    Typed::new("rate", "10mbit", "rate of the link, by which the average ages while the queue is empty")
        .within("1bit", "")
        .source("Linux red (bandwidth)");
pub(super) const AGEING: Typed<bool> = Typed::new(
    "ageing",
    "on",
    "let the average fall while the queue is empty; off: as in Linux below HTB and TBF",
)
.source("Floyd and Jacobson 1993 section 6; Linux sch_htb.c, sch_tbf.c");

/// Declaration of `red` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "red",
    "random early detection: drops arrivals at random, the more the longer the queue is on average",
)
.source("Floyd and Jacobson 1993; Linux sch_red.c; RFC 7567")
.with(&[
    MODE.parameter(),
    MIN.parameter(),
    MAX.parameter(),
    PROBABILITY.parameter(),
    WEIGHT.parameter(),
    GENTLE.parameter(),
    WAIT.parameter(),
    DRAW.parameter(),
    ECN.parameter(),
    RATE.parameter(),
    AGEING.parameter(),
    MTU.about("size of a typical packet (IP bytes), for ageing and for mode bytes")
        .source("Linux red (avpkt)")
        .parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, aqm::Red::EARLY, aqm::Red::FORCED];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[aqm::Red::MARK];

/// The law of RED over one queue.
#[derive(Clone, Debug)]
pub struct Red {
    /// The law that decides.
    pub law: aqm::Red,
    /// True if packets with an early verdict that are ECN-capable are marked.
    pub ecn: bool,
}

impl Red {
    /// The law that `arguments` describe.
    ///
    /// # Errors
    /// `min` that is not below `max`.
    pub(super) fn build(arguments: &Arguments) -> Result<Red, ComponentError> {
        let parameters = parameters(arguments);
        let RedParameters { mode, min, max, .. } = parameters;
        if min >= max {
            let unit = if mode == RedMode::Bytes { "bytes" } else { "packets" };
            let message = format!("min {min} is not below max {max} ({unit})");
            return Err(arguments.fail(message));
        }
        if parameters.draw == RedDraw::Drop && !parameters.wait {
            let message =
                "wait=off makes each arrival independent of those before; expected draw=arrival, or wait=on";
            return Err(arguments.fail(message));
        }
        let ecn = arguments.get(&ECN);
        Ok(Red { law: aqm::Red::new(parameters), ecn })
    }
}

impl Default for RedParameters {
    fn default() -> RedParameters {
        parameters(&Arguments::defaults(&COMPONENT))
    }
}

pub(super) fn parameters(arguments: &Arguments) -> RedParameters {
    let mtu = arguments.get(&MTU);
    let (mode, scale) = match arguments.get(&MODE) {
        "bytes" => (RedMode::Bytes, mtu as f64),
        _ => (RedMode::Packets, 1.0),
    };
    RedParameters {
        mode,
        min: arguments.get(&MIN).unwrap_or(RedParameters::MIN_PACKETS * scale),
        max: arguments.get(&MAX).unwrap_or(RedParameters::MAX_PACKETS * scale),
        probability: arguments.get(&PROBABILITY),
        weight: arguments.get(&WEIGHT),
        gentle: arguments.get(&GENTLE),
        wait: arguments.get(&WAIT),
        draw: if arguments.get(&DRAW) == "drop" { RedDraw::Drop } else { RedDraw::Arrival },
        mtu,
        rate: arguments.get(&RATE),
        ageing: arguments.get(&AGEING),
    }
}

impl FifoLaw for Red {
    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let verdict = self.law.admit(ring.backlog(), packet.bytes, context.now, context.random);
        let is_marked = verdict == RedVerdict::Early && self.ecn && packet.ecn.is_capable();
        match verdict {
            RedVerdict::Forced => return Err(aqm::Red::FORCED),
            RedVerdict::Early if !is_marked => return Err(aqm::Red::EARLY),
            _ => ring.check_room(packet)?,
        }
        if is_marked {
            context.mark(packet, aqm::Red::MARK);
        }
        Ok(())
    }
    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        let packet = ring.pop()?;
        if ring.is_empty() {
            self.law.emptied(context.now);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyQdisc;
    use super::super::testing::{Bench, error};
    use super::*;
    use crate::Ecn;

    /// Settings with which the average is the length itself. With one packet queued, and one arrival since
    /// the last drop, the probability (one half) becomes 1; the same holds from two packets on, until four
    /// are beyond the thresholds.
    const SHARP: &str = "red:weight=1:min=0:max=2:probability=1";

    fn average(bench: &Bench) -> f64 {
        match &bench.qdisc {
            AnyQdisc::Red(red) => red.law().law.average(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn overload_keeps_the_average_between_the_thresholds_and_every_loss_is_reported() {
        for text in ["red", "red:gentle=off", "red:wait=off", "red:mode=bytes"] {
            let mut bench = Bench::new(text);
            let left = bench.overload(4000, 2);
            assert!(left > 3950, "{text}: the average lags, so that the queue runs empty now and then");
            let drops = bench.drops(aqm::Red::EARLY) + bench.drops(aqm::Red::FORCED);
            assert!(drops > 3950 && bench.drops(aqm::Red::EARLY) > 500, "{text}");
            assert_eq!(bench.drops(DropReason::TAIL_LIMIT), 0, "{text}");
            let packets = average(&bench) / if text.contains("bytes") { 1500.0 } else { 1.0 };
            assert!((12.0..30.0).contains(&packets), "{text}: {packets}");
        }
    }

    #[test]
    fn early_and_forced_drops_have_their_reasons() {
        let mut bench = Bench::new(SHARP);
        (0..3).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(1, aqm::Red::EARLY), (2, aqm::Red::EARLY)]);
        let mut bench = Bench::new("red:weight=1:min=0:max=1:gentle=off");
        (0..2).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(1, aqm::Red::FORCED)]);
    }

    #[test]
    fn ecn_marks_early_verdicts_but_not_forced_ones() {
        let mut bench = Bench::new(&format!("{SHARP}:ecn=on"));
        bench.ecn = Ecn::Ect0;
        (0..6).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.marked, [1, 2, 3].map(|handle| (handle, aqm::Red::MARK)));
        assert_eq!(bench.log.dropped, [4, 5].map(|handle| (handle, aqm::Red::FORCED)));
        assert_eq!(bench.dequeue(0), Some(0));
        bench.ecn = Ecn::NotEct;
        bench.enqueue(0, 100);
        assert_eq!(bench.log.dropped.last(), Some(&(6, aqm::Red::EARLY)), "not capable");
    }

    #[test]
    fn a_marked_arrival_without_room_reports_no_mark() {
        let mut bench = Bench::new(&format!("{SHARP}:ecn=on:limit=2"));
        bench.ecn = Ecn::Ect0;
        (0..2).for_each(|_| bench.enqueue(0, 100));
        bench.enqueue(0, 100);
        assert_eq!(bench.log.marked, [(1, aqm::Red::MARK)]);
        assert_eq!(bench.log.dropped, [(2, DropReason::TAIL_LIMIT)]);
    }

    #[test]
    fn the_law_counts_an_arrival_without_room() {
        let mut bench = Bench::new("red:weight=0.5:limit_bytes=150b");
        (0..3).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.drops(DropReason::TAIL_LIMIT), 2);
        assert_eq!(average(&bench), 0.75);
    }

    /// At 1 Mbit/s 1500 bytes take 12 ms.
    #[test]
    fn the_average_ages_from_the_departure_that_left_the_queue_empty() {
        let mut bench = Bench::new("red:weight=0.5:rate=1mbit");
        (0..3).for_each(|_| bench.enqueue(0, 1500));
        assert_eq!(average(&bench), 1.25);
        (0..3).for_each(|ms| assert_eq!(bench.dequeue(ms), Some(ms)));
        assert_eq!(bench.dequeue(10), None, "this one leaves nothing, but so did the one before");
        bench.enqueue(14, 1500);
        assert!((average(&bench) - 0.625).abs() < 1e-12);
    }

    #[test]
    fn thresholds_in_bytes_follow_the_packet_size() {
        let arguments = |text| Arguments::parse(super::super::COMPONENTS, text).unwrap();
        let thresholds = |text| {
            let parameters = parameters(&arguments(text));
            (parameters.min, parameters.max)
        };
        assert_eq!(thresholds("red"), (5.0, 15.0));
        assert_eq!(thresholds("red:mode=bytes"), (7500.0, 22500.0));
        assert_eq!(thresholds("red:mode=bytes:mtu=100b:max=900"), (500.0, 900.0));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("red:min=15").contains("min 15 is not below max 15 (packets)"));
        assert!(error("red:mode=bytes:max=5").contains("min 7500 is not below max 5 (bytes)"));
        assert!(error("red:probability=0").contains("expected 0.000001 to 1"));
        assert!(error("red:probability=1.1").contains("expected 0.000001 to 1"));
        assert!(error("red:weight=0").contains("expected 0.000001 to 1"));
        assert!(error("red:rate=0").contains("at least 1bit"));
    }
}
