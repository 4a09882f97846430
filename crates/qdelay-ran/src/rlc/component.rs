//! Radio link control as a component that users name.

use super::{Am, LteUm, MacHeader, Mode, NrAm, NrUm, PdcpReordering, RlcSetting, StatusUplink};
use crate::pdcp::{USUAL_OVER_AM, USUAL_OVER_UM};
use alloc::format;
use alloc::string::String;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const SN: Typed<Option<u64>> =
    Typed::new("sn", "", "Bits of a sequence number; default: the longest of the technology.")
        .unit(Unit::Count("bits"))
        .within("5", "18");
const REASSEMBLY: Typed<Option<Span>> = Typed::new(
    "reassembly",
    "",
    "Time that the receiver waits for missing parts (t-Reordering in LTE, t-Reassembly in NR); default: 50 ms.",
)
.within("1ms", "10s");
const REORDERING: Typed<Option<Span>> = Typed::new(
    "reordering",
    "",
    "NR only: time that PDCP waits to restore the order of packets (t-Reordering); default: 100 ms in unacknowledged, 300 ms in acknowledged mode.",
)
.within("1ms", "60s");
const IN_ORDER: Typed<bool> = Typed::new("in_order", "on", "NR only: PDCP restores the order of packets.");
const HEADER: Typed<Option<u64>> =
    Typed::new("header", "", "Bytes that PDCP and SDAP add to each packet; default: 2 in LTE, 3 in NR.")
        .unit(Unit::Bytes)
        .within("", "64b");
const MAC_HEADER: Typed<bool> =
    Typed::new("mac_header", "on", "Count MAC's subheader of each PDU; ns-3 has none.");
const STATUS_PROHIBIT: Typed<Span> =
    Typed::new("status_prohibit", "20ms", "Shortest time between two status reports.").within("1ms", "10s");
const POLL_RETRANSMIT: Typed<Span> =
    Typed::new("poll_retransmit", "80ms", "Time that the sender waits for the answer to a poll.")
        .within("1ms", "10s");
const RETRANSMISSIONS: Typed<u64> = Typed::new(
    "retransmissions",
    "8",
    "Retransmissions of one PDU after which the bearer is re-established.",
)
.unit(Unit::Count("repetitions"))
.within("1", "32");

static UM: Component = Component::new(
    Kind::Rlc,
    "um",
    "Unacknowledged mode: segments and reassembles packets, without retransmission",
)
.source("TS 36.322, TS 38.322")
.with(&[
    SN.parameter(),
    REASSEMBLY.parameter(),
    REORDERING.parameter(),
    IN_ORDER.parameter(),
    HEADER.parameter(),
    MAC_HEADER.parameter(),
]);
static AM: Component = Component::new(
    Kind::Rlc,
    "am",
    "Acknowledged mode: segments and reassembles packets, and retransmits lost parts",
)
.source("TS 36.322, TS 38.322")
.with(&[
    SN.parameter(),
    REASSEMBLY.parameter(),
    REORDERING.parameter(),
    IN_ORDER.parameter(),
    HEADER.parameter(),
    MAC_HEADER.parameter(),
    STATUS_PROHIBIT.parameter(),
    POLL_RETRANSMIT.parameter(),
    RETRANSMISSIONS.parameter(),
]);
static TM: Component = Component::new(
    Kind::Rlc,
    "tm",
    "Transparent mode: each packet is sent whole and without a header, once a grant has room for it",
)
.source("TS 36.322, TS 38.322");

/// The kinds of radio link control.
pub static COMPONENTS: &[&Component] = &[&UM, &AM, &TM];

impl RlcSetting {
    /// The setting that `arguments` of one of [`COMPONENTS`] describe.
    ///
    /// # Errors
    /// A key that the technology does not use. The bearer checks if the values fit each other.
    pub fn build(arguments: &Arguments, is_nr: bool) -> Result<RlcSetting, String> {
        if !is_nr
            && arguments.component().name != TM.name
            && let Some(key) = arguments.first_given(&[REORDERING.name(), IN_ORDER.name()])
        {
            return Err(format!(
                "LTE has no '{key}', because its RLC keeps the order; expected '{key}' in NR only"
            ));
        }
        Ok(setting(arguments, is_nr))
    }
    /// LTE, unacknowledged: 10-bit numbers, t-Reordering 50 ms, PDCP with 12-bit numbers.
    pub fn lte_um() -> RlcSetting {
        setting(&Arguments::defaults(&UM), false)
    }
    /// LTE, acknowledged: t-Reordering 50 ms, t-StatusProhibit 20 ms, t-PollRetransmit 80 ms, a poll every 32 PDUs, 8
    /// retransmissions, PDCP with 12-bit numbers.
    pub fn lte_am() -> RlcSetting {
        setting(&Arguments::defaults(&AM), false)
    }
    /// NR, unacknowledged: 12-bit numbers, t-Reassembly 50 ms; PDCP with 18-bit numbers reorders for 100 ms.
    pub fn nr_um() -> RlcSetting {
        setting(&Arguments::defaults(&UM), true)
    }
    /// NR, acknowledged: 18-bit numbers, t-Reassembly 50 ms, t-StatusProhibit 20 ms, t-PollRetransmit 80 ms, a poll every
    /// 64 PDUs or 125 kB, 8 retransmissions; PDCP with 18-bit numbers reorders for 300 ms.
    pub fn nr_am() -> RlcSetting {
        setting(&Arguments::defaults(&AM), true)
    }
}

fn setting(arguments: &Arguments, is_nr: bool) -> RlcSetting {
    // The declared ranges keep the numbers small.
    let sn_bits = |longest: u8| arguments.get(&SN).map_or(longest, |bits| bits as u8);
    let t_reassembly = || arguments.get(&REASSEMBLY).unwrap_or(Span::from_millis(50));
    let pdcp = |usual: Span| {
        let t_reordering = arguments.get(&REORDERING).unwrap_or(usual);
        arguments.get(&IN_ORDER).then_some(PdcpReordering { t_reordering })
    };
    let am = |longest: u8, poll_pdu: u32, poll_bytes: Option<u64>| Am {
        sn_bits: sn_bits(longest),
        t_reassembly: t_reassembly(),
        t_status_prohibit: arguments.get(&STATUS_PROHIBIT),
        t_poll_retransmit: arguments.get(&POLL_RETRANSMIT),
        poll_pdu: Some(poll_pdu),
        poll_bytes,
        max_retransmissions: arguments.get(&RETRANSMISSIONS) as u32,
        uplink: StatusUplink::DEFAULT,
    };
    let mode = match (arguments.component().name, is_nr) {
        ("um", false) => Mode::LteUm(LteUm { sn_bits: sn_bits(10), t_reordering: t_reassembly() }),
        ("um", true) => {
            Mode::NrUm(NrUm { sn_bits: sn_bits(12), t_reassembly: t_reassembly(), pdcp: pdcp(USUAL_OVER_UM) })
        }
        ("am", false) => Mode::LteAm(am(10, 32, None)),
        ("am", true) => Mode::NrAm(NrAm { am: am(18, 64, Some(125_000)), pdcp: pdcp(USUAL_OVER_AM) }),
        _ => return RlcSetting::transparent(),
    };
    let mac = match (arguments.get(&MAC_HEADER), is_nr) {
        (false, _) => MacHeader::None,
        (true, false) => MacHeader::Lte,
        (true, true) => MacHeader::Nr,
    };
    let header = arguments.get(&HEADER).map(|bytes| bytes as u32);
    RlcSetting { mode, sdu_overhead_bytes: header.unwrap_or(if is_nr { 3 } else { 2 }), mac, pdcp: None }
}
