//! The last snapshots, for drawing curves.

use qdelay_emu::snapshot::{DirectionSnapshot, Snapshot};
use std::collections::VecDeque;

/// More than any terminal has columns.
const KEPT: usize = 512;

/// One direction in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Sent in Mbit/s.
    pub rate: f64,
    /// Capacity in Mbit/s; `None` without a rate limit.
    pub capacity: Option<f64>,
    /// 99th percentile of the sojourn time in ms; `None` if no packet was dequeued.
    pub sojourn: Option<f64>,
}

/// The curves of both directions, the oldest points first.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Towards the inside.
    pub down: VecDeque<Point>,
    /// From the inside.
    pub up: VecDeque<Point>,
}

impl History {
    /// Appends a snapshot.
    pub fn push(&mut self, snapshot: &Snapshot) {
        // The first interval may be so short that its rate is meaningless.
        if snapshot.interval_s < 0.01 {
            return;
        }
        for (points, direction) in [(&mut self.down, &snapshot.down), (&mut self.up, &snapshot.up)] {
            if points.len() == KEPT {
                points.pop_front();
            }
            points.push_back(Point::of(direction));
        }
    }
}

impl Point {
    fn of(direction: &DirectionSnapshot) -> Point {
        Point {
            rate: direction.rate_mbps,
            capacity: direction.capacity_mbps,
            sojourn: direction.sojourn_interval.map(|sojourn| sojourn.p99_ms),
        }
    }
}
