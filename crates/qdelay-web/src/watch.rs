//! Recording of a run for the page: bins of time, distributions of delays, and the last seconds of flows whose user feels each packet.

use qdelay_core::{Span, Time};
use qdelay_record::{DelayHistogram, Direction, Fate, PacketRecord, Recorder};
use std::collections::{BTreeMap, VecDeque};

/// Columns of every bin; [`PER_GROUP`] more follow for each group of flows.
pub const COMMON: usize = 7;
/// Columns of a group: sum, count and maximum of delays, bytes delivered.
pub const PER_GROUP: usize = 4;
/// Largest age of stored packets of a flow.
pub const REMEMBERED: Span = Span::from_secs(10);

/// Column of all bins, read by the page in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Column {
    /// Capacity of the link, Mbit/s.
    Capacity,
    /// IP packets that left the link, Mbit/s.
    Rate,
    /// Bytes in the queue at the end of the bin.
    Backlog,
    /// Packets that the queue dropped.
    Dropped,
    /// Packets marked by the queue.
    Marked,
    /// Largest queue delay, ms.
    Longest,
    /// Packets in the queue at the end of the bin.
    Packets,
}

/// Packet of a flow whose packets are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTimes {
    /// Send time.
    pub created: Time,
    /// Arrival time; `None` for a dropped packet.
    pub arrived: Option<Time>,
}

/// Recording of a run so far.
#[derive(Debug)]
pub struct Recording {
    bin: Span,
    /// By column, then by bin.
    columns: Vec<Vec<f32>>,
    /// Group of each flow.
    groups: Vec<usize>,
    /// Queue delays of all packets, then of each group.
    delays: Vec<DelayHistogram>,
    /// Dropped packets by reason.
    drops: BTreeMap<&'static str, u64>,
    /// Recent packets by flow, in the direction of its data and back, for flows whose packets are stored.
    passed: Vec<Option<[VecDeque<PacketTimes>; 2]>>,
}

impl Recording {
    /// Makes an empty recording of flows in these groups. Packets of flows with `true` are stored.
    pub fn new(bin: Span, flows: &[(usize, bool)]) -> Recording {
        let groups: Vec<usize> = flows.iter().map(|(group, _)| *group).collect();
        let count = groups.iter().max().map_or(0, |last| last + 1);
        Recording {
            bin,
            columns: vec![Vec::new(); COMMON + PER_GROUP * count],
            groups,
            delays: vec![DelayHistogram::default(); 1 + count],
            drops: BTreeMap::new(),
            passed: flows.iter().map(|(_, is_kept)| is_kept.then(Default::default)).collect(),
        }
    }

    /// Column of all bins; empty for an unknown one.
    pub fn column(&self, index: usize) -> &[f32] {
        self.columns.get(index).map_or(&[], Vec::as_slice)
    }
    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.columns[0].len()
    }
    /// Delays of all packets, or of a group.
    pub fn delays(&self, group: Option<usize>) -> Option<&DelayHistogram> {
        self.delays.get(group.map_or(0, |group| group + 1))
    }
    /// Packets dropped anywhere, by reason.
    pub fn drops(&self) -> &BTreeMap<&'static str, u64> {
        &self.drops
    }
    /// Recent packets of a flow in the direction of its data, and back.
    pub fn passed(&self, flow: usize) -> Option<&[VecDeque<PacketTimes>; 2]> {
        self.passed.get(flow)?.as_ref()
    }
    /// Restarts distributions and drops.
    pub fn forget(&mut self) {
        self.delays.fill(DelayHistogram::default());
        self.drops.clear();
    }
    /// Removes packets older than [`REMEMBERED`].
    pub fn forget_before(&mut self, now: Time) {
        for packets in self.passed.iter_mut().flatten().flatten() {
            while packets.front().is_some_and(|packet| now.since(packet.created) > REMEMBERED) {
                packets.pop_front();
            }
        }
    }

    /// Bin of `time`; missing bins are added with zeros.
    fn reach(&mut self, bin: usize) {
        if self.bins() <= bin {
            self.columns.iter_mut().for_each(|column| column.resize(bin + 1, 0.0));
        }
    }
    /// Number of the bin of `time`.
    fn bin_of(&self, time: Time) -> usize {
        (time.as_nanos() / self.bin.as_nanos().max(1)) as usize
    }
    /// Finishes the bin `bin` with these values of the common columns.
    pub fn close(&mut self, bin: usize, values: [(Column, f32); 6]) {
        self.reach(bin);
        for (column, value) in values {
            self.columns[column as usize][bin] = value;
        }
    }

    fn delayed(&mut self, flow: usize, departed: Time, delay: Span) {
        let bin = self.bin_of(departed);
        self.reach(bin);
        let ms = delay.as_millis_f64() as f32;
        let longest = &mut self.columns[Column::Longest as usize][bin];
        *longest = longest.max(ms);
        self.delays[0].record(delay);
        // The probe belongs to no group.
        let Some(&group) = self.groups.get(flow) else { return };
        self.delays[group + 1].record(delay);
        let at = COMMON + PER_GROUP * group;
        self.columns[at][bin] += ms;
        self.columns[at + 1][bin] += 1.0;
        self.columns[at + 2][bin] = self.columns[at + 2][bin].max(ms);
    }

    fn delivered(&mut self, flow: usize, now: Time, bytes: u32) {
        let Some(&group) = self.groups.get(flow) else { return };
        let bin = self.bin_of(now);
        self.reach(bin);
        self.columns[COMMON + PER_GROUP * group + 3][bin] += bytes as f32;
    }
}

impl Recorder for Recording {
    fn packet(&mut self, record: &PacketRecord) {
        let flow = record.flow as usize;
        let is_data = record.direction == Direction::Data;
        if let (Some(arrival), Some(departed)) = (record.arrival, record.departed) {
            self.delayed(flow, departed, departed.since(arrival));
        }
        match record.fate {
            Fate::Delivered if is_data => self.delivered(flow, record.ended, record.bytes),
            Fate::Delivered => {}
            Fate::Dropped(reason) => *self.drops.entry(reason.name()).or_default() += 1,
        }
        if let Some(Some(packets)) = self.passed.get_mut(flow) {
            let arrived = (record.fate == Fate::Delivered).then_some(record.ended);
            packets[usize::from(!is_data)].push_back(PacketTimes { created: record.created, arrived });
        }
    }
}
