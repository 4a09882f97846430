//! Packets kept in memory as Arrow columns, which readers share.

use crate::table;
use arrow_array::builder::{
    BooleanBuilder, Int64Builder, StringDictionaryBuilder, UInt8Builder, UInt32Builder,
};
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use pyo3::prelude::*;
use qdelay_core::Time;
use qdelay_sim::{Direction, Fate, PacketRecord, Recorder};
use std::sync::Arc;

/// Rows of a batch.
const ROWS: usize = 1 << 20;

/// Packets of a case.
pub type Packets = Vec<RecordBatch>;

/// Collects the packets of a case, with the columns of `packets.parquet`.
#[derive(Default)]
pub struct Table {
    done: Packets,
    rows: usize,
    flow: UInt32Builder,
    acknowledgement: BooleanBuilder,
    bytes: UInt32Builder,
    dscp: UInt8Builder,
    ecn: UInt8Builder,
    created: Int64Builder,
    arrival: Int64Builder,
    dequeued: Int64Builder,
    departed: Int64Builder,
    ended: Int64Builder,
    fate: StringDictionaryBuilder<UInt8Type>,
    sequence: Int64Builder,
}

fn nanos(time: Time) -> i64 {
    time.as_nanos() as i64
}

impl Table {
    /// All packets.
    pub fn finish(mut self) -> Packets {
        self.flush();
        self.done
    }

    fn flush(&mut self) {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("flow", Arc::new(self.flow.finish())),
            ("acknowledgement", Arc::new(self.acknowledgement.finish())),
            ("bytes", Arc::new(self.bytes.finish())),
            ("dscp", Arc::new(self.dscp.finish())),
            ("ecn", Arc::new(self.ecn.finish())),
            ("created_ns", Arc::new(self.created.finish())),
            ("arrival_ns", Arc::new(self.arrival.finish())),
            ("dequeued_ns", Arc::new(self.dequeued.finish())),
            ("departed_ns", Arc::new(self.departed.finish())),
            ("ended_ns", Arc::new(self.ended.finish())),
            ("fate", Arc::new(self.fate.finish())),
            ("sequence", Arc::new(self.sequence.finish())),
        ];
        let nullable = |name: &str| matches!(name, "arrival_ns" | "dequeued_ns" | "departed_ns" | "sequence");
        let columns = columns.into_iter().map(|(name, column)| {
            let may_lack = nullable(name);
            (name, column, may_lack)
        });
        // All columns have the same length.
        if let Ok(batch) = RecordBatch::try_from_iter_with_nullable(columns) {
            self.done.push(batch);
        }
        self.rows = 0;
    }
}

impl Recorder for Table {
    fn packet(&mut self, record: &PacketRecord) {
        self.flow.append_value(record.flow);
        self.acknowledgement.append_value(record.direction == Direction::Acknowledgement);
        self.bytes.append_value(record.bytes);
        self.dscp.append_value(record.dscp);
        self.ecn.append_value(record.ecn as u8);
        self.created.append_value(nanos(record.created));
        self.arrival.append_option(record.arrival.map(nanos));
        self.dequeued.append_option(record.dequeued.map(nanos));
        self.departed.append_option(record.departed.map(nanos));
        self.ended.append_value(nanos(record.ended));
        let fate = match record.fate {
            Fate::Delivered => "delivered",
            Fate::Dropped(reason) => reason.name(),
        };
        // A case has fewer than 256 reasons.
        self.fate.append_value(fate);
        self.sequence.append_option(record.sequence.map(|sequence| sequence as i64));
        self.rows += 1;
        if self.rows == ROWS {
            self.flush();
        }
    }
}

/// Packets of a case as a table.
pub fn table(packets: &Packets) -> PyResult<table::Table> {
    let schema = packets.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    Ok(table::Table::of_batches(packets.clone(), schema))
}
