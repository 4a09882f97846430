//! Any of the pacers, without a vtable.

use super::{
    Bdp, COMPONENTS, Credit, Drql, DynRlc, Eligible, EnhancedBdp, Pacer, PacerSetting, PassThrough, Signal,
    Signals, Usp,
};
use crate::Time;
use crate::component::{Arguments, ComponentError};
use alloc::format;
use alloc::string::ToString;

/// Any of the pacers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyPacer {
    /// `vanilla`: lets everything through at once.
    PassThrough(PassThrough),
    /// `dynrlc`.
    DynRlc(DynRlc),
    /// `drql`.
    Drql(Drql),
    /// `5g-bdp`.
    Bdp(Bdp),
    /// `e5g-bdp`.
    EnhancedBdp(EnhancedBdp),
    /// `usp`.
    Usp(Usp),
    /// `credit`: a fixed window of bytes, returned by signals.
    Credit(Credit),
}

impl AnyPacer {
    /// The one that lets everything through.
    pub const PASS_THROUGH: AnyPacer = AnyPacer::PassThrough(PassThrough);

    /// The pacer that `arguments` describe, above a cell as `setting` says.
    ///
    /// # Errors
    /// Parameters that contradict each other, or a component that is no pacer; the message says which.
    pub fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<AnyPacer, ComponentError> {
        Ok(match arguments.component().name {
            "vanilla" => AnyPacer::PASS_THROUGH,
            "dynrlc" => AnyPacer::DynRlc(DynRlc::build(arguments, setting)?),
            "drql" => AnyPacer::Drql(Drql::build(arguments, setting)?),
            "5g-bdp" => AnyPacer::Bdp(Bdp::build(arguments, setting)),
            "e5g-bdp" => AnyPacer::EnhancedBdp(EnhancedBdp::build(arguments, setting)?),
            "usp" => AnyPacer::Usp(Usp::build(arguments, setting)?),
            "credit" => AnyPacer::Credit(Credit::build(arguments)),
            other => {
                return Err(ComponentError {
                    typed: arguments.typed().to_string(),
                    message: format!("'{other}' is not a pacer"),
                });
            }
        })
    }

    /// The pacer that `text` describes, such as `drql:interval=10ms`.
    ///
    /// # Errors
    /// As [`Arguments::parse`] and [`AnyPacer::build`].
    pub fn parse(text: &str, setting: &PacerSetting) -> Result<AnyPacer, ComponentError> {
        AnyPacer::build(&Arguments::parse(COMPONENTS, text)?, setting)
    }
}

macro_rules! from {
    ($($law:ident),*) => {
        $(impl From<$law> for AnyPacer {
            fn from(law: $law) -> AnyPacer {
                AnyPacer::$law(law)
            }
        })*
    };
}
from!(PassThrough, DynRlc, Drql, Bdp, EnhancedBdp, Usp, Credit);

/// Calls the same function of whichever it is.
macro_rules! delegate {
    ($self:ident, $law:ident => $call:expr) => {
        match $self {
            AnyPacer::PassThrough($law) => $call,
            AnyPacer::DynRlc($law) => $call,
            AnyPacer::Drql($law) => $call,
            AnyPacer::Bdp($law) => $call,
            AnyPacer::EnhancedBdp($law) => $call,
            AnyPacer::Usp($law) => $call,
            AnyPacer::Credit($law) => $call,
        }
    };
}

impl Pacer for AnyPacer {
    #[inline]
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        delegate!(self, law => law.next_eligible(now, size_bytes))
    }
    #[inline]
    fn forwarded(&mut self, now: Time, bytes: u64) {
        delegate!(self, law => law.forwarded(now, bytes));
    }
    #[inline]
    fn on_signal(&mut self, now: Time, signal: Signal) {
        delegate!(self, law => law.on_signal(now, signal));
    }
    fn listens(&self) -> Signals {
        delegate!(self, law => law.listens())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn every_name_builds_with_its_defaults() {
        for component in COMPONENTS {
            let built = AnyPacer::build(&Arguments::defaults(component), &PacerSetting::default());
            assert!(built.is_ok(), "{}: {built:?}", component.name);
        }
    }

    #[test]
    fn what_is_no_pacer_is_refused() {
        let error = |text: &str| -> String {
            AnyPacer::parse(text, &PacerSetting::default()).map(|_| ()).unwrap_err().to_string()
        };
        assert!(
            error("bode")
                .contains("unknown pacer 'bode'; known: vanilla, dynrlc, drql, 5g-bdp, e5g-bdp, usp")
        );
        assert!(error("vanilla:mtu=1500b").contains("vanilla has no keys, and so no 'mtu'"));
        let bode = Arguments::defaults(crate::qdisc::COMPONENTS[0]);
        let message = AnyPacer::build(&bode, &PacerSetting::default()).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("'taildrop' is not a pacer"));
    }
}
