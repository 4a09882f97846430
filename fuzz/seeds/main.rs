//! Writes what fuzzing grows from: `fuzz/corpus/TARGET/*` out of valid files (shipped traces and scenarios, examples of the
//! documentation, components as they are declared), and `fuzz/dict/TARGET.dict` out of the registries.
//!
//!     cargo run --locked --package qdelay --example fuzz-seeds -- fuzz
//!
//! Files that are there already are left alone but for those of the same name: what fuzzing has found stays.

mod bounds;
mod components;
mod dictionaries;
mod files;
mod operations;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of all corpora and dictionaries.
struct Out(PathBuf);

impl Out {
    /// One input of `target`.
    fn seed(&self, target: &str, name: &str, contents: impl AsRef<[u8]>) {
        self.write(&format!("corpus/{target}/seed-{}", name.replace(['/', ' '], "-")), contents);
    }
    /// The words of `target`, each once.
    fn dictionary(&self, target: &str, mut words: Vec<String>) {
        words.sort();
        words.dedup();
        let line = |word: &String| format!("\"{}\"\n", escaped(word));
        let text: String =
            words.iter().filter(|word| !word.is_empty() && word.len() <= 64).map(line).collect();
        self.write(&format!("dict/{target}.dict"), text);
    }
    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(Path::new("."));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, contents));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// As libFuzzer's dictionaries have it: printable ASCII but for quotes and backslashes, else by its number.
fn escaped(word: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    word.bytes().map(byte).collect()
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("fuzz-seeds: no folder; expected the folder of the fuzz targets");
        return ExitCode::from(2);
    };
    let out = Out(folder.into());
    files::write(&out);
    bounds::write(&out);
    components::write(&out);
    operations::write(&out);
    dictionaries::write(&out);
    ExitCode::SUCCESS
}
