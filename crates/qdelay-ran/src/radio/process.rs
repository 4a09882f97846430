//! A channel that varies, as the cell walks through it.

use super::Quality;
use super::fading::Faded;
use alloc::boxed::Box;
use qdelay_core::Time;
use qdelay_trace::{CqiCursor, CqiStep, CqiSteps};

/// How good a channel is, asked at times that never decrease.
#[derive(Clone, Debug)]
pub(super) enum Process {
    /// Always alike.
    Constant(Quality),
    /// As a trace says.
    Steps(Steps),
    /// As chance has it.
    Faded(Box<Faded>, Schemes),
}

/// The MCS that a CQI of 0 to 15 stands for; `None` where nothing is received.
pub(super) type Schemes = [Option<u8>; 16];

/// A walk through the steps of a CQI.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    cursor: CqiCursor,
    now: Option<CqiStep>,
    next: Option<CqiStep>,
    schemes: Schemes,
}

impl Steps {
    pub(super) fn new(trace: &CqiSteps, repeat: bool, schemes: Schemes) -> Steps {
        let mut cursor = trace.cursor(repeat);
        let (now, next) = (cursor.next(), cursor.next());
        Steps { cursor, now, next, schemes }
    }

    /// After the end of a trace that does not repeat nothing is received.
    fn at(&mut self, now: Time) -> Quality {
        while let Some(next) = self.next.filter(|next| next.start <= now) {
            self.now = Some(next);
            self.next = self.cursor.next();
        }
        if self.next.is_none() && now >= self.cursor.round_end() {
            return Quality::Outage;
        }
        of(&self.schemes, self.now.map_or(0, |step| step.cqi))
    }
}

/// The quality that a CQI stands for.
pub(super) fn of(schemes: &Schemes, cqi: u8) -> Quality {
    schemes.get(usize::from(cqi)).copied().flatten().map_or(Quality::Outage, Quality::Mcs)
}

impl Process {
    /// The quality at `now`.
    pub(super) fn at(&mut self, now: Time) -> Quality {
        match self {
            Process::Constant(quality) => *quality,
            Process::Steps(steps) => steps.at(now),
            Process::Faded(faded, schemes) => of(schemes, faded.cqi(now)),
        }
    }
}
