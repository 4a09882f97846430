//! Measurements at the bottleneck and behind it, as defined in `docs/measures.md`.

use crate::group_meter::GroupMeter;
use crate::hop_meter::HopMeter;
use crate::outcome::{FlowOutcome, Outcome};
use crate::queue_sample::QueueSample;
use crate::rates::rate_mbps;
use crate::results::Measures;
use crate::scenario::{HopSpec, Scenario};
use qdelay_core::{Packet, Span, Time};
use qdelay_path::stack::Topology;
use qdelay_path::{LinkUsage, NodeId, Path};
use qdelay_record::{DelayHistogram, jain_index};

/// Observes packet events and accumulates the measures of an [`Outcome`].
pub struct BottleneckMeter {
    /// End of the warm-up: delays and bytes are measured from here on.
    from: Time,
    min_packet_bytes: u32,
    /// Flow number of the probe.
    probe_flow: u32,
    /// Propagation delay from the bottleneck to the receivers.
    propagation: Span,
    queue_delay: DelayHistogram,
    sojourn: DelayHistogram,
    probe_delay: DelayHistogram,
    /// IP bytes that left the bottleneck.
    bytes: u64,
    /// `bytes` when the rates end.
    rated_bytes: u64,
    /// Packets that left the bottleneck, in the whole run.
    forwarded: u64,
    /// Packets of the probe that were dropped, in the whole run.
    probe_lost: u64,
    /// Groups and time series, if the scenario enables them.
    watch: Option<Box<GroupMeter>>,
    /// Present if the scenario has hops, or an uplink that is measured.
    hops: Option<Box<HopMeter>>,
}

impl BottleneckMeter {
    /// A meter for the path of `topology`, or for one that is built like it, before its first event. `bins` is the most that the series
    /// may have.
    pub fn new(scenario: &Scenario, topology: &Topology, bins: Option<usize>) -> BottleneckMeter {
        BottleneckMeter {
            from: Time::ZERO + scenario.warmup,
            min_packet_bytes: scenario.min_packet_bytes,
            probe_flow: if scenario.probe.is_some() { scenario.flows.len() as u32 } else { u32::MAX },
            propagation: scenario.base_rtt / 2 + HopSpec::propagation(&scenario.hops),
            queue_delay: DelayHistogram::default(),
            sojourn: DelayHistogram::default(),
            probe_delay: DelayHistogram::default(),
            bytes: 0,
            rated_bytes: 0,
            forwarded: 0,
            probe_lost: 0,
            watch: GroupMeter::new(scenario, bins),
            hops: HopMeter::new(scenario, topology),
        }
    }

    /// Number of measured delays in the queue, and their sum in nanoseconds.
    pub fn queue_delays(&self) -> (u64, u128) {
        (self.queue_delay.count(), self.queue_delay.sum_nanos())
    }

    /// Whether the delay of a packet is measured.
    #[inline]
    pub fn counts(&self, now: Time, packet: &Packet) -> bool {
        now >= self.from && packet.bytes >= self.min_packet_bytes && packet.flow != self.probe_flow
    }

    /// Whether [`BottleneckMeter::delivered`] has anything to do.
    #[inline]
    pub fn uses_delivery(&self, packet: &Packet) -> bool {
        self.watch.is_some() || packet.flow == self.probe_flow
    }

    /// A packet is offered to the bottleneck's queue.
    #[inline]
    pub fn enqueued(&mut self, now: Time, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.enqueued(now, packet);
        }
    }

    /// A packet is dequeued from the bottleneck's queue.
    #[inline]
    pub fn dequeued(&mut self, now: Time, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.dequeued(packet);
        }
        if self.counts(now, packet) {
            self.sojourn.record(now.since(packet.arrival));
        }
    }

    /// A packet has left the bottleneck.
    #[inline]
    pub fn departed(&mut self, now: Time, packet: &Packet) {
        self.forwarded += 1;
        let (warm, counts) = (now >= self.from, self.counts(now, packet));
        if warm {
            self.bytes += u64::from(packet.bytes);
        }
        let delay = now.since(packet.arrival);
        if counts {
            self.queue_delay.record(delay);
        }
        if let Some(watch) = &mut self.watch {
            watch.departed(packet, delay, warm, counts);
        }
    }

    /// A packet has left a link that is not the bottleneck's.
    #[inline]
    pub fn departed_elsewhere(&mut self, now: Time, link: NodeId, packet: &Packet) {
        if self.hops.is_some() {
            let (warm, counts) = (now >= self.from, self.counts(now, packet));
            if let Some(hops) = &mut self.hops
                && hops.departed(now, link, packet, counts)
                && let Some(watch) = &mut self.watch
            {
                watch.departed_up(packet, now.since(packet.arrival), warm, counts);
            }
        }
    }

    /// A packet was dropped on the path; `is_data`: in the data direction, `at_queue`: at the bottleneck's queue.
    #[inline]
    pub fn dropped(&mut self, now: Time, packet: &Packet, is_data: bool, at_queue: bool) {
        self.probe_lost += u64::from(packet.flow == self.probe_flow);
        if let Some(watch) = &mut self.watch {
            if is_data {
                watch.lost(packet.flow);
            }
            if at_queue {
                watch.dropped(now, packet);
            }
        }
    }

    /// The bottleneck has dropped a packet after its dequeue; called in addition to [`BottleneckMeter::dropped`].
    pub fn dropped_below(&mut self, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.dropped_below(packet);
        }
    }

    /// The bottleneck's queue has marked a packet.
    #[inline]
    pub fn marked(&mut self, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.marked(packet);
        }
    }

    /// A packet that was sent at `created` is delivered to its receiver.
    #[inline]
    pub fn delivered(&mut self, now: Time, packet: &Packet, created: Time) {
        let (delay, counts) = (now.since(created), self.counts(now, packet));
        if let Some(watch) = &mut self.watch {
            watch.delivered(packet, delay, counts);
        }
        if packet.flow == self.probe_flow && now >= self.from {
            self.probe_delay.record(delay.saturating_sub(self.propagation));
        }
    }

    /// A connection sends data up to the byte `end` of all that it sends.
    #[inline]
    pub fn sent(&mut self, now: Time, flow: usize, end: u64) {
        if let Some(watch) = &mut self.watch {
            watch.sent(now, flow, end);
        }
    }

    /// The bytes from `first` to `end` of a connection arrive.
    #[inline]
    pub fn arrived(&mut self, now: Time, flow: usize, data: (u64, u64)) {
        let warm = now >= self.from;
        if let Some(watch) = &mut self.watch {
            watch.arrived(now, flow, data, warm);
        }
    }

    /// The first `bytes` of a connection are delivered to its application.
    #[inline]
    pub fn in_order(&mut self, now: Time, flow: usize, bytes: u64) {
        let warm = now >= self.from;
        if let Some(watch) = &mut self.watch {
            watch.in_order(now, flow, bytes, warm);
        }
    }

    /// A bin of the series ends, with so much queued and so much offered by the link since the run began.
    pub fn close_bin(&mut self, now: Time, queued: QueueSample, usage: LinkUsage) {
        if let Some(watch) = &mut self.watch {
            watch.close_bin(now, queued, usage);
        }
    }

    /// Joins each two closed bins of the series.
    pub fn halve_bins(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.halve_bins();
        }
    }

    /// The warm-up is over.
    pub fn end_warmup(&mut self, now: Time, path: &Path) {
        if let Some(hops) = &mut self.hops {
            hops.end_warmup(now, path);
        }
    }

    /// Rates end; counts and delays go on.
    pub fn end_rates(&mut self, now: Time, path: &Path) {
        self.rated_bytes = self.bytes;
        if let Some(hops) = &mut self.hops {
            hops.end_rates(now, path);
        }
        if let Some(watch) = &mut self.watch {
            watch.end_rates();
        }
    }

    /// The run is over.
    pub fn end(&mut self, path: &Path) {
        if let Some(hops) = &mut self.hops {
            hops.end(path);
        }
    }

    /// The outcome after `measured` of measuring, in which the bottleneck carried and offered `usage`. `probe_sent` are the packets that the probe
    /// sent; `None` without one. [`Flow::packets_lost`](crate::results::FlowFigures::packets_lost) is filled in; what is of the path and of
    /// a cell is left empty.
    pub fn finish(
        self,
        scenario: &Scenario,
        measured: Span,
        usage: LinkUsage,
        mut ends: Vec<FlowOutcome>,
        probe_sent: Option<u64>,
    ) -> Outcome {
        let flow_delays = self.watch.as_ref().map(|watch| watch.fill_in_flows(measured, &mut ends));
        // Uploads share another link.
        let downloads = scenario.flows.iter().zip(&ends).filter(|(flow, _)| !flow.is_upload);
        let goodputs: Vec<f64> = downloads.map(|(_, end)| end.flow.goodput_mbps).collect();
        let (throughput_mbps, queue_delay_ms) =
            (rate_mbps(self.rated_bytes, measured), self.queue_delay.summary());
        let (hops, uplink) = self.hops.map(|hops| hops.finish(measured)).unwrap_or_default();
        let measures = Measures {
            throughput_mbps,
            utilization: usage.utilization(),
            queue_delay_ms,
            sojourn_ms: self.sojourn.summary(),
            power: (queue_delay_ms.p99 > 0.0).then(|| throughput_mbps / queue_delay_ms.p99),
            packets_forwarded: self.forwarded,
            jain: jain_index(&goodputs),
            probe_ms: probe_sent.map(|_| self.probe_delay.summary()),
            probe_sent,
            probe_lost: probe_sent.map(|_| self.probe_lost),
            hops,
            uplink,
            ..Measures::default()
        };
        let mut outcome = Outcome { measures, ..Outcome::default() };
        if let Some(watch) = self.watch {
            watch.finish(measured, usage.offered_bytes, &flow_delays.unwrap_or_default(), &mut outcome);
        }
        if let Some(delays) = &mut outcome.delays {
            delays.queue = self.queue_delay;
        }
        outcome.add_flows(scenario, ends);
        outcome
    }
}
