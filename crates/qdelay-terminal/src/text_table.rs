//! Tables of text, fitted to the terminal where there is one.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use std::borrow::Cow;

/// A line under the header and no other: rows are read along, columns are told apart by their blanks.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width where there is no terminal to ask and something is there to wrap.
const WIDTH: u16 = 120;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    header: Cow<'static, str>,
    alignment: CellAlignment,
    wraps: bool,
}

impl Column {
    /// Words that stay in one line.
    pub const fn left(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: false }
    }
    /// Words that stay in one line, under a name that comes from data.
    pub fn named(header: String) -> Column {
        Column { header: Cow::Owned(header), alignment: CellAlignment::Left, wraps: false }
    }
    /// Numbers.
    pub const fn right(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Right, wraps: false }
    }
    /// Sentences that are cut into lines where there is no room.
    pub const fn wrapped(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: true }
    }
}

/// A table as text, fitted to the terminal where there is one.
pub fn table(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| column.header.as_ref()));
    for (index, column) in columns.iter().enumerate() {
        if let Some(set) = table.column_mut(index) {
            // With the blank that stands for a separator, columns are two blanks apart.
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

/// Tenths below 100 ms, whole ones above: about as much as a percentile of a run is worth.
pub fn milliseconds(ms: f64) -> String {
    if ms < 99.95 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}
