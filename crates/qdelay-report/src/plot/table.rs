//! The data beside a figure: CSV, a row for each point, with the labels of all axes.

use super::chosen::{Chosen, Entry};

pub(super) struct Table {
    text: String,
}

impl Table {
    /// The heading: the axes, then these columns.
    pub(super) fn of(chosen: &Chosen, columns: &[&str]) -> Table {
        let names = chosen.axis_names().into_iter().chain(columns.iter().copied());
        let text = names.map(field).collect::<Vec<_>>().join(",");
        Table { text: text + "\n" }
    }

    /// A row of an entry; nothing stands where there is no figure.
    pub(super) fn row(&mut self, chosen: &Chosen, entry: &Entry, figures: &[Option<f64>]) {
        let labels = chosen.labels(entry).into_iter().map(field);
        let figures = figures.iter().map(|figure| figure.map_or(String::new(), number));
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

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_numbers() {
        assert_eq!(field("codel:target=5ms"), "codel:target=5ms");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!([1.0, 0.5, 1200.0, 1e-7].map(number), ["1", "0.5", "1200", "0"]);
    }
}
