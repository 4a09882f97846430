//! A pacer from outside, behind a vtable.

use super::{Eligible, Pacer, PacerSetting, Signal, Signals};
use crate::Time;
use crate::component::{Arguments, Component, ComponentError, Custom};
use alloc::boxed::Box;
use core::fmt::Debug;

/// The function that builds a pacer from outside.
pub(super) type Maker =
    Box<dyn Fn(&Arguments, &PacerSetting) -> Result<CustomPacer, ComponentError> + Send + Sync>;

/// A pacer for a [`Registry`](crate::component::Registry): `build` makes it of arguments of `component`, for a cell as the
/// setting says.
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
}
