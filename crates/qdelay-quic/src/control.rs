//! Factories of a connection's congestion control.
//!
//! The BBR of quinn-proto is not offered, for two reasons. The stack does not pace at BBR's rate, so only a window of several
//! bandwidth-delay products is left of the algorithm. BBR there computes a delivery rate from each acknowledgement alone, over the time since
//! the acknowledgement before, however short; over sockets that time is the machine's scheduling, not the path's.

use crate::adapter::{self, Gate};
use crate::config::Control;
use crate::tap::Tap;
use qdelay_core::Random;
use qdelay_traffic::control::{AnyController, Bbr};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// Initial window of quinn-proto's controls, bytes: ten packets of 1200 bytes, or two packets of `payload` bytes if that is more (RFC 9002
/// section 7.2). While a full-sized handshake packet is in flight the stack sends nothing, not even acknowledgements, unless a second full
/// packet fits into the window.
fn initial_window(payload: u16) -> u64 {
    const USUAL: u64 = 12_000;
    // The stack sends a packet if the bytes in flight, that packet included, are less than the window: hence one byte more.
    USUAL.max(2 * u64::from(payload) + 1)
}

/// The control of the receiving end, which sends only acknowledgements: NewReno. `payload`: largest UDP payload, bytes.
pub fn for_receiver(payload: u16) -> Arc<dyn ControllerFactory + Send + Sync> {
    newreno(payload)
}

fn newreno(payload: u16) -> Arc<NewRenoConfig> {
    let mut config = NewRenoConfig::default();
    config.initial_window(initial_window(payload));
    Arc::new(config)
}

/// Factory of the sender's control. `payload`: largest UDP payload, bytes; `tap` reads the sender's packets; `gate` holds the time before which
/// the sender sends no packet.
pub fn for_sender(
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
