//! Tables as CSV (RFC 4180, lines ended by a line feed).
//!
//! Labels may come from an untrusted scenario, and spreadsheets execute a field that begins with `=`, `+`, `-`, `@`, a tab or a
//! carriage return as a formula. Such a field gets an apostrophe in front, as OWASP recommends ("CSV Injection"), unless it is a
//! number.

use super::{Cells, Column, Table};
use std::borrow::Cow;
use std::fmt::Write;

/// A header line and a line for each row. Missing values are empty fields; numbers have as many digits as needed to read back the
/// same value.
pub fn csv(table: &Table) -> String {
    let mut text = String::new();
    line(&mut text, table, |text, column| text.push_str(&csv_field(&column.name)));
    for row in 0..table.rows {
        line(&mut text, table, |text, column| {
            // Writing to a string cannot fail.
            let _ = match &column.cells {
                Cells::Text(cells) => {
                    cells[row].as_deref().into_iter().for_each(|cell| text.push_str(&csv_field(cell)));
                    Ok(())
                }
                Cells::Switch(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
                Cells::Whole(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
                Cells::Number(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
            };
        });
    }
    text
}

fn line(text: &mut String, table: &Table, mut cell: impl FnMut(&mut String, &Column)) {
    for (place, column) in table.columns.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        cell(text, column);
    }
    text.push('\n');
}

/// A text as a CSV field: quoted if necessary, and never a formula.
pub fn csv_field(value: &str) -> Cow<'_, str> {
    let is_formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']) && value.parse::<f64>().is_err();
    let apostrophe = if is_formula { "'" } else { "" };
    match value.contains(['"', ',', '\n', '\r', '\t']) || is_formula {
        true => Cow::Owned(format!("\"{apostrophe}{}\"", value.replace('"', "\"\""))),
        false => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula() {
        for (value, field) in [
            ("=cmd|'/C calc'!A1", "\"'=cmd|'/C calc'!A1\""),
            ("@SUM(1,\"2\")", "\"'@SUM(1,\"\"2\"\")\""),
            ("+1ms", "\"'+1ms\""),
            ("-x", "\"'-x\""),
            ("\t=1", "\"'\t=1\""),
            ("-2.5", "-2.5"),
            ("+3", "+3"),
            ("codel:target=5ms", "codel:target=5ms"),
        ] {
            assert_eq!(csv_field(value), field, "{value}");
        }
    }

    #[test]
    fn fields_that_need_it_are_quoted() {
        let column = |name: &str, cells| Column { name: name.to_string(), about: String::new(), cells };
        let table = Table {
            columns: vec![
                column("a,b", Cells::Text(vec![Some("say \"x\"".to_string()), None])),
                column("n", Cells::Number(vec![Some(0.1), Some(3.0)])),
                column("w", Cells::Whole(vec![None, Some(-2)])),
                column("s", Cells::Switch(vec![Some(true), None])),
            ],
            rows: 2,
        };
        assert_eq!(csv(&table), "\"a,b\",n,w,s\n\"say \"\"x\"\"\",0.1,,true\n,3,-2,\n");
    }
}
