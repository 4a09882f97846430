//! Recorded packets (`packets.parquet`) in the order of their arrival at the queue.

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use qdelay_core::{Ecn, Packet, Span, Time};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Fate of a packet that is not dropped.
const DELIVERED: &str = "delivered";
/// Time without packets of a flow after which the queue holds none of that flow.
const SILENT: Span = Span::from_secs(1);

/// Packet of the data direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Packet on arrival at the queue; the handle is its place in the recording.
    pub packet: Packet,
    pub dequeued: Option<Time>,
    pub departed: Option<Time>,
    pub ended: Time,
    /// `delivered`, or the reason of the drop.
    pub fate: String,
}

impl Recorded {
    pub fn is_dropped(&self) -> bool {
        self.fate != DELIVERED
    }
    /// True for a packet dropped on arrival.
    pub fn is_refused(&self) -> bool {
        self.is_dropped() && self.ended == self.packet.arrival
    }
}

/// All packets that came to the queue, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub packets: Vec<Recorded>,
    /// Packets that left, in order of departure.
    pub departures: Vec<usize>,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// One line: the file is no recording.
    pub fn read(path: &Path) -> Result<Recording, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: cannot be read: {error}", path.display());
        let file = File::open(path).map_err(|error| failed(&error))?;
        let reader = SerializedFileReader::new(file).map_err(|error| failed(&error))?;
        let rows = reader.get_row_iter(None).map_err(|error| failed(&error))?;
        let mut packets = Vec::new();
        for row in rows {
            let packet = row.and_then(|row| recorded_packet(&row)).map_err(|error| failed(&error))?;
            packets.extend(packet);
        }
        Ok(Recording::new(packets))
    }

    /// Recording of these packets, given in any order.
    pub fn new(mut packets: Vec<Recorded>) -> Recording {
        packets.sort_by_key(|row| row.packet.arrival);
        for (place, row) in (0..).zip(&mut packets) {
            row.packet.handle = place;
        }
        let mut departures: Vec<usize> =
            (0..packets.len()).filter(|place| packets[*place].dequeued.is_some()).collect();
        departures.sort_by_key(|place| packets[*place].dequeued);
        Recording { packets, departures }
    }

    /// Time up to which all arrivals are known, because packets in flight at the end of a run are not recorded: the smallest over the flows
    /// of
    /// the arrival of the last delivered packet.
    pub fn known_until(&self) -> Time {
        let mut last: BTreeMap<u32, Time> = BTreeMap::new();
        for row in self.packets.iter().filter(|row| !row.is_dropped()) {
            last.insert(row.packet.flow, row.packet.arrival);
        }
        let end = last.values().copied().max().unwrap_or(Time::ZERO);
        last.values().copied().filter(|time| end.since(*time) < SILENT).min().unwrap_or(end)
    }

    /// Recording up to this time. The kernel's drops are observed after they happen, so the recording ends before the arrival of
    /// the first packet whose fate at that time is unknown.
    pub fn complete(self) -> Recording {
        let mut until = self.known_until().as_nanos();
        let is_open = |row: &&Recorded, until: Time| {
            row.is_dropped() && row.packet.arrival <= until && row.ended > until
        };
        while let Some(row) = self.packets.iter().find(|row| is_open(row, Time::from_nanos(until))) {
            until = row.packet.arrival.as_nanos().saturating_sub(1);
        }
        let until = Time::from_nanos(until);
        let rows = self.packets.into_iter().filter(|row| row.packet.arrival <= until);
        // Later events are cut off.
        let cut = |row: Recorded| Recorded {
            dequeued: row.dequeued.filter(|at| *at <= until),
            departed: row.departed.filter(|at| *at <= until),
            ..row
        };
        Recording::new(rows.map(cut).collect())
    }

    /// Departure of the packet at this place.
    pub fn left_at(&self, place: usize) -> Time {
        self.packets[place].dequeued.unwrap_or(Time::NEVER)
    }

    /// Smallest time from arrival to departure over all packets.
    pub fn least_sojourn(&self) -> Span {
        let of = |place: &usize| self.left_at(*place).since(self.packets[*place].packet.arrival);
        self.departures.iter().map(of).min().unwrap_or(Span::ZERO)
    }

    /// Waiting time of the packet at this place at `now`, in milliseconds.
    pub fn sojourn_ms(&self, place: usize, now: Time) -> f64 {
        let arrival = self.packets[place].packet.arrival;
        if now < arrival { 0.0 } else { now.since(arrival).as_millis_f64() }
    }
}

/// Packet of a row; `None` for an acknowledgement, or for a packet that never came to the queue.
fn recorded_packet(row: &Row) -> Result<Option<Recorded>, ParquetError> {
    let time = |column: usize| row.get_long(column).map(|nanos| Time::from_nanos(nanos.max(0) as u64));
    let optional = |column: usize| {
        let is_there = !matches!(row.get_column_iter().nth(column), Some((_, parquet::record::Field::Null)));
        if is_there { time(column).map(Some) } else { Ok(None) }
    };
    let (is_back, arrival) = (row.get_bool(1)?, optional(6)?);
    let Some(arrival) = arrival.filter(|_| !is_back) else { return Ok(None) };
    let ecn = match row.get_int(4)? {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    };
    let packet = Packet {
        handle: 0,
        arrival,
        bytes: row.get_int(2)? as u32,
        flow: row.get_int(0)? as u32,
        class: 0,
        dscp: row.get_int(3)? as u8,
        ecn,
        count: 0,
    };
    Ok(Some(Recorded {
        packet,
        dequeued: optional(7)?,
        departed: optional(8)?,
        ended: time(9)?,
        fate: row.get_string(10)?.clone(),
    }))
}

#[cfg(test)]
pub mod made {
    //! Made-up recordings.
    use super::*;

    /// Packet of 1500 bytes of `flow` with arrival and departure in microseconds; without departure it was dropped on arrival.
    pub fn packet(flow: u32, came: u64, left: Option<u64>) -> Recorded {
        let [arrival, ended] = [came, left.unwrap_or(came)].map(|micros| Time::from_nanos(micros * 1000));
        let dequeued = left.map(|_| ended);
        let fate = if left.is_some() { DELIVERED } else { "kernel_drop" };
        let packet = Packet { arrival, flow, bytes: 1500, ..Packet::default() };
        Recorded { packet, dequeued, departed: dequeued, ended, fate: fate.to_string() }
    }

    /// Packet that is dropped later than it arrived.
    pub fn dropped(flow: u32, came: u64, gone: u64) -> Recorded {
        Recorded { ended: Time::from_nanos(gone * 1000), ..packet(flow, came, None) }
    }
}

#[cfg(test)]
mod tests {
    use super::made::packet;
    use super::*;

    #[test]
    fn packets_stand_in_their_order_and_end_where_any_may_be_missing() {
        let rows = vec![
            packet(0, 30, Some(40)),
            packet(0, 10, Some(20)),
            packet(1, 15, Some(38)),
            packet(0, 39, Some(50)),
        ];
        let recording = Recording::new(rows.clone());
        assert_eq!(recording.departures, [0, 1, 2, 3]);
        let complete = recording.complete();
        // The last packet of flow 1 arrived at 15, so later arrivals may be incomplete.
        assert_eq!(complete.packets.len(), 2);
        assert!(complete.departures.is_empty());
        let alone = Recording::new(rows.into_iter().filter(|row| row.packet.flow == 0).collect()).complete();
        assert_eq!((alone.packets.len(), alone.departures.as_slice()), (3, [0].as_slice()));
    }
}
