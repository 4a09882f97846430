//! The congestion controls of a connection.
//!
//! quinn-proto has a BBR too, which is not offered: the stack does not pace at its rate, so that nothing but a window of several times the path
//! remains of it, and the rates from which it takes its window are quotients of single acknowledgements by the times between them, however
//! short. Over sockets these times are the machine's, not the path's.

use crate::adapter::{self, Gate};
use crate::component::Control;
use crate::tap::Tap;
use qdelay_core::Random;
use qdelay_traffic::control::{AnyController, Bbr};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// What makes the control of a receiver, which sends next to nothing.
pub fn of_receiver() -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(NewRenoConfig::default())
}

/// What makes the control of a sender whose packets `tap` reads, and which looks at `gate` before it sends one.
pub fn of_sender(
    control: Control,
    random: &mut Random,
    tap: &Tap,
    gate: &Gate,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    let controller: AnyController = match control {
        Control::Cubic => return Arc::new(CubicConfig::default()),
        Control::NewReno => return Arc::new(NewRenoConfig::default()),
        Control::Bbr => Bbr::default().into(),
    };
    let random = Random::derive(random.bits(), "quic", "control");
    Arc::new(adapter::Factory { controller, random, tap: tap.clone(), gate: gate.clone() })
}
