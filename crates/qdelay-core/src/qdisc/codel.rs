//! CoDel: a first-in first-out queue that drops packets at dequeue, as its law decides.
//!
//! Source, parameters and differences: [`crate::aqm::Codel`] for the variants `rfc` and `linux`,
//! [`crate::aqm::MahimahiCodel`] for `mahimahi`, [`crate::aqm::ThesisCodel`] for `thesis`. An arrival at a full queue is dropped.

use super::limits::{LIMIT, LIMIT_BYTES, MTU};
use super::{FifoLaw, Ring};
use crate::aqm::{self, CodelFlavour, CodelParameters, MahimahiCodel, ThesisCodel, Verdict};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink, Span};
use alloc::format;

pub(super) const TARGET: Typed<Span> = Typed::new("target", "5ms", "acceptable standing sojourn")
    .within("1us", "100s")
    .source("RFC 8289 section 4.3");
pub(super) const INTERVAL: Typed<Span> = Typed::new(
    "interval",
    "100ms",
    "time for which the sojourn must stay over target before the first drop; about a worst-case round trip",
)
.within("1us", "1000s")
.source("RFC 8289 section 4.2");
pub(super) const ECN: Typed<bool> =
    Typed::new("ecn", "off", "mark ECN-capable packets in place of dropping them")
        .source("Linux codel (noecn)");
pub(super) const CE_THRESHOLD: Typed<Option<Span>> = Typed::new(
    "ce_threshold",
    "",
    "mark ECN-capable packets that leave after a longer sojourn; default: no such marks",
)
.within("0", "100s")
.source("Linux codel (ce_threshold disabled)");

pub(super) const VARIANT: Typed<str> = Typed::new(
    "variant",
    "rfc",
    "arithmetic: of the RFC, the Linux kernel, mahimahi, or the program of the 5G QoS thesis",
)
.unit(Unit::Choice(&["rfc", "linux", "mahimahi", "thesis"]))
.source("RFC 8289 section 5");

/// Declaration of `codel` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "codel",
    "controlled delay: drops ever more often while the sojourn stays over target for an interval",
)
.source("RFC 8289; Linux codel_impl.h; mahimahi; the program of the 5G QoS thesis")
.with(&[
    TARGET.parameter(),
    INTERVAL.parameter(),
    ECN.parameter(),
    CE_THRESHOLD.parameter(),
    VARIANT.parameter(),
    MTU.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, aqm::Codel::DROP];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[aqm::Codel::MARK, aqm::Codel::CE_THRESHOLD];

/// The laws of CoDel over one queue.
#[derive(Clone, Debug)]
pub enum Codel {
    /// The law of the RFC, or of Linux.
    Standard(aqm::Codel),
    /// The law of mahimahi.
    Mahimahi(MahimahiCodel),
    /// The law of the 5G QoS thesis's program.
    Thesis(ThesisCodel),
}

impl Codel {
    /// The law that `arguments` describe.
    ///
    /// # Errors
    /// A target longer than the interval; a switch that the variant does not have.
    pub(super) fn build(arguments: &Arguments) -> Result<Codel, ComponentError> {
        let parameters = parameters(arguments)?;
        let CodelParameters { target, interval, mtu, .. } = parameters;
        let variant = arguments.get(&VARIANT);
        if variant == "rfc" || variant == "linux" {
            return Ok(Codel::Standard(aqm::Codel::new(parameters)));
        }
        if parameters.ecn || parameters.ce_threshold != Span::MAX {
            let message =
                format!("variant {variant} marks no packets: expected neither ecn nor ce_threshold");
            return Err(arguments.fail(message));
        }
        if variant == "thesis" {
            return Ok(Codel::Thesis(ThesisCodel::new(target, interval)));
        }
        if target.as_millis() == 0 {
            let message =
                format!("variant mahimahi counts whole milliseconds: target {target} is less than one");
            return Err(arguments.fail(message));
        }
        Ok(Codel::Mahimahi(MahimahiCodel::new(target, interval, mtu)))
    }
}

/// The parameters in `arguments`: the RFC's law, or Linux's if the variant says so.
///
/// # Errors
/// A target longer than the interval.
pub(super) fn parameters(arguments: &Arguments) -> Result<CodelParameters, ComponentError> {
    let target = arguments.get(&TARGET);
    let interval = arguments.get(&INTERVAL);
    if target > interval {
        // Equal is allowed: the BoDe paper's video-call tests have 50 ms for both (its Table I with D = 100 ms).
        let message = format!("target {target} is longer than interval {interval}");
        return Err(arguments.fail(message));
    }
    let is_linux = arguments.get(&VARIANT) == "linux";
    Ok(CodelParameters {
        target,
        interval,
        mtu: arguments.get(&MTU),
        ecn: arguments.get(&ECN),
        ce_threshold: arguments.get(&CE_THRESHOLD).unwrap_or(Span::MAX),
        flavour: if is_linux { CodelFlavour::Linux } else { CodelFlavour::Rfc },
    })
}

impl FifoLaw for Codel {
    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        match self {
            Codel::Standard(law) => dequeue_standard(ring, law, context),
            Codel::Mahimahi(law) => dequeue_mahimahi(ring, law, context),
            Codel::Thesis(law) => dequeue_thesis(ring, law, context),
        }
    }

    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let parameters = parameters(arguments)?;
        match self {
            Codel::Standard(law) => Ok(law.adjust(parameters)),
            Codel::Mahimahi(_) | Codel::Thesis(_) => Ok(false),
        }
    }
}

/// Dequeues packets until the law forwards one.
#[inline]
fn dequeue_standard<S: Sink>(
    ring: &mut Ring,
    law: &mut aqm::Codel,
    context: &mut Context<'_, S>,
) -> Option<Packet> {
    loop {
        let Some(mut packet) = ring.pop() else {
            law.emptied();
            return None;
        };
        let sojourn = context.now.since(packet.arrival);
        match law.decide(sojourn, context.now, ring.backlog().bytes, packet.ecn) {
            Verdict::Forward => return Some(packet),
            Verdict::Mark(reason) => {
                context.mark(&mut packet, reason);
                return Some(packet);
            }
            Verdict::Drop => context.sink.dropped(&packet, aqm::Codel::DROP),
        }
    }
}

/// Sends the head, and drops the packets behind it that the law chooses.
fn dequeue_mahimahi<S: Sink>(
    ring: &mut Ring,
    law: &mut MahimahiCodel,
    context: &mut Context<'_, S>,
) -> Option<Packet> {
    let head = ring.pop()?;
    let mut more = law.head(head.arrival, context.now, ring.backlog().bytes);
    while more {
        let Some(victim) = ring.pop() else { break };
        more = law.victim(victim.arrival, context.now, ring.backlog().bytes);
        context.sink.dropped(&victim, aqm::Codel::DROP);
    }
    Some(head)
}

/// Loses the head and the packet behind it as long as the law decides so, to the last packet.
fn dequeue_thesis<S: Sink>(
    ring: &mut Ring,
    law: &mut ThesisCodel,
    context: &mut Context<'_, S>,
) -> Option<Packet> {
    let mut head = ring.pop();
    let mut is_lost =
        head.as_ref().is_some_and(|head| law.head(context.now.since(head.arrival), context.now));
    while is_lost {
        for lost in head.into_iter().chain(ring.pop()) {
            context.sink.dropped(&lost, aqm::Codel::DROP);
        }
        head = ring.pop();
        is_lost =
            head.as_ref().is_some_and(|head| law.after_loss(context.now.since(head.arrival), context.now));
    }
    if head.is_none() {
        law.emptied();
    }
    head
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error};
    use super::*;
    use crate::Ecn;

    /// The defaults stand in the law as figures too: the law also serves programs without an allocator, which
    /// have no components.
    #[test]
    fn the_defaults_are_the_rfcs() {
        assert_eq!(parameters(&Arguments::defaults(&COMPONENT)).unwrap(), CodelParameters::RFC);
    }

    #[test]
    fn every_variant_bounds_the_queue_and_reports_every_loss() {
        for variant in ["rfc", "linux", "mahimahi", "thesis"] {
            let mut bench = Bench::new(&format!("codel:variant={variant}"));
            let left = bench.overload(2000, 2);
            assert!((1990..=2000).contains(&left), "{variant}");
            assert!(bench.drops(aqm::Codel::DROP) > 50, "{variant}");
        }
    }

    #[test]
    fn the_head_is_dropped_and_the_next_one_sent() {
        let mut bench = Bench::new("codel");
        (0..100).for_each(|_| bench.enqueue(0, 1500));
        assert_eq!(bench.dequeue(10), Some(0));
        assert_eq!(bench.dequeue(110), Some(2));
        assert_eq!(bench.log.dropped, [(1, aqm::Codel::DROP)]);
    }

    #[test]
    fn mahimahi_sends_the_head_and_drops_the_next_one() {
        let mut bench = Bench::new("codel:variant=mahimahi");
        (0..100).for_each(|_| bench.enqueue(0, 1500));
        assert_eq!(bench.dequeue(10), Some(0));
        assert_eq!(bench.dequeue(110), Some(1));
        assert_eq!(bench.log.dropped, [(2, aqm::Codel::DROP)]);
        assert_eq!(bench.dequeue(111), Some(3));
    }

    #[test]
    fn the_thesis_loses_the_head_and_the_next_one() {
        let mut bench = Bench::new("codel:variant=thesis");
        (0..5).for_each(|_| bench.enqueue(0, 1500));
        assert_eq!(bench.dequeue(10), Some(0));
        assert_eq!(bench.dequeue(110), Some(3));
        assert_eq!(bench.log.dropped, [(1, aqm::Codel::DROP), (2, aqm::Codel::DROP)]);
        // The last packet is lost too.
        assert_eq!(bench.dequeue(210), None);
        assert_eq!(bench.log.dropped[2..], [(4, aqm::Codel::DROP)]);
        assert_eq!(bench.dequeue(211), None);
    }

    #[test]
    fn ecn_marks_and_sends_the_head() {
        let mut bench = Bench::new("codel:ecn=on");
        bench.ecn = Ecn::Ect0;
        (0..100).for_each(|_| bench.enqueue(0, 1500));
        bench.dequeue(10);
        assert_eq!(bench.dequeue(110), Some(1));
        assert_eq!(bench.log.marked, [(1, aqm::Codel::MARK)]);
        assert!(bench.log.dropped.is_empty());
    }

    #[test]
    fn an_empty_queue_gives_nothing_and_the_limit_holds() {
        let mut bench = Bench::new("codel:limit=1:mtu=1b");
        assert_eq!(bench.dequeue(0), None);
        (0..2).for_each(|_| bench.enqueue(0, 1500));
        assert_eq!(bench.log.dropped, [(1, DropReason::TAIL_LIMIT)]);
        assert_eq!([bench.dequeue(500), bench.dequeue(700)], [Some(0), None]);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("codel:target=200ms").contains("target 200ms is longer than interval 100ms"));
        assert!(error("codel:variant=mahimahi:ecn=on").contains("marks no packets"));
        assert!(error("codel:variant=thesis:ecn=on").contains("variant thesis marks no packets"));
        assert!(error("codel:variant=mahimahi:ce_threshold=1ms").contains("marks no packets"));
        assert!(error("codel:variant=mahimahi:target=900us").contains("whole milliseconds"));
        Bench::new("codel:target=50ms:interval=50ms");
    }
}
