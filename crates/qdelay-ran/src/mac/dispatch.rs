//! Dispatch: one type for every scheduler, so that the built-in ones are called without a vtable.

use super::{COMPONENTS, Scheduler};
use qdelay_core::component::{Arguments, ComponentError};

/// Makes `COMPONENTS`, `Scheduler` and `State` of lines `module::Scheduler`. The module has `COMPONENT`, and the type `Setting`.
macro_rules! schedulers {
    ($($module:ident::$Scheduler:ident),+ $(,)?) => {
        $(pub use $module::$Scheduler;)+

        /// The schedulers that text can name, in the order in which they are listed.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),+];

        /// A MAC scheduler: decides which UE gets which resource blocks.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Scheduler {
            $(#[doc = concat!("[`", stringify!($Scheduler), "`].")] $Scheduler($Scheduler),)+
            /// A scheduler from outside.
            Custom(CustomScheduler),
        }

        $(impl From<$Scheduler> for Scheduler {
            fn from(scheduler: $Scheduler) -> Scheduler {
                Scheduler::$Scheduler(scheduler)
            }
        })+

        impl Scheduler {
            /// The scheduler that `arguments` describe.
            ///
            /// # Errors
            /// A component that is no scheduler.
            pub fn build(arguments: &Arguments) -> Result<Scheduler, ComponentError> {
                if let Some(build) = arguments.maker::<custom::Maker>() {
                    return build(arguments).map(Scheduler::Custom);
                }
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return Ok(<$Scheduler as Setting>::build(arguments).into());
                })+
                Err(arguments.fail(format!("'{name}' is not a scheduler")))
            }

            /// See [`Setting::longest_tti`].
            pub(crate) fn longest_tti(&self) -> Span {
                match self {
                    $(Scheduler::$Scheduler(setting) => setting.longest_tti(),)+
                    Scheduler::Custom(_) => Span::MAX,
                }
            }

            /// See [`Setting::by_delay`].
            pub(crate) fn by_delay(&self) -> Option<Urgency> {
                match self {
                    $(Scheduler::$Scheduler(setting) => setting.by_delay(),)+
                    Scheduler::Custom(_) => None,
                }
            }

            /// See [`Setting::divides`].
            pub(crate) fn divides(&self) -> Option<u32> {
                match self {
                    $(Scheduler::$Scheduler(setting) => setting.divides(),)+
                    Scheduler::Custom(_) => None,
                }
            }
        }

        /// A scheduler with the state that it keeps from TTI to TTI.
        #[derive(Clone, Debug)]
        pub(crate) enum State {
            $($Scheduler(<$Scheduler as Setting>::Law),)+
            Custom(custom::Law),
        }

        impl State {
            pub fn new(scheduler: &Scheduler, ues: usize, tti: Span) -> State {
                match scheduler {
                    $(Scheduler::$Scheduler(setting) => State::$Scheduler(setting.start(ues, tti)),)+
                    Scheduler::Custom(setting) => State::Custom(setting.start(ues, tti)),
                }
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Law for State {
            #[inline]
            fn plan<L: CandidateSource>(
                &mut self,
                tti: u64,
                candidates: &mut Vec<Candidate>,
                groups: u16,
                look: &mut L,
                plan: &mut Vec<u32>,
            ) {
                match self {
                    $(State::$Scheduler(law) => law.plan(tti, candidates, groups, look, plan),)+
                    State::Custom(law) => law.plan(tti, candidates, groups, look, plan),
                }
            }
            #[inline]
            fn begin(&mut self, tti: u64) {
                match self {
                    $(State::$Scheduler(law) => law.begin(tti),)+
                    State::Custom(law) => law.begin(tti),
                }
            }
            #[inline]
            fn metric(&self, candidate: &Candidate) -> f64 {
                match self {
                    $(State::$Scheduler(law) => law.metric(candidate),)+
                    State::Custom(law) => law.metric(candidate),
                }
            }
            #[inline]
            fn carried(&mut self, ue: u32, bytes: u64) {
                match self {
                    $(State::$Scheduler(law) => law.carried(ue, bytes),)+
                    State::Custom(law) => law.carried(ue, bytes),
                }
            }
            #[inline]
            fn failed(&mut self, ue: u32) {
                match self {
                    $(State::$Scheduler(law) => law.failed(ue),)+
                    State::Custom(law) => law.failed(ue),
                }
            }
        }
    };
}
pub(super) use schedulers;

impl Scheduler {
    /// Returns true if the scheduler can be used in a slice: it neither makes slices nor decides by delay.
    pub fn fits_slices(&self) -> bool {
        self.divides().is_none() && self.by_delay().is_none()
    }

    /// The scheduler that `text` describes, such as `proportional_fair:window=50ms`.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`].
    pub fn parse(text: &str) -> Result<Scheduler, ComponentError> {
        Scheduler::build(&Arguments::parse(COMPONENTS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Eqp, MaxThroughput, ProportionalFair, RoundRobin};
    use super::*;
    use alloc::string::ToString;
    use qdelay_core::Span;
    use qdelay_core::component::Kind;

    #[test]
    fn every_name_builds_its_scheduler() {
        let is = |text: &str, expected: Scheduler| assert_eq!(Scheduler::parse(text), Ok(expected), "{text}");
        is("round_robin", RoundRobin.into());
        is("max_throughput", MaxThroughput.into());
        is("proportional_fair", ProportionalFair { window: Span::from_millis(100) }.into());
        is("proportional_fair:window=1s", ProportionalFair { window: Span::from_secs(1) }.into());
        is("eqp:limit=50", Eqp { limit_rbs: 50 }.into());
        let message = Scheduler::parse("fifo").unwrap_err().to_string();
        assert!(message.contains(
            "unknown scheduler 'fifo'; known: round_robin, proportional_fair, max_throughput, eqp, mlwdf, exp_pf, edf"
        ));
        for component in COMPONENTS {
            assert_eq!(component.kind, Kind::Scheduler);
            assert!(Scheduler::build(&Arguments::defaults(component)).is_ok());
        }
    }
}
