//! Parquet files: columns of a table, and `packets.parquet` with a row for each packet, in the order in which packets end.
//!
//! Rows are collected in columns and written in row groups of 65536, so that memory does not grow with the run.

use crate::{Direction, Fate, PacketRecord, Recorder};
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use qdelay_core::{DropReason, Time};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group: about 4 MB in memory.
const ROWS: usize = 1 << 16;

/// A file of packets that is being written.
pub struct PacketFile {
    writer: SerializedFileWriter<File>,
    rows: Rows,
    /// Why packets were dropped so far.
    reasons: Vec<DropReason>,
    /// Names of fates: `delivered`, then the names of `reasons`.
    fates: Vec<ByteArray>,
    /// The first error; what comes after it is not written.
    failed: Option<ParquetError>,
}

/// Columns of rows that are not written yet.
#[derive(Default)]
struct Rows {
    flow: Vec<i32>,
    acknowledgement: Vec<bool>,
    bytes: Vec<i32>,
    dscp: Vec<i32>,
    ecn: Vec<i32>,
    created: Vec<i64>,
    arrival: Optional,
    dequeued: Optional,
    departed: Optional,
    ended: Vec<i64>,
    /// A place in `PacketFile::fates`.
    fate: Vec<u16>,
    sequence: Optional,
}

/// Times that a packet may not have lived to see, or numbers that it may not have.
#[derive(Default)]
struct Optional {
    present: Vec<i16>,
    values: Vec<i64>,
}

impl Optional {
    #[inline]
    fn push(&mut self, value: Option<i64>) {
        self.present.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

#[inline]
fn nanos(time: Time) -> i64 {
    time.since(Time::ZERO).as_nanos() as i64
}

/// The columns: name, physical type and whether a value may be missing.
const COLUMNS: &[(&str, Physical, bool)] = &[
    ("flow", Physical::INT32, false),
    ("acknowledgement", Physical::BOOLEAN, false),
    ("bytes", Physical::INT32, false),
    ("dscp", Physical::INT32, false),
    ("ecn", Physical::INT32, false),
    ("created_ns", Physical::INT64, false),
    ("arrival_ns", Physical::INT64, true),
    ("dequeued_ns", Physical::INT64, true),
    ("departed_ns", Physical::INT64, true),
    ("ended_ns", Physical::INT64, false),
    ("fate", Physical::BYTE_ARRAY, false),
    ("sequence", Physical::INT64, true),
];

impl PacketFile {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<PacketFile> {
        PacketFile::new(File::create(path)?)
    }

    /// Begins to write `file`, which is empty.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(file: File) -> io::Result<PacketFile> {
        let writer = schema(COLUMNS)
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties(COLUMNS))))
            .map_err(io_error)?;
        let fates = vec![ByteArray::from("delivered")];
        Ok(PacketFile { writer, rows: Rows::default(), reasons: Vec::new(), fates, failed: None })
    }

    /// Writes what is left and ends the file.
    ///
    /// # Errors
    /// Anything of the file could not be written.
    pub fn close(mut self) -> io::Result<()> {
        self.flush();
        let closed = match self.failed.take() {
            Some(error) => Err(error),
            None => self.writer.close().map(drop),
        };
        closed.map_err(io_error)
    }

    /// Index of the name of `reason` in `fates`.
    fn place_of(&mut self, reason: DropReason) -> u16 {
        let known = self.reasons.iter().position(|known| *known == reason);
        let place = known.unwrap_or_else(|| {
            self.reasons.push(reason);
            self.fates.push(ByteArray::from(reason.name()));
            self.reasons.len() - 1
        });
        place as u16 + 1
    }

    fn flush(&mut self) {
        if self.failed.is_none()
            && !self.rows.flow.is_empty()
            && let Err(error) = self.write_rows()
        {
            self.failed = Some(error);
        }
        self.rows.clear();
    }

    fn write_rows(&mut self) -> Result<(), ParquetError> {
        let Rows {
            flow,
            acknowledgement,
            bytes,
            dscp,
            ecn,
            created,
            arrival,
            dequeued,
            departed,
            ended,
            fate,
            sequence,
        } = &self.rows;
        let fates: Vec<ByteArray> =
            fate.iter().filter_map(|fate| self.fates.get(usize::from(*fate))).cloned().collect();
        let times = [
            (created, None),
            (&arrival.values, Some(&arrival.present)),
            (&dequeued.values, Some(&dequeued.present)),
            (&departed.values, Some(&departed.present)),
            (ended, None),
        ];
        // Columns are written in the order of the schema, which Parquet demands.
        let mut group = self.writer.next_row_group()?;
        let mut next = |values: Values<'_>| match group.next_column()? {
            Some(column) => write_column(column, values),
            None => Ok(()),
        };
        next(Values::Int32(flow))?;
        next(Values::Bool(acknowledgement, None))?;
        for column in [bytes, dscp, ecn] {
            next(Values::Int32(column))?;
        }
        for (values, present) in times {
            next(Values::Int64(values, present.map(Vec::as_slice)))?;
        }
        next(Values::Text(&fates, None))?;
        next(Values::Int64(&sequence.values, Some(&sequence.present)))?;
        group.close().map(drop)
    }
}

impl Rows {
    fn clear(&mut self) {
        for column in [&mut self.flow, &mut self.bytes, &mut self.dscp, &mut self.ecn] {
            column.clear();
        }
        for column in [&mut self.arrival, &mut self.dequeued, &mut self.departed, &mut self.sequence] {
            column.present.clear();
            column.values.clear();
        }
        self.acknowledgement.clear();
        self.created.clear();
        self.ended.clear();
        self.fate.clear();
    }
}

impl Recorder for PacketFile {
    #[inline]
    fn packet(&mut self, record: &PacketRecord) {
        let fate = match record.fate {
            Fate::Delivered => 0,
            Fate::Dropped(reason) => self.place_of(reason),
        };
        let rows = &mut self.rows;
        rows.flow.push(record.flow as i32);
        rows.acknowledgement.push(record.direction == Direction::Acknowledgement);
        rows.bytes.push(record.bytes as i32);
        rows.dscp.push(i32::from(record.dscp));
        rows.ecn.push(record.ecn as i32);
        rows.created.push(nanos(record.created));
        rows.arrival.push(record.arrival.map(nanos));
        rows.dequeued.push(record.dequeued.map(nanos));
        rows.departed.push(record.departed.map(nanos));
        rows.ended.push(nanos(record.ended));
        rows.fate.push(fate);
        rows.sequence.push(record.sequence.map(|sequence| sequence as i64));
        if rows.flow.len() == ROWS {
            self.flush();
        }
    }
}

/// The values of one column of a row group; where some may be missing, with 1 for present and 0 for missing.
pub enum Values<'a> {
    /// 32-bit integers.
    Int32(&'a [i32]),
    /// Yes or no.
    Bool(&'a [bool], Option<&'a [i16]>),
    /// 64-bit integers.
    Int64(&'a [i64], Option<&'a [i16]>),
    /// Numbers.
    Double(&'a [f64], Option<&'a [i16]>),
    /// Texts.
    Text(&'a [ByteArray], Option<&'a [i16]>),
}

/// Writes a column whole.
///
/// # Errors
/// The values are not of the column's type, or the file cannot be written.
pub fn write_column(mut column: SerializedColumnWriter<'_>, values: Values<'_>) -> Result<(), ParquetError> {
    match (column.untyped(), values) {
        (ColumnWriter::Int32ColumnWriter(typed), Values::Int32(values)) => {
            typed.write_batch(values, None, None)?
        }
        (ColumnWriter::BoolColumnWriter(typed), Values::Bool(values, present)) => {
            typed.write_batch(values, present, None)?
        }
        (ColumnWriter::Int64ColumnWriter(typed), Values::Int64(values, present)) => {
            typed.write_batch(values, present, None)?
        }
        (ColumnWriter::DoubleColumnWriter(typed), Values::Double(values, present)) => {
            typed.write_batch(values, present, None)?
        }
        (ColumnWriter::ByteArrayColumnWriter(typed), Values::Text(values, present)) => {
            typed.write_batch(values, present, None)?
        }
        _ => return Err(ParquetError::General("a column of another type than declared".to_string())),
    };
    column.close()
}

/// The schema of `columns`; byte arrays are text.
///
/// # Errors
/// Two columns of one name.
pub fn schema(columns: &[(&str, Physical, bool)]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, physical, optional): &(&str, Physical, bool)| {
        let repetition = if *optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let text = (*physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, *physical);
        field.with_repetition(repetition).with_logical_type(text).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

/// Times grow slowly, so their differences are small; everything else has few values.
pub fn properties(columns: &[(&str, Physical, bool)]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("qdelay ", env!("CARGO_PKG_VERSION")).to_string())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, ..) in columns.iter().filter(|(_, physical, _)| *physical == Physical::INT64) {
        let column = ColumnPath::from(*name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// The error of the library as one of the file it wrote to.
pub fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}
