//! Congestion controls of the stack, without what they take from the operating system.
//!
//! quinn-proto's BBR draws, from a generator that the operating system seeds, with which phase of its gain cycle it begins to probe. The
//! phase moves its pacing rate and nothing else: the window follows from measured rates and round trips. [`Seedless`] lets the window out and
//! nothing else, so that no run can depend on the draw, whatever the stack may come to use of a control's metrics.

use crate::component::Control;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    Bbr, BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// What makes the controllers of a connection.
pub fn factory(control: Control) -> Arc<dyn ControllerFactory + Send + Sync> {
    match control {
        Control::Cubic => Arc::new(CubicConfig::default()),
        Control::NewReno => Arc::new(NewRenoConfig::default()),
        Control::Bbr => Arc::new(SeedlessFactory),
    }
}

/// Makes BBR whose seed has no effect.
struct SeedlessFactory;

impl ControllerFactory for SeedlessFactory {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Seedless(Bbr::new(Arc::new(BbrConfig::default()), current_mtu)))
    }
}

/// BBR of which only the window is seen.
#[derive(Clone)]
struct Seedless(Bbr);

impl Controller for Seedless {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.0.on_sent(now, bytes, last_packet_number);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.0.on_ack(now, sent, bytes, app_limited, rtt);
    }
    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.0.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.0.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.on_mtu_update(new_mtu);
    }
    fn window(&self) -> u64 {
        self.0.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
