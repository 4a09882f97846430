//! Requests to the case that is running: its path is sampled, and changed by hand.

use super::link::scenario;
use super::measure::MeasuringTap;
use qdelay_core::component::Registry;
use qdelay_emu::alarm::Alarm;
use qdelay_emu::control::{Changed, Inbox, control};
use qdelay_emu::metrics::Metrics;
use qdelay_study::results::PathChange;
use qdelay_study::scenario::Case;
use qdelay_terminal::live::adjust::{Adjuster, Files};
use qdelay_terminal::live::control_options::{Places, Servers};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Measures of a case, and counts for those who watch it.
pub type CaseTap<'a> = (MeasuringTap<'a>, Option<Metrics>);

/// The requests to a study's only case.
#[derive(Debug)]
pub struct CaseRequests {
    /// The inbox of the case's data thread, until that takes it.
    inbox: Mutex<Option<Inbox<Alarm>>>,
    _servers: Servers,
}

impl CaseRequests {
    /// Serves `places` for the path of `case`. Words may name components of `registry`, and traces in the folders `traces`; requests wait until
    /// the case runs.
    ///
    /// # Errors
    /// The process is out of file descriptors, or no thread can be started.
    pub fn serve(
        places: Places,
        case: &Case,
        registry: &Registry,
        traces: &[PathBuf],
    ) -> io::Result<CaseRequests> {
        let (line, inbox) = control(scenario::settings(case), Alarm::new()?);
        let adjuster = Adjuster::new(line.clone(), registry.clone(), Files::OfUser(traces.to_vec()));
        Ok(CaseRequests { inbox: Mutex::new(Some(inbox)), _servers: places.serve(&line, &adjuster)? })
    }

    /// The inbox, for the data thread of the case.
    pub(crate) fn take_inbox(&self) -> Option<Inbox<Alarm>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether no case has run.
    pub fn is_unused(&self) -> bool {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Changes as they stand in results.
pub fn changes(changes: &[Changed]) -> Vec<PathChange> {
    let change =
        |Changed { time, what }: &Changed| PathChange { time_s: time.as_secs_f64(), what: what.clone() };
    changes.iter().map(change).collect()
}
