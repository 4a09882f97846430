//! Parameters of TCP that every congestion control has.

use crate::profile::{LossDetection, Pacing, Profile};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Parameter, Typed, Unit};

/// Source text of a parameter whose default comes from the profile.
macro_rules! of_profile {
    ($source:literal) => {
        concat!("of the profile; ", $source)
    };
}

const SEGMENTS: Unit = Unit::Count("segments");
const PROFILE: Typed<str> = Typed::new(
    "profile",
    "linux",
    "Set of knobs: a Linux 6.12 kernel, or ns-3 3.48; every key below overrides one of them",
)
.unit(Unit::Choice(&["linux", "ns3"]))
.source("the two references of the comparisons");
/// Application bytes of a flow.
pub(crate) const BYTES: Typed<Option<u64>> =
    Typed::new("bytes", "", "Application bytes to send before FIN; default until the run ends")
        .unit(Unit::Bytes)
        .within("1", "")
        .source(of_profile!("none"));
const MSS: Typed<Option<u64>> = Typed::new("mss", "", "Application bytes in a full segment")
    .unit(Unit::Bytes)
    .within("64", "8948")
    .source(of_profile!("1448 (Ethernet MTU less headers and timestamps)"));
const INITIAL_WINDOW: Typed<Option<u64>> = Typed::new("iw", "", "Initial window")
    .unit(SEGMENTS)
    .within("1", "1000")
    .source(of_profile!("10 (RFC 6928)"));
const MIN_RTO: Typed<Option<Span>> = Typed::new("min_rto", "", "Smallest retransmission timeout")
    .within("1ms", "60s")
    .source(of_profile!("200 ms in Linux (TCP_RTO_MIN), 1 s in ns-3 (RFC 6298)"));
const DELAYED_ACK: Typed<Option<Span>> = Typed::new("delayed_ack", "", "Longest delay of an acknowledgement")
    .within("0", "500ms")
    .source(of_profile!("40 ms in Linux (TCP_DELACK_MIN), 200 ms in ns-3"));
const ACK_EVERY: Typed<Option<u64>> = Typed::new("ack_every", "", "Full segments per acknowledgement")
    .unit(SEGMENTS)
    .within("1", "64")
    .source(of_profile!("2 (RFC 5681 section 4.2)"));
const LOSS: Typed<Option<&str>> = Typed::new(
    "loss",
    "",
    "Loss detection: by time (RACK, RFC 8985) or by three duplicate acknowledgements (RFC 6675)",
)
.unit(Unit::Choice(&["rack", "dupack"]))
.source(of_profile!("rack in Linux, dupack in ns-3"));
const SACK: Typed<bool> = Typed::new(
    "sack",
    "on",
    "Selective acknowledgements (RFC 2018). Off: NewReno's recovery (RFC 6582), and after a timeout go-back-N (RFC 5681); loss and tlp do not apply",
)
.source("on in Linux (tcp_sack) and in ns-3 since 2018");
const PARTIAL_ACKS: Typed<bool> = Typed::new(
    "partial_acks",
    "on",
    "With sack=off: a partial acknowledgement repairs the next loss (NewReno, RFC 6582); off: it ends fast recovery (Reno, RFC 5681)",
)
.source("RFC 6582; off as ns-2's Agent/TCP/Reno");
const TAIL_LOSS_PROBE: Typed<Option<bool>> =
    Typed::new("tlp", "", "Tail loss probes (RFC 8985 section 7)").source(of_profile!("on in Linux"));
const PACING: Typed<Option<&str>> =
    Typed::new("pacing", "", "Pacing of segments: if the control sets a rate, always, or never")
        .unit(Unit::Choice(&["controller", "always", "never"]))
        .source(of_profile!("controller in Linux: BBR paces, Cubic and Reno do not without the fq qdisc"));
const ECN: Typed<Option<bool>> =
    Typed::new("ecn", "", "Whether ECN is negotiated (RFC 3168)").source(of_profile!("off"));
const RECEIVE_BUFFER: Typed<Option<u64>> =
    Typed::new(
        "rcvbuf",
        "",
        "Fixed receive buffer; default autotuned. The window is 0.63 of the buffer, at most 1 GiB; a segment is at most half a window",
    )
        .unit(Unit::Bytes)
        .within("4096", "4294967295")
        .source(of_profile!("128 kB to 6 MB in Linux (tcp_rmem), 4 MB in ns-3"));
const SEND_BUFFER: Typed<Option<u64>> =
    Typed::new("sndbuf", "", "Largest send buffer: data in flight and data not yet sent")
        .unit(Unit::Bytes)
        .within("4096", "4294967295")
        .source(of_profile!("4 MB in Linux (tcp_wmem), unlimited in ns-3"));

/// The parameters that every control has.
pub const KNOBS: [Parameter; 15] = [
    PROFILE.parameter(),
    BYTES.parameter(),
    MSS.parameter(),
    INITIAL_WINDOW.parameter(),
    MIN_RTO.parameter(),
    DELAYED_ACK.parameter(),
    ACK_EVERY.parameter(),
    LOSS.parameter(),
    SACK.parameter(),
    PARTIAL_ACKS.parameter(),
    TAIL_LOSS_PROBE.parameter(),
    PACING.parameter(),
    ECN.parameter(),
    RECEIVE_BUFFER.parameter(),
    SEND_BUFFER.parameter(),
];

/// [`KNOBS`] followed by a control's `own` parameters.
///
/// # Panics
/// `N` is not the number of both together. In a static this is an error at compile time.
pub const fn with_knobs<const N: usize>(own: &[Parameter]) -> [Parameter; N] {
    assert!(
        N == KNOBS.len() + own.len(),
        "N: expected the number of KNOBS plus that of the control's own parameters"
    );
    let mut all = [PROFILE.parameter(); N];
    let mut next = 0;
    while next < N {
        all[next] = if next < KNOBS.len() { KNOBS[next] } else { own[next - KNOBS.len()] };
        next += 1;
    }
    all
}

/// Declaration of a congestion control; `parameters` come from [`with_knobs`].
pub const fn component(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
) -> Component {
    Component::new(Kind::Transport, name, about).source(source).with(parameters)
}

/// The profile that `arguments` name, with the other given parameters in place of the profile's values.
pub(crate) fn profile(arguments: &Arguments) -> Profile {
    let usual = match arguments.get(&PROFILE) {
        "ns3" => Profile::ns3(),
        _ => Profile::linux(),
    };
    let count = |key, usual| arguments.get::<Option<u64>>(key).map_or(usual, |count| count as u32);
    let buffer = arguments.get(&RECEIVE_BUFFER);
    let profile = Profile {
        partial_acks: arguments.get(&PARTIAL_ACKS),
        min_rto: arguments.get(&MIN_RTO).unwrap_or(usual.min_rto),
        delayed_ack: arguments.get(&DELAYED_ACK).unwrap_or(usual.delayed_ack),
        mss: count(&MSS, usual.mss),
        initial_window: count(&INITIAL_WINDOW, usual.initial_window),
        ack_every: count(&ACK_EVERY, usual.ack_every),
        tail_loss_probe: arguments.get(&TAIL_LOSS_PROBE).unwrap_or(usual.tail_loss_probe),
        ecn: arguments.get(&ECN).unwrap_or(usual.ecn),
        loss_detection: match arguments.get(&LOSS) {
            Some("rack") => LossDetection::Rack,
            Some("dupack") => LossDetection::DuplicateAcks,
            _ => usual.loss_detection,
        },
        pacing: match arguments.get(&PACING) {
            Some("always") => Pacing::Always,
            Some("never") => Pacing::Never,
            Some("controller") => Pacing::Controller,
            _ => usual.pacing,
        },
        receive_buffer: buffer.unwrap_or(usual.receive_buffer),
        receive_buffer_max: buffer.unwrap_or(usual.receive_buffer_max),
        send_buffer_max: arguments.get(&SEND_BUFFER).unwrap_or(usual.send_buffer_max),
        ..usual
    };
    if arguments.get(&SACK) { profile } else { profile.without_sack() }
}
