//! Figures and bounds as text, in pictures as in tables.

use crate::Row;
use qdelay_report::chart::number_text;

/// Three digits that say something, and four decimals close to 1, because a utilization of 0.9995 is not 1.
pub fn figure_text(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size > 0.99 && size < 1.0 => 4,
        _ if size > 1e-6 && size < 0.01 => 5,
        _ if (0.01..0.1).contains(&size) => 4,
        _ => return number_text(value),
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The bounds of a claim.
pub fn bounds_text(row: &Row) -> String {
    match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", figure_text(low), figure_text(high)),
        (Some(low), None) => format!("\u{2265}\u{a0}{}", figure_text(low)),
        (None, Some(high)) => format!("\u{2264}\u{a0}{}", figure_text(high)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let told =
            [0.00583, 0.0123, 0.105, 0.9261, 0.9995, 1.0, 12.34, 12_345.0, 0.0, -0.442].map(figure_text);
        let as_people_read_them =
            ["0.00583", "0.0123", "0.105", "0.926", "0.9995", "1", "12.3", "12\u{202f}345", "0", "-0.442"];
        assert_eq!(told, as_people_read_them);
    }
}
