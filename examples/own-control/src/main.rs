//! An own congestion control, with the whole command around it: `short_queue`, after Vegas (Brakmo and Peterson, 1995), keeps a few segments in the
//! queue, which it estimates from the round trip time.
//!
//! ```text
//! cargo run --release -- compare --transport short_queue,cubic --qdisc taildrop,codel --trace synth-lte-driving --seed 1..5
//! ```
//!
//! Loss detection, recovery, timers and pacing are TCP's. The control decides the window, once each round trip.

use qdelay::core::Random;
use qdelay::core::component::{Component, Kind, Parameter, Registry, Typed, Unit};
use qdelay::traffic::control::{self, AckSample, Connection, Controller, Window};
use qdelay::traffic::tcp::{KNOBS, with_knobs};
use std::process::ExitCode;

const ALPHA: Typed<u64> =
    Typed::new("alpha", "2", "grows below this many segments in the queue").unit(Unit::Count("segments"));
const BETA: Typed<u64> =
    Typed::new("beta", "4", "shrinks above this many segments in the queue").unit(Unit::Count("segments"));
const PARAMETERS: [Parameter; KNOBS.len() + 2] = with_knobs(&[ALPHA.parameter(), BETA.parameter()]);
static SHORT_QUEUE: Component =
    Component::new(Kind::Transport, "short_queue", "TCP that keeps its queue short by the round trip")
        .source("Brakmo and Peterson, IEEE JSAC 13(8), 1995")
        .with(&PARAMETERS);

#[derive(Clone, Debug)]
struct ShortQueue {
    alpha: f64,
    beta: f64,
    /// The first sequence number of the next round trip.
    round_end: u64,
}

impl Controller for ShortQueue {
    fn init(&mut self, _: &Connection, _: &mut Window, _: &mut Random) {}

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if connection.una < self.round_end {
            return;
        }
        self.round_end = connection.nxt;
        let (base, now) = (connection.min_rtt.as_secs_f64(), connection.srtt.as_secs_f64());
        // Segments in the queue: what is in flight beyond the bandwidth-delay product.
        let queued = f64::from(window.cwnd) * (1.0 - base / now.max(base));
        if window.in_slow_start() {
            if queued > self.alpha {
                window.ssthresh = window.cwnd;
            } else {
                window.cwnd = (window.cwnd + sample.acked_sacked.max(window.cwnd / 2)).min(window.clamp);
            }
        } else if queued < self.alpha {
            window.cwnd = (window.cwnd + 1).min(window.clamp);
        } else if queued > self.beta {
            window.cwnd = (window.cwnd - 1).max(2);
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

fn main() -> ExitCode {
    let short_queue = control::custom(&SHORT_QUEUE, |arguments| {
        let (alpha, beta) = (arguments.get(&ALPHA), arguments.get(&BETA));
        if alpha > beta {
            return Err(
                arguments.fail(format!("alpha {alpha} is above beta {beta}; expected it to be at most that"))
            );
        }
        Ok(ShortQueue { alpha: alpha as f64, beta: beta as f64, round_end: 0 })
    });
    qdelay::main_with(Registry::new().with(short_queue))
}
