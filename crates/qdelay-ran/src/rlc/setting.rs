//! The settings of a bearer: mode, sequence numbers, timers, and the headers of its packets.
//!
//! The constructors return settings that are common in deployed networks; every field may be changed. RRC (TS 36.331, TS
//! 38.331) allows only certain values of each timer; here any span is accepted that does not break the protocol.

use crate::pdcp::{PdcpSetting, SN_BITS};
use core::fmt;
use qdelay_core::Span;

/// Most bytes of headers of PDCP and SDAP in front of a packet.
pub(super) const SDU_OVERHEAD_MAX: u32 = 64;

/// One data radio bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcSetting {
    /// The mode, with its own settings.
    pub mode: Mode,
    /// Bytes that PDCP and SDAP put in front of every packet: PDCP 2 (12-bit numbers) or 3 (18-bit; TS 36.323, TS 38.323
    /// clause 6.2.2), SDAP 1 where it has a header at all (TS 37.324 clause 6.2.2.2).
    pub sdu_overhead_bytes: u32,
    /// The MAC subheader of every PDU.
    pub mac: MacHeader,
    /// PDCP of the standard, which replaces the reordering of [`NrUm::pdcp`] and [`NrAm::pdcp`]: packets have
    /// their numbers when they are taken.
    pub pdcp: Option<PdcpSetting>,
}

/// The subheader in front of an RLC PDU in a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacHeader {
    /// No subheader is counted.
    None,
    /// 2 bytes up to a PDU of 127 bytes, 3 above (TS 36.321 clause 6.1.2).
    Lte,
    /// 2 bytes up to a PDU of 255 bytes, 3 above (TS 38.321 clause 6.1.2).
    Nr,
}

/// The segmentation of packets into PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Packets are sent whole, without header, or wait for a larger grant.
    Transparent {
        /// Bytes of a grant that each packet takes, instead of its size; `None` for its size.
        counted_bytes: Option<u32>,
    },
    /// Unacknowledged, TS 36.322: segments and concatenates; delivers in order.
    LteUm(LteUm),
    /// Unacknowledged, TS 38.322: segments.
    NrUm(NrUm),
    /// Acknowledged, TS 36.322.
    LteAm(Am),
    /// Acknowledged, TS 38.322.
    NrAm(NrAm),
}

/// Unacknowledged mode of LTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LteUm {
    /// Bits of a sequence number: 5 or 10.
    pub sn_bits: u8,
    /// t-Reordering: time that the receiver waits for a missing PDU. Should exceed the time that HARQ takes
    /// for all its transmissions.
    pub t_reordering: Span,
}

/// Unacknowledged mode of NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrUm {
    /// Bits of a sequence number: 6 or 12.
    pub sn_bits: u8,
    /// t-Reassembly: time that the receiver waits for a missing segment. Should exceed the time that HARQ
    /// takes for all its transmissions.
    pub t_reassembly: Span,
    /// PDCP restores the order of packets; `None`: they are delivered on completion.
    pub pdcp: Option<PdcpReordering>,
}

/// Acknowledged mode: the settings common to LTE and NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Am {
    /// Bits of a sequence number: 10 for LTE; 12 or 18 for NR.
    pub sn_bits: u8,
    /// t-Reordering (LTE) or t-Reassembly (NR): time that the receiver waits before it reports a gap.
    pub t_reassembly: Span,
    /// t-StatusProhibit: shortest time between two status reports. If it is shorter than the time until a
    /// repetition arrives, the same gap is reported and repeated more than once.
    pub t_status_prohibit: Span,
    /// t-PollRetransmit: time that the sender waits for an answer to a poll.
    pub t_poll_retransmit: Span,
    /// pollPDU: PDUs between two polls; `None`: infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: bytes between two polls; `None`: infinity.
    pub poll_bytes: Option<u64>,
    /// maxRetxThreshold, at least 1: retransmissions of a part before the entity is re-established.
    pub max_retransmissions: u32,
    /// The uplink of status reports.
    pub uplink: StatusUplink,
}

/// Acknowledged mode of NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrAm {
    /// The settings common to LTE and NR.
    pub am: Am,
    /// PDCP restores the order of packets; `None`: they are delivered on completion.
    pub pdcp: Option<PdcpReordering>,
}

/// The uplink of status reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusUplink {
    /// Time from the trigger of a report to its writing: until the UE may send.
    pub grant: Span,
    /// Time from the writing of a report until the sender has read it.
    pub air: Span,
    /// The largest report, in bytes; gaps that do not fit are left for the next. At least 16.
    pub limit_bytes: u32,
}

/// Reordering at PDCP, TS 38.323 clause 5.2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpReordering {
    /// t-Reordering; [`Span::MAX`]: infinity. Over acknowledged mode it should exceed the time of a report
    /// and a repetition.
    pub t_reordering: Span,
}

impl StatusUplink {
    /// The default: a report is written 8 ms after its trigger (a scheduling request and its grant), and read
    /// 4 ms later.
    pub const DEFAULT: StatusUplink =
        StatusUplink { grant: Span::from_millis(8), air: Span::from_millis(4), limit_bytes: 1024 };
}

impl RlcSetting {
    /// Transparent mode with packets as the unit: each counts 1500 bytes, is sent whole, and has no header.
    pub const fn whole_packets() -> RlcSetting {
        let mode = Mode::Transparent { counted_bytes: Some(1500) };
        RlcSetting { mode, sdu_overhead_bytes: 0, mac: MacHeader::None, pdcp: None }
    }
    /// Transparent mode: a packet is sent whole, without header, once a grant has room for it.
    pub const fn transparent() -> RlcSetting {
        RlcSetting {
            mode: Mode::Transparent { counted_bytes: None },
            sdu_overhead_bytes: 0,
            mac: MacHeader::None,
            pdcp: None,
        }
    }
    /// Checks the settings and returns the first error.
    pub(crate) fn check(&self) -> Result<(), RlcError> {
        if self.sdu_overhead_bytes > SDU_OVERHEAD_MAX {
            return Err(RlcError::SduOverhead(self.sdu_overhead_bytes));
        }
        if let Some(pdcp) = self.pdcp {
            sn_bits(pdcp.sn_bits, &SN_BITS, "12 or 18")?;
            if let Mode::Transparent { .. } = self.mode {
                return Err(RlcError::Pdcp);
            }
        }
        match self.mode {
            Mode::Transparent { counted_bytes: Some(0) } => Err(RlcError::CountedBytes),
            Mode::Transparent { .. } => Ok(()),
            Mode::LteUm(um) => {
                sn_bits(um.sn_bits, &[5, 10], "5 or 10")?;
                positive(um.t_reordering, "t-Reordering")
            }
            Mode::NrUm(um) => {
                sn_bits(um.sn_bits, &[6, 12], "6 or 12")?;
                positive(um.t_reassembly, "t-Reassembly")?;
                um.pdcp.map_or(Ok(()), |pdcp| positive(pdcp.t_reordering, "t-Reordering of PDCP"))
            }
            Mode::LteAm(am) => {
                sn_bits(am.sn_bits, &[10], "10")?;
                am.check()
            }
            Mode::NrAm(NrAm { am, pdcp }) => {
                sn_bits(am.sn_bits, &[12, 18], "12 or 18")?;
                am.check()?;
                pdcp.map_or(Ok(()), |pdcp| positive(pdcp.t_reordering, "t-Reordering of PDCP"))
            }
        }
    }
}

impl Am {
    fn check(&self) -> Result<(), RlcError> {
        positive(self.t_reassembly, "t-Reassembly (t-Reordering)")?;
        positive(self.t_status_prohibit, "t-StatusProhibit")?;
        positive(self.t_poll_retransmit, "t-PollRetransmit")?;
        if self.poll_pdu == Some(0) || self.poll_bytes == Some(0) {
            return Err(RlcError::Poll);
        }
        if self.max_retransmissions == 0 {
            return Err(RlcError::MaxRetransmissions);
        }
        if self.uplink.limit_bytes < 16 {
            return Err(RlcError::StatusLimit(self.uplink.limit_bytes));
        }
        Ok(())
    }
}

fn sn_bits(given: u8, known: &[u8], expected: &'static str) -> Result<(), RlcError> {
    if known.contains(&given) { Ok(()) } else { Err(RlcError::SnBits { given, expected }) }
}

fn positive(span: Span, name: &'static str) -> Result<(), RlcError> {
    if span.is_zero() { Err(RlcError::Timer(name)) } else { Ok(()) }
}

/// An invalid setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RlcError {
    /// A length of sequence numbers that the mode does not have.
    SnBits {
        /// The given length.
        given: u8,
        /// The possible lengths.
        expected: &'static str,
    },
    /// A timer of zero.
    Timer(&'static str),
    /// A poll interval of zero.
    Poll,
    /// A limit of zero retransmissions.
    MaxRetransmissions,
    /// A status report that is too small for a gap.
    StatusLimit(u32),
    /// A packet that counts zero bytes.
    CountedBytes,
    /// Headers that are too large.
    SduOverhead(u32),
    /// PDCP in transparent mode, which has no sequence numbers.
    Pdcp,
}

impl fmt::Display for RlcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RlcError::SnBits { given, expected } => {
                write!(f, "sequence numbers cannot have {given} bits; expected {expected}")
            }
            RlcError::Timer(name) => write!(f, "{name} is 0; expected more"),
            RlcError::Poll => {
                f.write_str("pollPDU or pollByte is 0; expected at least 1, or none for infinity")
            }
            RlcError::MaxRetransmissions => f.write_str("maxRetxThreshold is 0; expected at least 1"),
            RlcError::StatusLimit(given) => {
                write!(
                    f,
                    "a status report of at most {given} bytes has no room for a gap; expected at least 16"
                )
            }
            RlcError::CountedBytes => f.write_str("a packet counts 0 bytes; expected at least 1"),
            RlcError::Pdcp => f.write_str("transparent mode has no PDCP; expected um or am"),
            RlcError::SduOverhead(given) => {
                write!(
                    f,
                    "{given} bytes of headers for each packet are too many; expected at most {SDU_OVERHEAD_MAX}"
                )
            }
        }
    }
}
impl core::error::Error for RlcError {}
