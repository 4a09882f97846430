//! The knobs that TCP has with every congestion control, as users name them.

use crate::parameter::parameter;
use crate::profile::{LossDetection, Pacing, Profile};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Parameter, Unit};

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

/// What `arguments` make of the profile that they name.
pub(crate) fn profile(arguments: &Arguments) -> Profile {
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
