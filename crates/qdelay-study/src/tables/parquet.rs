//! Tables as Parquet files. The key `qdelay.columns` in the metadata of a file has a JSON object with the description and unit of
//! each column.

use super::{Cells, Column, Table};
use crate::InputError;
use crate::files::{Partial, cannot_write};
use parquet::basic::Type as Physical;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use qdelay_record::parquet::{Values, io_error, properties, schema, write_column};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Metadata key with the descriptions of the columns.
const COLUMNS: &str = "qdelay.columns";

/// Writes the file in one step: complete or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write(table: &Table, path: &Path) -> Result<(), InputError> {
    let written = || {
        let partial = Partial::file(path)?;
        fill(partial.handle().try_clone()?, table).map_err(io_error)?;
        partial.finish()
    };
    written().map_err(|error| cannot_write(path, &error))
}

fn fill(file: File, table: &Table) -> Result<(), ParquetError> {
    let kind = |column: &Column| match column.cells {
        Cells::Text(_) => Physical::BYTE_ARRAY,
        Cells::Switch(_) => Physical::BOOLEAN,
        Cells::Whole(_) => Physical::INT64,
        Cells::Number(_) => Physical::DOUBLE,
    };
    let declared: Vec<(&str, Physical, bool)> =
        table.columns.iter().map(|column| (column.name.as_str(), kind(column), true)).collect();
    let mut writer = SerializedFileWriter::new(file, schema(&declared)?, Arc::new(properties(&declared)))?;
    let about: BTreeMap<&str, &str> =
        table.columns.iter().map(|column| (column.name.as_str(), column.about.as_str())).collect();
    let about = serde_json::to_string(&about).unwrap_or_default();
    writer.append_key_value_metadata(KeyValue::new(COLUMNS.to_string(), about));
    // A table without rows has a schema, but no row group.
    if table.rows > 0 {
        let mut group = writer.next_row_group()?;
        for column in &table.columns {
            let Some(writer) = group.next_column()? else { break };
            match &column.cells {
                Cells::Text(cells) => {
                    let (values, present) = with_gaps(cells);
                    let values: Vec<ByteArray> =
                        values.iter().map(|text| ByteArray::from(text.as_str())).collect();
                    write_column(writer, Values::Text(&values, Some(&present)))?;
                }
                Cells::Switch(cells) => {
                    let (values, present) = with_gaps(cells);
                    write_column(writer, Values::Bool(&values, Some(&present)))?;
                }
                Cells::Whole(cells) => {
                    let (values, present) = with_gaps(cells);
                    write_column(writer, Values::Int64(&values, Some(&present)))?;
                }
                Cells::Number(cells) => {
                    let (values, present) = with_gaps(cells);
                    write_column(writer, Values::Double(&values, Some(&present)))?;
                }
            }
        }
        group.close()?;
    }
    writer.close().map(drop)
}

/// The values present, and for each row 1 if it has a value, otherwise 0.
fn with_gaps<T: Clone>(cells: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let present = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    (cells.iter().flatten().cloned().collect(), present)
}
