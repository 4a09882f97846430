//! TCP as users name it: by its congestion control, with knobs that all of them have.

use super::{LossDetection, Pacing, Profile};
use crate::control::{self, AnyController};
use crate::transport::parameter;
use alloc::string::ToString;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

/// A TCP connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpConfig {
    /// The knobs of both endpoints.
    pub profile: Profile,
    /// The sender's congestion controller.
    pub controller: AnyController,
    /// Application bytes to send; `None` for as long as the run lasts.
    pub bytes: Option<u64>,
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
/// The parameters that every control has.
pub const KNOBS: [Parameter; 12] = [
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

/// [`KNOBS`], and behind them the parameters that are a control's `own`.
///
/// # Panics
/// Where `N` is not the number of both together: at compile time, of a static.
pub const fn with_knobs<const N: usize>(own: &[Parameter]) -> [Parameter; N] {
    assert!(N == KNOBS.len() + own.len(), "N is the number of knobs and of the control's own parameters");
    let mut all = [PROFILE; N];
    let mut next = 0;
    while next < N {
        all[next] = if next < KNOBS.len() { KNOBS[next] } else { own[next - KNOBS.len()] };
        next += 1;
    }
    all
}

/// A congestion control as users name it, with parameters of [`with_knobs`].
pub const fn component(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
) -> Component {
    Component { kind: Kind::Transport, name, about, source, parameters, positional: None }
}

pub(crate) const COMPONENTS: &[&Component] = control::COMPONENTS;

pub(crate) fn build(arguments: &Arguments) -> Result<TcpConfig, ComponentError> {
    let profile = profile(arguments);
    let Some(controller) = AnyController::build(arguments, &profile) else {
        let message = alloc::format!("'{}' is not a congestion control", arguments.component().name);
        return Err(ComponentError { typed: arguments.typed().to_string(), message });
    };
    Ok(TcpConfig { profile, controller, bytes: arguments.whole("bytes") })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Bbr, BbrConfig, Ns3Cubic};
    use alloc::format;

    fn tcp(text: &str) -> TcpConfig {
        build(&Arguments::parse(COMPONENTS, text).unwrap()).unwrap()
    }
    fn is(controller: AnyController, expected: impl Into<AnyController>) -> bool {
        format!("{controller:?}") == format!("{:?}", expected.into())
    }

    #[test]
    fn profiles_and_overrides() {
        let TcpConfig { profile, controller, bytes } = tcp("cubic:profile=ns3:iw=1:hystart=off");
        assert_eq!((profile.min_rto, profile.initial_window), (Span::from_secs(1), 1));
        assert!(is(controller, Ns3Cubic::new(false)));
        assert_eq!(bytes, None);
        let profile = tcp("bbr:mss=1000b").profile;
        assert_eq!((profile.mss, profile.min_rto), (1000, Span::from_millis(200)));
        for (text, aggregation) in [("bbr", true), ("bbr:aggregation=off", false)] {
            let expected = Bbr::new(BbrConfig { aggregation, ..BbrConfig::default() });
            assert!(is(tcp(text).controller, expected), "{text}");
        }
    }

    /// What a control has no use for is refused, and every one of them has TCP's knobs.
    #[test]
    fn parameters_are_tcps_and_the_controls_own() {
        let refused = |text| Arguments::parse(COMPONENTS, text).unwrap_err().to_string();
        assert!(
            refused("reno:hystart=off").contains("reno has no key 'hystart'; known: profile, bytes, mss")
        );
        assert!(refused("cubic:aggregation=off").contains("aggregation"));
        for component in COMPONENTS {
            let names = component.parameters.iter().map(|parameter| parameter.name);
            assert!(names.take(KNOBS.len()).eq(KNOBS.iter().map(|knob| knob.name)), "{}", component.name);
        }
    }
}
