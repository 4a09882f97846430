//! Dispatch: one type for every controller, so that the built-in ones are called without a vtable.

use super::Controller;
use crate::profile::Profile;
use qdelay_core::component::{Arguments, Component};

/// Generates [`AnyController`], [`COMPONENTS`](super::COMPONENTS) and the delegation of every call from one entry per controller.
///
/// Controllers that users can name come first, as `file::Controller`: the file has the `COMPONENT` and a function `build` of
/// arguments and profile. Controllers that a `build` chooses for some profile follow after the semicolon.
macro_rules! controls {
    ($($file:ident :: $named:ident),+; $($chosen:ident),+ $(,)?) => {
        controls!(@any $($named),+, $($chosen),+);

        /// Components of the controllers that users can name, in the order of listing.
        pub static COMPONENTS: &[&Component] = &[$(&$file::COMPONENT),+];

        impl AnyController {
            /// Builds the controller that `arguments` describe, for the implementation that `profile` models.
            ///
            /// # Errors
            /// The component is not a congestion control, or one from outside refuses its arguments.
            pub fn build(
                arguments: &Arguments,
                profile: &Profile,
            ) -> Result<AnyController, ComponentError> {
                if let Some(build) = arguments.maker::<custom::Maker>() {
                    return build(arguments).map(AnyController::Custom);
                }
                $(if arguments.component().name == $file::COMPONENT.name {
                    return Ok($file::build(arguments, profile));
                })+
                let name = arguments.component().name;
                Err(arguments.fail(format!("'{name}' is not a congestion control")))
            }
        }
    };

    (@any $($controller:ident),+) => {
        /// Any controller.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)] // one per connection, and the indirection would cost every acknowledgement
        pub enum AnyController {
            $(#[doc = concat!("See [`", stringify!($controller), "`].")] $controller($controller),)+
            /// A controller from outside.
            Custom(CustomController),
        }

        $(impl From<$controller> for AnyController {
            fn from(controller: $controller) -> AnyController {
                AnyController::$controller(controller)
            }
        })+

        impl AnyController {
            /// All built-in controllers with their defaults.
            pub fn each() -> [AnyController; [$(stringify!($controller)),+].len()] {
                [$($controller::default().into()),+]
            }
        }

        #[warn(clippy::missing_trait_methods, reason = "a call that is not passed on would have the trait's answer")]
        impl Controller for AnyController {
            fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
                match self {
                    $(AnyController::$controller(c) => c.init(connection, window, random),)+
                    AnyController::Custom(c) => c.init(connection, window, random),
                }
            }
            fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
                match self {
                    $(AnyController::$controller(c) => c.ssthresh(connection, window),)+
                    AnyController::Custom(c) => c.ssthresh(connection, window),
                }
            }
            #[inline]
            fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
                match self {
                    $(AnyController::$controller(c) => c.grow(connection, window, sample),)+
                    AnyController::Custom(c) => c.grow(connection, window, sample),
                }
            }
            #[inline]
            fn owns_window(&self) -> bool {
                match self {
                    $(AnyController::$controller(c) => c.owns_window(),)+
                    AnyController::Custom(c) => c.owns_window(),
                }
            }
            #[inline]
            fn control(
                &mut self,
                connection: &Connection,
                window: &mut Window,
                sample: &AckSample,
                random: &mut Random,
            ) {
                match self {
                    $(AnyController::$controller(c) => c.control(connection, window, sample, random),)+
                    AnyController::Custom(c) => c.control(connection, window, sample, random),
                }
            }
            fn lost(&mut self, sent: Time) {
                match self {
                    $(AnyController::$controller(c) => c.lost(sent),)+
                    AnyController::Custom(c) => c.lost(sent),
                }
            }
            #[inline]
            fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
                match self {
                    $(AnyController::$controller(c) => c.delivered(connection, window, sample),)+
                    AnyController::Custom(c) => c.delivered(connection, window, sample),
                }
            }
            fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
                match self {
                    $(AnyController::$controller(c) => c.set_recovery(connection, window, to),)+
                    AnyController::Custom(c) => c.set_recovery(connection, window, to),
                }
            }
            fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
                match self {
                    $(AnyController::$controller(c) => c.event(connection, window, event),)+
                    AnyController::Custom(c) => c.event(connection, window, event),
                }
            }
            fn undo(&mut self, connection: &Connection, window: &Window, prior: u32) -> u32 {
                match self {
                    $(AnyController::$controller(c) => c.undo(connection, window, prior),)+
                    AnyController::Custom(c) => c.undo(connection, window, prior),
                }
            }
            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                match self {
                    $(AnyController::$controller(c) => c.pacing_rate(),)+
                    AnyController::Custom(c) => c.pacing_rate(),
                }
            }
            #[inline]
            fn marks_app_limited(&self) -> bool {
                match self {
                    $(AnyController::$controller(c) => c.marks_app_limited(),)+
                    AnyController::Custom(c) => c.marks_app_limited(),
                }
            }
            fn min_burst(&self) -> u32 {
                match self {
                    $(AnyController::$controller(c) => c.min_burst(),)+
                    AnyController::Custom(c) => c.min_burst(),
                }
            }
            fn in_kernel(&self) -> Option<&'static str> {
                match self {
                    $(AnyController::$controller(c) => c.in_kernel(),)+
                    AnyController::Custom(c) => c.in_kernel(),
                }
            }
        }
    };
}
pub(super) use controls;

impl super::AnyController {
    /// The controller `name` with the defaults of Linux's profile; `None` for an unknown name.
    pub fn named(name: &str) -> Option<super::AnyController> {
        let component: &'static Component = super::COMPONENTS.iter().find(|c| c.name == name)?;
        super::AnyController::build(&Arguments::defaults(component), &Profile::linux()).ok()
    }

    /// Names of the controllers that a Linux kernel may have as well.
    pub fn names_in_kernel() -> impl Iterator<Item = &'static str> {
        let names = super::COMPONENTS.iter().map(|component| component.name);
        names.filter(|name| super::AnyController::named(name).is_some_and(|c| c.in_kernel().is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AnyController, COMPONENTS, Controller};
    use alloc::format;
    use alloc::vec::Vec;
    use qdelay_core::component::Kind;

    /// A control with more state than BBR's must box it, so that connections of Cubic do not become larger and slower.
    #[test]
    fn the_largest_control_is_bbr() {
        assert!(size_of::<AnyController>() <= size_of::<super::super::Bbr>() + 8);
    }

    #[test]
    fn a_name_builds_the_controller_of_that_name() {
        for component in COMPONENTS {
            assert_eq!(component.kind, Kind::Transport);
            let built = AnyController::named(component.name).map(|controller| format!("{controller:?}"));
            let each = AnyController::each().map(|controller| format!("{controller:?}"));
            assert!(built.is_some_and(|built| each.contains(&built)), "{}", component.name);
        }
        assert_eq!(AnyController::named("bbr").map(|c| c.owns_window()), Some(true));
        assert!(AnyController::named("hybla").is_none());
        let in_kernel: Vec<&str> = AnyController::names_in_kernel().collect();
        assert!(["cubic", "bbr", "reno"].iter().all(|name| in_kernel.contains(name)), "{in_kernel:?}");
    }
}
