//! `driven`: TCP whose window and pacing rate are set from outside during the run.

use qdelay::DRIVEN;
use qdelay_core::component::Custom;
use qdelay_core::{Random, Rate};
use qdelay_traffic::control::{self, AckSample, Connection, Controller, Window};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Settings for all flows of an environment.
#[derive(Debug, Default)]
pub struct Driven {
    /// Window in segments; 0 where not set.
    window: AtomicU32,
    /// Pacing rate in bit/s; 0 for no pacing.
    rate: AtomicU64,
}

impl Driven {
    pub fn reset(&self) {
        self.set_window(0);
        self.set_rate(Rate::ZERO);
    }
    pub fn set_window(&self, segments: u32) {
        self.window.store(segments, Ordering::Relaxed);
    }
    pub fn set_rate(&self, rate: Rate) {
        self.rate.store(rate.as_bps(), Ordering::Relaxed);
    }
}

/// Transport of a registry whose flows follow `driven`.
pub fn custom(driven: &Arc<Driven>) -> Custom {
    let driven = Arc::clone(driven);
    control::custom(&DRIVEN, move |_| Ok(Control { driven: Arc::clone(&driven), initial: 0 }))
}

#[derive(Clone, Debug)]
struct Control {
    driven: Arc<Driven>,
    /// Initial window of the connection in segments (`iw`).
    initial: u32,
}

impl Control {
    /// Window that was set. With a rate alone the window is unlimited, so that the rate decides; with neither the initial window
    /// stays.
    fn set(&self, window: &mut Window) {
        window.cwnd = match (self.driven.window.load(Ordering::Relaxed), self.pacing_rate()) {
            (0, None) => self.initial.clamp(1, window.clamp),
            (0, Some(_)) => window.clamp,
            (segments, _) => segments.clamp(1, window.clamp),
        };
    }
}

impl Controller for Control {
    fn init(&mut self, _: &Connection, window: &mut Window, _: &mut Random) {
        self.initial = window.cwnd;
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
        Some(Rate::from_bps(self.driven.rate.load(Ordering::Relaxed))).filter(|rate| *rate > Rate::ZERO)
    }
    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}
