//! `series.parquet`: a row for each bin, first of the bottleneck as a whole (group `""`), then of each group, then of each flow
//! that has figures over time of its application or connection. [`table`] has the same rows in memory.

use crate::InputError;
use crate::files::{self, cannot_write};
use crate::results::{FlowSeries, Series};
use crate::tables::{Cells, Column as TableColumn, Table};
use parquet::basic::Type as Physical;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use qdelay_record::entity::{Entity, Field, Shape};
use qdelay_record::parquet::{Values, io_error, properties, schema, write_column};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Columns of every file. Capacity, backlog, drops and marks belong to the bottleneck as a whole and are missing in other rows.
/// Then come columns of a cell, the green bias of DSD, and columns of applications.
const COLUMNS: &[(&str, Physical, bool)] = &[
    ("start_s", Physical::DOUBLE, false),
    ("group", Physical::BYTE_ARRAY, false),
    ("throughput_mbps", Physical::DOUBLE, true),
    ("delay_mean_ms", Physical::DOUBLE, true),
    ("delay_max_ms", Physical::DOUBLE, true),
    ("capacity_mbps", Physical::DOUBLE, true),
    ("backlog_packets", Physical::INT64, true),
    ("drops", Physical::INT64, true),
    ("marks", Physical::INT64, true),
    ("rlc_bytes_max", Physical::INT64, true),
    ("rlc_packets_max", Physical::INT64, true),
    ("rbs_offered", Physical::INT64, true),
    ("rbs_used", Physical::INT64, true),
    ("rlc_bytes_mean", Physical::DOUBLE, true),
    ("rlc_packets_mean", Physical::DOUBLE, true),
    ("mcs", Physical::DOUBLE, true),
    ("green_bias", Physical::DOUBLE, true),
    ("flow", Physical::BYTE_ARRAY, true),
    ("target_mbps", Physical::DOUBLE, true),
    ("encoded_mbps", Physical::DOUBLE, true),
    ("height", Physical::INT64, true),
    ("frame_delay_mean_ms", Physical::DOUBLE, true),
    ("frame_delay_max_ms", Physical::DOUBLE, true),
    ("display_mean_ms", Physical::DOUBLE, true),
    ("display_max_ms", Physical::DOUBLE, true),
    ("frames_shown", Physical::INT64, true),
    ("frames_late", Physical::INT64, true),
    ("frames_not_shown", Physical::INT64, true),
    ("frozen_ms", Physical::DOUBLE, true),
    ("buffer_s", Physical::DOUBLE, true),
    ("chosen_mbps", Physical::DOUBLE, true),
    ("shown_mbps", Physical::DOUBLE, true),
    ("startup_ms", Physical::DOUBLE, true),
    ("stalled_ms", Physical::DOUBLE, true),
    ("chunks", Physical::INT64, true),
    ("qoe", Physical::DOUBLE, true),
    ("pages", Physical::INT64, true),
    ("load_mean_ms", Physical::DOUBLE, true),
    ("load_max_ms", Physical::DOUBLE, true),
];

/// Columns of a cell with rank adaptation, present in its file.
const OF_RANKS: &[(&str, Physical, bool)] = &[("rank", Physical::DOUBLE, true)];

/// Columns of connections, present if some flow has them.
const OF_CONNECTIONS: &[(&str, Physical, bool)] = &[
    ("cwnd_bytes", Physical::INT64, true),
    ("ssthresh_bytes", Physical::INT64, true),
    ("in_flight_bytes", Physical::INT64, true),
    ("srtt_ms", Physical::DOUBLE, true),
    ("rtt_ms", Physical::DOUBLE, true),
    ("pacing_mbps", Physical::DOUBLE, true),
    ("delivery_mbps", Physical::DOUBLE, true),
    ("retransmits", Physical::INT64, true),
    ("ca_state", Physical::INT64, true),
];

/// The columns for these series. A file without connections and ranks has the same columns as in versions before these existed.
fn columns(series: &Series) -> Vec<(&'static str, Physical, bool)> {
    let has_connections = series.flows.values().any(|flow| flow.connection.is_some());
    let has_ranks = series.cell.as_ref().is_some_and(|cell| !cell.rank.is_empty());
    let ranks = if has_ranks { OF_RANKS } else { &[] };
    let more = if has_connections { OF_CONNECTIONS } else { &[] };
    COLUMNS.iter().chain(ranks).chain(more).copied().collect()
}

/// Writes `series.parquet`.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, series: &Series) -> Result<(), InputError> {
    let file = files::create(path).map_err(|error| cannot_write(path, &error))?;
    fill(file, series).map_err(|error| cannot_write(path, &io_error(error)))
}

/// Name and values of a column; a part has no values in the columns that it does not list.
type Column<'a> = (&'static str, List<'a>);

/// Values of a column, in one of the types that series have.
enum List<'a> {
    All(&'a [f64]),
    Some(&'a [Option<f64>]),
    Counts(&'a [u64]),
    SomeCounts(&'a [Option<u32>]),
    SomeBytes(&'a [Option<u64>]),
}

/// Rows of the bottleneck as a whole, of a group or of a flow.
struct Part<'a> {
    group: &'a str,
    flow: Option<&'a str>,
    columns: Vec<Column<'a>>,
}

fn fill(file: File, series: &Series) -> Result<(), ParquetError> {
    let columns = columns(series);
    let mut writer = SerializedFileWriter::new(file, schema(&columns)?, Arc::new(properties(&columns)))?;
    let rows = series.throughput_mbps.len();
    let starts = starts(series);
    for part in parts(series).iter().filter(|_| rows > 0) {
        write_part(&mut writer, &columns, &starts, part)?;
    }
    writer.close().map(drop)
}

fn parts(series: &Series) -> Vec<Part<'_>> {
    let mut whole = vec![
        ("throughput_mbps", List::All(&series.throughput_mbps)),
        ("delay_mean_ms", List::Some(&series.delay_mean_ms)),
        ("delay_max_ms", List::Some(&series.delay_max_ms)),
        ("capacity_mbps", List::Some(&series.capacity_mbps)),
        ("backlog_packets", List::Counts(&series.backlog_packets)),
        ("drops", List::Counts(&series.drops)),
        ("marks", List::Counts(&series.marks)),
        ("green_bias", List::All(&series.green_bias)),
    ];
    // Columns of a cell belong to the rows of the bottleneck as a whole.
    if let Some(cell) = &series.cell {
        whole.extend([
            ("rlc_bytes_max", List::Counts(&cell.rlc_bytes_max)),
            ("rlc_packets_max", List::Counts(&cell.rlc_packets_max)),
            ("rbs_offered", List::Counts(&cell.rbs_offered)),
            ("rbs_used", List::Counts(&cell.rbs_used)),
            ("rlc_bytes_mean", List::All(&cell.rlc_bytes_mean)),
            ("rlc_packets_mean", List::All(&cell.rlc_packets_mean)),
            ("mcs", List::Some(&cell.mcs)),
            ("rank", List::Some(&cell.rank)),
        ]);
    }
    let groups = series.groups.iter().map(|(name, group)| {
        let columns = vec![
            ("throughput_mbps", List::All(&group.throughput_mbps)),
            ("delay_mean_ms", List::Some(&group.delay_mean_ms)),
            ("delay_max_ms", List::Some(&group.delay_max_ms)),
        ];
        Part { group: name, flow: None, columns }
    });
    let flows = series.flows.iter();
    let flows = flows.map(|(name, flow)| Part { group: "", flow: Some(name), columns: flow_columns(flow) });
    [Part { group: "", flow: None, columns: whole }].into_iter().chain(groups).chain(flows).collect()
}

fn flow_columns(flow: &FlowSeries) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    // Each application has its own columns; the columns of others stay empty.
    if let Some(video) = &flow.video {
        columns.extend([
            ("target_mbps", List::Some(&video.target_mbps)),
            ("encoded_mbps", List::All(&video.encoded_mbps)),
            ("height", List::SomeCounts(&video.height)),
            ("frame_delay_mean_ms", List::Some(&video.delay_mean_ms)),
            ("frame_delay_max_ms", List::Some(&video.delay_max_ms)),
            ("display_mean_ms", List::Some(&video.display_mean_ms)),
            ("display_max_ms", List::Some(&video.display_max_ms)),
            ("frames_shown", List::Counts(&video.shown)),
            ("frames_late", List::Counts(&video.late)),
            ("frames_not_shown", List::Counts(&video.not_shown)),
            ("frozen_ms", List::All(&video.frozen_ms)),
        ]);
    }
    if let Some(stream) = &flow.stream {
        columns.extend([
            ("buffer_s", List::Some(&stream.buffer_s)),
            ("chosen_mbps", List::Some(&stream.chosen_mbps)),
            ("shown_mbps", List::Some(&stream.shown_mbps)),
            ("startup_ms", List::All(&stream.startup_ms)),
            ("stalled_ms", List::All(&stream.stalled_ms)),
            ("chunks", List::Counts(&stream.chunks)),
            ("qoe", List::All(&stream.qoe)),
        ]);
    }
    if let Some(web) = &flow.web {
        columns.extend([
            ("pages", List::Counts(&web.pages)),
            ("load_mean_ms", List::Some(&web.load_mean_ms)),
            ("load_max_ms", List::Some(&web.load_max_ms)),
        ]);
    }
    if let Some(connection) = &flow.connection {
        columns.extend([
            ("cwnd_bytes", List::SomeBytes(&connection.cwnd_bytes)),
            ("ssthresh_bytes", List::SomeBytes(&connection.ssthresh_bytes)),
            ("in_flight_bytes", List::SomeBytes(&connection.in_flight_bytes)),
            ("srtt_ms", List::Some(&connection.srtt_ms)),
            ("rtt_ms", List::Some(&connection.rtt_ms)),
            ("pacing_mbps", List::Some(&connection.pacing_mbps)),
            ("delivery_mbps", List::Some(&connection.delivery_mbps)),
            ("retransmits", List::Counts(&connection.retransmits)),
            ("ca_state", List::SomeCounts(&connection.ca_state)),
        ]);
    }
    columns
}

fn write_part(
    writer: &mut SerializedFileWriter<File>,
    columns: &[(&'static str, Physical, bool)],
    starts: &[f64],
    part: &Part<'_>,
) -> Result<(), ParquetError> {
    let rows = starts.len();
    let mut rows_of = writer.next_row_group()?;
    // One row group for each part, so that memory holds a single part.
    for &(name, physical, _) in columns {
        let Some(column) = rows_of.next_column()? else { break };
        let list = part.columns.iter().find(|(known, _)| *known == name).map(|(_, list)| list);
        match (name, physical) {
            ("start_s", _) => write_column(column, Values::Double(starts, None))?,
            ("group", _) => {
                write_column(column, Values::Text(&vec![ByteArray::from(part.group); rows], None))?;
            }
            ("flow", _) => {
                let names =
                    vec![ByteArray::from(part.flow.unwrap_or_default()); part.flow.map_or(0, |_| rows)];
                let present = vec![i16::from(part.flow.is_some()); rows];
                write_column(column, Values::Text(&names, Some(&present)))?;
            }
            (_, Physical::INT64) => {
                let (values, present) = gaps(rows, list.map_or_else(Vec::new, List::counts));
                write_column(column, Values::Int64(&values, Some(&present)))?;
            }
            _ => {
                let (values, present) = gaps(rows, list.map_or_else(Vec::new, List::values));
                write_column(column, Values::Double(&values, Some(&present)))?;
            }
        }
    }
    rows_of.close().map(drop)
}

impl List<'_> {
    fn values(&self) -> Vec<Option<f64>> {
        match self {
            List::All(values) => values.iter().copied().map(Some).collect(),
            List::Some(values) => values.to_vec(),
            List::Counts(_) | List::SomeCounts(_) | List::SomeBytes(_) => Vec::new(),
        }
    }

    fn counts(&self) -> Vec<Option<i64>> {
        match self {
            List::Counts(counts) => counts.iter().map(|count| Some(*count as i64)).collect(),
            List::SomeCounts(counts) => counts.iter().map(|count| count.map(i64::from)).collect(),
            List::SomeBytes(bytes) => bytes.iter().map(|bytes| bytes.map(|bytes| bytes as i64)).collect(),
            List::All(_) | List::Some(_) => Vec::new(),
        }
    }
}

/// The rows of the file as a table in memory, with the description of each column.
pub fn table(series: &Series) -> Table {
    let bins = series.throughput_mbps.len();
    let parts = parts(series);
    let columns: Vec<TableColumn> = columns(series)
        .into_iter()
        .map(|(name, physical, _)| {
            let cells = match name {
                "start_s" => Cells::Number(
                    starts(series).into_iter().map(Some).cycle().take(bins * parts.len()).collect(),
                ),
                "group" => Cells::Text(each(&parts, bins, |part| Some(part.group.to_string()))),
                "flow" => Cells::Text(each(&parts, bins, |part| part.flow.map(str::to_string))),
                _ if physical == Physical::INT64 => {
                    Cells::Whole(part_values(&parts, bins, name, List::counts))
                }
                _ => Cells::Number(part_values(&parts, bins, name, List::values)),
            };
            TableColumn { name: name.to_string(), about: about(name), cells }
        })
        .collect();
    Table { columns, rows: bins * parts.len() }
}

/// One value for each part, repeated over all bins.
fn each<T: Clone>(parts: &[Part<'_>], bins: usize, of: impl Fn(&Part<'_>) -> T) -> Vec<T> {
    parts.iter().flat_map(|part| vec![of(part); bins]).collect()
}

/// The values of a column in all parts, with gaps in parts that lack it.
fn part_values<'a, T: Copy>(
    parts: &[Part<'a>],
    bins: usize,
    name: &str,
    of: impl Fn(&List<'a>) -> Vec<Option<T>>,
) -> Vec<Option<T>> {
    let values = |part: &Part<'a>| {
        let list = part.columns.iter().find(|(known, _)| *known == name).map(|(_, list)| of(list));
        let mut list = list.unwrap_or_default();
        list.resize(bins, None);
        list
    };
    parts.iter().flat_map(values).collect()
}

/// Start of each bin, seconds.
fn starts(series: &Series) -> Vec<f64> {
    (0..series.throughput_mbps.len()).map(|bin| bin as f64 * series.bin_s).collect()
}

/// Description of a column: that of the result field with its values.
fn about(name: &str) -> String {
    match name {
        "start_s" => return "Start of the bin, seconds.".to_string(),
        "group" => {
            return "Entry of `[[flow]]`; empty in rows of the bottleneck as a whole and of a flow."
                .to_string();
        }
        "flow" => return "Flow; missing in all other rows.".to_string(),
        _ => {}
    }
    fn find(shape: Shape, name: &str) -> Option<&'static str> {
        match shape {
            Shape::Fields(_, fields) => {
                let own = Field::named(fields, name).map(|field| field.about);
                own.or_else(|| fields.iter().find_map(|field| find((field.shape)(), name)))
            }
            Shape::Named(of) => find(of(), name),
            Shape::List(_) | Shape::Number | Shape::Text => None,
        }
    }
    // Columns of video calls have a prefix that their fields lack, such as `frame_delay_mean_ms` for `delay_mean_ms`.
    let plain = name.trim_start_matches("frames_").trim_start_matches("frame_");
    let found = find(Series::shape(), name).or_else(|| find(Series::shape(), plain));
    found.unwrap_or_default().trim().to_string()
}

/// The values present, and for each row 1 if it has a value, otherwise 0.
fn gaps<T: Copy>(rows: usize, column: Vec<Option<T>>) -> (Vec<T>, Vec<i16>) {
    let present = (0..rows).map(|row| i16::from(column.get(row).is_some_and(Option::is_some))).collect();
    (column.into_iter().flatten().collect(), present)
}
