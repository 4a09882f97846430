//! Transports as components: `cubic`, `bbr`, `reno` over TCP; `udp`, `voip` and `gaming`; `tfrc` and `audio`, whose rate TFRC
//! controls.

use crate::audio::{AudioConfig, Utility};
use crate::control::{BbrConfig, ControllerConfig, CubicConfig};
use crate::playout::PlayoutSetting;
use crate::tcp::{LossDetection, Pacing, Profile, RecoveryRule};
use crate::tfrc::{Equation, RateConfig, ReceiverConfig, TfrcConfig};
use crate::udp::{Gaps, UdpConfig};
use crate::voice::{Call, Codec};
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
    /// Packets at the rate that TFRC allows.
    Tfrc(TfrcConfig),
    /// A call that adapts its rate and the codepoint of its packets.
    Audio(AudioConfig),
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
    knob!(
        "aggregation",
        Unit::Switch,
        "",
        "",
        "Whether BBR's window allows for acknowledgements that come together",
        "on, as in Linux from 5.1"
    ),
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
        PHASE,
        ECHO,
    ],
    positional: Some("rate"),
};

const PHASE: Parameter = Parameter {
    default: "0",
    ..parameter("phase", Unit::Span, "From the start of the flow to its first datagram", "")
};
const ECHO: Parameter = Parameter {
    default: "off",
    ..parameter(
        "echo",
        Unit::Switch,
        "Whether the far end sends each datagram back, so that round trips are measured",
        "off; as irtt does",
    )
};

static VOIP: Component = Component {
    kind: Kind::Transport,
    name: "voip",
    about: "A call with G.711: RTP datagrams at a constant interval, and what the listener hears",
    source: "RFC 3551 section 4.5.14; ITU-T G.107",
    parameters: &[
        Parameter {
            default: "20ms",
            min: "1ms",
            max: "200ms",
            ..parameter("interval", Unit::Span, "Speech in a packet", "RFC 3551 section 4.2")
        },
        PHASE,
        Parameter {
            min: "1ms",
            ..parameter(
                "talk",
                Unit::Span,
                "Mean length of talk spurts, with pause; without both, packets are sent in silence too",
                "1004ms in ITU-T P.59",
            )
        },
        Parameter {
            min: "1ms",
            ..parameter(
                "pause",
                Unit::Span,
                "Mean length of pauses between talk spurts",
                "1587ms in ITU-T P.59",
            )
        },
        Parameter {
            default: "on",
            ..parameter(
                "concealment",
                Unit::Switch,
                "Whether the listener's decoder conceals lost packets",
                "G.711 Appendix I",
            )
        },
        Parameter {
            default: "adaptive",
            ..parameter(
                "playout",
                Unit::Choice(&["fixed", "adaptive"]),
                "How the listener's playout buffer finds its delay",
                "Ramjee et al. 1994, algorithm 1",
            )
        },
        Parameter {
            default: "60ms",
            max: "10s",
            ..parameter("buffer", Unit::Span, "How long the first packet waits to be played", "three packets")
        },
        ECHO,
    ],
    positional: Some("interval"),
};

static GAMING: Component = Component {
    kind: Kind::Transport,
    name: "gaming",
    about: "Updates of an online game: small datagrams at normally distributed intervals",
    source: "Irazabal 2021 (5G QoS thesis), section 3.6",
    parameters: &[
        Parameter {
            default: "40ms",
            min: "1us",
            ..parameter(
                "interval",
                Unit::Span,
                "Mean time between datagrams",
                "20, 40, 60 and 70 ms in the thesis",
            )
        },
        Parameter {
            default: "5ms",
            ..parameter(
                "deviation",
                Unit::Span,
                "Standard deviation of it; times that are not above zero are drawn again",
                "5 ms in the thesis",
            )
        },
        Parameter {
            default: "200b",
            min: "28",
            max: "65535",
            ..parameter("size", Unit::Bytes, "IP packet size", "")
        },
        PHASE,
        ECHO,
    ],
    positional: Some("interval"),
};

const ACK_EVERY: Parameter = Parameter {
    default: "1",
    min: "1",
    max: "2",
    ..parameter(
        "b",
        Unit::Number,
        "Packets that the TCP of the equation acknowledges at a time",
        "RFC 5348 section 3.1",
    )
};
const MIN_RTO: Parameter = Parameter {
    default: "0",
    max: "60s",
    ..parameter(
        "min_rto",
        Unit::Span,
        "Least retransmission timeout of the TCP of the equation; else four round trips",
        "RFC 5348 section 3.1, which mentions 1s",
    )
};

static TFRC: Component = Component {
    kind: Kind::Transport,
    name: "tfrc",
    about: "Datagrams at the rate that TCP would have in the long run (TCP-friendly rate control)",
    source: "RFC 5348",
    parameters: &[
        Parameter {
            default: "1000b",
            min: "41",
            max: "65535",
            ..parameter(
                "size",
                Unit::Bytes,
                "IP packet size, of which 40 are headers",
                "ABE, simulation results",
            )
        },
        Parameter {
            default: "1gbit",
            min: "1bit",
            max: "100gbit",
            ..parameter(
                "max_rate",
                Unit::Rate,
                "Rate of IP packets that the application has at most",
                "none in RFC 5348",
            )
        },
        ACK_EVERY,
        MIN_RTO,
        Parameter {
            default: "3",
            min: "1",
            max: "16",
            ..parameter(
                "reorder",
                SEGMENTS,
                "Packets that have to overtake one until it is taken for lost",
                "RFC 5348 section 5.1, NDUPACK",
            )
        },
        Parameter {
            default: "on",
            ..parameter(
                "discounting",
                Unit::Switch,
                "Whether old loss intervals count less after a long time without a loss",
                "RFC 5348 section 5.5",
            )
        },
        Parameter {
            default: "off",
            ..parameter(
                "damping",
                Unit::Switch,
                "Whether packets are spaced wider while the round trip is above its average",
                "RFC 5348 section 4.5",
            )
        },
        Parameter {
            default: "off",
            ..parameter("ecn", Unit::Switch, "Whether packets are ECN-capable", "RFC 5348 section 5.1")
        },
    ],
    positional: Some("size"),
};

static AUDIO: Component = Component {
    kind: Kind::Transport,
    name: "audio",
    about: "A call that adapts its rate by TFRC, and chooses between its two codepoints by their rate and delay",
    source: "ABE (Hurley et al. 2001), Fig. 1",
    parameters: &[
        Parameter {
            default: "64kbit",
            min: "1kbit",
            max: "10mbit",
            ..parameter(
                "max",
                Unit::Rate,
                "Most that the codec can use, without headers and error correction",
                "G.711",
            )
        },
        Parameter {
            default: "16kbit",
            min: "100bit",
            max: "10mbit",
            ..parameter(
                "min",
                Unit::Rate,
                "Least that it can work with",
                "R_0 of the paper, which gives no figure",
            )
        },
        Parameter {
            default: "20ms",
            min: "1ms",
            max: "200ms",
            ..parameter("interval", Unit::Span, "Speech in a packet", "RFC 3551 section 4.2")
        },
        Parameter {
            default: "2",
            min: "0",
            max: "20",
            ..parameter(
                "fec",
                Unit::Number,
                "Bytes of forward error correction, over the codec's and the share of packets lost",
                "ours",
            )
        },
        Parameter {
            default: "400ms",
            min: "1ms",
            max: "10s",
            ..parameter(
                "patience",
                Unit::Span,
                "Mean one-way delay from which on it is worth nothing",
                "ITU-T G.114",
            )
        },
        Parameter {
            default: "0.1",
            min: "0",
            max: "10",
            ..parameter("weight", Unit::Number, "How much more the most is worth than the least", "ours")
        },
        Parameter {
            default: "0.05",
            min: "0",
            max: "0.5",
            ..parameter("probe", Unit::Number, "Share of packets with the other codepoint", "ours")
        },
        Parameter {
            default: "5s",
            min: "100ms",
            max: "10min",
            ..parameter("epoch", Unit::Span, "How often it decides", "ours")
        },
        Parameter {
            default: "10s",
            min: "100ms",
            max: "10min",
            ..parameter(
                "pause",
                Unit::Span,
                "How long it is off at first; twice as long each time in vain, up to 16 times",
                "ours",
            )
        },
        Parameter {
            default: "1000b",
            min: "100",
            max: "9000",
            ..parameter(
                "size",
                Unit::Bytes,
                "IP packet size of the TCP that it is as fair as",
                "RFC 4828; ABE, simulation results",
            )
        },
        ACK_EVERY,
        MIN_RTO,
    ],
    positional: Some("max"),
};

/// Every transport.
pub static COMPONENTS: &[&Component] = &[&CUBIC, &BBR, &RENO, &UDP, &VOIP, &GAMING, &TFRC, &AUDIO];

impl TransportConfig {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// An on-off source without an off period, talk spurts without pauses, or a call that needs more than it can use.
    pub fn build(arguments: &Arguments) -> Result<TransportConfig, ComponentError> {
        match arguments.component().name {
            "tfrc" => return Ok(TransportConfig::Tfrc(tfrc(arguments))),
            "audio" => return audio(arguments).map(TransportConfig::Audio),
            _ => {}
        }
        let datagrams = match arguments.component().name {
            "udp" => Some(udp(arguments)?),
            "voip" => Some(voip(arguments)?),
            "gaming" => Some(gaming(arguments)),
            _ => None,
        };
        if let Some(config) = datagrams {
            let phase = arguments.span("phase").unwrap_or(Span::ZERO);
            let echo = arguments.switch("echo") == Some(true);
            return Ok(TransportConfig::Udp(UdpConfig { phase, echo, ..config }));
        }
        let profile = profile(arguments);
        let ns3 = profile.recovery_rule == RecoveryRule::Ns3;
        let controller = match (arguments.component().name, ns3) {
            ("reno", false) => ControllerConfig::Reno,
            ("reno", true) => ControllerConfig::Ns3Reno,
            ("bbr", _) => ControllerConfig::Bbr(BbrConfig {
                aggregation: arguments.switch("aggregation") != Some(false),
                ..BbrConfig::default()
            }),
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
    let rate = arguments.rate("rate").unwrap_or(Rate::from_bps(2_000_000));
    let bytes = arguments.whole("size").unwrap_or(1200) as u32;
    let gaps = Gaps::OnOff {
        gap: rate.time_for(u64::from(bytes)),
        on: arguments.span("on").unwrap_or(Span::MAX),
        off,
        exponential: arguments.text("periods") == Some("exponential"),
    };
    Ok(UdpConfig::new(bytes, gaps))
}

fn voip(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let interval = arguments.span("interval").unwrap_or(Span::from_millis(20));
    let gaps = match (arguments.span("talk"), arguments.span("pause")) {
        (None, None) => Gaps::constant(interval),
        (Some(talk), Some(pause)) => Gaps::Spurts { gap: interval, talk, pause },
        _ => {
            let message =
                "one of talk and pause is given; expected both, or neither for packets in silence too";
            return Err(ComponentError {
                typed: arguments.typed().to_string(),
                message: message.to_string(),
            });
        }
    };
    let codec =
        if arguments.switch("concealment") == Some(false) { Codec::G711 } else { Codec::G711Concealed };
    let buffer = arguments.span("buffer").unwrap_or(Span::from_millis(60));
    let playout = match arguments.text("playout") {
        Some("fixed") => PlayoutSetting::fixed(buffer),
        _ => PlayoutSetting::adaptive(buffer),
    };
    let call = Some(Call { codec, interval, playout });
    Ok(UdpConfig { call, ..UdpConfig::new(codec.packet_bytes(interval), gaps) })
}

fn gaming(arguments: &Arguments) -> UdpConfig {
    let mean = arguments.span("interval").unwrap_or(Span::from_millis(40));
    let deviation = arguments.span("deviation").unwrap_or(Span::from_millis(5));
    UdpConfig::new(arguments.whole("size").unwrap_or(200) as u32, Gaps::Normal { mean, deviation })
}

fn equation(arguments: &Arguments) -> Equation {
    Equation {
        segment_bytes: arguments.whole("size").unwrap_or(1000) as f64,
        ack_every: arguments.number("b").unwrap_or(1.0),
        min_rto_s: arguments.span("min_rto").unwrap_or(Span::ZERO).as_secs_f64(),
    }
}

fn tfrc(arguments: &Arguments) -> TfrcConfig {
    let is_on = |key| arguments.switch(key) == Some(true);
    let standard = TfrcConfig::standard(arguments.whole("size").unwrap_or(1000) as u32);
    let equation = equation(arguments);
    TfrcConfig {
        max_rate: arguments.rate("max_rate").unwrap_or(standard.max_rate),
        rate: RateConfig { equation, damping: is_on("damping"), ..standard.rate },
        receiver: ReceiverConfig {
            equation,
            reorder: arguments.whole("reorder").unwrap_or(3) as u32,
            discounting: arguments.switch("discounting") != Some(false),
            ..standard.receiver
        },
        ecn: is_on("ecn"),
        ..standard
    }
}

fn audio(arguments: &Arguments) -> Result<AudioConfig, ComponentError> {
    let default = AudioConfig::default();
    let span = |key, default| arguments.span(key).unwrap_or(default);
    let number = |key, default| arguments.number(key).unwrap_or(default);
    let utility = Utility {
        least: arguments.rate("min").unwrap_or(default.utility.least),
        most: arguments.rate("max").unwrap_or(default.utility.most),
        patience: span("patience", default.utility.patience),
        weight: number("weight", default.utility.weight),
    };
    if utility.least > utility.most {
        let message = "min is above max; expected at most that".to_string();
        return Err(ComponentError { typed: arguments.typed().to_string(), message });
    }
    Ok(AudioConfig {
        interval: span("interval", default.interval),
        utility,
        correction: number("fec", default.correction),
        probe: number("probe", default.probe),
        epoch: span("epoch", default.epoch),
        pause: span("pause", default.pause),
        equation: equation(arguments),
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
        for (text, aggregation) in [("bbr", true), ("bbr:aggregation=off", false)] {
            let TransportConfig::Tcp { controller, .. } = build(text) else { panic!("not TCP") };
            assert_eq!(controller, ControllerConfig::Bbr(BbrConfig { aggregation, ..BbrConfig::default() }));
        }
    }

    #[test]
    fn datagrams() {
        let TransportConfig::Udp(config) = build("udp:4mbit:size=1000b") else { panic!("not UDP") };
        assert_eq!(config, UdpConfig::new(1000, Gaps::constant(Span::from_millis(2))));
        let arguments = Arguments::parse(COMPONENTS, "udp:off=1s").unwrap();
        assert!(TransportConfig::build(&arguments).is_err());
    }

    #[test]
    fn calls_and_games() {
        let datagrams = |text| {
            let TransportConfig::Udp(config) = build(text) else { panic!("not UDP") };
            config
        };
        let ms = Span::from_millis;
        let call = datagrams("voip");
        assert_eq!((call.bytes, call.gaps, call.echo), (200, Gaps::constant(ms(20)), false));
        let playout = PlayoutSetting::adaptive(ms(60));
        assert_eq!(call.call, Some(Call { codec: Codec::G711Concealed, interval: ms(20), playout }));
        let call = datagrams("voip:10ms:phase=300us:echo=on:concealment=off:playout=fixed:buffer=40ms");
        assert_eq!((call.bytes, call.phase, call.echo), (120, Span::from_micros(300), true));
        let playout = PlayoutSetting::fixed(ms(40));
        assert_eq!(call.call, Some(Call { codec: Codec::G711, interval: ms(10), playout }));
        let spurts = Gaps::Spurts { gap: ms(20), talk: ms(1004), pause: ms(1587) };
        assert_eq!(datagrams("voip:talk=1004ms:pause=1587ms").gaps, spurts);
        let one = Arguments::parse(COMPONENTS, "voip:talk=1s").unwrap();
        assert!(TransportConfig::build(&one).unwrap_err().message.contains("expected both"));

        let game = datagrams("gaming:70ms");
        assert_eq!((game.bytes, game.gaps), (200, Gaps::Normal { mean: ms(70), deviation: ms(5) }));
        assert_eq!(game.call, None);
        assert!(Arguments::parse(COMPONENTS, "gaming:0ms").is_err());
    }

    #[test]
    fn rate_control() {
        let tfrc = |text| {
            let TransportConfig::Tfrc(config) = build(text) else { panic!("not TFRC") };
            config
        };
        assert_eq!(tfrc("tfrc"), TfrcConfig::standard(1000));
        assert_eq!(tfrc("tfrc:1460b"), TfrcConfig::standard(1460));
        let other = tfrc("tfrc:b=2:min_rto=1s:reorder=1:discounting=off:damping=on:ecn=on:max_rate=1mbit");
        assert_eq!(other.rate.equation, other.receiver.equation);
        assert_eq!((other.rate.equation.ack_every, other.rate.equation.min_rto_s), (2.0, 1.0));
        assert_eq!((other.receiver.reorder, other.receiver.discounting), (1, false));
        assert_eq!((other.rate.damping, other.ecn, other.max_rate), (true, true, Rate::from_bps(1_000_000)));

        let TransportConfig::Audio(config) = build("audio") else { panic!("not audio") };
        assert_eq!(config, AudioConfig::default());
        let TransportConfig::Audio(config) = build("audio:32kbit:min=32kbit:epoch=1s") else {
            panic!("not audio")
        };
        assert_eq!(
            (config.utility.least, config.utility.most),
            (Rate::from_bps(32_000), Rate::from_bps(32_000))
        );
        let much = Arguments::parse(COMPONENTS, "audio:min=65kbit").unwrap();
        assert!(TransportConfig::build(&much).unwrap_err().message.contains("expected at most"));
        for text in ["tfrc:b=3", "tfrc:40b", "tfrc:reorder=0", "audio:probe=0.6", "audio:epoch=1ms"] {
            assert!(Arguments::parse(COMPONENTS, text).is_err(), "{text}");
        }
    }
}
