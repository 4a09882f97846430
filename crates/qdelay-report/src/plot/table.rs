//! The data beside a figure: CSV, a row for each point, with the labels of all axes.

use super::chosen::{Chosen, Entry};
use qdelay_study::tables::csv_field;
use std::borrow::Cow;

pub(super) struct Table {
    text: String,
}

impl Table {
    /// The heading: the axes, the number of runs, and these columns.
    pub(super) fn with_heading(chosen: &Chosen, columns: &[&str]) -> Table {
        let names = chosen.axis_names().into_iter().chain(["runs"]).chain(columns.iter().copied());
        let text = names.map(csv_field).collect::<Vec<_>>().join(",");
        Table { text: text + "\n" }
    }

    /// A row of an entry; nothing stands where there is no figure.
    pub(super) fn row(&mut self, chosen: &Chosen, entry: &Entry, figures: &[Option<f64>]) {
        let labels = chosen.labels(entry).into_iter().map(csv_field);
        let runs = Some(entry.runs.len() as f64);
        let figures = std::iter::once(&runs)
            .chain(figures)
            .map(|figure| Cow::from(figure.map_or(String::new(), number)));
        let row = labels.chain(figures).collect::<Vec<_>>().join(",");
        self.text.push_str(&row);
        self.text.push('\n');
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}

/// Six decimals, as results have them.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([1.0, 0.5, 1200.0, 1e-7].map(number), ["1", "0.5", "1200", "0"]);
    }
}
