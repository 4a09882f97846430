//! Traces of delay and capacity from the delays of packets, for a link that replays them.
//!
//! A link of ours is a queue, a rate, and behind it a delay. Of a measured delay the queue's part must not be in the trace of delays, because
//! the replaying link has a queue of its own. The *base delay* of a packet is the smallest delay of all packets that were sent within half a
//! window before and after it; the rest is its queueing delay. It left the queue its base delay before it arrived, and the bytes that leave
//! the queue in a bin, over the bin, are the rate.
//!
//! That rate is the capacity only while the queue has packets. A bin is *not saturated* if the least queueing delay in it is at most that of
//! one packet of 1500 bytes at the bin's rate (within 1 to 10 ms), or if nothing left and nothing was waiting. The capacity there is at least
//! the rate.

use qdelay_core::{Rate, Span, Time};
use qdelay_trace::TraceError;
use qdelay_trace::delays::{DelayStep, DelaySteps};
use qdelay_trace::rates::{RateStep, RateSteps};
use std::collections::VecDeque;

/// Largest number of bins: 28 hours in bins of 100 ms.
pub const BINS_MAX: i64 = 1_000_000;
/// Bits of the packet whose transmission a queue counts as empty.
const PACKET_BITS: i128 = 1_500 * 8;
/// Bounds of the queueing delay up to which a queue counts as empty, in nanoseconds.
const EMPTY: [i64; 2] = [1_000_000, 10_000_000];

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrived {
    /// Time of sending, in nanoseconds by a clock that all packets share.
    pub sent: i64,
    /// Delay in nanoseconds.
    pub delay: i64,
    /// IP bytes.
    pub bytes: u32,
}

/// Delay that a trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayPart {
    /// Base delay.
    Base,
    /// Mean delay of the packets sent in each bin, with queueing.
    All,
}

/// Rate of bins that are not saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaturated {
    /// The measured one.
    Measured,
    /// That of the last saturated bin, if it is larger.
    Hold,
}

/// Choices for making traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Bin width.
    pub bin: Span,
    /// Window of the base delay.
    pub window: Span,
    /// Delay in the trace of delays.
    pub delay: DelayPart,
    /// Rate of bins that are not saturated.
    pub unsaturated: Unsaturated,
    /// Time before the first packet and after the last: half a bin puts probes into the middle of their bins.
    pub lead: Span,
}

/// Traces of one direction.
#[derive(Clone, Debug)]
pub struct Traces {
    /// Delay of each bin.
    pub delays: DelaySteps,
    /// Rate of each bin.
    pub rates: RateSteps,
    /// Bins that are not saturated.
    pub not_saturated: u64,
    /// Packets that left the queue after the last whole bin.
    pub after: u64,
}

/// Reason why no traces can be made.
#[derive(Clone, Debug, PartialEq)]
pub enum NoTraces {
    /// Delays below 0; the smallest one, in nanoseconds.
    NegativeDelay(i64),
    /// Fewer than two bins between the first packet and the last, or too many.
    Bins(i64),
    /// A delay or rate that no trace can have.
    Value(TraceError),
}

/// Packets of a direction in the order of sending, and the time at which each left the queue.
struct Direction {
    packets: Vec<Arrived>,
    left: Vec<i64>,
}

impl Direction {
    fn new(packets: &[Arrived], half_window: i64) -> Result<Direction, NoTraces> {
        if let Some(least) = packets.iter().map(|packet| packet.delay).min().filter(|least| *least < 0) {
            return Err(NoTraces::NegativeDelay(least));
        }
        let mut packets = packets.to_vec();
        packets.sort_unstable();
        let times: Vec<i64> = packets.iter().map(|packet| packet.sent).collect();
        let base = least_around(&packets, &times, half_window);
        let leaves = |(packet, base): (&Arrived, &Option<i64>)| {
            packet.sent.saturating_add(packet.delay - base.unwrap_or(packet.delay))
        };
        let left = packets.iter().zip(&base).map(leaves).collect();
        Ok(Direction { packets, left })
    }
}

/// Traces of the packets of each direction, in any order. All traces begin with the first packet of any direction (less the lead) and have equal lengths, so
/// that those of one time stay together. `None` for a direction without packets.
///
/// # Errors
/// The number of the direction, and the reason.
pub fn traces(
    directions: &[Vec<Arrived>],
    choices: &Choices,
) -> Result<Vec<Option<Traces>>, (usize, NoTraces)> {
    let half = i64::try_from(choices.window.as_nanos() / 2).unwrap_or(i64::MAX);
    let prepared = directions
        .iter()
        .enumerate()
        .map(|(number, packets)| Direction::new(packets, half).map_err(|error| (number, error)));
    let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
    let begin = prepared.iter().flat_map(|direction| direction.packets.first()).map(|first| first.sent).min();
    let end = prepared.iter().flat_map(|direction| &direction.left).max();
    let (Some(begin), Some(end)) = (begin, end) else { return Err((0, NoTraces::Bins(0))) };
    let lead = i64::try_from(choices.lead.as_nanos()).unwrap_or(i64::MAX);
    let (begin, end) = (begin.saturating_sub(lead), end.saturating_add(lead));
    let width = i64::try_from(choices.bin.as_nanos()).unwrap_or(i64::MAX).max(1);
    let bins = end.saturating_sub(begin) / width;
    if !(2..=BINS_MAX).contains(&bins) {
        return Err((0, NoTraces::Bins(bins)));
    }
    let grid = Grid { begin, width, bins: bins as usize };
    let traces = prepared.iter().enumerate().map(|(number, direction)| {
        if direction.packets.is_empty() {
            return Ok(None);
        }
        of_direction(direction, &grid, half, choices).map(Some).map_err(|error| (number, error))
    });
    traces.collect()
}

/// Bins of equal width.
struct Grid {
    begin: i64,
    width: i64,
    bins: usize,
}

impl Grid {
    /// Number of the bin of a time, which may be after the last one.
    fn place(&self, time: i64) -> usize {
        (time.saturating_sub(self.begin) / self.width) as usize
    }
}

fn of_direction(
    direction: &Direction,
    grid: &Grid,
    half_window: i64,
    choices: &Choices,
) -> Result<Traces, NoTraces> {
    let mut sums = vec![Bin::default(); grid.bins];
    let mut after = 0;
    for (packet, left) in direction.packets.iter().zip(&direction.left) {
        let (sent_in, left_in) = (grid.place(packet.sent), grid.place(*left));
        if let Some(bin) = sums.get_mut(sent_in) {
            bin.delays += i128::from(packet.delay);
            bin.sent += 1;
        }
        // The packet waits during all bins between those of its sending and its leaving.
        if sent_in + 1 < left_in.min(grid.bins) {
            sums[sent_in + 1].waiting += 1;
            if let Some(bin) = sums.get_mut(left_in) {
                bin.waiting -= 1;
            }
        }
        let Some(bin) = sums.get_mut(left_in) else {
            after += 1;
            continue;
        };
        let queueing = left - packet.sent;
        bin.bytes += u64::from(packet.bytes);
        bin.least_queueing = Some(bin.least_queueing.map_or(queueing, |least| least.min(queueing)));
    }
    let middle = |number: usize| grid.begin + number as i64 * grid.width + grid.width / 2;
    let middles: Vec<i64> = (0..grid.bins).map(middle).collect();
    let delays = match choices.delay {
        DelayPart::Base => least_around(&direction.packets, &middles, half_window),
        DelayPart::All => sums
            .iter()
            .map(|bin| (bin.sent > 0).then(|| (bin.delays / i128::from(bin.sent)) as i64))
            .collect(),
    };
    let (rates, not_saturated) = rates(&sums, grid.width, choices.unsaturated);
    let start = |number: usize| Time::from_nanos(number as u64 * grid.width as u64);
    let period = Span::from_nanos(grid.bins as u64 * grid.width as u64);
    let delays = held(delays)
        .into_iter()
        .enumerate()
        .map(|(number, nanos)| DelayStep { start: start(number), value: Span::from_nanos(nanos as u64) });
    let rates = rates
        .into_iter()
        .enumerate()
        .map(|(number, bps)| RateStep { start: start(number), rate: Rate::from_bps(bps) });
    Ok(Traces {
        delays: DelaySteps::new(delays.collect(), period).map_err(NoTraces::Value)?,
        rates: RateSteps::new(rates.collect(), period).map_err(NoTraces::Value)?,
        not_saturated,
        after,
    })
}

/// Sums of a bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    /// Bytes that left the queue.
    bytes: u64,
    /// Smallest queueing delay of the packets that left; `None` if none did.
    least_queueing: Option<i64>,
    /// Packets waiting during the whole bin, less those of the bin before.
    waiting: i64,
    /// Sum of the delays of packets sent in the bin, and their number.
    delays: i128,
    sent: u64,
}

/// Bits per second of each bin, and the number of bins that are not saturated.
fn rates(bins: &[Bin], width: i64, unsaturated: Unsaturated) -> (Vec<u64>, u64) {
    let mut waiting = 0;
    let mut found = Vec::with_capacity(bins.len());
    for bin in bins {
        waiting += bin.waiting;
        let bps = i128::from(bin.bytes) * 8_000_000_000 / i128::from(width);
        let is_saturated = match bin.least_queueing {
            None => waiting > 0,
            Some(least) => {
                let packet = (PACKET_BITS * 1_000_000_000 / bps.max(1)).min(EMPTY[1].into()) as i64;
                least > packet.max(EMPTY[0])
            }
        };
        found.push((u64::try_from(bps).unwrap_or(u64::MAX), is_saturated));
    }
    let not_saturated = found.iter().filter(|(_, is_saturated)| !is_saturated).count() as u64;
    if unsaturated == Unsaturated::Hold {
        // Before the first saturated bin, that one's rate.
        let mut last = found.iter().find(|(_, is_saturated)| *is_saturated).map_or(0, |(bps, _)| *bps);
        for (bps, is_saturated) in &mut found {
            if *is_saturated { last = *bps } else { *bps = last.max(*bps) }
        }
    }
    (found.into_iter().map(|(bps, _)| bps).collect(), not_saturated)
}

/// Smallest delay of the packets sent at most `half` nanoseconds before or after each of `times`; both in order of time.
fn least_around(packets: &[Arrived], times: &[i64], half: i64) -> Vec<Option<i64>> {
    // Packets in the window whose delay is smaller than that of every later one.
    let mut least: VecDeque<&Arrived> = VecDeque::new();
    let mut next = packets.iter().peekable();
    let mut found = Vec::with_capacity(times.len());
    for time in times {
        while let Some(packet) = next.next_if(|packet| packet.sent <= time.saturating_add(half)) {
            while least.back().is_some_and(|last| last.delay >= packet.delay) {
                least.pop_back();
            }
            least.push_back(packet);
        }
        while least.front().is_some_and(|first| first.sent < time.saturating_sub(half)) {
            least.pop_front();
        }
        found.push(least.front().map(|packet| packet.delay));
    }
    found
}

/// The values, where one lacks that before it, at the beginning the first one; 0 if there is none.
fn held(values: Vec<Option<i64>>) -> Vec<i64> {
    let mut last = values.iter().flatten().next().copied().unwrap_or(0);
    let value = |value: Option<i64>| {
        last = value.unwrap_or(last);
        last
    };
    values.into_iter().map(value).collect()
}
