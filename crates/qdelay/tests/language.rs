//! Openings of doc comments and help texts: the thing first, not a word that asks for it.
//!
//! The rule is a list of openers; a doc comment of any crate's `src` that begins with one fails here, with its place.

use crate::architecture::root;
use std::fs;
use std::path::{Path, PathBuf};

/// Openers that leave the reader without the thing that a sentence is about. `Whether` is a noun's opener of a switch, and stays.
const OPENERS: [&str; 19] = [
    "What",
    "Who",
    "Whose",
    "Whom",
    "Which",
    "Of",
    "With which",
    "In which",
    "For which",
    "By which",
    "On which",
    "As",
    "So",
    "Its",
    "Those",
    "How far",
    "That which",
    "The one that",
    "Where that",
];

/// Every Rust file below `folder`.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// First lines of paragraphs of doc comments that begin with an opener, with their line numbers.
fn openings(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_first = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| doc(lines[before]));
        before.is_none_or(|text| text.trim().is_empty() || text.trim().starts_with('#'))
    };
    let begins = |text: &str| {
        OPENERS.iter().any(|opener| {
            text.strip_prefix(opener)
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
        })
    };
    let is_bad = |(place, line): &(usize, &str)| {
        doc(line).is_some_and(|text| begins(text.trim_start())) && is_first(*place)
    };
    lines.iter().copied().enumerate().filter(is_bad).map(|(place, line)| (place + 1, line)).collect()
}

#[test]
fn doc_comments_begin_with_the_thing() {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        rust_files(&entry.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    let mut found = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let place = file.strip_prefix(root()).unwrap().display();
        found.extend(openings(&text).iter().map(|(line, text)| format!("{place}:{line}: {}", text.trim())));
    }
    assert!(found.is_empty(), "begin with the noun or the verb:\n{}", found.join("\n"));
}

#[test]
fn openers_are_found_at_the_beginning_of_a_paragraph() {
    let text = "/// What it is.\n/// Which goes on.\n///\n/// As before.\n/// Asked for.\nfn a() {}\n/// Offset.\nfn b() {}\n";
    let lines: Vec<usize> = openings(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 4]);
}
