//! `driven`: TCP whose window and rate of pacing are set from outside during the run.

use qdelay_core::component::{Component, Custom, Kind};
use qdelay_core::{Random, Rate};
use qdelay_traffic::control::{self, AckSample, Connection, Controller, Window};
use qdelay_traffic::tcp::KNOBS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static COMPONENT: Component =
    Component::new(Kind::Transport, "driven", "TCP whose window and rate are set during the run")
        .with(&KNOBS);

/// The window at the start, in segments (RFC 6928).
const WINDOW: u32 = 10;

/// What is set, for all flows of an environment.
#[derive(Debug)]
pub struct Driven {
    window: AtomicU32,
    /// Bit/s; 0 for no pacing.
    rate: AtomicU64,
}

impl Default for Driven {
    fn default() -> Driven {
        Driven { window: AtomicU32::new(WINDOW), rate: AtomicU64::new(0) }
    }
}

impl Driven {
    pub fn reset(&self) {
        self.set_window(WINDOW);
        self.set_rate(Rate::ZERO);
    }
    pub fn set_window(&self, segments: u32) {
        self.window.store(segments, Ordering::Relaxed);
    }
    pub fn set_rate(&self, rate: Rate) {
        self.rate.store(rate.as_bps(), Ordering::Relaxed);
    }
}

/// The transport for a registry, whose flows do what `driven` says.
pub fn custom(driven: &Arc<Driven>) -> Custom {
    let driven = Arc::clone(driven);
    control::custom(&COMPONENT, move |_| Ok(Control(Arc::clone(&driven))))
}

#[derive(Clone, Debug)]
struct Control(Arc<Driven>);

impl Control {
    fn set(&self, window: &mut Window) {
        window.cwnd = self.0.window.load(Ordering::Relaxed).clamp(1, window.clamp);
    }
}

impl Controller for Control {
    fn init(&mut self, _: &Connection, window: &mut Window, _: &mut Random) {
        self.set(window);
    }
    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        window.cwnd
    }
    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}
    fn owns_window(&self) -> bool {
        true
    }
    fn control(&mut self, _: &Connection, window: &mut Window, _: &AckSample, _: &mut Random) {
        self.set(window);
    }
    fn undo(&mut self, _: &Connection, window: &Window, _: u32) -> u32 {
        window.cwnd
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(self.0.rate.load(Ordering::Relaxed))).filter(|rate| *rate > Rate::ZERO)
    }
    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}
