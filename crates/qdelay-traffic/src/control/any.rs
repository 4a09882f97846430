//! One of the controllers, chosen by configuration, without dynamic dispatch.

use super::{
    AckSample, Bbr, BbrConfig, Connection, Controller, Cubic, CubicConfig, Event, Ns3Cubic, Ns3Reno,
    Recovery, Reno, Window,
};
use qdelay_core::{Random, Rate};

/// Which controller, and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerConfig {
    /// Reno; no parameters.
    Reno,
    /// CUBIC.
    Cubic(CubicConfig),
    /// BBR version 1.
    Bbr(BbrConfig),
    /// NewReno as in ns-3; no parameters.
    Ns3Reno,
    /// CUBIC as in ns-3.
    Ns3Cubic {
        /// Whether HyStart watches slow start.
        hystart: bool,
    },
}

impl ControllerConfig {
    /// The names that [`ControllerConfig::named`] knows: Linux's.
    pub const NAMES: [&str; 3] = ["reno", "cubic", "bbr"];

    /// The controller of this name with Linux's defaults.
    pub fn named(name: &str) -> Option<ControllerConfig> {
        match name {
            "reno" => Some(ControllerConfig::Reno),
            "cubic" => Some(ControllerConfig::Cubic(CubicConfig::default())),
            "bbr" => Some(ControllerConfig::Bbr(BbrConfig::default())),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            ControllerConfig::Reno | ControllerConfig::Ns3Reno => "reno",
            ControllerConfig::Cubic(_) | ControllerConfig::Ns3Cubic { .. } => "cubic",
            ControllerConfig::Bbr(_) => "bbr",
        }
    }

    /// A controller for one connection.
    pub fn build(&self) -> AnyController {
        match *self {
            ControllerConfig::Reno => AnyController::Reno(Reno),
            ControllerConfig::Cubic(config) => AnyController::Cubic(Cubic::new(config)),
            ControllerConfig::Bbr(config) => AnyController::Bbr(Bbr::new(config)),
            ControllerConfig::Ns3Reno => AnyController::Ns3Reno(Ns3Reno::default()),
            ControllerConfig::Ns3Cubic { hystart } => AnyController::Ns3Cubic(Ns3Cubic::new(hystart)),
        }
    }
}

/// Any of the controllers.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // one per connection, and the indirection would cost every acknowledgement
pub enum AnyController {
    /// See [`Reno`].
    Reno(Reno),
    /// See [`Cubic`].
    Cubic(Cubic),
    /// See [`Bbr`].
    Bbr(Bbr),
    /// See [`Ns3Reno`].
    Ns3Reno(Ns3Reno),
    /// See [`Ns3Cubic`].
    Ns3Cubic(Ns3Cubic),
}

macro_rules! each {
    ($any:expr, $controller:ident => $call:expr) => {
        match $any {
            AnyController::Reno($controller) => $call,
            AnyController::Cubic($controller) => $call,
            AnyController::Bbr($controller) => $call,
            AnyController::Ns3Reno($controller) => $call,
            AnyController::Ns3Cubic($controller) => $call,
        }
    };
}

impl Controller for AnyController {
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
        each!(self, c => c.init(connection, window, random));
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        each!(self, c => c.ssthresh(connection, window))
    }

    #[inline]
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        each!(self, c => c.grow(connection, window, sample));
    }

    #[inline]
    fn owns_window(&self) -> bool {
        each!(self, c => c.owns_window())
    }

    #[inline]
    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        each!(self, c => c.control(connection, window, sample, random));
    }

    #[inline]
    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        each!(self, c => c.delivered(connection, window, sample));
    }

    fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
        each!(self, c => c.set_recovery(connection, window, to));
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        each!(self, c => c.event(connection, window, event));
    }

    fn undo(&mut self, connection: &Connection, window: &Window, prior: u32) -> u32 {
        each!(self, c => c.undo(connection, window, prior))
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, c => c.pacing_rate())
    }

    #[inline]
    fn marks_app_limited(&self) -> bool {
        each!(self, c => c.marks_app_limited())
    }

    fn min_burst(&self) -> u32 {
        each!(self, c => c.min_burst())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_build_what_they_say() {
        for name in ControllerConfig::NAMES {
            let config = ControllerConfig::named(name);
            assert_eq!(config.map(|c| c.name()), Some(name));
            let owns = config.map(|c| c.build().owns_window());
            assert_eq!(owns, Some(name == "bbr"));
        }
        assert_eq!(ControllerConfig::named("vegas"), None);
    }
}
