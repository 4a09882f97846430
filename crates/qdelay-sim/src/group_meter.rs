//! Measures by group of flows, and time series; enabled by the scenario.

use crate::bin_clock::{halve, halve_means, largest, mean};
use crate::codepoint_meter::CodepointMeter;
use crate::flow_meter::{FlowDelayFigures, FlowMeter, Mean};
use crate::outcome::{Delays, FlowOutcome, Outcome};
use crate::queue_sample::QueueSample;
use crate::rates::{capacity_mbps, rate_mbps};
use crate::results::{self, ArrivalFigures, GroupSeries, Series};
use crate::scenario::{FlowSpec, Scenario};
use crate::sent_data::SentData;
use crate::whole_milliseconds::{DelayHistory, WholeMilliseconds};
use qdelay_core::{Packet, Span, Time};
use qdelay_path::{Count, LinkUsage};
use qdelay_record::DelayHistogram;

/// Accumulates measures of groups, and of bins of time if there is a series.
pub struct GroupMeter {
    /// The group of each flow.
    group_of: Vec<usize>,
    groups: Vec<Group>,
    /// Delays and bytes of each flow, of which those of the groups are added up.
    delays: FlowMeter,
    flows: Vec<Flow>,
    one_way: DelayHistogram,
    jitter: Mean,
    /// Present if flows use more than one codepoint.
    codepoints: Option<CodepointMeter>,
    bins: Option<Bins>,
    queued: Count,
    most_queued: Count,
    /// When the last packet was offered to the bottleneck's queue.
    offered_at: Time,
}

struct Group {
    name: String,
    lost: u64,
    one_way_least: Option<Span>,
    from_first: Mean,
    whole: WholeMilliseconds,
    in_order: Option<DelayHistogram>,
    /// Delays of data that arrived, and the number of segments that had not arrived at the end.
    arrival: Option<DelayHistogram>,
    not_arrived: u64,
    bin: Bin,
    series: GroupSeries,
    /// Packets that left in each bin.
    left: Vec<u64>,
}

#[derive(Default)]
struct Flow {
    past: DelayHistory,
    lost: u64,
    data: SentData,
}

/// Departures in the current bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    bytes: u64,
    delay: Mean,
    max: Span,
}

impl Bin {
    #[inline]
    fn add(&mut self, bytes: u32, delay: Span) {
        self.bytes += u64::from(bytes);
        self.delay.add(delay);
        self.max = self.max.max(delay);
    }
    fn mean_ms(&self) -> Option<f64> {
        (!self.delay.is_empty()).then(|| self.delay.millis())
    }
    fn max_ms(&self) -> Option<f64> {
        (!self.delay.is_empty()).then(|| self.max.as_millis_f64())
    }
}

struct Bins {
    open: Bin,
    drops: u64,
    marks: u64,
    offered_before: u64,
    /// Start of the current bin.
    since: Time,
    series: Series,
    /// Packets that left in each bin.
    left: Vec<u64>,
}

impl GroupMeter {
    /// A meter for the groups and the series of `scenario`, which has at most `most` bins; `None` if it has neither.
    pub fn new(scenario: &Scenario, most: Option<usize>) -> Option<Box<GroupMeter>> {
        if scenario.groups.is_empty() && scenario.series.is_none() {
            return None;
        }
        let last = scenario.groups.len().saturating_sub(1);
        let group_of = |flow: &FlowSpec| flow.group.min(last);
        let group_of: Vec<usize> = scenario.flows.iter().map(group_of).collect();
        Some(Box::new(GroupMeter {
            delays: FlowMeter::new(scenario, &group_of),
            group_of,
            groups: scenario.groups.iter().map(|name| Group::new(name, most)).collect(),
            flows: scenario.flows.iter().map(|_| Flow::default()).collect(),
            one_way: DelayHistogram::default(),
            jitter: Mean::default(),
            codepoints: CodepointMeter::new(scenario),
            bins: scenario.series.map(|width| Bins::new(width, most)),
            queued: Count::default(),
            most_queued: Count::default(),
            offered_at: Time::ZERO,
        }))
    }

    fn group(&mut self, flow: u32) -> Option<&mut Group> {
        let group = *self.group_of.get(flow as usize)?;
        self.groups.get_mut(group)
    }

    /// A packet is offered to the bottleneck's queue.
    #[inline(never)]
    pub fn enqueued(&mut self, now: Time, packet: &Packet) {
        self.settle();
        self.offered_at = now;
        self.queued.packets += 1;
        self.queued.bytes += u64::from(packet.bytes);
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.arrived(packet);
        }
    }

    /// Updates the maximum backlog, once all drops for the latest arrival are counted.
    #[inline]
    fn settle(&mut self) {
        self.most_queued.packets = self.most_queued.packets.max(self.queued.packets);
        self.most_queued.bytes = self.most_queued.bytes.max(self.queued.bytes);
    }

    /// A packet is dequeued from the bottleneck's queue for transmission.
    #[inline(never)]
    pub fn dequeued(&mut self, packet: &Packet) {
        self.settle();
        self.out_of_queue(packet);
    }

    #[inline]
    fn out_of_queue(&mut self, packet: &Packet) {
        self.queued.packets = self.queued.packets.saturating_sub(1);
        self.queued.bytes = self.queued.bytes.saturating_sub(u64::from(packet.bytes));
    }

    /// A packet has left the bottleneck; `counts` where it belongs to the figures of delay, `warm` after the warm-up.
    #[inline(never)]
    pub fn departed(&mut self, packet: &Packet, delay: Span, warm: bool, counts: bool) {
        let binned = self.bins.is_some();
        if let Some(bins) = &mut self.bins {
            bins.open.add(packet.bytes, delay);
        }
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.departed(packet, delay, warm, counts);
        }
        self.delays.departed(packet, false, delay, warm, counts);
        if binned && !self.delays.is_upload(packet.flow) {
            self.bin_departure(packet, delay);
        }
    }

    /// A packet has left an uplink; arguments as of [`GroupMeter::departed`].
    #[inline(never)]
    pub fn departed_up(&mut self, packet: &Packet, delay: Span, warm: bool, counts: bool) {
        if self.delays.is_upload(packet.flow) {
            self.delays.departed(packet, true, delay, warm, counts);
            if self.bins.is_some() {
                self.bin_departure(packet, delay);
            }
        }
    }

    #[inline]
    fn bin_departure(&mut self, packet: &Packet, delay: Span) {
        if let Some(group) = self.group(packet.flow) {
            group.bin.add(packet.bytes, delay);
        }
    }

    /// A packet of the data direction was dropped on the path.
    pub fn lost(&mut self, flow: u32) {
        if let Some(flow) = self.flows.get_mut(flow as usize) {
            flow.lost += 1;
        }
        if let Some(group) = self.group(flow) {
            group.lost += 1;
        }
    }

    /// The bottleneck's queue has dropped a packet.
    pub fn dropped(&mut self, now: Time, packet: &Packet) {
        // A drop at the time of an arrival makes room for it: both were never in the queue together.
        if now > self.offered_at {
            self.settle();
        }
        self.out_of_queue(packet);
        self.dropped_below(packet);
    }

    /// The bottleneck has dropped a packet after its dequeue.
    pub fn dropped_below(&mut self, packet: &Packet) {
        if let Some(bins) = &mut self.bins {
            bins.drops += 1;
        }
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.dropped(packet);
        }
    }

    /// The bottleneck's queue has marked a packet.
    pub fn marked(&mut self, packet: &Packet) {
        if let Some(bins) = &mut self.bins {
            bins.marks += 1;
        }
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.marked(packet);
        }
    }

    /// A packet is delivered to its receiver `delay` after it was sent.
    #[inline(never)]
    pub fn delivered(&mut self, packet: &Packet, delay: Span, counts: bool) {
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else { return };
        let between = |one: Span, other: Span| one.max(other).saturating_sub(one.min(other));
        let last = flow.past.last.replace(delay);
        let change = last.map(|last| between(delay, last));
        if !counts {
            return;
        }
        let first = *flow.past.first.get_or_insert(delay);
        if !self.delays.is_upload(packet.flow) {
            self.one_way.record(delay);
            if let Some(change) = change {
                self.jitter.add(change);
            }
        }
        self.delays.delivered(packet.flow, delay, change);
        let Some(group) = self.group(packet.flow) else { return };
        group.one_way_least = Some(group.one_way_least.map_or(delay, |least| least.min(delay)));
        group.from_first.add(between(delay, first));
        group.whole.add(delay, DelayHistory { last, first: Some(first) });
    }

    /// A connection sends data for the first time or again, up to the byte `end` of all that it sends.
    #[inline]
    pub fn sent(&mut self, now: Time, flow: usize, end: u64) {
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.data.sent(now, end);
        }
    }

    /// The bytes from `first` to `end` of a connection arrive; `warm` after the warm-up.
    #[inline]
    pub fn arrived(&mut self, now: Time, flow: usize, (first, end): (u64, u64), warm: bool) {
        let GroupMeter { flows, groups, group_of, .. } = self;
        let Some(flow_now) = flows.get_mut(flow) else { return };
        let group = group_of.get(flow).and_then(|&group| groups.get_mut(group));
        let mut delays = group.filter(|_| warm).map(|group| group.arrival.get_or_insert_default());
        flow_now.data.arrived(now, first, end, |delay| {
            if let Some(delays) = &mut delays {
                delays.record(delay);
            }
        });
    }

    /// The first `bytes` of a connection are with its application; `warm` after the warm-up.
    #[inline]
    pub fn in_order(&mut self, now: Time, flow: usize, bytes: u64, warm: bool) {
        let GroupMeter { flows, groups, group_of, .. } = self;
        let Some(flow_now) = flows.get_mut(flow) else { return };
        let group = group_of.get(flow).and_then(|&group| groups.get_mut(group));
        let mut delays = group.filter(|_| warm).map(|group| group.in_order.get_or_insert_default());
        flow_now.data.in_order(now, bytes, |delay| {
            if let Some(delays) = &mut delays {
                delays.record(delay);
            }
        });
    }

    /// A bin ends, with so much queued and so much offered by the link since the run began. The last one of a
    /// run may be shorter than the others; rates are over what it has.
    pub fn close_bin(&mut self, now: Time, queued: QueueSample, usage: LinkUsage) {
        let Some(bins) = &mut self.bins else { return };
        let width = now.since(bins.since);
        bins.since = now;
        bins.close(width, queued, usage);
        for group in &mut self.groups {
            let bin = std::mem::take(&mut group.bin);
            group.left.push(bin.delay.count());
            group.series.throughput_mbps.push(rate_mbps(bin.bytes, width));
            group.series.delay_mean_ms.push(bin.mean_ms());
            group.series.delay_max_ms.push(bin.max_ms());
        }
    }

    /// Joins each two closed bins.
    pub fn halve_bins(&mut self) {
        if let Some(bins) = &mut self.bins {
            bins.halve();
        }
        for Group { series, left, .. } in &mut self.groups {
            halve(&mut series.throughput_mbps, mean);
            halve_means(&mut series.delay_mean_ms, left);
            halve(&mut series.delay_max_ms, largest);
        }
    }

    /// Rates end.
    pub fn end_rates(&mut self) {
        self.delays.end_rates();
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.end_rates();
        }
    }

    /// Fills in what is measured of each flow after `measured` of measuring: its losses, and its delays where there are several flows.
    /// Returns the latter.
    pub fn fill_in_flows(&self, measured: Span, flows: &mut [FlowOutcome]) -> Vec<Option<FlowDelayFigures>> {
        let is_several = self.flows.len() > 1;
        let mut tell = |(index, end): (usize, &mut FlowOutcome)| {
            let flow = &mut end.flow;
            flow.packets_lost = self.flows.get(index).map_or(0, |flow| flow.lost);
            flow.loss_ratio = results::loss_ratio(flow.packets_lost, flow.packets_sent);
            let figures = self.delays.figures(index, measured);
            if let Some(figures) = figures.filter(|_| is_several) {
                flow.throughput_mbps = Some(figures.throughput_mbps);
                flow.queue_delay_ms = Some(figures.queue_delay_ms);
                flow.one_way_delay_ms = Some(figures.one_way_delay_ms);
                flow.jitter_ms = Some(figures.jitter_ms);
            }
            figures
        };
        flows.iter_mut().enumerate().map(&mut tell).collect()
    }

    /// Takes stock after `measured` of measuring, in which the link offered `offered_bytes`. What `flows` have is known already.
    pub fn finish(
        mut self,
        measured: Span,
        offered_bytes: u64,
        flows: &[Option<FlowDelayFigures>],
        outcome: &mut Outcome,
    ) {
        self.settle();
        let (mut delays, mut series) = (Delays::default(), self.bins.map(|bins| bins.series));
        let measures = &mut outcome.measures;
        measures.capacity_mbps = capacity_mbps(offered_bytes, measured);
        measures.backlog_max_packets = self.most_queued.packets;
        measures.backlog_max_bytes = self.most_queued.bytes;
        measures.one_way_delay_ms = self.one_way.summary();
        measures.jitter_ms = self.jitter.millis();
        let of_groups = self.delays.of_groups(self.groups.len(), &self.group_of, flows, measured);
        delays.flows = self.delays.finish();
        for (flow, &group) in self.flows.iter().zip(&self.group_of) {
            if let Some(group) = self.groups.get_mut(group) {
                group.not_arrived += flow.data.missing();
            }
        }
        for (group, (figures, queue_delay)) in self.groups.into_iter().zip(of_groups) {
            let name = group.name.clone();
            let (figures, over_time, arrivals) = group.finish(figures, &queue_delay);
            delays.groups.insert(name.clone(), queue_delay);
            delays.arrivals.extend(arrivals.map(|arrivals| (name.clone(), arrivals)));
            if let Some(series) = &mut series {
                series.groups.insert(name.clone(), over_time);
            }
            measures.groups.insert(name, figures);
        }
        for (name, figures, queue_delay) in self.codepoints.into_iter().flat_map(|all| all.finish(measured)) {
            measures.codepoints.insert(name.clone(), figures);
            delays.codepoints.insert(name, queue_delay);
        }
        outcome.series = series;
        outcome.delays = Some(Box::new(delays));
    }
}

/// List with room for `most` entries, so that it does not grow while packets wait.
fn room<T>(most: Option<usize>) -> Vec<T> {
    Vec::with_capacity(most.unwrap_or(0))
}

impl Group {
    fn new(name: &str, most: Option<usize>) -> Group {
        Group {
            name: name.to_string(),
            lost: 0,
            one_way_least: None,
            from_first: Mean::default(),
            whole: WholeMilliseconds::default(),
            in_order: None,
            arrival: None,
            not_arrived: 0,
            bin: Bin::default(),
            series: GroupSeries {
                throughput_mbps: room(most),
                delay_mean_ms: room(most),
                delay_max_ms: room(most),
            },
            left: room(most),
        }
    }

    /// Figures of the group besides `delays`, those of its flows; `queue_delay` are their delays in the queue.
    fn finish(
        self,
        delays: FlowDelayFigures,
        queue_delay: &DelayHistogram,
    ) -> (results::GroupFigures, GroupSeries, Option<(DelayHistogram, u64)>) {
        let figures = results::GroupFigures {
            throughput_mbps: delays.throughput_mbps,
            queue_delay_ms: delays.queue_delay_ms,
            queue_delay_std_ms: queue_delay.deviation(),
            one_way_delay_ms: delays.one_way_delay_ms,
            one_way_min_ms: self.one_way_least.map_or(0.0, Span::as_millis_f64),
            jitter_ms: delays.jitter_ms,
            jitter_from_first_ms: self.from_first.millis(),
            one_way_whole: self.whole.finish(),
            in_order_ms: self.in_order.map(|delays| delays.summary()),
            arrival_ms: self.arrival.as_ref().map(|arrived| ArrivalFigures::of(arrived, self.not_arrived)),
            packets_lost: self.lost,
            // Figures of its flows, or of a cell only.
            ..results::GroupFigures::default()
        };
        (figures, self.series, self.arrival.map(|arrived| (arrived, self.not_arrived)))
    }
}

impl Bins {
    fn new(width: Span, most: Option<usize>) -> Bins {
        let series = Series {
            bin_s: width.as_secs_f64(),
            capacity_mbps: room(most),
            throughput_mbps: room(most),
            delay_mean_ms: room(most),
            delay_max_ms: room(most),
            backlog_packets: room(most),
            drops: room(most),
            marks: room(most),
            ..Series::default()
        };
        let (open, since, left) = (Bin::default(), Time::ZERO, room(most));
        Bins { open, drops: 0, marks: 0, offered_before: 0, since, series, left }
    }

    /// Joins each two closed bins, which are of equal width.
    fn halve(&mut self) {
        let series = &mut self.series;
        series.bin_s *= 2.0;
        halve(&mut series.capacity_mbps, |one, other| Some(mean(one?, other?)));
        halve(&mut series.throughput_mbps, mean);
        halve_means(&mut series.delay_mean_ms, &mut self.left);
        halve(&mut series.delay_max_ms, largest);
        halve(&mut series.drops, |one, other| one + other);
        halve(&mut series.marks, |one, other| one + other);
        // States at the end of a bin.
        halve(&mut series.backlog_packets, |_, last| last);
        halve(&mut series.green_bias, |_, last| last);
    }

    fn close(&mut self, width: Span, queued: QueueSample, usage: LinkUsage) {
        let series = &mut self.series;
        let offered = usage.offered_bytes.saturating_sub(self.offered_before);
        self.offered_before = usage.offered_bytes;
        let bin = std::mem::take(&mut self.open);
        self.left.push(bin.delay.count());
        series.capacity_mbps.push(capacity_mbps(offered, width));
        series.throughput_mbps.push(rate_mbps(bin.bytes, width));
        series.delay_mean_ms.push(bin.mean_ms());
        series.delay_max_ms.push(bin.max_ms());
        series.backlog_packets.push(queued.packets);
        series.drops.push(std::mem::take(&mut self.drops));
        series.marks.push(std::mem::take(&mut self.marks));
        if let Some(bias) = queued.green_bias {
            series.green_bias.push(bias);
        }
    }
}
