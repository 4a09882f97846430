//! A pacer from outside, behind a vtable.

use super::{Eligible, Pacer, PacerSetting, Signal, Signals, Waited};
use crate::Time;
use crate::component::{Arguments, Component, ComponentError, Custom};
use alloc::boxed::Box;
use core::fmt::Debug;

/// The function that builds a pacer from outside.
pub(super) type Maker =
    Box<dyn Fn(&Arguments, &PacerSetting) -> Result<CustomPacer, ComponentError> + Send + Sync>;

/// A pacer for a [`Registry`](crate::component::Registry): `build` makes it from the arguments of `component`
/// and the cell's setting.
pub fn custom<P: Pacer + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments, &PacerSetting) -> Result<P, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments, setting| build(arguments, setting).map(CustomPacer::new));
    Custom::new(component, maker)
}

/// Any pacer that is not built in. Each call goes through a vtable.
#[derive(Debug)]
pub struct CustomPacer(Box<dyn Erased>);

impl CustomPacer {
    /// `pacer` behind a vtable.
    pub fn new(pacer: impl Pacer + Clone + Debug + Send + Sync + 'static) -> CustomPacer {
        CustomPacer(Box::new(pacer))
    }
}

impl Clone for CustomPacer {
    fn clone(&self) -> Self {
        self.0.boxed_clone()
    }
}

trait Erased: Pacer + Debug + Send + Sync {
    fn boxed_clone(&self) -> CustomPacer;
}

impl<P: Pacer + Clone + Debug + Send + Sync + 'static> Erased for P {
    fn boxed_clone(&self) -> CustomPacer {
        CustomPacer::new(self.clone())
    }
}

#[deny(clippy::missing_trait_methods)]
impl Pacer for CustomPacer {
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        self.0.next_eligible(now, size_bytes)
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        self.0.forwarded(now, bytes);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        self.0.on_signal(now, signal);
    }
    fn listens(&self) -> Signals {
        self.0.listens()
    }
    fn may_wait(&self, waited: &Waited, head_bytes: Option<u64>) -> bool {
        self.0.may_wait(waited, head_bytes)
    }
    fn waited(&mut self, waited: &Waited, head_bytes: Option<u64>) {
        self.0.waited(waited, head_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AnyPacer, COMPONENTS};
    use super::*;
    use crate::Span;
    use crate::component::{Kind, Registry, Typed};

    const GAP: Typed<Span> = Typed::new("gap", "2ms", "time from one packet to the next").within("1us", "1s");
    static SPACED: Component =
        Component::new(Kind::Pacer, "spaced", "packets at a distance").with(&[GAP.parameter()]);

    #[derive(Clone, Debug)]
    struct Spaced {
        gap: Span,
        next: Time,
    }

    impl Pacer for Spaced {
        fn next_eligible(&mut self, now: Time, _: u64) -> Eligible {
            if now >= self.next { Eligible::Now } else { Eligible::At(self.next) }
        }
        fn forwarded(&mut self, now: Time, _: u64) {
            self.next = now + self.gap;
        }
        fn on_signal(&mut self, _: Time, _: Signal) {}
        fn listens(&self) -> Signals {
            Signals::NONE
        }
    }

    #[test]
    fn a_pacer_from_outside_is_built_by_name_and_decides() {
        let spaced = custom(&SPACED, |arguments, setting| {
            let gap = arguments.get(&GAP);
            if gap < setting.tti {
                return Err(arguments.fail("gap is shorter than the TTI"));
            }
            Ok(Spaced { gap, next: Time::ZERO })
        });
        let registry = Registry::new().with(spaced);
        let build = |text: &str| {
            AnyPacer::build(&registry.parse(COMPONENTS, text).unwrap(), &PacerSetting::default())
        };
        let mut pacer = build("spaced:gap=3ms").unwrap();
        assert_eq!(pacer.next_eligible(Time::ZERO, 1500), Eligible::Now);
        pacer.forwarded(Time::ZERO, 1500);
        let mut copy = pacer.clone();
        let at = Time::ZERO + Span::from_millis(3);
        assert_eq!(copy.next_eligible(Time::ZERO, 1500), Eligible::At(at));
        copy.forwarded(at, 1500);
        assert_eq!(pacer.next_eligible(at, 1500), Eligible::Now, "a clone has a state of its own");
        assert!(build("spaced:gap=1us").unwrap_err().message.ends_with("gap is shorter than the TTI"));
    }
}
