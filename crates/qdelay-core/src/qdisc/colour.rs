//! Green packets as configured by the user: by codepoints of the DS field (RFC 2474), or by ECT(1) (the
//! identifier of RFC 9331).

use crate::aqm::Colour;
use crate::component::{Typed, Unit};
use crate::{DropReason, Ecn, Packet, Rate, Span, dscp};
use alloc::format;
use alloc::string::String;

/// The keyword for the ECN codepoint.
const ECT1: &str = "ect1";

/// Drop reason: the packet asked for low delay, and would not have been served within the bound.
pub const WOULD_BE_LATE: DropReason = DropReason::new("would_be_late");

/// `green`: the packets that ask for low delay.
pub(super) const GREEN: Typed<str> = Typed::new(
    "green",
    "ef/va/nqb",
    "green packets: codepoints as names, numbers or ranges (8-15), or ect1, joined by /; others are blue",
)
.source("ABE paper, interworking and migration: without a colour, blue");

/// `bound`: the longest wait of green packets.
pub(super) const BOUND: Typed<Span> =
    Typed::new("bound", "20ms", "longest time that a green packet waits (d)")
        .within("1us", "100s")
        .source("ABE paper: 5 to 20 ms expected, 40 ms in its simulations");

/// `rate`: the link's rate.
pub(super) const RATE: Typed<Option<Rate>> = Typed::new(
    "rate",
    "",
    "rate of the link (c), if constant; default: estimated from the bytes that the link takes",
)
.within("1bit", "100gbit")
.source("ABE paper");

/// `overhead`: bytes that the link adds to each packet.
pub(super) const OVERHEAD: Typed<u64> =
    Typed::new("overhead", "0", "bytes that the link adds to each packet")
        .unit(Unit::Bytes)
        .within("0", "1kb");

/// `window`: time constant of the estimated rate.
pub(super) const WINDOW: Typed<Span> =
    Typed::new("window", "100ms", "time constant of the estimate of the rate, where rate is not given")
        .within("1ms", "100s");

/// The marking that makes a packet green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Green {
    /// Green codepoints, one bit each.
    codepoints: u64,
    is_ect1: bool,
}

impl Green {
    /// Parses `ef/va`, `ect1`, `8-15/46`.
    pub(super) fn parse(text: &str) -> Result<Green, String> {
        let mut green = Green::default();
        for item in text.split('/') {
            if item == ECT1 {
                green.is_ect1 = true;
                continue;
            }
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let read = |text| {
                dscp::parse(text).ok_or_else(|| {
                    format!(
                        "green: unknown codepoint '{text}'; expected 0 to 63, a range (8-15), {ECT1}, or be, le, llt, cs0 to \
                         cs7, af11 to af43, va, nqb, ef"
                    )
                })
            };
            let (first, last) = (read(first)?, read(last)?);
            if first > last {
                return Err(format!("green: {item} is empty; expected the smaller codepoint first"));
            }
            (first..=last).for_each(|codepoint| green.codepoints |= 1 << codepoint);
        }
        Ok(green)
    }

    #[inline]
    pub(super) fn colour_of(&self, packet: &Packet) -> Colour {
        // The codepoint is masked to six bits.
        let is_named = self.codepoints >> (packet.dscp & 63) & 1 == 1;
        if is_named || self.is_ect1 && packet.ecn == Ecn::Ect1 { Colour::Green } else { Colour::Blue }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_green_by_codepoint_or_ect1() {
        let green = Green::parse("EF/8-10/63").unwrap();
        for dscp in 0..64 {
            let packet = Packet { dscp, ecn: Ecn::Ect1, ..Packet::default() };
            let is_green = matches!(dscp, 8 | 9 | 10 | 46 | 63);
            assert_eq!(green.colour_of(&packet) == Colour::Green, is_green, "{dscp}");
        }
        let green = Green::parse("ect1").unwrap();
        let colour = |ecn| green.colour_of(&Packet { ecn, ..Packet::default() });
        assert_eq!(colour(Ecn::Ect1), Colour::Green);
        assert!([Ecn::NotEct, Ecn::Ect0, Ecn::Ce].into_iter().all(|ecn| colour(ecn) == Colour::Blue));
    }

    #[test]
    fn wrong_markings_are_refused_with_a_reason() {
        for (text, why) in [
            ("purple", "unknown codepoint 'purple'; expected 0 to 63"),
            ("ef/", "unknown codepoint ''"),
            ("9-8", "9-8 is empty"),
            ("8-64", "unknown codepoint '64'"),
        ] {
            assert!(Green::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
