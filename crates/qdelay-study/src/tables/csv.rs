//! A table as text with commas (RFC 4180, lines ended by a line feed).

use super::{Cells, Column, Table};
use std::fmt::Write;

/// A line of names, and a line for each row. Missing values are empty fields; numbers have as many digits as they need.
pub fn csv(table: &Table) -> String {
    let mut text = String::new();
    line(&mut text, table, |text, column| field(text, &column.name));
    for row in 0..table.rows {
        line(&mut text, table, |text, column| {
            // Writing to a string cannot fail.
            let _ = match &column.cells {
                Cells::Text(cells) => {
                    cells[row].as_deref().into_iter().for_each(|cell| field(text, cell));
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

fn field(text: &mut String, value: &str) {
    if value.contains(['"', ',', '\n', '\r']) {
        text.push('"');
        text.push_str(&value.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
