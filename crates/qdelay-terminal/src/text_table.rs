//! Text tables, fitted to the terminal's width.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use std::borrow::Cow;

/// A line under the header and no others: columns are separated by blanks.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width of a table with wrapped columns if there is no terminal.
const WIDTH: u16 = 120;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    header: Cow<'static, str>,
    alignment: CellAlignment,
    wraps: bool,
}

impl Column {
    /// Text that is not wrapped.
    pub const fn left(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: false }
    }
    /// Text that is not wrapped, with a header taken from data.
    pub fn named(header: String) -> Column {
        Column { header: Cow::Owned(header), alignment: CellAlignment::Left, wraps: false }
    }
    /// Numbers.
    pub const fn right(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Right, wraps: false }
    }
    /// Sentences that are wrapped if the table is too wide.
    pub const fn wrapped(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: true }
    }
}

/// A table as text, fitted to the terminal's width.
pub fn table(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| column.header.as_ref()));
    for (index, column) in columns.iter().enumerate() {
        if let Some(set) = table.column_mut(index) {
            // Together with the blank of the separator, columns are two blanks apart.
            set.set_cell_alignment(column.alignment);
            set.set_padding((0, 1));
            if !column.wraps {
                set.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    table.add_rows(rows);
    if !table.is_tty() && columns.iter().any(|column| column.wraps) {
        table.set_width(WIDTH);
    }
    table.trim_fmt()
}

/// One decimal below 100 ms, none above: about the precision of a run's percentile.
pub fn milliseconds(ms: f64) -> String {
    if ms < 99.95 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}
