//! Backlog of the bottleneck's queues at one time.

use qdelay_core::qdisc::Qdisc;
use qdelay_path::{NodeId, Path};

/// Backlog of the bottleneck's queues at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSample {
    /// Packets.
    pub packets: u64,
    /// The mean of [`Qdisc::green_bias`] over the queues that have one.
    pub green_bias: Option<f64>,
}

impl QueueSample {
    /// In `queues` of `path`.
    pub fn from_path(path: &Path, queues: impl Iterator<Item = NodeId>) -> QueueSample {
        let (mut packets, mut sum, mut biased) = (0, 0.0, 0_u32);
        for queue in queues {
            packets += path.inside(queue).packets;
            if let Some(bias) = path.qdisc(queue).and_then(|qdisc| qdisc.green_bias()) {
                (sum, biased) = (sum + bias, biased + 1);
            }
        }
        QueueSample { packets, green_bias: (biased > 0).then(|| sum / f64::from(biased)) }
    }
}
