//! Files generated from the declarations: the JSON Schema, and the tables of `docs/scenarios.md`. `QDELAY_REGENERATE=1 cargo test
//! -p qdelay-study --test main scenario_schema::` regenerates both.

use qdelay_study::scenario::{Overrides, Study, declare, schema};
use std::fs;
use std::path::{Path, PathBuf};

pub fn docs() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&crate_folder).join("../../docs")
}

pub fn compare(file: &str, wanted: &str) {
    let path = docs().join(file);
    if std::env::var_os("QDELAY_REGENERATE").is_some() {
        fs::write(&path, wanted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let found = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(found == wanted, "docs/{file} is not what the declarations say: see the head of the test");
}

#[test]
fn the_committed_schema_equals_the_declarations() {
    compare("scenario.schema.json", &schema::text());
}

/// Compares the text between `<!-- keys of path -->` and `<!-- end of keys -->` with the generated table.
#[test]
fn documented_keys_equal_the_declarations() {
    let path = docs().join("scenarios.md");
    let mut text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for table in declare::TABLES {
        let begin = format!("<!-- keys of {} -->\n", table.name);
        let start = text.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
        let end = start + text[start..].find("<!-- end of keys -->").expect("an end of the table");
        text.replace_range(start..end, &table.markdown());
    }
    compare("scenarios.md", &text);
}

#[test]
fn every_table_and_shipped_scenario_is_documented() {
    let text = fs::read_to_string(docs().join("scenarios.md")).expect("docs/scenarios.md");
    for (name, _) in declare::TOP {
        let headers = [format!("`{name}`"), format!("`[{name}]`"), format!("`[[{name}]]`")];
        assert!(headers.iter().any(|header| text.contains(header)), "{name}");
    }
    for (name, _) in qdelay_study::shipped::SCENARIOS.iter().filter(|(name, _)| name.starts_with("demo/")) {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn documented_examples_are_valid() {
    let text = fs::read_to_string(docs().join("scenarios.md")).expect("docs/scenarios.md");
    for (begin, cases) in [("    [path]\n", 1), ("    title = ", 18)] {
        let block = text[text.find(begin).expect("an example")..].lines();
        let block = block.take_while(|line| line.is_empty() || line.starts_with("    "));
        let toml: Vec<&str> = block.map(|line| line.strip_prefix("    ").unwrap_or("")).collect();
        let study = Study::parse("scenarios.md", &toml.join("\n"), &Overrides::default());
        assert_eq!(study.unwrap_or_else(|error| panic!("{error}")).case_count(), cases);
    }
}

/// Parses every block of `docs/cell.md` that begins with `[cell]`; an excerpt without a flow gets one.
#[test]
fn documented_cells_are_valid() {
    let text = fs::read_to_string(docs().join("cell.md")).expect("docs/cell.md");
    let mut found = 0;
    for (at, _) in text.match_indices("    [cell]\n") {
        let block = text[at..].lines().take_while(|line| line.is_empty() || line.starts_with("    "));
        let mut toml: String =
            block.map(|line| line.strip_prefix("    ").unwrap_or("").to_string() + "\n").collect();
        if !toml.contains("[[flow]]") {
            toml += "[[flow]]\n";
        }
        Study::parse("cell.md", &toml, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        found += 1;
    }
    assert_eq!(found, 3);
}
