//! A scenario as a run has it: borrowed from its caller, or shared.

use crate::Scenario;
use core::ops::Deref;
use std::sync::Arc;

/// A scenario that a run reads.
#[derive(Clone, Debug)]
pub enum Held<'a> {
    /// The caller keeps it until the run is over.
    Borrowed(&'a Scenario),
    /// The run shares its ownership, so it borrows nothing.
    Shared(Arc<Scenario>),
}

impl Deref for Held<'_> {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        match self {
            Held::Borrowed(scenario) => scenario,
            Held::Shared(scenario) => scenario,
        }
    }
}

impl<'a> From<&'a Scenario> for Held<'a> {
    fn from(scenario: &'a Scenario) -> Held<'a> {
        Held::Borrowed(scenario)
    }
}

impl From<Arc<Scenario>> for Held<'_> {
    fn from(scenario: Arc<Scenario>) -> Self {
        Held::Shared(scenario)
    }
}
