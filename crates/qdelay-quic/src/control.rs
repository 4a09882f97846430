//! The congestion controls of a connection.
//!
//! quinn-proto has a BBR too, which is not offered: the stack does not pace at its rate, so that nothing but a window of several times the path
//! remains of it, and the rates from which it takes its window are quotients of single acknowledgements by the times between them, however
//! short. Over sockets these times are the machine's, not the path's.

use crate::adapter::{self, Gate};
use crate::config::Control;
use crate::tap::Tap;
use qdelay_core::Random;
use qdelay_traffic::control::{AnyController, Bbr};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// The initial window of quinn-proto's controls, ten packets of 1200 bytes, or two of `payload` bytes where that is more (RFC 9002 section 7.2):
/// behind a handshake packet of full size in flight the stack sends nothing, acknowledgements included, unless another one fits.
fn initial_window(payload: u16) -> u64 {
    const USUAL: u64 = 12_000;
    // The stack sends while what is in flight afterwards is less than the window.
    USUAL.max(2 * u64::from(payload) + 1)
}

/// The control of a receiver of UDP payloads of at most so many bytes, which sends next to nothing.
pub fn of_receiver(payload: u16) -> Arc<dyn ControllerFactory + Send + Sync> {
    newreno(payload)
}

fn newreno(payload: u16) -> Arc<NewRenoConfig> {
    let mut config = NewRenoConfig::default();
    config.initial_window(initial_window(payload));
    Arc::new(config)
}

/// What makes the control of a sender whose packets `tap` reads, and which looks at `gate` before it sends one.
pub fn of_sender(
    control: Control,
    payload: u16,
    random: &mut Random,
    tap: &Tap,
    gate: &Gate,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    let controller: AnyController = match control {
        Control::Cubic => {
            let mut config = CubicConfig::default();
            config.initial_window(initial_window(payload));
            return Arc::new(config);
        }
        Control::NewReno => return newreno(payload),
        Control::Bbr => Bbr::default().into(),
    };
    let random = Random::derive(random.bits(), "quic", "control");
    Arc::new(adapter::Factory { controller, random, tap: tap.clone(), gate: gate.clone() })
}
