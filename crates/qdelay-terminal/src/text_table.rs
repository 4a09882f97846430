//! Text tables that fit the terminal's width.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use std::borrow::Cow;

/// Style with a line under the header only; blanks separate columns.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width in columns of a table with wrapped cells if there is no terminal.
const WIDTH: u16 = 120;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    header: Cow<'static, str>,
    alignment: CellAlignment,
    wraps: bool,
    /// Rank for hiding the column on narrow terminals: the column with the highest rank is hidden first, 0 never.
    gives_way: u8,
}

impl Column {
    /// Creates a column of text that is not wrapped.
    pub const fn left(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: false, gives_way: 0 }
    }
    /// Creates a column of text that is not wrapped, with a header from data.
    pub fn named(header: String) -> Column {
        Column { header: Cow::Owned(header), alignment: CellAlignment::Left, wraps: false, gives_way: 0 }
    }
    /// Creates a column of numbers.
    pub const fn right(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Right, wraps: false, gives_way: 0 }
    }
    /// Creates a column of sentences that are wrapped if the table is too wide.
    pub const fn wrapped(header: &'static str) -> Column {
        Column { header: Cow::Borrowed(header), alignment: CellAlignment::Left, wraps: true, gives_way: 0 }
    }
    /// Permits hiding the column if the terminal is too narrow: the column with the highest rank is hidden first.
    #[must_use]
    pub fn gives_way(self, rank: u8) -> Column {
        Column { gives_way: rank, ..self }
    }
    /// Width that the values `cells` need in terminal columns, including the blanks before the next column.
    fn width<'a>(&'a self, cells: impl Iterator<Item = &'a String>) -> usize {
        let lines = self.header.lines().chain(cells.map(String::as_str));
        lines.map(|line| line.chars().count()).max().unwrap_or(0) + 2
    }
}

/// Indices of the columns that fit `width`; the others are hidden.
fn fitting(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(
            |(place, column)| {
                if column.wraps { 0 } else { column.width(rows.iter().filter_map(|row| row.get(place))) }
            },
        )
        .collect();
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    while shown.iter().map(|place| widths[*place]).sum::<usize>() > width.saturating_add(2) {
        let last = shown.iter().copied().max_by_key(|place| columns[*place].gives_way);
        match last.filter(|place| columns[*place].gives_way > 0) {
            Some(last) => shown.retain(|place| *place != last),
            None => break,
        }
    }
    shown
}

/// Formats a table that fits the terminal's width. A line below it names the hidden columns.
pub fn table(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    let width = if table.is_tty() { table.width().map(usize::from) } else { None };
    let shown = fitting(columns, &rows, width.unwrap_or(usize::MAX));
    let hidden = columns.iter().enumerate().filter(|(place, _)| !shown.contains(place));
    let hidden: Vec<String> = hidden.map(|(_, column)| column.header.replace('\n', " ")).collect();
    let columns: Vec<&Column> = shown.iter().map(|place| &columns[*place]).collect();
    let of_row = |row: Vec<String>| -> Vec<String> {
        shown.iter().filter_map(|place| row.get(*place).cloned()).collect()
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(of_row).collect();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| column.header.as_ref()));
    for (index, column) in columns.iter().enumerate() {
        if let Some(set) = table.column_mut(index) {
            // Two blanks separate columns: this one and the separator's.
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
    let text = table.trim_fmt();
    if hidden.is_empty() {
        text
    } else {
        format!("{text}\n(wider terminals also show {})", hidden.join(", "))
    }
}

/// Formats milliseconds: one decimal below 100 ms, none above, which matches the precision of a run's percentiles.
pub fn milliseconds(ms: f64) -> String {
    if ms < 99.95 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_hidden_by_descending_rank() {
        let columns = [
            Column::left("qdisc"),
            Column::right("mean\nms"),
            Column::right("p50\nms").gives_way(2),
            Column::right("marks").gives_way(3),
            Column::right("used\n%").gives_way(1),
        ];
        let rows = vec![["fq_codel", "12.25", "3.1", "0", "99.9"].map(String::from).to_vec()];
        // The columns need 10 + 7 + 5 + 7 + 6 with two blanks behind each, without those behind the last.
        for (width, shown) in [(33, 5), (32, 4), (26, 4), (25, 3), (21, 3), (20, 2), (3, 2)] {
            assert_eq!(fitting(&columns, &rows, width).len(), shown, "{width}");
        }
        assert_eq!(fitting(&columns, &rows, 25), [0, 1, 4]);
        assert_eq!(fitting(&columns, &rows, usize::MAX - 2).len(), 5);
    }
}
