//! A congestion control from outside, behind a vtable.

use super::{AckSample, Connection, Controller, Event, Recovery, Window};
use alloc::boxed::Box;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Random, Rate, Time};

/// The function that builds a congestion control from outside.
pub(super) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomController, ComponentError> + Send + Sync>;

/// An entry of a [`Registry`](qdelay_core::component::Registry): `build` makes the congestion control from the arguments of `component`, whose
/// parameters begin with [those of TCP](crate::tcp::with_knobs).
pub fn custom<C: Controller + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<C, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| build(arguments).map(CustomController::new));
    Custom::new(component, maker)
}

/// A controller from outside; each call goes through a vtable.
#[derive(Debug)]
pub struct CustomController(Box<dyn Erased>);

impl CustomController {
    /// Puts `controller` behind a vtable.
    pub fn new(controller: impl Controller + Clone + Debug + Send + Sync + 'static) -> CustomController {
        CustomController(Box::new(controller))
    }
}

impl Clone for CustomController {
    fn clone(&self) -> Self {
        self.0.boxed_clone()
    }
}

trait Erased: Controller + Debug + Send + Sync {
    fn boxed_clone(&self) -> CustomController;
}

impl<C: Controller + Clone + Debug + Send + Sync + 'static> Erased for C {
    fn boxed_clone(&self) -> CustomController {
        CustomController::new(self.clone())
    }
}

#[warn(clippy::missing_trait_methods, reason = "a call that is not passed on would have the trait's answer")]
impl Controller for CustomController {
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
        self.0.init(connection, window, random);
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        self.0.ssthresh(connection, window)
    }
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        self.0.grow(connection, window, sample);
    }
    fn owns_window(&self) -> bool {
        self.0.owns_window()
    }
    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        self.0.control(connection, window, sample, random);
    }
    fn lost(&mut self, sent: Time) {
        self.0.lost(sent);
    }
    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        self.0.delivered(connection, window, sample);
    }
    fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
        self.0.set_recovery(connection, window, to);
    }
    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        self.0.event(connection, window, event);
    }
    fn undo(&mut self, connection: &Connection, window: &Window, prior: u32) -> u32 {
        self.0.undo(connection, window, prior)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }
    fn marks_app_limited(&self) -> bool {
        self.0.marks_app_limited()
    }
    fn min_burst(&self) -> u32 {
        self.0.min_burst()
    }
    fn in_kernel(&self) -> Option<&'static str> {
        self.0.in_kernel()
    }
}
