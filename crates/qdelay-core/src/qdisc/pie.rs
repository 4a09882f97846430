//! PIE: a first-in first-out queue that drops arrivals at random, as its law decides.
//!
//! Source, parameters and differences: [`crate::aqm::Pie`] for the variant `rfc`, [`crate::aqm::LinuxPie`] for
//! `linux`, [`crate::aqm::MahimahiPie`] for `mahimahi`. An arrival at a full queue is dropped without a call to the law.
//!
//! The law's timer runs in [`FifoLaw::poll`], and before anything else at every enqueue and dequeue: a packet and an
//! update of the same time always come in that order.

use super::limits::{LIMIT, LIMIT_BYTES, MTU};
use super::{Backlog, FifoLaw, Ring};
use crate::aqm::{self, LinuxPie, MahimahiPie, PieEstimator, PieParameters, Verdict};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink, Span, Time};
use alloc::format;
use alloc::string::String;

pub(super) const TARGET: Typed<Span> = Typed::new("target", "15ms", "delay to hold (QDELAY_REF)")
    .within("1us", "100s")
    .source("RFC 8033 section 4.2");
pub(super) const TUPDATE: Typed<Span> = Typed::new("tupdate", "15ms", "period between computations of the probability; linux rounds up to ticks of hz and adds one; mahimahi's default is 30ms").within("1us", "100s").source("RFC 8033 section 4.2 (T_UPDATE)");
pub(super) const ALPHA: Typed<f64> = Typed::new("alpha", "0.125", "weight of the distance from target (1/s)")
    .within("0", "1000")
    .source("RFC 8033 section 4.2");
pub(super) const BETA: Typed<f64> = Typed::new("beta", "1.25", "weight of the trend (1/s)")
    .within("0", "1000")
    .source("RFC 8033 section 4.2");
pub(super) const MAX_BURST: Typed<Span> = Typed::new("max_burst", "150ms", "longest burst without a drop")
    .within("0", "100s")
    .source("RFC 8033 section 4.4 (MAX_BURST)");
pub(super) const ESTIMATOR: Typed<str> = Typed::new(
    "estimator",
    "timestamp",
    "source of the delay: the last departure's sojourn (timestamp), or backlog over departure rate (rate)",
)
.unit(Unit::Choice(&["timestamp", "rate"]))
.source("RFC 8033 section 4.3, appendix A; Linux (no dq_rate_estimator)");
pub(super) const ECN: Typed<bool> =
    Typed::new("ecn", "off", "mark ECN-capable packets in place of dropping them")
        .source("Linux pie (noecn)");
pub(super) const ECN_THRESHOLD: Typed<f64> = Typed::new(
    "ecn_threshold",
    "0.1",
    "probability from which on ECN-capable packets are dropped instead of marked",
)
.within("0", "1")
.source("RFC 8033 section 5.1 (mark_ecnth)");
pub(super) const DERANDOMIZE: Typed<bool> =
    Typed::new("derandomize", "on", "space the drops evenly").source("RFC 8033 section 5.4");
pub(super) const BYTEMODE: Typed<bool> =
    Typed::new("bytemode", "off", "scale the probability by packet size over mtu")
        .source("Linux pie (nobytemode)");
pub(super) const HZ: Typed<u32> = Typed::new(
    "hz",
    "250",
    "tick rate of the kernel's timer, for variant linux: tupdate=15ms becomes 20ms at 250, 16ms at 1000",
)
.unit(Unit::Count("ticks a second"))
.within("24", "1200")
.source("Linux CONFIG_HZ (Debian, Ubuntu)");
pub(super) const VARIANT: Typed<str> =
    Typed::new("variant", "rfc", "arithmetic: of the RFC, the Linux kernel or mahimahi")
        .unit(Unit::Choice(&["rfc", "linux", "mahimahi"]))
        .source("RFC 8033");

/// Declaration of `pie` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "pie",
    "drops arrivals at random, with a probability controlled so that the delay meets target",
)
.source("RFC 8033; Linux sch_pie.c; mahimahi")
.with(&[
    TARGET.parameter(),
    TUPDATE.parameter(),
    ALPHA.parameter(),
    BETA.parameter(),
    MAX_BURST.parameter(),
    ESTIMATOR.parameter(),
    ECN.parameter(),
    ECN_THRESHOLD.parameter(),
    DERANDOMIZE.parameter(),
    BYTEMODE.parameter(),
    HZ.parameter(),
    VARIANT.parameter(),
    MTU.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, aqm::Pie::DROP];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[aqm::Pie::MARK];

/// The laws of PIE over one queue.
#[derive(Clone, Debug)]
pub enum Pie {
    /// The law of the RFC.
    Rfc(aqm::Pie),
    /// The law of Linux.
    Linux(LinuxPie),
    /// The law of mahimahi.
    Mahimahi(MahimahiPie),
}

impl Pie {
    /// The law that `arguments` describe.
    ///
    /// # Errors
    /// A switch that the variant does not have; times under a millisecond for mahimahi.
    pub(super) fn build(arguments: &Arguments) -> Result<Pie, ComponentError> {
        let mut parameters = parameters(arguments);
        let variant = arguments.get(&VARIANT);
        check(arguments, variant, &parameters).map_err(|message| arguments.fail(message))?;
        Ok(match variant {
            "linux" => Pie::Linux(LinuxPie::new(parameters)),
            "mahimahi" => {
                if !arguments.is_given(&TUPDATE) {
                    parameters.tupdate = Span::from_millis(30);
                }
                Pie::Mahimahi(MahimahiPie::new(parameters))
            }
            _ => Pie::Rfc(aqm::Pie::new(parameters)),
        })
    }

    /// The probability with which an arrival is dropped or marked (above 1 in variant `linux` under lasting
    /// overload).
    pub fn probability(&self) -> f64 {
        match self {
            Pie::Rfc(law) => law.probability(),
            Pie::Linux(law) => law.probability(),
            Pie::Mahimahi(law) => law.probability(),
        }
    }

    #[inline]
    fn run_timer(&mut self, now: Time, backlog_bytes: u64) {
        match self {
            Pie::Rfc(law) => law.run_timer(now, backlog_bytes),
            Pie::Linux(law) => law.run_timer(now, backlog_bytes),
            Pie::Mahimahi(law) => law.run_timer(now, backlog_bytes),
        }
    }
}

impl Default for PieParameters {
    fn default() -> PieParameters {
        parameters(&Arguments::defaults(&COMPONENT))
    }
}

fn parameters(arguments: &Arguments) -> PieParameters {
    PieParameters {
        target: arguments.get(&TARGET),
        tupdate: arguments.get(&TUPDATE),
        alpha: arguments.get(&ALPHA),
        beta: arguments.get(&BETA),
        max_burst: arguments.get(&MAX_BURST),
        estimator: match arguments.get(&ESTIMATOR) {
            "rate" => PieEstimator::Rate,
            _ => PieEstimator::Timestamp,
        },
        mtu: arguments.get(&MTU),
        ecn: arguments.get(&ECN),
        ecn_threshold: arguments.get(&ECN_THRESHOLD),
        derandomize: arguments.get(&DERANDOMIZE),
        bytemode: arguments.get(&BYTEMODE),
        hz: arguments.get(&HZ),
    }
}

/// Refuses keys that the variant does not have.
fn check(arguments: &Arguments, variant: &str, parameters: &PieParameters) -> Result<(), String> {
    let (fixed, marks): (&[&str], bool) = match variant {
        "linux" => (&[ESTIMATOR.name(), ECN_THRESHOLD.name(), DERANDOMIZE.name()], true),
        "mahimahi" => (&[ESTIMATOR.name(), ECN_THRESHOLD.name(), DERANDOMIZE.name(), BYTEMODE.name()], false),
        _ => (&[], true),
    };
    if let Some(key) = arguments.first_given(fixed) {
        return Err(format!("variant {variant} has no {key}; expected no such key, or variant rfc"));
    }
    if variant != "linux" && arguments.is_given(&HZ) {
        return Err(format!("variant {variant} counts no timer ticks; expected hz only with variant linux"));
    }
    if parameters.ecn && !marks {
        return Err(format!("variant {variant} marks no packets: expected no ecn"));
    }
    if arguments.is_given(&ECN_THRESHOLD) && !parameters.ecn {
        return Err(String::from("ecn_threshold has no effect without ecn=on"));
    }
    if variant == "mahimahi" {
        for (key, span) in [(TARGET.name(), parameters.target), (TUPDATE.name(), parameters.tupdate)] {
            if span.as_millis() == 0 {
                return Err(format!(
                    "variant mahimahi counts whole milliseconds: {key} {span} is less than one"
                ));
            }
        }
    }
    Ok(())
}

impl FifoLaw for Pie {
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let parameters = parameters(arguments);
        check(arguments, arguments.get(&VARIANT), &parameters).map_err(|message| arguments.fail(message))?;
        match self {
            Pie::Rfc(law) if arguments.get(&VARIANT) == "rfc" => {
                law.adjust(parameters);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let backlog_bytes = ring.backlog().bytes;
        self.run_timer(context.now, backlog_bytes);
        // The limit is checked before the law, so that no random number is drawn for a packet without room.
        if let Err(reason) = ring.check_room(packet) {
            match self {
                Pie::Rfc(law) => law.refused(),
                Pie::Linux(law) => law.refused(),
                Pie::Mahimahi(_) => {}
            }
            return Err(reason);
        }
        let verdict = match self {
            Pie::Rfc(law) => law.admit(backlog_bytes, packet.bytes, packet.ecn, context.random),
            Pie::Linux(law) => law.admit(backlog_bytes, packet.bytes, packet.ecn, context.random),
            Pie::Mahimahi(law) => law.admit(backlog_bytes, context.random),
        };
        match verdict {
            Verdict::Forward => {}
            Verdict::Mark(reason) => context.mark(packet, reason),
            Verdict::Drop => return Err(aqm::Pie::DROP),
        }
        Ok(())
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        let now = context.now;
        self.poll(now, ring.backlog());
        let packet = ring.pop()?;
        let sojourn = now.since(packet.arrival);
        let backlog_bytes = ring.backlog().bytes;
        match self {
            Pie::Rfc(law) => law.departed(sojourn, now, packet.bytes, backlog_bytes),
            Pie::Linux(law) => law.departed(sojourn, now, backlog_bytes),
            // mahimahi recomputes after the departure, with the remaining backlog.
            Pie::Mahimahi(law) => law.departed(now, packet.bytes, backlog_bytes),
        }
        Some(packet)
    }
    fn has_timer(&self) -> bool {
        true
    }
    #[inline]
    fn next_deadline(&self, backlog: Backlog) -> Time {
        match self {
            Pie::Rfc(law) => law.next_update(backlog.bytes),
            Pie::Linux(law) => law.next_update(backlog.bytes),
            // mahimahi has no timer: it catches up at the next packet.
            Pie::Mahimahi(_) => Time::NEVER,
        }
    }
    #[inline]
    fn poll(&mut self, now: Time, backlog: Backlog) {
        if !matches!(self, Pie::Mahimahi(_)) {
            self.run_timer(now, backlog.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Qdisc;
    use super::super::testing::{Bench, at, error};
    use super::*;
    use crate::Ecn;

    const ALL: [&str; 4] =
        ["pie", "pie:estimator=rate", "pie:variant=linux", "pie:variant=mahimahi:max_burst=30ms"];

    #[test]
    fn every_variant_bounds_the_queue_and_reports_every_loss() {
        for text in ALL {
            let mut bench = Bench::new(text);
            let left = bench.overload(20_000, 2);
            assert!((19_900..=20_000).contains(&left), "{text}");
            assert!(bench.drops(aqm::Pie::DROP) > 10_000, "{text}");
            // Under an unresponsive overload the delay stays near the target, at a millisecond per packet. mahimahi's large
            // steps of the probability make it oscillate.
            let most = if text.contains("mahimahi") { 500 } else { 100 };
            let backlog = bench.qdisc.backlog().packets;
            assert!(backlog < most, "{text}: {backlog}");
        }
    }

    #[test]
    fn the_timer_stops_while_the_queue_is_empty() {
        let mut bench = Bench::new("pie");
        assert_eq!(bench.qdisc.next_deadline(), Time::NEVER);
        bench.enqueue(100, 1500);
        assert_eq!(bench.qdisc.next_deadline(), at(105), "on the grid");
        bench.dequeue(101);
        assert_eq!(bench.qdisc.next_deadline(), Time::NEVER);
    }

    #[test]
    fn an_update_precedes_a_packet_of_the_same_time() {
        let run = |poll: bool| {
            let mut bench = Bench::new("pie");
            for ms in 0..3000 {
                if poll {
                    bench.poll(ms);
                }
                (0..2).for_each(|_| bench.enqueue(ms, 1500));
                bench.dequeue(ms);
            }
            bench.log.dropped
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn ecn_marks_and_keeps_the_arrival() {
        for text in ["pie:ecn=on", "pie:ecn=on:variant=linux"] {
            let mut bench = Bench::new(text);
            bench.ecn = Ecn::Ect0;
            for ms in 0..5000 {
                // An overload of one packet in twenty.
                (0..1 + u64::from(ms % 20 == 0)).for_each(|_| bench.enqueue(ms, 1500));
                bench.dequeue(ms);
            }
            assert!(bench.log.marked.len() > 10, "{text}");
        }
    }

    #[test]
    fn the_limit_is_checked_before_the_law() {
        for text in ALL {
            let mut bench = Bench::new(&format!("{text}:limit=10"));
            (0..20).for_each(|_| bench.enqueue(0, 1500));
            assert_eq!(bench.drops(DropReason::TAIL_LIMIT), 10);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("pie:variant=linux:estimator=rate").contains("has no estimator"));
        assert!(error("pie:variant=mahimahi:bytemode=on").contains("has no bytemode"));
        assert!(error("pie:variant=mahimahi:ecn=on").contains("marks no packets"));
        assert!(error("pie:variant=mahimahi:tupdate=1us").contains("whole milliseconds"));
        assert!(error("pie:ecn_threshold=0.2").contains("no effect without ecn=on"));
        assert!(error("pie:hz=1000").contains("hz only with variant linux"));
        assert!(error("pie:variant=linux:hz=0").contains("24 to 1200"));
        assert!(error("pie:tupdate=0").contains("1us to 100s"));
    }
}
