//! Transports as components: `cubic`, `bbr`, `reno` over TCP, and `udp`.

use crate::control::{BbrConfig, ControllerConfig, CubicConfig};
use crate::tcp::{LossDetection, Pacing, Profile, RecoveryRule};
use crate::udp::UdpConfig;
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};
use qdelay_core::{Rate, Span};

/// What a flow's two ends run.
#[derive(Clone, Copy, Debug)]
pub enum TransportConfig {
    /// A TCP connection whose sender has `bytes` to send, or no end of them.
    Tcp {
        /// The knobs of both endpoints.
        profile: Profile,
        /// The sender's congestion controller.
        controller: ControllerConfig,
        /// Application bytes to send; `None` for as long as the run lasts.
        bytes: Option<u64>,
    },
    /// Datagrams.
    Udp(UdpConfig),
}

const fn parameter(name: &'static str, unit: Unit, about: &'static str, source: &'static str) -> Parameter {
    Parameter { name, unit, default: "", min: "", max: "", about, source }
}

const PROFILE: Parameter = Parameter {
    default: "linux",
    ..parameter(
        "profile",
        Unit::Choice(&["linux", "ns3"]),
        "Set of knobs: a Linux 6.12 kernel, or ns-3 3.48; every key below overrides one of them",
        "the two references that are measured against",
    )
};

macro_rules! knob {
    ($name:literal, $unit:expr, $min:literal, $max:literal, $about:literal, $source:literal) => {
        Parameter {
            min: $min,
            max: $max,
            ..parameter($name, $unit, $about, concat!("of the profile; ", $source))
        }
    };
}

const SEGMENTS: Unit = Unit::Count("segments");
const TCP_PARAMETERS: &[Parameter] = &[
    PROFILE,
    knob!(
        "bytes",
        Unit::Bytes,
        "1",
        "",
        "Application bytes to send, then FIN; without it the flow lasts as long as the run",
        "none"
    ),
    knob!(
        "mss",
        Unit::Bytes,
        "64",
        "8948",
        "Application bytes in a full segment",
        "1448 (Ethernet MTU less headers and timestamps)"
    ),
    knob!("iw", SEGMENTS, "1", "1000", "Initial window", "10 (RFC 6928)"),
    knob!(
        "min_rto",
        Unit::Span,
        "1ms",
        "60s",
        "Smallest retransmission timeout",
        "200 ms in Linux (TCP_RTO_MIN), 1 s in ns-3 (RFC 6298)"
    ),
    knob!(
        "delayed_ack",
        Unit::Span,
        "0",
        "500ms",
        "How long an acknowledgement may be held back",
        "40 ms in Linux (TCP_DELACK_MIN), 200 ms in ns-3"
    ),
    knob!("ack_every", SEGMENTS, "1", "64", "Full segments per acknowledgement", "2 (RFC 5681 section 4.2)"),
    knob!(
        "loss",
        Unit::Choice(&["rack", "dupack"]),
        "",
        "",
        "How losses are found: RFC 8985, or three duplicates (RFC 6675)",
        "rack in Linux, dupack in ns-3"
    ),
    knob!("tlp", Unit::Switch, "", "", "Tail loss probes (RFC 8985 section 7)", "on in Linux"),
    knob!(
        "pacing",
        Unit::Choice(&["controller", "always", "never"]),
        "",
        "",
        "When the sender paces",
        "controller in Linux: BBR paces, Cubic and Reno do not without the fq qdisc"
    ),
    knob!("hystart", Unit::Switch, "", "", "Whether Cubic's slow start may end by HyStart", "on"),
    knob!("ecn", Unit::Switch, "", "", "Whether ECN is negotiated (RFC 3168)", "off"),
    knob!(
        "rcvbuf",
        Unit::Bytes,
        "4096",
        "4294967295",
        "Fixed receive buffer; without it autotuning grows it",
        "128 kB to 6 MB in Linux (tcp_rmem), 4 MB in ns-3"
    ),
];

const fn tcp(name: &'static str, about: &'static str, source: &'static str) -> Component {
    Component { kind: Kind::Transport, name, about, source, parameters: TCP_PARAMETERS, positional: None }
}

static CUBIC: Component = tcp("cubic", "TCP with CUBIC, Linux's default", "RFC 9438; Linux tcp_cubic.c");
static BBR: Component =
    tcp("bbr", "TCP with BBR version 1", "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c");
static RENO: Component = tcp("reno", "TCP with Reno's additive increase", "RFC 5681; Linux tcp_cong.c");

static UDP: Component = Component {
    kind: Kind::Transport,
    name: "udp",
    about: "Datagrams at a constant rate, or on and off",
    source: "BoDe section VII-C",
    parameters: &[
        Parameter {
            default: "2mbit",
            min: "1bit",
            ..parameter("rate", Unit::Rate, "Rate of IP packets while on", "BoDe section VII-C")
        },
        Parameter {
            default: "1200b",
            min: "28",
            max: "65535",
            ..parameter("size", Unit::Bytes, "IP packet size", "")
        },
        Parameter {
            min: "1us",
            ..parameter("on", Unit::Span, "Mean length of the on periods; without it always on", "")
        },
        Parameter { default: "0", ..parameter("off", Unit::Span, "Mean length of the off periods", "") },
        Parameter {
            default: "constant",
            ..parameter(
                "periods",
                Unit::Choice(&["constant", "exponential"]),
                "How period lengths are distributed",
                "",
            )
        },
    ],
    positional: Some("rate"),
};

/// Every transport.
pub static COMPONENTS: &[&Component] = &[&CUBIC, &BBR, &RENO, &UDP];

impl TransportConfig {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// An on-off source without an off period.
    pub fn build(arguments: &Arguments) -> Result<TransportConfig, ComponentError> {
        if arguments.component().name == "udp" {
            return udp(arguments).map(TransportConfig::Udp);
        }
        let profile = profile(arguments);
        let ns3 = profile.recovery_rule == RecoveryRule::Ns3;
        let controller = match (arguments.component().name, ns3) {
            ("reno", false) => ControllerConfig::Reno,
            ("reno", true) => ControllerConfig::Ns3Reno,
            ("bbr", _) => ControllerConfig::Bbr(BbrConfig::default()),
            (_, true) => ControllerConfig::Ns3Cubic { hystart: profile.hystart },
            (_, false) => {
                ControllerConfig::Cubic(CubicConfig { hystart: profile.hystart, ..CubicConfig::default() })
            }
        };
        Ok(TransportConfig::Tcp { profile, controller, bytes: arguments.whole("bytes") })
    }
}

fn profile(arguments: &Arguments) -> Profile {
    let mut profile =
        if arguments.text("profile") == Some("ns3") { Profile::ns3() } else { Profile::linux() };
    let set_span = |field: &mut Span, key| *field = arguments.span(key).unwrap_or(*field);
    set_span(&mut profile.min_rto, "min_rto");
    set_span(&mut profile.delayed_ack, "delayed_ack");
    let set_count = |field: &mut u32, key| *field = arguments.whole(key).map_or(*field, |n| n as u32);
    set_count(&mut profile.mss, "mss");
    set_count(&mut profile.initial_window, "iw");
    set_count(&mut profile.ack_every, "ack_every");
    let set_switch = |field: &mut bool, key| *field = arguments.switch(key).unwrap_or(*field);
    set_switch(&mut profile.tail_loss_probe, "tlp");
    set_switch(&mut profile.hystart, "hystart");
    set_switch(&mut profile.ecn, "ecn");
    match arguments.text("loss") {
        Some("rack") => profile.loss_detection = LossDetection::Rack,
        Some("dupack") => profile.loss_detection = LossDetection::DuplicateAcks,
        _ => {}
    }
    match arguments.text("pacing") {
        Some("always") => profile.pacing = Pacing::Always,
        Some("never") => profile.pacing = Pacing::Never,
        Some("controller") => profile.pacing = Pacing::Controller,
        _ => {}
    }
    if let Some(bytes) = arguments.whole("rcvbuf") {
        profile.receive_buffer = bytes;
        profile.receive_buffer_max = bytes;
    }
    profile
}

fn udp(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let off = arguments.span("off").unwrap_or(Span::ZERO);
    if arguments.span("on").is_none() && !off.is_zero() {
        let message = "off is given without on; expected both, or neither for a constant rate".to_string();
        return Err(ComponentError { typed: arguments.typed().to_string(), message });
    }
    Ok(UdpConfig {
        rate: arguments.rate("rate").unwrap_or(Rate::from_bps(2_000_000)),
        bytes: arguments.whole("size").unwrap_or(1200) as u32,
        on: arguments.span("on").unwrap_or(Span::MAX),
        off,
        exponential: arguments.text("periods") == Some("exponential"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> TransportConfig {
        TransportConfig::build(&Arguments::parse(COMPONENTS, text).unwrap()).unwrap()
    }

    #[test]
    fn profiles_and_overrides() {
        let TransportConfig::Tcp { profile, controller, bytes } = build("cubic:profile=ns3:iw=1:hystart=off")
        else {
            panic!("not TCP");
        };
        assert_eq!((profile.min_rto, profile.initial_window), (Span::from_secs(1), 1));
        assert_eq!(controller, ControllerConfig::Ns3Cubic { hystart: false });
        assert_eq!(bytes, None);
        let TransportConfig::Tcp { profile, .. } = build("bbr:mss=1000b") else { panic!("not TCP") };
        assert_eq!((profile.mss, profile.min_rto), (1000, Span::from_millis(200)));
    }

    #[test]
    fn datagrams() {
        let TransportConfig::Udp(config) = build("udp:4mbit:size=1000b") else { panic!("not UDP") };
        assert_eq!((config.rate, config.bytes, config.on), (Rate::from_bps(4_000_000), 1000, Span::MAX));
        let arguments = Arguments::parse(COMPONENTS, "udp:off=1s").unwrap();
        assert!(TransportConfig::build(&arguments).is_err());
    }
}
