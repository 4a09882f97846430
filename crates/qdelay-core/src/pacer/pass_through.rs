//! No pacer: every packet passes to the next queue at once, as in a 3GPP stack.
//!
//! Source: 5G QoS thesis section 3.6.1 (Vanilla). It has no parameters.

use super::{Eligible, Pacer, PacerSetting, Signal, Signals};
use crate::Time;
use crate::component::{Arguments, Component, ComponentError, Kind};

/// Declaration of `vanilla`, which has no parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "vanilla",
    "no pacer: every packet passes to the next queue at once, as in a 3GPP stack",
)
.source("5G QoS thesis section 3.6.1 (Vanilla)");

/// Passes every packet at once, as a 3GPP stack without a pacer does.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassThrough;

impl PassThrough {
    /// The pacer itself: it has no parameters to read.
    pub(super) fn build(_: &Arguments, _: &PacerSetting) -> Result<PassThrough, ComponentError> {
        Ok(PassThrough)
    }
}

impl Pacer for PassThrough {
    #[inline]
    fn next_eligible(&mut self, _: Time, _: u64) -> Eligible {
        Eligible::Now
    }
    #[inline]
    fn forwarded(&mut self, _: Time, _: u64) {}
    #[inline]
    fn on_signal(&mut self, _: Time, _: Signal) {}
    fn listens(&self) -> Signals {
        Signals::NONE
    }
}
