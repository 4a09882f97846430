//! Transports that send at a fixed rate; their throughput tells nothing about the path.

use qdelay_core::component::Registry;
use qdelay_traffic::transport::{self, TransportConfig};

/// True for a `transport`, as typed on the command line, that sends at its own rate: datagrams, games, calls. Among adaptive
/// transports, only audio calls count, because their quality is measured in other figures; transports of `registry` declare it
/// themselves.
pub fn has_given_rate(transport: &str, registry: &Registry) -> bool {
    let built = registry
        .parse(transport::COMPONENTS, transport)
        .and_then(|arguments| TransportConfig::build(&arguments));
    match built {
        Ok(TransportConfig::Udp(_) | TransportConfig::Audio(_)) => true,
        Ok(TransportConfig::Own(own)) => !own.transport().is_elastic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::has_given_rate;
    use qdelay_core::component::{Component, Kind, Registry};
    use qdelay_traffic::ends::FlowStart;
    use qdelay_traffic::own::{self, OwnEnds, Transport};

    static GREEDY: Component = Component::new(Kind::Transport, "greedy", "takes what there is");
    static STEADY: Component = Component::new(Kind::Transport, "steady", "has a rate");

    #[derive(Debug)]
    struct Foreign {
        is_elastic: bool,
    }

    impl Transport for Foreign {
        fn ends(&self, _: &FlowStart<'_>) -> Box<dyn OwnEnds> {
            unreachable!("no flow is run")
        }
        fn is_elastic(&self) -> bool {
            self.is_elastic
        }
    }

    #[test]
    fn only_datagrams_and_inelastic_transports_have_a_given_rate() {
        for given in ["udp:4mbit", "voip:10ms", "gaming:20ms", "audio"] {
            assert!(has_given_rate(given, &Registry::new()), "{given}");
        }
        for other in ["cubic", "bbr:bytes=1mb", "tfrc", "sprout", "no such transport", ""] {
            assert!(!has_given_rate(other, &Registry::new()), "{other}");
        }
        let registry = Registry::new()
            .with(own::custom(&GREEDY, |_| Ok(Foreign { is_elastic: true })))
            .with(own::custom(&STEADY, |_| Ok(Foreign { is_elastic: false })));
        assert!(has_given_rate("steady", &registry) && has_given_rate("udp:4mbit", &registry));
        assert!(!has_given_rate("greedy", &registry) && !has_given_rate("steady", &Registry::new()));
    }
}
