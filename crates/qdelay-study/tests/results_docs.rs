//! The tables of `docs/results.md`, generated from the declared fields of results. `QDELAY_REGENERATE=1 cargo test -p
//! qdelay-study --test main results_docs::` regenerates them.

use super::scenario_schema::{compare, docs};
use qdelay_record::entity::{Entity, Field, Shape};
use qdelay_study::results::{Measures, Series};
use std::fs;

/// Collects entities in the order of their first occurrence.
fn collect(shape: Shape, found: &mut Vec<(&'static str, &'static [Field])>) {
    match shape {
        Shape::Fields(name, fields) => {
            if found.iter().all(|(known, _)| *known != name) {
                found.push((name, fields));
                fields.iter().for_each(|field| collect((field.shape)(), found));
            }
        }
        Shape::Named(of) | Shape::List(of) => collect(of(), found),
        Shape::Number | Shape::Text => {}
    }
}

fn kind(shape: Shape) -> String {
    match shape {
        Shape::Number => "number".to_string(),
        Shape::Text => "text".to_string(),
        Shape::Fields(name, _) => format!("`{name}`"),
        Shape::Named(of) => format!("{} by name", kind(of())),
        Shape::List(of) => format!("list: {}", kind(of())),
    }
}

fn table(fields: &[Field]) -> String {
    let row = |field: &Field| {
        let about = field.about.trim().replace('|', "\\|");
        format!("| `{}` | {} | {about} |\n", field.name, kind((field.shape)()))
    };
    let rows: String = fields.iter().map(row).collect();
    format!("| field | is | what |\n| --- | --- | --- |\n{rows}")
}

/// Compares the text between `<!-- fields of Group -->` and `<!-- end of fields -->` with the generated table.
#[test]
fn documented_fields_equal_the_declarations() {
    let path = docs().join("results.md");
    let mut text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut entities = Vec::new();
    collect(Measures::shape(), &mut entities);
    collect(Series::shape(), &mut entities);
    for (name, fields) in entities {
        let begin = format!("<!-- fields of {name} -->\n");
        if !text.contains(&begin) {
            // Regeneration appends the table of a new entity; its sentence and place are written by hand.
            text += &format!("\n`{name}`:\n\n{begin}<!-- end of fields -->\n");
        }
        let start = text.find(&begin).map_or(text.len(), |start| start + begin.len());
        let end = start + text[start..].find("<!-- end of fields -->").expect("an end of the table");
        text.replace_range(start..end, &table(fields));
    }
    compare("results.md", &text);
}
