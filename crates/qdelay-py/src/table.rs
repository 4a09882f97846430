//! Results as columns over Arrow's C stream interface, which Polars, PyArrow, pandas and DuckDB read directly.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use qdelay_study::tables::{self, Cells};
use std::sync::Arc;

/// Columns of equal length. A field's metadata has `about`: description and unit of the column.
#[pyclass(frozen, module = "qdelay")]
pub struct Table {
    batches: Vec<RecordBatch>,
    schema: Arc<Schema>,
}

impl Table {
    /// Copies the columns of `table`, once.
    pub fn from_table(table: &tables::Table) -> PyResult<Table> {
        let field = |column: &tables::Column| {
            let kind = match column.cells {
                Cells::Text(_) => DataType::Utf8,
                Cells::Switch(_) => DataType::Boolean,
                Cells::Whole(_) => DataType::Int64,
                Cells::Number(_) => DataType::Float64,
            };
            Field::new(&column.name, kind, true).with_metadata([("about", column.about.as_str())])
        };
        let schema = Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()));
        let columns = table.columns.iter().map(|column| array(&column.cells)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(fault)?;
        Ok(Table { batches: vec![batch], schema })
    }

    /// Shares the columns of `batches`.
    pub fn of_batches(batches: Vec<RecordBatch>, schema: Arc<Schema>) -> Table {
        Table { batches, schema }
    }
}

#[pymethods]
impl Table {
    /// Capsule of Arrow's C stream interface. Readers share the columns without a copy.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The consumer must accept the schema of the stream.
        drop(requested_schema);
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Name, description and unit of each column.
    fn units(&self) -> Vec<(String, String)> {
        let about = |field: &Arc<Field>| field.metadata().get("about").cloned().unwrap_or_default();
        self.schema.fields().iter().map(|field| (field.name().clone(), about(field))).collect()
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

fn array(cells: &Cells) -> ArrayRef {
    match cells {
        Cells::Text(cells) => {
            let mut builder = StringBuilder::new();
            cells.iter().for_each(|cell| builder.append_option(cell.as_deref()));
            Arc::new(builder.finish())
        }
        Cells::Switch(cells) => {
            let mut builder = BooleanBuilder::new();
            cells.iter().for_each(|cell| builder.append_option(*cell));
            Arc::new(builder.finish())
        }
        Cells::Whole(cells) => {
            let mut builder = Int64Builder::new();
            cells.iter().for_each(|cell| builder.append_option(*cell));
            Arc::new(builder.finish())
        }
        Cells::Number(cells) => {
            let mut builder = Float64Builder::new();
            cells.iter().for_each(|cell| builder.append_option(*cell));
            Arc::new(builder.finish())
        }
    }
}

fn fault(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
