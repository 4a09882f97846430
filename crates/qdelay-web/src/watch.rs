//! Recording of a run for the page: bins of time, distributions of delays, and the last seconds of flows whose user feels each packet.

use qdelay_core::{Span, Time};
use qdelay_record::{DelayHistogram, Direction, Fate, PacketRecord, Recorder};
use std::collections::{BTreeMap, VecDeque};

/// Columns that every bin has; then [`PER_GROUP`] for each group of flows.
pub const COMMON: usize = 7;
/// Columns of a group: sum, count and maximum of delays, bytes delivered.
pub const PER_GROUP: usize = 4;
/// Packets of a flow that are remembered are at most this old.
pub const REMEMBERED: Span = Span::from_secs(10);

/// A column of all bins, for the page to read where it is.
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
    /// Packets that it marked.
    Marked,
    /// Largest queue delay, ms.
    Longest,
    /// Packets in the queue at the end of the bin.
    Packets,
}

/// A packet of a flow that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTimes {
    /// When it was sent.
    pub created: Time,
    /// When it was there; `None` for a packet that was dropped.
    pub arrived: Option<Time>,
}

/// Recording of a run so far.
#[derive(Debug)]
pub struct Recording {
    bin: Span,
    /// By column, then by bin.
    columns: Vec<Vec<f32>>,
    /// The group of each flow.
    groups: Vec<usize>,
    /// Queue delays of all, then of each group.
    delays: Vec<DelayHistogram>,
    /// Packets that the network dropped, by reason.
    drops: BTreeMap<&'static str, u64>,
    /// By flow: the last packets in the direction of its data, and those that came back; of flows that are remembered.
    passed: Vec<Option<[VecDeque<PacketTimes>; 2]>>,
}

impl Recording {
    /// Nothing yet, of flows in these groups. Those with `true` are remembered.
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

    /// A column of all bins, or nothing.
    pub fn column(&self, index: usize) -> &[f32] {
        self.columns.get(index).map_or(&[], Vec::as_slice)
    }
    /// The bins that there are.
    pub fn bins(&self) -> usize {
        self.columns[0].len()
    }
    /// Delays of all packets, or of those of a group.
    pub fn delays(&self, group: Option<usize>) -> Option<&DelayHistogram> {
        self.delays.get(group.map_or(0, |group| group + 1))
    }
    /// Packets that were dropped anywhere, by reason.
    pub fn drops(&self) -> &BTreeMap<&'static str, u64> {
        &self.drops
    }
    /// The last packets of a flow in its data's direction, and those that came back.
    pub fn passed(&self, flow: usize) -> Option<&[VecDeque<PacketTimes>; 2]> {
        self.passed.get(flow)?.as_ref()
    }
    /// Distributions and drops begin again.
    pub fn forget(&mut self) {
        self.delays.fill(DelayHistogram::default());
        self.drops.clear();
    }
    /// Older packets than [`REMEMBERED`] are forgotten.
    pub fn forget_before(&mut self, now: Time) {
        for packets in self.passed.iter_mut().flatten().flatten() {
            while packets.front().is_some_and(|packet| now.since(packet.created) > REMEMBERED) {
                packets.pop_front();
            }
        }
    }

    /// The bin in which `time` lies; what is not there yet is made, with zeros.
    fn reach(&mut self, bin: usize) {
        if self.bins() <= bin {
            self.columns.iter_mut().for_each(|column| column.resize(bin + 1, 0.0));
        }
    }
    /// The number of the bin of `time`.
    fn bin_of(&self, time: Time) -> usize {
        (time.as_nanos() / self.bin.as_nanos().max(1)) as usize
    }
    /// Ends the bin `bin` with these values of the common columns.
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
        // The probe is in no group.
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
