//! Channels, pacers, schedulers and kinds of radio link control as users name them.

use crate::traces::channel;
use qdelay_core::component::{Arguments, Component, Kind, Parameter, Unit};
use qdelay_ran::cell::PARTITIONS;
use qdelay_ran::mac;
use qdelay_ran::radio::CHANNELS;
use qdelay_ran::rlc::{MacHeader, Mode, PdcpReordering, RlcSetting};

const fn parameter(name: &'static str, unit: Unit, about: &'static str) -> Parameter {
    Parameter { name, unit, default: "", min: "", max: "", about, source: "" }
}

const SN: Parameter = Parameter {
    min: "5",
    max: "18",
    ..parameter(
        "sn",
        Unit::Count("bits"),
        "Bits of a sequence number; the technology's longest where it is not given.",
    )
};
const REASSEMBLY: Parameter = Parameter {
    min: "1ms",
    max: "10s",
    ..parameter(
        "reassembly",
        Unit::Span,
        "How long the receiver waits for what is missing (t-Reordering in LTE, t-Reassembly in NR); 50 ms where it is not given.",
    )
};
const REORDERING: Parameter = Parameter {
    min: "1ms",
    max: "60s",
    ..parameter(
        "reordering",
        Unit::Span,
        "Of NR: how long PDCP waits to put packets back into order (t-Reordering); 100 ms in unacknowledged and 300 ms in acknowledged mode where it is not given.",
    )
};
const IN_ORDER: Parameter = Parameter {
    default: "on",
    ..parameter("in_order", Unit::Switch, "Of NR: whether PDCP puts packets back into order.")
};
const HEADER: Parameter = Parameter {
    max: "64b",
    ..parameter(
        "header",
        Unit::Bytes,
        "Bytes that PDCP and SDAP add to each packet; 2 in LTE and 3 in NR where it is not given.",
    )
};

const MAC_HEADER: Parameter = Parameter {
    default: "on",
    ..parameter("mac_header", Unit::Switch, "Whether MAC's subheader of each PDU counts; ns-3 has none.")
};

static UM: Component = Component {
    kind: Kind::Rlc,
    name: "um",
    about: "Unacknowledged mode: cut into pieces and put together again, what is lost stays lost",
    source: "TS 36.322, TS 38.322",
    parameters: &[SN, REASSEMBLY, REORDERING, IN_ORDER, HEADER, MAC_HEADER],
    positional: None,
};
static AM: Component = Component {
    kind: Kind::Rlc,
    name: "am",
    about: "Acknowledged mode: what is lost is sent again",
    source: "TS 36.322, TS 38.322",
    parameters: &[
        SN,
        REASSEMBLY,
        REORDERING,
        IN_ORDER,
        HEADER,
        MAC_HEADER,
        Parameter {
            default: "20ms",
            min: "1ms",
            max: "10s",
            ..parameter("status_prohibit", Unit::Span, "The least time between two status reports.")
        },
        Parameter {
            default: "80ms",
            min: "1ms",
            max: "10s",
            ..parameter("poll_retransmit", Unit::Span, "How long the sender waits for the answer to a poll.")
        },
        Parameter {
            default: "8",
            min: "1",
            max: "32",
            ..parameter(
                "retransmissions",
                Unit::Count("repetitions"),
                "After so many of a part the bearer is established anew.",
            )
        },
    ],
    positional: None,
};
static TM: Component = Component {
    kind: Kind::Rlc,
    name: "tm",
    about: "Transparent mode: packets go whole and without a header, once a grant holds them",
    source: "TS 36.322, TS 38.322",
    parameters: &[],
    positional: None,
};

/// The kinds of radio link control.
pub static RLC: &[&Component] = &[&UM, &AM, &TM];

/// The channels that users can name.
pub fn channels() -> Vec<&'static Component> {
    CHANNELS.iter().copied().chain(channel::components()).collect()
}

/// Every component of a cell that users can name: channels, MAC schedulers, partitions, kinds of radio link control.
pub fn components() -> Vec<&'static Component> {
    channels().into_iter().chain([mac::COMPONENTS, PARTITIONS, RLC].into_iter().flatten().copied()).collect()
}

/// The radio link control that `arguments` of a component of [`RLC`] describe.
///
/// # Errors
/// A key that the technology has no use for. Whether the values fit each other the bearer says.
pub fn rlc(arguments: &Arguments, is_nr: bool) -> Result<RlcSetting, String> {
    for key in ["reordering", "in_order"] {
        if !is_nr && arguments.component().name != TM.name && arguments.is_given(key) {
            return Err(format!("LTE has no '{key}': its RLC keeps the order; expected it in NR only"));
        }
    }
    let mut setting = match (arguments.component().name, is_nr) {
        ("um", false) => RlcSetting::lte_um(),
        ("um", true) => RlcSetting::nr_um(),
        ("am", false) => RlcSetting::lte_am(),
        ("am", true) => RlcSetting::nr_am(),
        _ => return Ok(RlcSetting::transparent()),
    };
    if let Some(bytes) = arguments.whole("header") {
        // The declared range keeps it small.
        setting.sdu_overhead_bytes = bytes as u32;
    }
    if arguments.switch("mac_header") == Some(false) {
        setting.mac = MacHeader::None;
    }
    let (sn, reassembly) = (arguments.whole("sn").map(|bits| bits as u8), arguments.span("reassembly"));
    let in_order = |pdcp: &mut Option<PdcpReordering>| {
        if arguments.switch("in_order") == Some(false) {
            *pdcp = None;
        } else if let (Some(pdcp), Some(span)) = (pdcp, arguments.span("reordering")) {
            pdcp.t_reordering = span;
        }
    };
    let am = |am: &mut qdelay_ran::rlc::Am| {
        am.sn_bits = sn.unwrap_or(am.sn_bits);
        am.t_reassembly = reassembly.unwrap_or(am.t_reassembly);
        am.t_status_prohibit = arguments.span("status_prohibit").unwrap_or(am.t_status_prohibit);
        am.t_poll_retransmit = arguments.span("poll_retransmit").unwrap_or(am.t_poll_retransmit);
        if let Some(times) = arguments.whole("retransmissions") {
            am.max_retransmissions = times as u32;
        }
    };
    match &mut setting.mode {
        Mode::LteUm(um) => {
            um.sn_bits = sn.unwrap_or(um.sn_bits);
            um.t_reordering = reassembly.unwrap_or(um.t_reordering);
        }
        Mode::NrUm(um) => {
            um.sn_bits = sn.unwrap_or(um.sn_bits);
            um.t_reassembly = reassembly.unwrap_or(um.t_reassembly);
            in_order(&mut um.pdcp);
        }
        Mode::LteAm(lte) => am(lte),
        Mode::NrAm(nr) => {
            am(&mut nr.am);
            in_order(&mut nr.pdcp);
        }
        Mode::Transparent { .. } => {}
    }
    Ok(setting)
}

/// The text of a link, with an overhead of so many bytes a packet where it says none of its own and can have one.
pub(crate) fn with_overhead(text: &str, bytes: u64) -> String {
    let name = text.split(':').next().unwrap_or("");
    let is_rate = qdelay_path::is_rate(text);
    let components = crate::links::components();
    let component = components.iter().find(|component| component.name == name);
    let can = is_rate
        || component.is_some_and(|component| {
            component.parameters.iter().any(|parameter| parameter.name == "overhead")
        });
    if !can || text.contains(":overhead=") || bytes == 0 {
        return text.to_string();
    }
    format!("{text}:overhead={bytes}")
}
