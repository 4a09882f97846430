//! Fingerprints of results: digests that are committed as text, so that a change of any result shows which results have
//! changed.
//!
//! A file has a line for each case, with a digest of all its results and a few results as numbers, and a line for each result,
//! with a digest of its values in all cases. A result that changes affects its own line and those of its cases. A new result
//! has its own line and affects those of all cases, but of no other result.
//!
//! With `QDELAY_REGENERATE` in the environment files are written instead of compared.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Hexadecimal digits of a digest: 64 bits distinguish a handful of versions of a result.
const DIGITS: usize = 16;
/// Length above which a value is written as a digest: curves would take a hundred megabytes.
const CURVE: usize = 200;
/// Maximum number of lines of each kind in a message.
const TOLD: usize = 12;

/// Fields that were renamed after their digests were recorded, with the former names. Digests hash the former names, so that renaming
/// a field moves no digest.
const FORMER: [(&str, &str); 3] = [("value", "ours"), ("value_low", "ours_low"), ("value_high", "ours_high")];

/// Copy of an object, or of a list of objects, whose renamed fields have the names that the recorded digests hash.
pub fn with_former_names(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_former_names).collect(),
        Value::Object(fields) => {
            let former = |name: &String| {
                let renamed = FORMER.iter().find(|(now, _)| now == name);
                renamed.map_or(name.clone(), |(_, former)| (*former).to_string())
            };
            Value::Object(fields.iter().map(|(name, field)| (former(name), field.clone())).collect())
        }
        _ => value.clone(),
    }
}

/// Results of many cases, and the file with their digests.
#[derive(Debug)]
pub struct Fingerprints {
    file: PathBuf,
    renew: String,
    headlines: &'static [&'static str],
    cases: BTreeMap<String, String>,
    figures: BTreeMap<String, Sha256>,
    /// Every result as a number.
    clear: String,
}

impl Fingerprints {
    /// Makes the prints of `file`, which the command `renew` writes. `headlines` are the paths of results written as numbers.
    pub fn new(file: PathBuf, renew: &str, headlines: &'static [&'static str]) -> Self {
        let (cases, figures) = (BTreeMap::new(), BTreeMap::new());
        Self { file, renew: renew.to_string(), headlines, cases, figures, clear: String::new() }
    }

    /// Adds a case: path and value of each result. The text in brackets in a path, such as the flow in `flows[3].timeouts`,
    /// distinguishes results of one kind, which share a line.
    ///
    /// # Panics
    /// If a case of this name exists already, or it has no results.
    pub fn case(&mut self, name: &str, figures: &[(String, String)]) {
        assert!(!figures.is_empty(), "{name} has no figures");
        let mut whole = Sha256::new();
        for (path, value) in figures {
            let line = format!("{name}\t{path}\t{value}\n");
            whole.update(&line);
            self.figures.entry(kind(path)).or_default().update(&line);
            match value.len() {
                0..CURVE => self.clear.push_str(&line),
                _ => {
                    let _ = writeln!(
                        self.clear,
                        "{name}\t{path}\tdigest {}",
                        digest(Sha256::new_with_prefix(value))
                    );
                }
            }
        }
        let mut line = digest(whole);
        for headline in self.headlines {
            let found = figures.iter().find(|(path, _)| path == headline);
            let _ = write!(line, "\t{}", found.map_or("-", |(_, value)| value));
        }
        assert!(self.cases.insert(name.to_string(), line).is_none(), "{name}: twice");
    }

    /// Compares with the file, or writes it. Every result is written as a number into `clear`, for comparison with another
    /// version.
    ///
    /// # Panics
    /// With the cases and results that have changed, if the file differs.
    pub fn check(self, clear: &Path) {
        let name = self.file.file_stem().expect("a file's name").to_string_lossy().into_owned();
        let clear = clear.join(name).with_extension("txt");
        write(&clear, &self.clear);
        let text = self.text();
        if std::env::var_os("QDELAY_REGENERATE").is_some() {
            write(&self.file, &text);
            return;
        }
        let committed = fs::read_to_string(&self.file).unwrap_or_default();
        if let Some(difference) = difference(&committed, &text) {
            panic!(
                "{}: figures have moved\n{difference}All of them in clear: {}\nWhere this is wanted: {}\n\
                 Then the difference of the file says what has moved, and CHANGELOG.md has to say why.",
                self.file.display(),
                clear.display(),
                self.renew
            );
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# Digests of figures: of all of a case, and of one in all cases. Anew: {}\nkind\tname\tdigest",
            self.renew
        );
        self.headlines.iter().for_each(|headline| text.extend(["\t", headline]));
        text.push('\n');
        for (name, line) in &self.cases {
            let _ = writeln!(text, "case\t{name}\t{line}");
        }
        for (name, hash) in &self.figures {
            let _ = writeln!(text, "figure\t{name}\t{}", digest(hash.clone()));
        }
        text
    }
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The path without the text in brackets.
fn kind(path: &str) -> String {
    let mut depth = 0_i32;
    path.chars()
        .filter(|&letter| {
            depth = if letter == ']' { depth - 1 } else { depth };
            let kept = depth == 0;
            depth += i32::from(letter == '[');
            kept
        })
        .collect()
}

fn digest(hash: Sha256) -> String {
    let mut text: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(DIGITS);
    text
}

/// Lines by their kind, `case` or `figure`, and name.
fn lines(text: &str) -> BTreeMap<(&str, &str), &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| {
        let mut parts = line.splitn(3, '\t');
        let mut part = || parts.next().unwrap_or("");
        ((part(), part()), part())
    });
    parts.collect()
}

/// The differences between two files; `None` if they are equal.
fn difference(committed: &str, now: &str) -> Option<String> {
    let (committed, now) = (lines(committed), lines(now));
    let mut names: Vec<_> = committed.keys().chain(now.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = String::new();
    for kind in ["case", "figure"] {
        let all = names.iter().filter(|name| name.0 == kind);
        let moved: Vec<_> = all.clone().filter(|name| committed.get(name) != now.get(name)).collect();
        if moved.is_empty() {
            continue;
        }
        let _ = writeln!(text, "  {} of {} {kind}s:", moved.len(), all.count());
        for name in moved.iter().take(TOLD) {
            let line = |lines: &BTreeMap<_, &str>| {
                lines.get(**name).map_or("none".into(), |line| line.replace('\t', " "))
            };
            let _ = writeln!(text, "    {}: was {}, is {}", name.1, line(&committed), line(&now));
        }
        if moved.len() > TOLD {
            let _ = writeln!(text, "    and {} more", moved.len() - TOLD);
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cases: &[(&str, &[(&str, &str)])]) -> String {
        let mut prints = Fingerprints::new("x.tsv".into(), "make it", &["drops", "delay.p99"]);
        for (name, figures) in cases {
            let owned = figures.iter().map(|(path, value)| (path.to_string(), value.to_string()));
            prints.case(name, &owned.collect::<Vec<_>>());
        }
        prints.text()
    }

    #[test]
    fn a_figure_that_moves_is_named() {
        let one = text(&[("a", &[("drops", "3"), ("flows[0].cwnd", "7")]), ("b", &[("drops", "4")])]);
        let other = text(&[("a", &[("drops", "3"), ("flows[0].cwnd", "8")]), ("b", &[("drops", "4")])]);
        assert_eq!(difference(&one, &one), None);
        assert!(lines(&one)[&("case", "b")].ends_with("\t4\t-"), "{one}");
        let told = difference(&one, &other).unwrap();
        assert!(
            told.contains("1 of 2 cases:\n    a: was ")
                && told.contains("1 of 2 figures:\n    flows[].cwnd: was "),
            "{told}"
        );
    }

    #[test]
    fn one_that_is_new_moves_no_other() {
        let one = text(&[("a", &[("drops", "3")])]);
        let other = text(&[("a", &[("drops", "3"), ("marks", "0")])]);
        let told = difference(&one, &other).unwrap();
        assert!(told.contains("1 of 2 figures:\n    marks: was none, is "), "{told}");
    }

    #[test]
    fn brackets_tell_figures_of_a_kind_apart() {
        assert_eq!(kind("series.groups[a[0]].drops[17]"), "series.groups[].drops[]");
    }
}
