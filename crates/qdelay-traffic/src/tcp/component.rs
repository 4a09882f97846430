//! TCP as a component: named by its congestion control, with the parameters shared by all controls.

use crate::control::{self, AnyController};
use crate::knobs;
use crate::profile::Profile;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError};

/// Behaviour of a program before it sends data: a negotiation of the test, as in iperf3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prelude {
    /// Time from the opening of the connection to the first data.
    pub lead: Span,
    /// Bytes sent as soon as the connection is open, which identify the test. The congestion control is chosen right after, while they are in
    /// flight.
    pub greeting: u64,
}

/// Settings of a TCP connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TcpConfig {
    /// Parameters of both endpoints.
    pub profile: Profile,
    /// The sender's congestion controller.
    pub controller: AnyController,
    /// Application bytes to send; `None`: until the run ends.
    pub bytes: Option<u64>,
    /// Behaviour of a program before it sends data; `None` by default. Users cannot set it.
    pub prelude: Option<Prelude>,
}

pub(crate) const COMPONENTS: &[&Component] = control::COMPONENTS;

pub(crate) fn build(arguments: &Arguments) -> Result<TcpConfig, ComponentError> {
    let profile = knobs::profile(arguments);
    let controller = AnyController::build(arguments, &profile)?;
    Ok(TcpConfig { profile, controller, bytes: arguments.get(&knobs::BYTES), prelude: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Bbr, BbrConfig, BbrKernel, Ns3Cubic};
    use crate::knobs::KNOBS;
    use alloc::format;
    use alloc::string::ToString;

    fn tcp(text: &str) -> TcpConfig {
        build(&Arguments::parse(COMPONENTS, text).unwrap()).unwrap()
    }
    fn is(controller: AnyController, expected: impl Into<AnyController>) -> bool {
        format!("{controller:?}") == format!("{:?}", expected.into())
    }

    #[test]
    fn a_profile_sets_parameters_and_keys_override_them() {
        let TcpConfig { profile, controller, bytes, .. } = tcp("cubic:profile=ns3:iw=1:hystart=off");
        assert_eq!((profile.min_rto, profile.initial_window), (Span::from_secs(1), 1));
        assert!(is(controller, Ns3Cubic::new(false)));
        assert_eq!(bytes, None);
        let profile = tcp("bbr:mss=1000b").profile;
        assert_eq!((profile.mss, profile.min_rto), (1000, Span::from_millis(200)));
        for (text, kernel) in [("bbr", BbrKernel::V6_12), ("bbr:kernel=4.19", BbrKernel::V4_19)] {
            let expected = Bbr::new(BbrConfig { kernel, ..BbrConfig::default() });
            assert!(is(tcp(text).controller, expected), "{text}");
        }
    }

    /// Parameters that a control does not have are refused, and all controls have TCP's knobs.
    #[test]
    fn parameters_are_tcps_and_the_controls_own() {
        let refused = |text| Arguments::parse(COMPONENTS, text).unwrap_err().to_string();
        assert!(
            refused("reno:hystart=off").contains("reno has no key 'hystart'; known: profile, bytes, mss")
        );
        assert!(refused("cubic:kernel=4.19").contains("kernel"));
        for component in COMPONENTS {
            let names = component.parameters.iter().map(|parameter| parameter.name);
            assert!(names.take(KNOBS.len()).eq(KNOBS.iter().map(|knob| knob.name)), "{}", component.name);
        }
    }
}
