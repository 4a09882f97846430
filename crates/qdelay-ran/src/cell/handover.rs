//! Handovers of a UE (TS 38.300 clause 9.2.3, TS 36.300 clause 10.1.2).
//!
//! At the time of a handover the UE leaves its cell and receives nothing during the interruption. Its HARQ
//! buffers are flushed: blocks that are not decoded are lost. RLC is re-established at both ends (TS 38.322
//! clause 5.1.2, TS 36.322 clause 5.4):
//!
//! * Acknowledged mode loses nothing. Packets that the UE has not received completely are forwarded to the
//!   target and sent again from their first byte, before those that wait. Packets that the UE has are not
//!   sent again, as its PDCP status report lists them (TS 38.323 clause 5.4.1). The UE's PDCP restores the
//!   order.
//! * Unacknowledged mode loses every packet of which a part has been sent and that the UE has not received
//!   completely ([`HANDOVER`](crate::rlc::HANDOVER)). Transparent mode loses the packets of the flushed
//!   blocks.
//!
//! Packets that wait in the queue are forwarded in either mode. The UE may have another channel in the other
//! cell; handovers alternate between the two.
//!
//! # Differences from the reference
//! * Random access has no collisions and is answered at once; the resources that it takes in the target are not counted.
//! * The target has the carrier, the scheduler and the load of the source: only the channel differs.
//!   Forwarding takes no longer than the interruption.
//! * PDCP keeps its numbers and its timers, also over unacknowledged mode, where the standard begins anew:
//!   the UE waits for packets lost there until t-Reordering runs out.
//! * Outer-loop link adaptation begins anew; reports of the channel are those of the new cell at once, with
//!   their delay.

use super::host::Output;
use super::{Cell, Source, Ue};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Span, Time, units};

const EVERY: Typed<Option<Span>> =
    Typed::new("every", "", "period of handovers: one at each multiple").within("10ms", "24h");
const AT: Typed<Option<&'static str>> =
    Typed::new("at", "", "times of handovers in square brackets, such as [2s,7.5s]; excludes every")
        .unit(Unit::Text);
const INTERRUPTION: Typed<Span> =
    Typed::new("interruption", "40ms", "time for which the UE receives nothing")
        .within("0ms", "10s")
        .source("TR 36.881 clause 5.1: about 30 to 50 ms");

const RACH: Typed<Option<Span>> = Typed::new(
    "rach",
    "",
    "period of random access occasions (PRACH) in the target: after the interruption the UE waits for the next multiple of it, and then for rach_response; default: the interruption contains it",
)
.within("1ms", "160ms")
.source("TS 38.211 clause 6.3.3.2: 1 to 16 frames, or several occasions in one");
const RACH_RESPONSE: Typed<Span> = Typed::new(
    "rach_response",
    "5ms",
    "time from a random access occasion until the UE can receive data; used with rach",
)
.within("0ms", "100ms")
.source(
    "TR 36.881 clause 5.1 (steps 9.2 and 10); the window is at most 10 ms by TS 38.331 ra-ResponseWindow",
);

static HANDOVER: Component =
    Component::new(Kind::Air, "handover", "the UE changes its cell, with an interruption of its data")
        .source("TS 38.300 clause 9.2.3")
        .with(&[
            EVERY.parameter(),
            AT.parameter(),
            INTERRUPTION.parameter(),
            RACH.parameter(),
            RACH_RESPONSE.parameter(),
        ]);

/// Kinds of mobility of a UE.
pub static MOVES: &[&Component] = &[&HANDOVER];

/// Times of a UE's handovers, and the interruption of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverSetting {
    /// Times of handovers, ascending.
    at: Vec<Time>,
    /// Period of handovers: one at each multiple; used instead of times.
    every: Option<Span>,
    interruption: Span,
    /// Period of random access occasions in the target, and the time from one until the UE can receive.
    rach: Option<(Span, Span)>,
}

impl HandoverSetting {
    /// The setting that `arguments` of one of [`MOVES`] describe.
    ///
    /// # Errors
    /// No time, both a period and times, a list that cannot be read, times that do not rise.
    pub fn build(arguments: &Arguments) -> Result<HandoverSetting, String> {
        let interruption = arguments.get(&INTERRUPTION);
        let rach = arguments.get(&RACH).map(|period| (period, arguments.get(&RACH_RESPONSE)));
        match (arguments.get(&EVERY), arguments.get(&AT)) {
            (Some(_), Some(at)) => Err(format!("every and at={at}: expected only one of them")),
            (None, None) => {
                Err(String::from("no time is given; expected every=5s, or times such as at=[2s,7.5s]"))
            }
            (Some(every), None) => {
                Ok(HandoverSetting { at: Vec::new(), every: Some(every), interruption, rach })
            }
            (None, Some(list)) => {
                let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
                let time = |text: &str| {
                    let span = units::parse_span(text.trim());
                    span.map(|span| Time::ZERO + span).map_err(|error| format!("at={list}: {error}"))
                };
                let at = inner.split(',').map(time).collect::<Result<Vec<Time>, String>>()?;
                if !at.is_sorted_by(|one, other| one < other) {
                    return Err(format!("at={list}: expected times that rise"));
                }
                Ok(HandoverSetting { at, every: None, interruption, rach })
            }
        }
    }

    /// The time from which on the UE receives again, of a handover at `now`.
    pub(super) fn end(&self, now: Time) -> Time {
        let ready = now + self.interruption;
        let Some((period, response)) = self.rach else { return ready };
        let occasion = ready.as_nanos().div_ceil(period.as_nanos().max(1));
        Time::ZERO + period * occasion + response
    }

    /// The time of handover number `number`, from 0 on; [`Time::NEVER`] if there is none.
    pub(super) fn time(&self, number: u64) -> Time {
        match self.every {
            Some(every) => Time::ZERO + every * number.saturating_add(1),
            None => usize::try_from(number)
                .ok()
                .and_then(|number| self.at.get(number))
                .copied()
                .unwrap_or(Time::NEVER),
        }
    }
}

impl Cell {
    /// Hands over the UEs whose handover is due. Their blocks are lost when the cell decodes the blocks due
    /// at `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over<S: Source>(&mut self, now: Time, source: &mut S) {
        self.count_idle(self.clock.from(now));
        for ue in 0..self.ues.len() {
            while let Ue { air: Some(air), .. } = &mut self.ues[ue]
                && air.next_handover() <= now
            {
                air.hand_over(now, &mut self.carrier.links[ue].radio);
                self.carrier.blocks.flush(ue as u32, now);
                self.scells.iter_mut().for_each(|carrier| carrier.blocks.flush(ue as u32, now));
                let first = self.ues[ue].first;
                let bearers = first..first + self.ues[ue].turns.len();
                for bearer in bearers.clone() {
                    if let Some(waited) = self.recall(bearer, source.backlog(bearer)) {
                        source.waited(bearer, &waited);
                    }
                    self.rlcs[bearer].hand_over(now, &mut Output { source, bearer });
                }
                for bearer in bearers {
                    self.set_timer(bearer);
                    self.follow(bearer, source);
                }
            }
        }
        self.next_handover = next_handover(&self.ues);
    }
}

/// Time of the next handover of any UE.
pub(super) fn next_handover(ues: &[Ue]) -> Time {
    let of = |ue: &Ue| ue.air.as_ref().map_or(Time::NEVER, |air| air.next_handover());
    ues.iter().map(of).min().unwrap_or(Time::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<HandoverSetting, String> {
        HandoverSetting::build(&Arguments::parse(MOVES, text).unwrap())
    }

    #[test]
    fn handovers_come_at_their_times() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let every = build("handover:every=2s").unwrap();
        assert_eq!([0, 1, 2].map(|n| every.time(n)), [ms(2000), ms(4000), ms(6000)]);
        let list = build("handover:at=[2s,7.5s]:interruption=30ms").unwrap();
        assert_eq!([0, 1, 2].map(|n| list.time(n)), [ms(2000), ms(7500), Time::NEVER]);
        assert_eq!([every.end(ms(2000)), list.end(ms(2000))], [2040, 2030].map(ms));
    }

    /// Occasions every 20 ms: the first from 2031 ms on is at 2040 ms.
    #[test]
    fn random_access_waits_for_an_occasion() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let end = |text: &str, at| build(text).unwrap().end(ms(at));
        assert_eq!(end("handover:every=1s:interruption=30ms:rach=20ms", 2001), ms(2045));
        assert_eq!(end("handover:every=1s:interruption=20ms:rach=20ms:rach_response=0ms", 2000), ms(2020));
        // Over a period of starts the wait is half a period in the mean.
        let wait =
            |at| end("handover:every=1s:interruption=0ms:rach=20ms:rach_response=8ms", at).since(ms(at));
        let sum: u64 = (0..20).map(|at| wait(at).as_nanos()).sum();
        assert_eq!(sum / 20, 17_500_000);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(build("handover").unwrap_err().contains("no time is given"));
        assert!(build("handover:every=1s:at=[2s]").unwrap_err().contains("expected only one of them"));
        assert!(build("handover:at=[2s,1s]").unwrap_err().contains("times that rise"));
        assert!(build("handover:at=[soon]").unwrap_err().contains("at=[soon]"));
    }
}
