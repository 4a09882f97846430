//! A channel with the recorded CQI of a drive test.

use super::schemes::{Schemes, quality_for_cqi, schemes};
use super::{Declared, Quality, RadioError, Walk};
use crate::tables::{Carrier, CqiToMcs};
use qdelay_core::Time;
use qdelay_trace::{CqiCursor, CqiStep, CqiSteps};

/// A channel with the recorded CQI of a drive test.
#[derive(Clone, Debug)]
pub struct CqiTrace {
    /// The recorded CQI.
    pub trace: CqiSteps,
    /// True if the trace restarts at its end; otherwise nothing is received after it.
    pub repeat: bool,
    /// The MCS for each CQI, as in [`Cqi`](super::Cqi).
    pub mapping: Option<CqiToMcs>,
}

impl Declared for CqiTrace {
    type Walk = Steps;

    fn start(&self, carrier: &Carrier, _: u64, _: &str) -> Result<Steps, RadioError> {
        Ok(Steps::new(&self.trace, self.repeat, schemes(carrier, self.mapping)?))
    }
    fn is_constant(&self) -> bool {
        false
    }
}

/// Position in the steps of a CQI trace.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    cursor: CqiCursor,
    now: Option<CqiStep>,
    next: Option<CqiStep>,
    schemes: Schemes,
}

impl Steps {
    fn new(trace: &CqiSteps, repeat: bool, schemes: Schemes) -> Steps {
        let mut cursor = trace.cursor(repeat);
        let (now, next) = (cursor.next(), cursor.next());
        Steps { cursor, now, next, schemes }
    }
}

impl Walk for Steps {
    /// After the end of a trace that does not repeat, nothing is received.
    fn quality_at(&mut self, now: Time) -> Quality {
        while let Some(next) = self.next.filter(|next| next.start <= now) {
            self.now = Some(next);
            self.next = self.cursor.next();
        }
        if self.next.is_none() && now >= self.cursor.round_end() {
            return Quality::Outage;
        }
        quality_for_cqi(&self.schemes, self.now.map_or(0, |step| step.cqi))
    }
}
