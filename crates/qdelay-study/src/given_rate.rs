//! Transports whose bit rate says nothing of how they fare, because they have it whatever the path does.

use qdelay_core::component::Arguments;
use qdelay_traffic::transport::{self, TransportConfig};

/// Whether a flow of this transport, as a user types it, sends at a rate of its own: datagrams, games, calls. Of those that adapt, only
/// calls count, which are judged by what is heard. Components from outside do not.
pub fn has_given_rate(transport: &str) -> bool {
    let built = Arguments::parse(transport::COMPONENTS, transport)
        .and_then(|arguments| TransportConfig::build(&arguments));
    matches!(built, Ok(TransportConfig::Udp(_) | TransportConfig::Audio(_)))
}

#[cfg(test)]
mod tests {
    use super::has_given_rate;

    #[test]
    fn datagrams_have_their_rate_and_connections_do_not() {
        for given in ["udp:4mbit", "voip:10ms", "gaming:20ms", "audio"] {
            assert!(has_given_rate(given), "{given}");
        }
        for other in ["cubic", "bbr:bytes=1mb", "tfrc", "sprout", "no such transport", ""] {
            assert!(!has_given_rate(other), "{other}");
        }
    }
}
