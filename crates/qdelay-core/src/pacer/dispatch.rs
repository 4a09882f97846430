//! Dispatch: one type for every pacer, so that the built-in ones are called without a vtable.

use super::{AnyPacer, COMPONENTS, PacerSetting, PassThrough};
use crate::component::{Arguments, ComponentError};

/// The type held in a variant: the pacer itself, or with `in OverBearer` the pacer above a bearer's buffer
/// that applies this law.
macro_rules! held {
    ($Pacer:ident) => { $Pacer };
    ($Pacer:ident, $Holder:ident) => { $Holder<$Pacer> };
}
pub(super) use held;

/// Converts the built pacer into the type in its variant.
macro_rules! hold {
    ($arguments:ident, $setting:ident, $built:expr) => {
        $built
    };
    ($arguments:ident, $setting:ident, $built:expr, OverBearer) => {
        OverBearer::build($built, $arguments, $setting)
    };
}
pub(super) use hold;

/// Makes `COMPONENTS` and `AnyPacer` of the registry in `pacer/mod.rs`. A line is `module::Pacer`, followed
/// by `in OverBearer` for a law above the buffer of a radio bearer ([`super::bearer`]), which has
/// [`super::parameters::SILENCE`] among its parameters. The module has `COMPONENT`, and the pacer `build`.
macro_rules! pacers {
    ($($module:ident::$Pacer:ident $(in $Holder:ident)?),* $(,)?) => {
        $(pub use $module::$Pacer;)*

        /// Every pacer, in the order in which they are listed.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),*];

        /// Any pacer: one of [`COMPONENTS`], or one from outside.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyPacer {
            $(
                #[doc = concat!("[`", stringify!($Pacer), "`].")]
                $Pacer(dispatch::held!($Pacer $(, $Holder)?)),
            )*
            /// A pacer from outside.
            Custom(CustomPacer),
        }

        $(impl From<dispatch::held!($Pacer $(, $Holder)?)> for AnyPacer {
            fn from(law: dispatch::held!($Pacer $(, $Holder)?)) -> AnyPacer {
                AnyPacer::$Pacer(law)
            }
        })*

        impl AnyPacer {
            /// The pacer that `arguments` describe, above a cell with `setting`.
            ///
            /// # Errors
            /// Parameters that contradict each other, or a component that is no pacer; the message says
            /// which.
            pub fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<AnyPacer, ComponentError> {
                let pacer = AnyPacer::built(arguments, setting)?;
                let listens = pacer.listens();
                if setting.split.is_some() && listens != Signals::NONE && !listens.delivered {
                    let name = arguments.component().name;
                    return Err(arguments.fail(format!("{name} does not use the reports of F1-U")));
                }
                Ok(pacer)
            }

            fn built(arguments: &Arguments, setting: &PacerSetting) -> Result<AnyPacer, ComponentError> {
                if let Some(build) = arguments.maker::<custom::Maker>() {
                    return build(arguments, setting).map(AnyPacer::Custom);
                }
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    let built = $Pacer::build(arguments, setting)?;
                    return Ok(AnyPacer::$Pacer(dispatch::hold!(arguments, setting, built $(, $Holder)?)));
                })*
                Err(arguments.fail(format!("'{name}' is not a pacer")))
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Pacer for AnyPacer {
            #[inline]
            fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
                match self {
                    $(AnyPacer::$Pacer(law) => law.next_eligible(now, size_bytes),)*
                    AnyPacer::Custom(law) => law.next_eligible(now, size_bytes),
                }
            }
            #[inline]
            fn forwarded(&mut self, now: Time, bytes: u64) {
                match self {
                    $(AnyPacer::$Pacer(law) => law.forwarded(now, bytes),)*
                    AnyPacer::Custom(law) => law.forwarded(now, bytes),
                }
            }
            #[inline]
            fn on_signal(&mut self, now: Time, signal: Signal) {
                match self {
                    $(AnyPacer::$Pacer(law) => law.on_signal(now, signal),)*
                    AnyPacer::Custom(law) => law.on_signal(now, signal),
                }
            }
            fn listens(&self) -> Signals {
                match self {
                    $(AnyPacer::$Pacer(law) => law.listens(),)*
                    AnyPacer::Custom(law) => law.listens(),
                }
            }
            fn may_wait(&self, waited: &Waited, head_bytes: Option<u64>) -> bool {
                match self {
                    $(AnyPacer::$Pacer(law) => law.may_wait(waited, head_bytes),)*
                    AnyPacer::Custom(law) => law.may_wait(waited, head_bytes),
                }
            }
            fn waited(&mut self, waited: &Waited, head_bytes: Option<u64>) {
                match self {
                    $(AnyPacer::$Pacer(law) => law.waited(waited, head_bytes),)*
                    AnyPacer::Custom(law) => law.waited(waited, head_bytes),
                }
            }
        }
    };
}
pub(super) use pacers;

impl AnyPacer {
    /// The pacer that lets every packet through.
    pub const PASS_THROUGH: AnyPacer = AnyPacer::PassThrough(PassThrough);

    /// The pacer that `text` describes, such as `drql:interval=10ms`.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`] and [`AnyPacer::build`].
    pub fn parse(text: &str, setting: &PacerSetting) -> Result<AnyPacer, ComponentError> {
        AnyPacer::build(&Arguments::parse(COMPONENTS, text)?, setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    #[test]
    fn every_name_builds_with_its_defaults() {
        for component in COMPONENTS {
            let built = AnyPacer::build(&Arguments::defaults(component), &PacerSetting::default());
            assert!(built.is_ok(), "{}: {built:?}", component.name);
        }
    }

    #[test]
    fn components_other_than_pacers_are_refused() {
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
