//! Recent snapshots, for drawing curves.

use qdelay_emu::snapshot::{DirectionSnapshot, Snapshot};
use std::collections::VecDeque;

/// Maximum number of snapshots kept: above the number of columns of any terminal.
const KEPT: usize = 512;

/// Values of one direction in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Rate of sent packets in Mbit/s.
    pub rate: f64,
    /// Capacity in Mbit/s; `None` without a rate limit.
    pub capacity: Option<f64>,
    /// 99th percentile of the sojourn time in ms; `None` if no packet was dequeued.
    pub sojourn: Option<f64>,
}

/// Curves of both directions, the oldest points first.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Points of the direction towards the inside.
    pub down: VecDeque<Point>,
    /// Points of the direction from the inside.
    pub up: VecDeque<Point>,
}

impl History {
    /// Appends a snapshot.
    pub fn push(&mut self, snapshot: &Snapshot) {
        // Rates of very short intervals are meaningless, and the first interval may be short.
        if snapshot.interval_s < 0.01 {
            return;
        }
        for (points, direction) in [(&mut self.down, &snapshot.down), (&mut self.up, &snapshot.up)] {
            if points.len() == KEPT {
                points.pop_front();
            }
            points.push_back(Point::from_snapshot(direction));
        }
    }
}

impl Point {
    fn from_snapshot(direction: &DirectionSnapshot) -> Point {
        Point {
            rate: direction.rate_mbps,
            capacity: direction.capacity_mbps,
            sojourn: direction.sojourn_interval.map(|sojourn| sojourn.p99_ms),
        }
    }
}
