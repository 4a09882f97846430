//! Plans and settings for tests.

use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Span, Time};
use qdelay_path::stack::{Direction, Plan};
use qdelay_path::{AnyLink, ImpairmentSpec, parse_link};
use qdelay_proxy::engine::Settings;
use qdelay_traffic::control::Cubic;
use qdelay_traffic::tcp::Profile;

pub fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

pub fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// A direction with a plain queue.
pub fn direction(link: &str, delay_ms: u64, loss: f64) -> Direction {
    let qdisc = AnyQdisc::parse("taildrop").expect("a discipline");
    let link = AnyLink::build(&parse_link(link).expect("a link")).expect("a link");
    let impairment = ImpairmentSpec { loss: loss.into(), ..ImpairmentSpec::default() };
    Direction { delay: ms(delay_ms), impairment, ..Direction::new(qdisc, link) }
}

/// The same in both directions.
pub fn plan(link: &str, delay_ms: u64, loss: f64) -> Plan {
    Plan { down: direction(link, delay_ms, loss), up: direction(link, delay_ms, loss), seed: 1 }
}

/// Settings with this window in bytes.
pub fn settings(window: usize) -> Settings {
    Settings {
        profile: Profile::linux(),
        controller: Cubic::default().into(),
        window,
        connections: 16,
        datagram_bytes: 1 << 20,
    }
}
