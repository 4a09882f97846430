//! `series.parquet`: a row for each bin of time, of the bottleneck as a whole (group `""`) and then of each group.

use crate::InputError;
use crate::files::{self, cannot_write};
use crate::results::Series;
use parquet::basic::Type as Physical;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use qdelay_record::parquet::{Values, io_error, properties, schema, write_column};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Capacity, backlog, drops and marks are of the bottleneck as a whole and missing in the rows of groups; what follows them is
/// of a cell, and last the green bias of DSD.
const COLUMNS: &[(&str, Physical, bool)] = &[
    ("start_s", Physical::DOUBLE, false),
    ("group", Physical::BYTE_ARRAY, false),
    ("throughput_mbps", Physical::DOUBLE, false),
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
];

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, series: &Series) -> Result<(), InputError> {
    let file = files::create(path).map_err(|error| cannot_write(path, &error))?;
    fill(file, series).map_err(|error| cannot_write(path, &io_error(error)))
}

fn fill(file: File, series: &Series) -> Result<(), ParquetError> {
    let mut writer = SerializedFileWriter::new(file, schema(COLUMNS)?, Arc::new(properties(COLUMNS)))?;
    let cell = series.cell.clone().unwrap_or_default();
    let whole = Part {
        name: "",
        throughput: &series.throughput_mbps,
        mean: &series.delay_mean_ms,
        max: &series.delay_max_ms,
        capacity: &series.capacity_mbps,
        counts: [
            &series.backlog_packets,
            &series.drops,
            &series.marks,
            &cell.rlc_bytes_max,
            &cell.rlc_packets_max,
            &cell.rbs_offered,
            &cell.rbs_used,
        ],
        levels: [&cell.rlc_bytes_mean, &cell.rlc_packets_mean],
        mcs: &cell.mcs,
        green_bias: &series.green_bias,
    };
    write_part(&mut writer, series.bin_s, &whole)?;
    for (name, group) in &series.groups {
        let part = Part {
            name,
            throughput: &group.throughput_mbps,
            mean: &group.delay_mean_ms,
            max: &group.delay_max_ms,
            capacity: &[],
            counts: [&[]; 7],
            levels: [&[]; 2],
            mcs: &[],
            green_bias: &[],
        };
        write_part(&mut writer, series.bin_s, &part)?;
    }
    writer.close().map(drop)
}

/// The rows of the whole or of a group; empty lists are columns without a value.
struct Part<'a> {
    name: &'a str,
    throughput: &'a [f64],
    mean: &'a [Option<f64>],
    max: &'a [Option<f64>],
    capacity: &'a [Option<f64>],
    counts: [&'a [u64]; 7],
    levels: [&'a [f64]; 2],
    mcs: &'a [Option<f64>],
    green_bias: &'a [f64],
}

fn write_part(
    writer: &mut SerializedFileWriter<File>,
    bin_s: f64,
    part: &Part<'_>,
) -> Result<(), ParquetError> {
    let rows = part.throughput.len();
    if rows == 0 {
        return Ok(());
    }
    let starts: Vec<f64> = (0..rows).map(|bin| bin as f64 * bin_s).collect();
    let names = vec![ByteArray::from(part.name); rows];
    let mut group = writer.next_row_group()?;
    let mut next = |values: Values<'_>| match group.next_column()? {
        Some(column) => write_column(column, values),
        None => Ok(()),
    };
    next(Values::Double(&starts, None))?;
    next(Values::Text(&names, None))?;
    next(Values::Double(part.throughput, None))?;
    for column in [part.mean, part.max, part.capacity] {
        let (values, present) = with_gaps(rows, column);
        next(Values::Double(&values, Some(&present)))?;
    }
    for counts in part.counts {
        let values: Vec<i64> = counts.iter().map(|count| *count as i64).collect();
        let present = vec![i16::from(!values.is_empty()); rows];
        next(Values::Int64(&values, Some(&present)))?;
    }
    let all = |values: &[f64]| vec![i16::from(!values.is_empty()); rows];
    for levels in part.levels {
        next(Values::Double(levels, Some(&all(levels))))?;
    }
    let (values, present) = with_gaps(rows, part.mcs);
    next(Values::Double(&values, Some(&present)))?;
    next(Values::Double(part.green_bias, Some(&all(part.green_bias))))?;
    group.close().map(drop)
}

fn with_gaps(rows: usize, column: &[Option<f64>]) -> (Vec<f64>, Vec<i16>) {
    let present = (0..rows).map(|row| i16::from(column.get(row).is_some_and(Option::is_some))).collect();
    (column.iter().flatten().copied().collect(), present)
}
