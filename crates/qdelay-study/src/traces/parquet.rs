//! Tables in Parquet files, as the text of a table with a header: what reads such text reads them by the same words.
//!
//! Columns of numbers, texts, dates and times are read, those of structures too; lists and maps are left out. A null is an empty field. Times
//! with a unit become dates or times of day, so that no key has to say their unit.

mod cell;
mod values;

use bytes::Bytes;
use cell::Form;
use parquet::basic::{Compression, Type};
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use values::Values;

/// Beginning of a Parquet file.
pub(super) const BEGINNING: &[u8] = b"PAR1";
/// Largest file. It is kept in memory, because its index is at its end.
const FILE_BYTES_MAX: u64 = 512 << 20;
/// Most bytes that a column of a row group may unpack to: as much as pandas, Polars and DuckDB put into several.
const COLUMN_BYTES_MAX: i64 = 1 << 30;
/// Most rows, of which a column without values needs no bytes.
const ROWS_MAX: i64 = 100_000_000;
const COLUMNS_MAX: usize = 10_000;
/// Rows that are read at once.
const BATCH: usize = 1024;

/// The table in `input` as text.
///
/// # Errors
/// The file is too large, damaged, or compressed by a codec that is not read.
pub(super) fn text<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut bytes = Vec::new();
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let most =
            format!("it is a Parquet file of more than {} MB; expected at most that", FILE_BYTES_MAX >> 20);
        return Err(io::Error::other(most));
    }
    let file_bytes = bytes.len() as u64;
    let bytes = Bytes::from(bytes);
    let file = SerializedFileReader::new(bytes.clone()).map_err(damaged)?;
    let metadata = file.metadata();
    if metadata.file_metadata().num_rows() > ROWS_MAX {
        return Err(io::Error::other(format!(
            "it is a Parquet file of more than {ROWS_MAX} rows; expected at most that"
        )));
    }
    let schema = metadata.file_metadata().schema_descr();
    let columns: Vec<Column> = (0..schema.num_columns().min(COLUMNS_MAX))
        .map(|index| (index, schema.column(index)))
        .filter(|(_, column)| column.max_rep_level() == 0)
        .map(|(index, column)| Column {
            index,
            form: Form::of_column(&column),
            kind: column.physical_type(),
            length: column.type_length(),
            level: column.max_def_level(),
        })
        .collect();
    for group in metadata.row_groups() {
        columns.iter().try_for_each(|column| check(group.column(column.index), file_bytes))?;
    }
    let mut text = String::new();
    for (place, column) in columns.iter().enumerate() {
        text.push_str(if place > 0 { "," } else { "" });
        cell::quote(&mut text, &schema.column(column.index).path().string());
    }
    text.push('\n');
    Ok(Box::new(Table {
        file,
        bytes: Arc::new(bytes),
        columns,
        group: 0,
        readers: Vec::new(),
        rows: 0,
        text,
        given: 0,
    }))
}

/// Refuses a column that is too large or that nothing here unpacks.
fn check(column: &ColumnChunkMetaData, file_bytes: u64) -> io::Result<()> {
    let codec = match column.compression() {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => None,
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZ4 | Compression::LZ4_RAW => Some("lz4"),
        Compression::LZO => Some("lzo"),
    };
    let name = column.column_path().string().escape_debug().to_string();
    if let Some(codec) = codec {
        return Err(io::Error::other(format!(
            "it is a Parquet file with column '{name}' compressed by {codec}, which is not read; expected zstd, snappy, gzip or none, as pandas' \
             to_parquet(compression='snappy') and Polars' write_parquet(compression='snappy') write it"
        )));
    }
    // The reader of the column would panic.
    let begin = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let is_within = |end: i64| end >= 0 && end as u64 <= file_bytes;
    let end = begin.checked_add(column.compressed_size());
    if begin < 0 || column.compressed_size() < 0 || !end.is_some_and(is_within) {
        return Err(damaged(ParquetError::EOF(format!("column '{name}' is not within the file"))));
    }
    if column.uncompressed_size() > COLUMN_BYTES_MAX {
        return Err(io::Error::other(format!(
            "it is a Parquet file with column '{name}' of {} MB in one row group; expected at most {}",
            column.uncompressed_size() >> 20,
            COLUMN_BYTES_MAX >> 20
        )));
    }
    Ok(())
}

fn damaged(error: ParquetError) -> io::Error {
    let error = error.to_string().replace('\n', " ");
    io::Error::new(ErrorKind::InvalidData, format!("it is a Parquet file and damaged ({error})"))
}

/// Pages of a column without unpacking.
fn as_they_are(
    bytes: &Arc<Bytes>,
    metadata: &ColumnChunkMetaData,
    rows: i64,
) -> Result<Box<dyn PageReader>, ParquetError> {
    let metadata = metadata.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let rows = usize::try_from(rows).unwrap_or(0);
    Ok(Box::new(SerializedPageReader::new(Arc::clone(bytes), &metadata, rows, None)?))
}

/// A column that is read.
struct Column {
    /// Place in the file.
    index: usize,
    form: Form,
    kind: Type,
    /// Bytes of a value of fixed length.
    length: i32,
    /// Definition level of a value; 0 if there are no nulls.
    level: i16,
}

/// Rows of a table as text.
struct Table {
    file: SerializedFileReader<Bytes>,
    bytes: Arc<Bytes>,
    columns: Vec<Column>,
    /// The next row group, and the columns of the one before it.
    group: usize,
    readers: Vec<Values>,
    /// Rows that have been read.
    rows: i64,
    /// Text of a batch of rows, of which `given` bytes have been read.
    text: String,
    given: usize,
}

impl Table {
    /// Adds the next row of the row group to the text; false at its end.
    fn row(&mut self) -> Result<bool, ParquetError> {
        let wrong = |what: &str| Err(ParquetError::General(what.to_string()));
        let mut values = 0;
        for (place, (reader, column)) in self.readers.iter_mut().zip(&self.columns).enumerate() {
            let Some(value) = reader.next()? else { break };
            values += 1;
            self.text.push_str(if place > 0 { "," } else { "" });
            column.form.write(&mut self.text, value.as_ref());
        }
        if values == 0 {
            return Ok(false);
        }
        if values < self.readers.len() {
            return wrong("columns of different lengths");
        }
        self.text.push('\n');
        self.rows += 1;
        if self.rows > ROWS_MAX { wrong("more rows than it says") } else { Ok(true) }
    }

    /// Reads a batch of rows; false at the end.
    fn next(&mut self) -> Result<bool, ParquetError> {
        self.text.clear();
        self.given = 0;
        loop {
            for _ in 0..BATCH {
                if !self.row()? {
                    break;
                }
            }
            if !self.text.is_empty() {
                return Ok(true);
            }
            if self.group >= self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            self.group += 1;
            let reader = |column: &Column| {
                let metadata = group.metadata().column(column.index);
                let is_zstd = matches!(metadata.compression(), Compression::ZSTD(_));
                let pages = match is_zstd {
                    // The crate's codec is C: its pages are given as they are, and unpacked with the values.
                    true => as_they_are(&self.bytes, metadata, group.metadata().num_rows())?,
                    false => group.get_column_page_reader(column.index)?,
                };
                Ok(Values::new(pages, column.kind, column.length, column.level, is_zstd))
            };
            self.readers = self.columns.iter().map(reader).collect::<Result<_, ParquetError>>()?;
        }
    }
}

impl Read for Table {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if !self.next().map_err(damaged)? {
                return Ok(0);
            }
        }
        let left = &self.text.as_bytes()[self.given..];
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
