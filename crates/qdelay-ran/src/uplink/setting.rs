//! The settings of an uplink.

use super::lcp::Prioritised;
use crate::cell::{CellError, LEAST_BYTES};
use crate::{CellSetting, UeSetting};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::Span;

/// Periods of scheduling requests in LTE, in subframes (TS 36.213 Table 10.1.5-1).
pub const LTE_REQUESTS: &[u64] = &[1, 2, 5, 10, 20, 40, 80];
/// Periods of scheduling requests in NR, in slots (TS 38.331 `periodicityAndOffset` of
/// SchedulingRequestResourceConfig, without those below a slot).
pub const NR_REQUESTS: &[u64] = &[1, 2, 4, 5, 8, 10, 16, 20, 40, 80, 160, 320, 640];

/// Scheduling requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Time between the occasions of a UE: one of [`LTE_REQUESTS`] or [`NR_REQUESTS`] slots, and a multiple of the TTI.
    pub period: Span,
    /// First occasion of the first UE, in whole TTIs; that of each further UE is a TTI later, within the
    /// period.
    pub offset: Span,
    /// sr-ProhibitTimer: shortest time between two requests of a UE.
    pub prohibit: Span,
}

/// Configured grants (semi-persistent scheduling in LTE): each UE may send a fixed number of bytes at fixed
/// times, without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configured {
    /// Time between the grants of a UE, in whole TTIs. The first one of the first UE is in the first TTI, that of each further UE a
    /// TTI later, within the period.
    pub period: Span,
    /// Bytes of each grant, at least [`LEAST_BYTES`]; rounded up to whole resource block groups.
    pub bytes: u32,
}

/// Timers of buffer status reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reports {
    /// periodicBSR-Timer: time after the last report from which on a block carries a new one.
    pub periodic: Span,
    /// retxBSR-Timer: time without grant and report after which a UE with data sends a new request.
    pub retransmission: Span,
}

impl Reports {
    /// The default: 10 and 320 ms.
    pub const DEFAULT: Reports =
        Reports { periodic: Span::from_millis(10), retransmission: Span::from_millis(320) };
}

/// The uplink of a cell: the settings that both directions share, and those of requests, reports and grants.
/// Bearers of UEs are uplink bearers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UplinkSetting {
    pub(super) cell: CellSetting,
    pub(super) requests: Option<Requests>,
    pub(super) configured: Option<Configured>,
    pub(super) reports: Reports,
    pub(super) grant_delay: Option<Span>,
    pub(super) first_bytes: u32,
    /// Prioritised bit rate of each bearer, over all UEs.
    pub(super) rates: Vec<Option<Prioritised>>,
}

impl UplinkSetting {
    /// The uplink of `cell`: its carrier, TTIs, scheduler, HARQ, time on the air and UEs, without its control
    /// and partition. Requests every 10 ms.
    pub fn new(cell: CellSetting) -> UplinkSetting {
        let cell = cell.of_uplink();
        let rates = vec![None; cell.bearers()];
        let requests = Requests { period: Span::from_millis(10), offset: Span::ZERO, prohibit: Span::ZERO };
        UplinkSetting {
            cell,
            requests: Some(requests),
            configured: None,
            reports: Reports::DEFAULT,
            grant_delay: None,
            first_bytes: 512,
            rates,
        }
    }
    /// Sets scheduling requests; `None` for none.
    #[must_use]
    pub fn requests(self, requests: Option<Requests>) -> UplinkSetting {
        UplinkSetting { requests, ..self }
    }
    /// Sets configured grants; `None` for none.
    #[must_use]
    pub fn configured(self, configured: Option<Configured>) -> UplinkSetting {
        UplinkSetting { configured, ..self }
    }
    /// Sets the timers of reports.
    #[must_use]
    pub fn reports(self, reports: Reports) -> UplinkSetting {
        UplinkSetting { reports, ..self }
    }
    /// Sets the time from the beginning of the TTI with a grant to that of its transmission, rounded up to
    /// whole TTIs, at least one. The default is the HARQ round trip less the time on the air, which also
    /// applies to a repetition: 4 ms in LTE (TS 36.213 clause 8.0), in NR 2 slots, or 3 if they are shorter
    /// than 0.5 ms (`k2` of TS 38.214 clause 6.1.2.1).
    #[must_use]
    pub fn grant_delay(self, delay: Option<Span>) -> UplinkSetting {
        UplinkSetting { grant_delay: delay, ..self }
    }
    /// Sets the bytes that are granted for a request, before any report; default 512.
    #[must_use]
    pub fn first_bytes(self, bytes: u32) -> UplinkSetting {
        UplinkSetting { first_bytes: bytes, ..self }
    }
    /// Adds a UE, whose bearers have no prioritised bit rate.
    #[must_use]
    pub fn ue(mut self, ue: UeSetting) -> UplinkSetting {
        self.rates.resize(self.rates.len() + ue.bearers(), None);
        self.cell = self.cell.ue(ue);
        self
    }
    /// Sets the prioritised bit rate of bearer number `bearer`, over all UEs. Without effect for an unknown
    /// bearer.
    #[must_use]
    pub fn prioritised(mut self, bearer: usize, rate: Option<Prioritised>) -> UplinkSetting {
        if let Some(place) = self.rates.get_mut(bearer) {
            *place = rate;
        }
        self
    }

    /// TTIs from a grant to its transmission.
    pub(super) fn grant_ttis(&self) -> u64 {
        let tti = self.cell.tti.as_nanos().max(1);
        let usual = || (self.cell.tti * self.cell.harq_ttis()).saturating_sub(self.cell.air_span());
        let delay = self.grant_delay.unwrap_or_else(usual);
        delay.as_nanos().div_ceil(tti).max(1)
    }

    /// Checks the settings and returns the first error.
    pub(super) fn check(&self) -> Result<(), UplinkError> {
        self.cell.check().map_err(UplinkError::Cell)?;
        if self.cell.scheduler.divides().is_some() || self.cell.scheduler.by_delay().is_some() {
            return Err(UplinkError::Scheduler);
        }
        let (tti, slot) = (self.cell.tti, self.cell.carrier.slot());
        if self.requests.is_none() && self.configured.is_none() {
            return Err(UplinkError::NoGrants);
        }
        let is_whole = |span: Span| span.as_nanos().is_multiple_of(tti.as_nanos().max(1));
        if let Some(Requests { period, offset, .. }) = self.requests {
            let is_lte = self.cell.carrier.is_lte();
            let known = if is_lte { LTE_REQUESTS } else { NR_REQUESTS };
            let slots = period.as_nanos() / slot.as_nanos().max(1);
            if slot * slots != period || !known.contains(&slots) || !is_whole(period) {
                return Err(UplinkError::RequestPeriod { period, slot, tti, known });
            }
            if !is_whole(offset) || offset >= period {
                return Err(UplinkError::RequestOffset { offset, period, tti });
            }
        }
        if let Some(Configured { period, bytes }) = self.configured {
            if period.is_zero() || !is_whole(period) {
                return Err(UplinkError::ConfiguredPeriod { period, tti });
            }
            if u64::from(bytes) < LEAST_BYTES {
                return Err(UplinkError::ConfiguredBytes(bytes));
            }
        }
        if u64::from(self.first_bytes) < LEAST_BYTES {
            return Err(UplinkError::FirstBytes(self.first_bytes));
        }
        if self.reports.periodic.is_zero() || self.reports.retransmission.is_zero() {
            return Err(UplinkError::Reports);
        }
        let (rtt, least) =
            (self.cell.tti * self.cell.harq_ttis(), self.cell.air_span() + tti * self.grant_ttis());
        if self.cell.harq.retransmissions > 0 && rtt < least {
            return Err(UplinkError::HarqRtt { rtt, least });
        }
        Ok(())
    }
}

/// An invalid setting.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum UplinkError {
    /// An error of the settings that both directions share.
    Cell(CellError),
    /// A scheduler that makes slices, or decides by delay.
    Scheduler,
    /// Neither requests nor configured grants: nothing could ever be sent.
    NoGrants,
    /// A period of requests that the technology does not have, or that is no multiple of the TTI.
    RequestPeriod {
        /// Given period.
        period: Span,
        /// Slot of the carrier.
        slot: Span,
        /// TTI of the cell.
        tti: Span,
        /// Valid periods, in slots.
        known: &'static [u64],
    },
    /// A first occasion that is not within the period, or not in whole TTIs.
    RequestOffset {
        /// Given first occasion.
        offset: Span,
        /// Given period.
        period: Span,
        /// TTI of the cell.
        tti: Span,
    },
    /// A period of configured grants that is not in whole TTIs.
    ConfiguredPeriod {
        /// Given period.
        period: Span,
        /// TTI of the cell.
        tti: Span,
    },
    /// A configured grant that has no room for more than headers.
    ConfiguredBytes(u32),
    /// A first grant that has no room for more than headers.
    FirstBytes(u32),
    /// A report timer of zero.
    Reports,
    /// The HARQ round trip is shorter than the time in which a grant for the repetition can come.
    HarqRtt {
        /// Time from a block to its repetition.
        rtt: Span,
        /// Sum of the time on the air and the time from a grant to its transmission.
        least: Span,
    },
}

impl fmt::Display for UplinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UplinkError::Cell(error) => error.fmt(f),
            UplinkError::Scheduler => f.write_str(
                "a base station does not know how long packets wait at a UE, and an uplink has no slices; expected round_robin, \
                 proportional_fair or max_throughput",
            ),
            UplinkError::NoGrants => f.write_str(
                "without scheduling requests and configured grants nothing can be sent; expected one of them",
            ),
            UplinkError::RequestPeriod { period, slot, tti, known } => {
                write!(f, "requests every {period}; expected one of ")?;
                for (place, &slots) in known.iter().enumerate() {
                    write!(f, "{}{}", if place > 0 { ", " } else { "" }, *slot * slots)?;
                }
                write!(f, ", and a multiple of the TTI, {tti}")
            }
            UplinkError::RequestOffset { offset, period, tti } => {
                write!(
                    f,
                    "a first occasion at {offset}; expected a multiple of the TTI, {tti}, before {period}"
                )
            }
            UplinkError::ConfiguredPeriod { period, tti } => {
                write!(f, "a grant every {period}; expected a multiple of the TTI, {tti}")
            }
            UplinkError::ConfiguredBytes(bytes) | UplinkError::FirstBytes(bytes) => {
                write!(
                    f,
                    "a grant of {bytes} bytes has no room for more than headers; expected at least {LEAST_BYTES}"
                )
            }
            UplinkError::Reports => f.write_str("a timer of buffer status reports is 0; expected more"),
            UplinkError::HarqRtt { rtt, least } => {
                write!(
                    f,
                    "a block is repeated after {rtt}; expected at least the time on the air and from a grant to its transmission, {least}"
                )
            }
        }
    }
}
impl core::error::Error for UplinkError {}
